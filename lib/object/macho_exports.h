/* SPDX-License-Identifier: MIT */
/* Reads the exports of a Mach-O file: a trie of names that the linker writes for the loader. It survives when the
 * symbol table is stripped. Sources: xnu EXTERNAL_HEADERS/mach-o/loader.h (EXPORT_SYMBOL_FLAGS_…), dyld
 * mach_o/ExportsTrie.cpp. */
#ifndef USPI_OBJECT_MACHO_EXPORTS_H
#define USPI_OBJECT_MACHO_EXPORTS_H

#include "lib/object/macho.h"

enum uspi_export_flags {
    USPI_EXPORT_KIND = 0x3, /* a mask of the symbol's kind */
    USPI_EXPORT_REGULAR = 0x0,
    USPI_EXPORT_WEAK = 0x4,
    USPI_EXPORT_REEXPORT = 0x8 /* another library exports it; it has no address */
};

/* A node of the trie. Its name is its parent's name with a piece appended. */
struct uspi_export_node {
    uint32_t parent; /* the parent's number; the first node is its own parent */
    uint32_t piece;  /* offset of the NUL-terminated piece in the trie; unused in the first node */
    uint32_t at;     /* offset of the node in the trie */
};

struct uspi_macho_exports {
    struct uspi_bytes trie;
    struct uspi_export_node *nodes; /* owned */
    uint32_t count;
};

/* Reads the whole trie once. Time and memory are bounded by its size. Of a damaged trie, keeps the nodes before the
 * damage. On success the caller closes *exports, which is immutable. Returns USP_OK, USP_ERROR_NOT_FOUND when the file
 * has no exports, USP_ERROR_NO_MEMORY, or what reading failed with. */
int uspi_macho_exports_open(struct uspi_macho_exports *exports, const struct uspi_macho *macho,
                            struct uspi_error *error);

/* Reads a given trie, otherwise like uspi_macho_exports_open. */
int uspi_macho_exports_read(struct uspi_macho_exports *exports, struct uspi_bytes trie, struct uspi_error *error);

/* A struct of zeros counts as closed. */
void uspi_macho_exports_close(struct uspi_macho_exports *exports);

struct uspi_export {
    uint64_t flags;  /* enum uspi_export_flags */
    uint64_t offset; /* from the image's header, on 32-bit ARM with the Thumb bit; 0 for a re-export */
};

/* Gives what node i < count exports. USP_ERROR_NOT_FOUND: nothing, it only leads to other nodes. */
int uspi_macho_export(const struct uspi_macho_exports *exports, uint32_t i, struct uspi_export *found,
                      struct uspi_error *error);

/* Gives the length of node i's name in bytes, without a terminator. If `to` is not NULL, also copies the name there;
 * the room must suffice. */
int uspi_macho_export_name(const struct uspi_macho_exports *exports, uint32_t i, char *to, size_t *length,
                           struct uspi_error *error);

#endif
