/* SPDX-License-Identifier: MIT */
/* The sorted index of a file's symbols, with about 7 bytes for each symbol. It knows which symbol each address belongs
 * to, not how the file stores symbols; names stay in the mapped file.
 *
 *     start:    0x0    0x40     0x80     0xa0    0xc0        offsets from base, ascending
 *     symbol:   f      inner    f        g       nothing     valid up to the next start, and inside the symbol's size
 *
 * Nested symbols are flattened when the index is built: f has a second entry where it continues after inner. So a
 * search needs only the last start at or below an address.
 *
 * In memory, entries are grouped in buckets. All buckets span the same number of addresses, a power of two. The high
 * bits of an address select the bucket, so an entry keeps only the low bits of its start, at most 16:
 *
 *     buckets:  0    3         3    4  …        first entry of each bucket; the last element is the number of entries
 *               |    +---+-----+    |
 *     starts:   00 40 80 | a0       | …         16 bits each, low bits
 *     numbers:  f  inner f g        | …         32 bits each
 *     gaps:     -  32    - 0        | …         8 bits each, from a symbol's end to the next start
 *
 * A bucket has about 16 entries. So a search has two cache misses: one for the bucket, one for its starts, numbers and
 * gaps together. The file's own table, which is several times as large and in another order, is read only where a gap
 * cannot tell the symbol's end: when other symbols lie inside it (f), or when it ends far before the next start.
 *
 * Of symbols with the same start, one wins. The others are kept beside the index as aliases, if one of the file's lists
 * has several symbols for that function: then linkers have folded functions, or the function has several names.
 *
 * The index of an excerpt (excerpt.h) is made in the same way from fewer symbols. */
#ifndef USPI_SYMBOLIZE_INDEX_INDEX_H
#define USPI_SYMBOLIZE_INDEX_INDEX_H

#include "lib/symbolize/index/excerpt.h"

/* Tables number their symbols from 0; all numbers are below this one. */
#define USPI_NO_SYMBOL UINT32_MAX

/* Symbols of this rank and above are data. They name only code that no function holds. */
#define USPI_DATA_RANK UINT32_C(32)

/* A symbol from which the index may be built. Addresses are as linked. */
struct uspi_gathered_symbol {
    usp_addr start;
    usp_addr end; /* first address past it; `start` when the size is not known: then it extends to the next start */
    uint32_t symbol;
    uint32_t rank;   /* the lowest rank wins among symbols with one start */
    uint32_t name;   /* kept instead of `symbol` where the index itself knows start and size; 0: `symbol` is kept */
    bool is_unsized; /* the size is not known, but the symbol ends at `end` at the latest */
    uint8_t origin;  /* which of the file's lists it is from, below USPI_ORIGINS: several can list the same functions */
};

#define USPI_ORIGINS 8

/* Another symbol of a function: it has the same start and end as the winner, and lost to it. */
struct uspi_index_alias {
    uint32_t start;  /* offset from the index's base */
    uint32_t number; /* of the symbol or its name, as uspi_index_find returns it */
};

/* Chooses between two symbols with the same start and rank, each given by its `name` or, where that is 0, by its
 * `symbol`. Returns a negative number when `a` has the better name, a positive one when `b` has it. */
typedef int (*uspi_prefer)(const void *context, uint32_t a, uint32_t b);

/* The candidates for an index. All zero means empty. */
struct uspi_gathering {
    struct uspi_gathered_symbol *candidates;
    size_t count, capacity;
    struct uspi_excerpt *excerpt; /* candidates outside of it are left out; NULL: all are kept */
};

/* Adds a candidate. Returns USP_OK or USP_ERROR_NO_MEMORY. An interval that wraps around counts as one of unknown size.
 * A candidate with `is_unsized` and an empty interval becomes a boundary (see below). */
int uspi_gather(struct uspi_gathering *gathering, const struct uspi_gathered_symbol *candidate);

/* Returns whether a candidate from `start` to `end` would be kept, as uspi_excerpt_wants does. */
static inline bool uspi_gathering_wants(const struct uspi_gathering *gathering, usp_addr start, usp_addr end) {
    return gathering->excerpt == NULL || uspi_excerpt_wants(gathering->excerpt, start, end);
}

/* Adds a boundary: from `address` to the next symbol, no symbol holds the code. It is the end of a section, or the
 * start of a function without a name. */
int uspi_gather_boundary(struct uspi_gathering *gathering, usp_addr address);

void uspi_gathering_clear(struct uspi_gathering *gathering);

struct uspi_index {
    usp_addr base;
    size_t named;          /* number of different symbols */
    uint32_t count;        /* number of entries; when it is 0, no other member is valid */
    uint32_t bucket_count; /* `buckets` has one element more, which ends the last bucket */
    unsigned shift;        /* a bucket spans 2^shift addresses */
    uint32_t *buckets;     /* one allocation: the three arrays below lie in it, too */
    uint32_t *numbers;     /* numbers of symbols or, where the gap is known, of names; USPI_NO_SYMBOL: no symbol */
    uint16_t *starts;
    uint8_t *gaps;
    struct uspi_index_alias *aliases; /* ascending by start; allocated; NULL: there are none */
    uint32_t alias_count;
    size_t size; /* bytes of all arrays */
};

/* Makes the index. A symbol of unknown size inside one of known size is a label, not a function, and is left out. So
 * is data that begins inside a function of known size, and
 * symbols more than 4 GB above the lowest one: no image has that much code. Returns USP_OK or USP_ERROR_NO_MEMORY.
 * The caller clears the index. */
int uspi_index_build(struct uspi_index *index, const struct uspi_gathering *gathering, uspi_prefer prefer,
                     const void *context);

/* Returns the symbol at an address, by its number or the number of its name, or USPI_NO_SYMBOL. The caller checks
 * whether the address lies inside the symbol's size. *start becomes the last start at or below the address: the
 * symbol's own, or the place where it continues after a nested one. *size becomes the symbol's size where the returned
 * number is that of a name and the size is known, otherwise 0. */
uint32_t uspi_index_find(const struct uspi_index *index, usp_addr address, usp_addr *start, uint64_t *size);

/* Returns the aliases of the function that begins at `start`, and their number in *count. They can have equal names,
 * also the winner's. */
const struct uspi_index_alias *uspi_index_aliases(const struct uspi_index *index, usp_addr start, uint32_t *count);

/* Finds the first start at or above an address: of a symbol, of a continuation, or of a boundary. Returns false when
 * there is none. */
bool uspi_index_next(const struct uspi_index *index, usp_addr address, usp_addr *start);

/* Returns the bytes of memory that the index holds. */
size_t uspi_index_memory(const struct uspi_index *index);

void uspi_index_clear(struct uspi_index *index);

#endif
