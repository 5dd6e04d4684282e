/* SPDX-License-Identifier: MIT */
/* Decodes pointers in a Mach-O file that no loader has fixed up: chained fixups (LC_DYLD_CHAINED_FIXUPS) and the bind
 * opcodes of LC_DYLD_INFO. Decodes one pointer at a time, in place.
 *
 * Chains are not followed. A word at which the caller expects a pointer is either in its page's chain or null, so the
 * page's format tells how to decode it. A page without a chain contains plain addresses.
 *
 * Source: Apple dyld include/mach-o/fixup-chains.h, common/MachOFile.cpp; xnu EXTERNAL_HEADERS/mach-o/loader.h (bind
 * opcodes). */
#ifndef USPI_OBJECT_FIXUPS_H
#define USPI_OBJECT_FIXUPS_H

#include "lib/object/macho_space.h"

/* DYLD_CHAINED_PTR_*: how the pointers of a segment are encoded. */
enum uspi_chained_format {
    USPI_CHAINED_ARM64E = 1,
    USPI_CHAINED_64 = 2,
    USPI_CHAINED_32 = 3,
    USPI_CHAINED_32_CACHE = 4,
    USPI_CHAINED_32_FIRMWARE = 5,
    USPI_CHAINED_64_OFFSET = 6,
    USPI_CHAINED_ARM64E_KERNEL = 7,
    USPI_CHAINED_ARM64E_USERLAND = 9,
    USPI_CHAINED_ARM64E_FIRMWARE = 10,
    USPI_CHAINED_ARM64E_USERLAND24 = 12
};

/* A decoded word. */
struct uspi_chained_word {
    bool is_import;
    uint32_t ordinal; /* of the import */
    usp_addr target;  /* as linked, without the tag in the top byte; 0 for an import */
};

/* Decodes a word of a chain.
 *   raw        the word, zero-extended
 *   header     the address that the image's first byte was linked for
 *   max_valid  dyld_chained_starts_in_segment.max_valid_pointer; larger values of USPI_CHAINED_32 are numbers, not
 *              pointers
 * Returns false for a format that is not in the enum. A null word gives target 0. */
bool uspi_chained_decode(uint32_t format, uint64_t raw, usp_addr header, uint32_t max_valid,
                         struct uspi_chained_word *word);

/* An import, and the location to which the bind opcodes write it. */
struct uspi_bind {
    usp_addr location;
    uint64_t name; /* offset in the file */
};

struct uspi_fixups {
    const struct uspi_macho_space *space;
    struct uspi_bytes chains; /* LC_DYLD_CHAINED_FIXUPS; size 0: the file has none */
    uint32_t starts, imports, symbols, import_count, import_format;
    struct uspi_bind *binds; /* sorted by location */
    size_t bind_count;
};

/* Opens the fixups of a file. `space` must live as long as the fixups. Imports by bind opcodes are kept only if their
 * names begin with `prefix`. On USP_OK, also for a file without fixups, the caller closes *fixups; otherwise it is
 * empty. Other statuses: USP_ERROR_FORMAT, USP_ERROR_TRUNCATED, USP_ERROR_UNSUPPORTED (compressed names),
 * USP_ERROR_NO_MEMORY. */
int uspi_fixups_open(struct uspi_fixups *fixups, const struct uspi_macho_space *space, const char *prefix,
                     struct uspi_error *error);
void uspi_fixups_close(struct uspi_fixups *fixups);

/* A decoded pointer of the file. */
struct uspi_pointer {
    usp_addr target; /* as linked; 0: null or an import */
    bool is_import;  /* it points into another image */
    uint64_t name;   /* of an import: offset of the symbol's NUL-terminated name in the file */
};

/* Decodes the pointer at an address. Returns USP_OK, USP_ERROR_NOT_FOUND when the file has no bytes there,
 * USP_ERROR_TRUNCATED, USP_ERROR_FORMAT, or USP_ERROR_UNSUPPORTED (a format that is not in enum
 * uspi_chained_format). */
int uspi_fixups_pointer(const struct uspi_fixups *fixups, usp_addr location, struct uspi_pointer *pointer,
                        struct uspi_error *error);

#endif
