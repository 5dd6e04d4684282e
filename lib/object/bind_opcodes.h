/* SPDX-License-Identifier: MIT */
/* The bind opcodes of LC_DYLD_INFO: which import the loader writes where. Carried out one by one, nothing is kept.
 * Source: xnu EXTERNAL_HEADERS/mach-o/loader.h (BIND_OPCODE_*). */
#ifndef USPI_BIND_OPCODES_H
#define USPI_BIND_OPCODES_H

#include "lib/object/macho_space.h"

/* Called for each location, as linked. name: the symbol's, NUL-terminated, by its offset in the file. Returns USP_OK, or a
 * status that ends the walk. */
typedef int (*uspi_bind_visit)(void *context, usp_addr location, uint64_t name, struct uspi_error *error);

/* Visits all non-lazy binds of a file. USP_OK (also without opcodes), what `visit` returned, USP_ERROR_TRUNCATED, or
 * USP_ERROR_FORMAT: an opcode that does not exist, a location outside of its segment, or more binds than the file has
 * bytes. */
int uspi_bind_opcodes_walk(const struct uspi_macho_space *space, uspi_bind_visit visit, void *context,
                           struct uspi_error *error);

#endif
