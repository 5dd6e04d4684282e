/* SPDX-License-Identifier: MIT */
/* Holds the other threads of a process that crashes, and shows their live stacks. request.h has how a thread is asked.
 * Nothing is copied: the threads do not go on before all of them are recorded. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/ask.h"
#include "lib/os/linux/proc.h"
#include "lib/os/linux/signal.h"

#include <errno.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)
/* Time in ns for putting our handler for requests back in front. */
#define RESTORE UINT64_C(20000000)
/* Maximum number of listings; each finds the threads that were started meanwhile. */
#define LISTINGS 16u

struct holding {
    struct uspi_request *r;
    pid_t self;
    uint32_t found; /* new threads in the last listing */
};

static bool ask_if_new(void *context, const struct uspi_proc_threads *list, pid_t tid) {
    struct holding *h = context;
    (void)list;
    if (tid == h->self || uspi_ask_find(h->r, tid) != NULL) return true;
    h->found++;
    return uspi_ask(h->r, tid);
}

/* Returns 0 or a negative error number; -ECANCELED: there are more threads than slots. */
static int ask_all(struct holding *h, uint64_t deadline) {
    for (unsigned i = 0; i < LISTINGS; i++) {
        h->found = 0;
        const int e = uspi_linux_each_thread(0, h->r->listing, h->r->listing_size, ask_if_new, h);
        if (e < 0 && e != -ECANCELED) return e;
        if (h->found != 0) (void)uspi_ask_wait(h->r, deadline);
        if (e < 0 || h->found == 0 || uspi_os_clock() >= deadline) return e;
        h->r->is_late = true;
    }
    return 0;
}

/* Describes the live memory of a held thread as if it was a copy. */
static void describe_memory(const struct uspi_slot *s, struct uspi_thread_copy *copy) {
    copy->registers = s->registers;
    copy->stack_low = s->stack_low;
    copy->stack_high = s->stack_high;
    for (unsigned i = 0; i < 2; i++) {
        const struct uspi_extent *extent = &s->extents[i];
        if (!extent->is_known) continue;
        copy->parts[i] = (struct uspi_copied){(const uint8_t *)extent->from, extent->from, extent->size};
    }
}

static void show(const struct uspi_slot *s, void (*each)(void *context, const struct uspi_stopped_thread *thread),
                 void *context) {
    const struct usp_memory memory = {uspi_os_read, NULL};
    struct uspi_stopped_thread thread;
    struct uspi_proc_stat stat;
    const pid_t tid = uspi_slot_thread(s);
    memset(&thread, 0, sizeof thread);
    thread.status = s->status;
    if (s->status == USP_ERROR_NO_THREAD) return;
    if (s->status == USP_OK && !uspi_slot_ready(s)) thread.status = USP_ERROR_TIMEOUT;
    thread.info.thread = (struct usp_thread){(uint64_t)tid, (uint64_t)tid};
    if (tid == uspi_linux->own_process()) thread.info.flags |= USP_THREAD_MAIN;
    if (thread.status == USP_OK) {
        memcpy(thread.info.name, s->name, sizeof s->name);
        thread.info.cpu_time = s->cpu_ns;
        describe_memory(s, &thread.copy);
        (void)uspi_lock_wait_read(&thread.copy.lock, USP_OS_LINUX, &thread.copy.registers, &memory);
    } else if (uspi_proc_stat(0, tid, &stat) == 0) {
        memcpy(thread.info.name, stat.name, sizeof thread.info.name);
        thread.info.cpu_time = stat.cpu_ns;
        thread.info.run_state = (uint8_t)stat.state;
    }
    each(context, &thread);
}

/* Lets go of threads that a snapshot holds: the thread that takes it is about to be held, too. */
static void end_snapshot(void) {
    struct uspi_request *r = uspi_request_at(USPI_SNAPSHOT_PLACE);
    if (r == NULL || atomic_load(&uspi_capturing.asked[USPI_SNAPSHOT_PLACE]) == 0) return;
    atomic_store(&uspi_capturing.asked[USPI_SNAPSHOT_PLACE], 0);
    uspi_round_end(r);
}

int uspi_os_crash_threads(uint64_t deadline, void (*each)(void *context, const struct uspi_stopped_thread *thread),
                          void *context) {
    const int place = atomic_load(&uspi_capturing.crash_place);
    struct holding h = {.r = place > 0 ? uspi_request_at(place) : NULL, .self = uspi_linux->own_thread()};
    const uint64_t now = uspi_os_clock();
    if (h.r == NULL || !atomic_load(&uspi_capturing.is_prepared)) return USP_ERROR_NOT_PREPARED;
    end_snapshot();
    if (!uspi_signal_is_ours()) (void)uspi_signal_restore(now + RESTORE);
    uspi_round_begin(h.r, true);
    h.r->hold_limit = (deadline > now ? deadline - now : 0) + 2 * SECOND;
    atomic_store(&uspi_capturing.asked[place], USPI_EVERYONE);
    const int e = ask_all(&h, deadline);
    const uint32_t used = atomic_load(&h.r->used);
    for (uint32_t i = 0; i < used; i++) show(&h.r->slots[i], each, context);
    atomic_store(&uspi_capturing.asked[place], 0);
    uspi_round_end(h.r);
    return e == -ECANCELED ? USP_ERROR_FULL : uspi_linux_status(e);
}

#endif
