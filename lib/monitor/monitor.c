/* SPDX-License-Identifier: MIT */
/* Implements usp_monitor_*: starts and stops the thread that watches, and takes the watched thread's reports.
 * watching.c performs the looks. */
#include "lib/monitor/watching.h"

#include "lib/base/sized.h"

#include <stdlib.h>
#include <string.h>

struct usp_monitor {
    struct uspi_watching watching;
    struct uspi_own_world own;
    char *file;
    int fds[2];                     /* of usp_monitor_open_ping; -1: none */
    int learned;                    /* status of usp_monitor_learn_wait; 1: not called yet */
    int64_t pid;                    /* id of the process that made the monitor; a child process has another one */
    struct uspi_lock *changes;      /* held while the thread is started or stopped */
    struct uspi_own_thread *thread; /* NULL: the monitor does not run. Guarded by `changes` */
    _Atomic(uint64_t) own_id;       /* id of that thread, which sets it first and clears it last; 0: it does not run */
    _Atomic(bool) is_stopping;
    bool is_freed; /* usp_monitor_free was called on the monitor's thread, which frees the monitor when it ends */
};

void usp_monitor_options_init(struct usp_monitor_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->late = 100000000;
    options->hang = 250000000;
    options->severe = 2000000000;
    options->interval = 20000000;
    options->idle = 1000000000;
    options->update = 1000000000;
    options->max_frames = 128;
    options->memory = UINT64_C(1) << 20;
}

static bool complete(const struct usp_monitor_options *given, struct usp_monitor_options *options) {
    usp_monitor_options_init(options);
    if (!USPI_COMPLETE(options, given)) return false;
    const uint64_t longest = UINT64_C(3600000000000);
    if ((options->flags & ~(uint32_t)(USP_MONITOR_WHILE_TRACED | USP_MONITOR_QUEUE)) != 0) return false;
    if (options->late < 1000000 || options->hang <= options->late || options->hang > longest) return false;
    if (options->interval < 1000000 || options->interval > options->late || options->update < options->interval)
        return false;
    return options->idle >= options->late && options->max_frames >= 4 && options->max_frames <= 1u << 16 &&
           options->memory >= 262144 && options->memory <= UINT64_C(1) << 30;
}

/* ---- the thread ---- */

static void release(struct usp_monitor *monitor) {
    uspi_os_signal_close(monitor->fds);
    uspi_watching_free(&monitor->watching);
    uspi_own_world_end(&monitor->own);
    uspi_lock_free(monitor->changes);
    free(monitor->file);
    free(monitor);
}

static uint64_t calling_thread(void) {
    struct usp_thread self;
    if (uspi_os_thread_self(&self) != USP_OK) return 0;
    uspi_os_thread_release(&self);
    return self.id;
}

/* Whether the calling thread is the monitor's: then a function of the options makes the call. */
static bool is_inside(const struct usp_monitor *monitor) {
    uint64_t id = atomic_load(&monitor->own_id);
    return id != 0 && id == calling_thread();
}

/* Frees the monitor on its own thread. Takes `changes` because usp_monitor_start holds it until it has stored `thread`:
 * this thread may end before that. */
static void release_by_its_thread(struct usp_monitor *monitor) {
    uspi_lock_take(monitor->changes);
    uspi_os_thread_leave(monitor->thread);
    uspi_lock_give(monitor->changes);
    release(monitor);
}

static void watch(void *context) {
    struct usp_monitor *monitor = context;
    struct uspi_watching *watching = &monitor->watching;
    bool woken = false;
    atomic_store(&monitor->own_id, calling_thread());
    while (!atomic_load(&monitor->is_stopping)) {
        uint64_t next = uspi_watching_look(watching, woken);
        if (atomic_load(&monitor->is_stopping)) break;
        woken = watching->world.sleep(watching->world.context, next);
    }
    uspi_watching_end(watching);
    atomic_store(&monitor->own_id, 0);
    if (monitor->is_freed) release_by_its_thread(monitor);
}

int usp_monitor_start(struct usp_monitor *monitor) {
    int status = USP_OK;
    if (monitor == NULL) return USP_ERROR_ARGUMENT;
    /* The monitor's thread must not take `changes`: a thread that stops the monitor holds it until this thread has
     * ended. */
    if (is_inside(monitor)) return atomic_load(&monitor->is_stopping) ? USP_ERROR_BUSY : USP_OK;
    uspi_lock_take(monitor->changes);
    if (monitor->thread == NULL) {
        atomic_store(&monitor->is_stopping, false);
        status = uspi_watching_begin(&monitor->watching);
        if (status == USP_OK) status = uspi_os_thread_start("unspool monitor", watch, monitor, &monitor->thread);
    }
    uspi_lock_give(monitor->changes);
    return status;
}

int usp_monitor_stop(struct usp_monitor *monitor) {
    if (monitor == NULL) return USP_ERROR_ARGUMENT;
    if (is_inside(monitor)) return USP_ERROR_BUSY;
    uspi_lock_take(monitor->changes);
    if (monitor->thread != NULL) {
        atomic_store(&monitor->is_stopping, true);
        monitor->watching.world.wake(monitor->watching.world.context);
        uspi_os_thread_join(monitor->thread);
        monitor->thread = NULL;
    }
    uspi_lock_give(monitor->changes);
    return USP_OK;
}

void usp_monitor_free(struct usp_monitor *monitor) {
    if (monitor == NULL) return;
    if (monitor->pid != uspi_os_process_id()) {
        /* A child process has no monitor thread, and does not take locks: a thread of the parent may have held them at
         * the fork. */
        release(monitor);
    } else if (is_inside(monitor)) {
        monitor->is_freed = true;
        atomic_store(&monitor->is_stopping, true);
    } else {
        (void)usp_monitor_stop(monitor);
        release(monitor);
    }
}

/* ---- making one ---- */

int usp_monitor_create(const struct usp_monitor_options *options, struct usp_monitor **monitor) {
    struct usp_monitor_options completed;
    struct uspi_world world;
    if (monitor == NULL) return USP_ERROR_ARGUMENT;
    *monitor = NULL;
    if (!complete(options, &completed)) return USP_ERROR_ARGUMENT;
    struct usp_monitor *made = calloc(1, sizeof *made);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->fds[0] = made->fds[1] = -1;
    made->learned = 1;
    made->pid = uspi_os_process_id();
    int status = uspi_own_world_begin(&made->own, &world);
    if (status != USP_OK) {
        free(made);
        return status;
    }
    made->changes = uspi_lock_create();
    made->file = completed.file != NULL ? strdup(completed.file) : NULL;
    if (made->changes == NULL || (completed.file != NULL && made->file == NULL)) status = USP_ERROR_NO_MEMORY;
    completed.file = made->file;
    if (status == USP_OK) status = uspi_watching_init(&made->watching, &completed, &world);
    if (status == USP_OK) {
        *monitor = made;
    } else {
        release(made);
    }
    return status;
}

static void ping_descriptor(void *context) { uspi_os_signal_send(((struct usp_monitor *)context)->fds); }

int usp_monitor_open_ping(struct usp_monitor *monitor) {
    if (monitor == NULL || monitor->watching.options.ping != NULL || monitor->thread != NULL) return USP_ERROR_ARGUMENT;
    if (monitor->fds[0] >= 0) return monitor->fds[0];
    int status = uspi_os_signal_open(monitor->fds);
    if (status != USP_OK) return status;
    monitor->watching.ping_function = ping_descriptor;
    monitor->watching.ping_context = monitor;
    return monitor->fds[0];
}

/* ---- reports of the watched thread ---- */

void usp_monitor_turn_begin(struct usp_monitor *monitor) {
    if (monitor == NULL) return;
    if (uspi_activity_begin(&monitor->watching.activity, uspi_os_clock())) {
        monitor->watching.world.wake(monitor->watching.world.context);
    }
}

void usp_monitor_turn_end(struct usp_monitor *monitor) {
    if (monitor != NULL) uspi_activity_end(&monitor->watching.activity, uspi_os_clock(), USPI_BETWEEN);
}

void usp_monitor_waiting(struct usp_monitor *monitor) {
    if (monitor != NULL) uspi_activity_end(&monitor->watching.activity, uspi_os_clock(), USPI_WAITING);
}

void usp_monitor_answer(struct usp_monitor *monitor) {
    if (monitor == NULL) return;
    if (monitor->fds[0] >= 0) uspi_os_signal_clear(monitor->fds);
    uspi_watching_answer(&monitor->watching);
}

/* Number of frames to capture: those of a function that the run loop calls, and of the run loop. */
#define LEARNED_FRAMES 24

/* Not inlined into the program by link-time optimization, because the capture leaves out this function's frame. */
USPI_APART int usp_monitor_learn_wait(struct usp_monitor *monitor) {
    struct usp_unwind_options options;
    struct usp_frame frames[LEARNED_FRAMES];
    struct usp_stack stack;
    uint32_t ticket;
    if (monitor == NULL) return USP_ERROR_ARGUMENT;
    if (monitor->learned <= 0) return monitor->learned;
    usp_unwind_options_init(&options);
    usp_stack_init(&stack, frames, LEARNED_FRAMES);
    options.skip = 1; /* this function */
    int status = usp_capture_self(&options, &stack);
    const struct usp_images *images = status == USP_OK ? usp_images_acquire(&ticket) : NULL;
    if (images != NULL) {
        uspi_loop_wait_learn(&monitor->watching.loop_wait, images, &stack);
        usp_images_release(ticket);
    }
    if (status == USP_OK && !monitor->watching.loop_wait.is_learned) status = USP_ERROR_NOT_FOUND;
    monitor->learned = status;
    return status;
}

void usp_monitor_get_statistics(struct usp_monitor *monitor, struct usp_monitor_statistics *statistics) {
    if (statistics == NULL) return;
    memset(statistics, 0, sizeof *statistics);
    if (monitor != NULL) uspi_watching_get_statistics(&monitor->watching, statistics);
}
