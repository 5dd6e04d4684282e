/* SPDX-License-Identifier: MIT */
/* Makes snapshots: walks the threads that were copied while a process was stopped, and keeps the requested data.
 * lib/os/ stops processes, lib/corefile/ reads cores. */
#include "lib/snapshot/snapshot.h"
#include "arch/host.h"
#include "lib/base/array.h"
#include "lib/base/page_cache.h"
#include "lib/base/processor.h"
#include "lib/base/signal_names.h"
#include "lib/base/sized.h"
#include "lib/capture/own_code.h"
#include "lib/capture/roots.h"
#include "lib/capture/state.h"
#include "lib/capture/thread_copy.h"
#include "lib/images/image_list.h"
#include "lib/snapshot/lock_owners.h"
#include "lib/snapshot/mapped_code.h"
#include "lib/snapshot/raw.h"
#include "lib/snapshot/swift_runtime.h"
#include "lib/unwind/async.h"
#include "lib/unwind/unwind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of roots: each root of this process, in each copy of libc that the other process has. */
#define ROOTS 8u
/* Number of unwind rules that are cached while the threads are walked, which mostly are in the same functions. */
#define RULES 2048u

struct thread_memory {
    struct uspi_thread_copy *copy;
    const struct uspi_context_table *contexts;
    struct usp_memory live;
};

struct usp_snapshot {
    struct usp_snapshot_info info;
    struct uspi_snapshot_source source;
    struct usp_snapshot_thread *threads;
    struct thread_memory *memories; /* one for each thread */
    struct usp_frame *frames;       /* of all threads */
    size_t frame_count, frame_capacity;
    uint8_t *sp_bytes;
    usp_addr roots[ROOTS];
    uint32_t root_count;
    struct uspi_mapped_code *mapped;  /* NULL: not a live process */
    struct usp_memory memory;         /* process.live as given by the source */
    char *program, *sysroot, *folder; /* copies of the options' and the source's strings; NULL: not given */
};

void usp_snapshot_options_init(struct usp_snapshot_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->max_frames = 512;
    options->timeout = 100000000;
    usp_unwind_options_init(&options->unwind);
}

bool uspi_complete_snapshot_options(const struct usp_snapshot_options *given, struct usp_snapshot_options *options) {
    usp_snapshot_options_init(options);
    return USPI_COMPLETE(options, given) && options->max_frames > 0 && options->max_frames <= 1u << 24 &&
           options->sp_bytes <= 1u << 24 && options->means <= USP_SNAPSHOT_BY_HELPER;
}

/* ---- memory ---- */

static int read_thread(void *context, usp_addr from, void *to, size_t n) {
    const struct thread_memory *memory = context;
    int status = uspi_read_stacks(memory->copy, from, to, n);
    if (status != USP_ERROR_ABSENT) return status;
    if (uspi_context_table_read(memory->contexts, from, to, n)) return USP_OK;
    return memory->live.read(memory->live.context, from, to, n);
}

static void init_space(const struct usp_snapshot *s, uint32_t arch, struct usp_target *target) {
    const struct uspi_snapshot_source *source = &s->source;
    usp_target_init(target, arch != USP_ARCH_NONE ? arch : s->info.arch);
    target->os = s->info.os;
    target->pac_mask = source->process.pac_mask;
    target->memory = target->code = source->process.live;
    target->roots = s->roots;
    target->root_count = s->root_count;
    target->beyond_roots = 1; /* a core of the process, which has no roots, gives the same frames */
    uspi_image_tables_describe(source->tables, target);
    if (s->mapped != NULL) uspi_mapped_code_describe(s->mapped, target);
}

static void init_target(const struct usp_snapshot *s, size_t i, struct usp_target *target) {
    const struct uspi_snapshot_source *source = &s->source;
    const struct uspi_stopped_thread *thread = &source->process.threads[i];
    init_space(s, thread->copy.registers.arch, target);
    target->memory = (struct usp_memory){read_thread, &s->memories[i]};
    target->stack_low = thread->copy.stack_low;
    target->stack_high = thread->copy.stack_high;
    target->swift_task_slot = thread->copy.swift_task_slot;
    if (source->describe != NULL) source->describe(source->context, thread, target);
}

/* ---- making one ---- */

static bool is_goroutine(const struct usp_thread_info *info) { return (info->flags & USP_THREAD_GOROUTINE) != 0; }

/* Sorts the thread that crashed first, then the main thread, the others by id, goroutines last. */
static int by_rank(const void *a, const void *b) {
    const struct usp_thread_info *x = &((const struct uspi_stopped_thread *)a)->info;
    const struct usp_thread_info *y = &((const struct uspi_stopped_thread *)b)->info;
    bool x_crashed = (x->flags & USP_THREAD_CRASHED) != 0, y_crashed = (y->flags & USP_THREAD_CRASHED) != 0;
    if (x_crashed != y_crashed) return x_crashed ? -1 : 1;
    if (is_goroutine(x) != is_goroutine(y)) return is_goroutine(y) ? -1 : 1;
    bool x_main = (x->flags & USP_THREAD_MAIN) != 0, y_main = (y->flags & USP_THREAD_MAIN) != 0;
    if (x_main != y_main) return x_main ? -1 : 1;
    return (x->thread.id > y->thread.id) - (x->thread.id < y->thread.id);
}

/* Appends a walked stack's frames to the array of all frames. The array can move until the last thread is walked;
 * give_frames then sets the stacks' pointers. */
static bool keep_frames(struct usp_snapshot *s, const struct usp_stack *stack) {
    struct usp_frame *grown =
        uspi_array_reserve(s->frames, &s->frame_capacity, s->frame_count + stack->count, sizeof *grown);
    if (grown == NULL) return false;
    s->frames = grown;
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

/* Reads up to n bytes around sp. Where a part of the stack was copied, only from the copy, since the process runs
 * again. */
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

/* What a walk needs besides the snapshot. */
struct walk_setup {
    const struct usp_snapshot_options *options;
    const struct uspi_own_capture *own; /* may be NULL */
    struct usp_frame *frames;           /* room for max_frames frames */
    struct usp_memory text;        /* memory to read text from; read NULL: target.code stays as the source has set it */
    struct uspi_rule_cache *rules; /* shared by all threads */
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

static bool take_thread(struct usp_snapshot *s, size_t i, const struct walk_setup *setup) {
    const struct uspi_stopped_thread *from = &s->source.process.threads[i];
    struct usp_snapshot_thread *t = &s->threads[i];
    struct usp_target target;
    if (from->walked != NULL) {
        *t = *from->walked;
        if (t->status != USP_OK) s->info.missed++;
        return keep_frames(s, &t->stack);
    }
    t->info = from->info;
    t->wait_channel = from->wait_channel[0] != '\0' ? from->wait_channel : NULL;
    t->status = from->status;
    t->registers = from->copy.registers;
    t->stack_low = from->copy.stack_low;
    t->stack_high = from->copy.stack_high;
    t->stopped_ns = from->copy.stopped_ns;
    usp_stack_init(&t->stack, setup->frames, setup->options->max_frames);
    init_target(s, i, &target);
    if (setup->own != NULL && (from->info.flags & USP_THREAD_REQUESTER) != 0) {
        take_own(t, setup->own, setup->frames);
    } else if (t->status == USP_OK && (from->info.flags & USP_THREAD_KERNEL) != 0) {
        t->stack.arch = s->info.arch;
        t->stack.stop = USP_STOP_KERNEL;
    } else if (t->status == USP_OK) {
        if (setup->text.read != NULL) target.code = setup->text;
        const struct uspi_shortcuts shortcuts = {.rules = setup->rules,
                                                 .stack = from->copy.parts[0],
                                                 .parts = from->copy.parts,
                                                 .beside =
                                                     s->source.beside != NULL ? s->source.beside : s->source.tables,
                                                 .lacks_registers = from->copy.lacks_registers};
        t->status = uspi_unwind(&target, &t->registers, false, &shortcuts, &setup->options->unwind, &t->stack);
        t->stack.stopped_ns = t->stopped_ns;
        if (s->source.is_live && target.os == USP_OS_LINUX) {
            const struct uspi_stopped_process *process = &s->source.process;
            uspi_async_confirm(&from->copy.parts[0], &process->contexts, &process->live, &t->stack);
        }
        uspi_note_cut(&from->copy, &t->stack);
    }
    t->stack.status = t->status;
    if (t->status != USP_OK) s->info.missed++;
    size_t n = setup->options->sp_bytes;
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
    struct walk_setup setup = {.options = &completed, .own = own};
    size_t n = s->info.thread_count;
    if (completed.unwind.images == NULL) completed.unwind.images = s->source.images;
    s->threads = calloc(n + 1, sizeof *s->threads);
    s->memories = calloc(n + 1, sizeof *s->memories);
    s->sp_bytes = options->sp_bytes != 0 ? calloc(n + 1, options->sp_bytes) : NULL;
    setup.frames = malloc(options->max_frames * sizeof *setup.frames);
    struct uspi_page_cache *pages = NULL;
    struct usp_memory live = s->source.process.live;
    /* A core's memory is mapped and needs no cache. Reading a process's memory takes a system call, and a walk can try
     * a bad address more than once. */
    if (s->source.describe == NULL) {
        pages = uspi_page_cache_before(&live);
        setup.text = live;
    }
    setup.rules = uspi_rule_cache_create(RULES, true, NULL);
    bool ok = setup.rules != NULL && s->threads != NULL && s->memories != NULL && setup.frames != NULL &&
              (options->sp_bytes == 0 || s->sp_bytes != NULL);
    for (size_t i = 0; i < n && ok; i++) {
        struct uspi_stopped_process *process = &s->source.process;
        s->memories[i] = (struct thread_memory){&process->threads[i].copy, &process->contexts, live};
        ok = take_thread(s, i, &setup);
        s->memories[i].live = process->live;
    }
    const struct uspi_image_tables *tables = s->source.beside != NULL ? s->source.beside : s->source.tables;
    ok = ok && (tables == NULL || !uspi_image_tables_ran_out(tables));
    if (ok) give_frames(s);
    free(setup.frames);
    free(pages);
    free(setup.rules);
    return ok;
}

void uspi_snapshot_source_free(struct uspi_snapshot_source *source) {
    for (size_t i = 0; i < source->message_count; i++) free(source->messages[i]);
    free(source->messages);
    for (size_t i = 0; i < source->note_count; i++) {
        free((char *)source->notes[i].key);
        free((char *)source->notes[i].text);
    }
    free(source->notes);
    free(source->crash);
    free(source->exception);
    free(source->crash_text);
    uspi_image_tables_free(source->tables);
    usp_images_free(source->images);
    for (size_t i = 0; i < source->process.thread_count; i++) {
        const struct uspi_stopped_thread *t = &source->process.threads[i];
        if (is_goroutine(&t->info)) free((void *)t->copy.parts[0].bytes);
    }
    uspi_os_free_stopped(&source->process);
    if (source->release != NULL) source->release(source->context);
    memset(source, 0, sizeof *source);
}

/* Copies a string; NULL stays NULL. Returns false if memory is exhausted. */
static bool copy_string(const char *from, char **to) {
    *to = from != NULL ? strdup(from) : NULL;
    return from == NULL || *to != NULL;
}

static bool keep_origin(struct usp_snapshot *s, const struct usp_snapshot_options *options) {
    s->memory = s->source.process.live;
    return copy_string(options->program, &s->program) && copy_string(options->sysroot, &s->sysroot) &&
           copy_string(s->source.folder, &s->folder);
}

/* Appends a message for users. Returns false if memory is exhausted. */
static bool add_message(struct uspi_snapshot_source *source, const char *text) {
    char **grown = realloc(source->messages, (source->message_count + 1) * sizeof *grown);
    if (grown == NULL) return false;
    source->messages = grown;
    grown[source->message_count] = strdup(text);
    if (grown[source->message_count] == NULL) return false;
    source->message_count++;
    return true;
}

/* Lists the goroutines that no thread runs as threads. Returns false if memory is exhausted. */
static bool add_goroutines(struct usp_snapshot *s) {
    struct uspi_image_sources places = {.search = {.file = s->program, .sysroot = s->sysroot, .folder = s->folder}};
    struct uspi_error why = {.text = ""};
    struct uspi_process_root root;
    uspi_places_of_process(&places, s->source.images, s->source.is_live ? s->info.pid : 0, &root);
    if (s->source.add_goroutines(s->source.images, &places, s->source.is_live, &s->source.process, &why) != USP_OK)
        return false;
    return why.text[0] == '\0' || add_message(&s->source, why.text);
}

int uspi_snapshot_from_stopped(struct uspi_snapshot_source *source, const struct usp_snapshot_options *options,
                               const struct uspi_own_capture *own, struct usp_snapshot **snapshot) {
    struct usp_snapshot *s = calloc(1, sizeof *s);
    *snapshot = NULL;
    if (s == NULL) {
        uspi_snapshot_source_free(source);
        return USP_ERROR_NO_MEMORY;
    }
    s->source = *source;
    memset(source, 0, sizeof *source);
    s->info = s->source.info;
    struct uspi_stopped_process *process = &s->source.process;
    const size_t real_threads = process->thread_count;
    if (!keep_origin(s, options) ||
        (options->goroutines != 0 && s->source.add_goroutines != NULL && !add_goroutines(s))) {
        usp_snapshot_free(s);
        return USP_ERROR_NO_MEMORY;
    }
    s->info.thread_count = (uint32_t)process->thread_count;
    if (s->info.arch == USP_ARCH_NONE) s->info.arch = process->arch;
    if (s->info.crash == NULL) s->info.crash = "";
    if (s->info.program == NULL) s->info.program = find_program(s->source.images);
    /* A core's stacks have the same frames in every process that reads it, whatever that process has captured. */
    if (own != NULL) {
        s->root_count = uspi_roots_own(s->roots, ROOTS);
    } else if (s->source.is_live) {
        s->root_count = uspi_roots_in(s->source.images, s->roots, ROOTS);
    }
    if (process->thread_count > 1) {
        qsort(process->threads, process->thread_count, sizeof *process->threads, by_rank);
    }
    if (s->source.is_live && s->source.tables != NULL && (s->mapped = calloc(1, sizeof *s->mapped)) != NULL) {
        *s->mapped = (struct uspi_mapped_code){s->source.tables, process->live, process->pid, false, NULL, 0, 0};
    }
    if (!take_threads(s, options, own)) {
        usp_snapshot_free(s);
        return USP_ERROR_NO_MEMORY;
    }
    const struct uspi_lock_owners owners = {.threads = s->threads,
                                            .stopped = process->threads,
                                            .count = real_threads,
                                            .live = s->source.is_live && own == NULL ? process->pid : 0,
                                            .os = s->info.os,
                                            .memory = s->source.is_live ? NULL : &s->memory};
    uspi_lock_owners_find(&owners);
    if (s->mapped != NULL) uspi_mapped_code_freeze(s->mapped);
    *snapshot = s;
    return USP_OK;
}

/* Captures the stack of the caller of the function into which this one is inlined. That function is left out. */
USPI_TEMPLATE void capture_own(const struct usp_snapshot_options *options, struct usp_frame *frames,
                               struct uspi_own_capture *own) {
    struct usp_unwind_options unwind = options->unwind;
    uintptr_t record = (uintptr_t)__builtin_frame_address(0), high;
    unwind.skip += 1 + options->skip_own;
    memset(own, 0, sizeof *own);
    uspi_registers_init(&own->registers, USPI_HOST_ARCH);
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

void uspi_snapshot_source_is_live(struct uspi_snapshot_source *source) {
    source->is_live = true;
    source->info.os = uspi_os_kind();
    source->info.pid = source->process.pid;
    source->info.stopped_ns = source->process.stopped_ns;
}

struct usp_region uspi_snapshot_executor(int64_t pid, const struct usp_images *images) {
    struct uspi_image_sources places = {.process = 0};
    struct uspi_process_root root;
    struct usp_region executor = {0};
    struct usp_memory memory;
    if (images == NULL || uspi_os_process_memory_open(pid, &memory) != USP_OK) return executor;
    uspi_places_of_process(&places, images, pid, &root);
    const struct usp_image *image = uspi_swift_runtime_image(images, &places, &memory);
    if (image != NULL) {
        executor.text_low = image->text_low;
        executor.text_high = image->text_high;
    }
    uspi_os_process_memory_close(&memory);
    return executor;
}

/* Called before the stop, for work that would otherwise prolong it. context: whether async callers are wanted. */
static struct usp_region learn_of_self(void *context, int listed) {
    const bool *wants_async = context;
    struct usp_images *images = NULL;
    (void)listed;
    if (!*wants_async || usp_images_create_self(&images) != USP_OK) return (struct usp_region){0};
    const struct usp_region executor = uspi_snapshot_executor(uspi_os_process_id(), images);
    usp_images_free(images);
    return executor;
}

/* Not inlined into the program by link-time optimization: see capture_own. */
USPI_APART int usp_snapshot_create_self(const struct usp_snapshot_options *options, struct usp_snapshot **snapshot) {
    struct usp_snapshot_options completed;
    struct uspi_snapshot_source source = {.images = NULL};
    struct uspi_own_capture own;
    struct uspi_undisturbed kept;
    if (snapshot == NULL) return USP_ERROR_ARGUMENT;
    *snapshot = NULL;
    if (!uspi_complete_snapshot_options(options, &completed)) return USP_ERROR_ARGUMENT;
    bool wants_async = completed.unwind.async != 0;
    struct uspi_stop_options how = {.only_thread = completed.only_thread,
                                    .by_helper = completed.means == USP_SNAPSHOT_BY_HELPER,
                                    .whole_stacks = completed.whole_stacks != 0,
                                    .before_stop = learn_of_self,
                                    .context = &wants_async};
    int status = how.by_helper ? USP_OK : uspi_capture_prepare();
    if (status != USP_OK) return status;
    uspi_os_undisturbed_begin(&kept);
    struct usp_frame *frames = malloc(completed.max_frames * sizeof *frames);
    status = USP_ERROR_NO_MEMORY;
    if (frames != NULL) {
        /* Updates the list of images before the stop; uspi_own_code_keep does so again after it, for images loaded in
         * between. */
        how.timeout = uspi_own_code_notice(completed.timeout);
        capture_own(&completed, frames, &own);
        source.info.time = uspi_os_wall_clock();
        const uint64_t deadline = uspi_os_clock() + how.timeout;
        status = uspi_os_stop_self(&how, &source.process);
        /* Stacks are reported even if the images are not known. */
        if (status == USP_OK && uspi_own_code_keep(deadline, &source.images, &source.tables) == USP_ERROR_NO_MEMORY) {
            status = USP_ERROR_NO_MEMORY;
        }
    }
    if (status == USP_OK) {
        uspi_snapshot_source_is_live(&source);
        status = uspi_snapshot_from_stopped(&source, &completed, &own, snapshot);
    } else {
        uspi_snapshot_source_free(&source);
    }
    free(frames);
    uspi_os_undisturbed_end(&kept);
    return status;
}

/* ---- reading one ---- */

const char *usp_signal_string(uint32_t os, uint32_t signal) { return uspi_signal_name(os, signal); }

const char *usp_mach_exception_string(uint32_t exception) { return uspi_mach_exception_name(exception); }

void usp_snapshot_free(struct usp_snapshot *snapshot) {
    if (snapshot == NULL) return;
    if (snapshot->mapped != NULL) uspi_mapped_code_clear(snapshot->mapped);
    free(snapshot->mapped);
    free(snapshot->threads);
    free(snapshot->memories);
    free(snapshot->frames);
    free(snapshot->sp_bytes);
    free(snapshot->program);
    free(snapshot->sysroot);
    free(snapshot->folder);
    uspi_snapshot_source_free(&snapshot->source);
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

void uspi_snapshot_get_origin(const struct usp_snapshot *snapshot, struct uspi_snapshot_origin *origin) {
    const struct uspi_snapshot_source *source = &snapshot->source;
    *origin = (struct uspi_snapshot_origin){
        .program = snapshot->program, .sysroot = snapshot->sysroot, .folder = snapshot->folder};
    if (source->is_live) {
        origin->process = snapshot->info.pid;
    } else {
        origin->memory = &snapshot->memory;
        origin->pac_mask = source->process.pac_mask;
    }
}

void uspi_snapshot_space(const struct usp_snapshot *snapshot, struct usp_target *target) {
    const struct uspi_snapshot_source *source = &snapshot->source;
    init_space(snapshot, USP_ARCH_NONE, target);
    if (source->describe != NULL) source->describe(source->context, NULL, target);
    target->memory = snapshot->memory;
}

int uspi_snapshot_writable(const struct usp_snapshot *snapshot, uspi_range_function each, void *context) {
    const struct uspi_snapshot_source *source = &snapshot->source;
    if (source->writable != NULL) return source->writable(source->context, each, context);
    /* A search of this process's own memory would find the search's own copies. */
    if (!source->is_live || snapshot->info.pid == uspi_os_process_id()) return USP_ERROR_UNSUPPORTED;
    return uspi_os_writable_memory(snapshot->info.pid, each, context);
}

bool uspi_snapshot_crash(const struct usp_snapshot *snapshot, struct uspi_raw_crash *crash) {
    if (snapshot == NULL || snapshot->source.crash == NULL) return false;
    *crash = *snapshot->source.crash;
    return true;
}

const struct usp_stack *usp_snapshot_exception(const struct usp_snapshot *snapshot) {
    return snapshot != NULL ? snapshot->source.exception : NULL;
}

const struct usp_snapshot_note *usp_snapshot_get_note(const struct usp_snapshot *snapshot, size_t i) {
    return snapshot != NULL && i < snapshot->source.note_count ? &snapshot->source.notes[i] : NULL;
}

const char *usp_snapshot_message(const struct usp_snapshot *snapshot, size_t i) {
    return snapshot != NULL && i < snapshot->source.message_count ? snapshot->source.messages[i] : NULL;
}
