/* SPDX-License-Identifier: MIT */
/* The debug map of a linked Mach-O image: the object file from which each of its functions came. Without a dSYM, the
 * object files hold the debug information, at the addresses that they had before linking. Xcode builds for debugging in
 * this way.
 *
 *     linked      N_OSO path, N_FUN name, start, size        object      symbol of that name at `in_object`
 *     address in the object = address − start + in_object
 *
 * The object files are opened elsewhere. Source: xnu EXTERNAL_HEADERS/mach-o/stab.h; LLVM
 * llvm/tools/dsymutil/MachODebugMapParser.cpp for the order of the entries. */
#ifndef USPI_SYMBOLIZE_MACHO_DEBUG_MAP_H
#define USPI_SYMBOLIZE_MACHO_DEBUG_MAP_H

#include "lib/object/macho_symbols.h"

struct uspi_mapped_object {
    uint32_t path;     /* offset in the table's strings: a file, or LIB.a(MEMBER.o) */
    uint64_t modified; /* its modification time when it was linked, in seconds since 1970; 0: not known */
};

struct uspi_mapped_function {
    usp_addr start, end; /* as linked */
    uint32_t name;       /* offset in the table's strings */
    uint32_t object;     /* number of the object */
};

/* All zero: nothing is mapped. */
struct uspi_debug_map {
    struct uspi_mapped_object *objects; /* owned */
    size_t object_count, object_capacity;
    struct uspi_mapped_function *functions; /* sorted by start; owned */
    size_t function_count, function_capacity;
};

/* Reads the debug map from an image's symbol table. mask: the bits of a value that are the address. Returns USP_OK,
 * also when nothing is mapped, USP_ERROR_NO_MEMORY, or the status with which reading failed. The map must be cleared in
 * every case. */
int uspi_debug_map_read(struct uspi_debug_map *map, const struct uspi_macho_symbols *symbols, usp_addr mask);

void uspi_debug_map_clear(struct uspi_debug_map *map);

/* Returns the function that holds an address as linked; NULL: none. */
const struct uspi_mapped_function *uspi_debug_map_find(const struct uspi_debug_map *map, usp_addr address);

/* Finds the function's address in an object file. Returns USP_OK, USP_ERROR_NOT_FOUND when the object has no such
 * symbol, or the status with which reading failed. */
int uspi_debug_map_place(const struct uspi_macho_symbols *linked, const struct uspi_mapped_function *function,
                         const struct uspi_macho_symbols *object, usp_addr mask, usp_addr *in_object);

#endif
