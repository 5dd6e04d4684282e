/* SPDX-License-Identifier: MIT */
/* Stabs: entries of a Mach-O symbol table that linkers write for debuggers. They form the debug map. They have what
 * other entries lack: a function's exact size and its source file.
 * Source: xnu EXTERNAL_HEADERS/mach-o/stab.h; LLVM llvm/tools/dsymutil/MachODebugMapParser.cpp for the order of the
 * entries. */
#ifndef USPI_SYMBOLIZE_MACHO_STABS_H
#define USPI_SYMBOLIZE_MACHO_STABS_H

#include "lib/demangle/names.h"
#include "lib/object/macho_symbols.h"
#include "lib/symbolize/macho/code.h"

#include <stdatomic.h>

struct uspi_stab_file {
    uint32_t entry; /* number of its symbol table entry */
    _Atomic(const char *)
        path; /* kept at the first lookup, so that later ones need no lock; NULL: not read yet; "": not known */
};

/* The entries of source files in a symbol table. All zero: there are none. */
struct uspi_macho_stabs {
    struct uspi_stab_file *files; /* sorted by entry; owned */
    uint32_t count;
    bool has_functions; /* there are functions, perhaps without source files: Dart's compiler writes such entries */
};

/* Reads the entries. Returns USP_OK, USP_ERROR_NO_MEMORY, or the status with which reading failed. Must be closed in
 * every case. */
int uspi_macho_stabs_open(struct uspi_macho_stabs *stabs, const struct uspi_macho_symbols *symbols);

void uspi_macho_stabs_close(struct uspi_macho_stabs *stabs);

/* Returns the size in bytes of the function of N_FUN entry i; 0: not known. */
uint64_t uspi_macho_stab_size(const struct uspi_macho_symbols *symbols, uint64_t i);

/* Finds the source file of entry i. The path is kept in `names`, which must be the same for each call. *file becomes
 * NULL when the file is not known. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_macho_stab_file(const struct uspi_macho_stabs *stabs, const struct uspi_macho_symbols *symbols, uint64_t i,
                         struct uspi_names *names, const char **file);

/* ---- while an index is built ---- */

/* A function of the debug map. */
struct uspi_stab_start {
    usp_addr start;
    uint32_t name; /* offset in the table's strings */
    uint32_t entry;
};

/* All functions of the debug map, sorted by start. All zero: empty. */
struct uspi_stab_functions {
    struct uspi_stab_start *all; /* owned */
    size_t count, capacity;
};

/* Reads the functions that lie in code. mask: the bits of a value that are the address. Returns USP_OK,
 * USP_ERROR_NO_MEMORY, or the status with which reading failed. The functions must be cleared in every case. */
int uspi_stab_functions_read(struct uspi_stab_functions *functions, const struct uspi_macho_symbols *symbols,
                             const struct uspi_macho_code *code, usp_addr mask);

void uspi_stab_functions_clear(struct uspi_stab_functions *functions);

/* Returns the debug map's entry of the function with this start and name, which gives more than the symbol's own entry
 * `own`. Returns `own` when there is none. */
uint32_t uspi_stab_function(const struct uspi_stab_functions *functions, const struct uspi_macho_symbols *symbols,
                            usp_addr start, const char *name, uint32_t own);

#endif
