/* SPDX-License-Identifier: MIT */
/* Snapshots: a stopped process's copies become walked threads, in order, with what was asked to be kept. Stopping is
 * lib/os/'s, reading cores lib/corefile/'s. */
#include "lib/snapshot.h"
#include "arch/host.h"
#include "lib/image_tables.h"
#include "lib/page_cache.h"
#include "lib/unwind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Roots of another process: each of ours, in each of its copies of libc. */
#define ROOTS 8u
/* Kept while the threads are walked, which mostly stand in the same functions. */
#define RULES 2048u

struct thread_memory {
    const struct uspi_thread_copy *copy;
    struct usp_memory live;
};

struct usp_snapshot {
    struct usp_snapshot_info info;
    struct uspi_snapshot_source source;
    struct usp_snapshot_thread *threads;
    struct thread_memory *memories; /* one for each thread */
    struct usp_frame *frames;       /* of all threads */
    size_t frame_count, frame_room;
    uint8_t *sp_bytes;
    usp_addr roots[ROOTS];
};

void usp_snapshot_options_init(struct usp_snapshot_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->max_frames = 512;
    options->timeout = 100000000;
    usp_options_init(&options->unwind);
}

bool uspi_complete_snapshot_options(const struct usp_snapshot_options *given, struct usp_snapshot_options *options) {
    usp_snapshot_options_init(options);
    if (given == NULL) return true;
    if (given->size < offsetof(struct usp_snapshot_options, sp_bytes)) return false;
    memcpy(options, given, given->size < sizeof *options ? given->size : sizeof *options);
    options->size = sizeof *options;
    return options->max_frames > 0 && options->max_frames <= 1u << 24 && options->sp_bytes <= 1u << 24;
}

/* ---- memory ---- */

static int read_thread(void *context, usp_addr from, void *to, size_t n) {
    const struct thread_memory *memory = context;
    int status = uspi_read_stacks(memory->copy, from, to, n);
    return status == USP_ERROR_ABSENT ? memory->live.read(memory->live.context, from, to, n) : status;
}

static void init_target(const struct usp_snapshot *s, size_t i, struct usp_target *target) {
    const struct uspi_snapshot_source *source = &s->source;
    const struct uspi_stopped_thread *thread = &source->process.threads[i];
    uint32_t arch = thread->copy.registers.arch;
    usp_target_init(target, arch != USP_ARCH_NONE ? arch : s->info.arch);
    target->os = s->info.os;
    target->pac_mask = source->process.pac_mask;
    target->memory = (struct usp_memory){read_thread, &s->memories[i]};
    target->code = source->process.live;
    target->stack_low = thread->copy.stack_low;
    target->stack_high = thread->copy.stack_high;
    target->swift_task_slot = thread->copy.swift_task_slot;
    target->roots = source->process.roots;
    target->root_count = source->process.root_count;
    uspi_images_describe_tables(source->images, target);
    if (source->describe != NULL) source->describe(source->context, thread, target);
}

/* ---- making one ---- */

/* The main thread first, the others by id. */
static int by_rank(const void *a, const void *b) {
    const struct usp_thread_info *x = &((const struct uspi_stopped_thread *)a)->info;
    const struct usp_thread_info *y = &((const struct uspi_stopped_thread *)b)->info;
    bool x_main = (x->flags & USP_THREAD_MAIN) != 0, y_main = (y->flags & USP_THREAD_MAIN) != 0;
    if (x_main != y_main) return x_main ? -1 : 1;
    return (x->thread.id > y->thread.id) - (x->thread.id < y->thread.id);
}

/* Appends a walked stack's frames. They move until the last one is there: then they are given to their stacks. */
static bool keep_frames(struct usp_snapshot *s, const struct usp_stack *stack) {
    if (stack->count > s->frame_room - s->frame_count) {
        size_t room =
            s->frame_room * 2 > s->frame_count + stack->count ? s->frame_room * 2 : s->frame_count + stack->count + 256;
        struct usp_frame *grown = realloc(s->frames, room * sizeof *grown);
        if (grown == NULL) return false;
        s->frames = grown;
        s->frame_room = room;
    }
    if (stack->count != 0) memcpy(s->frames + s->frame_count, stack->frames, stack->count * sizeof *stack->frames);
    s->frame_count += stack->count;
    return true;
}

static void give_frames(struct usp_snapshot *s) {
    struct usp_frame *next = s->frames;
    for (size_t i = 0; i < s->info.thread_count; i++) {
        struct usp_stack *stack = &s->threads[i].stack;
        stack->frames = NULL;
        stack->capacity = stack->count;
        if (stack->count == 0) continue;
        stack->frames = next;
        next += stack->count;
    }
}

/* What is kept around sp: of a copy only what was copied, since the process runs again. */
static size_t read_around(const struct usp_snapshot *s, size_t i, const struct usp_target *target, size_t n,
                          usp_addr *from, uint8_t *to) {
    const struct uspi_copied *part = &s->source.process.threads[i].copy.parts[0];
    usp_addr sp = usp_registers_sp(&s->threads[i].registers);
    usp_addr low = sp > n / 2 ? sp - n / 2 : 0, high = sp + (n - n / 2);
    if (high < sp) return 0;
    if (part->size != 0) {
        if (low < part->from) low = part->from;
        if (high > part->from + part->size) high = part->from + part->size;
    }
    for (; low <= sp && sp < high; low = sp) {
        *from = low;
        if (target->memory.read(target->memory.context, low, to, (size_t)(high - low)) == 0)
            return (size_t)(high - low);
        if (low == sp) break;
    }
    return 0;
}

/* What walking needs besides the snapshot. */
struct walk_room {
    const struct usp_snapshot_options *options;
    const struct uspi_own_capture *own; /* may be NULL */
    struct usp_frame *frames;           /* max_frames */
    struct usp_memory text;             /* read NULL: text is read as the source says */
    struct uspi_rule_cache *rules;      /* one for all threads */
};

static void take_own(struct usp_snapshot_thread *t, const struct uspi_own_capture *own, struct usp_frame *frames) {
    t->registers = own->registers;
    t->stack_low = own->stack_low;
    t->stack_high = own->stack_high;
    t->status = own->stack.status;
    t->stack = own->stack;
    if (own->stack.count != 0) memcpy(frames, own->stack.frames, own->stack.count * sizeof *frames);
    t->stack.frames = frames;
}

static bool take_thread(struct usp_snapshot *s, size_t i, const struct walk_room *room) {
    const struct uspi_stopped_thread *from = &s->source.process.threads[i];
    struct usp_snapshot_thread *t = &s->threads[i];
    struct usp_target target;
    if (from->walked != NULL) {
        *t = *from->walked;
        if (t->status != USP_OK) s->info.missed++;
        return keep_frames(s, &t->stack);
    }
    t->info = from->info;
    t->status = from->status;
    t->registers = from->copy.registers;
    t->stack_low = from->copy.stack_low;
    t->stack_high = from->copy.stack_high;
    t->stopped_ns = from->copy.stopped_ns;
    usp_stack_init(&t->stack, room->frames, room->options->max_frames);
    init_target(s, i, &target);
    if (room->own != NULL && (from->info.flags & USP_THREAD_REQUESTER) != 0) {
        take_own(t, room->own, room->frames);
    } else if (t->status == USP_OK) {
        if (room->text.read != NULL) target.code = room->text;
        const struct uspi_shortcuts shortcuts = {.rules = room->rules, .stack = from->copy.parts[0]};
        t->status = uspi_unwind(&target, &t->registers, false, &shortcuts, &room->options->unwind, &t->stack);
        t->stack.stopped_ns = t->stopped_ns;
    }
    t->stack.status = t->status;
    if (t->status != USP_OK) s->info.missed++;
    size_t n = room->options->sp_bytes;
    if (n != 0 && t->status == USP_OK) {
        uint8_t *to = s->sp_bytes + i * n;
        t->sp_bytes_size = read_around(s, i, &target, n, &t->sp_bytes_address, to);
        if (t->sp_bytes_size != 0) t->sp_bytes = to;
    }
    return keep_frames(s, &t->stack);
}

static const char *find_program(const struct usp_images *images) {
    for (size_t i = 0; i < usp_images_count(images); i++) {
        if ((usp_images_get(images, i)->flags & USP_IMAGE_MAIN) != 0) return usp_images_get(images, i)->path;
    }
    return "";
}

static bool take_threads(struct usp_snapshot *s, const struct usp_snapshot_options *options,
                         const struct uspi_own_capture *own) {
    struct usp_snapshot_options completed = *options;
    struct walk_room room = {.options = &completed, .own = own};
    size_t n = s->info.thread_count;
    if (completed.unwind.images == NULL) completed.unwind.images = s->source.images;
    s->threads = calloc(n + 1, sizeof *s->threads);
    s->memories = calloc(n + 1, sizeof *s->memories);
    s->sp_bytes = options->sp_bytes != 0 ? calloc(n + 1, options->sp_bytes) : NULL;
    room.frames = malloc(options->max_frames * sizeof *room.frames);
    struct uspi_page_cache *pages = NULL;
    /* A core's text is mapped; a process's costs a system call. */
    if (s->source.describe == NULL) {
        room.text = s->source.process.live;
        pages = uspi_page_cache_before(&room.text);
    }
    room.rules = uspi_rule_cache_create(RULES, true, NULL);
    bool ok = room.rules != NULL && s->threads != NULL && s->memories != NULL && room.frames != NULL &&
              (options->sp_bytes == 0 || s->sp_bytes != NULL);
    for (size_t i = 0; i < n && ok; i++) {
        struct uspi_stopped_process *process = &s->source.process;
        if (process->settle != NULL) process->look(process);
        s->memories[i] = (struct thread_memory){&process->threads[i].copy, process->live};
        ok = take_thread(s, i, &room);
    }
    if (ok) give_frames(s);
    free(room.frames);
    free(pages);
    free(room.rules);
    return ok;
}

void uspi_os_settle(struct uspi_stopped_process *process) {
    if (process->settle != NULL) process->settle(process);
    process->settle = NULL;
}

void uspi_os_free_stopped(struct uspi_stopped_process *process) {
    uspi_os_settle(process);
    if (process->owned != NULL) process->release(process->owned);
    usp_images_free(process->images);
    free(process->threads);
    memset(process, 0, sizeof *process);
}

static void free_source(struct uspi_snapshot_source *source) {
    for (size_t i = 0; i < source->message_count; i++) free(source->messages[i]);
    free(source->messages);
    usp_images_free(source->images);
    uspi_os_free_stopped(&source->process);
    if (source->release != NULL) source->release(source->context);
    memset(source, 0, sizeof *source);
}

/* False when memory lacks. */
static bool learn_tables(struct usp_snapshot *s) {
    const struct uspi_places *places = s->source.places;
    struct uspi_places elsewhere = {.process = 0};
    if (s->source.search != NULL) {
        elsewhere.search = *s->source.search;
        places = &elsewhere;
    }
    s->source.places = NULL;
    s->source.search = NULL;
    return s->source.images == NULL ||
           uspi_images_learn_tables(s->source.images, &s->source.process.live, places, UINT64_MAX) == USP_OK;
}

/* Nobody hears of a snapshot before the threads run again. */
static void settle(struct usp_snapshot *s) {
    struct uspi_stopped_process *process = &s->source.process;
    uspi_os_settle(process);
    s->info.stopped_ns = process->stopped_ns;
    for (size_t i = 0; i < process->thread_count; i++) {
        struct usp_snapshot_thread *t = &s->threads[i];
        t->stopped_ns = process->threads[i].copy.stopped_ns;
        if (t->status == USP_OK) t->stack.stopped_ns = t->stopped_ns;
    }
}

int uspi_snapshot_from_stopped(struct uspi_snapshot_source *source, const struct usp_snapshot_options *options,
                               const struct uspi_own_capture *own, struct usp_snapshot **snapshot) {
    struct usp_snapshot *s = calloc(1, sizeof *s);
    *snapshot = NULL;
    if (s == NULL) {
        free_source(source);
        return USP_ERROR_NO_MEMORY;
    }
    s->source = *source;
    memset(source, 0, sizeof *source);
    s->info = s->source.info;
    struct uspi_stopped_process *process = &s->source.process;
    s->info.thread_count = (uint32_t)process->thread_count;
    if (s->info.arch == USP_ARCH_NONE) s->info.arch = process->arch;
    if (s->info.program == NULL) s->info.program = find_program(s->source.images);
    if (process->roots == NULL) {
        process->root_count = uspi_os_roots_in(s->source.images, s->roots, ROOTS);
        process->roots = s->roots;
    }
    if (process->thread_count > 1) {
        qsort(process->threads, process->thread_count, sizeof *process->threads, by_rank);
    }
    if (!learn_tables(s) || !take_threads(s, options, own)) {
        usp_snapshot_free(s);
        return USP_ERROR_NO_MEMORY;
    }
    if (process->settle != NULL) settle(s);
    *snapshot = s;
    return USP_OK;
}

/* The stack of the caller of the function that this is inlined into, which itself is left out. */
USPI_TEMPLATE void capture_own(const struct usp_snapshot_options *options, struct usp_frame *frames,
                               struct uspi_own_capture *own) {
    struct usp_options unwind = options->unwind;
    uintptr_t record = (uintptr_t)__builtin_frame_address(0), high;
    unwind.skip++;
    memset(own, 0, sizeof *own);
    usp_registers_init(&own->registers, USPI_HOST_ARCH);
    usp_registers_set_pc(&own->registers,
                         uspi_host_strip((uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0))));
    usp_registers_set_sp(&own->registers, (uintptr_t)__builtin_dwarf_cfa());
    if (uspi_os_stack(record, &high)) {
        own->stack_low = record;
        own->stack_high = high;
    }
    usp_stack_init(&own->stack, frames, options->max_frames);
    usp_capture_self(&unwind, &own->stack);
}

static void fill_live_info(struct uspi_snapshot_source *source) {
    source->info.os = uspi_os_kind();
    source->info.pid = source->process.pid;
    source->info.stopped_ns = source->process.stopped_ns;
}

int usp_snapshot_self(const struct usp_snapshot_options *options, struct usp_snapshot **snapshot) {
    struct usp_snapshot_options completed;
    const struct uspi_places places = {.search = {.as_named = true}, .in_process = true};
    struct uspi_snapshot_source source = {.places = &places};
    struct uspi_own_capture own;
    if (snapshot == NULL) return USP_ERROR_ARGUMENT;
    *snapshot = NULL;
    if (!uspi_complete_snapshot_options(options, &completed)) return USP_ERROR_ARGUMENT;
    struct usp_frame *frames = malloc(completed.max_frames * sizeof *frames);
    if (frames == NULL) return USP_ERROR_NO_MEMORY;
    capture_own(&completed, frames, &own);
    source.info.time = uspi_os_wall_clock();
    int status = uspi_os_stop_self(completed.timeout, completed.only_thread, &source.process);
    if (status == USP_OK) status = usp_images_self(&source.images);
    if (status == USP_OK) {
        fill_live_info(&source);
        status = uspi_snapshot_from_stopped(&source, &completed, &own, snapshot);
    } else {
        free_source(&source);
    }
    free(frames);
    return status;
}

int usp_snapshot_process(int64_t pid, const struct usp_snapshot_options *options, struct usp_snapshot **snapshot,
                         char *error, size_t error_size) {
    struct usp_snapshot_options completed;
    const struct uspi_places places = {.search = {.as_named = true}, .process = pid};
    struct uspi_snapshot_source source = {.places = &places};
    if (error != NULL && error_size > 0) error[0] = '\0';
    if (snapshot == NULL) return USP_ERROR_ARGUMENT;
    *snapshot = NULL;
    if (!uspi_complete_snapshot_options(options, &completed)) {
        if (error != NULL) snprintf(error, error_size, "the options make no sense");
        return USP_ERROR_ARGUMENT;
    }
    source.info.time = uspi_os_wall_clock();
    int status =
        uspi_os_stop_process(pid, completed.timeout, completed.only_thread, &source.process, error, error_size);
    if (status != USP_OK) return status;
    source.images = source.process.images;
    source.process.images = NULL;
    /* A process that has ended since leaves its stacks without images. */
    if (source.images == NULL && usp_images_process(pid, &source.images) != USP_OK) source.images = NULL;
    fill_live_info(&source);
    status = uspi_snapshot_from_stopped(&source, &completed, NULL, snapshot);
    if (status != USP_OK && error != NULL) snprintf(error, error_size, "%s", usp_strerror(status));
    return status;
}

/* ---- reading one ---- */

void usp_snapshot_free(struct usp_snapshot *snapshot) {
    if (snapshot == NULL) return;
    free(snapshot->threads);
    free(snapshot->memories);
    free(snapshot->frames);
    free(snapshot->sp_bytes);
    free_source(&snapshot->source);
    free(snapshot);
}

const struct usp_snapshot_info *usp_snapshot_get_info(const struct usp_snapshot *snapshot) {
    return snapshot != NULL ? &snapshot->info : NULL;
}

const struct usp_snapshot_thread *usp_snapshot_get_thread(const struct usp_snapshot *snapshot, size_t i) {
    return snapshot != NULL && i < snapshot->info.thread_count ? &snapshot->threads[i] : NULL;
}

const struct usp_images *usp_snapshot_images(const struct usp_snapshot *snapshot) {
    return snapshot != NULL ? snapshot->source.images : NULL;
}

int usp_snapshot_target(const struct usp_snapshot *snapshot, size_t i, struct usp_target *target) {
    if (snapshot == NULL || target == NULL || i >= snapshot->info.thread_count) return USP_ERROR_ARGUMENT;
    if (snapshot->source.process.threads[i].status != USP_OK) return snapshot->source.process.threads[i].status;
    init_target(snapshot, i, target);
    return USP_OK;
}

const char *usp_snapshot_message(const struct usp_snapshot *snapshot, size_t i) {
    return snapshot != NULL && i < snapshot->source.message_count ? snapshot->source.messages[i] : NULL;
}
