/* SPDX-License-Identifier: MIT */
/* See jitdump.h. */
#include "lib/symbolize/jit/jitdump.h"
#include "lib/base/span.h"

#include <stdlib.h>
#include <string.h>

/* ---- jitdump lines ---- */

/* Records of lines in a jitdump (JIT_CODE_DEBUG_INFO): addresses with lines and files. Each comes before the record
 * that loads the code.
 *
 * Writers disagree on the origin of the addresses. Most write the addresses of the code. V8 adds the size of an ELF
 * header, because perf puts one before the code (src/diagnostics/perf-jit.cc, LogWriteDebugInfo). So none of V8's
 * addresses is less than that size above the code's start. With other writers, the first address of nearly every
 * function is. One such address shows that nothing was added in the whole file. */

/* Returns a number of the file, which is in the file's byte order. */
static inline uint64_t uspi_jitdump_number(const struct uspi_jitdump *state, const uint8_t *at, unsigned width) {
    return state->is_big ? uspi_be(at, width) : uspi_le(at, width);
}

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
static int read_name(struct entries *e, uint8_t *name, size_t name_capacity, size_t *length) {
    for (size_t capacity = SHORT_NAME;; capacity = name_capacity) {
        const size_t n = e->left < capacity ? (size_t)e->left : capacity;
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
        if (capacity == name_capacity || n < capacity) return USP_ERROR_FORMAT;
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

/* Takes the record at `at`, of `size` bytes. Its rows are added to the map, and wait in state->lines for their code. A
 * record is skipped when its addresses descend, or when it does not hold what it announces. Returns USP_OK,
 * USP_ERROR_NO_MEMORY, or the status with which reading failed. */
static int jitdump_take_lines(struct uspi_jitdump *state, struct uspi_bytes file, uint64_t at, uint64_t size,
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

/* Gives the waiting rows to a piece of code with that name, if they belong to it. Returns USP_OK or
 * USP_ERROR_NO_MEMORY. */
static int jitdump_give_lines(struct uspi_jitdump *state, struct uspi_jit_code *code, struct uspi_span name,
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

#define MAGIC   0x4A695444u /* "JiTD" */
#define VERSION 1u

/* The sizes of the file's header, of a record's header, and of the fixed parts of records, headers included. */
#define FILE_HEADER   40u
#define RECORD_HEADER 16u
#define LOAD_FIXED    56u
#define MOVE_FIXED    64u

enum record { CODE_LOAD = 0, CODE_MOVE = 1, CODE_DEBUG_INFO = 2 };

/* The ELF numbers of the supported processors that have the small ELF header. */
enum { MACHINE_I386 = 3, MACHINE_ARM = 40 };
#define NARROW_ELF_HEADER 52u
#define WIDE_ELF_HEADER   64u

struct reading {
    struct uspi_jitdump *state;
    struct uspi_bytes file;
    struct uspi_jit_map *map;
};

/* ---- records ---- */

/* Adds a piece of code and remembers its number. */
static int add_code(struct reading *r, const struct uspi_jit_code *code, uint64_t index, const char *name,
                    size_t length) {
    const size_t before = r->map->count;
    int status = uspi_jit_map_add(r->map, code, name, length);
    if (status != USP_OK || r->map->count == before) return status;
    return uspi_numbers_keep(&r->state->codes, index, (uint32_t)before + 1) ? USP_OK : USP_ERROR_NO_MEMORY;
}

static int take_load(struct reading *r, uint64_t at, uint64_t size, uint64_t time) {
    uint8_t fixed[LOAD_FIXED];
    char name[USPI_JIT_NAME_MAX];
    if (size <= LOAD_FIXED) return USP_OK;
    int status = uspi_bytes_read(r->file, at, fixed, sizeof fixed, "jitdump record", NULL);
    if (status != USP_OK) return status;
    const uint64_t left = size - LOAD_FIXED;
    const size_t capacity = left < sizeof name ? (size_t)left : sizeof name;
    status = uspi_bytes_read(r->file, at + LOAD_FIXED, name, capacity, "jitdump record", NULL);
    if (status != USP_OK) return status;
    struct uspi_jit_code code = {.start = uspi_jitdump_number(r->state, fixed + 32, 8),
                                 .size = uspi_jitdump_number(r->state, fixed + 40, 8),
                                 .order = time};
    const size_t length = strnlen(name, capacity);
    if (length == 0) return USP_OK;
    status = jitdump_give_lines(r->state, &code, (struct uspi_span){name, length}, r->map);
    if (status != USP_OK) return status;
    return add_code(r, &code, uspi_jitdump_number(r->state, fixed + 48, 8), name, length);
}

static int take_move(struct reading *r, uint64_t at, uint64_t size, uint64_t time) {
    uint8_t fixed[MOVE_FIXED];
    char name[USPI_JIT_NAME_MAX];
    if (size < MOVE_FIXED) return USP_OK;
    int status = uspi_bytes_read(r->file, at, fixed, sizeof fixed, "jitdump record", NULL);
    if (status != USP_OK) return status;
    const uint64_t index = uspi_jitdump_number(r->state, fixed + 56, 8);
    const uint32_t known = uspi_numbers_get(&r->state->codes, index);
    if (known == 0) return USP_OK;
    const struct uspi_jit_code moved = r->map->codes[known - 1];
    struct uspi_jit_code code = {.start = uspi_jitdump_number(r->state, fixed + 32, 8),
                                 .size = uspi_jitdump_number(r->state, fixed + 48, 8),
                                 .order = time};
    status = uspi_jit_map_add(r->map, &code, NULL, 0);
    if (status != USP_OK) return status;
    code.start = uspi_jitdump_number(r->state, fixed + 40, 8);
    code.first_row = moved.first_row;
    code.row_count = moved.row_count;
    memcpy(name, r->map->text + moved.name, moved.name_length);
    return add_code(r, &code, index, name, moved.name_length);
}

static int read_header(struct uspi_jitdump *state, struct uspi_bytes file, int64_t pid) {
    uint8_t header[FILE_HEADER];
    int status = uspi_bytes_read(file, 0, header, sizeof header, "jitdump header", NULL);
    if (status != USP_OK) return status;
    state->is_big = uspi_be32(header) == MAGIC;
    const uint64_t size = uspi_jitdump_number(state, header + 8, 4),
                   writer = uspi_jitdump_number(state, header + 20, 4);
    if (uspi_jitdump_number(state, header, 4) != MAGIC || uspi_jitdump_number(state, header + 4, 4) != VERSION ||
        size < FILE_HEADER) {
        return USP_ERROR_FORMAT;
    }
    if (pid != 0 && writer != (uint64_t)pid) return USP_ERROR_MISMATCH;
    const uint64_t machine = uspi_jitdump_number(state, header + 12, 4);
    state->elf_header = machine == MACHINE_I386 || machine == MACHINE_ARM ? NARROW_ELF_HEADER : WIDE_ELF_HEADER;
    state->offset = size;
    return USP_OK;
}

int uspi_jitdump_read(struct uspi_jitdump *state, struct uspi_bytes file, int64_t pid, struct uspi_jit_map *map) {
    struct reading r = {state, file, map};
    int status = state->offset == 0 ? read_header(state, file, pid) : USP_OK;
    while (status == USP_OK && !state->is_damaged && state->offset <= file.size &&
           file.size - state->offset >= RECORD_HEADER) {
        uint8_t header[RECORD_HEADER];
        status = uspi_bytes_read(file, state->offset, header, sizeof header, "jitdump record", NULL);
        if (status != USP_OK) break;
        const uint64_t size = uspi_jitdump_number(state, header + 4, 4),
                       time = uspi_jitdump_number(state, header + 8, 8);
        state->is_damaged = size < RECORD_HEADER;
        if (state->is_damaged || size > file.size - state->offset) break;
        switch (uspi_jitdump_number(state, header, 4)) {
        case CODE_LOAD: status = take_load(&r, state->offset, size, time); break;
        case CODE_MOVE: status = take_move(&r, state->offset, size, time); break;
        case CODE_DEBUG_INFO: status = jitdump_take_lines(state, file, state->offset, size, map); break;
        default: break;
        }
        if (status == USP_OK) state->offset += size;
    }
    return status;
}

void uspi_jitdump_clear(struct uspi_jitdump *state) {
    uspi_numbers_free(&state->codes);
    memset(state, 0, sizeof *state);
}
