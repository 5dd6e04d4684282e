/* SPDX-License-Identifier: MIT */
/* Epoch-based reclamation: threads read shared objects without a lock. An object is freed when the last thread that may
 * have read its pointer has left.
 *
 * To replace an object, publish its successor, so that no thread finds the old one from then on, and retire the old
 * one. It is freed once each place that counts readers has been seen empty.
 *
 * Entering and leaving are two atomic additions, on one of several cache lines. Both are async-signal-safe. */
#ifndef USPI_BASE_EPOCH_H
#define USPI_BASE_EPOCH_H

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
    /* The side, 0 or 1, on which new readers enter. It alternates, so that each side becomes empty. */
    _Atomic(uint32_t) side;
    struct {
        _Atomic(uint32_t) inside[2];
        uint8_t padding[56]; /* fills a cache line */
    } places[USPI_EPOCH_PLACES];
    struct uspi_retired *retired; /* protected by the lock of the threads that retire */
};

/* Begins reading. Objects whose pointers are loaded from now on are not freed until uspi_epoch_leave gets the returned
 * number. Calls may nest. */
uint32_t uspi_epoch_enter(struct uspi_epoch *readers);

void uspi_epoch_leave(struct uspi_epoch *readers, uint32_t number);

/* Frees an object with `destroy`, in this call or a later one of uspi_epoch_retire or uspi_epoch_collect. The callers
 * must serialize these two functions with a lock; they may be readers themselves. The object's pointer must have been
 * replaced by a sequentially consistent store before. Readers must load it with a sequentially consistent load after
 * they have entered. */
void uspi_epoch_retire(struct uspi_epoch *readers, struct uspi_retired *retired,
                       void (*destroy)(struct uspi_retired *retired));

/* Frees the retired objects that no reader can still use. */
void uspi_epoch_collect(struct uspi_epoch *readers);

/* Frees all retired objects. No reader may be inside. */
void uspi_epoch_drain(struct uspi_epoch *readers);

#endif
