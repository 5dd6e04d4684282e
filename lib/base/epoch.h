/* SPDX-License-Identifier: MIT */
/* Epoch-based reclamation: threads read shared objects without a lock, and an object is freed when the last thread
 * that may have seen it has left.
 *
 * To replace an object, publish its successor, so that no thread finds the old one from then on, and retire the old
 * one. It is freed once each place where readers are counted has been seen empty.
 *
 * Entering and leaving are two atomic additions, on one of several cache lines. Both are async-signal-safe. */
#ifndef USPI_EPOCH_H
#define USPI_EPOCH_H

#include <stdatomic.h>
#include <stdint.h>

/* The number of cache lines over which threads are spread. */
#define USPI_EPOCH_PLACES 16

/* Embedded in each object that can be retired, so that retiring needs no memory and cannot fail. */
struct uspi_retired {
    struct uspi_retired *next;
    void (*destroy)(struct uspi_retired *retired);
    uint32_t seen_empty; /* bit n: side n has been seen empty since the object was retired */
};

/* Initialise to zero: no readers. */
struct uspi_epoch {
    _Atomic(uint32_t)
        side; /* the side, 0 or 1, on which new readers enter; it alternates, so that each side becomes empty */
    struct {
        _Atomic(uint32_t) inside[2];
        uint8_t padding[56]; /* fills a cache line */
    } places[USPI_EPOCH_PLACES];
    struct uspi_retired *retired; /* protected by the lock of the threads that retire */
};

/* Enters. Objects that are loaded from now on are not freed until uspi_epoch_leave gets the number that this returns.
 * Calls may nest. */
uint32_t uspi_epoch_enter(struct uspi_epoch *readers);

void uspi_epoch_leave(struct uspi_epoch *readers, uint32_t number);

/* Frees an object with `destroy`, now or at a later call of this function or the next one. A lock of the callers'
 * must keep calls of the two apart; a caller may have entered itself. The pointer to the object must have been
 * replaced by a sequentially consistent store before, and readers must load it with such a load after they have
 * entered. */
void uspi_epoch_retire(struct uspi_epoch *readers, struct uspi_retired *retired,
                       void (*destroy)(struct uspi_retired *retired));

/* Frees the retired objects that no reader can see any more. */
void uspi_epoch_collect(struct uspi_epoch *readers);

/* Frees all retired objects. No reader may be inside. */
void uspi_epoch_drain(struct uspi_epoch *readers);

#endif
