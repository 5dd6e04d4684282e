/* SPDX-License-Identifier: MIT */
/* Perf maps, /tmp/perf-PID.map: a line "START SIZE NAME" for each piece of generated code, the numbers in hexadecimal (Linux
 * tools/perf/Documentation/jit-interface.txt). The file only grows; a later line replaces what earlier ones say of the same
 * addresses. */
#ifndef USPI_JIT_PERF_MAP_H
#define USPI_JIT_PERF_MAP_H

#include "lib/object/bytes.h"
#include "lib/symbolize/jit/code_map.h"

/* How far a file was read. All zero: not at all. */
struct uspi_perf_map {
    uint64_t offset; /* of the first line that was not complete when it was read */
    uint64_t lines;
};

/* Reads what has come since the last time. Lines that are none are passed over; a last line without its end is used, and
 * read again the next time. USP_OK, USP_ERROR_NO_MEMORY, or what reading the file failed with. */
int uspi_perf_map_read(struct uspi_perf_map *state, struct uspi_bytes file, struct uspi_jit_map *map);

#endif
