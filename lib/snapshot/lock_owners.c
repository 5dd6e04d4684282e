/* SPDX-License-Identifier: MIT */
/* See lock_owners.h. lib/base/lock_wait.h finds the owner's id in a lock's memory. */
#include "lib/snapshot/lock_owners.h"

#include <stdlib.h>
#include <string.h>

#define NONE SIZE_MAX

/* A thread, sorted by the id that its own process knows. */
struct identity {
    uint64_t id;
    size_t thread; /* its index in the snapshot */
};

/* A thread's wait for a lock. */
struct wait {
    size_t owner; /* index of the owner; NONE: it does not wait for a lock of a listed thread */
    size_t seen;  /* 1 + the thread from which the chain of owners was followed that came here; 0: none */
    bool is_timed;
};

static void forget(struct usp_snapshot_thread *t) {
    t->lock = 0;
    t->info.lock_owner = 0;
    t->info.lock_kind = USP_LOCK_NONE;
    t->info.deadlock = 0;
}

/* Sets the owner that the lock's memory names, as the process knows it. Returns whether there is one. */
static bool read_owner(const struct uspi_lock_owners *owners, size_t i) {
    struct uspi_stopped_thread *from = &owners->stopped[i];
    struct usp_snapshot_thread *t = &owners->threads[i];
    struct uspi_lock_wait *wait = &from->copy.lock;
    struct uspi_lock_held held;
    if (from->walked != NULL) return t->info.lock_owner != 0;
    forget(t);
    if (t->status != USP_OK) return false;
    if (owners->memory != NULL) (void)uspi_lock_wait_read(wait, owners->os, &t->registers, owners->memory);
    if (!uspi_lock_wait_owner(wait, t->registers.arch, &held)) return false;
    t->lock = held.lock;
    t->info.lock_owner = held.owner;
    t->info.lock_kind = held.kind;
    return true;
}

static bool is_timed(const struct uspi_lock_owners *owners, size_t i) {
    const struct uspi_stopped_thread *from = &owners->stopped[i];
    /* A capture may say of a thread only that it is part of a deadlock. */
    if (from->walked != NULL && owners->threads[i].info.deadlock != 0) return false;
    return from->copy.lock.is_timed;
}

static int by_id(const void *a, const void *b) {
    const struct identity *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Lists the threads by the ids that the process itself knows. */
static void list_identities(const struct uspi_lock_owners *owners, struct identity *identities) {
    /* A process in another pid namespace stores other ids in its locks. */
    const int64_t live = owners->live;
    const bool is_inside = live != 0 && uspi_os_thread_id_inside(live, (uint64_t)live) != live;
    for (size_t i = 0; i < owners->count; i++) {
        const uint64_t id = owners->threads[i].info.thread.id;
        identities[i] = (struct identity){is_inside ? (uint64_t)uspi_os_thread_id_inside(live, id) : id, i};
    }
    qsort(identities, owners->count, sizeof *identities, by_id);
}

static size_t find_thread(const struct uspi_lock_owners *owners, const struct identity *identities, uint64_t id) {
    const struct identity wanted = {.id = id};
    const struct identity *found = bsearch(&wanted, identities, owners->count, sizeof wanted, by_id);
    if (found == NULL || owners->threads[found->thread].status == USP_ERROR_NO_THREAD) return NONE;
    return found->thread;
}

static void find_owner(const struct uspi_lock_owners *owners, const struct identity *identities, size_t i,
                       struct wait *wait) {
    struct usp_snapshot_thread *t = &owners->threads[i];
    wait->owner = NONE;
    if (t->info.lock_owner == 0) return;
    wait->owner = find_thread(owners, identities, t->info.lock_owner);
    wait->is_timed = is_timed(owners, i);
    if (wait->owner == NONE) {
        forget(t);
    } else {
        t->info.lock_owner = owners->threads[wait->owner].info.thread.id;
    }
    t->info.deadlock = 0;
}

/* Marks the threads of the circle that contains thread i. Each waits for the next one. */
static void mark_circle(const struct uspi_lock_owners *owners, const struct wait *waits, size_t i) {
    uint32_t length = 0;
    bool ends = false;
    size_t k = i;
    do {
        length++;
        ends = ends || waits[k].is_timed;
        k = waits[k].owner;
    } while (k != i);
    /* A wait with a time limit ends, and with it the circle. */
    if (ends) return;
    do {
        owners->threads[k].info.deadlock = length;
        k = waits[k].owner;
    } while (k != i);
}

/* Follows the owners from each thread, until a thread that was visited before. */
static void find_deadlocks(const struct uspi_lock_owners *owners, struct wait *waits) {
    for (size_t i = 0; i < owners->count; i++) {
        size_t k = i;
        while (k != NONE && waits[k].seen == 0) {
            waits[k].seen = i + 1;
            k = waits[k].owner;
        }
        if (k != NONE && waits[k].seen == i + 1) mark_circle(owners, waits, k);
    }
}

void uspi_lock_owners_find(const struct uspi_lock_owners *owners) {
    bool any = false;
    for (size_t i = 0; i < owners->count; i++) any = read_owner(owners, i) || any;
    if (!any) return;
    struct identity *identities = malloc(owners->count * sizeof *identities);
    struct wait *waits = calloc(owners->count, sizeof *waits);
    if (identities != NULL && waits != NULL) {
        list_identities(owners, identities);
        for (size_t i = 0; i < owners->count; i++) find_owner(owners, identities, i, &waits[i]);
        find_deadlocks(owners, waits);
    } else {
        for (size_t i = 0; i < owners->count; i++) forget(&owners->threads[i]);
    }
    free(identities);
    free(waits);
}
