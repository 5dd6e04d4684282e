/* SPDX-License-Identifier: MIT */
/* See module_lines.h and state.h: makes the blocks of a source when lookups need them, and visits all blocks. */
#include "lib/symbolize/module_lines/state.h"

#include "lib/base/array.h"

#include <stdlib.h>
#include <string.h>

static void destroy_block(struct uspi_cached *cached) { free(cached); }

/* Makes a unit's block. Returns NULL when memory is exhausted. The caller holds the lock. */
static struct uspi_made_block *make_block(struct uspi_lines *lines, size_t unit) {
    const uint8_t *bytes;
    size_t size;
    struct uspi_error why = {0};
    int status = lines->source->build(lines->source, lines->reader, unit, &bytes, &size, &why);
    if (status == USP_ERROR_NO_MEMORY) return NULL;
    if (status != USP_OK) size = 0;
    if (why.status != USP_OK && lines->problem.status == USP_OK) lines->problem = why;
    struct uspi_made_block *made = malloc(sizeof *made + size);
    if (made == NULL) return NULL;
    memset(made, 0, sizeof *made);
    made->cached = (struct uspi_cached){.destroy = destroy_block, .memory = sizeof *made + size, .is_part = true};
    if (size > 0) {
        memcpy(made->bytes, bytes, size);
        if (uspi_block_open(&made->block, made->bytes, size) != USP_OK) made->block.entries = 0;
    }
    return made;
}

static const struct uspi_made_block *get_block(struct uspi_lines *lines, size_t unit, bool is_locked) {
    struct uspi_cache_slot *slot = &lines->slots[unit];
    struct uspi_made_block *block = (struct uspi_made_block *)uspi_cache_get(lines->cache, slot);
    if (block != NULL) return block;
    if (!is_locked) uspi_lock_take(lines->lock);
    block = (struct uspi_made_block *)uspi_cache_get(lines->cache, slot);
    if (block == NULL) {
        block = make_block(lines, unit);
        if (block != NULL) uspi_cache_put(lines->cache, slot, &block->cached);
    }
    if (!is_locked) uspi_lock_give(lines->lock);
    return block;
}

int uspi_lines_block(struct uspi_lines *lines, uint64_t number, const struct uspi_block **block) {
    if (lines->index != NULL) return uspi_index_block(lines->index, number, block);
    const struct uspi_made_block *made = get_block(lines, (size_t)number, false);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    *block = &made->block;
    return USP_OK;
}

/* ---- units that claim no code ---- */

struct adding {
    struct uspi_map_range *ranges;
    size_t count, capacity;
    uint32_t unit;
};

/* A uspi_block_visitor: adds the range of a place for which the block knows a function or a file. */
static int add_range(void *context, const struct uspi_block_entry *place) {
    struct adding *adding = context;
    if (place->node == 0 && place->file == 0) return 0;
    if (adding->count > 0 && adding->ranges[adding->count - 1].block == adding->unit &&
        adding->ranges[adding->count - 1].high == place->start) {
        adding->ranges[adding->count - 1].high = place->end;
        return 0;
    }
    if (!uspi_room_for(&adding->ranges, &adding->capacity, adding->count, 1, sizeof *adding->ranges)) return 1;
    adding->ranges[adding->count++] = (struct uspi_map_range){place->start, place->end, adding->unit};
    return 0;
}

const struct uspi_map *uspi_lines_unclaimed(struct uspi_lines *lines) {
    struct uspi_found_code *found = atomic_load_explicit(&lines->found, memory_order_acquire);
    if (found != NULL) return &found->map;
    uspi_lock_take(lines->lock);
    found = atomic_load_explicit(&lines->found, memory_order_relaxed);
    if (found == NULL) {
        struct adding adding = {0};
        bool is_whole = true;
        const size_t units = lines->source->units;
        uint64_t left = uspi_line_source_limit(lines->source);
        for (size_t i = 0; i < units && is_whole && left > 0; i++) {
            if (!lines->unclaimed[i]) continue;
            const struct uspi_made_block *block = get_block(lines, i, true);
            const uint64_t size = block != NULL ? block->cached.memory - sizeof *block : 0;
            left -= size < left ? size : left;
            adding.unit = (uint32_t)i;
            is_whole = block != NULL && uspi_block_visit(&block->block, add_range, &adding) != 1;
        }
        size_t size;
        found = is_whole ? calloc(1, sizeof *found) : NULL;
        if (found != NULL && (uspi_map_write(adding.ranges, adding.count, &found->bytes, &size) != USP_OK ||
                              uspi_map_open(&found->map, found->bytes, size, NULL) != USP_OK)) {
            free(found);
            found = NULL;
        }
        free(adding.ranges);
        atomic_store_explicit(&lines->found, found, memory_order_release);
    }
    uspi_lock_give(lines->lock);
    return found != NULL ? &found->map : NULL;
}

/* ---- visiting all blocks ---- */

struct visiting {
    const struct uspi_lines *lines;
    int (*visit)(void *context, uint64_t address);
    void *context;
};

/* A uspi_block_visitor: visits the start of a place. */
static int visit_place(void *context, const struct uspi_block_entry *place) {
    const struct visiting *v = context;
    return v->visit(v->context, place->start + v->lines->moved);
}

/* A uspi_call_visitor: visits the last byte of a call. */
static int visit_call(void *context, const struct uspi_block_call *call) {
    const struct visiting *v = context;
    return v->visit(v->context, call->end - 1 + v->lines->moved);
}

int uspi_lines_visit(struct uspi_lines *lines, int (*visit)(void *context, uint64_t address), void *context) {
    struct visiting v = {lines, visit, context};
    int answer = 0;
    const uint64_t count = lines->index != NULL    ? lines->index->blocks
                           : lines->source != NULL ? lines->source->units
                                                   : 0;
    for (uint64_t i = 0; i < count && answer == 0; i++) {
        const struct uspi_block *block;
        const uint32_t ticket = uspi_epoch_enter(&lines->cache->readers);
        answer = uspi_lines_block(lines, i, &block);
        if (answer == 0) answer = uspi_block_visit(block, visit_place, &v);
        if (answer == 0) answer = uspi_block_visit_calls(block, visit_call, &v);
        uspi_epoch_leave(&lines->cache->readers, ticket);
    }
    return answer;
}
