/* SPDX-License-Identifier: MIT */
/* See perf_map.h. */
#include "lib/symbolize/jit/perf_map.h"

#include "lib/base/span.h"

#include <stdlib.h>
#include <string.h>

/* The number of bytes that are read at a time. A longer line is cut. */
#define PIECE (64u << 10)

/* How much of a file is read: more than the lines of a full map take. */
#define FILE_MAX (UINT64_C(512) << 20)

/* Reads a hexadecimal number, with or without 0x, and the space after it. Moves *at past both. */
static bool take_number(struct uspi_span line, size_t *at, uint64_t *value) {
    if (!uspi_skip(line, at, USPI_SPAN("0x"))) (void)uspi_skip(line, at, USPI_SPAN("0X"));
    return uspi_scan_hex_digits(line, at, value) && uspi_skip(line, at, USPI_SPAN(" "));
}

static int take_line(struct uspi_span line, uint64_t order, struct uspi_jit_map *map) {
    struct uspi_jit_code code = {.order = order};
    size_t at = 0;
    if (line.length > 0 && line.bytes[line.length - 1] == '\r') line.length--;
    if (!take_number(line, &at, &code.start) || !take_number(line, &at, &code.size)) return USP_OK;
    /* A line without a name is not used: it may not have been written completely. */
    if (at == line.length || line.bytes[at] == '\0') return USP_OK;
    return uspi_jit_map_add(map, &code, line.bytes + at, line.length - at);
}

/* Takes the complete lines in n bytes. *used becomes the number of bytes in these lines. */
static int take_lines(struct uspi_perf_map *state, const char *bytes, size_t n, size_t *used,
                      struct uspi_jit_map *map) {
    int status = USP_OK;
    *used = 0;
    while (status == USP_OK) {
        const char *line = bytes + *used, *end = memchr(line, '\n', n - *used);
        if (end == NULL) break;
        status = take_line((struct uspi_span){line, (size_t)(end - line)}, state->lines++, map);
        *used = (size_t)(end - bytes) + 1;
    }
    return status;
}

static int read_pieces(struct uspi_perf_map *state, struct uspi_bytes file, char *piece, struct uspi_jit_map *map) {
    bool is_cut = false; /* the rest of this line belongs to a line that was taken already */
    uint64_t at = state->offset;
    if (file.size > FILE_MAX) file.size = FILE_MAX;
    while (at < file.size && !uspi_jit_map_is_full(map)) {
        size_t n = file.size - at < PIECE ? (size_t)(file.size - at) : PIECE;
        int status = uspi_bytes_read(file, at, piece, n, "perf map", NULL);
        if (status != USP_OK) return status;
        /* The text ends at a NUL. A file of any size can consist of them without taking room on the disk. */
        const char *nul = memchr(piece, '\0', n);
        if (nul != NULL) n = (size_t)(nul - piece);
        const bool is_end = nul != NULL || at + n >= file.size;
        size_t used = 0, skipped = 0;
        if (is_cut) {
            const char *end = memchr(piece, '\n', n);
            skipped = end != NULL ? (size_t)(end - piece) + 1 : n;
            is_cut = end == NULL;
        }
        status = take_lines(state, piece + skipped, n - skipped, &used, map);
        if (status != USP_OK) return status;
        used += skipped;
        if (used == 0 || (is_end && used < n)) {
            /* This is the last line, which may be continued later, or a line that is too long. */
            status = take_line((struct uspi_span){piece + used, n - used}, state->lines, map);
            if (status != USP_OK || is_end) {
                state->offset = at + used;
                return status;
            }
            is_cut = true;
            state->lines++;
            used = n;
        }
        at += used;
        if (!is_cut) state->offset = at;
        if (is_end) break;
    }
    return USP_OK;
}

int uspi_perf_map_read(struct uspi_perf_map *state, struct uspi_bytes file, struct uspi_jit_map *map) {
    if (state->offset >= file.size) return USP_OK;
    char *piece = malloc(PIECE);
    if (piece == NULL) return USP_ERROR_NO_MEMORY;
    int status = read_pieces(state, file, piece, map);
    free(piece);
    return status;
}
