/* SPDX-License-Identifier: MIT */
/* Makes a Mach-O file of an image of a dyld shared cache (dyld_caches.h), for other tools. */
#ifndef UNSPOOL_DYLD_EXTRACT_H
#define UNSPOOL_DYLD_EXTRACT_H

#include <unspool/dyld_caches.h>
#include <unspool/format.h>

USP_BEGIN_DECLS

/* Writes the image with a UUID, of 16 bytes, as a Mach-O file at the addresses for which the cache was linked: its
 * segments one after the other, pointers as plain addresses, and a symbol table of its own with the local symbols that
 * the cache keeps apart. It serves to look at; dyld cannot load it: pointers to other images are addresses of the cache,
 * and there is no signature.
 *   write   receives the file from its beginning, in pieces; a result other than USP_OK ends the work
 *   error   may be NULL; `error_size` bytes, receives a sentence that says why it failed
 * Returns USP_OK, what `write` returned, USP_ERROR_ARGUMENT, USP_ERROR_NOT_FOUND (no cache has the image, or the file
 * that holds it is missing), USP_ERROR_FORMAT, USP_ERROR_TRUNCATED, USP_ERROR_SYSTEM, USP_ERROR_NO_MEMORY. Thread-safe,
 * not async-signal-safe: it reads files and allocates. */
USP_API int usp_dyld_caches_extract(const struct usp_dyld_caches *caches, const uint8_t *uuid, usp_write_function write,
                                    void *context, char *error, size_t error_size);

USP_END_DECLS

#endif
