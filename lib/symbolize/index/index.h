/* SPDX-License-Identifier: MIT */
/* The sorted index of a file's symbols: some 7 bytes for each beside the file. It knows where symbols lie and which one
 * wins, not how a file stores them; names stay there.
 *
 *     start:    0x0    0x40     0x80     0xa0    0xc0        offsets from base, ascending
 *     symbol:   f      inner    f        g       nothing     valid up to the next start, and inside the symbol's size
 *
 * Symbols that lie inside others (f goes on behind inner) are flattened when the index is built, so that the last start at
 * or below an address is all that a search has to look at.
 *
 * In memory the entries stand in buckets of as many addresses each, a power of two. A start's high bits are the number of
 * its bucket, so that only the low ones are kept, 16 at most; the high bits of an address say where to look:
 *
 *     buckets:  0    3         3    4  …        number of the first entry of each, and how many there are
 *               |    +---+-----+    |
 *     starts:   00 40 80 | a0       | …         16 bits each, low bits
 *     numbers:  f  inner f g        | …         32 bits each
 *     gaps:     -  32    - 0        | …         8 bits each, from a symbol's end to the next start
 *
 * A bucket has 16 entries or so: a search waits for its number, and then for its starts, numbers and gaps at once. The
 * file's table, which is several times as large and in another order, is read for what a gap cannot tell: of symbols
 * that have others inside (f), or end far from the next one.
 *
 * The index of an excerpt (excerpt.h) is made in the same way of fewer symbols. */
#ifndef USPI_INDEX_H
#define USPI_INDEX_H

#include "lib/symbolize/index/excerpt.h"

/* A symbol by the number that its tables gave it, below USPI_NO_SYMBOL. */
#define USPI_NO_SYMBOL UINT32_MAX

/* What is known of a symbol when the index is built. Addresses are as linked. */
struct uspi_candidate {
    usp_addr start;
    usp_addr end; /* behind its last byte; start itself when the size is not known: it reaches to the next start */
    uint32_t symbol;
    uint32_t rank;   /* of symbols with the same start the one with the lowest rank wins */
    uint32_t name;   /* the number to keep instead of `symbol` where the index knows start and size itself; 0: none */
    bool is_unsized; /* the size is not known, but the symbol reaches no farther than `end` */
};

/* Of two symbols with the same start and rank, given by their `name` or, where that is 0, by their `symbol`: negative when
 * `a` is the better name, positive when `b` is. */
typedef int (*uspi_prefer)(const void *context, uint32_t a, uint32_t b);

/* Gathers candidates; all zero is an empty one. */
struct uspi_gathering {
    struct uspi_candidate *candidates;
    size_t count, capacity;
    struct uspi_excerpt *excerpt; /* all that is not of it is left out; NULL: nothing is */
};

/* USP_OK or USP_ERROR_NO_MEMORY. An interval that wraps around is taken as one of unknown size; a symbol without a size that
 * reaches nowhere has no name, and ends the one before it. */
int uspi_gather(struct uspi_gathering *gathering, const struct uspi_candidate *candidate);

/* Whether it makes a difference to gather what reaches from `start` to `end`, as for uspi_excerpt_wants. */
static inline bool uspi_gathering_wants(const struct uspi_gathering *gathering, usp_addr start, usp_addr end) {
    return gathering->excerpt == NULL || uspi_excerpt_wants(gathering->excerpt, start, end);
}

/* From `address` on there is nothing, until the next symbol: the end of a section, a function without a name. */
int uspi_gather_boundary(struct uspi_gathering *gathering, usp_addr address);

void uspi_gathering_clear(struct uspi_gathering *gathering);

struct uspi_index {
    usp_addr base;
    size_t named;          /* symbols in it, each once */
    uint32_t count;        /* of entries; 0: nothing else is valid */
    uint32_t bucket_count; /* of which there is one more than that, which ends the last */
    unsigned shift;        /* a bucket has 2^shift addresses */
    uint32_t *buckets;     /* holds the others' memory */
    uint32_t *numbers;     /* of symbols or, where the gap is known, of names; USPI_NO_SYMBOL: nothing */
    uint16_t *starts;
    uint8_t *gaps;
    size_t size; /* in bytes, of all four */
};

/* Makes the index. A symbol of unknown size inside one of known size is a label in it, not a function, and left out.
 * Symbols more than 4 GB above the lowest are left out: the code of no image is that large.
 * USP_OK or USP_ERROR_NO_MEMORY; the index is the caller's, to be cleared. */
int uspi_index_build(struct uspi_index *index, const struct uspi_gathering *gathering, uspi_prefer prefer,
                     const void *context);

/* The symbol at an address, by its number or by that of its name; USPI_NO_SYMBOL when there is none. Whether the address
 * lies inside its size, the caller checks. *start becomes the last start at or below the address: the symbol's own, or
 * where it goes on behind another one. *size becomes the symbol's where the number is that of the name and the size is
 * known, otherwise 0. */
uint32_t uspi_index_find(const struct uspi_index *index, usp_addr address, usp_addr *start, uint64_t *size);

/* The first start at or above an address, whatever begins there: a symbol, one that goes on behind another, nothing. False
 * when there is none. */
bool uspi_index_next(const struct uspi_index *index, usp_addr address, usp_addr *start);

/* The bytes that it holds. */
size_t uspi_index_memory(const struct uspi_index *index);

void uspi_index_clear(struct uspi_index *index);

#endif
