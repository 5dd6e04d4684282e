/* SPDX-License-Identifier: MIT */
/* Stopping another process by ptrace: its threads' registers and stacks at one moment. What is made of them is not known
 * here.
 *
 * A thread of its own does the tracing, and lets go by ending: the kernel then detaches all that a tracer held, at once
 * and whatever has happened (ptrace(2); kernel/ptrace.c exit_ptrace): a thread that did not stop in time (it waits for its
 * vfork child) and could not be detached for that reason, one that ended meanwhile, all of them when this process is
 * killed. A signal that was on its way and stopped a thread first is delivered, as long as nobody has waited for that
 * stop. PTRACE_SEIZE stops nobody by itself, and leaves a process that was stopped by a signal stopped.
 *
 * The caller, which would only wait, takes its part of what needs no tracer: describing threads before the first one is
 * stopped, copying stacks. While the tracer lets go, the caller walks the copies already (uspi_os_settle).
 *
 * Nothing is waited for by wait(2): that would take statuses from the rest of this process, or lose them to it. Whether a
 * thread has stopped is seen by asking for its registers. */
#define _GNU_SOURCE 1
#include "lib/os/linux.h"
#include "lib/os/linux_alternate.h"
#include "lib/os/linux_proc.h"

#include "arch/backend.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

/* Of a stack whose end is not known, at most so much is copied: the usual limit of a stack's size. */
#define STACK_MAX ((uint64_t)8 << 20)
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
/* Between two looks at a tracer that ends, in ns, and how often is looked. */
#define LOOK  20000u
#define LOOKS 10000u

/* What is copied of a stack. */
struct extent {
    usp_addr from, low, high; /* the live part's beginning, and the whole stack: 0, 0 not known */
    size_t room, copied;
    uint8_t *bytes;
};

/* The stack that a thread stands on, and the one that a handler on an alternate stack interrupted. */
enum { OWN, INTERRUPTED, EXTENTS };

struct traced {
    pid_t tid;
    struct usp_thread_info info;
    int status;
    bool seized, stopped;
    struct usp_registers registers;
    usp_addr interrupted; /* the other stack's pointer; 0: there is none */
    struct extent extents[EXTENTS];
};

struct range {
    usp_addr low, high;
    bool grows; /* the first thread's stack */
};

struct job {
    pid_t pid, only;
    pid_t living; /* the thread by which its memory is known */
    uint64_t timeout, deadline;
    int memory;           /* descriptor */
    struct range *ranges; /* writable mappings, ascending */
    size_t range_count, range_room;
    struct uspi_proc_threads list;
    struct traced *threads;
    pid_t *tids; /* theirs, to be searched */
    size_t count, room;
    size_t expected;                                /* of the listing: the next one's place in `threads` */
    size_t found;                                   /* new threads in the last listing */
    _Atomic(bool) is_listed;                        /* the first listing is complete, or cannot be had */
    int listing_error;                              /* why */
    _Atomic(size_t) undescribed, uncopied[EXTENTS]; /* how far these have been taken by the one or the other thread */
    _Atomic(bool) any_interrupted;
    pthread_t tracer;
    pid_t tracer_id;
    sem_t described, standing, helped, copied; /* how far they are; see trace() */
    _Atomic(bool) is_helped;                   /* the caller may have taken stacks to copy */
    struct arena {
        uint8_t *bytes;
        size_t size;
    } arenas[EXTENTS];
    uint64_t began, ended;
    uint64_t pac_mask;
    uint32_t arch;
    int status;
    char *error;
    size_t error_size;
    char listing[65536];
};

/* ---- what to tell a person ---- */

static int fail(struct job *job, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int fail(struct job *job, int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (job->error_size > 0) vsnprintf(job->error, job->error_size, format, arguments);
    va_end(arguments);
    job->status = status;
    return status;
}

static bool yama_forbids(void) {
    char scope[8];
    int fd = (int)uspi_linux->open(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", O_RDONLY);
    if (fd < 0) return false;
    long n = uspi_linux->read(fd, scope, sizeof scope);
    uspi_linux->close(fd);
    return n > 0 && scope[0] > '0';
}

/* Why the kernel said no (ptrace(2), "Ptrace access mode checking"), the most likely reason first. */
static int fail_permission(struct job *job) {
    struct uspi_proc_status target, self;
    int pid = job->pid;
    if (uspi_proc_status(pid, 0, &target) < 0) {
        return fail(job, USP_ERROR_PERMISSION, "process %d may not be looked at, not even by its status", pid);
    }
    if (target.tracer != 0) {
        return fail(job, USP_ERROR_PERMISSION,
                    "process %d is already traced by process %" PRId64 " (a debugger, strace): "
                    "end that first",
                    pid, target.tracer);
    }
    if (uspi_proc_status(0, 0, &self) == 0 && self.uid != 0 && self.uid != target.uid) {
        return fail(job, USP_ERROR_PERMISSION,
                    "process %d belongs to user %" PRId64 ", this is user %" PRId64 ": run as "
                    "that user, or as root",
                    pid, target.uid, self.uid);
    }
    if (yama_forbids()) {
        return fail(job, USP_ERROR_PERMISSION,
                    "the kernel's Yama module lets nobody trace process %d but its parent: run "
                    "as root, or set /proc/sys/kernel/yama/ptrace_scope to 0",
                    pid);
    }
    return fail(
        job, USP_ERROR_PERMISSION,
        "process %d may not be traced: it has made itself undumpable "
        "(PR_SET_DUMPABLE, a set-user-id program), or this is a container without CAP_SYS_PTRACE: run as root, or "
        "with that capability",
        pid);
}

static int fail_system(struct job *job, long e, const char *what) {
    int pid = job->pid;
    switch (-e) {
    case ESRCH:
    case ENOENT: return fail(job, USP_ERROR_NO_THREAD, "there is no process %d", pid);
    case EPERM:
    case EACCES: return fail_permission(job);
    case ENOMEM: return fail(job, USP_ERROR_NO_MEMORY, "out of memory");
    case ENOSYS:
        return fail(job, USP_ERROR_UNSUPPORTED,
                    "process %d cannot be stopped: this system has no %s (an emulator, a "
                    "sandbox)",
                    pid, what);
    default: return fail(job, USP_ERROR_SYSTEM, "process %d: %s failed: error %ld", pid, what, -e);
    }
}

/* ---- before the stop ---- */

static int read_ranges(struct job *job) {
    struct uspi_proc_maps maps;
    struct uspi_mapping m;
    int e = uspi_proc_maps_open(&maps, job->living);
    if (e < 0) return fail_system(job, e, "/proc/PID/maps");
    size_t all = 0;
    while (uspi_proc_maps_next(&maps, &m)) {
        all++;
        if (!m.readable || !m.writable) continue;
        if (job->range_count == job->range_room) {
            size_t room = job->range_room == 0 ? 512 : job->range_room * 2;
            struct range *grown = realloc(job->ranges, room * sizeof *grown);
            if (grown == NULL) {
                maps.error = -ENOMEM;
                break;
            }
            job->ranges = grown;
            job->range_room = room;
        }
        job->ranges[job->range_count++] = (struct range){m.low, m.high, strcmp(m.path, "[stack]") == 0};
    }
    uspi_proc_maps_close(&maps);
    if (maps.error < 0) return fail_system(job, maps.error, "/proc/PID/maps");
    if (all == 0) {
        return fail(job, USP_ERROR_NO_THREAD,
                    "process %d has no memory: it has ended and was not waited for, or is a "
                    "thread of the kernel",
                    job->pid);
    }
    return USP_OK;
}

/* The mapping that a stack pointer lies in; NULL when there was none. */
static const struct range *find_range(const struct job *job, usp_addr sp) {
    size_t low = 0, high = job->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (job->ranges[middle].high <= sp) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == job->range_count) return NULL;
    const struct range *r = &job->ranges[low];
    /* It may have grown downward since it was read. */
    return sp >= r->low || (r->grows && r->low - sp < STACK_MAX) ? r : NULL;
}

/* ---- threads ---- */

/* Listings have the same order, so that each thread mostly is where the next one is expected. */
static bool is_known(struct job *job, pid_t tid) {
    size_t i = job->expected;
    if (i >= job->count || job->tids[i] != tid) {
        for (i = 0; i < job->count && job->tids[i] != tid; i++) continue;
    }
    job->expected = i + 1;
    return i < job->count;
}

/* While it is not traced: a thread that is stopped already shows another state then. */
static void describe(const struct job *job, struct traced *t) {
    struct uspi_proc_stat stat;
    t->info.thread = (struct usp_thread){(uint64_t)t->tid, (uint64_t)t->tid};
    if (t->tid == job->pid) t->info.flags |= USP_THREAD_MAIN;
    if (uspi_proc_threads_stat(&job->list, t->tid, &stat) < 0) return;
    memcpy(t->info.name, stat.name, sizeof t->info.name);
    t->info.run_state = (uint8_t)stat.state;
    t->info.cpu_time = stat.cpu_ns;
}

static bool is_gone(const struct job *job, const struct traced *t) {
    struct uspi_proc_stat stat;
    int e = uspi_proc_stat(job->pid, t->tid, &stat);
    return e == -ENOENT || e == -ESRCH || (e == 0 && (stat.state == 'Z' || stat.state == 'X'));
}

/* What two threads can do at once: reading takes four times as long as seizing. */
static void describe_listed(struct job *job) {
    for (size_t i; (i = atomic_fetch_add(&job->undescribed, 1)) < job->count;) describe(job, &job->threads[i]);
}

/* False: it is no more. */
static bool seize(const struct job *job, struct traced *t) {
    long e = uspi_linux->trace(PTRACE_SEIZE, t->tid, NULL, NULL);
    if (e == -ESRCH) return false;
    t->seized = e >= 0;
    /* Who is about to end may not be traced either. */
    if (!t->seized) t->status = e == -EPERM && is_gone(job, t) ? USP_ERROR_NO_THREAD : uspi_linux_status(e);
    return true;
}

static bool add_if_new(void *context, const struct uspi_proc_threads *list, pid_t tid) {
    struct job *job = context;
    (void)list;
    if ((job->only != 0 && tid != job->only) || is_known(job, tid)) return true;
    if (job->count == job->room) {
        size_t room = job->room == 0 ? 256 : job->room * 2;
        struct traced *threads = realloc(job->threads, room * sizeof *threads);
        if (threads != NULL) job->threads = threads;
        pid_t *tids = realloc(job->tids, room * sizeof *tids);
        if (tids != NULL) job->tids = tids;
        if (threads == NULL || tids == NULL) return false;
        job->room = room;
    }
    struct traced *t = &job->threads[job->count];
    memset(t, 0, sizeof *t);
    t->tid = job->tids[job->count++] = tid;
    return true;
}

static bool seize_if_new(void *context, const struct uspi_proc_threads *list, pid_t tid) {
    struct job *job = context;
    size_t before = job->count;
    if (!add_if_new(job, list, tid)) return false;
    if (job->count == before) return true;
    struct traced *t = &job->threads[before];
    describe(job, t);
    if (seize(job, t)) {
        job->found++;
    } else {
        job->count--;
    }
    return true;
}

static int seize_new(struct job *job) {
    job->found = 0;
    return uspi_linux_list_threads(&job->list, seize_if_new, job);
}

/* Of the threads of the first listing those that are still there. */
static void seize_listed(struct job *job) {
    size_t n = 0;
    for (size_t i = 0; i < job->count; i++) {
        if (!seize(job, &job->threads[i])) continue;
        job->threads[n] = job->threads[i];
        job->tids[n++] = job->tids[i];
    }
    job->count = n;
}

static void interrupt(struct job *job, size_t from) {
    for (size_t i = from; i < job->count; i++) {
        if (job->threads[i].seized) uspi_linux->trace(PTRACE_INTERRUPT, job->threads[i].tid, NULL, NULL);
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
static bool take_registers(struct job *job, struct traced *t) {
    uint8_t bytes[512];
    struct iovec set = {bytes, sizeof bytes};
    long e = uspi_linux->trace(PTRACE_GETREGSET, t->tid, (void *)NT_PRSTATUS, &set);
    if (e == -ESRCH) return false;
    t->stopped = true;
    if (e < 0) {
        t->status = uspi_linux_status(e);
    } else {
        uint32_t arch = arch_of_set(set.iov_len);
        if (arch != USP_ARCH_NONE && job->arch == USP_ARCH_NONE) job->arch = arch;
        t->status = usp_registers_from_state(&t->registers, arch, USP_STATE_LINUX_PRSTATUS, bytes, set.iov_len);
        if (t->status != USP_OK) t->status = USP_ERROR_UNSUPPORTED;
    }
    return true;
}

static void wait_for_stops(struct job *job) {
    uint64_t nap = 20000;
    for (unsigned pass = 0;; pass++) {
        size_t running = 0;
        bool late = uspi_os_clock() >= job->deadline;
        for (size_t i = 0; i < job->count; i++) {
            struct traced *t = &job->threads[i];
            if (!t->seized || t->stopped || t->status != USP_OK || take_registers(job, t)) continue;
            if ((late || pass % 8 == 7) && is_gone(job, t)) {
                t->status = USP_ERROR_NO_THREAD;
            } else if (late) {
                t->status = USP_ERROR_TIMEOUT;
            } else {
                running++;
            }
        }
        if (running == 0) return;
        uspi_linux->sleep(nap);
        if (nap < 1000000) nap *= 2;
    }
}

/* ---- stacks ---- */

/* Where the thread's stack ends that lies in a mapping, above `from`: mappings that touch each other are one. libc keeps
 * the thread's control block at its top (see linux_threads.c on robust_list). 0: that is not known. */
static usp_addr end_of_stack(const struct traced *t, const struct range *r, usp_addr from) {
    uintptr_t data;
    if (r->grows || r->high - from <= STACK_MAX) return r->high;
    if (uspi_linux->robust_list(t->tid, &data) < 0 || data <= from || data >= r->high) return 0;
    return (data | (USPI_LINUX_PAGE - 1)) + 1;
}

/* What there is to copy of the stack that sp points to. */
static struct extent extent_at(const struct job *job, const struct traced *t, usp_addr sp) {
    const struct uspi_backend *b = uspi_backend_find(t->registers.arch);
    const struct range *r = find_range(job, sp);
    struct extent e = {.from = sp >= b->red_zone ? (sp - b->red_zone) & ~UINT64_C(15) : 0};
    uint64_t want = UNSURE_COPY;
    if (r != NULL) {
        usp_addr end = end_of_stack(t, r, e.from);
        e.low = r->low < e.from ? r->low : e.from;
        e.high = r->high;
        want = end != 0 ? end - e.from : STACK_MAX;
    }
    e.room = e.from > UINTPTR_MAX ? 0 : want < SIZE_MAX ? (size_t)want : SIZE_MAX;
    return e;
}

/* Makes room for one extent of each thread, one behind the other. */
static void lay_out(struct job *job, unsigned which) {
    struct arena *arena = &job->arenas[which];
    size_t total = 0;
    for (size_t i = 0; i < job->count; i++) {
        struct traced *t = &job->threads[i];
        if (!t->stopped || t->status != USP_OK || (which == INTERRUPTED && t->interrupted == 0)) continue;
        struct extent *e = &t->extents[which];
        *e = extent_at(job, t, which == OWN ? usp_registers_sp(&t->registers) : t->interrupted);
        if (e->room > ARENA_MAX - total) e->room = (size_t)(ARENA_MAX - total);
        total += e->room;
    }
    arena->size = total;
    uint8_t *at = arena->bytes = total > 0 ? uspi_linux->map(total, true) : NULL;
    for (size_t i = 0; i < job->count; i++) {
        struct extent *e = &job->threads[i].extents[which];
        if (at == NULL) e->room = 0;
        if (e->room == 0) continue;
        e->bytes = at;
        at += e->room;
    }
}

/* Stacks that one call reads, side by side. */
struct batch {
    struct traced *threads[BATCH];
    struct extent *extents[BATCH]; /* theirs */
    struct iovec remote[BATCH];
    size_t count, size;
};

static void read_each(const struct job *job, const struct batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        struct extent *e = batch->extents[i];
        long got = e->from <= INT64_MAX ? uspi_linux->pread(job->memory, e->bytes, e->room, e->from) : 0;
        e->copied = got > 0 ? (size_t)got : 0;
    }
}

/* The kernel stops at the first byte that cannot be read. Returns how many stacks it went through. */
static size_t read_batch(const struct job *job, const struct batch *batch) {
    struct iovec local = {batch->extents[0]->bytes, batch->size};
    long got = uspi_linux->read_process(job->living, &local, batch->remote, batch->count);
    if (got < 0 && got != -EFAULT) {
        read_each(job, batch);
        return batch->count;
    }
    size_t left = got > 0 ? (size_t)got : 0, n = 0;
    while (n < batch->count) {
        struct extent *e = batch->extents[n++];
        e->copied = left < e->room ? left : e->room;
        left -= e->copied;
        if (e->copied < e->room) break;
    }
    return n;
}

static void look_for_interrupted(struct job *job, struct traced *t) {
    const struct extent *e = &t->extents[OWN];
    const struct uspi_copied bytes = {e->bytes, e->from, e->copied};
    t->interrupted = uspi_alternate_search(t->registers.arch, &bytes);
    if (t->interrupted != 0) atomic_store(&job->any_interrupted, true);
}

/* What two threads can do at once. */
static void copy_stacks(struct job *job, unsigned which) {
    struct batch batch;
    for (size_t i; (i = atomic_fetch_add(&job->uncopied[which], BATCH)) < job->count;) {
        size_t end = job->count - i < BATCH ? job->count : i + BATCH;
        while (i < end) {
            batch.count = batch.size = 0;
            for (size_t k = i; k < end; k++) {
                struct extent *e = &job->threads[k].extents[which];
                if (e->room == 0) continue;
                batch.threads[batch.count] = &job->threads[k];
                batch.extents[batch.count] = e;
                batch.remote[batch.count++] = (struct iovec){(void *)(uintptr_t)e->from, e->room};
                batch.size += e->room;
            }
            if (batch.count == 0) break;
            size_t done = read_batch(job, &batch);
            for (size_t k = 0; k < done && which == OWN; k++) look_for_interrupted(job, batch.threads[k]);
            i = (size_t)(batch.threads[done - 1] - job->threads) + 1;
        }
    }
}

static void read_pac_mask(struct job *job) {
    struct {
        uint64_t data, code; /* struct user_pac_mask (Linux arch/arm64/include/uapi/asm/ptrace.h) */
    } masks;
    struct iovec set = {&masks, sizeof masks};
    if (job->arch != USP_ARCH_ARM64) return;
    for (size_t i = 0; i < job->count; i++) {
        const struct traced *t = &job->threads[i];
        if (!t->stopped) continue;
        long e = uspi_linux->trace(PTRACE_GETREGSET, t->tid, (void *)PAC_MASK_SET, &set);
        if (e >= 0 && set.iov_len == sizeof masks) job->pac_mask = masks.code;
        return;
    }
}

/* ---- the tracer ---- */

static int fail_to_list(struct job *job, int e) {
    return fail_system(job, e == -ECANCELED ? -ENOMEM : e, "/proc/PID/task");
}

static bool any_seized(const struct job *job) {
    for (size_t i = 0; i < job->count; i++) {
        if (job->threads[i].seized) return true;
    }
    return false;
}

/* Why nobody could be seized. */
static int fail_to_seize(struct job *job) {
    if (job->count == 0 && job->only != 0) {
        return fail(job, USP_ERROR_NO_THREAD, "process %d has no thread %d", job->pid, job->only);
    }
    int status = job->count == 0 ? USP_ERROR_NO_THREAD : job->threads[0].status;
    switch (status) {
    case USP_ERROR_PERMISSION: return fail_permission(job);
    case USP_ERROR_UNSUPPORTED: return fail_system(job, -ENOSYS, "ptrace");
    case USP_ERROR_NO_THREAD: return fail(job, status, "process %d has ended", job->pid);
    default: return fail_system(job, -EIO, "ptrace");
    }
}

static bool counts_all(const struct job *job) {
    return job->only == 0 && uspi_proc_threads_count(&job->list) == (long)job->count;
}

static int seize_all(struct job *job) {
    seize_listed(job);
    for (unsigned i = 0; i < LISTINGS && !counts_all(job); i++) {
        int e = seize_new(job);
        if (e < 0) return fail_to_list(job, e);
        if (job->found == 0) break;
    }
    return any_seized(job) ? USP_OK : fail_to_seize(job);
}

static bool have_stopped(const struct job *job) {
    for (size_t i = 0; i < job->count; i++) {
        if (!job->threads[i].stopped) return false;
    }
    return true;
}

static void stop_all(struct job *job) {
    job->began = uspi_os_clock();
    job->deadline = job->began + job->timeout;
    size_t from = 0;
    for (unsigned i = 0; i < LISTINGS; i++) {
        interrupt(job, from);
        wait_for_stops(job);
        from = job->count;
        /* Who has stopped is counted: nobody else is there. */
        if (have_stopped(job) && counts_all(job)) break;
        if (seize_new(job) < 0 || job->found == 0) break;
    }
}

/* What the tracer and its caller do, whatever fails:
 *
 *     tracer   list, describe          │ seize, stop, lay out │ copy, what handlers interrupted too │ end, let go thereby
 *     caller   roots, ranges, describe │                      │ copy                                │ walk
 *
 * While threads stand still, the tracer waits for its caller only if that is copying. */
static void await(sem_t *semaphore) {
    int kept = errno;
    while (sem_wait(semaphore) != 0) continue;
    errno = kept;
}

static void *trace(void *context) {
    struct job *job = context;
    job->tracer_id = uspi_linux->own_thread();
    job->listing_error = uspi_linux_list_threads(&job->list, add_if_new, job);
    atomic_store(&job->is_listed, true);
    describe_listed(job);
    await(&job->described);
    if (job->status == USP_OK && job->listing_error < 0) fail_to_list(job, job->listing_error);
    if (job->status == USP_OK && seize_all(job) == USP_OK) {
        stop_all(job);
        read_pac_mask(job);
        lay_out(job, OWN);
    }
    sem_post(&job->standing);
    copy_stacks(job, OWN);
    /* Who comes later finds nothing left to take. */
    if (atomic_load(&job->is_helped)) await(&job->helped);
    if (job->any_interrupted) {
        lay_out(job, INTERRUPTED);
        copy_stacks(job, INTERRUPTED);
    }
    sem_post(&job->copied);
    return NULL;
}

static void assist(struct job *job) {
    uspi_linux_learn_roots();
    read_ranges(job);
    if (atomic_load(&job->is_listed)) describe_listed(job);
    sem_post(&job->described);
    await(&job->standing);
    atomic_store(&job->is_helped, true);
    copy_stacks(job, OWN);
    sem_post(&job->helped);
    await(&job->copied);
}

/* Starts the tracer, and does meanwhile what else there is to do. When this returns, the copies are made, and the tracer
 * lets go. It has to be joined when *is_running. */
static int run_tracer(struct job *job, bool *is_running) {
    sigset_t all, mask, waiting;
    sigfillset(&all);
    /* None of the program's handlers should meet a thread that it does not know. */
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    int e = pthread_create(&job->tracer, NULL, trace, job);
    *is_running = e == 0;
    /* The kernel tells of every thread that stops by SIGCHLD: that should not wake this one each time. */
    waiting = mask;
    sigaddset(&waiting, SIGCHLD);
    pthread_sigmask(SIG_SETMASK, &waiting, NULL);
    if (e == 0) assist(job);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return e == 0 ? job->status : fail_system(job, -e, "pthread_create");
}

/* Whether the kernel has let go of everybody: it has before the tracer's id is free. */
static bool is_over(struct job *job) {
    if (job->ended == 0 && uspi_linux->probe_thread(uspi_linux->own_process(), job->tracer_id) != 0) {
        job->ended = uspi_os_clock();
    }
    return job->ended != 0;
}

/* libc calls a thread ended a little before the kernel does. Another thread of this process can get the id: then this
 * goes on without having seen it free. */
static void wait_for_end(struct job *job) {
    pthread_join(job->tracer, NULL);
    for (unsigned i = 0; i < LOOKS && !is_over(job); i++) uspi_linux->sleep(LOOK);
    if (job->ended == 0) job->ended = uspi_os_clock();
}

/* ---- the result ---- */

struct kept {
    struct job *job; /* NULL: everything runs again */
    int memory;
    struct arena arenas[EXTENTS];
};

static void unmap_arenas(const struct arena *arenas) {
    for (unsigned i = 0; i < EXTENTS; i++) {
        if (arenas[i].bytes != NULL) uspi_linux->unmap(arenas[i].bytes, arenas[i].size);
    }
}

static void free_job(struct job *job) {
    uspi_proc_threads_close(&job->list);
    sem_destroy(&job->described);
    sem_destroy(&job->standing);
    sem_destroy(&job->helped);
    sem_destroy(&job->copied);
    free(job->ranges);
    free(job->threads);
    free(job->tids);
    free(job);
}

static void look(struct uspi_stopped_process *process) {
    const struct kept *kept = process->owned;
    if (kept->job != NULL) is_over(kept->job);
}

static void settle(struct uspi_stopped_process *process) {
    struct kept *kept = process->owned;
    struct job *job = kept->job;
    if (job == NULL) return;
    wait_for_end(job);
    process->stopped_ns = job->ended - job->began;
    for (size_t i = 0; i < process->thread_count; i++) {
        struct uspi_stopped_thread *t = &process->threads[i];
        if (t->is_held) t->copy.stopped_ns = process->stopped_ns;
        t->is_held = false;
    }
    kept->job = NULL;
    free_job(job);
}

static void release(void *owned) {
    struct kept *kept = owned;
    uspi_linux->close(kept->memory);
    unmap_arenas(kept->arenas);
    free(kept);
}

/* What of a stack was not copied: the thread runs again. */
static struct uspi_dead behind(const struct extent *e) {
    if (e->room == 0) return (struct uspi_dead){0, 0};
    usp_addr from = e->from + e->copied, high = e->high != 0 ? e->high : from + STACK_MAX;
    return (struct uspi_dead){from, high > from ? high : from};
}

static int hand_over(struct job *job, struct uspi_stopped_process *out) {
    struct kept *kept = malloc(sizeof *kept);
    struct uspi_stopped_thread *threads = calloc(job->count, sizeof *threads);
    if (kept == NULL || threads == NULL) {
        free(kept);
        free(threads);
        return fail(job, USP_ERROR_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < job->count; i++) {
        const struct traced *from = &job->threads[i];
        struct uspi_stopped_thread *to = &threads[i];
        to->info = from->info;
        to->status = from->status;
        if (from->status == USP_OK && !from->stopped) to->status = USP_ERROR_TIMEOUT;
        to->is_held = from->stopped;
        to->copy.registers = from->registers;
        to->copy.stack_low = from->extents[OWN].low;
        to->copy.stack_high = from->extents[OWN].high;
        for (unsigned k = 0; k < EXTENTS; k++) {
            const struct extent *e = &from->extents[k];
            to->copy.parts[k] = (struct uspi_copied){e->bytes, e->from, e->copied};
            to->copy.dead[k] = behind(e);
        }
    }
    *kept = (struct kept){.job = job, .memory = job->memory};
    memcpy(kept->arenas, job->arenas, sizeof kept->arenas);
    out->threads = threads;
    out->thread_count = job->count;
    out->pid = job->pid;
    out->arch = job->arch;
    out->pac_mask = job->pac_mask;
    out->live = (struct usp_memory){uspi_proc_memory_read, (void *)(intptr_t)job->memory};
    out->owned = kept;
    out->look = look;
    out->settle = settle;
    out->release = release;
    return USP_OK;
}

/* Whom and what the tracer will need. */
static int prepare(struct job *job, int64_t pid) {
    long e;
    if (job->pid == 0) return fail(job, USP_ERROR_NO_THREAD, "%" PRId64 " is no process id", pid);
    if (job->pid == uspi_linux->own_process()) {
        return fail(job, USP_ERROR_ARGUMENT, "process %d is this one: usp_snapshot_self captures it", job->pid);
    }
    if ((e = uspi_linux_living_thread(pid)) < 0) return fail_system(job, e, "/proc/PID/task");
    job->living = (pid_t)e;
    if ((e = uspi_proc_memory_open(job->living, &job->memory)) < 0) return fail_system(job, e, "/proc/PID/mem");
    e = uspi_proc_threads_open(&job->list, pid, job->listing, sizeof job->listing);
    return e < 0 ? fail_system(job, e, "/proc/PID/task") : USP_OK;
}

int uspi_os_stop_process(int64_t pid, uint64_t timeout, uint64_t only_thread, struct uspi_stopped_process *out,
                         char *error, size_t error_size) {
    memset(out, 0, sizeof *out);
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        if (error != NULL && error_size > 0) snprintf(error, error_size, "out of memory");
        return USP_ERROR_NO_MEMORY;
    }
    sem_init(&job->described, 0, 0);
    sem_init(&job->standing, 0, 0);
    sem_init(&job->helped, 0, 0);
    sem_init(&job->copied, 0, 0);
    job->pid = pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
    job->only = only_thread <= INT32_MAX ? (pid_t)only_thread : -1;
    job->timeout = timeout;
    job->memory = job->list.fd = -1;
    job->error = error;
    job->error_size = error != NULL ? error_size : 0;
    if (job->error_size > 0) error[0] = '\0';
    bool is_running = false;
    int status = prepare(job, pid);
    if (status == USP_OK) status = run_tracer(job, &is_running);
    if (status == USP_OK) status = hand_over(job, out);
    if (status == USP_OK) return USP_OK;
    if (is_running) wait_for_end(job);
    if (job->memory >= 0) uspi_linux->close(job->memory);
    unmap_arenas(job->arenas);
    free_job(job);
    return status;
}
