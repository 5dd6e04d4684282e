/* SPDX-License-Identifier: MIT */
/* Says of each thread of a snapshot which thread holds the lock that it waits for, and names deadlocks. */
#ifndef USPI_SNAPSHOT_LOCK_OWNERS_H
#define USPI_SNAPSHOT_LOCK_OWNERS_H

#include "lib/os/os.h"

/* The threads of a snapshot, in its order. */
struct uspi_lock_owners {
    struct usp_snapshot_thread *threads; /* receive lock, info.lock_owner, lock_kind and deadlock */
    struct uspi_stopped_thread *stopped;
    size_t count;
    int64_t live;                    /* the live process, if it is another one; 0: none */
    uint32_t os;                     /* enum usp_os */
    const struct usp_memory *memory; /* a core's, whose locks were not read yet; NULL: the locks were read */
};

/* Fills in the owners. Threads that were walked earlier have them already: they are checked against the listed threads.
 * If memory is exhausted, there are none. */
void uspi_lock_owners_find(const struct uspi_lock_owners *owners);

#endif
