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

/* Marks the entries that a path can see: of those for one register the newest, and none if the register's value is
 * unknown. Entries for slots are few, so all are marked. */
static void mark_seen(const struct uspi_log *log, const struct uspi_way *way, bool *is_seen) {
    uint64_t hidden = way->unknown;
    for (uint8_t i = way->newest; i != USPI_LOG_ROOT; i = log->entries[i].previous) {
        const uint8_t where = log->entries[i].where;
        const bool is_register = where < USP_REGISTERS_MAX;
        if (is_register && (hidden >> where & 1) != 0) continue;
        if (is_register) hidden |= UINT64_C(1) << where;
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
