/* SPDX-License-Identifier: MIT */
/* Variables of a loaded ELF image by their names: where a program or a library tells debuggers about itself. */
#ifndef USPI_VARIABLES_H
#define USPI_VARIABLES_H

#include "lib/images/image_file.h"

/* Bytes of a name, its NUL included, at most. */
#define USPI_VARIABLE_NAME_MAX 80u

struct uspi_variable {
    const char *name;
    uint64_t size;    /* in bytes: a symbol of another size is another variable */
    usp_addr address; /* in the process; 0: not found */
};

/* Looks for `count` variables in the symbols of the image's file at `places`, or, where that cannot be read, in the dynamic
 * symbols in `memory`. Of several symbols with the name the first counts; addresses that are not 0 stay. Returns how many
 * of them have an address. Not async-signal-safe. */
size_t uspi_variables_find(const struct usp_image *image, const struct uspi_places *places,
                           const struct usp_memory *memory, struct uspi_variable *variables, size_t count);

#endif
