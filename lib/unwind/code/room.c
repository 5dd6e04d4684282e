/* SPDX-License-Identifier: MIT */
/* See room.h. */
#include "lib/unwind/code/room.h"

void uspi_find_shared(struct uspi_explorer *x) {
    x->log.shared = x->has_jump ? uspi_entries_of(&x->jump) : 0;
    for (unsigned i = 0; i < x->pending_count; i++) {
        if (uspi_entries_of(&x->pending[i]) > x->log.shared) x->log.shared = uspi_entries_of(&x->pending[i]);
    }
}

/* Whether a pending path would end before its first instruction: another path has visited that since. */
static bool ends_at_once(const struct uspi_explorer *x, const struct uspi_way *way) {
    const bool is_at_goal = x->question.purpose != USPI_TO_RETURN && way->pc == x->question.goal;
    return !is_at_goal && way->assumed == 0 && uspi_runs_hold(&x->runs, uspi_from_origin(x, way->pc));
}

static void remove_ended(struct uspi_explorer *x) {
    unsigned kept = 0;
    for (unsigned i = 0; i < x->pending_count; i++) {
        if (!ends_at_once(x, &x->pending[i])) x->pending[kept++] = x->pending[i];
    }
    x->pending_count = kept;
}

/* Slots of neighbouring words are in different places of a table of this size. */
#define NEIGHBORS 64

/* Whether a newer entry for the same slot hides this one. entries[n] is the entry that was asked about last among those
 * whose slots belong in place n; it may be another slot's, and then nothing is hidden. */
static bool is_hidden(const struct uspi_log *log, uint8_t *entries, uint8_t i) {
    const struct uspi_log_entry *e = &log->entries[i];
    uint8_t *newer = &entries[(uint32_t)e->slot / 4 % NEIGHBORS];
    if (*newer != USPI_LOG_ROOT && log->entries[*newer].where == e->where && log->entries[*newer].slot == e->slot)
        return true;
    *newer = i;
    return false;
}

/* Whether a slot is below the stack pointer, where nothing is kept. */
static bool is_below_sp(const struct uspi_log *log, struct uspi_value sp, const struct uspi_log_entry *e) {
    return sp.kind == USPI_ADDRESS && e->where == (USPI_SLOT | sp.base) &&
           e->slot < sp.offset - (int32_t)log->backend->red_zone;
}

/* Marks the entries that a path can see: of those for one register or slot the newest, and none if the register's value
 * is unknown or the slot is below the stack pointer. */
static void mark_seen(const struct uspi_log *log, const struct uspi_way *way, bool *is_seen) {
    uint64_t hidden = way->unknown;
    uint8_t slots[NEIGHBORS];
    const struct uspi_value sp = uspi_register_value(log, way, log->backend->sp);
    memset(slots, USPI_LOG_ROOT, sizeof slots);
    for (uint8_t i = way->newest; i != USPI_LOG_ROOT; i = log->entries[i].previous) {
        const struct uspi_log_entry *e = &log->entries[i];
        const uint64_t bit = e->where < USP_REGISTERS_MAX ? UINT64_C(1) << e->where : 0;
        if (bit != 0 ? (hidden & bit) != 0 : is_below_sp(log, sp, e) || is_hidden(log, slots, i)) continue;
        hidden |= bit;
        is_seen[i] = true;
    }
}

/* Removes the entries that are not marked. moved[i] becomes the new place of entry i or, if it is removed, of the newest
 * older entry on its way to the root. An entry's `previous` is always older. */
static void remove_unseen(struct uspi_log *log, const bool *is_seen, uint8_t *moved) {
    unsigned count = 0;
    for (unsigned i = 0; i < log->count; i++) {
        struct uspi_log_entry e = log->entries[i];
        if (e.previous != USPI_LOG_ROOT) e.previous = moved[e.previous];
        moved[i] = is_seen[i] ? (uint8_t)count : e.previous;
        if (is_seen[i]) log->entries[count++] = e;
    }
    log->count = count;
}

static void move_way(struct uspi_way *way, const uint8_t *moved) {
    if (way->newest != USPI_LOG_ROOT) way->newest = moved[way->newest];
}

void uspi_make_room(struct uspi_explorer *x, struct uspi_way *current) {
    bool is_seen[USPI_LOG_MAX] = {false};
    uint8_t moved[USPI_LOG_MAX];
    remove_ended(x);
    for (unsigned i = 0; i < x->pending_count; i++) mark_seen(&x->log, &x->pending[i], is_seen);
    if (x->has_jump) mark_seen(&x->log, &x->jump, is_seen);
    mark_seen(&x->log, current, is_seen);
    remove_unseen(&x->log, is_seen, moved);
    for (unsigned i = 0; i < x->pending_count; i++) move_way(&x->pending[i], moved);
    if (x->has_jump) move_way(&x->jump, moved);
    move_way(current, moved);
    uspi_find_shared(x);
    x->room_budget = x->budget > USPI_ROOM_GAP ? x->budget - USPI_ROOM_GAP : 0;
}
