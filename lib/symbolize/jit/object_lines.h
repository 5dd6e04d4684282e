/* SPDX-License-Identifier: MIT */
/* Lines and inlined calls of objects of the GDB JIT interface, from their debug information. It is read from the
 * target's memory when a line is first asked for. Code sections must have the addresses at which they are loaded.
 * Relocations of the debug information are applied if the object has them. Other files that it names are not searched
 * for, because the program could name any file. */
#ifndef USPI_SYMBOLIZE_JIT_OBJECT_LINES_H
#define USPI_SYMBOLIZE_JIT_OBJECT_LINES_H

#include "lib/symbolize/module_lines/frames.h"

/* An object. There may be very many, so what only an open one needs is separate. */
struct uspi_jit_object {
    usp_addr address;
    uint64_t size;
    uint32_t arch;
    struct uspi_open_object *open; /* NULL: no line was asked for yet */
};

/* All zero: empty. The caller must keep threads apart. */
struct uspi_jit_objects {
    struct uspi_jit_object *all;
    size_t count, capacity;
    uint64_t copied; /* bytes of all copied objects */
    bool has_cache;
    struct uspi_cache cache; /* blocks of all objects */
};

/* Adds an object. *number is for uspi_jit_object_frames. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_jit_objects_add(struct uspi_jit_objects *objects, uint32_t arch, usp_addr address, uint64_t size,
                         uint32_t *number);

/* Forgets all objects. */
void uspi_jit_objects_forget(struct uspi_jit_objects *objects);

/* Forgets all objects and frees all memory. */
void uspi_jit_objects_clear(struct uspi_jit_objects *objects);

struct uspi_jit_frames {
    const struct uspi_image_sources *places;
    const struct usp_memory *memory; /* of the target */
    const struct uspi_source_paths *paths;
    struct uspi_names *names;
    struct usp_lines *lines; /* gets the frames; stays empty when none are known */
};

/* Finds the source frames of an address in an object's code. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_jit_object_frames(struct uspi_jit_objects *objects, uint32_t number, usp_addr address,
                           const struct uspi_jit_frames *wanted);

#endif
