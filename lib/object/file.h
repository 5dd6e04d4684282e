/* SPDX-License-Identifier: MIT */
/* Opening a file for the readers of lib/object/, and telling what it is. The one place that opens object and core files.
 *
 * A file is mapped where that is cheap. What does not fit into the address space (a large core on a 32-bit host, a limit
 * of the process) is read piece by piece instead: then the page cache is the window, and neither memory nor address
 * space grows with the file. */
#ifndef USPI_FILE_H
#define USPI_FILE_H

#include "lib/object/bytes.h"

/* Opaque; any number of threads may read one. */
struct uspi_file;

/* Opens a regular file; anything else (a device, a pipe: a hostile core may name one) is refused unopened. On success
 * *file is the caller's, to be closed. USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_PERMISSION, USP_ERROR_SYSTEM,
 * USP_ERROR_FORMAT (not a regular file), USP_ERROR_NO_MEMORY. */
int uspi_file_open(const char *path, struct uspi_file **file, struct uspi_error *error);

/* NULL is ignored. */
void uspi_file_close(struct uspi_file *file);

/* The whole file or the part that it was narrowed to, and its path as it was opened; both live as long as the file is
 * open. */
struct uspi_bytes uspi_file_bytes(const struct uspi_file *file);
const char *uspi_file_path(const struct uspi_file *file);

/* From here on a range of the file's bytes (a member of an archive) stands for the file. */
void uspi_file_narrow(struct uspi_file *file, struct uspi_bytes part);

enum uspi_format {
    USPI_FORMAT_UNKNOWN = 0,
    USPI_FORMAT_ELF,
    USPI_FORMAT_MACHO,  /* thin, 32 or 64 bits */
    USPI_FORMAT_FAT,    /* several Mach-O files behind a table; 32- or 64-bit offsets */
    USPI_FORMAT_ARCHIVE /* thin ones as well */
};

/* What the first bytes say; whether it is true, the format's own reader finds out. Big-endian ELF and Mach-O count as
 * theirs, so that the reader can refuse them by name. */
enum uspi_format uspi_identify(struct uspi_bytes bytes);

#endif
