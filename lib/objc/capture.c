/* SPDX-License-Identifier: MIT */
/* Implements capture.h: captures stacks of any depth by growing the array of frames. */
#include "lib/objc/capture.h"

#include <stdlib.h>
#include <string.h>

/* Number of frames that suffices for most stacks, and the factor by which it grows for the others. */
#define FRAMES_AT_FIRST 256u
#define FRAMES_GROWTH   8u
/* Upper limit of the number of frames between the layer's entry and the library's. */
#define OWN_FRAMES 32u

/* A function that walks a stack into given frames. It may change the options. Returns USP_OK or a status. */
typedef int (*walk_function)(void *context, struct usp_unwind_options *options, struct usp_stack *stack);

static bool is_cut(const struct usp_stack *stack) {
    return stack->stop == USP_STOP_CAPACITY || stack->async_omitted != 0;
}

static void fit(struct usp_stack *stack) {
    if (stack->count == 0) {
        free(stack->frames);
        stack->frames = NULL;
    } else {
        struct usp_frame *smaller = realloc(stack->frames, stack->count * sizeof *smaller);
        if (smaller != NULL) stack->frames = smaller;
    }
    stack->capacity = stack->count;
}

static int walk_whole(walk_function walk, void *context, const struct uspi_objc_wanted *wanted,
                      struct usp_stack *stack) {
    struct usp_unwind_options options;
    struct usp_frame *frames = NULL;
    uint32_t capacity = wanted->max < FRAMES_AT_FIRST ? wanted->max : FRAMES_AT_FIRST;
    usp_unwind_options_init(&options);
    options.async = wanted->async;
    /* The number of frames limits the walk, not the number of steps. */
    options.step_limit = UINT32_MAX;
    for (;;) {
        struct usp_frame *grown = realloc(frames, capacity * sizeof *frames);
        int status = grown != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
        if (status == USP_OK) {
            frames = grown;
            usp_stack_init(stack, frames, capacity);
            status = walk(context, &options, stack);
        }
        if (status != USP_OK) {
            free(frames);
            usp_stack_init(stack, NULL, 0);
            return status;
        }
        if (!is_cut(stack) || capacity == wanted->max) break;
        capacity = capacity < wanted->max / FRAMES_GROWTH ? capacity * FRAMES_GROWTH : wanted->max;
    }
    fit(stack);
    return USP_OK;
}

/* ---- the calling thread ---- */

/* Captures the calling thread without the layer's frames. Both walks begin in this function: the second one leaves out
 * as many frames as the first one has counted. */
static int walk_self(void *context, struct usp_unwind_options *options, struct usp_stack *stack) {
    uintptr_t entry = *(const uintptr_t *)context;
    struct usp_frame frames[OWN_FRAMES];
    struct usp_stack own;
    usp_stack_init(&own, frames, OWN_FRAMES);
    options->skip = 0;
    int status = usp_capture_self(options, &own);
    for (uint32_t i = 0; i < own.physical && status == USP_OK; i++) {
        if (frames[i].cfa <= entry) continue;
        options->skip = i;
        break;
    }
    return status == USP_OK ? usp_capture_self(options, stack) : status;
}

int uspi_objc_capture_self(uintptr_t entry, const struct uspi_objc_wanted *wanted, struct usp_stack *stack) {
    /* usp_capture_self is async-signal-safe and never lists images. */
    (void)usp_images_refresh();
    return walk_whole(walk_self, &entry, wanted, stack);
}

/* ---- other threads ---- */

int uspi_objc_get_ready(void) { return usp_is_prepared() ? USP_OK : usp_prepare(NULL); }

static int walk_thread(void *context, struct usp_unwind_options *options, struct usp_stack *stack) {
    return usp_capture_thread(context, options, stack);
}

int uspi_objc_capture_thread(const struct usp_thread *thread, const struct uspi_objc_wanted *wanted,
                             struct usp_stack *stack) {
    struct usp_thread target = *thread;
    int status = uspi_objc_get_ready();
    if (status == USP_OK) return walk_whole(walk_thread, &target, wanted, stack);
    usp_stack_init(stack, NULL, 0);
    return status;
}

/* ---- all threads ---- */

int uspi_objc_snapshot(const struct uspi_objc_wanted *wanted, struct usp_snapshot **snapshot) {
    struct usp_snapshot_options options;
    usp_snapshot_options_init(&options);
    options.max_frames = FRAMES_AT_FIRST;
    options.unwind.async = wanted->async;
    int status = uspi_objc_get_ready();
    return status == USP_OK ? usp_snapshot_create_self(&options, snapshot) : status;
}

struct copied_thread {
    const struct usp_snapshot *snapshot;
    const struct usp_snapshot_thread *thread;
    size_t index;
};

static int walk_copy(void *context, struct usp_unwind_options *options, struct usp_stack *stack) {
    const struct copied_thread *place = context;
    struct usp_target target;
    int status = usp_snapshot_target(place->snapshot, place->index, &target);
    if (status != USP_OK) return status;
    status = usp_unwind(&target, &place->thread->registers, options, stack);
    stack->stopped_ns = place->thread->stopped_ns;
    return status;
}

int uspi_objc_capture_of(const struct usp_snapshot *snapshot, size_t i, const struct uspi_objc_wanted *wanted,
                         struct usp_stack *stack) {
    const struct usp_snapshot_thread *thread = usp_snapshot_get_thread(snapshot, i);
    struct copied_thread place = {snapshot, thread, i};
    usp_stack_init(stack, NULL, 0);
    if (thread->status != USP_OK) return thread->status;
    if (is_cut(&thread->stack)) return walk_whole(walk_copy, &place, wanted, stack);
    *stack = thread->stack;
    stack->frames = NULL;
    if (stack->count == 0) return USP_OK;
    stack->frames = malloc(stack->count * sizeof *stack->frames);
    if (stack->frames == NULL) {
        usp_stack_init(stack, NULL, 0);
        return USP_ERROR_NO_MEMORY;
    }
    memcpy(stack->frames, thread->stack.frames, stack->count * sizeof *stack->frames);
    return USP_OK;
}

int uspi_objc_threads(struct usp_thread_info **infos, size_t *count) {
    struct usp_thread_info *list = NULL;
    size_t capacity = 64;
    for (;;) {
        struct usp_thread_info *grown = realloc(list, capacity * sizeof *list);
        if (grown == NULL) {
            free(list);
            return USP_ERROR_NO_MEMORY;
        }
        list = grown;
        int status = usp_threads(list, capacity, count);
        if (status == USP_OK) break;
        uspi_objc_free_threads(list, status == USP_ERROR_FULL ? capacity : 0);
        list = NULL;
        if (status != USP_ERROR_FULL) return status;
        capacity = *count + 16;
    }
    *infos = list;
    return USP_OK;
}

void uspi_objc_free_threads(struct usp_thread_info *infos, size_t count) {
    for (size_t i = 0; i < count; i++) usp_thread_release(&infos[i].thread);
    free(infos);
}
