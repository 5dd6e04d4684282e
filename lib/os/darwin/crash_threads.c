/* SPDX-License-Identifier: MIT */
/* Holds the other threads of a process that crashes, and shows their live stacks. Nothing is copied: the threads do not
 * go on before all of them are recorded. A thread that is born between the listing and the stop is missing. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/crash.h"

#include <TargetConditionals.h>

#if !TARGET_OS_WATCH

#include <string.h>

/* Takes the listed threads except the calling one, the crashed one and our own. Returns their number. *has_more: there
 * were too many. */
static size_t take_threads(struct uspi_darwin_crash *c, struct uspi_darwin_list *list, uint64_t own, bool *has_more) {
    size_t count = 0;
    *has_more = false;
    for (size_t i = 0; i < list->count; i++) {
        struct uspi_darwin_thread_data place;
        struct usp_thread_info info;
        if (!uspi_darwin_describe(mach_task_self(), list->ports[i], own, &info, &place)) continue;
        if ((info.flags & USP_THREAD_REQUESTER) != 0 || info.thread.id == c->first_id ||
            info.thread.id == atomic_load(&c->receiver))
            continue;
        *has_more = count == c->max_threads;
        if (*has_more) break;
        c->infos[count] = info;
        memset(&c->held[count], 0, sizeof c->held[count]);
        c->held[count].place = place;
        c->held[count++].port = uspi_darwin_list_take(list, i);
    }
    return count;
}

void uspi_darwin_crash_describe_memory(const struct uspi_held *held, struct uspi_thread_copy *copy) {
    copy->registers = held->registers;
    copy->lock = held->lock;
    copy->swift_task_slot = uspi_darwin_swift_slot(held->place.slots);
    if (held->stacks[0].whole && held->stacks[1].sp == 0) {
        copy->stack_low = held->stacks[0].low;
        copy->stack_high = held->stacks[0].high;
    }
    for (unsigned i = 0; i < 2; i++) {
        const struct uspi_live *live = &held->stacks[i];
        if (live->copied == 0) continue;
        copy->parts[i] = (struct uspi_copied){(const uint8_t *)(uintptr_t)live->from, live->from, live->copied};
    }
}

static void show(const struct uspi_held *held, const struct usp_thread_info *info,
                 void (*each)(void *context, const struct uspi_stopped_thread *thread), void *context) {
    struct uspi_stopped_thread thread;
    if (held->status == USP_ERROR_NO_THREAD) return;
    memset(&thread, 0, sizeof thread);
    thread.info = *info;
    thread.info.thread.native = 0;
    thread.status = held->status;
    /* The thread went on to another queue before it was stopped. */
    if (!held->on_queue) memset(thread.info.queue, 0, sizeof thread.info.queue);
    if (held->status == USP_OK) uspi_darwin_crash_describe_memory(held, &thread.copy);
    each(context, &thread);
}

int uspi_os_crash_threads(uint64_t deadline, void (*each)(void *context, const struct uspi_stopped_thread *thread),
                          void *context) {
    struct uspi_darwin_crash *c = (struct uspi_darwin_crash *)atomic_load(&uspi_darwin_capturing.crash);
    const uint64_t own = uspi_darwin_own_thread();
    struct uspi_darwin_list list;
    struct uspi_undisturbed kept;
    bool has_more;
    /* A thread that does not know its own id might stop itself. */
    if (c == NULL || own == 0) return USP_ERROR_NOT_PREPARED;
    const int status = uspi_darwin_list(mach_task_self(), &list);
    if (status != USP_OK) return status;
    const size_t count = take_threads(c, &list, own, &has_more);
    uspi_darwin_list_free(&list);
    struct uspi_window w = {.task = mach_task_self(),
                            .is_own = true,
                            .threads = c->held,
                            .count = count,
                            .own_id = c->first_id,
                            .own_port = c->first_port,
                            .deadline = deadline};
    uspi_os_undisturbed_begin(&kept);
    uspi_darwin_window_hold(&w);
    for (size_t i = 0; i < count; i++) show(&c->held[i], &c->infos[i], each, context);
    uspi_darwin_window_release(&w);
    uspi_os_undisturbed_end(&kept);
    for (size_t i = 0; i < count; i++) uspi_darwin_release(c->held[i].port);
    return has_more ? USP_ERROR_FULL : USP_OK;
}

#endif

#endif
