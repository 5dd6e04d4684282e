/* SPDX-License-Identifier: MIT */
/* What the pointers in a Mach-O file stand for before a loader has fixed them up: chained fixups (LC_DYLD_CHAINED_FIXUPS)
 * and the bind opcodes of LC_DYLD_INFO. One pointer at a time, where it stands; nothing is fixed up as a whole.
 *
 * Chains are not followed. A word at which a pointer is expected either is in its page's chain or is null, so that the
 * page's format says how to read it; a page without a chain holds plain addresses.
 *
 * Source: Apple dyld include/mach-o/fixup-chains.h, common/MachOFile.cpp; xnu EXTERNAL_HEADERS/mach-o/loader.h (bind
 * opcodes). */
#ifndef USPI_FIXUPS_H
#define USPI_FIXUPS_H

#include "lib/object/macho_space.h"

/* DYLD_CHAINED_PTR_*: how a segment's pointers are written. */
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

/* What one word stands for. */
struct uspi_chained_word {
    bool is_import;
    uint32_t ordinal; /* of the import */
    usp_addr target;  /* as linked, without tags in its top byte; 0 for an import */
};

/* Decodes a word of a chain. raw: zero-extended. header: the address the image's first byte was linked for.
 * max_valid: dyld_chained_starts_in_segment.max_valid_pointer, used by USPI_CHAINED_32 alone, whose larger values are
 * numbers in disguise. False for a format that is not in the list above. A null word stays 0. */
bool uspi_chained_decode(uint32_t format, uint64_t raw, usp_addr header, uint32_t max_valid,
                         struct uspi_chained_word *word);

/* An import that the bind opcodes put somewhere. */
struct uspi_bind {
    usp_addr location;
    uint64_t name; /* offset in the file */
};

struct uspi_fixups {
    const struct uspi_macho_space *space;
    struct uspi_bytes chains; /* LC_DYLD_CHAINED_FIXUPS; of size 0: there is none */
    uint32_t starts, imports, symbols, import_count, import_format;
    struct uspi_bind *binds; /* by location */
    size_t bind_count;
};

/* For a file's space, which must live as long as the fixups. Of the imports by opcodes only those are remembered whose
 * names begin with `prefix`. *fixups is the caller's to close on USP_OK, and empty otherwise. A file without fixups is
 * fine. USP_ERROR_FORMAT, USP_ERROR_TRUNCATED, USP_ERROR_UNSUPPORTED (compressed names), USP_ERROR_NO_MEMORY. */
int uspi_fixups_open(struct uspi_fixups *fixups, const struct uspi_macho_space *space, const char *prefix,
                     struct uspi_error *error);
void uspi_fixups_close(struct uspi_fixups *fixups);

/* A pointer of the file. */
struct uspi_pointer {
    usp_addr target; /* as linked; 0: null or an import */
    bool is_import;  /* of another image */
    uint64_t name;   /* of the import's symbol: the offset of its NUL-terminated name in the file */
};

/* The pointer at an address. USP_ERROR_NOT_FOUND when the file has nothing there, USP_ERROR_TRUNCATED, USP_ERROR_FORMAT,
 * USP_ERROR_UNSUPPORTED (a format that is not in the list). */
int uspi_fixups_pointer(const struct uspi_fixups *fixups, usp_addr location, struct uspi_pointer *pointer,
                        struct uspi_error *error);

#endif
