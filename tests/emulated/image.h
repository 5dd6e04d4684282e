/* SPDX-License-Identifier: MIT */
/* A linked program brought into memory for the emulator: ELF or Mach-O, 32 or 64 bits. Knows nothing of the library's own
 * object readers, so that a fault there cannot hide one here. */
#ifndef USP_TESTS_IMAGE_H
#define USP_TESTS_IMAGE_H

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
    uint8_t *bytes;               /* high − low of them, page-aligned */
    struct image_symbol *symbols; /* functions, ascending, each start once */
    size_t symbol_count;
    const char *error; /* static; NULL: none */
};

/* Reads the file, lays its segments out and applies its relocations as for a load address of link address + slide
 * (Mach-O: 0 only). False on a failure, which image->error names. Free it in both cases. */
bool image_load(struct image *image, const char *path, usp_addr slide);

void image_free(struct image *image);

/* The function that holds pc, NULL if none does. */
const struct image_symbol *image_function_at(const struct image *image, usp_addr pc);

/* NULL if there is none of that name. */
const struct image_symbol *image_function_named(const struct image *image, const char *name);

#endif
