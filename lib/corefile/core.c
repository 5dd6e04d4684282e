/* SPDX-License-Identifier: MIT */
/* Opening and closing a core, and what a walker asks of it. See core.h. */
#include "lib/corefile/build.h"
#include "lib/image_tables.h"

#include <unspool/snapshot.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A core with more to say than this is beyond a person's reading. */
#define MESSAGES_MAX 64

/* Several times what a process of 2000 images with 50 entries each needs. */
#define HEADER_ENTRIES_MAX 1000000

void uspi_core_say(struct uspi_core *core, uint32_t flags, const char *format, ...) {
    char text[USPI_ERROR_TEXT + 128];
    core->flags |= flags;
    if (core->message_count > MESSAGES_MAX) return;
    if (core->message_count == MESSAGES_MAX) {
        snprintf(text, sizeof text, "%s: there is more to say about this core than is kept", core->path);
    } else {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
    }
    char **grown = realloc(core->messages, (core->message_count + 1) * sizeof *grown);
    if (grown != NULL) core->messages = grown;
    char *copy = grown != NULL ? strdup(text) : NULL;
    if (copy != NULL) {
        core->messages[core->message_count++] = copy;
    } else {
        core->out_of_memory = true;
    }
}

struct uspi_core_thread *uspi_core_add_thread(struct uspi_core *core, uint64_t id) {
    /* Doubling at each power of two keeps the room implied by the count. */
    size_t count = core->thread_count;
    if ((count & (count - 1)) == 0) {
        struct uspi_core_thread *grown = NULL;
        if (count <= SIZE_MAX / 2 / sizeof *grown) {
            grown = realloc(core->threads, (count == 0 ? 1 : count * 2) * sizeof *grown);
        }
        if (grown == NULL) {
            core->out_of_memory = true;
            return NULL;
        }
        core->threads = grown;
    }
    struct uspi_core_thread *thread = &core->threads[core->thread_count++];
    memset(thread, 0, sizeof *thread);
    thread->id = id;
    thread->status = USP_ERROR_NOT_FOUND;
    usp_registers_init(&thread->registers, core->arch);
    return thread;
}

void uspi_core_set_program(struct uspi_core *core, const char *program) {
    char *copy = strdup(program);
    if (copy == NULL) {
        core->out_of_memory = true;
        return;
    }
    free(core->program);
    core->program = copy;
}

bool uspi_core_may_read(struct uspi_core *core, uint64_t entries) {
    if (core->header_entries > HEADER_ENTRIES_MAX) return false;
    core->header_entries += entries < HEADER_ENTRIES_MAX ? entries + 1 : HEADER_ENTRIES_MAX + 1;
    if (core->header_entries <= HEADER_ENTRIES_MAX) return true;
    uspi_core_say(core, 0, "%s: more images than a process can have; not all were looked at", core->path);
    return false;
}

/* ---- files ---- */

static bool keep_file(struct uspi_core *core, struct uspi_file *file) {
    if (core->file_count == core->file_room) {
        size_t room = core->file_room == 0 ? 16 : core->file_room * 2;
        struct uspi_file **grown = realloc(core->files, room * sizeof *grown);
        if (grown == NULL) {
            core->out_of_memory = true;
            return false;
        }
        core->files = grown;
        core->file_room = room;
    }
    core->files[core->file_count++] = file;
    return true;
}

/* USP_OK when the file was found: then it is kept. */
static int search(struct uspi_core *core, const struct uspi_search *where, const char *path, uspi_judge judge,
                  void *context, struct uspi_error *error) {
    struct uspi_file *file;
    int status = uspi_search_open(where, path, judge, context, &file, error);
    if (status == USP_OK && !keep_file(core, file)) {
        uspi_file_close(file);
        status = USP_ERROR_NO_MEMORY;
    }
    if (status == USP_ERROR_NO_MEMORY) core->out_of_memory = true;
    return status;
}

bool uspi_core_find_file(struct uspi_core *core, const char *path, bool main, uspi_judge judge, void *context) {
    const struct uspi_search option = {.file = core->named_program};
    const struct uspi_search elsewhere = {.sysroot = core->sysroot, .as_named = true, .folder = core->folder};
    struct uspi_error error;
    if (main && core->named_program != NULL) {
        /* What somebody has named and is not used is worth a word even if another file fits. */
        int status = search(core, &option, core->named_program, judge, context, &error);
        if (status == USP_OK) return true;
        uspi_core_say(core, status == USP_ERROR_NOT_FOUND ? USP_SNAPSHOT_FILES_MISSING : USP_SNAPSHOT_FILES_REFUSED,
                      "%s; not used", error.text);
    }
    if (path[0] == '\0') return false;
    int status = search(core, &elsewhere, path, judge, context, &error);
    if (status == USP_OK) return true;
    if (status == USP_ERROR_NOT_FOUND) {
        uspi_core_say(core, USP_SNAPSHOT_FILES_MISSING, "%s; the core does not hold its code", error.text);
    } else {
        uspi_core_say(core, USP_SNAPSHOT_FILES_REFUSED, "%s; not used", error.text);
    }
    return false;
}

/* ---- opening ---- */

static void find_stack(const struct uspi_core_memory *memory, uint32_t os, struct uspi_core_thread *thread) {
    usp_addr sp = usp_registers_sp(&thread->registers);
    const struct uspi_core_segment *segment = uspi_core_memory_find(memory, sp);
    if (segment == NULL || (segment->access & USPI_CORE_WRITE) == 0) return;
    const struct uspi_core_segment *last = segment, *end = memory->segments + memory->segment_count;
    /* Darwin's kernel lists one stack as several regions when their histories differ; a stack ends at a guard. Linux joins
     * what is alike, so that a neighbour is something else. */
    while (os == USP_OS_DARWIN && last + 1 < end && last[1].low == last->low + last->size &&
           last[1].access == last->access) {
        last++;
    }
    usp_addr high = last->low + last->size;
    if (high <= segment->low) return;
    thread->stack_low = segment->low;
    thread->stack_high = high;
}

static int read_core(struct uspi_core *core, struct uspi_error *error) {
    struct uspi_bytes bytes = uspi_file_bytes(core->files[0]);
    core->memory.core = bytes;
    int status;
    switch (uspi_identify(bytes)) {
    case USPI_FORMAT_ELF: status = uspi_core_read_elf(core, bytes, error); break;
    case USPI_FORMAT_MACHO: status = uspi_core_read_macho(core, bytes, error); break;
    default: return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "neither an ELF nor a Mach-O core file");
    }
    if (status != USP_OK) return status;
    for (size_t i = 0; i < core->thread_count; i++) find_stack(&core->memory, core->os, &core->threads[i]);
    if (core->thread_count == 0) {
        uspi_core_say(core, 0, "%s: the core holds no threads that can be read", core->path);
    }
    return USP_OK;
}

/* What precedes the last part of the core's path. */
static void set_folder(struct uspi_core *core) {
    const char *slash = strrchr(core->path, '/');
    size_t length = slash != NULL ? (size_t)(slash + 1 - core->path) : 0;
    core->folder = malloc(length + 1);
    if (core->folder == NULL) {
        core->out_of_memory = true;
        return;
    }
    memcpy(core->folder, core->path, length);
    core->folder[length] = '\0';
}

int uspi_core_open(const char *path, const struct uspi_core_options *options, struct uspi_core **core,
                   struct uspi_error *error) {
    *core = NULL;
    struct uspi_file *file;
    int status = uspi_file_open(path, &file, error);
    if (status != USP_OK) return status;
    struct uspi_core *opened = calloc(1, sizeof *opened);
    if (opened == NULL || !keep_file(opened, file)) {
        uspi_file_close(file);
        free(opened);
        return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", path);
    }
    opened->path = uspi_file_path(file);
    set_folder(opened);
    if (options != NULL) {
        opened->sysroot = options->sysroot;
        opened->named_program = options->program;
    }
    status = opened->out_of_memory ? USP_ERROR_NO_MEMORY : read_core(opened, error);
    if (status == USP_OK && opened->out_of_memory) status = USP_ERROR_NO_MEMORY;
    if (status == USP_ERROR_NO_MEMORY) uspi_error_set(error, status, "%s: out of memory", path);
    opened->sysroot = opened->named_program = NULL;
    if (status != USP_OK) {
        uspi_core_close(opened);
        return status;
    }
    *core = opened;
    return USP_OK;
}

void uspi_core_close(struct uspi_core *core) {
    if (core == NULL) return;
    for (size_t i = 0; i < core->message_count; i++) free(core->messages[i]);
    free(core->messages);
    free(core->threads);
    free(core->program);
    free(core->folder);
    usp_images_free(core->images);
    uspi_core_memory_clear(&core->memory);
    for (size_t i = 0; i < core->file_count; i++) uspi_file_close(core->files[i]);
    free(core->files);
    free(core);
}

/* ---- walking ---- */

/* usp_target.image_at. */
static int region_at(void *context, usp_addr pc, struct usp_region *region) {
    const struct uspi_core *core = context;
    const struct uspi_core_segment *segment = uspi_core_memory_find(&core->memory, pc);
    memset(region, 0, sizeof *region);
    if (segment == NULL) {
        const struct usp_image *image = usp_images_find(core->images, pc);
        if (image != NULL && pc >= image->text_low && pc < image->text_high) {
            region->text_low = image->text_low;
            region->text_high = image->text_high;
            return USP_OK;
        }
        return core->complete ? USP_ERROR_NOT_FOUND : USP_ERROR_ABSENT;
    }
    if ((segment->access & USPI_CORE_EXECUTE) != 0) {
        region->text_low = segment->low;
        region->text_high = segment->low + segment->size;
        return USP_OK;
    }
    /* Bytes that nobody may touch were dumped by someone who does not tell access. */
    return segment->access == 0 && segment->promised != 0 ? USP_ERROR_ABSENT : USP_ERROR_NOT_FOUND;
}

/* usp_target.unwind_tables_at: of the images, once the snapshot has learnt where they have them. */
static int tables_at(void *context, usp_addr pc, struct usp_unwind_tables *tables) {
    const struct uspi_core *core = context;
    return uspi_images_tables_at(core->images, pc, tables);
}

void uspi_core_target(const struct uspi_core *core, struct usp_target *target) {
    /* The callbacks' contexts are not const; what is behind them is never written. */
    union {
        const struct uspi_core *in;
        struct uspi_core *out;
    } unconst = {core};
    usp_target_init(target, core->arch);
    target->os = core->os;
    target->address_bits = core->address_bits;
    target->pac_mask = core->pac_mask;
    target->memory = (struct usp_memory){uspi_core_memory_read, &unconst.out->memory};
    /* No bounds: all memory stands still and each read decides, so that a walk can leave an alternate signal stack or a
     * coroutine's for the one below it. */
    target->image_at = region_at;
    target->unwind_tables_at = tables_at;
    target->context = unconst.out;
}
