/* SPDX-License-Identifier: MIT */
/* The debug map: entries of a Mach-O symbol table that linkers leave for debuggers ("stabs"). They give what the other
 * entries lack, a function's exact size and the source file it came from.
 * Source: xnu EXTERNAL_HEADERS/mach-o/stab.h; LLVM llvm/tools/dsymutil/MachODebugMapParser.cpp for their order. */
#ifndef USPI_MACHO_STABS_H
#define USPI_MACHO_STABS_H

#include "lib/demangle/names.h"
#include "lib/object/macho_symbols.h"
#include "lib/symbolize/macho/code.h"

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
    bool has_functions; /* which may be there without files: so Dart's compiler writes them */
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

/* ---- while an index is built ---- */

/* A function of the debug map. */
struct uspi_stab_start {
    usp_addr start;
    uint32_t name; /* offset in the table's strings */
    uint32_t entry;
};

/* All of them, by start. All zero is empty. */
struct uspi_stab_functions {
    struct uspi_stab_start *all; /* owned */
    size_t count, room;
};

/* Reads those that lie in code. mask: the bits of a value that are the address. USP_OK, USP_ERROR_NO_MEMORY, or what reading
 * failed with; to be cleared in each case. */
int uspi_stab_functions_read(struct uspi_stab_functions *functions, const struct uspi_macho_symbols *symbols,
                             const struct uspi_macho_code *code, usp_addr mask);

void uspi_stab_functions_clear(struct uspi_stab_functions *functions);

/* The entry with this start and name, which knows more than the symbol's own; `own` when there is none. */
uint32_t uspi_stab_function(const struct uspi_stab_functions *functions, const struct uspi_macho_symbols *symbols,
                            usp_addr start, const char *name, uint32_t own);

#endif
