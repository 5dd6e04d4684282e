/* SPDX-License-Identifier: MIT */
/* See trail.h. */
#include "lib/trail.h"

#include "lib/call_sites.h"

#if USPI_HAS_TRAILS

/* One of so many walks that the trail did not serve lays it anew. */
#define PATIENCE 64u

struct uspi_trail uspi_trails[USPI_TRAILS];

/* ---- along it ---- */

/* A record or an entry, read in one piece. Volatile: what is compared is what is used. */
typedef uintptr_t words __attribute__((vector_size(2 * sizeof(uintptr_t)), aligned(sizeof(uintptr_t)), may_alias));

USPI_TEMPLATE words read_words(const void *at) { return *(const volatile words *)at; }

/* A function of its own: the loop needs all registers.
 *
 * The version that the guide saw first is seen again after entries were read: they are of that version, and what they name
 * lies on the stack. Entries that are being written are read and thrown away, which a sanitizer takes for a race. */
USPI_NO_ASAN __attribute__((no_sanitize("thread"))) void **uspi_trail_follow(struct uspi_guide *guide,
                                                                             uintptr_t *record, void **to, void **end) {
    const struct uspi_trail *trail = guide->trail;
    const struct uspi_trail_entry *entry = &trail->entries[guide->place + 1];
    const uint32_t version = guide->version;
    const size_t room = (size_t)(end - to), left = guide->count - guide->place - 1;
    void **const begin = to, **const stop = to + (room < left ? room : left) / USPI_TRAIL_STEP * USPI_TRAIL_STEP;
    uintptr_t at = *record;
    while (to != stop) {
        words entry0 = read_words(entry), entry1 = read_words(entry + 1);
        words entry2 = read_words(entry + 2), entry3 = read_words(entry + 3);
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&trail->version, memory_order_relaxed) != version) break;
        words record0 = read_words((const void *)at), record1 = read_words((const void *)entry0[0]);
        words record2 = read_words((const void *)entry1[0]), record3 = read_words((const void *)entry2[0]);
        words differ = (record0 ^ entry0) | (record1 ^ entry1) | (record2 ^ entry2) | (record3 ^ entry3);
        if ((differ[0] | differ[1]) != 0) break;
        to[0] = (void *)uspi_host_strip(entry0[1]);
        to[1] = (void *)uspi_host_strip(entry1[1]);
        to[2] = (void *)uspi_host_strip(entry2[1]);
        to[3] = (void *)uspi_host_strip(entry3[1]);
        at = entry3[0];
        to += USPI_TRAIL_STEP;
        entry += USPI_TRAIL_STEP;
    }
    *record = at;
    guide->place += (uint32_t)(to - begin) + USPI_TRAIL_STEP;
    return to;
}

/* ---- laying it ---- */

static void write_entry(struct uspi_trail_entry *entry, uintptr_t previous, uintptr_t return_address) {
    atomic_store_explicit(&entry->previous, previous, memory_order_relaxed);
    atomic_store_explicit(&entry->return_address, return_address, memory_order_relaxed);
}

static bool is_call_site(uintptr_t return_address) {
    uintptr_t address = uspi_host_strip(return_address);
    return uspi_call_site_cached(address) || uspi_call_site_judge(address, return_address) == USPI_KNOWN_CALL_SITE;
}

/* Only records that lead to another one on the stack. */
USPI_NO_ASAN static uint32_t write_entries(struct uspi_trail_entry *entries, uintptr_t start, uintptr_t high) {
    const uintptr_t last = high - 2 * USPI_HOST_SLOT;
    uint32_t n = 0;
    write_entry(&entries[n++], start, 0);
    for (uintptr_t at = start; n < USPI_TRAIL_ENTRIES; n++) {
        uintptr_t previous = *(const uintptr_t *)at, return_address = *(const uintptr_t *)(at + USPI_HOST_SLOT);
        if (previous < at + 2 * USPI_HOST_SLOT || previous > last || previous % USPI_HOST_SLOT != 0) break;
        if (!is_call_site(return_address)) break;
        write_entry(&entries[n], previous, return_address);
        at = previous;
    }
    return n;
}

static void lay(struct uspi_trail *trail, uintptr_t start, uintptr_t high) {
    uint32_t version = atomic_load_explicit(&trail->version, memory_order_relaxed);
    if ((version & 1) != 0 || !atomic_compare_exchange_strong_explicit(&trail->version, &version, version + 1,
                                                                       memory_order_acquire, memory_order_relaxed)) {
        return;
    }
    atomic_thread_fence(memory_order_release);
    if (!uspi_trail_is_of(trail, high)) atomic_store_explicit(&trail->useless, 0, memory_order_relaxed);
    atomic_store_explicit(&trail->high, high, memory_order_relaxed);
    atomic_store_explicit(&trail->count, write_entries(trail->entries, start, high), memory_order_relaxed);
    atomic_store_explicit(&trail->version, version + 2, memory_order_release);
}

/* Two threads at once may count one: these are no accounts. */
static uint32_t count(_Atomic(uint32_t) *counter) {
    uint32_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + 1, memory_order_relaxed);
    return before;
}

void uspi_trail_review(struct uspi_trail *trail, uintptr_t start, uintptr_t high, size_t taken, size_t followed) {
    size_t could = taken < USPI_TRAIL_ENTRIES ? taken : USPI_TRAIL_ENTRIES;
    if (followed >= could / 4) {
        atomic_store_explicit(&trail->useless, 0, memory_order_relaxed);
    } else if (uspi_trail_is_of(trail, high)) {
        count(&trail->useless);
    }
    if (followed + 2 * USPI_TRAIL_STEP >= could) return;
    if (count(&trail->strayed) % PATIENCE == 0) lay(trail, start, high);
}

#endif
