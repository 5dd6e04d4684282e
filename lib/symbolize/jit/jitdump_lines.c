/* SPDX-License-Identifier: MIT */
/* See jitdump_lines.h. */
#include "lib/symbolize/jit/jitdump_lines.h"

#include <string.h>

/* The sizes of the record before its entries, and of an entry (address, line, discriminator) before its name. */
#define FIXED 32u
#define ENTRY 16u

/* The maximum number of bytes after the last name of a record, which is padded to a multiple of 8. */
#define FILLING_MAX 7u

/* Most names are shorter than this. */
#define SHORT_NAME 256u

/* How many bytes of a path are lost. Node 20 writes the paths of files that it loads by require() from freed memory.
 * The C library keeps two pointers there (glibc malloc/malloc.c, tcache_entry), which may contain NULs. The path's
 * length and its other bytes are intact. */
#define LOST 16u

struct entries {
    const struct uspi_jitdump *state;
    struct uspi_bytes file;
    uint64_t at, left; /* what was not read yet */
    uint64_t more;     /* number of entries after this one */
    usp_addr start;    /* of the code */
    usp_addr address;  /* of this entry */
};

/* Returns whether a name can end before these bytes. Of them, n were read; `left` bytes of the record are left. */
static bool can_follow_name(const struct entries *e, const uint8_t *next, size_t n, uint64_t left) {
    if (e->more == 0) return left <= FILLING_MAX;
    if (n < ENTRY) return false;
    const usp_addr address = uspi_jitdump_number(e->state, next, 8);
    return address >= e->address && address - e->start <= UINT32_MAX;
}

/* Reads the name of an entry. The name ends at the first NUL that is followed by another entry or by the end of the
 * record. */
static int read_name(struct entries *e, uint8_t *name, size_t name_room, size_t *length) {
    for (size_t room = SHORT_NAME;; room = name_room) {
        const size_t n = e->left < room ? (size_t)e->left : room;
        int status = uspi_bytes_read(e->file, e->at, name, n, "jitdump record", NULL);
        if (status != USP_OK) return status;
        for (const uint8_t *end = name; (end = memchr(end, 0, n - (size_t)(end - name))) != NULL;) {
            const size_t used = (size_t)(++end - name);
            if (!can_follow_name(e, end, n - used, e->left - used)) continue;
            *length = used - 1;
            e->at += used;
            e->left -= used;
            return USP_OK;
        }
        if (room == name_room || n < room) return USP_ERROR_FORMAT;
    }
}

/* Keeps the intact end of a record's first damaged path. *is_kept becomes false when this path is a different one. */
static int keep_damaged(struct uspi_jitdump_lines *lines, const char *name, size_t length, struct uspi_jit_map *map,
                        bool *is_kept) {
    const char *tail = name + LOST;
    *is_kept = length > LOST && memchr(tail, 0, length - LOST) == NULL;
    if (!*is_kept) return USP_OK;
    if (map->files == NULL) map->files = uspi_names_create();
    tail = map->files != NULL ? uspi_names_keep(map->files, tail, length - LOST) : NULL;
    if (tail == NULL) return USP_ERROR_NO_MEMORY;
    if (lines->tail == NULL) {
        lines->tail = tail;
        lines->damaged_length = length;
    }
    *is_kept = lines->tail == tail;
    return USP_OK;
}

/* Adds the row of an entry with this name. */
static int add_row(struct uspi_jitdump_lines *lines, struct uspi_jit_row row, const char *name, size_t length,
                   struct uspi_jit_map *map) {
    if (length == 1 && name[0] == '\xff') {
        /* The file is that of the entry before. */
        row.file = map->row_count > lines->first ? map->rows[map->row_count - 1].file : NULL;
        if (row.file == NULL && lines->tail == NULL) row.line = 0;
        return uspi_jit_map_add_row(map, row, NULL, 0);
    }
    if (length > 0 && memchr(name, 0, length) == NULL) return uspi_jit_map_add_row(map, row, name, length);
    bool is_kept;
    int status = keep_damaged(lines, name, length, map, &is_kept);
    if (!is_kept) row.line = 0;
    return status == USP_OK ? uspi_jit_map_add_row(map, row, NULL, 0) : status;
}

static int take_entries(struct uspi_jitdump *state, struct entries *e, struct uspi_jitdump_lines *lines,
                        struct uspi_jit_map *map) {
    uint8_t name[USPI_JIT_NAME_MAX + 1 + ENTRY], fixed[ENTRY];
    int status = USP_OK;
    while (status == USP_OK && e->more > 0) {
        size_t length = 0;
        if (e->left < sizeof fixed) return USP_ERROR_FORMAT;
        status = uspi_bytes_read(e->file, e->at, fixed, sizeof fixed, "jitdump record", NULL);
        if (status != USP_OK) return status;
        const usp_addr address = uspi_jitdump_number(state, fixed, 8);
        if (address < e->address || address - e->start > UINT32_MAX) return USP_ERROR_FORMAT;
        e->address = address;
        e->at += sizeof fixed;
        e->left -= sizeof fixed;
        e->more--;
        status = read_name(e, name, sizeof name, &length);
        if (status != USP_OK) return status;
        const struct uspi_jit_row row = {.offset = (uint32_t)(address - e->start),
                                         .line = (uint32_t)uspi_jitdump_number(state, fixed + 8, 4)};
        status = add_row(lines, row, (const char *)name, length, map);
    }
    return status;
}

int uspi_jitdump_take_lines(struct uspi_jitdump *state, struct uspi_bytes file, uint64_t at, uint64_t size,
                            struct uspi_jit_map *map) {
    uint8_t fixed[FIXED];
    state->lines.count = 0;
    if (size < FIXED) return USP_OK;
    int status = uspi_bytes_read(file, at, fixed, sizeof fixed, "jitdump record", NULL);
    if (status != USP_OK) return status;
    struct uspi_jitdump_lines lines = {.start = uspi_jitdump_number(state, fixed + 16, 8), .first = map->row_count};
    struct entries e = {.state = state,
                        .file = file,
                        .at = at + FIXED,
                        .left = size - FIXED,
                        .more = uspi_jitdump_number(state, fixed + 24, 8),
                        .start = lines.start,
                        .address = lines.start};
    status = take_entries(state, &e, &lines, map);
    if (map->row_count >= USPI_JIT_ROWS_MAX) status = USP_ERROR_FORMAT; /* some rows did not fit */
    if (status != USP_OK) {
        map->row_count = lines.first;
        return status == USP_ERROR_FORMAT ? USP_OK : status;
    }
    lines.count = map->row_count - lines.first;
    state->lines = lines;
    if (lines.count > 0 && map->rows[lines.first].offset < state->elf_header) state->counts_plainly = true;
    map->row_base = state->counts_plainly ? 0 : state->elf_header;
    return USP_OK;
}

/* Finds the damaged path in the name of the code, where V8 repeats it: "JS:*name PATH:LINE:COLUMN". Length 0: it is not
 * there. */
static struct uspi_span find_path(const struct uspi_jitdump_lines *lines, struct uspi_span name) {
    const struct uspi_span tail = uspi_span_of(lines->tail);
    const size_t at = uspi_span_find(name, 0, tail);
    if (at >= name.length || at < LOST) return (struct uspi_span){0};
    const size_t from = at - LOST, to = from + lines->damaged_length;
    const bool is_whole = from > 0 && name.bytes[from - 1] == ' ' && to < name.length && name.bytes[to] == ':';
    return is_whole ? uspi_span_part(name, from, to) : (struct uspi_span){0};
}

int uspi_jitdump_give_lines(struct uspi_jitdump *state, struct uspi_jit_code *code, struct uspi_span name,
                            struct uspi_jit_map *map) {
    const struct uspi_jitdump_lines lines = state->lines;
    if (lines.count == 0 || lines.start != code->start) return USP_OK;
    state->lines.count = 0;
    code->first_row = lines.first;
    code->row_count = (uint32_t)lines.count;
    if (lines.tail == NULL) return USP_OK;
    const struct uspi_span path = find_path(&lines, name);
    if (path.length == 0) return USP_OK;
    const char *file = uspi_names_keep(map->files, path.bytes, path.length);
    if (file == NULL) return USP_ERROR_NO_MEMORY;
    for (size_t i = lines.first; i < lines.first + lines.count; i++) {
        if (map->rows[i].file == NULL) map->rows[i].file = file;
    }
    return USP_OK;
}
