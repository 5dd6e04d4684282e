/* SPDX-License-Identifier: MIT */
/* See tracer.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/os/linux/contexts.h"
#include "lib/os/linux/copies.h"
#include "lib/os/linux/images.h"
#include "lib/os/linux/sleepers.h"
#include "lib/os/linux/tracer.h"

#include "arch/backend.h"
#include "arch/host.h"
#include "lib/base/processor.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

/* Maximum number of listings until no thread is new. */
#define LISTINGS 64u
/* NT_ARM_PAC_MASK (Linux include/uapi/linux/elf.h), which some versions of <elf.h> lack. */
#define PAC_MASK_SET 0x406
/* Time in ns until the first check for ended threads, and the longest one between two checks. Most tracers have ended
 * before the first. */
#define FIRST_CHECK UINT64_C(30000000)
#define LONG_CHECK  UINT64_C(1000000000)
/* Stack size of a tracer that is a process. */
#define TRACER_STACK ((size_t)128 << 10)
/* Time in ns between two checks whether the tracer has ended, or the first two whether threads have stopped; and the
 * maximum number of checks for the end. */
#define LOOK  20000u
#define LOOKS 10000u
/* Number of checks whether threads have stopped after which it is checked whether the others sleep. */
#define LOOK_AT_SLEEPERS 2u
/* How late a tracer's sleeps may end, in ns. Threads are stopped while it sleeps; the usual slack is 50 us. */
#define SLACK 1000u
/* Maximum number of stops, each with room for more threads. */
#define ATTEMPTS 4u
/* Maximum number of listed threads for whose Swift contexts room is reserved. */
#define CONTEXT_THREADS_MAX 512u
/* Number of further threads for which room is reserved: for threads that start meanwhile, and for deep chains. */
#define CONTEXT_THREADS_SPARE 4u

/* ---- before the stop ---- */

static int read_ranges(struct uspi_tracing *tracing, struct uspi_image_listing *listing) {
    const long mappings = uspi_ranges_read(&tracing->ranges, tracing->living, listing);
    if (mappings < 0) return uspi_refuse_system(&tracing->refusal, mappings, "/proc/PID/maps");
    if (mappings > 0) return USP_OK;
    return uspi_refuse(&tracing->refusal, USP_ERROR_NO_THREAD,
                       "process %d has no memory: it has ended and was not waited for, or is a "
                       "thread of the kernel",
                       tracing->pid);
}

/* Returns how much memory is mapped, in pages; 0: not known. */
static uint64_t mapped_size(const struct uspi_tracing *tracing) {
    char text[256];
    if (uspi_proc_read(tracing->living, 0, "statm", text, sizeof text) < 0) return 0;
    return strtoull(text, NULL, 10);
}

/* Reads the mappings, and with `images` set lists the images. *listed: USP_OK, or why the images could not be
 * listed. */
static int read_mappings(struct uspi_tracing *tracing, int *listed) {
    struct uspi_image_listing *listing = NULL;
    *listed = USP_OK;
    if (tracing->images != NULL) {
        listing = uspi_image_listing_begin(tracing->living, tracing->memory, tracing->images);
        if (listing == NULL) *listed = USP_ERROR_NO_MEMORY;
    }
    int status = read_ranges(tracing, listing);
    if (listing != NULL) *listed = uspi_image_listing_end(listing);
    return status;
}

/* ---- threads ---- */

/* Whether a thread was listed before. Listings have the same order, so each thread is usually the expected one. */
static bool is_known(struct uspi_tracing *tracing, pid_t tid) {
    size_t i = tracing->expected;
    if (i >= tracing->count || tracing->tids[i] != tid) {
        for (i = 0; i < tracing->count && tracing->tids[i] != tid; i++) continue;
    }
    tracing->expected = i + 1;
    return i < tracing->count;
}

/* Describes a thread before it is traced: afterwards /proc shows another state for a thread that is already stopped. */
static void describe_thread(const struct uspi_tracing *tracing, size_t i) {
    const pid_t tid = tracing->tids[i];
    struct usp_thread_info *info = &tracing->threads[i].info;
    struct uspi_proc_stat stat;
    info->thread = (struct usp_thread){(uint64_t)tid, (uint64_t)tid};
    if (tid == tracing->pid) info->flags |= USP_THREAD_MAIN;
    if (uspi_proc_threads_stat(&tracing->list, tid, &stat) < 0) return;
    memcpy(info->name, stat.name, sizeof info->name);
    info->run_state = (uint8_t)stat.state;
    info->cpu_time = stat.cpu_ns;
    tracing->traced[i].is_kernel = stat.is_io_worker;
    if (stat.is_io_worker) info->flags |= USP_THREAD_KERNEL;
}

/* Whether a thread is left alone: it cannot be stopped, or need not be. */
static bool is_left(const struct uspi_traced *t) { return t->is_asleep || t->is_kernel; }

static bool is_gone(const struct uspi_tracing *tracing, pid_t tid) {
    struct uspi_proc_stat stat;
    int e = uspi_proc_stat(tracing->pid, tid, &stat);
    return e == -ENOENT || e == -ESRCH || (e == 0 && (stat.state == 'Z' || stat.state == 'X'));
}

/* Starts to trace a thread. Returns false when it has ended. */
static bool seize(const struct uspi_tracing *tracing, size_t i) {
    const pid_t tid = tracing->tids[i];
    long e = uspi_linux->trace(PTRACE_SEIZE, tid, NULL, NULL);
    if (e == -ESRCH) return false;
    tracing->traced[i].seized = e >= 0;
    if (e >= 0) return true;
    /* The kernel also refuses to trace a thread that is about to end. */
    tracing->threads[i].status = e == -EPERM && is_gone(tracing, tid) ? USP_ERROR_NO_THREAD : uspi_linux_status(e);
    return true;
}

/* Returns the expected number of threads. Few threads start between this call and the listing. */
static size_t expected_threads(const struct uspi_tracing *tracing) {
    const long counted = tracing->only != 0 ? 1 : uspi_proc_threads_count(&tracing->list);
    return counted > 0 ? (size_t)counted : 1;
}

static bool reserve(struct uspi_tracing *tracing, size_t capacity) {
    free(tracing->threads);
    free(tracing->traced);
    free(tracing->tids);
    tracing->threads = calloc(capacity, sizeof *tracing->threads);
    tracing->traced = calloc(capacity, sizeof *tracing->traced);
    tracing->tids = calloc(capacity, sizeof *tracing->tids);
    tracing->capacity = capacity;
    tracing->count = tracing->expected = 0;
    return tracing->threads != NULL && tracing->traced != NULL && tracing->tids != NULL;
}

static bool add_if_new(void *context, const struct uspi_proc_threads *list, pid_t tid) {
    struct uspi_tracing *tracing = context;
    (void)list;
    if ((tracing->only != 0 && tid != tracing->only) || tid == tracing->except || is_known(tracing, tid)) return true;
    if (tracing->count == tracing->capacity) {
        tracing->is_short = true;
        return false;
    }
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
    describe_thread(tracing, before);
    if (tracing->traced[before].is_kernel || seize(tracing, before)) {
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

/* Seizes the threads of the first listing, and removes the ended ones. */
static void seize_listed(struct uspi_tracing *tracing) {
    size_t n = 0;
    for (size_t i = 0; i < tracing->count; i++) {
        if (!is_left(&tracing->traced[i]) && !seize(tracing, i)) continue;
        if (n != i) {
            tracing->threads[n] = tracing->threads[i];
            tracing->traced[n] = tracing->traced[i];
            tracing->tids[n] = tracing->tids[i];
        }
        n++;
    }
    tracing->count = n;
}

/* Asks the threads to stop that are listed from index `from` on. Those for which the time does not suffice keep
 * running. Returns whether there are none. */
static bool interrupt(struct uspi_tracing *tracing, size_t from) {
    const uint64_t began = uspi_os_clock();
    size_t done = 0;
    bool all = true;
    uspi_limit_begin_asking(&tracing->limit);
    for (size_t i = from; i < tracing->count; i++) {
        struct uspi_traced *t = &tracing->traced[i];
        if (!t->seized || t->stopped || is_left(t) || tracing->threads[i].status != USP_OK) continue;
        if (uspi_limit_is_over(&tracing->limit, done++)) {
            tracing->threads[i].status = USP_ERROR_TIMEOUT;
            all = false;
            continue;
        }
        t->running = began;
        uspi_linux->trace(PTRACE_INTERRUPT, tracing->tids[i], NULL, NULL);
    }
    tracing->limit.asking += uspi_os_clock() - began;
    return all;
}

/* Returns the processor by the size of its register set. All sizes differ (Linux asm/ptrace.h user_regs_struct,
 * user_pt_regs, pt_regs). */
static uint32_t arch_of_set(size_t size) {
    switch (size) {
    case 216: return USP_ARCH_X86_64;
    case 68: return USP_ARCH_I386;
    case 272: return USP_ARCH_ARM64;
    case 72: return USP_ARCH_ARMV7;
    default: return USP_ARCH_NONE;
    }
}

/* Reads a stopped thread's registers. Returns false when the thread still runs or has ended. */
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
        t->status = uspi_registers_from_state(&t->copy.registers, arch_of_set(set.iov_len),
                                              USP_THREAD_STATE_LINUX_PRSTATUS, bytes, set.iov_len);
        if (t->status != USP_OK) t->status = USP_ERROR_UNSUPPORTED;
    }
    return true;
}

/* Waits until the threads have stopped, and takes their registers. When the time is over, there is one last pass. */
static void wait_for_stops(struct uspi_tracing *tracing) {
    uint64_t nap = LOOK;
    uspi_limit_begin_waiting(&tracing->limit);
    for (unsigned pass = 0;; pass++) {
        size_t running = 0, done = 0;
        const uint64_t now = uspi_os_clock();
        const bool late = now >= tracing->limit.until;
        if (late) uspi_limit_begin_step(&tracing->limit, tracing->limit.length);
        for (size_t i = 0; i < tracing->count; i++) {
            struct uspi_traced *t = &tracing->traced[i];
            int *status = &tracing->threads[i].status;
            if (!t->seized || t->stopped || t->is_asleep || *status != USP_OK) continue;
            const bool is_over = uspi_limit_is_over(&tracing->limit, done++);
            if (is_over && !late) {
                running++;
                break;
            }
            if (is_over) *status = USP_ERROR_TIMEOUT;
            if (is_over || take_registers(tracing, i)) continue;
            t->running = now;
            if ((late || pass % 8 == 7) && is_gone(tracing, tracing->tids[i])) {
                *status = USP_ERROR_NO_THREAD;
            } else if (late) {
                *status = USP_ERROR_TIMEOUT;
            } else if (pass < LOOK_AT_SLEEPERS || !uspi_sleepers_look(tracing, i, now)) {
                running++;
            }
        }
        if (running == 0) return;
        uspi_linux->sleep(nap);
        if (nap < 1000000) nap *= 2;
    }
}

/* Learns the processor and the signature bits from one stopped thread. They are the same for all threads. */
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

/* ---- Swift's async contexts ---- */

static bool have_contexts(const struct uspi_backend *b) { return b != NULL && b->has_async && b->word == 8; }

/* Allocates room for contexts before any thread is stopped. If that fails, no contexts are copied. */
static void make_room_for_contexts(struct uspi_tracing *tracing) {
    const size_t threads = tracing->count < CONTEXT_THREADS_MAX ? tracing->count : CONTEXT_THREADS_MAX;
    if (tracing->executor.text_high == 0) return;
    (void)uspi_context_table_reserve(&tracing->contexts, (threads + CONTEXT_THREADS_SPARE) * USPI_CONTEXTS_OF_THREAD);
}

static void copy_contexts(struct uspi_tracing *tracing) {
    const struct uspi_context_search search = {.ranges = &tracing->ranges,
                                               .executor = tracing->executor,
                                               .mask = ~tracing->pac_mask,
                                               .pid = tracing->living,
                                               .table = &tracing->contexts,
                                               .limit = &tracing->limit};
    if (tracing->contexts.capacity == 0 || !have_contexts(uspi_backend_find(tracing->arch))) return;
    uspi_limit_begin_copying(&tracing->limit);
    for (size_t i = 0; i < tracing->count && !uspi_limit_is_over(&tracing->limit, i); i++) {
        const struct usp_registers *registers = &tracing->threads[i].copy.registers;
        if (!tracing->traced[i].stopped || tracing->threads[i].status != USP_OK) continue;
        for (unsigned which = 0; which < USPI_STACKS; which++) {
            const struct uspi_copied stack = uspi_extent_outermost(&tracing->traced[i].extents[which]);
            uspi_contexts_add_thread(&search, registers, &stack);
        }
    }
    uspi_contexts_copy(&search);
}

/* ---- locks ---- */

/* Implements usp_memory.read. */
static int read_memory(void *context, usp_addr from, void *to, size_t n) {
    const struct uspi_tracing *tracing = context;
    const struct iovec local = {to, n}, remote = {(void *)(uintptr_t)from, n};
    if (from > UINTPTR_MAX) return USP_ERROR_UNREADABLE;
    long got = uspi_linux->read_process(tracing->living, &local, &remote, 1);
    if (got < 0 && got != -EFAULT && from <= INT64_MAX) got = uspi_linux->pread(tracing->memory, to, n, from);
    return got == (long)n ? USP_OK : USP_ERROR_UNREADABLE;
}

/* Reads the locks that threads wait for. */
static void copy_locks(struct uspi_tracing *tracing) {
    const struct usp_memory memory = {read_memory, tracing};
    uspi_limit_begin_copying(&tracing->limit);
    for (size_t i = 0; i < tracing->count && !uspi_limit_is_over(&tracing->limit, i); i++) {
        struct uspi_stopped_thread *t = &tracing->threads[i];
        if (!tracing->traced[i].stopped || t->status != USP_OK) continue;
        (void)uspi_lock_wait_read(&t->copy.lock, USP_OS_LINUX, &t->copy.registers, &memory);
    }
}

/* ---- the tracer ---- */

static int fail_to_list(struct uspi_tracing *tracing, int e) {
    return uspi_refuse_system(&tracing->refusal, e == -ECANCELED ? -ENOMEM : e, "/proc/PID/task");
}

static bool any_seized(const struct uspi_tracing *tracing) {
    for (size_t i = 0; i < tracing->count; i++) {
        if (tracing->traced[i].seized || is_left(&tracing->traced[i])) return true;
    }
    return false;
}

/* Records why no thread could be seized, and returns the status. */
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

/* Whether all threads that the kernel counts are listed. Always true for threads that the caller gave. */
static bool counts_all(const struct uspi_tracing *tracing) {
    if (tracing->is_given) return true;
    const long others = tracing->except != 0 ? 1 : 0;
    return tracing->only == 0 && uspi_proc_threads_count(&tracing->list) == (long)tracing->count + others;
}

static int seize_all(struct uspi_tracing *tracing) {
    uspi_sleepers_find(tracing);
    seize_listed(tracing);
    for (unsigned i = 0; i < LISTINGS && !counts_all(tracing); i++) {
        int e = seize_new(tracing);
        if (tracing->is_short) return USP_ERROR_NO_MEMORY;
        if (e < 0) return fail_to_list(tracing, e);
        if (tracing->found == 0) break;
    }
    return any_seized(tracing) ? USP_OK : fail_to_seize(tracing);
}

static bool have_stopped(const struct uspi_tracing *tracing) {
    for (size_t i = 0; i < tracing->count; i++) {
        if (!tracing->traced[i].stopped && !is_left(&tracing->traced[i])) return false;
    }
    return true;
}

static void stop_all(struct uspi_tracing *tracing) {
    size_t from = 0;
    tracing->limit = (struct uspi_limit){.began = uspi_os_clock(), .length = tracing->timeout};
    for (unsigned i = 0; i < LISTINGS; i++) {
        const bool all = interrupt(tracing, from);
        wait_for_stops(tracing);
        from = tracing->count;
        if (tracing->is_given) break;
        /* All threads that the kernel counts have stopped, so there are no others. If some were not asked to stop, the
         * count suffices. */
        if ((!all || have_stopped(tracing)) && counts_all(tracing)) break;
        if (seize_new(tracing) < 0 || tracing->found == 0) break;
    }
}

/* Stops the threads that were asleep when the others were stopped, and have woken up since. */
static void stop_woken(struct uspi_tracing *tracing) {
    for (size_t i = 0; i < tracing->count; i++) {
        struct uspi_traced *t = &tracing->traced[i];
        if (t->stopped || is_left(t) || tracing->threads[i].status != USP_OK) continue;
        if (!t->seized && !seize(tracing, i)) tracing->threads[i].status = USP_ERROR_NO_THREAD;
        t->looked = 0;
    }
    (void)interrupt(tracing, 0);
    wait_for_stops(tracing);
    (void)uspi_sleepers_take(tracing);
}

/* Seizes and stops the threads, and copies them. The tracer runs this. */
static void seize_and_copy(struct uspi_tracing *tracing) {
    (void)uspi_linux->set_timer_slack(SLACK);
    if (seize_all(tracing) != USP_OK) return;
    stop_all(tracing);
    if (tracing->while_stopped != NULL) tracing->while_stopped(tracing->watcher);
    learn_processor(tracing);
    tracing->has_moved = tracing->mapped == 0 || mapped_size(tracing) != tracing->mapped;
    if (uspi_sleepers_take(tracing)) stop_woken(tracing);
    uspi_copies_take(tracing);
    uspi_sleepers_confirm(tracing);
    copy_contexts(tracing);
    if (!tracing->is_given) copy_locks(tracing);
}

static void *trace_as_thread(void *context) {
    struct uspi_tracing *tracing = context;
    tracing->tracer_id = uspi_linux->own_thread();
    seize_and_copy(tracing);
    const int64_t spent = uspi_linux->cpu_time();
    if (spent > 0) tracing->spent += (uint64_t)spent;
    tracing->ended = uspi_os_clock();
    atomic_store(&tracing->has_ended, 1);
    uspi_linux->wake(&tracing->has_ended, 1);
    return NULL;
}

static int trace_as_process(void *context) {
    seize_and_copy(context);
    return 0;
}

/* ---- the caller ---- */

struct uspi_tracing *uspi_tracing_create(void) {
    struct uspi_tracing *tracing = calloc(1, sizeof *tracing);
    const long page = sysconf(_SC_PAGESIZE);
    if (tracing != NULL) tracing->page = page > 0 ? (size_t)page : USPI_LINUX_PAGE;
    if (tracing != NULL) tracing->memory = tracing->pagemap = tracing->list.fd = -1;
    return tracing;
}

/* Waits until the tracer's id is free, because the kernel detaches all of a tracer's threads before that. pthread_join
 * returns a little earlier. If another thread of this process has got the id, the wait ends after LOOKS checks. */
static void wait_for_release(const struct uspi_tracing *tracing) {
    const pid_t pid = uspi_linux->own_process();
    for (unsigned i = 0; i < LOOKS && uspi_linux->probe_thread(pid, tracing->tracer_id) == 0; i++) {
        uspi_linux->sleep(LOOK);
    }
}

/* Waits for traced threads that have ended, so that the kernel releases them. */
static void take_ends(const struct uspi_tracing *tracing) {
    char buffer[4096];
    struct uspi_proc_threads list;
    if (uspi_proc_threads_open(&list, tracing->pid, buffer, sizeof buffer) < 0) return;
    for (pid_t tid; (tid = uspi_proc_threads_next(&list)) != 0;) {
        if (tid != tracing->pid) (void)uspi_linux->take_end(tid);
    }
    uspi_proc_threads_close(&list);
}

/* Waits until the tracer has made the copies, and completes an exec that waits for traced threads (tracer.h). */
static void wait_for_copies(struct uspi_tracing *tracing) {
    uint64_t nap = FIRST_CHECK, check = uspi_os_clock() + nap;
    while (atomic_load(&tracing->has_ended) == 0) {
        (void)uspi_linux->wait(&tracing->has_ended, 0, check);
        if (uspi_os_clock() < check) continue;
        take_ends(tracing);
        if (nap < LONG_CHECK) nap *= 2;
        check = uspi_os_clock() + nap;
    }
}

static int run_thread(struct uspi_tracing *tracing) {
    pthread_t tracer;
    atomic_store(&tracing->has_ended, 0);
    int e = pthread_create(&tracer, NULL, trace_as_thread, tracing);
    if (e != 0) return uspi_refuse_system(&tracing->refusal, -e, "pthread_create");
    wait_for_copies(tracing);
    pthread_join(tracer, NULL);
    wait_for_release(tracing);
    return USP_OK;
}

/* Runs the tracer as a process. Yama lets only a process's ancestors trace it, and tracers that it names
 * (Documentation/admin-guide/LSM/Yama.rst). The tracer's id is not known yet, so any tracer is permitted meanwhile. */
static int run_process(struct uspi_tracing *tracing) {
    char *stack = uspi_linux->map(TRACER_STACK, false);
    if (stack == NULL) return uspi_refuse_system(&tracing->refusal, -ENOMEM, "clone");
    const bool is_guarded = uspi_linux_yama_scope() > 0;
    if (is_guarded) uspi_linux->permit_tracer(true);
    long e = uspi_linux->run_beside(trace_as_process, stack + TRACER_STACK, tracing);
    if (is_guarded) uspi_linux->permit_tracer(false);
    uspi_linux->unmap(stack, TRACER_STACK);
    return e < 0 ? uspi_refuse_system(&tracing->refusal, e, "clone") : USP_OK;
}

static int list_threads(struct uspi_tracing *tracing) {
    int e = uspi_linux_list_threads(&tracing->list, add_if_new, tracing);
    if (e < 0 && !tracing->is_short) return fail_to_list(tracing, e);
    for (size_t i = 0; i < tracing->count; i++) describe_thread(tracing, i);
    return USP_OK;
}

/* Stops the process once. If is_short is set afterwards, there were more threads than room, and the caller repeats the
 * stop. */
static int trace_once(struct uspi_tracing *tracing) {
    tracing->is_short = false;
    int status = list_threads(tracing);
    if (status != USP_OK || tracing->is_short) return status;
    /* There is no thread to stop besides the requesting one, which is not stopped. */
    if (tracing->count == 0 && tracing->except != 0) return USP_OK;
    uspi_copies_reserve(tracing, expected_threads(tracing));
    make_room_for_contexts(tracing);
    status = tracing->except != 0 ? run_process(tracing) : run_thread(tracing);
    tracing->ended = uspi_os_clock();
    return status != USP_OK ? status : tracing->refusal.status;
}

int uspi_trace(struct uspi_tracing *tracing) {
    struct uspi_undisturbed kept;
    const int kept_errno = errno;
    size_t capacity = expected_threads(tracing);
    /* No handler of the program may run on the tracer. */
    uspi_os_undisturbed_begin(&kept);
    int listed;
    tracing->mapped = mapped_size(tracing);
    int status = read_mappings(tracing, &listed);
    if (status == USP_OK && tracing->before_stop != NULL) {
        tracing->executor = tracing->before_stop(tracing->context, listed);
    }
    for (unsigned attempt = 0; status == USP_OK && attempt < ATTEMPTS; attempt++) {
        uspi_copies_clear(tracing);
        capacity += capacity / 4 + 16;
        status = reserve(tracing, capacity) ? trace_once(tracing) : fail_to_list(tracing, -ENOMEM);
        if (!tracing->is_short) break;
        capacity *= 2;
    }
    if (status == USP_OK && tracing->is_short) status = fail_to_list(tracing, -ENOMEM);
    uspi_os_undisturbed_end(&kept);
    errno = kept_errno;
    return status;
}

/* Puts the given threads into the arrays, which grow if necessary. Returns false when memory is exhausted. */
static bool take_given(struct uspi_tracing *tracing, const struct usp_thread *threads, size_t count) {
    if (count > tracing->capacity && !reserve(tracing, count + count / 4)) return false;
    memset(tracing->threads, 0, count * sizeof *tracing->threads);
    memset(tracing->traced, 0, count * sizeof *tracing->traced);
    for (size_t i = 0; i < count; i++) {
        tracing->tids[i] = (pid_t)threads[i].id;
        tracing->threads[i].info.thread = threads[i];
    }
    tracing->count = count;
    return true;
}

int uspi_trace_given(struct uspi_tracing *tracing, const struct usp_thread *threads, size_t count) {
    struct uspi_undisturbed kept;
    const int kept_errno = errno;
    uspi_os_undisturbed_begin(&kept);
    int status = USP_OK;
    tracing->is_given = true;
    tracing->refusal.status = USP_OK;
    if (tracing->ranges.count == 0 || tracing->has_unknown_stack) {
        tracing->has_unknown_stack = false;
        status = read_ranges(tracing, NULL);
    }
    if (status == USP_OK && !take_given(tracing, threads, count)) status = fail_to_list(tracing, -ENOMEM);
    if (status == USP_OK) status = run_thread(tracing);
    if (status == USP_OK) status = tracing->refusal.status;
    uspi_os_undisturbed_end(&kept);
    errno = kept_errno;
    return status;
}

int uspi_trace_asleep(struct uspi_tracing *tracing, const struct uspi_known_sleeper *sleepers, size_t count) {
    int status = read_ranges(tracing, NULL);
    if (status != USP_OK) return status;
    if (!reserve(tracing, count)) return fail_to_list(tracing, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        tracing->tids[i] = sleepers[i].tid;
        tracing->traced[i].is_asleep = true;
        tracing->traced[i].ran = sleepers[i].ran;
    }
    tracing->count = count;
    tracing->arch = USPI_HOST_ARCH;
    uspi_copies_reserve(tracing, count);
    tracing->limit = (struct uspi_limit){.began = uspi_os_clock(), .length = tracing->timeout};
    (void)uspi_sleepers_take(tracing);
    uspi_copies_take(tracing);
    uspi_sleepers_confirm(tracing);
    return USP_OK;
}

void uspi_tracing_free(struct uspi_tracing *tracing) {
    if (tracing == NULL) return;
    uspi_proc_threads_close(&tracing->list);
    uspi_copies_clear(tracing);
    uspi_ranges_free(&tracing->ranges);
    uspi_context_table_free(&tracing->contexts);
    free(tracing->threads);
    free(tracing->traced);
    free(tracing->tids);
    free(tracing);
}

#endif
