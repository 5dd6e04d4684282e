/* SPDX-License-Identifier: MIT */
/* Finds threads of this process by a pointer that a runtime keeps in each thread's own data. No interface tells the
 * place: it is learned on threads whose pointer is known, and read on the others. Nothing is written. */
#ifndef USPI_OBJC_THREAD_SLOTS_H
#define USPI_OBJC_THREAD_SLOTS_H

#include <unspool/base.h>
#include <unspool/capture.h>

/* A place in the data of every thread. */
struct uspi_thread_slot {
    uint32_t at;       /* offset from usp_thread_info.data in bytes */
    uint32_t in_table; /* offset in bytes from the pointer at `at`; USP_NO_INDEX: the value is at `at` itself */
};

/* Finds the places at which a value is in a thread's data: directly, or one pointer away.
 *   thread           from usp_threads; it may be running
 *   value            not 0
 *   slots, capacity  the caller's array; may be NULL with 0
 *   count            becomes the number of places, also when that is more than capacity
 * A place can have the value by chance: keep the places that hold for a second thread. Every read is checked.
 * Returns USP_OK, USP_ERROR_FULL if the array was too small (the first `capacity` places are written),
 * USP_ERROR_NOT_FOUND if the value is nowhere, USP_ERROR_UNSUPPORTED if the thread's data is not known,
 * USP_ERROR_ARGUMENT. Allocates nothing; needs about 8 KB of stack. Thread-safe, async-signal-safe. */
int uspi_thread_slots_find(const struct usp_thread_info *thread, usp_addr value, struct uspi_thread_slot *slots,
                           size_t capacity, size_t *count);

/* Reads the value at a place in a thread's data. Returns USP_OK, USP_ERROR_UNREADABLE (*value is 0 then),
 * USP_ERROR_UNSUPPORTED if the thread's data is not known, USP_ERROR_ARGUMENT. Thread-safe, async-signal-safe. */
int uspi_thread_slot_read(const struct usp_thread_info *thread, const struct uspi_thread_slot *slot, usp_addr *value);

#endif
