/* SPDX-License-Identifier: MIT */
/* One object that is replaced from time to time and read without a lock, also in signal handlers. Each version of it counts
 * its own readers and is freed when it has none: a reader that never leaves (it keeps a ticket, its handler was left by
 * longjmp, its thread did not come along through a fork) keeps one version alive and no other, so that memory is bounded.
 * lib/base/epoch.h is for many objects whose readers all leave soon.
 *
 * Entering and leaving are two atomic additions on one of several cache lines. */
#ifndef USPI_VERSIONS_H
#define USPI_VERSIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The versions that there can be at one time, the current one included. So many because readers of the parent's other threads
 * stay counted in a child: in a chain of forks each process can keep one version that no thread reads. */
#define USPI_VERSIONS 64u
/* The groups of counters over which threads spread, so that few threads write to the same cache line. */
#define USPI_VERSIONS_PLACES 16u

/* All zero: no object, no readers. */
struct uspi_versions {
    _Atomic(uint32_t) current; /* which of `objects` readers get */
    void *_Atomic objects[USPI_VERSIONS];
    struct {
        _Atomic(uint32_t) readers[USPI_VERSIONS];
    } places[USPI_VERSIONS_PLACES];
};

/* *object becomes the current version, NULL when there is none; it stays until uspi_versions_leave gets the number that is
 * returned. Async-signal-safe. */
uint32_t uspi_versions_enter(struct uspi_versions *versions, void **object);

/* On any thread. Async-signal-safe. */
void uspi_versions_leave(struct uspi_versions *versions, uint32_t number);

/* Whether another version can be published: not all old ones have readers. The callers of this and of the next function keep
 * each other out by a lock. */
bool uspi_versions_have_room(struct uspi_versions *versions);

/* Makes an object (NULL: none) the current version, and frees with `destroy` all versions that have no readers any more.
 * False, and nothing is changed, when there is no room. */
bool uspi_versions_publish(struct uspi_versions *versions, void *object, void (*destroy)(void *object));

#endif
