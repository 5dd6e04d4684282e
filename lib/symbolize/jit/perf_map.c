/* SPDX-License-Identifier: MIT */
/* See perf_map.h. */
#include "lib/symbolize/jit/perf_map.h"

#include <stdlib.h>
#include <string.h>

/* So much is read at a time. A longer line is cut. */
#define PIECE (64u << 10)

static int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A number in hexadecimal, with or without 0x, and the blank behind it. Moves *at behind that. */
static bool take_number(const char **at, const char *end, uint64_t *value) {
    const char *p = *at;
    if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) p += 2;
    const char *first = p;
    for (*value = 0; p < end && digit_of(*p) >= 0; p++) {
        if (*value >> 60 != 0) return false;
        *value = *value << 4 | (uint64_t)digit_of(*p);
    }
    if (p == first || p == end || *p != ' ') return false;
    *at = p + 1;
    return true;
}

static int take_line(const char *line, const char *end, uint64_t order, struct uspi_jit_map *map) {
    struct uspi_jit_code code = {.order = order};
    if (end > line && end[-1] == '\r') end--;
    if (!take_number(&line, end, &code.start) || !take_number(&line, end, &code.size)) return USP_OK;
    /* A name is what makes it an entry: without one the line may not have been written to its end. */
    if (line == end || *line == '\0') return USP_OK;
    return uspi_jit_map_add(map, &code, line, (size_t)(end - line));
}

/* The complete lines of n bytes. *used becomes how many bytes they have. */
static int take_lines(struct uspi_perf_map *state, const char *bytes, size_t n, size_t *used,
                      struct uspi_jit_map *map) {
    int status = USP_OK;
    *used = 0;
    while (status == USP_OK) {
        const char *line = bytes + *used, *end = memchr(line, '\n', n - *used);
        if (end == NULL) break;
        status = take_line(line, end, state->lines++, map);
        *used = (size_t)(end - bytes) + 1;
    }
    return status;
}

static int read_pieces(struct uspi_perf_map *state, struct uspi_bytes file, char *piece, struct uspi_jit_map *map) {
    bool is_cut = false; /* the bytes up to the end of the line belong to one that was taken */
    uint64_t at = state->offset;
    while (at < file.size) {
        const size_t n = file.size - at < PIECE ? (size_t)(file.size - at) : PIECE;
        int status = uspi_bytes_read(file, at, piece, n, "perf map", NULL);
        if (status != USP_OK) return status;
        size_t used = 0, skipped = 0;
        if (is_cut) {
            const char *end = memchr(piece, '\n', n);
            skipped = end != NULL ? (size_t)(end - piece) + 1 : n;
            is_cut = end == NULL;
        }
        status = take_lines(state, piece + skipped, n - skipped, &used, map);
        if (status != USP_OK) return status;
        used += skipped;
        if (used == 0 || (at + n >= file.size && used < n)) {
            /* The last line, which may go on later, or one that is too long. */
            status = take_line(piece + used, piece + n, state->lines, map);
            if (status != USP_OK || at + n >= file.size) {
                state->offset = at + used;
                return status;
            }
            is_cut = true;
            state->lines++;
            used = n;
        }
        at += used;
        if (!is_cut) state->offset = at;
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
