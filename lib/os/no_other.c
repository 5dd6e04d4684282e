/* SPDX-License-Identifier: MIT */
/* Implements os.h's queries about another process's writable memory for systems other than Linux, and its repeated
 * queries about another process for systems other than Linux and macOS: every call answers "unsupported". */
#include "lib/os/which.h"

#if USPI_OS != USPI_OS_LINUX

#include "lib/os/os.h"
#include "lib/os/posix/below.h"
#include "lib/os/running.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#if USPI_OS == USPI_OS_DARWIN
#include <TargetConditionals.h>
#define HAS_OTHER (!TARGET_OS_WATCH) /* darwin/other.c */
#else
#define HAS_OTHER 0
#endif

int uspi_os_writable_memory(int64_t pid, uspi_range_function each, void *context) {
    (void)pid;
    (void)each;
    (void)context;
    return USP_ERROR_UNSUPPORTED;
}

int64_t uspi_os_thread_id_inside(int64_t pid, uint64_t thread) {
    (void)pid;
    return (int64_t)thread;
}

enum uspi_files_seen uspi_os_files_seen(int64_t pid) {
    (void)pid;
    return USPI_FILES_SAME;
}

bool uspi_os_root_path(int64_t pid, char *path, size_t n) {
    (void)pid;
    (void)path;
    (void)n;
    return false;
}

int uspi_os_open_below(int folder, const char *path) { return uspi_posix_open_below(folder, path); }

int uspi_os_open_in_root(const char *path) {
    (void)path;
    return USP_ERROR_UNSUPPORTED;
}

int uspi_os_mapped_memory(int64_t pid, uspi_range_function each, void *context) {
    return uspi_os_writable_memory(pid, each, context);
}

#if !HAS_OTHER

int uspi_os_other_open(int64_t pid, struct uspi_os_other **other, char *error, size_t error_size) {
    *other = NULL;
    if (error_size > 0) {
        snprintf(error, error_size, "process %" PRId64 ": another process cannot be sampled on this system", pid);
    }
    return USP_ERROR_UNSUPPORTED;
}

void uspi_os_other_close(struct uspi_os_other *other) { (void)other; }

struct usp_memory uspi_os_other_memory(struct uspi_os_other *other) {
    (void)other;
    return (struct usp_memory){NULL, NULL};
}

uint64_t uspi_os_other_mapped(struct uspi_os_other *other) {
    (void)other;
    return 0;
}

int uspi_os_other_count(struct uspi_os_other *other, size_t *count) {
    (void)other;
    *count = 0;
    return USP_ERROR_UNSUPPORTED;
}

int uspi_os_other_list(struct uspi_os_other *other, struct usp_thread *threads, size_t capacity, size_t *count) {
    (void)other;
    (void)threads;
    (void)capacity;
    *count = 0;
    return USP_ERROR_UNSUPPORTED;
}

int uspi_os_other_describe(struct uspi_os_other *other, const struct usp_thread *thread, struct usp_thread_info *info) {
    (void)other;
    (void)thread;
    memset(info, 0, sizeof *info);
    return USP_ERROR_UNSUPPORTED;
}

void uspi_os_other_begin_look(struct uspi_os_other *other) { (void)other; }

int uspi_os_other_cpu(struct uspi_os_other *other, const struct usp_thread *thread, uint64_t *ns) {
    (void)other;
    (void)thread;
    *ns = 0;
    return USP_ERROR_UNSUPPORTED;
}

int uspi_os_other_stop(struct uspi_os_other *other, const struct usp_thread *threads, size_t count,
                       struct uspi_stopped_process *stopped) {
    (void)other;
    (void)threads;
    (void)count;
    memset(stopped, 0, sizeof *stopped);
    return USP_ERROR_UNSUPPORTED;
}

enum uspi_running uspi_os_other_running(const struct uspi_os_other *other, const struct usp_thread *thread) {
    (void)other, (void)thread;
    return USPI_RUNS;
}

uint64_t uspi_os_other_spent(const struct uspi_os_other *other) {
    (void)other;
    return 0;
}

#endif

#endif
