/* SPDX-License-Identifier: MIT */
/* A linked program, loaded into memory for the emulator: ELF or Mach-O, 32 or 64 bits. Does not use the library's own
 * object readers, so that an error there cannot hide one here. */
#ifndef TESTS_EMULATED_IMAGE_H
#define TESTS_EMULATED_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <unspool/unwind.h>

#define IMAGE_PAGE 4096u

struct image_symbol {
    usp_addr start, end; /* of the function's code; without the Thumb bit */
    char *name;          /* without the underscore of Mach-O */
    bool thumb;
};

struct image {
    uint32_t arch;      /* enum usp_arch */
    uint32_t os;        /* enum usp_os */
    usp_addr low, high; /* page-aligned */
    usp_addr text_low, text_high;
    uint8_t *bytes;               /* high − low bytes, page-aligned */
    struct image_symbol *symbols; /* functions, ascending, one for each start */
    size_t symbol_count;
    const char *error; /* static; NULL: no error */
};

/* Reads the file, lays its segments out and applies its relocations for a load address of link address + slide (Mach-O:
 * 0 only). Returns false on a failure, which image->error names. Free the image in both cases. */
bool image_load(struct image *image, const char *path, usp_addr slide);

void image_free(struct image *image);

/* Returns the function that contains pc; NULL if no function does. */
const struct image_symbol *image_function_at(const struct image *image, usp_addr pc);

/* Returns the function of that name; NULL if the image has none. */
const struct image_symbol *image_function_named(const struct image *image, const char *name);

#endif
