/* SPDX-License-Identifier: MIT */
/* The GDB JIT interface: a runtime links ELF objects for the code that it generated into a list in its memory, which begins
 * at the variable __jit_debug_descriptor (GDB manual, "JIT Compilation Interface"). Read are the symbols of functions in
 * little-endian ELF objects, and their lines when they are asked for (object_lines.h); Mach-O objects are not. */
#ifndef USPI_JIT_GDB_H
#define USPI_JIT_GDB_H

#include "lib/images/image_file.h"
#include "lib/symbolize/jit/code_map.h"
#include "lib/symbolize/jit/object_lines.h"

/* struct jit_descriptor, and of the first entry in its list; compared to see whether the list has changed. */
struct uspi_jit_head {
    uint8_t descriptor[24];
    uint8_t first[32];
};

/* A variable __jit_debug_descriptor: a program and its libraries may each have one. */
struct uspi_jit_descriptor {
    usp_addr address;
    uint32_t arch;
    struct uspi_jit_head seen;
};

/* So many variables are looked at. */
#define USPI_JIT_DESCRIPTORS 16u

/* All zero is an empty one. */
struct uspi_gdb_jit {
    struct uspi_jit_descriptor descriptors[USPI_JIT_DESCRIPTORS];
    uint32_t count;
    bool was_read;                    /* the lists, since the variables were found */
    struct uspi_jit_objects *objects; /* where the objects are noted, for their lines; NULL: nowhere */
};

/* Looks for the variables in the symbol tables of all ELF images; forgets what was found before. */
void uspi_gdb_jit_look(struct uspi_gdb_jit *jit, const struct usp_images *images, const struct uspi_places *places,
                       const struct usp_memory *memory);

/* Reads the lists anew if one of them has changed: the map has then what they say now. USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_gdb_jit_read(struct uspi_gdb_jit *jit, const struct usp_memory *memory, struct uspi_jit_map *map);

/* The functions of one object. order, number: see struct uspi_jit_code. USP_OK, USP_ERROR_NO_MEMORY, or what is wrong with
 * it. */
int uspi_gdb_jit_read_object(struct uspi_bytes object, uint64_t order, uint32_t number, struct uspi_jit_map *map);

#endif
