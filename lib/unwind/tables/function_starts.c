/* SPDX-License-Identifier: MIT */
/* See function_starts.h. Reads the table in pieces: one read of memory covers some hundred functions. */
#include "lib/unwind/tables/function_starts.h"

#include "lib/object/macho_symbols.h"

#define PIECE      512 /* bytes that are read at once */
#define NUMBER_MAX 10  /* bytes of the longest number */

/* Maximum size of a table. No image has more; a larger table is not read. */
#define TABLE_MAX (UINT64_C(16) << 20)

/* A copied part of the table, and the position of the iteration in it. */
struct piece {
    uint8_t copy[PIECE];
    struct uspi_source source;
    struct uspi_macho_starts starts;
};

static bool fill(struct piece *p, struct uspi_bytes table, uint64_t offset) {
    uint64_t n = table.size - offset;
    if (n > PIECE) n = PIECE;
    p->source = (struct uspi_source){.name = "function starts", .base = p->copy};
    p->starts.bytes = (struct uspi_bytes){&p->source, 0, n};
    p->starts.offset = 0;
    return uspi_bytes_read(table, offset, p->copy, (size_t)n, "function starts", NULL) == USP_OK;
}

/* Gives the next function from the piece, or from the next piece. *offset is the offset of the piece in the table. */
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
