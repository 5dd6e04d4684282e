/* SPDX-License-Identifier: MIT */
/* See gsym.h. */
#include "lib/object/gsym.h"

#include <string.h>

#define MAGIC       UINT32_C(0x4753594d)
#define HEADER_SIZE 48u

/* Header.h: fields by offset. */
enum { AT_VERSION = 4, AT_WIDTH = 6, AT_UUID_SIZE = 7, AT_BASE = 8, AT_COUNT = 16, AT_STRINGS = 20, AT_UUID = 28 };

/* FunctionInfo.cpp: enum InfoType. */
enum { INFO_END = 0, INFO_LINES = 1, INFO_CALLS = 2 };

/* How many pieces of information a function may have. There are fewer kinds, and each occurs once. */
#define INFOS_MAX 16u

/* LineTable.cpp: enum LineTableOpCode. */
enum { OP_END = 0, OP_FILE = 1, OP_ADVANCE_ADDRESS = 2, OP_ADVANCE_LINE = 3, OP_FIRST_SPECIAL = 4 };

static bool load(const struct uspi_gsym *g, struct uspi_bytes bytes, uint64_t at, unsigned width, uint64_t *value) {
    uint8_t raw[8];
    if (uspi_bytes_read(bytes, at, raw, width, "GSYM", NULL) != USP_OK) return false;
    *value = g->is_big_endian ? uspi_be(raw, width) : uspi_le(raw, width);
    return true;
}

static bool load32(const struct uspi_gsym *g, struct uspi_bytes bytes, uint64_t at, uint32_t *value) {
    uint64_t loaded;
    if (!load(g, bytes, at, 4, &loaded)) return false;
    *value = (uint32_t)loaded;
    return true;
}

static bool read_magic(struct uspi_bytes bytes, bool *is_big_endian) {
    uint8_t raw[4];
    if (uspi_bytes_read(bytes, 0, raw, sizeof raw, "magic number", NULL) != USP_OK) return false;
    *is_big_endian = uspi_be32(raw) == MAGIC;
    return *is_big_endian || uspi_le32(raw) == MAGIC;
}

bool uspi_gsym_is(struct uspi_bytes bytes) {
    bool is_big_endian;
    return read_magic(bytes, &is_big_endian);
}

/* Finds the tables. They follow the header and each other, aligned to their entries (GsymReader::parse). */
static int find_tables(struct uspi_gsym *g, struct uspi_error *error) {
    const uint64_t count = g->count;
    struct uspi_bytes table;
    g->starts = HEADER_SIZE;
    int status = uspi_bytes_array(g->bytes, (struct uspi_array){g->starts, count, g->width, "starts of functions"},
                                  &table, error);
    if (status != USP_OK) return status;
    g->places = (g->starts + table.size + 3) & ~UINT64_C(3);
    status =
        uspi_bytes_array(g->bytes, (struct uspi_array){g->places, count, 4, "offsets of functions"}, &table, error);
    if (status != USP_OK) return status;
    g->files = g->places + table.size + 4;
    if (!load32(g, g->bytes, g->files - 4, &g->file_count))
        return uspi_bytes_error(error, g->bytes, g->files - 4, USP_ERROR_TRUNCATED, "ends before the table of files");
    return uspi_bytes_array(g->bytes, (struct uspi_array){g->files, g->file_count, 8, "table of files"}, &table, error);
}

int uspi_gsym_open(struct uspi_gsym *g, struct uspi_bytes bytes, struct uspi_error *error) {
    uint64_t version, width, uuid_size, strings, strings_size;
    memset(g, 0, sizeof *g);
    g->bytes = bytes;
    if (!read_magic(bytes, &g->is_big_endian)) return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "no GSYM");
    if (!load(g, bytes, AT_VERSION, 2, &version) || !load(g, bytes, AT_WIDTH, 1, &width) ||
        !load(g, bytes, AT_UUID_SIZE, 1, &uuid_size) || !load(g, bytes, AT_BASE, 8, &g->base) ||
        !load32(g, bytes, AT_COUNT, &g->count) || !load(g, bytes, AT_STRINGS, 4, &strings) ||
        !load(g, bytes, AT_STRINGS + 4, 4, &strings_size) ||
        uspi_bytes_read(bytes, AT_UUID, g->uuid, sizeof g->uuid, "UUID", NULL) != USP_OK) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_TRUNCATED, "ends in the header");
    }
    if (version != 1)
        return uspi_bytes_error(error, bytes, AT_VERSION, USP_ERROR_UNSUPPORTED, "GSYM of version %u, not 1",
                                (unsigned)version);
    if ((width != 1 && width != 2 && width != 4 && width != 8) || uuid_size > USPI_GSYM_UUID_MAX)
        return uspi_bytes_error(error, bytes, AT_WIDTH, USP_ERROR_FORMAT, "the header makes no sense");
    g->width = (unsigned)width;
    g->uuid_size = (uint8_t)uuid_size;
    int status = uspi_bytes_sub(bytes, strings, strings_size, "strings", &g->strings, error);
    return status == USP_OK ? find_tables(g, error) : status;
}

bool uspi_gsym_start(const struct uspi_gsym *g, uint64_t i, usp_addr *start) {
    uint64_t offset;
    return i < g->count && load(g, g->bytes, g->starts + i * g->width, g->width, &offset) &&
           uspi_sum(g->base, offset, start);
}

bool uspi_gsym_function(const struct uspi_gsym *g, uint64_t i, struct uspi_gsym_function *function) {
    const struct uspi_bytes all = g->bytes;
    uint32_t at32, type, size;
    usp_addr end;
    memset(function, 0, sizeof *function);
    if (!uspi_gsym_start(g, i, &function->start) || !load32(g, all, g->places + 4 * i, &at32)) return false;
    uint64_t at = at32;
    if (!load32(g, all, at, &function->size) || !load32(g, all, at + 4, &function->name)) return false;
    if (!uspi_sum(function->start, function->size, &end)) return false;
    at += 8;
    for (unsigned k = 0; k < INFOS_MAX && load32(g, all, at, &type) && load32(g, all, at + 4, &size); k++) {
        struct uspi_bytes info;
        if (type == INFO_END) return true;
        if (uspi_bytes_sub(all, at + 8, size, "function", &info, NULL) != USP_OK) return false;
        if (type == INFO_LINES) function->lines = info;
        if (type == INFO_CALLS) function->calls = info;
        at += (uint64_t)size + 8;
    }
    return false;
}

bool uspi_gsym_file(const struct uspi_gsym *g, uint64_t number, uint32_t *folder, uint32_t *name) {
    return number < g->file_count && load32(g, g->bytes, g->files + 8 * number, folder) &&
           load32(g, g->bytes, g->files + 8 * number + 4, name);
}

/* ---- lines ---- */

static bool take_byte(struct uspi_bytes bytes, uint64_t *at, uint8_t *byte) {
    return uspi_bytes_read(bytes, (*at)++, byte, 1, "GSYM", NULL) == USP_OK;
}

static bool take_uleb(struct uspi_bytes bytes, uint64_t *at, uint64_t *value) {
    return uspi_bytes_uleb(bytes, at, value, "GSYM", NULL) == USP_OK;
}

static bool take_sleb(struct uspi_bytes bytes, uint64_t *at, int64_t *value) {
    return uspi_bytes_sleb(bytes, at, value, "GSYM", NULL) == USP_OK;
}

bool uspi_gsym_rows(const struct uspi_gsym_function *function, struct uspi_gsym_row *row) {
    int64_t most;
    uint64_t line;
    *row = (struct uspi_gsym_row){.bytes = function->lines, .address = function->start, .file = 1};
    if (function->lines.size == 0 || !take_sleb(row->bytes, &row->at, &row->least) ||
        !take_sleb(row->bytes, &row->at, &most) || !take_uleb(row->bytes, &row->at, &line)) {
        return false;
    }
    row->line = (uint32_t)line;
    /* 0 when the numbers are invalid: no special opcode is accepted then. */
    row->range = most >= row->least ? (uint64_t)most - (uint64_t)row->least + 1 : 0;
    return true;
}

int uspi_gsym_next_row(struct uspi_gsym_row *row) {
    for (;;) {
        uint8_t op;
        uint64_t step;
        int64_t lines;
        if (!take_byte(row->bytes, &row->at, &op)) return USP_ERROR_FORMAT;
        switch (op) {
        case OP_END: return 0;
        case OP_FILE:
            if (!take_uleb(row->bytes, &row->at, &row->file)) return USP_ERROR_FORMAT;
            break;
        case OP_ADVANCE_LINE:
            if (!take_sleb(row->bytes, &row->at, &lines)) return USP_ERROR_FORMAT;
            row->line += (uint32_t)lines;
            break;
        case OP_ADVANCE_ADDRESS:
            if (!take_uleb(row->bytes, &row->at, &step)) return USP_ERROR_FORMAT;
            return uspi_sum(row->address, step, &row->address) ? 1 : USP_ERROR_FORMAT;
        default:
            op -= OP_FIRST_SPECIAL;
            if (row->range == 0) return USP_ERROR_FORMAT;
            row->line += (uint32_t)row->least + (uint32_t)(op % row->range);
            return uspi_sum(row->address, op / row->range, &row->address) ? 1 : USP_ERROR_FORMAT;
        }
    }
}

/* ---- inlined calls ---- */

bool uspi_gsym_range(struct uspi_bytes calls, uint64_t *at, usp_addr base, usp_addr *low, usp_addr *high) {
    uint64_t offset, size;
    return take_uleb(calls, at, &offset) && take_uleb(calls, at, &size) && uspi_sum(base, offset, low) &&
           uspi_sum(*low, size, high);
}

int uspi_gsym_next_call(const struct uspi_gsym *g, struct uspi_bytes calls, uint64_t *at, struct uspi_gsym_call *call) {
    uint8_t has_children;
    if (!take_uleb(calls, at, &call->range_count)) return USP_ERROR_FORMAT;
    if (call->range_count == 0) return 0;
    call->ranges = *at;
    for (uint64_t i = 0; i < call->range_count; i++) {
        uint64_t ignored;
        if (!take_uleb(calls, at, &ignored) || !take_uleb(calls, at, &ignored)) return USP_ERROR_FORMAT;
    }
    if (!take_byte(calls, at, &has_children) || !load32(g, calls, *at, &call->name)) return USP_ERROR_FORMAT;
    *at += 4;
    call->has_children = has_children != 0;
    return take_uleb(calls, at, &call->file) && take_uleb(calls, at, &call->line) ? 1 : USP_ERROR_FORMAT;
}
