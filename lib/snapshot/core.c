/* SPDX-License-Identifier: MIT */
/* Makes a snapshot of a core file or stream: passes its threads, memory, images and messages to
 * lib/snapshot/snapshot.c, which walks the threads. */
#include "lib/corefile/core.h"
#include "lib/base/page_cache.h"
#include "lib/base/sized.h"
#include "lib/corefile/stream.h"
#include "lib/snapshot/goroutines.h"
#include "lib/snapshot/raw.h"
#include "lib/snapshot/snapshot.h"
#include "lib/unwind/readers/kinds.h"
#include "lib/unwind/tables/image_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Implements uspi_snapshot_source.describe. */
static void describe_target(void *context, const struct uspi_stopped_thread *thread, struct usp_target *target) {
    const usp_addr *roots = target->roots;
    uint32_t root_count = target->root_count;
    (void)thread;
    uspi_core_target(context, target);
    target->roots = roots;
    target->root_count = root_count;
}

/* Implements uspi_snapshot_source.writable. */
static int list_writable(void *context, uspi_range_function each, void *each_context) {
    const struct uspi_core_memory *memory = &((const struct uspi_core *)context)->memory;
    int status = USP_OK;
    for (size_t i = 0; i < memory->segment_count && status == USP_OK; i++) {
        const struct uspi_core_segment *s = &memory->segments[i];
        if ((s->access & USPI_CORE_WRITE) != 0 && s->stored != 0) status = each(each_context, s->low, s->stored);
    }
    return status;
}

/* Implements uspi_snapshot_source.release. The snapshot owns the images and has freed them. */
static void release(void *context) {
    struct uspi_core *core = context;
    core->images = NULL;
    uspi_core_close(core);
}

static void take_thread(const struct uspi_core *core, const struct uspi_core_thread *from,
                        struct uspi_stopped_thread *to) {
    to->info.thread = (struct usp_thread){.id = from->id, .native = from->id};
    if (core->pid != 0 && from->id == (uint64_t)core->pid) to->info.flags = USP_THREAD_MAIN;
    if ((size_t)(from - core->threads) == core->crashed) to->info.flags |= USP_THREAD_CRASHED;
    to->status = from->status;
    to->copy.registers = from->registers;
    to->copy.stack_low = from->stack_low;
    to->copy.stack_high = from->stack_high;
}

/* Takes all threads, or only the one with the id `only`. */
static int take_threads(const struct uspi_core *core, uint64_t only, struct uspi_stopped_process *process) {
    process->threads = calloc(core->thread_count + 1, sizeof *process->threads);
    if (process->threads == NULL) return USP_ERROR_NO_MEMORY;
    for (size_t i = 0; i < core->thread_count; i++) {
        if (only != 0 && core->threads[i].id != only) continue;
        take_thread(core, &core->threads[i], &process->threads[process->thread_count++]);
    }
    return only != 0 && process->thread_count == 0 ? USP_ERROR_NO_THREAD : USP_OK;
}

static void fill_info(const struct uspi_core *core, struct usp_snapshot_info *info) {
    info->arch = core->arch;
    info->os = core->os;
    info->pid = core->pid;
    info->flags = core->flags;
    info->signal = core->signal;
    info->crash = core->crash;
    info->signal_code = core->signal_code;
    info->fault_address = core->fault_address;
    if (core->crashed < core->thread_count) info->crashed_thread = core->threads[core->crashed].id;
    info->program = core->program != NULL ? core->program : "";
}

/* Gives what a raw capture of the core says about the crash. *made stays NULL if the core does not know enough. */
static int describe_crash(const struct uspi_core *core, struct uspi_raw_crash **made) {
    const struct uspi_core_segment *place = uspi_core_memory_find(&core->memory, core->fault_address);
    if (core->crash == NULL || !core->has_signal_code) return USP_OK;
    struct uspi_raw_crash *crash = *made = calloc(1, sizeof *crash);
    if (crash == NULL) return USP_ERROR_NO_MEMORY;
    crash->signal = core->signal;
    crash->code = core->signal_code;
    if (core->crashed < core->thread_count) crash->thread = core->threads[core->crashed].id;
    if ((core->flags & USP_SNAPSHOT_FAULT) == 0) {
        crash->sender = core->sender;
        return USP_OK;
    }
    crash->flags = USPI_RAW_CRASH_ADDRESS | USPI_RAW_CRASH_PLACE;
    crash->fault_address = core->fault_address;
    if (place != NULL) {
        crash->place_low = place->low;
        crash->place_high = place->low + place->size;
        crash->access = place->access;
    }
    return USP_OK;
}

/* Keeps the messages about a stream as notes too: its core is gone when a raw capture of the snapshot is read. */
static int note_messages(const struct uspi_core *core, struct uspi_snapshot_source *source) {
    source->notes = calloc(core->message_count + 1, sizeof *source->notes);
    if (source->notes == NULL) return USP_ERROR_NO_MEMORY;
    for (size_t i = 0; i < core->message_count; i++) {
        char *key = strdup(""), *text = strdup(core->messages[i]);
        source->notes[source->note_count++] =
            (struct usp_snapshot_note){.kind = USP_NOTE_RECORDER, .key = key, .text = text};
        if (key == NULL || text == NULL) return USP_ERROR_NO_MEMORY;
    }
    return USP_OK;
}

/* Lets the caller of a stream complete what the core says. */
static void complete(const struct usp_core_stream *stream, struct uspi_snapshot_source *source) {
    source->info.time = stream->time;
    if (stream->describe == NULL) return;
    for (size_t i = 0; i < source->process.thread_count; i++) {
        stream->describe(stream->context, &source->process.threads[i].info);
    }
}

/* Frees what a source has of its own, and the core. */
static void give_up(struct uspi_snapshot_source *source, struct uspi_core *core) {
    for (size_t i = 0; i < source->note_count; i++) {
        free((char *)source->notes[i].key);
        free((char *)source->notes[i].text);
    }
    free(source->notes);
    free(source->crash);
    uspi_os_free_stopped(&source->process);
    uspi_core_close(core);
}

/* Makes the snapshot. Takes ownership of the core, also on failure. stream NULL: the core is a file. */
static int snapshot_of(struct uspi_core *core, const struct usp_snapshot_options *options,
                       const struct usp_core_stream *stream, struct usp_snapshot **snapshot) {
    const bool is_below = core->is_below_sysroot;
    const struct uspi_image_sources places = {.search = {.file = options->program,
                                                         .sysroot = options->sysroot,
                                                         .as_named = !is_below,
                                                         .folder = is_below ? NULL : core->folder}};
    const struct usp_memory memory = {uspi_core_memory_read, &core->memory};
    struct uspi_snapshot_source source = {.describe = describe_target,
                                          .context = core,
                                          .writable = list_writable,
                                          .release = release,
                                          .folder = core->folder};
    uspi_read_all_tables();
    int status = take_threads(core, options->only_thread, &source.process);
    if (status == USP_OK && core->images != NULL) {
        status = uspi_image_tables_create(core->images, &memory, &places, UINT64_MAX, &core->tables);
    }
    if (status == USP_OK) status = describe_crash(core, &source.crash);
    if (status == USP_OK && stream != NULL) status = note_messages(core, &source);
    if (status != USP_OK) {
        give_up(&source, core);
        return status;
    }
    fill_info(core, &source.info);
    if (stream != NULL) complete(stream, &source);
    source.process.arch = core->arch;
    source.process.pid = core->pid;
    source.process.pac_mask = core->pac_mask;
    source.process.live = memory;
    source.images = core->images;
    source.beside = core->tables;
    source.add_goroutines = uspi_goroutines_add;
    source.messages = core->messages;
    source.message_count = core->message_count;
    core->messages = NULL;
    core->message_count = 0;
    return uspi_snapshot_from_stopped(&source, options, NULL, snapshot);
}

int usp_snapshot_open_core(const char *path, const struct usp_snapshot_options *options, struct usp_snapshot **snapshot,
                           char *error, size_t error_size) {
    struct usp_snapshot_options completed;
    struct uspi_core *core;
    struct uspi_error why;
    int status;
    if (error != NULL && error_size > 0) error[0] = '\0';
    if (snapshot == NULL || path == NULL) return USP_ERROR_ARGUMENT;
    *snapshot = NULL;
    if (uspi_complete_snapshot_options(options, &completed)) {
        struct uspi_core_options core_options = {.sysroot = completed.sysroot, .program = completed.program};
        status = uspi_core_open(path, &core_options, &core, &why);
        if (status == USP_OK) {
            status = snapshot_of(core, &completed, NULL, snapshot);
            uspi_error_set(&why, status, "%s: %s", path, usp_status_string(status));
        }
    } else {
        status = uspi_error_set(&why, USP_ERROR_ARGUMENT, USPI_SNAPSHOT_OPTIONS);
    }
    if (status != USP_OK && error != NULL && error_size > 0) snprintf(error, error_size, "%s", why.text);
    return status;
}

void usp_core_stream_init(struct usp_core_stream *stream) {
    memset(stream, 0, sizeof *stream);
    stream->size = sizeof *stream;
    stream->max_bytes = UINT64_C(64) << 20;
}

/* Reads the core, and makes the snapshot while the process's memory can be read. */
static int read_stream(const struct usp_core_stream *stream, const struct usp_snapshot_options *options,
                       struct usp_snapshot **snapshot, struct uspi_error *error) {
    struct uspi_core_options core_options = {.sysroot = options->sysroot,
                                             .program = options->program,
                                             .is_below_sysroot = stream->below_sysroot != 0,
                                             .live = stream->memory};
    struct uspi_core *core;
    struct uspi_page_cache *pages = stream->memory.read != NULL ? uspi_page_cache_before(&core_options.live) : NULL;
    int status = uspi_core_open_stream(stream, &core_options, &core, error);
    if (status == USP_OK) {
        status = snapshot_of(core, options, stream, snapshot);
        if (status == USP_OK) core->memory.live = (struct usp_memory){0};
        uspi_error_set(error, status, "%s", usp_status_string(status));
    }
    free(pages);
    return status;
}

int usp_snapshot_read_core(const struct usp_core_stream *stream, const struct usp_snapshot_options *options,
                           struct usp_snapshot **snapshot, char *error, size_t error_size) {
    struct usp_snapshot_options completed;
    struct usp_core_stream all;
    struct uspi_error why;
    usp_core_stream_init(&all);
    if (error != NULL && error_size > 0) error[0] = '\0';
    if (snapshot == NULL || stream == NULL) return USP_ERROR_ARGUMENT;
    *snapshot = NULL;
    int status = USP_ERROR_ARGUMENT;
    if (USPI_COMPLETE(&all, stream) && all.read != NULL && uspi_complete_snapshot_options(options, &completed)) {
        status = read_stream(&all, &completed, snapshot, &why);
    } else {
        uspi_error_set(&why, status, "the options make no sense");
    }
    if (status != USP_OK && error != NULL && error_size > 0) snprintf(error, error_size, "%s", why.text);
    return status;
}
