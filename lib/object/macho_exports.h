/* SPDX-License-Identifier: MIT */
/* The exports of a Mach-O file: a trie of names, which the linker writes for the loader and which survives when the symbol
 * table is stripped. Sources: xnu EXTERNAL_HEADERS/mach-o/loader.h (EXPORT_SYMBOL_FLAGS_…), dyld mach_o/ExportsTrie.cpp. */
#ifndef USPI_MACHO_EXPORTS_H
#define USPI_MACHO_EXPORTS_H

#include "lib/object/macho.h"

enum uspi_export_flags {
    USPI_EXPORT_KIND = 0x3, /* a mask: */
    USPI_EXPORT_REGULAR = 0x0,
    USPI_EXPORT_WEAK = 0x4,
    USPI_EXPORT_REEXPORT = 0x8 /* another library has it: no address */
};

/* A node of the trie: its name is its parent's with a piece appended. */
struct uspi_export_node {
    uint32_t parent; /* a node's number; the first node is its own */
    uint32_t piece;  /* where the piece lies, NUL-terminated; not of the first node */
    uint32_t at;     /* where the node lies */
};

struct uspi_macho_exports {
    struct uspi_bytes trie;
    struct uspi_export_node *nodes; /* owned */
    uint32_t count;
};

/* Reads the whole trie once, in time and memory that its size bounds; of a damaged one, what comes before the damage.
 * *exports is the caller's, to be closed. USP_OK, USP_ERROR_NOT_FOUND when the file has none, USP_ERROR_NO_MEMORY, or what
 * reading failed with. Immutable afterwards. */
int uspi_macho_exports_open(struct uspi_macho_exports *exports, const struct uspi_macho *macho,
                            struct uspi_error *error);

/* As above, of a trie that is given. */
int uspi_macho_exports_read(struct uspi_macho_exports *exports, struct uspi_bytes trie, struct uspi_error *error);

/* All zero is closed. */
void uspi_macho_exports_close(struct uspi_macho_exports *exports);

struct uspi_export {
    uint64_t flags;  /* enum uspi_export_flags */
    uint64_t offset; /* from the image's header, on 32-bit ARM with the Thumb bit; 0 of a re-export */
};

/* What node i < count exports. USP_ERROR_NOT_FOUND: nothing, it is only on the way to others. */
int uspi_macho_export(const struct uspi_macho_exports *exports, uint32_t i, struct uspi_export *found,
                      struct uspi_error *error);

/* The length of node i's name in bytes, without a terminator; with `to` not NULL, which must have that room, the bytes. */
int uspi_macho_export_name(const struct uspi_macho_exports *exports, uint32_t i, char *to, size_t *length,
                           struct uspi_error *error);

#endif
