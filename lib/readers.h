/* SPDX-License-Identifier: MIT */
/* Threads that read shared objects without a lock, and objects that are freed when the last thread that may have seen
 * them has left. Whoever replaces an object takes it out of reach first, so that no thread finds it from then on, and
 * retires it; it is freed when every place where readers sign in has been seen empty since.
 *
 * Signing in and out are two atomic additions, on one of several cache lines. Both are safe in a signal handler. */
#ifndef USPI_READERS_H
#define USPI_READERS_H

#include <stdatomic.h>
#include <stdint.h>

/* Threads spread over so many cache lines by their address; more only cost memory. */
#define USPI_READERS_PLACES 16

/* Embedded in what is retired, so that retiring cannot fail. */
struct uspi_retired {
    struct uspi_retired *next;
    void (*destroy)(struct uspi_retired *retired);
    uint32_t seen_empty; /* a bit for each side */
};

/* All zero is one without readers. */
struct uspi_readers {
    _Atomic(uint32_t) side; /* 0 or 1: where readers sign in. It changes, so that the other side runs empty */
    struct {
        _Atomic(uint32_t) inside[2];
        uint8_t padding[56]; /* to the size of a cache line */
    } places[USPI_READERS_PLACES];
    struct uspi_retired *retired; /* under the lock of those who retire */
};

/* Signs in; what is loaded from now on stays until uspi_readers_leave gets the same number. Sections may nest. */
uint32_t uspi_readers_enter(struct uspi_readers *readers);

void uspi_readers_leave(struct uspi_readers *readers, uint32_t number);

/* Frees the object with `destroy`, now or at a later call of this or the next function. The callers of these two keep
 * each other out by a lock; they may be signed in themselves. The pointer to the object must have been replaced by a
 * sequentially consistent store, and readers must load it by such a load after they have signed in. */
void uspi_readers_retire(struct uspi_readers *readers, struct uspi_retired *retired,
                         void (*destroy)(struct uspi_retired *retired));

/* Frees what nobody can see any more. */
void uspi_readers_collect(struct uspi_readers *readers);

/* Frees everything that was retired. Nobody may be signed in. */
void uspi_readers_drain(struct uspi_readers *readers);

#endif
