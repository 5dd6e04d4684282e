/* SPDX-License-Identifier: MIT */
/* Implements sources on Apple systems: observers of the main run loop, and answers of the main queue. See
 * loop_source.h. */
#if defined(__APPLE__)

#include "lib/objc/loop_source.h"

#include <CoreFoundation/CoreFoundation.h>
#include <dispatch/dispatch.h>

/* Order of the observers: the first of all where a turn begins, the last of all where the loop begins to wait. The work
 * of other observers is part of the turn. */
#define FIRST ((CFIndex)(sizeof(CFIndex) == 8 ? INT64_MIN : INT32_MIN))
#define LAST  ((CFIndex)(sizeof(CFIndex) == 8 ? INT64_MAX : INT32_MAX))

/* Activities that begin a turn. A loop that always has work does not wait: each of its rounds begins with
 * kCFRunLoopBeforeTimers. Code after the loop was left is a turn too: AppKit leaves its loop for each event, and after
 * a nested loop the outer turn continues. */
#define BEGINS (kCFRunLoopEntry | kCFRunLoopBeforeTimers | kCFRunLoopAfterWaiting | kCFRunLoopExit)

static void turn_begins(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    struct uspi_loop_source *source = info;
    (void)observer;
    (void)activity;
    usp_monitor_turn_begin(source->monitor);
}

static void loop_waits(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    struct uspi_loop_source *source = info;
    (void)observer;
    (void)activity;
    (void)usp_monitor_learn_wait(source->monitor);
    usp_monitor_waiting(source->monitor);
}

static CFRunLoopObserverRef observer_of(const struct uspi_loop_source *source, unsigned i) {
    return (CFRunLoopObserverRef)source->attached[i];
}

/* Adds the observers to all modes. A mode does not add an observer that it already has. */
static void observe_all_modes(const struct uspi_loop_source *source) {
    CFRunLoopRef loop = CFRunLoopGetMain();
    CFArrayRef modes = CFRunLoopCopyAllModes(loop);
    CFIndex count = modes != NULL ? CFArrayGetCount(modes) : 0;
    for (CFIndex k = 0; k < count; k++) {
        for (unsigned i = 0; i < 2; i++) {
            CFRunLoopAddObserver(loop, observer_of(source, i), (CFRunLoopMode)CFArrayGetValueAtIndex(modes, k));
        }
    }
    if (modes != NULL) CFRelease(modes);
}

static int observe(struct uspi_loop_source *source) {
    CFRunLoopObserverContext context = {0, source, NULL, NULL, NULL};
    source->attached[0] = (void *)CFRunLoopObserverCreate(NULL, BEGINS, true, FIRST, turn_begins, &context);
    source->attached[1] =
        (void *)CFRunLoopObserverCreate(NULL, kCFRunLoopBeforeWaiting, true, LAST, loop_waits, &context);
    if (source->attached[0] == NULL || source->attached[1] == NULL) return USP_ERROR_NO_MEMORY;
    /* Modes that become common modes later get the observers too. */
    for (unsigned i = 0; i < 2; i++) {
        CFRunLoopAddObserver(CFRunLoopGetMain(), observer_of(source, i), kCFRunLoopCommonModes);
    }
    observe_all_modes(source);
    return USP_OK;
}

/* ---- the main queue ---- */

static void answer(void *context) {
    struct uspi_loop_source *source = context;
    usp_monitor_answer(source->monitor);
}

/* The main queue also frees the source, after every answer that was requested. */
static void ask_main_queue(void *context) { dispatch_async_f(dispatch_get_main_queue(), context, answer); }

/* ---- both kinds ---- */

int uspi_loop_complete(enum uspi_loop_kind kind, struct usp_monitor_options *options) {
    if (kind != USPI_LOOP_MAIN_QUEUE) return USP_OK;
    options->ping = ask_main_queue;
    options->flags |= USP_MONITOR_QUEUE;
    return USP_OK;
}

int uspi_loop_attach(struct uspi_loop_source *source) {
    return source->kind == USPI_LOOP_RUN_LOOP ? observe(source) : USP_OK;
}

void uspi_loop_detach(struct uspi_loop_source *source) {
    for (unsigned i = 0; i < 2; i++) {
        if (source->attached[i] == NULL) continue;
        CFRunLoopObserverInvalidate(observer_of(source, i));
        CFRelease(observer_of(source, i));
        source->attached[i] = NULL;
    }
}

/* Always through the queue, even on the main thread: an answer may still be in the queue. */
void uspi_on_main_thread(void (*function)(void *context), void *context) {
    dispatch_async_f(dispatch_get_main_queue(), context, function);
}

#else
typedef int uspi_not_this_system;
#endif
