/* SPDX-License-Identifier: MIT */
/* Repeated queries about threads of this process on Linux: their clocks, a listing that stays open, the tracer. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/os/linux/linux.h"
#include "lib/os/linux/proc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Size of the listing's buffer, in bytes: 32 for each thread. */
#define LISTING ((size_t)1 << 18)

int uspi_os_thread_cpu(const struct usp_thread *thread, uint64_t *ns) {
    if (thread->id == 0 || thread->id > INT32_MAX) return USP_ERROR_NO_THREAD;
    int64_t time = uspi_linux->thread_cpu_time((pid_t)thread->id);
    *ns = time > 0 ? (uint64_t)time : 0;
    /* The kernel returns EINVAL for the clock of an ended thread (kernel/time/posix-cpu-timers.c). */
    return time >= 0 ? USP_OK : time == -EINVAL ? USP_ERROR_NO_THREAD : uspi_linux_status((long)time);
}

int uspi_os_thread_describe(const struct usp_thread *thread, struct usp_thread_info *info) {
    struct uspi_proc_stat stat;
    memset(info, 0, sizeof *info);
    if (thread->id == 0 || thread->id > INT32_MAX) return USP_ERROR_NO_THREAD;
    info->thread = *thread;
    int e = uspi_proc_stat(0, (int64_t)thread->id, &stat);
    if (e < 0) return uspi_linux_status(e);
    if ((int64_t)thread->id == uspi_linux->own_process()) info->flags |= USP_THREAD_MAIN;
    if ((int64_t)thread->id == uspi_linux->own_thread()) info->flags |= USP_THREAD_REQUESTER;
    memcpy(info->name, stat.name, sizeof info->name);
    info->run_state = (uint8_t)stat.state;
    info->cpu_time = stat.cpu_ns;
    return USP_OK;
}

int uspi_os_listing_open(struct uspi_os_listing *listing) {
    struct uspi_proc_threads list;
    *listing = (struct uspi_os_listing){.fd = -1, .buffer = malloc(LISTING), .size = LISTING};
    if (listing->buffer == NULL) return USP_ERROR_NO_MEMORY;
    int e = uspi_proc_threads_open(&list, 0, listing->buffer, listing->size);
    if (e < 0) {
        uspi_os_listing_close(listing);
        return uspi_linux_status(e);
    }
    listing->fd = list.fd;
    return USP_OK;
}

void uspi_os_listing_close(struct uspi_os_listing *listing) {
    if (listing->fd >= 0) uspi_linux->close(listing->fd);
    free(listing->buffer);
    *listing = (struct uspi_os_listing){.fd = -1};
}

/* The directory of threads has two links more than there are threads (fs/proc/base.c, proc_task_getattr). */
int uspi_os_listing_count(const struct uspi_os_listing *listing, size_t *count) {
    long links = uspi_linux->count_links(listing->fd);
    *count = links > 2 ? (size_t)links - 2 : 0;
    return links > 2 ? USP_OK : USP_ERROR_UNSUPPORTED;
}

/* The kernel cuts a listing short when the thread at its position ends. The caller notices that by the count. */
int uspi_os_listing_read(struct uspi_os_listing *listing, struct usp_thread *threads, size_t capacity, size_t *count) {
    struct uspi_proc_threads list = {.fd = listing->fd, .buffer = listing->buffer, .size = listing->size};
    pid_t tid;
    int e = uspi_proc_threads_rewind(&list);
    *count = 0;
    while (e == 0 && (tid = uspi_proc_threads_next(&list)) != 0) {
        if (*count < capacity) threads[*count] = (struct usp_thread){(uint64_t)tid, (uint64_t)tid};
        ++*count;
    }
    if (e == 0) e = (int)list.error;
    if (e < 0) return uspi_linux_status(e);
    return *count > capacity ? USP_ERROR_FULL : USP_OK;
}

bool uspi_os_is_traced(void) {
    struct uspi_proc_status status;
    return uspi_proc_status(0, 0, &status) == 0 && status.tracer != 0;
}

#endif
