/* SPDX-License-Identifier: MIT */
/* A shared object that is replaced from time to time and read without a lock, also in signal handlers. Each version of
 * it counts its own readers and is freed when it has none. A reader may never leave: it keeps a ticket, its handler was
 * left by longjmp, or its thread does not exist in a forked child. Such a reader keeps only one version alive, so
 * memory is bounded. lib/base/epoch.h is for many objects whose readers all leave soon.
 *
 * Entering and leaving are two atomic additions on one of several cache lines. */
#ifndef USPI_BASE_VERSIONS_H
#define USPI_BASE_VERSIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The maximum number of versions at one time, with the current one. It is large because a child counts the readers of
 * its parent's other threads: in a chain of forks, each process can keep one version that no thread reads. */
#define USPI_VERSIONS 64u
/* The number of groups of counters. Threads are spread over them, so that few threads write to the same cache line. */
#define USPI_VERSIONS_PLACES 16u

/* All zero: no object, no readers. */
struct uspi_versions {
    _Atomic(uint32_t) current; /* index in `objects` of the version that readers get */
    void *_Atomic objects[USPI_VERSIONS];
    struct {
        _Atomic(uint32_t) readers[USPI_VERSIONS];
    } places[USPI_VERSIONS_PLACES];
};

/* Begins reading: sets *object to the current version, NULL when there is none. It stays valid until
 * uspi_versions_leave gets the returned number. Async-signal-safe. */
uint32_t uspi_versions_enter(struct uspi_versions *versions, void **object);

/* Ends reading; any thread may call it. Async-signal-safe. */
void uspi_versions_leave(struct uspi_versions *versions, uint32_t number);

/* Returns whether another version can be published: some old version has no readers. Callers must serialize this
 * function and uspi_versions_publish with a lock. */
bool uspi_versions_have_room(struct uspi_versions *versions);

/* Makes an object (NULL: none) the current version, and frees with `destroy` all other versions without readers.
 * Returns false and changes nothing when there is no room. */
bool uspi_versions_publish(struct uspi_versions *versions, void *object, void (*destroy)(void *object));

#endif
