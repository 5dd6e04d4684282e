/* SPDX-License-Identifier: MIT */
/* An open file for the readers of lib/object/: its bytes and its path. All object and core files are opened here.
 *
 * A file is read into memory of this process block by block, when its bytes are first used, and stays as it was read
 * then. It is never mapped: a mapped file that another program shortens would end this process by SIGBUS. Bytes that
 * are cut off before they are read are reported as USP_ERROR_TRUNCATED. A file that does not fit into the address space
 * (a large core file on a 32-bit host, a limit of the process) is read piece by piece instead. */
#ifndef USPI_IMAGES_FILE_H
#define USPI_IMAGES_FILE_H

#include "lib/object/bytes.h"

/* Opaque. Several threads may read one file at the same time. */
struct uspi_file;

/* Opens a regular file. Anything else (a device, a pipe: a hostile core file may name one) is refused without opening
 * it. On success the caller closes *file. Returns USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_PERMISSION, USP_ERROR_SYSTEM,
 * USP_ERROR_FORMAT (not a regular file), or USP_ERROR_NO_MEMORY. */
int uspi_file_open(const char *path, struct uspi_file **file, struct uspi_error *error);

/* The same, but links in a path below the folder `within` are resolved as if that was the root of all files, so that
 * they do not lead out of it. A path that does not begin with `within`, and NULL: as uspi_file_open. */
int uspi_file_open_within(const char *path, const char *within, struct uspi_file **file, struct uspi_error *error);

/* The same, but the bytes that are read are not kept in memory: for files of which few bytes are read, and once. */
int uspi_file_open_unkept(const char *path, struct uspi_file **file, struct uspi_error *error);

/* The bytes of a file that is made while it is read. */
struct uspi_made_bytes {
    uint64_t size;
    /* Like usp_memory.read, of positions in the file. */
    int (*read)(void *context, uint64_t at, void *to, size_t n);
    /* Frees the context. */
    void (*close)(void *context);
    void *context;
    uint32_t withheld; /* what uspi_file_withheld returns for the file */
};

/* Makes a file of such bytes, which the file owns from then on; `path` is for messages. On failure the caller still owns
 * them. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_file_of_made(const char *path, const struct uspi_made_bytes *made, struct uspi_file **file);

/* Returns the context of a file that was made with this `read`; NULL for any other file, and for NULL. */
void *uspi_file_context(const struct uspi_file *file, int (*read)(void *context, uint64_t at, void *to, size_t n));

/* Makes a file of a heap block, which the file owns from then on; `path` is for messages. On failure the caller still
 * owns the block. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_file_of_bytes(const char *path, uint8_t *bytes, size_t size, struct uspi_file **file);

/* NULL is ignored. */
void uspi_file_close(struct uspi_file *file);

/* The bytes of the file, or of the part that it was narrowed to, and the path by which it was opened. Both are valid
 * until the file is closed. */
struct uspi_bytes uspi_file_bytes(const struct uspi_file *file);
const char *uspi_file_path(const struct uspi_file *file);

/* Returns the time of the file's last modification, in seconds since 1970. */
uint64_t uspi_file_modified(const struct uspi_file *file);

/* Returns the permissions that a file made of this one must not have: a part of 0777. NULL: none. */
uint32_t uspi_file_withheld(const struct uspi_file *file);

/* Makes uspi_file_bytes return `part`, a range of the file's bytes (a member of an archive), from then on. */
void uspi_file_narrow(struct uspi_file *file, struct uspi_bytes part);

/* Decides whether a candidate is the wanted file. Returns USP_OK, or another status and the reason in *error. */
typedef int (*uspi_judge)(void *context, struct uspi_bytes bytes, struct uspi_error *error);

#endif
