/* SPDX-License-Identifier: MIT */
/* The samples of a profile, sorted by thread, for the formats that show times. */
#ifndef USPI_PROFILE_BY_THREAD_H
#define USPI_PROFILE_BY_THREAD_H

#include "lib/profile/profile.h"

struct uspi_timed {
    uint64_t time, wall, cpu;
    uint32_t node, thread;
};

struct uspi_by_thread {
    struct uspi_timed *samples; /* thread after thread, in the order of time */
    uint64_t *starts;           /* index of each thread's first sample; after the last thread, the number of samples */
};

/* Sorts a clone's samples. Without a time line each total counts as a sample, and a thread's totals follow each other
 * from time 0. Returns USP_OK or USP_ERROR_NO_MEMORY; the caller calls uspi_by_thread_free in both cases. */
int uspi_by_thread_sort(struct uspi_by_thread *sorted, const struct usp_profile *clone);

void uspi_by_thread_free(struct uspi_by_thread *sorted);

#endif
