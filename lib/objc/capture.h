/* SPDX-License-Identifier: MIT */
/* Stacks with as many frames as there are, in C: what grows, and what is left out at the inner end. Which thread an NSThread
 * is, and everything that is an object, stands elsewhere. Any thread, not async-signal-safe. */
#ifndef USPI_OBJC_CAPTURE_H
#define USPI_OBJC_CAPTURE_H

#include <unspool/unspool.h>

/* Where a stack ends that never ends otherwise. */
#define USPI_OBJC_FRAMES_MAX (UINT32_C(1) << 20)

/* How the frames of a stack are wanted. */
struct uspi_objc_wanted {
    uint32_t max; /* of the innermost frames, 1 … USPI_OBJC_FRAMES_MAX */
    bool async;
};

/* The calling thread, without the frames whose CFA is not above `entry`: those of the function with that CFA
 * (__builtin_dwarf_cfa() in it) and of what it called. On USP_OK stack->frames is malloc's and the caller's to free, NULL
 * for an empty stack; otherwise it is NULL. Returns as usp_capture_self, and USP_ERROR_NO_MEMORY. */
int uspi_objc_capture_self(uintptr_t entry, const struct uspi_objc_wanted *wanted, struct usp_stack *stack);

/* Another thread, as above. Calls usp_prepare where that has not been done. Returns as usp_capture_thread. */
int uspi_objc_capture_thread(const struct usp_thread *thread, const struct uspi_objc_wanted *wanted,
                             struct usp_stack *stack);

/* A snapshot of this process. Calls usp_prepare where that has not been done. Returns as usp_snapshot_create_self. */
int uspi_objc_snapshot(const struct uspi_objc_wanted *wanted, struct usp_snapshot **snapshot);

/* Thread i of such a snapshot, not the one that asked for it, as above: whatever did not fit is walked again, in the
 * snapshot's copy. Returns the thread's status, or as usp_unwind, and USP_ERROR_NO_MEMORY. */
int uspi_objc_capture_of(const struct usp_snapshot *snapshot, size_t i, const struct uspi_objc_wanted *wanted,
                         struct usp_stack *stack);

/* Calls usp_prepare with its defaults unless it was called; options that the program chose stay. */
int uspi_objc_get_ready(void);

/* Every thread: on USP_OK *infos is malloc's, to be given back with uspi_objc_free_threads. Returns as usp_threads, and
 * USP_ERROR_NO_MEMORY. */
int uspi_objc_threads(struct usp_thread_info **infos, size_t *count);
void uspi_objc_free_threads(struct usp_thread_info *infos, size_t count);

#endif
