/* SPDX-License-Identifier: MIT */
/* Perf maps, /tmp/perf-PID.map: a line "START SIZE NAME" for each piece of generated code, with hexadecimal numbers
 * (Linux tools/perf/Documentation/jit-interface.txt). The file only grows. A later line replaces earlier ones for the
 * same addresses. */
#ifndef USPI_SYMBOLIZE_JIT_PERF_MAP_H
#define USPI_SYMBOLIZE_JIT_PERF_MAP_H

#include "lib/object/bytes.h"
#include "lib/symbolize/jit/code_map.h"

/* How far a file was read. All zero: nothing was read. */
struct uspi_perf_map {
    uint64_t offset; /* of the first line that was incomplete when it was read */
    uint64_t lines;
};

/* Reads what was added to the file since the last call. Invalid lines are skipped. A last line without its end is used,
 * and read again the next time. Returns USP_OK, USP_ERROR_NO_MEMORY, or the status with which reading failed. */
int uspi_perf_map_read(struct uspi_perf_map *state, struct uspi_bytes file, struct uspi_jit_map *map);

#endif
