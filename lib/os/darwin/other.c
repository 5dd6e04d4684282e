/* SPDX-License-Identifier: MIT */
/* Repeated queries about another process on macOS: rights to its task and its threads, which are kept; the threads'
 * clocks; and windows (window.h) for those that have run. no_other.c replaces it on watchOS. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/stop.h"
#include "lib/os/running.h"

#include <TargetConditionals.h>

#if !TARGET_OS_WATCH

#include "arch/host.h"
#include "lib/base/array.h"

#include <stdlib.h>
#include <string.h>

/* Timeout of a whole stop, in ns. */
#define STOP_TIMEOUT UINT64_C(100000000)

struct known {
    uint64_t id;
    thread_act_t port; /* a right that is kept */
    bool is_listed;    /* the last listing has it */
};

struct uspi_os_other {
    int64_t pid;
    task_t task; /* a right that is kept */
    /* The task whose memory uspi_os_other_memory returned last. After exec it is not `task`, and is a right of its
     * own until the next call, so that its name is not given to another task. */
    task_t memory;
    uint64_t main_thread; /* 0: not known */
    struct known *threads;
    size_t count, capacity;
    struct uspi_arena arena;
    struct uspi_held *held;
    struct uspi_stopped_thread *stopped;
    size_t held_capacity, stopped_capacity;
};

/* ---- threads ---- */

static struct known *find_known(const struct uspi_os_other *other, uint64_t id) {
    for (size_t i = 0; i < other->count; i++) {
        if (other->threads[i].id == id) return &other->threads[i];
    }
    return NULL;
}

/* Releases the rights to threads that the last listing does not have. */
static void forget_unlisted(struct uspi_os_other *other) {
    size_t kept = 0;
    for (size_t i = 0; i < other->count; i++) {
        if (other->threads[i].is_listed) {
            other->threads[kept++] = other->threads[i];
        } else {
            uspi_darwin_release(other->threads[i].port);
        }
    }
    other->count = kept;
}

static void forget_all(struct uspi_os_other *other) {
    for (size_t i = 0; i < other->count; i++) other->threads[i].is_listed = false;
    forget_unlisted(other);
    other->main_thread = 0;
}

/* Notes a listed thread, and keeps its right if it is new. Returns false when memory is exhausted. */
static bool note_listed(struct uspi_os_other *other, struct uspi_darwin_list *list, size_t i, uint64_t id) {
    struct known *known = find_known(other, id);
    if (known == NULL) {
        if (!uspi_room_for(&other->threads, &other->capacity, other->count, 1, sizeof *other->threads)) return false;
        known = &other->threads[other->count++];
        *known = (struct known){.id = id, .port = uspi_darwin_list_take(list, i)};
    }
    known->is_listed = true;
    /* The kernel lists the main thread first, unless it has ended (threads.c). */
    if (other->main_thread == 0) other->main_thread = id;
    return true;
}

/* Gets the process's task again: exec gives a process a new one. Returns false if the process has ended. */
static bool reopen(struct uspi_os_other *other) {
    task_t fresh;
    if (uspi_darwin_task_of(other->pid, &fresh) != USP_OK) return false;
    if (fresh == other->task || uspi_darwin_task_fits(fresh) != USP_OK) {
        uspi_darwin_release(fresh);
        return false;
    }
    if (other->memory != other->task) uspi_darwin_release(other->task);
    other->task = fresh;
    return true;
}

int uspi_os_other_count(struct uspi_os_other *other, size_t *count) {
    (void)other;
    *count = 0;
    return USP_ERROR_UNSUPPORTED;
}

int uspi_os_other_list(struct uspi_os_other *other, struct usp_thread *threads, size_t capacity, size_t *count) {
    struct uspi_darwin_list list;
    *count = 0;
    int status = uspi_darwin_list(other->task, &list);
    if (status == USP_ERROR_NO_THREAD) {
        forget_all(other);
        if (!reopen(other)) return USP_OK;
        status = uspi_darwin_list(other->task, &list);
    }
    if (status != USP_OK) return status;
    for (size_t i = 0; i < other->count; i++) other->threads[i].is_listed = false;
    for (size_t i = 0; i < list.count; i++) {
        uint64_t id;
        if (!uspi_darwin_identify(list.ports[i], &id) || !note_listed(other, &list, i, id)) continue;
        if (*count < capacity) threads[*count] = (struct usp_thread){id, 0};
        ++*count;
    }
    uspi_darwin_list_free(&list);
    forget_unlisted(other);
    return *count > capacity ? USP_ERROR_FULL : USP_OK;
}

static bool describe(const struct uspi_os_other *other, const struct known *known, struct usp_thread_info *info,
                     struct uspi_darwin_thread_data *place) {
    if (!uspi_darwin_describe(other->task, known->port, 0, info, place)) return false;
    if (known->id == other->main_thread) info->flags |= USP_THREAD_MAIN;
    return true;
}

int uspi_os_other_describe(struct uspi_os_other *other, const struct usp_thread *thread, struct usp_thread_info *info) {
    struct uspi_darwin_thread_data place;
    const struct known *known = find_known(other, thread->id);
    memset(info, 0, sizeof *info);
    return known != NULL && describe(other, known, info, &place) ? USP_OK : USP_ERROR_NO_THREAD;
}

void uspi_os_other_begin_look(struct uspi_os_other *other) { (void)other; }

int uspi_os_other_cpu(struct uspi_os_other *other, const struct usp_thread *thread, uint64_t *ns) {
    const struct known *known = find_known(other, thread->id);
    *ns = 0;
    return known != NULL ? uspi_darwin_thread_cpu(known->port, ns) : USP_ERROR_NO_THREAD;
}

/* ---- memory ---- */

struct usp_memory uspi_os_other_memory(struct uspi_os_other *other) {
    if (other->memory != other->task) uspi_darwin_release(other->memory);
    other->memory = other->task;
    return (struct usp_memory){uspi_darwin_read_task, (void *)(uintptr_t)other->memory};
}

uint64_t uspi_os_other_mapped(struct uspi_os_other *other) {
    (void)other;
    return 0;
}

/* ---- stops ---- */

static bool make_room(struct uspi_os_other *other, size_t count) {
    return uspi_room_for(&other->held, &other->held_capacity, 0, count, sizeof *other->held) &&
           uspi_room_for(&other->stopped, &other->stopped_capacity, 0, count, sizeof *other->stopped);
}

int uspi_os_other_stop(struct uspi_os_other *other, const struct usp_thread *threads, size_t count,
                       struct uspi_stopped_process *stopped) {
    struct uspi_undisturbed kept;
    struct usp_target target;
    struct uspi_window window;
    size_t n = 0;
    memset(stopped, 0, sizeof *stopped);
    if (!make_room(other, count)) return USP_ERROR_NO_MEMORY;
    memset(other->held, 0, count * sizeof *other->held);
    memset(other->stopped, 0, count * sizeof *other->stopped);
    for (size_t i = 0; i < count; i++) {
        const struct known *known = find_known(other, threads[i].id);
        if (known == NULL || !describe(other, known, &other->stopped[n].info, &other->held[n].place)) continue;
        other->held[n++].port = known->port;
    }
    if (n == 0) return USP_ERROR_NO_THREAD;
    const struct uspi_collection c = {.task = other->task, .timeout = STOP_TIMEOUT, .arena = &other->arena};
    uspi_os_undisturbed_begin(&kept);
    uspi_darwin_windows(&c, other->held, n, &window);
    uspi_os_undisturbed_end(&kept);
    for (size_t i = 0; i < n; i++) {
        struct uspi_stopped_thread *thread = &other->stopped[i];
        thread->status = other->held[i].status;
        if (thread->status != USP_OK) continue;
        uspi_darwin_fill_copy(&thread->copy, &other->held[i], other->arena.bytes);
        thread->copy.swift_task_slot = uspi_darwin_swift_slot(other->held[i].place.slots);
    }
    usp_target_init(&target, USPI_HOST_ARCH);
    uspi_os_describe_self(&target);
    stopped->threads = other->stopped;
    stopped->thread_count = n;
    stopped->pid = other->pid;
    stopped->arch = target.arch;
    stopped->pac_mask = target.pac_mask;
    stopped->stopped_ns = window.stopped_ns;
    stopped->live = (struct usp_memory){uspi_darwin_read_task, (void *)(uintptr_t)other->task};
    return USP_OK;
}

/* The calling thread itself stops threads. */
enum uspi_running uspi_os_other_running(const struct uspi_os_other *other, const struct usp_thread *thread) {
    (void)other, (void)thread;
    return USPI_RUNS;
}

uint64_t uspi_os_other_spent(const struct uspi_os_other *other) {
    (void)other;
    return 0;
}

/* ---- open and close ---- */

void uspi_os_other_close(struct uspi_os_other *other) {
    if (other == NULL) return;
    forget_all(other);
    if (other->memory != other->task) uspi_darwin_release(other->memory);
    uspi_darwin_release(other->task);
    uspi_arena_free(&other->arena);
    free(other->threads);
    free(other->held);
    free(other->stopped);
    free(other);
}

int uspi_os_other_open(int64_t pid, struct uspi_os_other **other, char *error, size_t error_size) {
    struct uspi_os_other *made = calloc(1, sizeof *made);
    *other = NULL;
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->pid = pid;
    int status = uspi_darwin_task_of(pid, &made->task);
    made->memory = made->task;
    if (status == USP_OK) status = uspi_darwin_task_fits(made->task);
    uspi_darwin_explain(status, pid, 0, error, error_size);
    if (status == USP_OK) {
        *other = made;
    } else {
        uspi_os_other_close(made);
    }
    return status;
}

#endif

#endif
