/* SPDX-License-Identifier: MIT */
/* See index.h. */
#include "lib/symbolize/index.h"

#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)(address))
#endif

/* Behind every rank that a symbol can have: where one begins, nothing does not. */
#define BOUNDARY_RANK UINT32_MAX

int uspi_gather(struct uspi_gathering *gathering, const struct uspi_candidate *candidate) {
    if (gathering->count == gathering->capacity) {
        size_t capacity = gathering->capacity == 0 ? 256 : gathering->capacity * 2;
        if (capacity > SIZE_MAX / sizeof *gathering->candidates) return USP_ERROR_NO_MEMORY;
        struct uspi_candidate *grown = realloc(gathering->candidates, capacity * sizeof *grown);
        if (grown == NULL) return USP_ERROR_NO_MEMORY;
        gathering->candidates = grown;
        gathering->capacity = capacity;
    }
    struct uspi_candidate *added = &gathering->candidates[gathering->count++];
    *added = *candidate;
    if (added->end < added->start) added->end = added->start;
    return USP_OK;
}

int uspi_gather_boundary(struct uspi_gathering *gathering, usp_addr address) {
    struct uspi_candidate boundary = {address, address, USPI_NO_SYMBOL, BOUNDARY_RANK};
    return uspi_gather(gathering, &boundary);
}

void uspi_gathering_clear(struct uspi_gathering *gathering) {
    free(gathering->candidates);
    memset(gathering, 0, sizeof *gathering);
}

/* A candidate by its place, for sorting. */
struct place {
    uint32_t start; /* from base */
    uint32_t candidate;
};

/* The digits of a start, for a radix sort: few passes, and counts that stay in the nearest cache. */
#define DIGIT_BITS 12
#define DIGITS     ((size_t)1 << DIGIT_BITS)

/* Stable, by one digit of the start. */
static void sort_by_digit(const struct place *from, struct place *to, size_t count, unsigned shift) {
    uint32_t ends[DIGITS] = {0}, end = 0;
    for (size_t i = 0; i < count; i++) ends[from[i].start >> shift & (DIGITS - 1)]++;
    for (size_t digit = 0; digit < DIGITS; digit++) {
        uint32_t begin = end;
        end += ends[digit];
        ends[digit] = begin;
    }
    for (size_t i = 0; i < count; i++) to[ends[from[i].start >> shift & (DIGITS - 1)]++] = from[i];
}

/* Sorts by start; `places` has as much room behind them. Returns where they are then: there, or behind. */
static struct place *sort_places(struct place *places, size_t count) {
    struct place *from = places, *to = places + count;
    uint32_t used = 0; /* bits */
    for (size_t i = 0; i < count; i++) used |= places[i].start;
    for (unsigned shift = 0; shift < 32 && used >> shift != 0; shift += DIGIT_BITS) {
        sort_by_digit(from, to, count, shift);
        struct place *sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

/* The places of all candidates that lie near enough to the lowest, which is *base. Returns how many there are. */
static size_t make_places(struct place *places, const struct uspi_candidate *candidates, size_t count, usp_addr *base) {
    size_t kept = 0;
    *base = candidates[0].start;
    for (size_t i = 1; i < count; i++) {
        if (candidates[i].start < *base) *base = candidates[i].start;
    }
    for (size_t i = 0; i < count; i++) {
        usp_addr start = candidates[i].start - *base;
        if (start < UINT32_MAX) places[kept++] = (struct place){(uint32_t)start, (uint32_t)i};
    }
    return kept;
}

/* Leaves the winner of each start. Returns how many there are. */
static size_t choose_winners(struct place *places, size_t count, const struct uspi_candidate *candidates,
                             uspi_prefer prefer, const void *context) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct uspi_candidate *next = &candidates[places[i].candidate];
        if (kept == 0 || places[kept - 1].start != places[i].start) {
            places[kept++] = places[i];
            continue;
        }
        const struct uspi_candidate *winner = &candidates[places[kept - 1].candidate];
        bool is_better = next->rank < winner->rank;
        if (next->rank == winner->rank && next->rank != BOUNDARY_RANK) {
            is_better = prefer(context, next->symbol, winner->symbol) < 0;
        }
        if (is_better) places[kept - 1] = places[i];
    }
    return kept;
}

/* The entries in ascending order, before they are put into nodes. */
struct entries {
    usp_addr base;
    struct entry {
        uint32_t start, symbol;
    } *all;
    size_t count;
};

/* `start` is not below the base; what is too far from it is left out. */
static void append(struct entries *entries, usp_addr start, uint32_t symbol) {
    if (start - entries->base >= UINT32_MAX) return;
    uint32_t offset = (uint32_t)(start - entries->base);
    /* A symbol that begins where another one ends or goes on wins over it. */
    if (entries->count > 0 && entries->all[entries->count - 1].start == offset) entries->count--;
    /* Where nothing was, nothing need not begin. */
    bool goes_on = entries->count > 0 && entries->all[entries->count - 1].symbol == symbol;
    if (goes_on && symbol == USPI_NO_SYMBOL) return;
    entries->all[entries->count++] = (struct entry){offset, symbol};
}

/* Candidates stand in the order of the file, which need not be that of their starts: so many are asked for in advance. */
#define AHEAD 16

/* One pass from low to high. `open` holds the symbols that have begun and not ended, each inside the one before it or
 * reaching beyond it. Returns how many symbols there are. */
static size_t flatten(struct entries *entries, const struct uspi_candidate *candidates, const struct place *places,
                      size_t count, const struct uspi_candidate **open) {
    size_t depth = 0, named = 0;
    for (size_t i = 0; i <= count; i++) {
        const struct uspi_candidate *next = i < count ? &candidates[places[i].candidate] : NULL;
        if (i + AHEAD < count) PREFETCH(&candidates[places[i + AHEAD].candidate]);
        usp_addr now = next != NULL ? next->start : UINT64_MAX;
        while (depth > 0 && open[depth - 1]->end <= now) {
            usp_addr end = open[--depth]->end;
            while (depth > 0 && open[depth - 1]->end <= end) depth--;
            if (depth > 0) append(entries, end, open[depth - 1]->symbol);
        }
        if (next == NULL) break;
        bool sized = next->end > next->start;
        if (!sized && depth > 0) continue;
        append(entries, next->start, next->symbol);
        if (next->symbol != USPI_NO_SYMBOL) named++;
        if (sized) open[depth++] = next;
    }
    return named;
}

/* Starts are stored so that they compare as signed numbers do, which is what SSE2 can do four at a time. */
static int32_t to_stored(uint32_t start) { return (int32_t)(start ^ UINT32_C(0x80000000)); }

static uint32_t from_stored(int32_t stored) { return (uint32_t)stored ^ UINT32_C(0x80000000); }

/* How many of a node's starts are at or below what is stored so. Without a branch that depends on the data. */
static uint32_t count_not_above(const struct uspi_index_node *node, int32_t stored) {
    int32_t above = 0;
    for (unsigned i = 0; i < USPI_INDEX_NODE; i++) above += node->starts[i] > stored;
    return USPI_INDEX_NODE - (uint32_t)above;
}

/* Puts the entries from `next` on into the nodes below and in `node`, in their order. Returns the next one. The depth is
 * the logarithm of the count to the base of 33. */
static size_t fill_node(struct uspi_index *index, const struct entries *entries, size_t number, size_t next) {
    if (number >= index->count) return next;
    struct uspi_index_node *node = &index->nodes[number];
    const size_t first_child = number * (USPI_INDEX_NODE + 1) + 1;
    for (size_t i = 0; i < USPI_INDEX_NODE; i++) {
        next = fill_node(index, entries, first_child + i, next);
        bool is_used = next < entries->count;
        node->starts[i] = to_stored(is_used ? entries->all[next].start : UINT32_MAX);
        node->symbols[i] = is_used ? entries->all[next].symbol : USPI_NO_SYMBOL;
        if (is_used) next++;
    }
    return fill_node(index, entries, first_child + USPI_INDEX_NODE, next);
}

static int make_nodes(struct uspi_index *index, const struct entries *entries) {
    index->count = (entries->count + USPI_INDEX_NODE - 1) / USPI_INDEX_NODE;
    if (index->count >= SIZE_MAX / sizeof *index->nodes) return USP_ERROR_NO_MEMORY;
    index->memory = malloc((index->count + 1) * sizeof *index->nodes);
    if (index->memory == NULL) return USP_ERROR_NO_MEMORY;
    /* From the beginning of a cache line, so that a node has no part of a further one. */
    const uintptr_t line = sizeof index->nodes->starts;
    index->nodes = (struct uspi_index_node *)(((uintptr_t)index->memory + line - 1) & ~(line - 1));
    fill_node(index, entries, 0, 0);
    return USP_OK;
}

int uspi_index_build(struct uspi_index *index, const struct uspi_gathering *gathering, uspi_prefer prefer,
                     const void *context) {
    const struct uspi_candidate *candidates = gathering->candidates;
    memset(index, 0, sizeof *index);
    if (gathering->count == 0) return USP_OK;
    if (gathering->count > UINT32_MAX) return USP_ERROR_NO_MEMORY;
    struct place *room = calloc(gathering->count, 2 * sizeof *room);
    if (room == NULL) return USP_ERROR_NO_MEMORY;
    size_t count = make_places(room, candidates, gathering->count, &index->base);
    struct place *places = sort_places(room, count);
    count = choose_winners(places, count, candidates, prefer, context);
    /* Each symbol adds its beginning and at most one place where the symbol around it goes on. */
    const struct uspi_candidate **open = calloc(count, sizeof(const struct uspi_candidate *));
    struct entries entries = {index->base, calloc(count, 2 * sizeof *entries.all), 0};
    int status = USP_ERROR_NO_MEMORY;
    if (open != NULL && entries.all != NULL) {
        index->named = flatten(&entries, candidates, places, count, open);
        status = make_nodes(index, &entries);
    }
    if (status != USP_OK) uspi_index_clear(index);
    free(entries.all);
    free((void *)open);
    free(room);
    return status;
}

uint32_t uspi_index_find(const struct uspi_index *index, usp_addr address, usp_addr *start) {
    if (address < index->base || address - index->base >= UINT32_MAX) return USPI_NO_SYMBOL;
    const int32_t offset = to_stored((uint32_t)(address - index->base));
    const struct uspi_index_node *holder = NULL;
    uint32_t last = 0;
    for (size_t number = 0; number < index->count;) {
        const struct uspi_index_node *node = &index->nodes[number];
        /* All lines of the last node are cold; these are not waited for before the others have come. */
        PREFETCH(node->symbols);
        PREFETCH(node->symbols + USPI_INDEX_NODE / 2);
        uint32_t not_above = count_not_above(node, offset);
        if (not_above > 0) {
            holder = node;
            last = not_above - 1;
        }
        number = number * (USPI_INDEX_NODE + 1) + not_above + 1;
    }
    if (holder == NULL) return USPI_NO_SYMBOL;
    *start = index->base + from_stored(holder->starts[last]);
    return holder->symbols[last];
}

bool uspi_index_next(const struct uspi_index *index, usp_addr address, usp_addr *start) {
    if (address > index->base && address - index->base >= UINT32_MAX) return false;
    const int32_t offset = to_stored(address > index->base ? (uint32_t)(address - index->base) : 0);
    bool is_found = false;
    for (size_t number = 0; number < index->count;) {
        const struct uspi_index_node *node = &index->nodes[number];
        uint32_t below = 0;
        while (below < USPI_INDEX_NODE && node->starts[below] < offset) below++;
        /* What is found further down lies between this one and the one before it. */
        if (below < USPI_INDEX_NODE && node->starts[below] != INT32_MAX) {
            *start = index->base + from_stored(node->starts[below]);
            is_found = true;
        }
        number = number * (USPI_INDEX_NODE + 1) + below + 1;
    }
    return is_found;
}

size_t uspi_index_memory(const struct uspi_index *index) { return index->count * sizeof *index->nodes; }

void uspi_index_clear(struct uspi_index *index) {
    free(index->memory);
    memset(index, 0, sizeof *index);
}
