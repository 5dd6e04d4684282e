/* SPDX-License-Identifier: MIT */
/* The threads of this process: their ids, names and states. stop.c has their stacks. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/linux.h"
#include "lib/os/linux/proc.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

/* Maximum number of listings, which are repeated when they were cut short. */
#define LISTINGS 16u

int uspi_os_thread_self(struct usp_thread *thread) {
    thread->id = thread->native = (uint64_t)uspi_linux->own_thread();
    return USP_OK;
}

int uspi_os_thread_main(struct usp_thread *thread) {
    struct uspi_proc_stat stat;
    pid_t pid = uspi_linux->own_process();
    /* The main thread keeps its id when it ends before the others. */
    int e = uspi_proc_stat(0, pid, &stat);
    if (e < 0) return uspi_linux_status(e);
    if (stat.state == 'Z' || stat.state == 'X') return USP_ERROR_NO_THREAD;
    thread->id = thread->native = (uint64_t)pid;
    return USP_OK;
}

int uspi_os_thread_from_pthread(uintptr_t pthread, struct usp_thread *thread) {
    clockid_t clock;
    if (pthread == 0 || pthread_getcpuclockid((pthread_t)pthread, &clock) != 0) return USP_ERROR_NO_THREAD;
    /* The id of a thread's clock is the complement of the thread's id, above three bits of its kind (Linux
     * include/linux/posix-timers.h, make_thread_cpuclock). */
    int64_t tid = ~((int64_t)clock >> 3);
    struct uspi_proc_stat stat;
    pid_t pid = uspi_linux->own_process();
    if (tid <= 0 || uspi_linux->probe_thread(pid, (pid_t)tid) < 0) return USP_ERROR_NO_THREAD;
    if (tid == pid && uspi_proc_stat(0, pid, &stat) == 0 && stat.state == 'Z') return USP_ERROR_NO_THREAD;
    thread->id = thread->native = (uint64_t)tid;
    return USP_OK;
}

void uspi_os_thread_release(struct usp_thread *thread) { (void)thread; }

int uspi_linux_list_threads(struct uspi_proc_threads *list,
                            bool (*each)(void *context, const struct uspi_proc_threads *list, pid_t tid),
                            void *context) {
    int e = 0;
    for (unsigned i = 0; i < LISTINGS && e == 0; i++) {
        long n = 0;
        pid_t tid;
        e = uspi_proc_threads_rewind(list);
        while (e == 0 && (tid = uspi_proc_threads_next(list)) != 0) {
            n++;
            if (!each(context, list, tid)) e = -ECANCELED;
        }
        if (e == 0) e = (int)list->error;
        if (e < 0 || n >= uspi_proc_threads_count(list)) break;
    }
    return e;
}

int uspi_linux_each_thread(int64_t pid, char *buffer, size_t size,
                           bool (*each)(void *context, const struct uspi_proc_threads *list, pid_t tid),
                           void *context) {
    struct uspi_proc_threads list;
    int e = uspi_proc_threads_open(&list, pid, buffer, size);
    if (e < 0) return e;
    e = uspi_linux_list_threads(&list, each, context);
    uspi_proc_threads_close(&list);
    return e;
}

static bool note_living(void *context, const struct uspi_proc_threads *list, pid_t tid) {
    struct uspi_proc_stat stat;
    if (uspi_proc_threads_stat(list, tid, &stat) < 0 || stat.state == 'Z' || stat.state == 'X') return true;
    *(long *)context = tid;
    return false;
}

long uspi_linux_living_thread(int64_t pid) {
    /* The first thread is usually living, so a small buffer suffices: the kernel generates no more entries than fit. */
    char listing[256];
    long living = -ESRCH;
    int e = uspi_linux_each_thread(pid, listing, sizeof listing, note_living, &living);
    return e == 0 || e == -ECANCELED ? living : e;
}

/* ---- usp_threads ---- */

struct collection {
    pid_t *seen; /* all ids so far */
    size_t count, capacity;
};

static bool collect(void *context, const struct uspi_proc_threads *list, pid_t tid) {
    struct collection *c = context;
    (void)list;
    for (size_t i = c->count; i > 0; i--) {
        if (c->seen[i - 1] == tid) return true;
    }
    if (c->count == c->capacity) return false;
    c->seen[c->count++] = tid;
    return true;
}

static void describe_thread(struct usp_thread_info *info, pid_t tid, pid_t pid, pid_t self) {
    struct uspi_proc_stat stat;
    uintptr_t data;
    memset(info, 0, sizeof *info);
    info->thread = (struct usp_thread){(uint64_t)tid, (uint64_t)tid};
    if (tid == pid) info->flags |= USP_THREAD_MAIN;
    if (tid == self) info->flags |= USP_THREAD_REQUESTER;
    /* The address of the list of robust mutexes, which libc tells the kernel. It lies in the thread's control block
     * (glibc nptl/descr.h, robust_head). */
    if (uspi_linux->robust_list(tid, &data) == 0) info->data = data;
    if (uspi_proc_stat(0, tid, &stat) < 0) return;
    memcpy(info->name, stat.name, sizeof info->name);
    info->run_state = (uint8_t)stat.state;
    info->cpu_time = stat.cpu_ns;
}

int uspi_os_threads(struct usp_thread_info *infos, size_t capacity, size_t *count) {
    pid_t pid = uspi_linux->own_process(), self = uspi_linux->own_thread();
    *count = 0;
    /* The listing grows until all threads fit: 32 bytes a thread for the listing, 4 for its id. */
    for (size_t listed = 1024; listed <= (size_t)1 << 22; listed *= 2) {
        size_t listing = listed * 32, total = listing + listed * sizeof(pid_t);
        char *memory = uspi_linux->map(total, false);
        if (memory == NULL) return USP_ERROR_NO_MEMORY;
        struct collection c = {.seen = (pid_t *)(void *)(memory + listing), .capacity = listed};
        int e = uspi_linux_each_thread(0, memory, listing, collect, &c);
        if (e == 0) {
            for (size_t i = 0; i < c.count && i < capacity; i++) describe_thread(&infos[i], c.seen[i], pid, self);
            *count = c.count;
        }
        uspi_linux->unmap(memory, total);
        if (e != -ECANCELED) return e < 0 ? uspi_linux_status(e) : c.count > capacity ? USP_ERROR_FULL : USP_OK;
    }
    return USP_ERROR_SYSTEM;
}

#endif
