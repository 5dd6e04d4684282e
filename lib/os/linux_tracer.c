/* SPDX-License-Identifier: MIT */
/* See linux_tracer.h. */
#define _GNU_SOURCE 1
#include "lib/os/linux_tracer.h"

#include "arch/backend.h"
#include "arch/host.h"
#include "lib/os/linux_alternate.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>

/* Of a stack whose mapping is not known. */
#define UNSURE_COPY ((uint64_t)256 << 10)
/* More than all stacks together may take. */
#define ARENA_MAX ((uint64_t)(sizeof(size_t) > 4 ? 4096 : 512) << 20)
/* Stacks that are read by one call. The kernel takes 1024 at most (uio.h, UIO_MAXIOV). */
#define BATCH 32u
/* Listings until nobody is new. */
#define LISTINGS 64u
/* Where the set is not there in <elf.h> (Linux include/uapi/linux/elf.h). */
#define PAC_MASK_SET 0x406
/* What the live part of most threads' stacks fits in. */
#define USUAL_STACK ((size_t)8 << 10)
/* Between two looks for what takes longer, in ns. */
#define NAP 20000u
/* How long anybody here looks for what it waits for before it sleeps, in ns. */
#define PATIENCE 1000000u
/* Between two looks at a tracer that ends, in ns, and how often is looked. */
#define LOOK  20000u
#define LOOKS 10000u

/* ---- before the stop ---- */

static int read_ranges(struct uspi_tracing *tracing) {
    struct uspi_proc_maps maps;
    struct uspi_mapping m;
    int e = uspi_proc_maps_open(&maps, tracing->living);
    if (e < 0) return uspi_refuse_system(&tracing->refusal, e, "/proc/PID/maps");
    size_t mappings = 0;
    while (uspi_proc_maps_next(&maps, &m)) {
        mappings++;
        if (!m.readable || !m.writable) continue;
        if (tracing->range_count == tracing->range_room) {
            size_t room = tracing->range_room == 0 ? 512 : tracing->range_room * 2;
            struct uspi_range *grown = realloc(tracing->ranges, room * sizeof *grown);
            if (grown == NULL) {
                maps.error = -ENOMEM;
                break;
            }
            tracing->ranges = grown;
            tracing->range_room = room;
        }
        tracing->ranges[tracing->range_count++] = (struct uspi_range){m.low, m.high, strcmp(m.path, "[stack]") == 0};
    }
    uspi_proc_maps_close(&maps);
    if (maps.error < 0) return uspi_refuse_system(&tracing->refusal, maps.error, "/proc/PID/maps");
    if (mappings == 0) {
        return uspi_refuse(&tracing->refusal, USP_ERROR_NO_THREAD,
                           "process %d has no memory: it has ended and was not waited for, or is a "
                           "thread of the kernel",
                           tracing->pid);
    }
    return USP_OK;
}

/* In pages. 0: it is not told. */
static uint64_t mapped_size(const struct uspi_tracing *tracing) {
    char text[256];
    if (uspi_proc_read(tracing->living, 0, "statm", text, sizeof text) < 0) return 0;
    return strtoull(text, NULL, 10);
}

/* Beside the tracer there is time for it now; later the process would wait for it. */
static void list_images(struct uspi_tracing *tracing) {
    tracing->mapped = mapped_size(tracing);
    if (usp_images_process(tracing->pid, &tracing->images) != USP_OK) tracing->images = NULL;
}

/* The mapping that a stack pointer lies in; NULL when there was none. */
static const struct uspi_range *find_range(const struct uspi_tracing *tracing, usp_addr sp) {
    size_t low = 0, high = tracing->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tracing->ranges[middle].high <= sp) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == tracing->range_count) return NULL;
    const struct uspi_range *r = &tracing->ranges[low];
    /* It may have grown downward since it was read. */
    return sp >= r->low || (r->grows && r->low - sp < USPI_STACK_MAX) ? r : NULL;
}

/* ---- threads ---- */

/* Listings have the same order, so that each thread mostly is where the next one is expected. */
static bool is_known(struct uspi_tracing *tracing, pid_t tid) {
    size_t i = tracing->expected;
    if (i >= tracing->count || tracing->tids[i] != tid) {
        for (i = 0; i < tracing->count && tracing->tids[i] != tid; i++) continue;
    }
    tracing->expected = i + 1;
    return i < tracing->count;
}

/* While it is not traced: a thread that is stopped already shows another state then. */
static void describe(const struct uspi_tracing *tracing, size_t i) {
    const pid_t tid = tracing->tids[i];
    struct usp_thread_info *info = &tracing->threads[i].info;
    struct uspi_proc_stat stat;
    info->thread = (struct usp_thread){(uint64_t)tid, (uint64_t)tid};
    if (tid == tracing->pid) info->flags |= USP_THREAD_MAIN;
    if (uspi_proc_threads_stat(&tracing->list, tid, &stat) < 0) return;
    memcpy(info->name, stat.name, sizeof info->name);
    info->run_state = (uint8_t)stat.state;
    info->cpu_time = stat.cpu_ns;
}

static bool is_gone(const struct uspi_tracing *tracing, pid_t tid) {
    struct uspi_proc_stat stat;
    int e = uspi_proc_stat(tracing->pid, tid, &stat);
    return e == -ENOENT || e == -ESRCH || (e == 0 && (stat.state == 'Z' || stat.state == 'X'));
}

/* False: it is no more. */
static bool seize(const struct uspi_tracing *tracing, size_t i) {
    const pid_t tid = tracing->tids[i];
    long e = uspi_linux->trace(PTRACE_SEIZE, tid, NULL, NULL);
    if (e == -ESRCH) return false;
    tracing->traced[i].seized = e >= 0;
    if (e >= 0) return true;
    /* Who is about to end may not be traced either. */
    tracing->threads[i].status = e == -EPERM && is_gone(tracing, tid) ? USP_ERROR_NO_THREAD : uspi_linux_status(e);
    return true;
}

static bool grow(void **array, size_t count, size_t size) {
    void *grown = count <= SIZE_MAX / size ? realloc(*array, count * size) : NULL;
    if (grown != NULL) *array = grown;
    return grown != NULL;
}

/* Few are born between this and the listing. */
static size_t expected_threads(const struct uspi_tracing *tracing) {
    const long counted = tracing->only != 0 ? 1 : uspi_proc_threads_count(&tracing->list);
    return counted > 0 ? (size_t)counted : 1;
}

static bool reserve(struct uspi_tracing *tracing, size_t room) {
    if (!grow((void **)&tracing->threads, room, sizeof *tracing->threads) ||
        !grow((void **)&tracing->traced, room, sizeof *tracing->traced) ||
        !grow((void **)&tracing->tids, room, sizeof *tracing->tids)) {
        return false;
    }
    tracing->room = room;
    return true;
}

static bool add_if_new(void *context, const struct uspi_proc_threads *list, pid_t tid) {
    struct uspi_tracing *tracing = context;
    (void)list;
    if ((tracing->only != 0 && tid != tracing->only) || is_known(tracing, tid)) return true;
    if (tracing->count == tracing->room && !reserve(tracing, tracing->room * 2)) return false;
    memset(&tracing->threads[tracing->count], 0, sizeof *tracing->threads);
    memset(&tracing->traced[tracing->count], 0, sizeof *tracing->traced);
    tracing->tids[tracing->count++] = tid;
    return true;
}

static bool seize_if_new(void *context, const struct uspi_proc_threads *list, pid_t tid) {
    struct uspi_tracing *tracing = context;
    size_t before = tracing->count;
    if (!add_if_new(tracing, list, tid)) return false;
    if (tracing->count == before) return true;
    describe(tracing, before);
    if (seize(tracing, before)) {
        tracing->found++;
    } else {
        tracing->count--;
    }
    return true;
}

static int seize_new(struct uspi_tracing *tracing) {
    tracing->found = 0;
    return uspi_linux_list_threads(&tracing->list, seize_if_new, tracing);
}

/* Of the threads of the first listing those that are still there. */
static void seize_listed(struct uspi_tracing *tracing) {
    size_t n = 0;
    for (size_t i = 0; i < tracing->count; i++) {
        if (!seize(tracing, i)) continue;
        if (n != i) {
            tracing->threads[n] = tracing->threads[i];
            tracing->traced[n] = tracing->traced[i];
            tracing->tids[n] = tracing->tids[i];
        }
        n++;
    }
    tracing->count = n;
}

static void interrupt(const struct uspi_tracing *tracing, size_t from) {
    for (size_t i = from; i < tracing->count; i++) {
        if (tracing->traced[i].seized) uspi_linux->trace(PTRACE_INTERRUPT, tracing->tids[i], NULL, NULL);
    }
}

/* The sizes of the sets are all different (FACTS: Linux asm/ptrace.h user_regs_struct, user_pt_regs, pt_regs). */
static uint32_t arch_of_set(size_t size) {
    switch (size) {
    case 216: return USP_ARCH_X86_64;
    case 68: return USP_ARCH_I386;
    case 272: return USP_ARCH_ARM64;
    case 72: return USP_ARCH_ARMV7;
    default: return USP_ARCH_NONE;
    }
}

/* Takes what a thread says that has stopped. False: it runs still, or is gone. */
static bool take_registers(const struct uspi_tracing *tracing, size_t i) {
    struct uspi_stopped_thread *t = &tracing->threads[i];
    uint8_t bytes[512];
    struct iovec set = {bytes, sizeof bytes};
    long e = uspi_linux->trace(PTRACE_GETREGSET, tracing->tids[i], (void *)NT_PRSTATUS, &set);
    if (e == -ESRCH) return false;
    tracing->traced[i].stopped = true;
    if (e < 0) {
        t->status = uspi_linux_status(e);
    } else {
        t->status = usp_registers_from_state(&t->copy.registers, arch_of_set(set.iov_len), USP_STATE_LINUX_PRSTATUS,
                                             bytes, set.iov_len);
        if (t->status != USP_OK) t->status = USP_ERROR_UNSUPPORTED;
    }
    return true;
}

static void wait_for_stops(const struct uspi_tracing *tracing) {
    uint64_t nap = 20000;
    for (unsigned pass = 0;; pass++) {
        size_t running = 0;
        bool late = uspi_os_clock() >= tracing->deadline;
        for (size_t i = 0; i < tracing->count; i++) {
            const struct uspi_traced *t = &tracing->traced[i];
            int *status = &tracing->threads[i].status;
            if (!t->seized || t->stopped || *status != USP_OK || take_registers(tracing, i)) continue;
            if ((late || pass % 8 == 7) && is_gone(tracing, tracing->tids[i])) {
                *status = USP_ERROR_NO_THREAD;
            } else if (late) {
                *status = USP_ERROR_TIMEOUT;
            } else {
                running++;
            }
        }
        if (running == 0) return;
        uspi_linux->sleep(nap);
        if (nap < 1000000) nap *= 2;
    }
}

/* Of one thread: both are the same for all. */
static void learn_processor(struct uspi_tracing *tracing) {
    struct {
        uint64_t data, code; /* struct user_pac_mask (Linux arch/arm64/include/uapi/asm/ptrace.h) */
    } masks;
    struct iovec set = {&masks, sizeof masks};
    size_t i = 0;
    while (i < tracing->count && (!tracing->traced[i].stopped || tracing->threads[i].status != USP_OK)) i++;
    if (i == tracing->count) return;
    tracing->arch = tracing->threads[i].copy.registers.arch;
    if (tracing->arch != USP_ARCH_ARM64) return;
    long e = uspi_linux->trace(PTRACE_GETREGSET, tracing->tids[i], (void *)PAC_MASK_SET, &set);
    if (e >= 0 && set.iov_len == sizeof masks) tracing->pac_mask = masks.code;
}

/* ---- stacks ---- */

/* Where the thread's stack ends that lies in a mapping, above `from`: mappings that touch each other are one. libc keeps
 * the thread's control block at its top (see linux_threads.c on robust_list). 0: that is not known. */
static usp_addr end_of_stack(pid_t tid, const struct uspi_range *r, usp_addr from) {
    uintptr_t data;
    if (r->grows || r->high - from <= USPI_STACK_MAX) return r->high;
    if (uspi_linux->robust_list(tid, &data) < 0 || data <= from || data >= r->high) return 0;
    return (data | (USPI_LINUX_PAGE - 1)) + 1;
}

/* What there is to copy of the stack that sp points to. */
static struct uspi_extent extent_at(const struct uspi_tracing *tracing, size_t i, usp_addr sp) {
    const struct uspi_backend *b = uspi_backend_find(tracing->threads[i].copy.registers.arch);
    const struct uspi_range *r = find_range(tracing, sp);
    struct uspi_extent e = {.from = sp >= b->red_zone ? (sp - b->red_zone) & ~UINT64_C(15) : 0};
    uint64_t want = UNSURE_COPY;
    if (r != NULL) {
        usp_addr end = end_of_stack(tracing->tids[i], r, e.from);
        e.low = r->low < e.from ? r->low : e.from;
        e.high = r->high;
        want = end != 0 ? end - e.from : USPI_STACK_MAX;
    }
    e.room = e.from > UINTPTR_MAX ? 0 : want < SIZE_MAX ? (size_t)want : SIZE_MAX;
    return e;
}

/* Has room for the copies that most processes need, before anybody is stopped. */
static void make_room(struct uspi_tracing *tracing) {
    struct uspi_arena *arena = &tracing->arenas[USPI_OWN_STACK];
    const size_t threads = expected_threads(tracing);
    if (threads > ARENA_MAX / USUAL_STACK) return;
    arena->size = threads * USUAL_STACK;
    arena->bytes = uspi_linux->map(arena->size, true);
}

/* Shares out room for one extent of each thread, one behind the other. */
static void lay_out(struct uspi_tracing *tracing, unsigned which) {
    struct uspi_arena *arena = &tracing->arenas[which];
    size_t total = 0;
    for (size_t i = 0; i < tracing->count; i++) {
        struct uspi_traced *t = &tracing->traced[i];
        const struct uspi_stopped_thread *thread = &tracing->threads[i];
        if (!t->stopped || thread->status != USP_OK || (which == USPI_INTERRUPTED_STACK && t->interrupted == 0)) {
            continue;
        }
        struct uspi_extent *e = &t->extents[which];
        *e =
            extent_at(tracing, i, which == USPI_OWN_STACK ? usp_registers_sp(&thread->copy.registers) : t->interrupted);
        if (e->room > ARENA_MAX - total) e->room = (size_t)(ARENA_MAX - total);
        total += e->room;
    }
    if (arena->bytes == NULL || arena->size < total) {
        if (arena->bytes != NULL) uspi_linux->unmap(arena->bytes, arena->size);
        arena->size = total;
        arena->bytes = total > 0 ? uspi_linux->map(total, true) : NULL;
    }
    uint8_t *at = arena->bytes;
    for (size_t i = 0; i < tracing->count; i++) {
        struct uspi_extent *e = &tracing->traced[i].extents[which];
        if (at == NULL) e->room = 0;
        if (e->room == 0) continue;
        e->bytes = at;
        at += e->room;
    }
}

/* Stacks that one call reads, side by side. */
struct batch {
    size_t threads[BATCH];              /* by number */
    struct uspi_extent *extents[BATCH]; /* theirs */
    struct iovec remote[BATCH];
    size_t count, size;
};

static void read_each(const struct uspi_tracing *tracing, const struct batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        struct uspi_extent *e = batch->extents[i];
        long got = e->from <= INT64_MAX ? uspi_linux->pread(tracing->memory, e->bytes, e->room, e->from) : 0;
        e->copied = got > 0 ? (size_t)got : 0;
    }
}

/* The kernel stops at the first byte that cannot be read. Returns how many stacks it went through. */
static size_t read_batch(const struct uspi_tracing *tracing, const struct batch *batch) {
    struct iovec local = {batch->extents[0]->bytes, batch->size};
    long got = uspi_linux->read_process(tracing->living, &local, batch->remote, batch->count);
    if (got < 0 && got != -EFAULT) {
        read_each(tracing, batch);
        return batch->count;
    }
    size_t left = got > 0 ? (size_t)got : 0, n = 0;
    while (n < batch->count) {
        struct uspi_extent *e = batch->extents[n++];
        e->copied = left < e->room ? left : e->room;
        left -= e->copied;
        if (e->copied < e->room) break;
    }
    return n;
}

static void look_for_interrupted(struct uspi_tracing *tracing, size_t i) {
    struct uspi_traced *t = &tracing->traced[i];
    const struct uspi_extent *e = &t->extents[USPI_OWN_STACK];
    const struct uspi_copied bytes = {e->bytes, e->from, e->copied};
    t->interrupted = uspi_alternate_search(tracing->threads[i].copy.registers.arch, &bytes);
    if (t->interrupted != 0) atomic_store(&tracing->any_interrupted, true);
}

static void copy_stacks(struct uspi_tracing *tracing, unsigned which) {
    struct batch batch;
    for (size_t i; (i = atomic_fetch_add(&tracing->uncopied[which], BATCH)) < tracing->count;) {
        size_t end = tracing->count - i < BATCH ? tracing->count : i + BATCH;
        while (i < end) {
            batch.count = batch.size = 0;
            for (size_t k = i; k < end; k++) {
                struct uspi_extent *e = &tracing->traced[k].extents[which];
                if (e->room == 0) continue;
                batch.threads[batch.count] = k;
                batch.extents[batch.count] = e;
                batch.remote[batch.count++] = (struct iovec){(void *)(uintptr_t)e->from, e->room};
                batch.size += e->room;
            }
            if (batch.count == 0) break;
            size_t done = read_batch(tracing, &batch);
            for (size_t k = 0; k < done && which == USPI_OWN_STACK; k++)
                look_for_interrupted(tracing, batch.threads[k]);
            i = batch.threads[done - 1] + 1;
        }
    }
}

/* ---- between the tracer and its caller ---- */

/* A thread that sleeps is woken late where idle processors are given back to a host, by 0.1 to 0.3 ms, and often on the
 * processor of whoever wakes it, to wait there until that one sleeps or has ended. What is waited for mostly takes less. */
static bool comes_soon(sem_t *semaphore) {
    const uint64_t until = uspi_os_clock() + PATIENCE;
    do {
        if (sem_trywait(semaphore) == 0) return true;
        sched_yield();
    } while (uspi_os_clock() < until);
    return false;
}

static void sleep_until(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0) continue;
}

/* For what takes longer: threads that are to stop have to run for it, and this one is not in their way. A timer wakes it
 * where it went to sleep. */
static void nap_until(sem_t *semaphore) {
    static const struct timespec nap = {0, NAP};
    while (sem_trywait(semaphore) != 0) nanosleep(&nap, NULL);
}

static void await(sem_t *semaphore) {
    if (!comes_soon(semaphore)) sleep_until(semaphore);
}

/* A new thread often starts on its maker's processor, even beside an idle one, and one of the two waits. It may come back
 * where the other one turns out to be busy. */
static void step_aside(int cpu) {
    cpu_set_t allowed, others;
    if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    others = allowed;
    CPU_CLR((size_t)cpu, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
    sched_setaffinity(0, sizeof allowed, &allowed);
}

/* ---- the tracer ---- */

static int fail_to_list(struct uspi_tracing *tracing, int e) {
    return uspi_refuse_system(&tracing->refusal, e == -ECANCELED ? -ENOMEM : e, "/proc/PID/task");
}

static bool any_seized(const struct uspi_tracing *tracing) {
    for (size_t i = 0; i < tracing->count; i++) {
        if (tracing->traced[i].seized) return true;
    }
    return false;
}

/* Why nobody could be seized. */
static int fail_to_seize(struct uspi_tracing *tracing) {
    if (tracing->count == 0 && tracing->only != 0) {
        return uspi_refuse(&tracing->refusal, USP_ERROR_NO_THREAD, "process %d has no thread %d", tracing->pid,
                           tracing->only);
    }
    int status = tracing->count == 0 ? USP_ERROR_NO_THREAD : tracing->threads[0].status;
    switch (status) {
    case USP_ERROR_PERMISSION: return uspi_refuse_system(&tracing->refusal, -EPERM, "ptrace");
    case USP_ERROR_UNSUPPORTED: return uspi_refuse_system(&tracing->refusal, -ENOSYS, "ptrace");
    case USP_ERROR_NO_THREAD: return uspi_refuse(&tracing->refusal, status, "process %d has ended", tracing->pid);
    default: return uspi_refuse_system(&tracing->refusal, -EIO, "ptrace");
    }
}

static bool counts_all(const struct uspi_tracing *tracing) {
    return tracing->only == 0 && uspi_proc_threads_count(&tracing->list) == (long)tracing->count;
}

static int seize_all(struct uspi_tracing *tracing) {
    seize_listed(tracing);
    for (unsigned i = 0; i < LISTINGS && !counts_all(tracing); i++) {
        int e = seize_new(tracing);
        if (e < 0) return fail_to_list(tracing, e);
        if (tracing->found == 0) break;
    }
    return any_seized(tracing) ? USP_OK : fail_to_seize(tracing);
}

static bool have_stopped(const struct uspi_tracing *tracing) {
    for (size_t i = 0; i < tracing->count; i++) {
        if (!tracing->traced[i].stopped) return false;
    }
    return true;
}

static void stop_all(struct uspi_tracing *tracing) {
    tracing->began = uspi_os_clock();
    tracing->deadline = tracing->began + tracing->timeout;
    size_t from = 0;
    for (unsigned i = 0; i < LISTINGS; i++) {
        interrupt(tracing, from);
        wait_for_stops(tracing);
        from = tracing->count;
        /* Who has stopped is counted: nobody else is there. */
        if (have_stopped(tracing) && counts_all(tracing)) break;
        if (seize_new(tracing) < 0 || tracing->found == 0) break;
    }
}

/* What the tracer and its caller do, whatever fails:
 *
 *     tracer   list, describe              │ seize, stop │ lay out │ copy, what handlers interrupted too │ end
 *     caller   roots, ranges, room, images │ naps        │ wait    │ copy                                │ walk
 *
 * While threads stand still, the tracer waits for its caller only if that is copying. Only one of them describes: two
 * readers of a process's /proc at once take longer than one. */
static void *trace(void *context) {
    struct uspi_tracing *tracing = context;
    tracing->tracer_id = uspi_linux->own_thread();
    uspi_linux_tell_root(uspi_host_strip((uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0))));
    step_aside(tracing->caller_cpu);
    tracing->listing_error = uspi_linux_list_threads(&tracing->list, add_if_new, tracing);
    for (size_t i = 0; i < tracing->count; i++) describe(tracing, i);
    await(&tracing->prepared);
    if (tracing->refusal.status == USP_OK && tracing->listing_error < 0) fail_to_list(tracing, tracing->listing_error);
    bool is_standing = tracing->refusal.status == USP_OK && seize_all(tracing) == USP_OK;
    if (is_standing) stop_all(tracing);
    sem_post(&tracing->standing);
    if (is_standing) {
        learn_processor(tracing);
        lay_out(tracing, USPI_OWN_STACK);
        tracing->has_moved = tracing->mapped == 0 || mapped_size(tracing) != tracing->mapped;
    }
    sem_post(&tracing->laid_out);
    copy_stacks(tracing, USPI_OWN_STACK);
    /* Who comes later finds nothing left to take. */
    if (atomic_load(&tracing->is_helped)) await(&tracing->helped);
    if (tracing->any_interrupted) {
        lay_out(tracing, USPI_INTERRUPTED_STACK);
        copy_stacks(tracing, USPI_INTERRUPTED_STACK);
    }
    sem_post(&tracing->copied);
    return NULL;
}

/* ---- the caller ---- */

struct uspi_tracing *uspi_tracing_create(void) {
    struct uspi_tracing *tracing = calloc(1, sizeof *tracing);
    if (tracing == NULL) return NULL;
    tracing->memory = tracing->list.fd = -1;
    sem_init(&tracing->prepared, 0, 0);
    sem_init(&tracing->standing, 0, 0);
    sem_init(&tracing->laid_out, 0, 0);
    sem_init(&tracing->helped, 0, 0);
    sem_init(&tracing->copied, 0, 0);
    return tracing;
}

static void assist(struct uspi_tracing *tracing, bool learns_roots) {
    if (learns_roots) uspi_linux_finish_roots(true);
    if (read_ranges(tracing) == USP_OK) {
        make_room(tracing);
        list_images(tracing);
    }
    sem_post(&tracing->prepared);
    nap_until(&tracing->standing);
    await(&tracing->laid_out);
    atomic_store(&tracing->is_helped, true);
    copy_stacks(tracing, USPI_OWN_STACK);
    sem_post(&tracing->helped);
    await(&tracing->copied);
}

int uspi_trace(struct uspi_tracing *tracing) {
    const int kept = errno;
    sigset_t all, mask, waiting;
    if (!reserve(tracing, expected_threads(tracing) + 8)) return fail_to_list(tracing, -ENOMEM);
    sigfillset(&all);
    tracing->caller_cpu = sched_getcpu();
    /* None of the program's handlers should meet a thread that it does not know. */
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    /* Before the tracer, which would be in the way of the threads that this starts. */
    const bool learns_roots = uspi_linux_begin_roots(true);
    int e = pthread_create(&tracing->tracer, NULL, trace, tracing);
    /* The kernel tells of every thread that stops by SIGCHLD: that should not wake this one each time. */
    waiting = mask;
    sigaddset(&waiting, SIGCHLD);
    pthread_sigmask(SIG_SETMASK, &waiting, NULL);
    tracing->is_running = e == 0;
    if (e == 0) {
        assist(tracing, learns_roots);
    } else if (learns_roots) {
        uspi_linux_finish_roots(false);
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    errno = kept;
    return e == 0 ? tracing->refusal.status : uspi_refuse_system(&tracing->refusal, -e, "pthread_create");
}

/* The kernel has let go of all that a tracer held before the tracer's id is free. */
bool uspi_tracing_is_over(struct uspi_tracing *tracing) {
    if (tracing->ended == 0 && uspi_linux->probe_thread(uspi_linux->own_process(), tracing->tracer_id) != 0) {
        tracing->ended = uspi_os_clock();
    }
    return tracing->ended != 0;
}

void uspi_tracing_end(struct uspi_tracing *tracing) {
    if (!tracing->is_running) return;
    tracing->is_running = false;
    pthread_join(tracing->tracer, NULL);
    /* libc calls a thread ended a little before the kernel does. Another thread of this process can get the id: then this
     * goes on without having seen it free. */
    for (unsigned i = 0; i < LOOKS && !uspi_tracing_is_over(tracing); i++) uspi_linux->sleep(LOOK);
    if (tracing->ended == 0) tracing->ended = uspi_os_clock();
}

void uspi_tracing_free(struct uspi_tracing *tracing) {
    uspi_proc_threads_close(&tracing->list);
    sem_destroy(&tracing->prepared);
    sem_destroy(&tracing->standing);
    sem_destroy(&tracing->laid_out);
    sem_destroy(&tracing->helped);
    sem_destroy(&tracing->copied);
    usp_images_free(tracing->images);
    free(tracing->ranges);
    free(tracing->threads);
    free(tracing->traced);
    free(tracing->tids);
    free(tracing);
}
