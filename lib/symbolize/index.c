/* SPDX-License-Identifier: MIT */
/* See index.h. */
#include "lib/symbolize/index.h"

#include <stdlib.h>
#include <string.h>

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

static int by_start_and_rank(const void *a, const void *b) {
    const struct uspi_candidate *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Leaves the winner of each start. Returns how many there are. */
static size_t choose_winners(struct uspi_candidate *candidates, size_t count, uspi_prefer prefer, const void *context) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct uspi_candidate *next = &candidates[i];
        struct uspi_candidate *winner = kept > 0 ? &candidates[kept - 1] : NULL;
        if (winner == NULL || winner->start != next->start) {
            candidates[kept++] = *next;
        } else if (winner->rank == next->rank && next->rank != BOUNDARY_RANK &&
                   prefer(context, next->symbol, winner->symbol) < 0) {
            *winner = *next;
        }
    }
    return kept;
}

static void append(struct uspi_index *index, usp_addr start, uint32_t symbol) {
    if (start - index->base > UINT32_MAX) return;
    uint32_t offset = (uint32_t)(start - index->base);
    /* A symbol that begins where another one ends or goes on wins over it. */
    if (index->count > 0 && index->starts[index->count - 1] == offset) index->count--;
    /* Where nothing was, nothing need not begin. */
    bool goes_on = index->count > 0 && index->symbols[index->count - 1] == symbol;
    if (goes_on && symbol == USPI_NO_SYMBOL) return;
    index->starts[index->count] = offset;
    index->symbols[index->count++] = symbol;
}

/* One pass from low to high. `open` holds the symbols that have begun and not ended, each inside the one before it or
 * reaching beyond it. */
static void flatten(struct uspi_index *index, const struct uspi_candidate *candidates, size_t count,
                    const struct uspi_candidate **open) {
    size_t depth = 0;
    for (size_t i = 0; i <= count; i++) {
        usp_addr now = i < count ? candidates[i].start : UINT64_MAX;
        while (depth > 0 && open[depth - 1]->end <= now) {
            usp_addr end = open[--depth]->end;
            while (depth > 0 && open[depth - 1]->end <= end) depth--;
            if (depth > 0) append(index, end, open[depth - 1]->symbol);
        }
        if (i == count) break;
        const struct uspi_candidate *next = &candidates[i];
        bool sized = next->end > next->start;
        if (!sized && depth > 0) continue;
        append(index, next->start, next->symbol);
        if (sized) open[depth++] = next;
    }
}

int uspi_index_build(struct uspi_index *index, struct uspi_gathering *gathering, uspi_prefer prefer,
                     const void *context) {
    struct uspi_candidate *candidates = gathering->candidates;
    memset(index, 0, sizeof *index);
    if (gathering->count == 0) return USP_OK;
    qsort(candidates, gathering->count, sizeof *candidates, by_start_and_rank);
    size_t count = choose_winners(candidates, gathering->count, prefer, context);
    /* Each symbol adds its beginning and at most one place where the symbol around it goes on. */
    const struct uspi_candidate **open = calloc(count, sizeof(const struct uspi_candidate *));
    index->base = candidates[0].start;
    index->starts = calloc(count, 2 * sizeof *index->starts);
    index->symbols = calloc(count, 2 * sizeof *index->symbols);
    int status = USP_ERROR_NO_MEMORY;
    if (open != NULL && index->starts != NULL && index->symbols != NULL) {
        flatten(index, candidates, count, open);
        /* Shrinking may fail; then what is there is as good. */
        uint32_t *starts = realloc(index->starts, index->count * sizeof *starts);
        if (starts != NULL) index->starts = starts;
        uint32_t *symbols = realloc(index->symbols, index->count * sizeof *symbols);
        if (symbols != NULL) index->symbols = symbols;
        status = USP_OK;
    } else {
        uspi_index_clear(index);
    }
    free((void *)open);
    return status;
}

uint32_t uspi_index_find(const struct uspi_index *index, usp_addr address) {
    if (index->count == 0 || address < index->base || address - index->base > UINT32_MAX) return USPI_NO_SYMBOL;
    uint32_t offset = (uint32_t)(address - index->base);
    /* The first start is 0, so that there is always one at or below; without a branch that depends on the data. */
    const uint32_t *first = index->starts;
    for (size_t n = index->count; n > 1;) {
        size_t half = n / 2;
        first = first[half] <= offset ? first + half : first;
        n -= half;
    }
    return index->symbols[first - index->starts];
}

void uspi_index_clear(struct uspi_index *index) {
    free(index->starts);
    free(index->symbols);
    memset(index, 0, sizeof *index);
}
