/* SPDX-License-Identifier: MIT */
/* See index.h. */
#include "lib/symbolize/index/index.h"
#include "lib/base/bisect.h"

#include "lib/base/array.h"

#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)(address))
#endif

/* Higher than every symbol's rank, so that a symbol wins over a boundary with the same start. */
#define BOUNDARY_RANK UINT32_MAX

int uspi_gather(struct uspi_gathering *gathering, const struct uspi_gathered_symbol *candidate) {
    const usp_addr end = candidate->end > candidate->start ? candidate->end : candidate->start;
    if (candidate->is_unsized && end == candidate->start) return uspi_gather_boundary(gathering, end);
    /* A symbol without a size ends at the next start, so it has no influence on addresses past that. */
    const usp_addr sure_end = candidate->is_unsized ? candidate->start : end;
    if (gathering->excerpt != NULL && !uspi_excerpt_keep(gathering->excerpt, candidate->start, sure_end)) return USP_OK;
    if (!uspi_room_for(&gathering->candidates, &gathering->capacity, gathering->count, 1, sizeof *candidate)) {
        return USP_ERROR_NO_MEMORY;
    }
    struct uspi_gathered_symbol *added = &gathering->candidates[gathering->count++];
    *added = *candidate;
    added->end = end;
    return USP_OK;
}

int uspi_gather_boundary(struct uspi_gathering *gathering, usp_addr address) {
    const struct uspi_gathered_symbol boundary = {
        .start = address, .end = address, .symbol = USPI_NO_SYMBOL, .rank = BOUNDARY_RANK};
    return uspi_gather(gathering, &boundary);
}

void uspi_gathering_clear(struct uspi_gathering *gathering) {
    free(gathering->candidates);
    memset(gathering, 0, sizeof *gathering);
}

/* A candidate and its start, for sorting. */
struct sorted_start {
    uint32_t start; /* offset from the base */
    uint32_t candidate;
};

/* The digits of a radix sort by start: wide enough for few passes, narrow enough that the counts stay in the L1
 * cache. */
#define DIGIT_BITS 13

/* One pass of a stable counting sort, by `bits` bits of the start above `shift`. `ends` has room for 2^bits counts. */
static void sort_by_digit(const struct sorted_start *from, struct sorted_start *to, size_t count, unsigned shift,
                          unsigned bits, uint32_t *ends) {
    const uint32_t mask = (UINT32_C(1) << bits) - 1;
    uint32_t end = 0;
    memset(ends, 0, ((size_t)mask + 1) * sizeof *ends);
    for (size_t i = 0; i < count; i++) ends[from[i].start >> shift & mask]++;
    for (size_t digit = 0; digit <= mask; digit++) {
        uint32_t begin = end;
        end += ends[digit];
        ends[digit] = begin;
    }
    for (size_t i = 0; i < count; i++) to[ends[from[i].start >> shift & mask]++] = from[i];
}

/* Sorts by start. `places` has room for 2 * count elements, `ends` for 2^DIGIT_BITS counts. Returns the sorted
 * elements: the first or the second half of `places`. */
static struct sorted_start *sort_places(struct sorted_start *places, size_t count, uint32_t *ends) {
    struct sorted_start *from = places, *to = places + count;
    uint32_t used = 0;
    unsigned width = 0;
    for (size_t i = 0; i < count; i++) used |= places[i].start;
    while (width < 32 && used >> width != 0) width++;
    if (width == 0) return from;
    /* As few passes as possible, then as narrow digits as possible: an excerpt has fewer places than a wide digit has
     * counts. */
    const unsigned passes = (width + DIGIT_BITS - 1) / DIGIT_BITS, bits = (width + passes - 1) / passes;
    for (unsigned pass = 0; pass < passes; pass++) {
        sort_by_digit(from, to, count, pass * bits, bits, ends);
        struct sorted_start *sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

/* Makes a place of each candidate within 4 GB of the lowest start, which becomes *base. Returns their number. */
static size_t make_places(struct sorted_start *places, const struct uspi_gathered_symbol *candidates, size_t count,
                          usp_addr *base) {
    size_t kept = 0;
    *base = candidates[0].start;
    for (size_t i = 1; i < count; i++) {
        if (candidates[i].start < *base) *base = candidates[i].start;
    }
    for (size_t i = 0; i < count; i++) {
        usp_addr start = candidates[i].start - *base;
        if (start < UINT32_MAX) places[kept++] = (struct sorted_start){(uint32_t)start, (uint32_t)i};
    }
    return kept;
}

/* Returns the name's number if it is known: it saves reading the symbol's entry in the file's table, which is rarely in
 * the cache. */
static uint32_t number_of(const struct uspi_gathered_symbol *candidate) {
    return candidate->name != 0 ? candidate->name : candidate->symbol;
}

/* The symbols from which an index is built, and how to choose between two of them. */
struct choice {
    const struct uspi_gathered_symbol *candidates;
    uspi_prefer prefer;
    const void *context;
};

/* Returns the number of the best of the candidates with one start. */
static size_t find_winner(const struct choice *choice, const struct sorted_start *group, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        const struct uspi_gathered_symbol *next = &choice->candidates[group[i].candidate];
        const struct uspi_gathered_symbol *winner = &choice->candidates[group[best].candidate];
        bool is_better = next->rank < winner->rank;
        if (next->rank == winner->rank && next->rank != BOUNDARY_RANK) {
            is_better = choice->prefer(choice->context, number_of(next), number_of(winner)) < 0;
        }
        if (is_better) best = i;
    }
    return best;
}

/* Returns whether two symbols with one start have one end, and so are one function. An excerpt has both or none. */
static bool have_one_end(const struct uspi_gathered_symbol *a, const struct uspi_gathered_symbol *b) {
    return a->symbol != USPI_NO_SYMBOL && b->symbol != USPI_NO_SYMBOL && a->end == b->end &&
           a->is_unsized == b->is_unsized;
}

/* Keeps the aliases of a winner. An origin that lists the function once has no other name for it: its symbol nearly
 * always is the winner itself, listed by another origin. Returns false when memory is exhausted. */
static bool keep_aliases(struct uspi_index *index, size_t *capacity, const struct choice *choice,
                         const struct sorted_start *group, size_t count, size_t best) {
    const struct uspi_gathered_symbol *winner = &choice->candidates[group[best].candidate];
    size_t listed[USPI_ORIGINS] = {0};
    for (size_t i = 0; i < count; i++) {
        const struct uspi_gathered_symbol *c = &choice->candidates[group[i].candidate];
        if (have_one_end(c, winner)) listed[c->origin % USPI_ORIGINS]++;
    }
    for (size_t i = 0; i < count; i++) {
        const struct uspi_gathered_symbol *c = &choice->candidates[group[i].candidate];
        if (i == best || !have_one_end(c, winner) || listed[c->origin % USPI_ORIGINS] < 2) continue;
        if (!uspi_room_for(&index->aliases, capacity, index->alias_count, 1, sizeof *index->aliases)) return false;
        index->aliases[index->alias_count++] = (struct uspi_index_alias){group[i].start, number_of(c)};
    }
    return true;
}

/* Keeps the winner of each start in `places`, and the aliases in the index. Returns the number of winners; 0: memory is
 * exhausted. */
static size_t choose_winners(struct uspi_index *index, struct sorted_start *places, size_t count,
                             const struct choice *choice) {
    size_t kept = 0, capacity = 0, size;
    for (size_t i = 0; i < count; i += size) {
        size = 1;
        while (i + size < count && places[i + size].start == places[i].start) size++;
        const size_t best = size > 1 ? find_winner(choice, places + i, size) : 0;
        if (size > 1 && !keep_aliases(index, &capacity, choice, places + i, size, best)) return 0;
        places[kept++] = places[i + best];
    }
    return kept;
}

/* The entries in ascending order, before they are put into buckets. */
struct entries {
    usp_addr base;
    struct entry {
        uint32_t start, symbol;
        uint32_t name; /* 0: a continuation, or the symbol's entry in the file's table is needed */
        uint32_t size; /* valid with a name */
    } *all;
    size_t count;
};

static bool is_sized(const struct uspi_gathered_symbol *candidate) {
    return candidate->end > candidate->start && !candidate->is_unsized;
}

/* Appends an entry. `start` is at or above the base; an entry too far from it is left out. */
static void append(struct entries *entries, usp_addr start, const struct uspi_gathered_symbol *candidate) {
    const uint32_t symbol = candidate->symbol;
    const uint64_t size = is_sized(candidate) ? candidate->end - candidate->start : 0;
    if (start - entries->base >= UINT32_MAX) return;
    uint32_t offset = (uint32_t)(start - entries->base);
    /* A symbol that begins where another one ends or continues wins. */
    if (entries->count > 0 && entries->all[entries->count - 1].start == offset) entries->count--;
    /* Two boundaries in a row are one. */
    bool goes_on = entries->count > 0 && entries->all[entries->count - 1].symbol == symbol;
    if (goes_on && symbol == USPI_NO_SYMBOL) return;
    const bool is_whole = start == candidate->start && size < UINT32_MAX;
    entries->all[entries->count++] = (struct entry){offset, symbol, is_whole ? candidate->name : 0, (uint32_t)size};
}

/* How many candidates ahead are prefetched. Candidates are in the file's order, which can differ from that of their
 * starts. */
#define AHEAD 16

/* Flattens nested symbols in one pass over ascending starts. `open` is a stack of the symbols that have begun and not
 * ended. Returns the number of symbols. */
static size_t flatten(struct entries *entries, const struct uspi_gathered_symbol *candidates,
                      const struct sorted_start *places, size_t count, const struct uspi_gathered_symbol **open) {
    static const struct uspi_gathered_symbol nothing = {.symbol = USPI_NO_SYMBOL};
    const struct uspi_gathered_symbol *unsized = NULL; /* the previous candidate, if only a limit of its end is known */
    size_t depth = 0, named = 0;
    for (size_t i = 0; i <= count; i++) {
        const struct uspi_gathered_symbol *next = i < count ? &candidates[places[i].candidate] : NULL;
        if (i + AHEAD < count) PREFETCH(&candidates[places[i + AHEAD].candidate]);
        usp_addr now = next != NULL ? next->start : UINT64_MAX;
        if (unsized != NULL && unsized->end <= now) append(entries, unsized->end, &nothing);
        unsized = NULL;
        while (depth > 0 && open[depth - 1]->end <= now) {
            usp_addr end = open[--depth]->end;
            while (depth > 0 && open[depth - 1]->end <= end) depth--;
            if (depth > 0) append(entries, end, open[depth - 1]);
        }
        if (next == NULL) break;
        /* Data lies in data only: the innermost open symbol is a function if any of them is. */
        const bool sized = is_sized(next), is_in_function = depth > 0 && open[depth - 1]->rank < USPI_DATA_RANK;
        if (is_in_function && (!sized || next->rank >= USPI_DATA_RANK)) continue;
        append(entries, next->start, next);
        if (next->symbol != USPI_NO_SYMBOL) named++;
        if (sized) open[depth++] = next;
        if (next->is_unsized) unsized = next;
    }
    return named;
}

/* The average number of entries in a bucket, at most; more when the low bits of a start would not fit into 16 bits. */
#define BUCKET_ENTRIES 16u
#define SHIFT_MAX      16u

/* The number of starts compared at a time. The array is padded by as many. */
#define STEP 16u

/* Values of a gap that are not distances. */
#define SIZE_UNKNOWN  0xfe /* the symbol has no size */
#define ASK_THE_TABLE 0xff /* the entry's number is the symbol's, and the file's table has its size */

/* Returns the distance from a symbol's end to the next entry's start, or one of the values above. */
static uint8_t gap_of(const struct entry *e, const struct entry *next) {
    if (e->name == 0) return ASK_THE_TABLE;
    if (e->size == 0) return SIZE_UNKNOWN;
    if (next == NULL || next->start - e->start < e->size) return ASK_THE_TABLE;
    const uint32_t gap = next->start - e->start - e->size;
    return gap < SIZE_UNKNOWN ? (uint8_t)gap : ASK_THE_TABLE;
}

static void fill(struct uspi_index *index, const struct entries *entries) {
    const uint32_t mask = (UINT32_C(1) << index->shift) - 1;
    uint32_t bucket = 0;
    for (uint32_t i = 0; i < index->count; i++) {
        const struct entry *e = &entries->all[i];
        while (bucket <= e->start >> index->shift) index->buckets[bucket++] = i;
        index->starts[i] = (uint16_t)(e->start & mask);
        index->gaps[i] = gap_of(e, i + 1 < index->count ? e + 1 : NULL);
        index->numbers[i] = index->gaps[i] == ASK_THE_TABLE ? e->symbol : e->name;
    }
    index->buckets[bucket] = index->count;
    memset(index->starts + index->count, 0, STEP * sizeof *index->starts);
}

static int lay_out(struct uspi_index *index, const struct entries *entries) {
    if (entries->count > UINT32_MAX - STEP) return USP_ERROR_NO_MEMORY;
    index->count = (uint32_t)entries->count;
    const uint32_t last = entries->all[index->count - 1].start;
    while (index->shift < SHIFT_MAX && last >> index->shift >= index->count / BUCKET_ENTRIES) index->shift++;
    index->bucket_count = (last >> index->shift) + 1;
    const uint64_t words = (uint64_t)index->bucket_count + 1 + index->count;
    const uint64_t size = words * sizeof(uint32_t) + ((uint64_t)index->count + STEP) * sizeof(uint16_t) + index->count;
    if (size > SIZE_MAX) return USP_ERROR_NO_MEMORY;
    index->size = (size_t)size;
    index->buckets = malloc(index->size);
    if (index->buckets == NULL) return USP_ERROR_NO_MEMORY;
    index->numbers = index->buckets + index->bucket_count + 1;
    index->starts = (uint16_t *)(index->numbers + index->count);
    index->gaps = (uint8_t *)(index->starts + index->count + STEP);
    fill(index, entries);
    index->size += index->alias_count * sizeof *index->aliases;
    return USP_OK;
}

int uspi_index_build(struct uspi_index *index, const struct uspi_gathering *gathering, uspi_prefer prefer,
                     const void *context) {
    const struct uspi_gathered_symbol *candidates = gathering->candidates;
    memset(index, 0, sizeof *index);
    if (gathering->count == 0) return USP_OK;
    if (gathering->count > UINT32_MAX) return USP_ERROR_NO_MEMORY;
    if (gathering->count > SIZE_MAX / 2 / sizeof(struct entry)) return USP_ERROR_NO_MEMORY;
    struct sorted_start *buffer = malloc(gathering->count * 2 * sizeof *buffer);
    uint32_t *digits = malloc(sizeof *digits << DIGIT_BITS);
    if (buffer == NULL || digits == NULL) {
        free(buffer);
        free(digits);
        return USP_ERROR_NO_MEMORY;
    }
    size_t count = make_places(buffer, candidates, gathering->count, &index->base);
    struct sorted_start *places = sort_places(buffer, count, digits);
    free(digits);
    count = choose_winners(index, places, count, &(struct choice){candidates, prefer, context});
    /* Each symbol adds its start, and at most one continuation or boundary at its end. */
    const struct uspi_gathered_symbol **open = malloc(count * sizeof(const struct uspi_gathered_symbol *));
    struct entries entries = {index->base, malloc(count * 2 * sizeof *entries.all), 0};
    int status = USP_ERROR_NO_MEMORY;
    if (count > 0 && open != NULL && entries.all != NULL) {
        index->named = flatten(&entries, candidates, places, count, open);
        status = lay_out(index, &entries);
    }
    if (status != USP_OK) uspi_index_clear(index);
    free(entries.all);
    free((void *)open);
    free(buffer);
    return status;
}

/* Counts the starts at or below `low_bits`. No branch for each start, so compilers can vectorize the loop. */
static uint32_t count_not_above(const uint16_t *starts, uint32_t count, uint16_t low_bits) {
    uint32_t n = 0;
    for (uint32_t done = 0; done < count; done += STEP, starts += STEP) {
        const uint16_t left = (uint16_t)(count - done < STEP ? count - done : STEP);
        uint16_t in_step = 0;
        for (uint16_t i = 0; i < STEP; i++) in_step = (uint16_t)(in_step + (starts[i] <= low_bits && i < left));
        n += in_step;
        if (in_step < STEP) break;
    }
    return n;
}

/* Returns the number of entries that start at or below an offset, and the offset's bucket. */
static uint32_t find_place(const struct uspi_index *index, uint32_t offset, uint32_t *bucket) {
    *bucket = offset >> index->shift;
    if (*bucket >= index->bucket_count) {
        *bucket = index->bucket_count - 1;
        return index->count;
    }
    const uint32_t low = index->buckets[*bucket], high = index->buckets[*bucket + 1];
    /* These are in other cache lines than the starts: fetch all three at once. */
    PREFETCH(index->numbers + low);
    PREFETCH(index->gaps + low);
    const uint16_t low_bits = (uint16_t)(offset & ((UINT32_C(1) << index->shift) - 1));
    return low + count_not_above(index->starts + low, high - low, low_bits);
}

/* Returns the bucket of an entry: the last one that begins at or before it. */
static uint32_t bucket_of(const struct uspi_index *index, uint32_t entry) {
    uint32_t i;
    USPI_FIRST(i, 1, index->bucket_count, index->buckets[i] > entry);
    return i - 1;
}

static usp_addr start_of(const struct uspi_index *index, uint32_t entry, uint32_t bucket) {
    return index->base + ((uint64_t)bucket << index->shift) + index->starts[entry];
}

/* Returns the bucket of the entry that follows one in `bucket`. */
static uint32_t next_bucket(const struct uspi_index *index, uint32_t entry, uint32_t bucket) {
    if (entry + 1 < index->buckets[bucket + 1]) return bucket;
    /* The next bucket nearly always has it. After empty buckets, a binary search is faster. */
    if (index->buckets[bucket + 2] > entry + 1) return bucket + 1;
    return bucket_of(index, entry + 1);
}

uint32_t uspi_index_find(const struct uspi_index *index, usp_addr address, usp_addr *start, uint64_t *size) {
    uint32_t bucket;
    *size = 0;
    if (index->count == 0 || address < index->base || address - index->base >= UINT32_MAX) return USPI_NO_SYMBOL;
    const uint32_t not_above = find_place(index, (uint32_t)(address - index->base), &bucket);
    if (not_above == 0) return USPI_NO_SYMBOL;
    const uint32_t entry = not_above - 1;
    /* If no entry of the bucket starts at or below the address, the entry found is in an earlier bucket. */
    if (entry < index->buckets[bucket]) bucket = bucket_of(index, entry);
    *start = start_of(index, entry, bucket);
    const uint8_t gap = index->gaps[entry];
    if (gap < SIZE_UNKNOWN) *size = start_of(index, entry + 1, next_bucket(index, entry, bucket)) - gap - *start;
    return index->numbers[entry];
}

const struct uspi_index_alias *uspi_index_aliases(const struct uspi_index *index, usp_addr start, uint32_t *count) {
    *count = 0;
    if (index->alias_count == 0 || start < index->base || start - index->base >= UINT32_MAX) return NULL;
    const uint32_t offset = (uint32_t)(start - index->base);
    uint32_t first, end;
    USPI_FIRST(first, 0, index->alias_count, index->aliases[first].start >= offset);
    for (end = first; end < index->alias_count && index->aliases[end].start == offset;) end++;
    *count = end - first;
    return index->aliases + first;
}

bool uspi_index_next(const struct uspi_index *index, usp_addr address, usp_addr *start) {
    if (index->count == 0 || (address > index->base && address - index->base >= UINT32_MAX)) return false;
    const uint32_t below = address > index->base ? (uint32_t)(address - index->base) : 0;
    uint32_t bucket;
    const uint32_t entry = below > 0 ? find_place(index, below - 1, &bucket) : 0;
    if (entry == index->count) return false;
    *start = start_of(index, entry, bucket_of(index, entry));
    return true;
}

size_t uspi_index_memory(const struct uspi_index *index) { return index->size; }

void uspi_index_clear(struct uspi_index *index) {
    free(index->aliases);
    free(index->buckets);
    memset(index, 0, sizeof *index);
}
