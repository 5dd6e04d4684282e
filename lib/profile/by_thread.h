/* SPDX-License-Identifier: MIT */
/* The samples of a profile thread by thread, for the formats that show times. */
#ifndef USPI_PROFILE_BY_THREAD_H
#define USPI_PROFILE_BY_THREAD_H

#include "lib/profile/profile.h"

struct uspi_timed {
    uint64_t time, wall, cpu;
    uint32_t node, thread;
};

struct uspi_by_thread {
    struct uspi_timed *samples; /* each thread's behind another one's, in the order of time */
    uint64_t *starts;           /* for each thread where its samples begin; where those of the last end */
};

/* Sorts a clone's samples. Without a time line each total is a sample, and they follow each other from 0 on. USP_OK or
 * USP_ERROR_NO_MEMORY; uspi_by_thread_free must follow in any case. */
int uspi_by_thread_sort(struct uspi_by_thread *sorted, const struct usp_profile *clone);

void uspi_by_thread_free(struct uspi_by_thread *sorted);

#endif
