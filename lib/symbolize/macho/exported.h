/* SPDX-License-Identifier: MIT */
/* The exports of a Mach-O file as names of its code, where they name more than its symbol tables. macho_exports.h reads
 * the trie. */
#ifndef USPI_SYMBOLIZE_MACHO_EXPORTED_H
#define USPI_SYMBOLIZE_MACHO_EXPORTED_H

#include "lib/object/macho_exports.h"
#include "lib/object/macho_symbols.h"
#include "lib/symbolize/macho/code.h"

/* Closed by closing its trie. */
struct uspi_macho_exported {
    struct uspi_macho_exports trie; /* without nodes when exports name nothing that the symbols do not */
    usp_addr header;                /* the address, as linked, from which the offsets of exports count */
};

/* Opens the exports. They are not kept when the two symbol tables (count 0: absent) name all of their code: they would
 * only cost memory. mask: the bits of a value that are the address. Returns USP_OK, also without any exports,
 * USP_ERROR_NO_MEMORY, or the status with which reading the symbols failed. */
int uspi_macho_exported_open(struct uspi_macho_exported *exported, const struct uspi_macho *macho,
                             const struct uspi_macho_symbols symbols[2], usp_addr mask);

/* Returns whether a node exports code of this file. *start becomes the address of the code. */
bool uspi_macho_exported_code(const struct uspi_macho_exported *exported, uint32_t node,
                              const struct uspi_macho_code *code, usp_addr mask, usp_addr *start);

#endif
