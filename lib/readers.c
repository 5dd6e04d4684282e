/* SPDX-License-Identifier: MIT */
/* See readers.h. */
#include "lib/readers.h"

#include "lib/os.h"

/* 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming, volume 3, 6.4): spreads what differs in some
 * bits over the highest ones. */
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

static uint32_t place_of_thread(void) {
    uint64_t own = (uint64_t)uspi_os_thread_mark();
    return (uint32_t)(own * SPREAD >> 32) % USPI_READERS_PLACES;
}

uint32_t uspi_readers_enter(struct uspi_readers *readers) {
    uint32_t place = place_of_thread();
    uint32_t side = atomic_load_explicit(&readers->side, memory_order_relaxed);
    atomic_fetch_add_explicit(&readers->places[place].inside[side], 1, memory_order_seq_cst);
    return place << 1 | side;
}

void uspi_readers_leave(struct uspi_readers *readers, uint32_t number) {
    atomic_fetch_sub_explicit(&readers->places[number >> 1].inside[number & 1], 1, memory_order_release);
}

static int is_empty(struct uspi_readers *readers, uint32_t side) {
    for (uint32_t i = 0; i < USPI_READERS_PLACES; i++) {
        if (atomic_load_explicit(&readers->places[i].inside[side], memory_order_seq_cst) != 0) return 0;
    }
    return 1;
}

/* A reader that can see a retired object signed in before it was retired, at one place on one side, and stays counted
 * there. Each place that is found empty afterwards has no such reader, then and for ever. */
void uspi_readers_collect(struct uspi_readers *readers) {
    if (readers->retired == NULL) return;
    uint32_t side = atomic_load_explicit(&readers->side, memory_order_relaxed);
    uint32_t empty = (uint32_t)is_empty(readers, 0) | (uint32_t)is_empty(readers, 1) << 1;
    struct uspi_retired **link = &readers->retired;
    while (*link != NULL) {
        struct uspi_retired *retired = *link;
        retired->seen_empty |= empty;
        if (retired->seen_empty == 3) {
            *link = retired->next;
            retired->destroy(retired);
        } else {
            link = &retired->next;
        }
    }
    /* Readers go to the side that has run empty, and leave the other one to do so. */
    if ((empty >> (side ^ 1) & 1) != 0) atomic_store_explicit(&readers->side, side ^ 1, memory_order_relaxed);
}

void uspi_readers_retire(struct uspi_readers *readers, struct uspi_retired *retired,
                         void (*destroy)(struct uspi_retired *retired)) {
    retired->destroy = destroy;
    retired->seen_empty = 0;
    retired->next = readers->retired;
    readers->retired = retired;
    uspi_readers_collect(readers);
}

void uspi_readers_drain(struct uspi_readers *readers) {
    while (readers->retired != NULL) {
        struct uspi_retired *retired = readers->retired;
        readers->retired = retired->next;
        retired->destroy(retired);
    }
}
