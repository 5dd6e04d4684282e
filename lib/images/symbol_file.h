/* SPDX-License-Identifier: MIT */
/* Files that have the symbols of an image and none of its code: GSYM (lib/object/gsym.h) and Breakpad's (lib/object/breakpad.h). Which
 * image they are of, and where its code lies. */
#ifndef USPI_SYMBOL_FILE_H
#define USPI_SYMBOL_FILE_H

#include "lib/object/bytes.h"

#include <unspool/images.h>

struct uspi_symbol_file {
    bool is_macho;
    uint32_t arch;    /* enum usp_arch; USP_ARCH_NONE: the file does not say, or it is none of ours */
    uint32_t variant; /* enum usp_variant, likewise */
    uint32_t build_id_size;
    uint8_t build_id[USP_BUILD_ID_MAX];
};

/* Whether the bytes begin like such a file. */
bool uspi_symbol_file_is(struct uspi_bytes bytes);

/* Which image it is of. USP_OK, or what is wrong with it. */
int uspi_symbol_file_open(struct uspi_symbol_file *symbols, struct uspi_bytes bytes, struct uspi_error *error);

/* Whether it is of an image: USP_OK, USP_ERROR_MISMATCH (of another build), or what is wrong with it. */
int uspi_symbol_file_judge(const struct usp_image *image, struct uspi_bytes bytes, struct uspi_error *error);

/* Where the image begins, and its code from *low up to *high, in the addresses of the file. Reads through all of it. USP_OK,
 * USP_ERROR_NOT_FOUND when it has no code, or what is wrong with it. */
int uspi_symbol_file_extent(struct uspi_bytes bytes, usp_addr *header, usp_addr *low, usp_addr *high,
                            struct uspi_error *error);

#endif
