/* SPDX-License-Identifier: MIT */
/* See function_starts.h. The table is read piece by piece: a memory is asked once for some hundred functions. */
#include "lib/unwind/tables/function_starts.h"

#include "lib/object/macho_symbols.h"

/* Bytes that are read at once, and of the longest number. */
#define PIECE      512
#define NUMBER_MAX 10

/* More than any image has; a table that claims more is not gone through. */
#define TABLE_MAX (UINT64_C(16) << 20)

/* A part of the table that was copied, and where the iteration stands in it. */
struct piece {
    uint8_t copy[PIECE];
    struct uspi_source source;
    struct uspi_macho_starts starts;
};

static bool fill(struct piece *p, struct uspi_bytes table, uint64_t offset) {
    uint64_t n = table.size - offset;
    if (n > PIECE) n = PIECE;
    p->source = (struct uspi_source){.name = "function starts", .mapped = p->copy};
    p->starts.bytes = (struct uspi_bytes){&p->source, 0, n};
    p->starts.offset = 0;
    return uspi_bytes_read(table, offset, p->copy, (size_t)n, "function starts", NULL) == USP_OK;
}

/* The next function, out of the piece or of the one behind it; `offset` is the piece's in the table. */
static int next_start(struct piece *p, struct uspi_bytes table, uint64_t *offset, usp_addr *address) {
    bool is_last = *offset + p->starts.bytes.size == table.size;
    if (!is_last && p->starts.bytes.size - p->starts.offset < NUMBER_MAX) {
        *offset += p->starts.offset;
        if (!fill(p, table, *offset)) return USP_ERROR_UNREADABLE;
    }
    return uspi_macho_next_start(&p->starts, address, NULL);
}

bool uspi_function_starts_find(const struct uspi_backend *backend, struct uspi_bytes table, usp_addr image, usp_addr pc,
                               usp_addr *start, usp_addr *end) {
    const usp_addr address_bits = backend->has_thumb ? ~UINT64_C(1) : UINT64_MAX;
    struct piece p;
    uint64_t offset = 0;
    usp_addr last = 0, next;
    int got;
    if (table.size == 0 || table.size > TABLE_MAX || pc < image || !fill(&p, table, 0)) return false;
    p.starts.address = image;
    *end = 0;
    while ((got = next_start(&p, table, &offset, &next)) > 0) {
        next &= address_bits;
        if (next > pc) {
            *end = next;
            break;
        }
        last = next;
    }
    *start = last;
    return got >= 0 && last != 0;
}
