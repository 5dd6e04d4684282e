/* SPDX-License-Identifier: MIT */
/* The GDB JIT interface: a runtime links ELF objects for its generated code into a list in its memory. The list begins
 * at the variable __jit_debug_descriptor (GDB manual, "JIT Compilation Interface"). Reads the functions of
 * little-endian ELF objects, and their lines when asked for (object_lines.h). Mach-O objects are not read. */
#ifndef USPI_SYMBOLIZE_JIT_GDB_JIT_H
#define USPI_SYMBOLIZE_JIT_GDB_JIT_H

#include "lib/images/image_sources.h"
#include "lib/symbolize/jit/code_map.h"
#include "lib/symbolize/jit/object_lines.h"

/* The bytes of struct jit_descriptor and of the first entry in its list. They are compared to see whether the list has
 * changed. */
struct uspi_jit_head {
    uint8_t descriptor[24];
    uint8_t first[32];
};

/* A variable __jit_debug_descriptor. A program and each of its libraries may have one. */
struct uspi_jit_descriptor {
    usp_addr address;
    uint32_t arch;
    struct uspi_jit_head seen;
};

/* The maximum number of variables. */
#define USPI_JIT_DESCRIPTORS 16u

/* All zero: empty. */
struct uspi_gdb_jit {
    struct uspi_jit_descriptor descriptors[USPI_JIT_DESCRIPTORS];
    uint32_t count;
    bool was_read;                    /* the lists were read since the variables were found */
    struct uspi_jit_objects *objects; /* remembers the objects, for their lines; NULL: they are not remembered */
};

/* Finds the variables in the symbol tables of all ELF images, and forgets those found before. */
void uspi_gdb_jit_look(struct uspi_gdb_jit *jit, const struct usp_images *images,
                       const struct uspi_image_sources *places, const struct usp_memory *memory);

/* Reads the lists again if one of them has changed. The map then has only what they say now. Returns USP_OK or
 * USP_ERROR_NO_MEMORY. */
int uspi_gdb_jit_read(struct uspi_gdb_jit *jit, const struct usp_memory *memory, struct uspi_jit_map *map);

/* Adds the functions of one object. order, number: see struct uspi_jit_code. Returns USP_OK, USP_ERROR_NO_MEMORY, or
 * what is wrong with the object. */
int uspi_gdb_jit_read_object(struct uspi_bytes object, uint64_t order, uint32_t number, struct uspi_jit_map *map);

#endif
