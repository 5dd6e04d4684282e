/* SPDX-License-Identifier: MIT */
/* Another process that is looked at again and again, on Linux: its threads and their clocks by /proc, with files that stay open;
 * their stacks by tracer.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/os/linux/proc.h"
#include "lib/os/linux/process.h"

#include "lib/base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For all of a stop, in ns. */
#define STOP_TIMEOUT UINT64_C(100000000)
/* Ranges of stacks are read again after so long, in ns, if the process has mapped or unmapped something. */
#define RANGES_AGE UINT64_C(1000000000)
/* Questions about the main thread, or about how many there are, between two looks at whether it has ended. */
#define BETWEEN_LOOKS 16u

/* The most processor time that a thread spends on being stopped and resumed, in ns. */
#define BEING_STOPPED UINT64_C(50000)

/* The open file with the processor time of a thread. */
struct clock {
    pid_t tid;
    int fd;            /* −1: there is none to spare, and the file is opened each time */
    uint64_t time;     /* that it told last, in ns */
    uint64_t stopping; /* of that, what being stopped took; it is not told */
    usp_addr sp, pc;   /* where the thread stood when it was stopped last */
    bool was_stopped;  /* since it told another time */
    bool is_known;     /* it has told one */
    bool is_active;    /* it told another one the last time that it was asked */
    bool is_fresh;     /* `next` is what it tells now */
    uint64_t next;
};

struct uspi_os_other {
    struct uspi_tracing *tracing;
    struct clock *clocks; /* by rising id */
    size_t clock_count, clock_room;
    int size;              /* descriptor of statm */
    uint64_t ranges_read;  /* when, by usp_clock, */
    uint64_t ranges_pages; /* and what was mapped then */
    uint64_t all_time;     /* of all threads, when the last look began */
    bool is_all_known;     /* there was one */
    bool others_stand;     /* since then no thread has run but those that are active */
    size_t most_files;     /* for clocks */
    unsigned questions;
    bool main_has_ended; /* as of the last look */
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
    uspi_tracing_free(other->tracing);
    free(other);
}

static int open_size(pid_t pid) {
    char path[USPI_PROC_PATH_MAX];
    uspi_proc_path(path, pid, 0, "statm");
    return (int)uspi_linux->open(AT_FDCWD, path, O_RDONLY);
}

/* One stop shows whether the system allows it. */
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
        /* The text is the caller's, who does not read it later. */
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

/* Of a process whose main thread has ended, the others go on; its entry stays until all have ended. */
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
    /* Of a thread that is not in the list it is asked whether it has ended. */
    other->others_stand = false;
    int e = uspi_proc_threads_rewind(list);
    while (e == 0 && (tid = uspi_proc_threads_next(list)) != 0) take_thread(&taken, tid);
    if (e == 0) e = (int)list->error;
    *count = taken.count;
    /* The folder of a process that is gone is not there any more. */
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

/* Where the thread's clock is, or would be. */
static size_t place_of(const struct uspi_os_other *other, pid_t tid) {
    size_t low = 0, high = other->clock_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (other->clocks[middle].tid < tid) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The scheduler's count of a thread: "RUN-TIME WAIT-TIME RUNS" (Documentation/scheduler/sched-stats.rst). */
static int open_clock(const struct uspi_os_other *other, pid_t tid) {
    char path[USPI_PROC_PATH_MAX];
    uspi_proc_path(path, other->tracing->pid, tid, "schedstat");
    return (int)uspi_linux->open(AT_FDCWD, path, O_RDONLY);
}

static bool is_out_of_files(long e) { return e == -EMFILE || e == -ENFILE; }

/* Returns its place, or a negative error number. The program needs files, too: half of those that it may open are left to it. */
static long add_clock(struct uspi_os_other *other, size_t place, pid_t tid) {
    int fd = other->clock_count < other->most_files ? open_clock(other, tid) : -EMFILE;
    if (fd < 0 && !is_out_of_files(fd)) return fd;
    struct clock *grown =
        uspi_array_reserve(other->clocks, &other->clock_room, other->clock_count + 1, sizeof *other->clocks);
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

/* USP_OK and the time, or why it is not known. */
static int read_clock(const struct uspi_os_other *other, const struct clock *clock, uint64_t *time) {
    char text[128], *end;
    long n;
    if (clock->fd < 0) {
        n = uspi_proc_read(other->tracing->pid, clock->tid, "schedstat", text, sizeof text);
    } else {
        n = uspi_linux->pread(clock->fd, text, sizeof text - 1, 0);
        text[n > 0 ? n : 0] = '\0';
    }
    if (n == -ESRCH || n == -ENOENT) return USP_ERROR_NO_THREAD;
    if (n <= 0) return n < 0 ? uspi_linux_status(n) : USP_ERROR_SYSTEM;
    *time = strtoull(text, &end, 10);
    /* Where the kernel does not count, it writes zeros (fs/proc/base.c, proc_pid_schedstat). */
    return strncmp(text, "0 0 0", 5) == 0 || end == text ? USP_ERROR_UNSUPPORTED : USP_OK;
}

/* One question about all threads, and one about each that ran lately: when these used all the time that was used, the others stand
 * where they stood. Running threads that are accounted for between the questions make the sums differ; then every clock is read. */
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

/* What it tells now, by as few calls as there can be. */
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

/* A thread that waits leaves its call to be stopped, and goes back: its clock has moved, the thread has not. */
static uint64_t without_stops(const struct uspi_os_other *other, struct clock *clock, uint64_t time) {
    usp_addr sp, pc;
    const uint64_t passed = time > clock->time ? time - clock->time : 0;
    if (passed > 0 && clock->was_stopped) {
        clock->was_stopped = false;
        if (passed <= BEING_STOPPED && uspi_proc_standing(other->tracing->pid, clock->tid, &sp, &pc) == 0 &&
            sp == clock->sp && pc == clock->pc) {
            clock->stopping += passed;
        }
    }
    clock->time = time;
    return time > clock->stopping ? time - clock->stopping : 0;
}

static void note_stop(struct uspi_os_other *other, const struct uspi_stopped_thread *thread) {
    const pid_t tid = (pid_t)thread->info.thread.id;
    size_t place = place_of(other, tid);
    if (thread->status != USP_OK || place == other->clock_count || other->clocks[place].tid != tid) return;
    other->clocks[place].was_stopped = true;
    other->clocks[place].sp = usp_registers_sp(&thread->copy.registers);
    other->clocks[place].pc = usp_registers_pc(&thread->copy.registers);
}

int uspi_os_other_cpu(struct uspi_os_other *other, const struct usp_thread *thread, uint64_t *ns) {
    *ns = 0;
    if (thread->id == 0 || thread->id > INT32_MAX) return USP_ERROR_NO_THREAD;
    const pid_t tid = (pid_t)thread->id;
    size_t place = place_of(other, tid);
    if (place == other->clock_count || other->clocks[place].tid != tid) {
        long added = add_clock(other, place, tid);
        /* A system that keeps no such count has no such file. */
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
    int status = uspi_trace_given(tracing, threads, count);
    if (status != USP_OK) return status;
    uspi_linux_describe_copies(tracing);
    for (size_t i = 0; i < tracing->count; i++) note_stop(other, &tracing->threads[i]);
    stopped->threads = tracing->threads;
    stopped->thread_count = tracing->count;
    stopped->pid = tracing->pid;
    stopped->arch = tracing->arch;
    stopped->pac_mask = tracing->pac_mask;
    stopped->stopped_ns = tracing->began != 0 ? tracing->ended - tracing->began : 0;
    stopped->live = (struct usp_memory){uspi_proc_memory_read, (void *)(intptr_t)tracing->memory};
    return USP_OK;
}

uint64_t uspi_os_other_spent(const struct uspi_os_other *other) { return other->tracing->spent; }

#endif
