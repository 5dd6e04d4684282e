/* SPDX-License-Identifier: MIT */
/* A file that is open for the readers of lib/object/: its bytes and its path. The one place that opens object and core files.
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

/* Takes over bytes of a heap block as a file; `path` is for messages. On failure they stay the caller's. USP_OK or
 * USP_ERROR_NO_MEMORY. */
int uspi_file_of_bytes(const char *path, uint8_t *bytes, size_t size, struct uspi_file **file);

/* NULL is ignored. */
void uspi_file_close(struct uspi_file *file);

/* The whole file or the part that it was narrowed to, and its path as it was opened; both live as long as the file is
 * open. */
struct uspi_bytes uspi_file_bytes(const struct uspi_file *file);
const char *uspi_file_path(const struct uspi_file *file);

/* When it was written last, in seconds since 1970. */
uint64_t uspi_file_modified(const struct uspi_file *file);

/* From here on a range of the file's bytes (a member of an archive) stands for the file. */
void uspi_file_narrow(struct uspi_file *file, struct uspi_bytes part);

/* Judges a candidate: USP_OK, or a status with *error saying why it is not the file that is wanted. */
typedef int (*uspi_judge)(void *context, struct uspi_bytes bytes, struct uspi_error *error);

#endif
