/* SPDX-License-Identifier: MIT */
/* Repeated queries about another process on Linux: its threads and their clocks by /proc, with files that stay open,
 * and their stacks by tracer.h. */
#include "lib/base/bisect.h"
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/os/linux/proc.h"
#include "lib/os/linux/process.h"
#include "lib/os/running.h"

#include "lib/base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Timeout of a whole stop, in ns. */
#define STOP_TIMEOUT UINT64_C(100000000)
/* Interval in ns at which the size of mapped memory is checked. If it has changed, the ranges of stacks are read
 * again. */
#define RANGES_AGE UINT64_C(1000000000)
/* Number of queries about the main thread, or about the number of threads, between two checks whether the main thread
 * has ended. */
#define BETWEEN_LOOKS 16u

/* Maximum processor time that a thread spends on being stopped and resumed, in ns. */
#define BEING_STOPPED UINT64_C(50000)

/* A thread's processor time, and the open file that has it. */
struct clock {
    pid_t tid;
    int fd;            /* −1: no descriptor is to spare, and the file is opened each time */
    uint64_t time;     /* the last value that was read, in ns */
    uint64_t stopping; /* the part of it that being stopped took, in ns; it is not reported */
    usp_addr sp, pc;   /* where the thread was when it was last stopped */
    bool was_stopped;  /* the thread was stopped since `time` last changed */
    bool is_known;     /* `time` was read at least once */
    bool is_active;    /* the last reading was the first one, or differed from the one before */
    bool is_fresh;     /* `next` is the current value */
    uint64_t runs;     /* how often it got a processor, before it was last stopped; 0: not known */
    bool is_due;       /* it had no processor when it was last stopped, or lost it then */
    uint64_t next;
};

struct uspi_os_other {
    struct uspi_tracing *tracing;
    struct clock *clocks; /* by ascending id */
    size_t clock_count, clock_capacity;
    int size;              /* descriptor of statm */
    uint64_t ranges_read;  /* time of the last check of mapped memory (usp_clock) */
    uint64_t ranges_pages; /* size of mapped memory at that check, in pages */
    uint64_t all_time;     /* processor time of all threads at the beginning of the last look */
    bool is_all_known;     /* all_time is known */
    bool others_stand;     /* between the last two looks no thread ran except active ones */
    size_t most_files;     /* maximum number of open files for clocks */
    unsigned questions;
    bool main_has_ended; /* at the last check */
};

/* ---- open and close ---- */

void uspi_os_other_close(struct uspi_os_other *other) {
    if (other == NULL) return;
    for (size_t i = 0; i < other->clock_count; i++) {
        if (other->clocks[i].fd >= 0) uspi_linux->close(other->clocks[i].fd);
    }
    free(other->clocks);
    if (other->size >= 0) uspi_linux->close(other->size);
    if (other->tracing != NULL && other->tracing->memory >= 0) uspi_linux->close(other->tracing->memory);
    if (other->tracing != NULL && other->tracing->pagemap >= 0) uspi_linux->close(other->tracing->pagemap);
    uspi_tracing_free(other->tracing);
    free(other);
}

static int open_size(pid_t pid) {
    char path[USPI_PROC_PATH_MAX];
    uspi_proc_path(path, pid, 0, "statm");
    return (int)uspi_linux->open(AT_FDCWD, path, O_RDONLY);
}

/* Stops the process once, which shows whether the system permits it. */
static int try_to_stop(struct uspi_os_other *other) {
    const struct usp_thread thread = {(uint64_t)other->tracing->living, (uint64_t)other->tracing->living};
    other->tracing->timeout = STOP_TIMEOUT;
    return uspi_trace_given(other->tracing, &thread, 1);
}

int uspi_os_other_open(int64_t pid, struct uspi_os_other **other, char *error, size_t error_size) {
    struct uspi_os_other *made = calloc(1, sizeof *made);
    *other = NULL;
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    const long files = sysconf(_SC_OPEN_MAX);
    made->size = -1;
    made->most_files = files > 0 ? (size_t)files / 2 : 0;
    made->tracing = uspi_tracing_create();
    int status = USP_ERROR_NO_MEMORY;
    if (made->tracing != NULL) {
        made->tracing->pid = pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
        made->tracing->refusal =
            (struct uspi_refusal){.pid = made->tracing->pid, .text = error, .text_size = error_size};
        status = uspi_linux_prepare_tracing(made->tracing, pid);
        if (status == USP_OK) status = try_to_stop(made);
        /* The buffer belongs to the caller, who does not read it later. */
        made->tracing->refusal.text = NULL;
        made->tracing->refusal.text_size = 0;
    }
    if (status != USP_OK) {
        uspi_os_other_close(made);
        return status;
    }
    made->size = open_size(made->tracing->pid);
    *other = made;
    return USP_OK;
}

/* ---- memory ---- */

struct usp_memory uspi_os_other_memory(struct uspi_os_other *other) {
    struct uspi_tracing *tracing = other->tracing;
    int fd;
    long living = uspi_linux_living_thread(tracing->pid);
    if (living > 0) tracing->living = (pid_t)living;
    if (uspi_proc_memory_open(tracing->living, &fd) == 0) {
        if (tracing->memory >= 0) uspi_linux->close(tracing->memory);
        tracing->memory = fd;
        if (tracing->pagemap >= 0) uspi_linux->close(tracing->pagemap);
        tracing->pagemap = uspi_proc_pagemap_open(tracing->living);
    }
    return (struct usp_memory){uspi_proc_memory_read, (void *)(intptr_t)tracing->memory};
}

uint64_t uspi_os_other_mapped(struct uspi_os_other *other) {
    char text[128];
    long n = other->size >= 0 ? uspi_linux->pread(other->size, text, sizeof text - 1, 0) : 0;
    if (n <= 0) return 0;
    text[n] = '\0';
    return strtoull(text, NULL, 10);
}

/* ---- threads ---- */

/* Checks whether the main thread has ended. The other threads go on, and its entry stays until all have ended. */
static bool look_at_main(struct uspi_os_other *other) {
    struct uspi_proc_stat stat;
    const pid_t pid = other->tracing->pid;
    int e = uspi_proc_stat(pid, pid, &stat);
    if (e == 0 || e == -ENOENT || e == -ESRCH) {
        other->main_has_ended = e < 0 || stat.state == 'Z' || stat.state == 'X';
    }
    return other->main_has_ended;
}

static bool has_main_ended(struct uspi_os_other *other) {
    return other->questions++ % BETWEEN_LOOKS == 0 ? look_at_main(other) : other->main_has_ended;
}

int uspi_os_other_count(struct uspi_os_other *other, size_t *count) {
    long links = uspi_proc_threads_count(&other->tracing->list);
    *count = links > 0 ? (size_t)links : 0;
    if (links <= 0) return USP_ERROR_UNSUPPORTED;
    if (has_main_ended(other)) --*count;
    return USP_OK;
}

struct taken {
    struct uspi_os_other *other;
    struct usp_thread *threads;
    size_t capacity, count;
};

static void take_thread(struct taken *taken, pid_t tid) {
    if (tid == taken->other->tracing->pid && taken->other->main_has_ended) return;
    if (taken->count < taken->capacity) {
        taken->threads[taken->count] = (struct usp_thread){(uint64_t)tid, (uint64_t)tid};
    }
    taken->count++;
}

int uspi_os_other_list(struct uspi_os_other *other, struct usp_thread *threads, size_t capacity, size_t *count) {
    struct uspi_proc_threads *list = &other->tracing->list;
    struct taken taken = {other, threads, capacity, 0};
    pid_t tid;
    (void)look_at_main(other);
    /* The caller asks for the clocks of threads that are missing from the list, to learn whether they have ended. So
     * these clocks must be read. */
    other->others_stand = false;
    int e = uspi_proc_threads_rewind(list);
    while (e == 0 && (tid = uspi_proc_threads_next(list)) != 0) take_thread(&taken, tid);
    if (e == 0) e = (int)list->error;
    *count = taken.count;
    /* The directory of an ended process does not exist any more. */
    if (e == -ENOENT || e == -ESRCH) return USP_OK;
    if (e < 0) return uspi_linux_status(e);
    return taken.count > capacity ? USP_ERROR_FULL : USP_OK;
}

int uspi_os_other_describe(struct uspi_os_other *other, const struct usp_thread *thread, struct usp_thread_info *info) {
    struct uspi_proc_stat stat;
    memset(info, 0, sizeof *info);
    if (thread->id == 0 || thread->id > INT32_MAX) return USP_ERROR_NO_THREAD;
    info->thread = *thread;
    int e = uspi_proc_threads_stat(&other->tracing->list, (pid_t)thread->id, &stat);
    if (e < 0) return uspi_linux_status(e);
    if ((int64_t)thread->id == other->tracing->pid) info->flags |= USP_THREAD_MAIN;
    memcpy(info->name, stat.name, sizeof info->name);
    info->run_state = (uint8_t)stat.state;
    info->cpu_time = stat.cpu_ns;
    return USP_OK;
}

/* ---- clocks ---- */

/* Returns the index of a thread's clock, or where it would be inserted. */
static size_t place_of(const struct uspi_os_other *other, pid_t tid) {
    size_t i;
    USPI_FIRST(i, 0, other->clock_count, other->clocks[i].tid >= tid);
    return i;
}

/* Opens the scheduler's count of a thread: "RUN-TIME WAIT-TIME RUNS" (Documentation/scheduler/sched-stats.rst). */
static int open_clock(const struct uspi_os_other *other, pid_t tid) {
    char path[USPI_PROC_PATH_MAX];
    uspi_proc_path(path, other->tracing->pid, tid, "schedstat");
    return (int)uspi_linux->open(AT_FDCWD, path, O_RDONLY);
}

static bool is_out_of_files(long e) { return e == -EMFILE || e == -ENFILE; }

/* Adds a thread's clock. Returns its index, or a negative error number. Half of the files that the program may open are
 * left to it. */
static long add_clock(struct uspi_os_other *other, size_t place, pid_t tid) {
    int fd = other->clock_count < other->most_files ? open_clock(other, tid) : -EMFILE;
    if (fd < 0 && !is_out_of_files(fd)) return fd;
    struct clock *grown =
        uspi_array_reserve(other->clocks, &other->clock_capacity, other->clock_count + 1, sizeof *other->clocks);
    if (grown == NULL) {
        if (fd >= 0) uspi_linux->close(fd);
        return -ENOMEM;
    }
    other->clocks = grown;
    memmove(grown + place + 1, grown + place, (other->clock_count - place) * sizeof *grown);
    grown[place] = (struct clock){.tid = tid, .fd = fd >= 0 ? fd : -1};
    other->clock_count++;
    return (long)place;
}

static void remove_clock(struct uspi_os_other *other, size_t place) {
    if (other->clocks[place].fd >= 0) uspi_linux->close(other->clocks[place].fd);
    other->clock_count--;
    memmove(other->clocks + place, other->clocks + place + 1, (other->clock_count - place) * sizeof *other->clocks);
}

/* Reads the scheduler's count of a thread. Returns its length, or a negative error number. */
static long read_text(const struct uspi_os_other *other, const struct clock *clock, char *text, size_t size) {
    if (clock->fd < 0) return uspi_proc_read(other->tracing->pid, clock->tid, "schedstat", text, size);
    const long n = uspi_linux->pread(clock->fd, text, size - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return n;
}

/* Reads a clock. Returns USP_OK and the time, or why it is not known. */
static int read_clock(const struct uspi_os_other *other, const struct clock *clock, uint64_t *time) {
    char text[128], *end;
    const long n = read_text(other, clock, text, sizeof text);
    if (n == -ESRCH || n == -ENOENT) return USP_ERROR_NO_THREAD;
    if (n <= 0) return n < 0 ? uspi_linux_status(n) : USP_ERROR_SYSTEM;
    *time = strtoull(text, &end, 10);
    /* A kernel that does not count writes zeros (fs/proc/base.c, proc_pid_schedstat). */
    return strncmp(text, "0 0 0", 5) == 0 || end == text ? USP_ERROR_UNSUPPORTED : USP_OK;
}

/* Reads the clock of the whole process, and of each thread that ran lately. If these threads used all the time that the
 * process used, no other thread has run. If a running thread is accounted for between the readings, the sums differ,
 * and every clock is read. */
void uspi_os_other_begin_look(struct uspi_os_other *other) {
    const int64_t all = uspi_linux->process_cpu_time(other->tracing->pid);
    const uint64_t before = other->all_time;
    uint64_t active = 0;
    bool are_read = all >= 0;
    for (size_t i = 0; i < other->clock_count && all >= 0; i++) {
        struct clock *clock = &other->clocks[i];
        clock->is_fresh = clock->is_active && read_clock(other, clock, &clock->next) == USP_OK;
        if (clock->is_active && !clock->is_fresh) are_read = false;
        if (clock->is_fresh) active += clock->next - clock->time;
    }
    other->others_stand = are_read && other->is_all_known && (uint64_t)all - before == active;
    other->is_all_known = all >= 0;
    other->all_time = all >= 0 ? (uint64_t)all : 0;
}

/* Gives a clock's current value with as few system calls as possible. */
static int ask_clock(const struct uspi_os_other *other, struct clock *clock, uint64_t *time) {
    *time = clock->is_fresh ? clock->next : clock->time;
    int status = clock->is_fresh || (other->others_stand && clock->is_known && !clock->is_active)
                     ? USP_OK
                     : read_clock(other, clock, time);
    clock->is_fresh = false;
    if (status != USP_OK) return status;
    clock->is_active = !clock->is_known || *time != clock->time;
    clock->is_known = true;
    return USP_OK;
}

/* Returns a thread's time without the time that being stopped took. A waiting thread leaves its system call to be
 * stopped, and then returns to it: its clock advances, although the thread has not moved. */
static uint64_t without_stops(const struct uspi_os_other *other, struct clock *clock, uint64_t time) {
    usp_addr sp, pc;
    const uint64_t passed = time > clock->time ? time - clock->time : 0;
    if (passed > 0 && clock->was_stopped) {
        clock->was_stopped = false;
        if (passed <= BEING_STOPPED && uspi_proc_position(other->tracing->pid, clock->tid, &sp, &pc) == 0 &&
            sp == clock->sp && pc == clock->pc) {
            clock->stopping += passed;
        }
    }
    clock->time = time;
    return time > clock->stopping ? time - clock->stopping : 0;
}

static struct clock *find_clock(const struct uspi_os_other *other, uint64_t id) {
    const size_t place = place_of(other, (pid_t)id);
    return place < other->clock_count && other->clocks[place].tid == (pid_t)id ? &other->clocks[place] : NULL;
}

/* Returns how often a thread has got a processor; 0: not known. */
static uint64_t read_runs(const struct uspi_os_other *other, const struct clock *clock) {
    char text[128];
    if (read_text(other, clock, text, sizeof text) <= 0) return 0;
    const char *runs = strrchr(text, ' ');
    return runs != NULL ? strtoull(runs, NULL, 10) : 0;
}

static void note_runs(struct uspi_os_other *other, const struct usp_thread *threads, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct clock *clock = find_clock(other, threads[i].id);
        if (clock != NULL) clock->runs = read_runs(other, clock);
    }
}

/* Compares the counts while the threads are stopped. A thread that has a processor reaches its stop on it. Another one
 * has to get a processor first. */
static void compare_runs(void *watcher) {
    const struct uspi_os_other *other = watcher;
    for (size_t i = 0; i < other->tracing->count; i++) {
        struct clock *clock = find_clock(other, (uint64_t)other->tracing->tids[i]);
        if (clock == NULL) continue;
        clock->is_due = clock->runs != 0 && !uspi_limit_is_over(&other->tracing->limit, i) &&
                        read_runs(other, clock) != clock->runs;
    }
}

static void note_stop(struct uspi_os_other *other, const struct uspi_stopped_thread *thread) {
    struct clock *clock = find_clock(other, thread->info.thread.id);
    if (thread->status != USP_OK || clock == NULL) return;
    clock->was_stopped = true;
    clock->sp = usp_registers_sp(&thread->copy.registers);
    clock->pc = usp_registers_pc(&thread->copy.registers);
}

enum uspi_running uspi_os_other_running(const struct uspi_os_other *other, const struct usp_thread *thread) {
    const struct clock *clock = find_clock(other, thread->id);
    return clock != NULL && clock->is_due ? USPI_IS_DUE : USPI_RUNS;
}

int uspi_os_other_cpu(struct uspi_os_other *other, const struct usp_thread *thread, uint64_t *ns) {
    *ns = 0;
    if (thread->id == 0 || thread->id > INT32_MAX) return USP_ERROR_NO_THREAD;
    const pid_t tid = (pid_t)thread->id;
    size_t place = place_of(other, tid);
    if (place == other->clock_count || other->clocks[place].tid != tid) {
        long added = add_clock(other, place, tid);
        /* A system without this count does not have the file. */
        if (added == -ENOENT && uspi_linux->probe_thread(other->tracing->pid, tid) == 0) return USP_ERROR_UNSUPPORTED;
        if (added < 0) return added == -ENOENT || added == -ESRCH ? USP_ERROR_NO_THREAD : uspi_linux_status(added);
    }
    int status = ask_clock(other, &other->clocks[place], ns);
    if (status == USP_ERROR_NO_THREAD || (tid == other->tracing->pid && has_main_ended(other))) {
        remove_clock(other, place);
        return USP_ERROR_NO_THREAD;
    }
    if (status == USP_OK) *ns = without_stops(other, &other->clocks[place], *ns);
    return status;
}

/* ---- stops ---- */

int uspi_os_other_stop(struct uspi_os_other *other, const struct usp_thread *threads, size_t count,
                       struct uspi_stopped_process *stopped) {
    struct uspi_tracing *tracing = other->tracing;
    const uint64_t now = uspi_os_clock();
    memset(stopped, 0, sizeof *stopped);
    if (now - other->ranges_read >= RANGES_AGE) {
        uint64_t pages = uspi_os_other_mapped(other);
        tracing->has_unknown_stack |= pages != other->ranges_pages;
        other->ranges_pages = pages;
        other->ranges_read = now;
    }
    note_runs(other, threads, count);
    tracing->while_stopped = compare_runs;
    tracing->watcher = other;
    int status = uspi_trace_given(tracing, threads, count);
    if (status != USP_OK) return status;
    uspi_linux_describe_copies(tracing);
    for (size_t i = 0; i < tracing->count; i++) note_stop(other, &tracing->threads[i]);
    stopped->threads = tracing->threads;
    stopped->thread_count = tracing->count;
    stopped->pid = tracing->pid;
    stopped->arch = tracing->arch;
    stopped->pac_mask = tracing->pac_mask;
    stopped->stopped_ns = tracing->limit.began != 0 ? tracing->ended - tracing->limit.began : 0;
    stopped->live = (struct usp_memory){uspi_proc_memory_read, (void *)(intptr_t)tracing->memory};
    return USP_OK;
}

uint64_t uspi_os_other_spent(const struct uspi_os_other *other) { return other->tracing->spent; }

#endif
