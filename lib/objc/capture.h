/* SPDX-License-Identifier: MIT */
/* Captures stacks of any depth, in C: grows the array of frames, and leaves out the layer's own frames. It handles no
 * objects and does not map an NSThread to a thread. Thread-safe, not async-signal-safe. */
#ifndef USPI_OBJC_CAPTURE_H
#define USPI_OBJC_CAPTURE_H

#include <unspool/unspool.h>

/* Maximum number of frames, for a stack that has no end. */
#define USPI_OBJC_FRAMES_MAX (UINT32_C(1) << 20)

/* Which frames of a stack are wanted. */
struct uspi_objc_wanted {
    uint32_t max; /* maximum number of innermost frames, 1 … USPI_OBJC_FRAMES_MAX */
    bool async;
};

/* Captures the calling thread, without the frames whose CFA is not above `entry`: those of the function with that CFA
 * (__builtin_dwarf_cfa() in it) and of the functions that it called. After USP_OK stack->frames is malloc'ed and the
 * caller frees it; NULL for an empty stack. Otherwise it is NULL. Returns as usp_capture_self, or
 * USP_ERROR_NO_MEMORY. */
int uspi_objc_capture_self(uintptr_t entry, const struct uspi_objc_wanted *wanted, struct usp_stack *stack);

/* Captures another thread; frames as above. Calls usp_prepare if the program has not. Returns as usp_capture_thread, or
 * USP_ERROR_NO_MEMORY. */
int uspi_objc_capture_thread(const struct usp_thread *thread, const struct uspi_objc_wanted *wanted,
                             struct usp_stack *stack);

/* Makes a snapshot of this process. Calls usp_prepare if the program has not. Returns as usp_snapshot_create_self. */
int uspi_objc_snapshot(const struct uspi_objc_wanted *wanted, struct usp_snapshot **snapshot);

/* Captures thread i of such a snapshot, which is not the requesting one; frames as above. A stack that did not fit is
 * walked again in the snapshot's copy. Returns the thread's status, or as usp_unwind, or USP_ERROR_NO_MEMORY. */
int uspi_objc_capture_of(const struct usp_snapshot *snapshot, size_t i, const struct uspi_objc_wanted *wanted,
                         struct usp_stack *stack);

/* Calls usp_prepare with its defaults unless the program has called it: options that the program chose stay in
 * force. */
int uspi_objc_get_ready(void);

/* Lists all threads. After USP_OK *infos is malloc'ed; the caller passes it to uspi_objc_free_threads. Returns as
 * usp_threads, or USP_ERROR_NO_MEMORY. */
int uspi_objc_threads(struct usp_thread_info **infos, size_t *count);
void uspi_objc_free_threads(struct usp_thread_info *infos, size_t count);

#endif
