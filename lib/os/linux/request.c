/* SPDX-License-Identifier: MIT */
/* See request.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/request.h"

/* Sleep in ns before it checks again whether handlers still run. */
#define NAP         50000u
#define MAPPING_MAX (sizeof(size_t) > 4 ? (uint64_t)4 << 30 : (uint64_t)512 << 20)
/* Number of requests for one thread that stay mapped while they are not in use. Further requests, for more threads that
 * capture at one time, are unmapped after each use: mapping makes threads wait for each other in the kernel. */
#define KEPT 256

static size_t rounded(size_t n, size_t to) { return (n + (to - 1)) / to * to; }

static struct uspi_request *map_request(size_t slot_count, size_t arena_size) {
    if (slot_count > MAPPING_MAX / sizeof(struct uspi_slot) || arena_size > MAPPING_MAX) return NULL;
    size_t header = rounded(sizeof(struct uspi_request), 64);
    size_t slots = rounded(slot_count * sizeof(struct uspi_slot), 64);
    size_t listing = rounded(slot_count * 32 + 4096, 64);
    size_t places = 2;
    while (places < 2 * slot_count) places *= 2;
    size_t before = rounded(header + slots + listing + places * sizeof(uint32_t), USPI_LINUX_PAGE);
    size_t arena = rounded(arena_size, USPI_LINUX_PAGE);
    if ((uint64_t)before + arena > MAPPING_MAX) return NULL;
    struct uspi_request *r = uspi_linux->map(before + arena, false);
    if (r == NULL) return NULL;
    uint8_t *bytes = (uint8_t *)r;
    r->mapped = before + arena;
    r->slot_count = slot_count;
    r->inner_most = USPI_COPY_INNER;
    r->slots = (struct uspi_slot *)(void *)(bytes + header);
    r->listing = (char *)bytes + header + slots;
    r->listing_size = listing;
    r->index = (_Atomic(uint32_t) *)(void *)(r->listing + listing);
    r->index_mask = places - 1;
    r->arena = bytes + before;
    r->arena_size = arena;
    atomic_fetch_add(&uspi_capturing.mapped, r->mapped);
    return r;
}

void uspi_round_begin(struct uspi_request *r, bool holds) {
    uint32_t used = atomic_load(&r->used);
    atomic_store(&r->used, 0);
    for (uint32_t i = 0; i < used; i++) atomic_store(&r->slots[i].word, USPI_IDLE);
    for (size_t i = 0; used != 0 && i <= r->index_mask; i++) {
        atomic_store_explicit(&r->index[i], 0, memory_order_relaxed);
    }
    r->holds = holds;
    r->is_late = false;
    atomic_store(&r->answered, 0);
    atomic_store(&r->goal, 0);
}

void uspi_round_end(struct uspi_request *r) {
    atomic_fetch_add(&r->round, 1);
    if (r->holds) uspi_linux->wake(&r->round, INT32_MAX);
}

static void push_retired(struct uspi_request *r) {
    struct uspi_request *first = atomic_load(&uspi_capturing.retired);
    do r->retired = first;
    while (!atomic_compare_exchange_weak(&uspi_capturing.retired, &first, r));
}

static bool is_any_handler_running(void) {
    for (unsigned i = 0; i < USPI_HANDLER_GROUPS; i++) {
        if (atomic_load(&uspi_capturing.handlers[i]) != 0) return true;
    }
    return false;
}

/* Unmaps the retired requests when no handler can access them. */
static void sweep(void) {
    struct uspi_request *r = atomic_exchange(&uspi_capturing.retired, NULL);
    const bool may_unmap = r != NULL && !is_any_handler_running();
    while (r != NULL) {
        struct uspi_request *next = r->retired;
        if (may_unmap) {
            atomic_fetch_sub(&uspi_capturing.mapped, r->mapped);
            uspi_linux->unmap(r, r->mapped);
        } else {
            push_retired(r);
        }
        r = next;
    }
}

static void retire(struct uspi_request *r) {
    if (r != NULL) {
        uspi_round_end(r);
        push_retired(r);
    }
    sweep();
}

bool uspi_request_replace(int place, size_t slot_count, size_t arena_size) {
    struct uspi_request *r = map_request(slot_count, arena_size);
    if (r == NULL) return false;
    retire(atomic_exchange(&uspi_capturing.requests[place], r));
    return true;
}

void uspi_request_drop(int place) { retire(atomic_exchange(&uspi_capturing.requests[place], NULL)); }

/* Takes a place that is free, or whose owner abandoned it while a handler was busy with it. Returns false when it is in
 * use. */
static bool claim(uint32_t place) {
    uint8_t owner = atomic_load_explicit(&uspi_capturing.owners[place], memory_order_relaxed);
    if (owner == USPI_ABANDONED) {
        const struct uspi_request *r = uspi_request_at((int)place);
        if (r != NULL && uspi_slot_phase(&r->slots[0]) == USPI_TAKEN) return false;
    } else if (owner != 0) {
        return false;
    }
    return atomic_compare_exchange_strong(&uspi_capturing.owners[place], &owner, USPI_OWNED);
}

int uspi_request_take(size_t arena_size) {
    for (uint32_t i = USPI_SNAPSHOT_PLACE + 1u; i < USPI_REQUESTS; i++) {
        if (!claim(i)) continue;
        uint32_t places = atomic_load(&uspi_capturing.places);
        while (places <= i && !atomic_compare_exchange_weak(&uspi_capturing.places, &places, i + 1)) continue;
        const struct uspi_request *r = uspi_request_at((int)i);
        if ((r != NULL && r->arena_size >= arena_size) || uspi_request_replace((int)i, 1, arena_size)) return (int)i;
        atomic_store(&uspi_capturing.owners[i], 0);
        return USP_ERROR_NO_MEMORY;
    }
    return USP_ERROR_BUSY;
}

void uspi_request_give(int place, bool abandoned) {
    if (place > KEPT && !abandoned) uspi_request_drop(place);
    atomic_store(&uspi_capturing.owners[place], abandoned ? USPI_ABANDONED : 0);
}

void uspi_requests_free(void) {
    atomic_store(&uspi_capturing.crash_place, 0);
    for (uint32_t i = 0; i < USPI_REQUESTS; i++) {
        uspi_request_drop((int)i);
        atomic_store(&uspi_capturing.owners[i], 0);
    }
    atomic_store(&uspi_capturing.places, 0);
    /* Handlers that are about to return need a moment. If one still runs afterwards, the memory stays mapped. */
    for (unsigned i = 0; i < 200 && atomic_load(&uspi_capturing.retired) != NULL; i++) {
        uspi_linux->sleep(NAP);
        sweep();
    }
}

void uspi_requests_after_fork(void) {
    for (unsigned i = 0; i < USPI_HANDLER_GROUPS; i++) atomic_store(&uspi_capturing.handlers[i], 0);
    uspi_forget_all_unanswering();
    atomic_store(&uspi_capturing.crash_place, 0);
    for (uint32_t i = 0; i < USPI_REQUESTS; i++) {
        struct uspi_request *r = uspi_request_at((int)i);
        atomic_store(&uspi_capturing.asked[i], 0);
        atomic_store(&uspi_capturing.owners[i], 0);
        if (r != NULL) uspi_round_begin(r, false);
    }
}

#endif
