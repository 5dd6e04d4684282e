/* SPDX-License-Identifier: MIT */
/* Interprets the bind opcodes of LC_DYLD_INFO, which tell the loader which import to write where. Keeps no results.
 * Source: xnu EXTERNAL_HEADERS/mach-o/loader.h (BIND_OPCODE_*). */
#ifndef USPI_OBJECT_BIND_OPCODES_H
#define USPI_OBJECT_BIND_OPCODES_H

#include "lib/object/macho_space.h"

/* Called for each bind. location: the address to write to, as linked. name: offset of the symbol's NUL-terminated name
 * in the file. Returns USP_OK, or a status that ends the walk. */
typedef int (*uspi_bind_visit)(void *context, usp_addr location, uint64_t name, struct uspi_error *error);

/* Visits all non-lazy binds of a file. Returns USP_OK (also if there are no opcodes), what `visit` returned,
 * USP_ERROR_TRUNCATED, or USP_ERROR_FORMAT: an unknown opcode, a location outside its segment, or more binds than the
 * file has bytes. */
int uspi_bind_opcodes_walk(const struct uspi_macho_space *space, uspi_bind_visit visit, void *context,
                           struct uspi_error *error);

#endif
