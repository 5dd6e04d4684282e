/* SPDX-License-Identifier: MIT */
/* See epoch.h. */
#include "lib/base/epoch.h"

#include "lib/base/thread_place.h"

#include <stddef.h>

uint32_t uspi_epoch_enter(struct uspi_epoch *readers) {
    uint32_t place = uspi_thread_place(USPI_EPOCH_PLACES);
    uint32_t side = atomic_load_explicit(&readers->side, memory_order_relaxed);
    atomic_fetch_add_explicit(&readers->places[place].inside[side], 1, memory_order_seq_cst);
    return place << 1 | side;
}

void uspi_epoch_leave(struct uspi_epoch *readers, uint32_t number) {
    atomic_fetch_sub_explicit(&readers->places[number >> 1].inside[number & 1], 1, memory_order_release);
}

static int is_empty(struct uspi_epoch *readers, uint32_t side) {
    for (uint32_t i = 0; i < USPI_EPOCH_PLACES; i++) {
        if (atomic_load_explicit(&readers->places[i].inside[side], memory_order_seq_cst) != 0) return 0;
    }
    return 1;
}

/* A reader that can use a retired object entered before the object was retired, and is counted at one place on one side
 * until it leaves. A place that is empty after the retirement has no such reader, and never gets one. */
void uspi_epoch_collect(struct uspi_epoch *readers) {
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
    /* New readers enter on the side that is empty, so that the other side can become empty too. */
    if ((empty >> (side ^ 1) & 1) != 0) atomic_store_explicit(&readers->side, side ^ 1, memory_order_relaxed);
}

void uspi_epoch_retire(struct uspi_epoch *readers, struct uspi_retired *retired,
                       void (*destroy)(struct uspi_retired *retired)) {
    retired->destroy = destroy;
    retired->seen_empty = 0;
    retired->next = readers->retired;
    readers->retired = retired;
    uspi_epoch_collect(readers);
}

void uspi_epoch_drain(struct uspi_epoch *readers) {
    while (readers->retired != NULL) {
        struct uspi_retired *retired = readers->retired;
        readers->retired = retired->next;
        retired->destroy(retired);
    }
}
