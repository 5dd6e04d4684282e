/* SPDX-License-Identifier: MIT */
/* Lines and inlined calls of objects of the GDB JIT interface: out of their debug information, which is read from the target's
 * memory when a line is first asked for. Sections of code must have the addresses at which they lie; relocations of the debug
 * information are applied where the object has them. Other files that it names are not looked for: it is the program's word. */
#ifndef USPI_JIT_OBJECT_LINES_H
#define USPI_JIT_OBJECT_LINES_H

#include "lib/symbolize/module_lines/frames.h"

/* There may be very many: what only an open one needs is apart. */
struct uspi_jit_object {
    usp_addr address;
    uint64_t size;
    uint32_t arch;
    struct uspi_open_object *open; /* NULL: no line was asked for */
};

/* All zero is none. Who uses it keeps threads out of each other. */
struct uspi_jit_objects {
    struct uspi_jit_object *all;
    size_t count, room;
    uint64_t copied; /* bytes of all files */
    bool has_cache;
    struct uspi_cache cache; /* blocks of all */
};

/* Notes an object. *number is for uspi_jit_object_frames. USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_jit_objects_add(struct uspi_jit_objects *objects, uint32_t arch, usp_addr address, uint64_t size,
                         uint32_t *number);

/* Forgets all objects. */
void uspi_jit_objects_forget(struct uspi_jit_objects *objects);

/* Forgets them, and frees what is held. */
void uspi_jit_objects_clear(struct uspi_jit_objects *objects);

struct uspi_jit_frames {
    const struct uspi_places *places;
    const struct usp_memory *memory; /* of the target */
    const struct uspi_source_paths *paths;
    struct uspi_names *names;
    struct usp_lines *lines; /* gets the frames; stays empty where none are known */
};

/* The source frames of an address in an object's code. USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_jit_object_frames(struct uspi_jit_objects *objects, uint32_t number, usp_addr address,
                           const struct uspi_jit_frames *wanted);

#endif
