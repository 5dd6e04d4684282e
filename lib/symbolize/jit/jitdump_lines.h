/* SPDX-License-Identifier: MIT */
/* Records of lines in a jitdump (JIT_CODE_DEBUG_INFO): addresses with lines and files, in front of the record that loads the
 * code. Writers do not agree on what the addresses count from. Most give those of the code. V8 adds the size of an ELF header,
 * as perf puts one in front of the code (src/diagnostics/perf-jit.cc, LogWriteDebugInfo). No address of V8's lies less than that
 * behind the code's start; of other writers the first one of nearly every function does. So one address that does says of
 * the whole file that nothing was added. */
#ifndef USPI_JIT_DUMP_LINES_H
#define USPI_JIT_DUMP_LINES_H

#include "lib/base/span.h"
#include "lib/symbolize/jit/jitdump.h"

/* Takes the record at `at`, of `size` bytes: its rows come into the map, and wait in state->lines. A record whose addresses
 * descend, or that does not hold what it announces, is passed over. USP_OK, USP_ERROR_NO_MEMORY, or what reading the file
 * failed with. */
int uspi_jitdump_take_lines(struct uspi_jitdump *state, struct uspi_bytes file, uint64_t at, uint64_t size,
                            struct uspi_jit_map *map);

/* Gives the rows that wait to a piece of code with that name, if they are its. USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_jitdump_give_lines(struct uspi_jitdump *state, struct uspi_jit_code *code, struct uspi_span name,
                            struct uspi_jit_map *map);

/* A number of the file, in its byte order. */
static inline uint64_t uspi_jitdump_number(const struct uspi_jitdump *state, const uint8_t *at, unsigned width) {
    return state->is_big ? uspi_be(at, width) : uspi_le(at, width);
}

#endif
