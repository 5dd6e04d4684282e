/* SPDX-License-Identifier: MIT */
/* Files with the symbols of an image and without its code: GSYM (lib/object/gsym.h) and Breakpad
 * (lib/object/breakpad.h). The functions tell which image a file belongs to, and where the image's code lies. */
#ifndef USPI_IMAGES_SYMBOL_FILE_H
#define USPI_IMAGES_SYMBOL_FILE_H

#include "lib/object/bytes.h"

#include <unspool/images.h>

struct uspi_symbol_file {
    bool is_macho;
    uint32_t arch;    /* enum usp_arch; USP_ARCH_NONE: the file does not say, or unspool does not know the processor */
    uint32_t variant; /* enum usp_variant, likewise */
    uint32_t build_id_size;
    uint8_t build_id[USP_BUILD_ID_MAX];
};

/* Returns whether the bytes begin like a GSYM or Breakpad file. */
bool uspi_symbol_file_is(struct uspi_bytes bytes);

/* Reads which image the file belongs to. Returns USP_OK, or what is wrong with the file. */
int uspi_symbol_file_open(struct uspi_symbol_file *symbols, struct uspi_bytes bytes, struct uspi_error *error);

/* Checks whether the file belongs to an image. Returns USP_OK, USP_ERROR_MISMATCH (another build), or what is wrong
 * with the file. */
int uspi_symbol_file_judge(const struct usp_image *image, struct uspi_bytes bytes, struct uspi_error *error);

/* Gives the address at which the image begins, and the range *low … *high − 1 of its code, as linked. Reads the whole
 * file. Returns USP_OK, USP_ERROR_NOT_FOUND when the file has no functions, or what is wrong with the file. */
int uspi_symbol_file_extent(struct uspi_bytes bytes, usp_addr *header, usp_addr *low, usp_addr *high,
                            struct uspi_error *error);

#endif
