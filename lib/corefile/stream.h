/* SPDX-License-Identifier: MIT */
/* A core that is read once, from its beginning on, as the kernel writes it to the program of a piped core_pattern. What a
 * walk needs is kept in memory; nothing is written to a disk. */
#ifndef USPI_COREFILE_STREAM_H
#define USPI_COREFILE_STREAM_H

#include "lib/corefile/core.h"

#include <unspool/snapshot.h>

/* Reads the headers and the notes of an ELF core. Without `stream->memory` it then reads on and keeps, up to
 * `stream->max_bytes`, of each stack the innermost 4 MB (of the crashed thread's 16 MB) and the outermost 256 KB, and the
 * beginnings and ends of the other segments; with it, the rest of the core is not read, and memory is that of the
 * process. Otherwise as uspi_core_open. */
int uspi_core_open_stream(const struct usp_core_stream *stream, const struct uspi_core_options *options,
                          struct uspi_core **core, struct uspi_error *error);

#endif
