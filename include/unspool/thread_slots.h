/* SPDX-License-Identifier: MIT */
/* Finding threads of this process by a pointer that each of them keeps in its thread-specific data, where nobody says at
 * which place: the place is learned on threads whose pointer is known, and read on the others.
 * Not an interface to thread-specific data: nothing here writes, and what is read is only worth comparing. */
#ifndef UNSPOOL_THREAD_SLOTS_H
#define UNSPOOL_THREAD_SLOTS_H

#include <unspool/base.h>
#include <unspool/capture.h>

USP_BEGIN_DECLS

/* A place in the data of every thread. */
struct usp_thread_slot {
    uint32_t at;     /* in bytes behind usp_thread_info.data */
    uint32_t behind; /* in bytes behind where the pointer at `at` leads; USP_NO_INDEX: it stands at `at` itself */
};

/* The places at which a value stands in a thread's data: directly, or one pointer away.
 *   thread           from usp_threads; it may be running
 *   value            not 0
 *   slots, capacity  the caller's array; may be NULL with 0
 *   count            becomes the number of places, also when that is more than capacity
 * One of them can be there by chance: keep those that hold for a second thread. Everything is read with a check. Returns
 * USP_OK, USP_ERROR_FULL when the array was too small (the first `capacity` are filled), USP_ERROR_NOT_FOUND when the value
 * stands nowhere, USP_ERROR_UNSUPPORTED when the thread's data is not known, USP_ERROR_ARGUMENT. Allocates nothing; needs
 * about 8 KB of stack. Thread-safe, signal-safe. */
USP_API int usp_thread_slots_find(const struct usp_thread_info *thread, usp_addr value, struct usp_thread_slot *slots,
                                  size_t capacity, size_t *count);

/* What stands at a place in a thread's data. Returns USP_OK, USP_ERROR_UNREADABLE (*value is 0 then), USP_ERROR_UNSUPPORTED
 * when the thread's data is not known, USP_ERROR_ARGUMENT. Thread-safe, signal-safe. */
USP_API int usp_thread_slot_read(const struct usp_thread_info *thread, const struct usp_thread_slot *slot,
                                 usp_addr *value);

USP_END_DECLS

#endif
