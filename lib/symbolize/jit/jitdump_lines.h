/* SPDX-License-Identifier: MIT */
/* Records of lines in a jitdump (JIT_CODE_DEBUG_INFO): addresses with lines and files. Each comes before the record
 * that loads the code.
 *
 * Writers disagree on the origin of the addresses. Most write the addresses of the code. V8 adds the size of an ELF
 * header, because perf puts one before the code (src/diagnostics/perf-jit.cc, LogWriteDebugInfo). So none of V8's
 * addresses is less than that size above the code's start. With other writers, the first address of nearly every
 * function is. One such address shows that nothing was added in the whole file. */
#ifndef USPI_SYMBOLIZE_JIT_JITDUMP_LINES_H
#define USPI_SYMBOLIZE_JIT_JITDUMP_LINES_H

#include "lib/base/span.h"
#include "lib/symbolize/jit/jitdump.h"

/* Takes the record at `at`, of `size` bytes. Its rows are added to the map, and wait in state->lines for their code. A
 * record is skipped when its addresses descend, or when it does not hold what it announces. Returns USP_OK,
 * USP_ERROR_NO_MEMORY, or the status with which reading failed. */
int uspi_jitdump_take_lines(struct uspi_jitdump *state, struct uspi_bytes file, uint64_t at, uint64_t size,
                            struct uspi_jit_map *map);

/* Gives the waiting rows to a piece of code with that name, if they belong to it. Returns USP_OK or
 * USP_ERROR_NO_MEMORY. */
int uspi_jitdump_give_lines(struct uspi_jitdump *state, struct uspi_jit_code *code, struct uspi_span name,
                            struct uspi_jit_map *map);

/* Returns a number of the file, which is in the file's byte order. */
static inline uint64_t uspi_jitdump_number(const struct uspi_jitdump *state, const uint8_t *at, unsigned width) {
    return state->is_big ? uspi_be(at, width) : uspi_le(at, width);
}

#endif
