/* SPDX-License-Identifier: MIT */
/* The exports of a Mach-O file as names of its code, where they say more than its symbol tables. How the trie is read is
 * macho_exports.h's. */
#ifndef USPI_MACHO_EXPORTED_H
#define USPI_MACHO_EXPORTED_H

#include "lib/object/macho_exports.h"
#include "lib/object/macho_symbols.h"
#include "lib/symbolize/macho/code.h"

/* To be closed by closing the trie. */
struct uspi_macho_exported {
    struct uspi_macho_exports trie; /* without nodes when there is nothing to gain from it */
    usp_addr header;                /* as linked; what exports count from */
};

/* Exports that the two symbol tables (their count 0: absent) have as well are not kept: they would only cost memory.
 * mask: the bits of an address that are one. USP_OK, also without any exports, USP_ERROR_NO_MEMORY, or what reading the
 * symbols failed with. */
int uspi_macho_exported_open(struct uspi_macho_exported *exported, const struct uspi_macho *macho,
                             const struct uspi_macho_symbols symbols[2], usp_addr mask);

/* Whether a node exports code of this file, and where. */
bool uspi_macho_exported_code(const struct uspi_macho_exported *exported, uint32_t node,
                              const struct uspi_macho_code *code, usp_addr mask, usp_addr *start);

#endif
