/* SPDX-License-Identifier: MIT */
/* See function_starts.h. The numbers are distances in base 128, each from the function before it; zeros fill the table up
 * (ld64 src/ld/LinkEdit.hpp, FunctionStartsAtom). On 32-bit ARM bit 0 of the sum is the Thumb state. */
#include "lib/unwind/function_starts.h"

/* Bytes that are read at once, and of the longest number. */
#define PIECE      512
#define NUMBER_MAX 10

/* More than any image has; a table that claims more is not gone through. */
#define TABLE_MAX (UINT64_C(16) << 20)

/* A part of the table that was copied. */
struct piece {
    uint8_t copy[PIECE];
    struct uspi_source source;
    struct uspi_bytes bytes;
    uint64_t at; /* in it */
};

static bool fill(struct piece *p, struct uspi_bytes table, uint64_t offset) {
    uint64_t n = table.size - offset;
    if (n > PIECE) n = PIECE;
    p->source = (struct uspi_source){.name = "function starts", .mapped = p->copy};
    p->bytes = (struct uspi_bytes){&p->source, 0, n};
    p->at = 0;
    return uspi_bytes_read(table, offset, p->copy, (size_t)n, "function starts", NULL) == USP_OK;
}

bool uspi_function_starts_find(const struct uspi_backend *backend, struct uspi_bytes table, usp_addr image, usp_addr pc,
                               usp_addr *start, usp_addr *end) {
    const usp_addr address_bits = backend->has_thumb ? ~UINT64_C(1) : UINT64_MAX;
    struct piece p;
    uint64_t offset = 0, delta;
    usp_addr last = 0, next = image;
    if (table.size == 0 || table.size > TABLE_MAX || pc < image || !fill(&p, table, 0)) return false;
    *end = 0;
    while (p.at < p.bytes.size) {
        if (p.bytes.size - p.at < NUMBER_MAX && offset + p.bytes.size < table.size) {
            offset += p.at;
            if (!fill(&p, table, offset)) return false;
        }
        if (uspi_bytes_uleb(p.bytes, &p.at, &delta, "function start", NULL) != USP_OK) return false;
        if (delta == 0) break;
        if (!uspi_sum(next, delta, &next)) return false;
        if ((next & address_bits) > pc) {
            *end = next & address_bits;
            break;
        }
        last = next & address_bits;
    }
    *start = last;
    return last != 0;
}
