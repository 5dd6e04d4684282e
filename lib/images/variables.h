/* SPDX-License-Identifier: MIT */
/* Finds variables of a loaded ELF image by their names. Programs and libraries describe themselves to debuggers in such
 * variables. */
#ifndef USPI_IMAGES_VARIABLES_H
#define USPI_IMAGES_VARIABLES_H

#include "lib/images/image_sources.h"

/* The maximum size of a name in bytes, with its NUL. */
#define USPI_VARIABLE_NAME_MAX 80u

struct uspi_variable {
    const char *name;
    uint64_t size;    /* in bytes; symbols of another size do not match. 0: any; it receives the symbol's */
    usp_addr address; /* in the process; 0: not found */
};

/* Looks for `count` variables in the symbol table of the image's file, found by `places`. If the file cannot be opened,
 * looks in the dynamic symbols in `memory`. The first of several symbols with the name and size counts. Variables whose
 * address is not 0 keep it. Returns how many of the variables have an address. Not async-signal-safe. */
size_t uspi_variables_find(const struct usp_image *image, const struct uspi_image_sources *places,
                           const struct usp_memory *memory, struct uspi_variable *variables, size_t count);

#endif
