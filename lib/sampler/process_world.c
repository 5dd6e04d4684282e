/* SPDX-License-Identifier: MIT */
/* Implements struct uspi_world for another process. See world.h. lib/os/ stops its threads. */
#include "lib/sampler/world.h"

#include "lib/base/page_cache.h"
#include "lib/capture/roots.h"
#include "lib/capture/thread_copy.h"
#include "lib/sampler/code_pages.h"
#include "lib/snapshot/mapped_code.h"
#include "lib/unwind/tables/image_tables.h"
#include "lib/unwind/unwind.h"

#include <stdlib.h>
#include <string.h>

/* Number of unwind rules that are cached between captures. */
#define RULES 4096u
/* Maximum number of roots: each root of this process, in each copy of libc that the other process has. */
#define ROOTS 8u
/* Minimum time between two listings of the images, in ns. They are listed again only if memory was mapped or
 * unmapped. */
#define LIST_AGE UINT64_C(1000000000)
/* Listing the images takes at most one part in LIST_SHARE of the time. If a stack has addresses outside the images,
 * this is the only limit. */
#define LIST_SHARE 20u

/* The other process. The fields that are made from the images are replaced together. */
struct uspi_other_world {
    struct uspi_os_other *other;
    int64_t pid;
    struct usp_images *images; /* NULL: not known */
    struct uspi_image_tables *tables;
    struct uspi_rule_cache *rules; /* NULL: rules are not cached */
    struct usp_memory memory;      /* memory of the process */
    struct uspi_page_cache *pages; /* cache of `memory`, emptied at each stop; NULL: the allocation failed */
    usp_addr roots[ROOTS];
    uint32_t root_count;
    struct uspi_code_pages code_pages; /* the generated code for which the cache has rules */
    bool is_code_checked;              /* that code was compared since `pages` was emptied */
    uint64_t mapped;                   /* uspi_os_other_mapped at the last listing of the images */
    uint64_t listed;                   /* time of that listing, by usp_clock */
    uint64_t listing_takes;            /* duration of that listing, in ns */
    struct uspi_stopped_process stopped;
    enum uspi_running running;    /* of the thread that was captured last, when it was stopped */
    struct uspi_mapped_code code; /* where code can be; its mappings are listed at most once for each stop */
};

/* ---- images ---- */

static bool are_same(const struct usp_images *a, const struct usp_images *b) {
    size_t count = usp_images_count(a);
    bool same = count == usp_images_count(b);
    for (size_t i = 0; i < count && same; i++) {
        const struct usp_image *x = usp_images_get(a, i), *y = usp_images_get(b, i);
        same = x->load_address == y->load_address && x->end == y->end && x->build_id_size == y->build_id_size &&
               memcmp(x->build_id, y->build_id, x->build_id_size) == 0 && strcmp(x->path, y->path) == 0;
    }
    return same;
}

static void forget_rules(struct uspi_other_world *w) {
    uspi_code_pages_forget(&w->code_pages);
    free(w->rules);
    w->rules = uspi_rule_cache_create(RULES, true, NULL);
}

/* Makes `fresh` the list of images, with new unwind tables and roots and an empty rule cache. After USP_OK the world
 * owns `fresh`. */
static int take_images(struct uspi_other_world *w, struct usp_images *fresh) {
    struct uspi_image_tables *tables = NULL;
    int status = uspi_image_tables_of_process(fresh, &w->memory, w->pid, &tables);
    if (status != USP_OK) return status;
    uspi_image_tables_free(w->tables);
    usp_images_free(w->images);
    w->images = fresh;
    w->tables = tables;
    w->root_count = uspi_roots_in(fresh, w->roots, ROOTS);
    forget_rules(w);
    return USP_OK;
}

/* Lists the images. If the process has ended, the previous list stays. */
static int list_images(struct uspi_other_world *w) {
    struct usp_images *fresh = NULL;
    uint64_t began = uspi_os_clock(), mapped = uspi_os_other_mapped(w->other);
    int status = usp_images_create_process(w->pid, &fresh, NULL, 0);
    if (status == USP_OK) {
        w->memory = uspi_os_other_memory(w->other);
        if (w->images != NULL && are_same(w->images, fresh)) {
            usp_images_free(fresh);
        } else if ((status = take_images(w, fresh)) != USP_OK) {
            usp_images_free(fresh);
        }
    }
    w->mapped = mapped;
    w->listed = uspi_os_clock();
    w->listing_takes = w->listed - began;
    return status;
}

static bool leads_outside(const struct uspi_other_world *w, const struct usp_stack *stack) {
    for (uint32_t i = 0; i < stack->count; i++) {
        if (usp_images_find(w->images, stack->frames[i].pc) == NULL) return true;
    }
    return false;
}

/* Whether the images may have changed and their last listing is old enough to list them again. */
static bool is_list_due(const struct uspi_other_world *w, bool is_outside) {
    uint64_t age = uspi_os_clock() - w->listed, least = w->listing_takes * LIST_SHARE;
    if (age < (is_outside ? least : LIST_AGE > least ? LIST_AGE : least)) return false;
    return w->mapped == 0 || uspi_os_other_mapped(w->other) != w->mapped;
}

/* ---- captures ---- */

/* A thread's memory: the copy of its stack, and the live memory of the process for all other addresses. */
struct thread_memory {
    struct uspi_thread_copy *copy;
    struct usp_memory live;
};

static int read_thread(void *context, usp_addr from, void *to, size_t n) {
    const struct thread_memory *memory = context;
    int status = uspi_read_stacks(memory->copy, from, to, n);
    return status == USP_ERROR_ABSENT ? memory->live.read(memory->live.context, from, to, n) : status;
}

static void empty_pages(struct uspi_other_world *w) {
    if (w->pages != NULL) uspi_page_cache_init(w->pages, w->memory);
    w->is_code_checked = false;
}

static int stop_together(void *context, const struct usp_thread *threads, size_t count) {
    struct uspi_other_world *w = ((struct uspi_process_world *)context)->inner;
    if (is_list_due(w, false)) (void)list_images(w);
    int status = uspi_os_other_stop(w->other, threads, count, &w->stopped);
    empty_pages(w);
    uspi_mapped_code_renew(&w->code);
    return status;
}

static struct uspi_stopped_thread *find_stopped(const struct uspi_other_world *w, uint64_t id) {
    for (size_t i = 0; i < w->stopped.thread_count; i++) {
        if (w->stopped.threads[i].info.thread.id == id) return &w->stopped.threads[i];
    }
    return NULL;
}

/* Forgets the cached rules if the generated code that they are for has changed since the last stop. Returns the memory
 * from which explorations read code. */
static struct usp_memory checked_code(struct uspi_other_world *w) {
    if (w->pages == NULL) return w->memory;
    if (!w->is_code_checked) {
        w->is_code_checked = true;
        w->code_pages.images = w->images;
        w->code_pages.behind = (struct usp_memory){uspi_page_cache_read, w->pages};
        if (!uspi_code_pages_are_same(&w->code_pages)) forget_rules(w);
    }
    return (struct usp_memory){uspi_code_pages_read, &w->code_pages};
}

static int walk(struct uspi_other_world *w, struct uspi_stopped_thread *thread,
                const struct usp_unwind_options *options, struct usp_stack *stack) {
    const uint32_t arch = thread->copy.registers.arch;
    struct usp_memory live = w->memory;
    struct usp_unwind_options completed = *options;
    struct usp_target target;
    if (w->pages != NULL) live = (struct usp_memory){uspi_page_cache_read, w->pages};
    struct thread_memory memory = {&thread->copy, live};
    usp_target_init(&target, arch != USP_ARCH_NONE ? arch : w->stopped.arch);
    target.os = uspi_os_kind();
    target.pac_mask = w->stopped.pac_mask;
    target.memory = (struct usp_memory){read_thread, &memory};
    target.code = live;
    target.stack_low = thread->copy.stack_low;
    target.stack_high = thread->copy.stack_high;
    target.swift_task_slot = thread->copy.swift_task_slot;
    target.roots = w->roots;
    target.root_count = w->root_count;
    w->code.tables = w->tables;
    w->code.live = live;
    w->code.pid = w->pid;
    uspi_mapped_code_describe(&w->code, &target);
    if (completed.images == NULL) completed.images = w->images;
    /* This may replace w->rules. */
    const struct usp_memory explored = checked_code(w);
    const struct uspi_shortcuts shortcuts = {.rules = w->rules,
                                             .stack = thread->copy.parts[0],
                                             .parts = thread->copy.parts,
                                             .beside = w->tables,
                                             .explored = explored,
                                             .lacks_registers = thread->copy.lacks_registers};
    int status = uspi_unwind(&target, &thread->copy.registers, false, &shortcuts, &completed, stack);
    stack->stopped_ns = thread->copy.stopped_ns;
    uspi_note_cut(&thread->copy, stack);
    return status;
}

/* Returns whether a thread waited in a system call when it was stopped. The stop ends the call with a result that asks
 * the kernel to restart it, or with EINTR; a call that did not wait has ended by itself. Sources: Linux
 * include/linux/errno.h; arch/ of x86 and arm: the result is in the register with DWARF number 0. */
static bool waits(const struct uspi_stopped_thread *thread) {
    enum { EINTR_LINUX = 4, ERESTARTSYS = 512, ERESTART_RESTARTBLOCK = 516 };
    const struct usp_registers *registers = &thread->copy.registers;
    /* The state before the stop, which may itself have ended the wait. */
    if (thread->info.run_state == 'D' || thread->info.run_state == 'S') return true;
    if (!uspi_known(registers, 0)) return false;
    const bool is_narrow = registers->arch == USP_ARCH_I386 || registers->arch == USP_ARCH_ARMV7;
    const uint64_t result = registers->value[0];
    const uint64_t error = is_narrow ? (uint32_t)-(uint32_t)result : (uint64_t)0 - result;
    return error == EINTR_LINUX || (error >= ERESTARTSYS && error <= ERESTART_RESTARTBLOCK);
}

static enum uspi_running running(void *context) { return ((struct uspi_process_world *)context)->inner->running; }

static int capture(void *context, const struct usp_thread *wanted, const struct usp_unwind_options *options,
                   struct usp_stack *stack) {
    struct uspi_other_world *w = ((struct uspi_process_world *)context)->inner;
    struct uspi_stopped_thread *thread = find_stopped(w, wanted->id);
    if (thread == NULL) return USP_ERROR_NO_THREAD;
    if (thread->status != USP_OK) return thread->status;
    w->running = waits(thread) ? USPI_WAITS : uspi_os_other_running(w->other, wanted);
    int status = walk(w, thread, options, stack);
    if (leads_outside(w, stack) && is_list_due(w, true) && list_images(w) == USP_OK) {
        empty_pages(w);
        usp_stack_init(stack, stack->frames, stack->capacity);
        status = walk(w, thread, options, stack);
    }
    /* Rules for generated code that cannot be compared at the next stop are not kept. */
    if (w->pages == NULL ? leads_outside(w, stack) : w->code_pages.is_full) forget_rules(w);
    return status;
}

static const struct usp_images *images_now(void *context) {
    return ((struct uspi_process_world *)context)->inner->images;
}

/* ---- threads ---- */

static uint64_t own_cpu(void *context) {
    return uspi_world_own_cpu(context) + uspi_os_other_spent(((struct uspi_process_world *)context)->inner->other);
}

static void begin_look(void *context) {
    uspi_os_other_begin_look(((struct uspi_process_world *)context)->inner->other);
}

static int thread_cpu(void *context, const struct usp_thread *thread, uint64_t *ns) {
    return uspi_os_other_cpu(((struct uspi_process_world *)context)->inner->other, thread, ns);
}

static int count_threads(void *context, size_t *count) {
    return uspi_os_other_count(((struct uspi_process_world *)context)->inner->other, count);
}

static int list_threads(void *context, struct usp_thread *threads, size_t capacity, size_t *count) {
    return uspi_os_other_list(((struct uspi_process_world *)context)->inner->other, threads, capacity, count);
}

static int describe_thread(void *context, const struct usp_thread *thread, struct usp_thread_info *info) {
    return uspi_os_other_describe(((struct uspi_process_world *)context)->inner->other, thread, info);
}

/* A thread of another process is only a number: there is nothing to release. */
static void release(void *context, struct usp_thread *thread) {
    (void)context;
    memset(thread, 0, sizeof *thread);
}

/* ---- begin and end ---- */

static int make_inner(struct uspi_process_world *process, int64_t pid, char *error, size_t error_size) {
    struct uspi_other_world *w = calloc(1, sizeof *w);
    if (w == NULL) return USP_ERROR_NO_MEMORY;
    process->inner = w;
    w->pid = pid;
    int status = uspi_os_other_open(pid, &w->other, error, error_size);
    if (status != USP_OK) return status;
    uspi_roots_learn();
    w->memory = uspi_os_other_memory(w->other);
    struct usp_memory behind = w->memory;
    w->pages = uspi_page_cache_before(&behind);
    /* Threads can be captured without a list of images. */
    return list_images(w) == USP_ERROR_NO_MEMORY ? USP_ERROR_NO_MEMORY : USP_OK;
}

int uspi_process_world_begin(struct uspi_process_world *process, int64_t pid, struct uspi_world *world, char *error,
                             size_t error_size) {
    memset(process, 0, sizeof *process);
    if (!uspi_event_init(&process->event)) return USP_ERROR_UNSUPPORTED;
    int status = make_inner(process, pid, error, error_size);
    if (status != USP_OK) {
        uspi_process_world_end(process);
        return status;
    }
    *world = (struct uspi_world){.context = process,
                                 .own_cpu = own_cpu,
                                 .begin_look = begin_look,
                                 .thread_cpu = thread_cpu,
                                 .count_threads = count_threads,
                                 .list_threads = list_threads,
                                 .describe = describe_thread,
                                 .release = release,
                                 .stop_together = stop_together,
                                 .capture = capture,
                                 .running = uspi_os_kind() == USP_OS_LINUX ? running : NULL,
                                 .images = images_now};
    uspi_world_describe_time(world);
    return USP_OK;
}

void uspi_process_world_end(struct uspi_process_world *process) {
    struct uspi_other_world *w = process->inner;
    if (w != NULL) {
        uspi_mapped_code_clear(&w->code);
        uspi_image_tables_free(w->tables);
        usp_images_free(w->images);
        uspi_os_other_close(w->other);
        free(w->rules);
        free(w->pages);
        free(w);
    }
    uspi_event_free(&process->event);
    memset(process, 0, sizeof *process);
}
