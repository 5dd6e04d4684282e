/* SPDX-License-Identifier: MIT */
/* Implements usp_stack_create: captures a stack into memory of its own, with all its frames. */
#include "lib/capture/state.h"
#include "lib/os/os.h"
#include "lib/unwind/walker.h"

#include <unspool/capture.h>
#include <unspool/images.h>

#include <stdlib.h>

/* Number of frames that suffices for most stacks, and the factor by which it grows. */
#define FRAMES_AT_FIRST 256u
#define FRAMES_GROWTH   4u

/* One allocation, so that one call frees it. */
struct whole_stack {
    struct usp_stack stack; /* first, because the caller frees the whole by a pointer to it */
    struct usp_frame frames[];
};

static struct whole_stack *resize(struct whole_stack *whole, uint32_t capacity) {
    size_t size;
    if (__builtin_mul_overflow(capacity, sizeof *whole->frames, &size) ||
        __builtin_add_overflow(size, sizeof *whole, &size)) {
        return NULL;
    }
    whole = realloc(whole, size);
    if (whole != NULL) whole->stack.frames = whole->frames;
    return whole;
}

static bool is_cut(const struct usp_stack *stack) {
    return stack->stop == USP_STOP_CAPACITY || stack->async_omitted != 0;
}

static bool is_calling_thread(const struct usp_thread *thread) {
    struct usp_thread own;
    if (thread == NULL) return true;
    if (usp_thread_self(&own) != USP_OK) return false;
    const bool is_own = own.id == thread->id;
    usp_thread_release(&own);
    return is_own;
}

/* Not inlined, so that exactly one frame belongs to this function and can be skipped. */
__attribute__((noinline)) int usp_stack_create(const struct usp_thread *thread,
                                               const struct usp_unwind_options *options, struct usp_stack **stack) {
    struct usp_unwind_options completed;
    if (stack == NULL) return USP_ERROR_ARGUMENT;
    *stack = NULL;
    if (!uspi_complete_options(options, &completed)) return USP_ERROR_ARGUMENT;
    completed.tail = 0;
    const bool is_own = is_calling_thread(thread);
    if (is_own && completed.skip != UINT32_MAX) completed.skip++;
    int status = uspi_capture_prepare();
    if (is_own && status != USP_ERROR_NO_MEMORY) status = USP_OK;
    /* usp_capture_self may be called in signal handlers and never makes a list of images. */
    if (is_own) (void)usp_images_refresh();

    struct whole_stack *whole = NULL;
    uint32_t capacity = FRAMES_AT_FIRST;
    while (status == USP_OK) {
        struct whole_stack *larger = resize(whole, capacity);
        if (larger == NULL) {
            status = USP_ERROR_NO_MEMORY;
            break;
        }
        whole = larger;
        usp_stack_init(&whole->stack, whole->frames, capacity);
        status = is_own ? usp_capture_self(&completed, &whole->stack)
                        : usp_capture_thread(thread, &completed, &whole->stack);
        if (!is_cut(&whole->stack) || capacity > UINT32_MAX / FRAMES_GROWTH) break;
        capacity *= FRAMES_GROWTH;
    }
    if (status != USP_OK) {
        free(whole);
        return status;
    }
    struct whole_stack *smaller = resize(whole, whole->stack.count);
    if (smaller != NULL) whole = smaller;
    whole->stack.capacity = whole->stack.count;
    *stack = &whole->stack;
    return USP_OK;
}

void usp_stack_free(struct usp_stack *stack) { free(stack); }
