/* SPDX-License-Identifier: MIT */
/* The debug map: entries of a Mach-O symbol table that linkers leave for debuggers ("stabs"). They give what the other
 * entries lack, a function's exact size and the source file it came from.
 * Source: xnu EXTERNAL_HEADERS/mach-o/stab.h; LLVM llvm/tools/dsymutil/MachODebugMapParser.cpp for their order. */
#ifndef USPI_MACHO_STABS_H
#define USPI_MACHO_STABS_H

#include "lib/object/macho_symbols.h"
#include "lib/symbolize/names.h"

#include <stdatomic.h>

struct uspi_stab_file {
    uint32_t entry; /* number of its symbol */
    _Atomic(const char *)
        path; /* kept when it is first asked for, so that later questions need no lock; "" if unknown */
};

/* Where the entries of source files stand. All zero: there are none. */
struct uspi_macho_stabs {
    struct uspi_stab_file *files; /* by entry, ascending; owned */
    uint32_t count;
};

/* USP_OK, USP_ERROR_NO_MEMORY, or what reading failed with; to be closed in each case. */
int uspi_macho_stabs_open(struct uspi_macho_stabs *stabs, const struct uspi_macho_symbols *symbols);

void uspi_macho_stabs_close(struct uspi_macho_stabs *stabs);

/* The size in bytes that goes with the N_FUN entry i; 0 when there is none. */
uint64_t uspi_macho_stab_size(const struct uspi_macho_symbols *symbols, uint64_t i);

/* The source file of entry i, kept in `names`, which must be the same for each call; *file becomes NULL when none is known.
 * USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_macho_stab_file(const struct uspi_macho_stabs *stabs, const struct uspi_macho_symbols *symbols, uint64_t i,
                         struct uspi_names *names, const char **file);

#endif
