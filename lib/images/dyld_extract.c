/* SPDX-License-Identifier: MIT */
/* See <unspool/dyld_extract.h>. */
#include "lib/images/dyld_image.h"

#include <unspool/dyld_extract.h>

#include <stdio.h>
#include <stdlib.h>

#define PIECE ((size_t)64 << 10)

/* Where the flags of a Mach-O header are; of 32 bits and of 64. */
#define FLAGS 24

/* Writes the file. The image is not in a cache any more: debuggers would look for its tables there. */
static int write_file(struct uspi_bytes bytes, uint8_t *piece, usp_write_function write, void *context,
                      struct uspi_error *error) {
    int status = USP_OK;
    for (uint64_t at = 0; status == USP_OK && at < bytes.size; at += PIECE) {
        const size_t n = bytes.size - at < PIECE ? (size_t)(bytes.size - at) : PIECE;
        status = uspi_bytes_read(bytes, at, piece, n, "image", error);
        if (status != USP_OK) break;
        if (at == 0 && n >= FLAGS + 4) piece[FLAGS + 3] &= (uint8_t)~(USPI_MH_DYLIB_IN_CACHE >> 24);
        status = write(context, (const char *)piece, n);
    }
    return status;
}

int usp_dyld_caches_extract(const struct usp_dyld_caches *caches, const uint8_t *uuid, usp_write_function write,
                            void *context, char *error, size_t error_size) {
    struct uspi_error reason = {.text = ""};
    struct uspi_dyld_stubs stubs;
    struct uspi_file *file = NULL;
    if (error != NULL && error_size > 0) error[0] = '\0';
    if (caches == NULL || uuid == NULL || write == NULL) return USP_ERROR_ARGUMENT;
    int status = uspi_dyld_image_open(caches, uuid, &file, &reason);
    if (status == USP_OK && uspi_dyld_stubs_of(file, &stubs)) {
        status = uspi_error_set(&reason, USP_ERROR_NOT_FOUND, "stubs are not an image");
    }
    uint8_t *piece = status == USP_OK ? malloc(PIECE) : NULL;
    if (status == USP_OK && piece == NULL) status = uspi_error_set(&reason, USP_ERROR_NO_MEMORY, "out of memory");
    if (status == USP_OK) status = write_file(uspi_file_bytes(file), piece, write, context, &reason);
    free(piece);
    uspi_file_close(file);
    if (status != USP_OK && error != NULL && error_size > 0) snprintf(error, error_size, "%s", reason.text);
    return status;
}
