/* SPDX-License-Identifier: MIT */
/* See versions.h.
 *
 * A reader counts itself as a reader of a version, then checks whether that version is still the current one. The
 * publisher makes another version the current one, then checks for readers. Both sequences are sequentially consistent.
 * So either the reader sees the new version and takes that, or the publisher sees the reader and does not free the old
 * version. */
#include "lib/base/versions.h"

#include "lib/base/thread_place.h"

#include <stddef.h>

uint32_t uspi_versions_enter(struct uspi_versions *versions, void **object) {
    uint32_t place = uspi_thread_place(USPI_VERSIONS_PLACES);
    for (;;) {
        uint32_t version = atomic_load(&versions->current);
        atomic_fetch_add(&versions->places[place].readers[version], 1);
        if (atomic_load(&versions->current) == version) {
            *object = atomic_load(&versions->objects[version]);
            return place * USPI_VERSIONS + version;
        }
        atomic_fetch_sub(&versions->places[place].readers[version], 1);
    }
}

void uspi_versions_leave(struct uspi_versions *versions, uint32_t number) {
    uint32_t place = number / USPI_VERSIONS % USPI_VERSIONS_PLACES;
    atomic_fetch_sub_explicit(&versions->places[place].readers[number % USPI_VERSIONS], 1, memory_order_release);
}

static bool has_readers(struct uspi_versions *versions, uint32_t version) {
    for (uint32_t i = 0; i < USPI_VERSIONS_PLACES; i++) {
        if (atomic_load(&versions->places[i].readers[version]) != 0) return true;
    }
    return false;
}

/* Returns a version that is not current and has no readers; USPI_VERSIONS when there is none. */
static uint32_t find_free(struct uspi_versions *versions) {
    uint32_t current = atomic_load(&versions->current), i = 0;
    while (i < USPI_VERSIONS && (i == current || has_readers(versions, i))) i++;
    return i;
}

bool uspi_versions_have_room(struct uspi_versions *versions) { return find_free(versions) < USPI_VERSIONS; }

bool uspi_versions_publish(struct uspi_versions *versions, void *object, void (*destroy)(void *object)) {
    uint32_t next = find_free(versions);
    if (next == USPI_VERSIONS) return false;
    void *old = atomic_exchange(&versions->objects[next], object);
    if (old != NULL) destroy(old);
    atomic_store(&versions->current, next);
    for (uint32_t i = 0; i < USPI_VERSIONS; i++) {
        if (i == next || has_readers(versions, i)) continue;
        old = atomic_exchange(&versions->objects[i], NULL);
        if (old != NULL) destroy(old);
    }
    return true;
}
