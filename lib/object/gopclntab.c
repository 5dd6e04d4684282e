/* SPDX-License-Identifier: MIT */
/* See gopclntab.h. */
#include "lib/object/gopclntab.h"
#include "lib/base/bisect.h"

#include <string.h>

/* The index of the inlined calls among a function's lists of runs, and of their tree among its other data
 * (src/internal/abi/symtab.go: PCDATA_InlTreeIndex, FUNCDATA_InlTree). They are not read from tables before 1.18. */
#define INLINE_INDEX 2u
#define INLINE_TREE  3u

/* The maximum number of calls in a tree; the compiler's inlining budget allows far fewer. */
#define CALLS_MAX 65536

/* How many runs, plus a multiple of the average, are followed to find the end of a function's code. In a damaged table
 * all functions can share the longest list. */
#define RUNS_FOLLOWED 4096u

/* How many functions with inlined calls are checked before the place of the trees is accepted. */
#define TREES_CHECKED 64u

/* Offsets of the used fields in a record, counted from the end of its first field, the start. Each field has 4
 * bytes. */
enum { AT_NAME = 0, AT_STACK = 12, AT_FILES = 16, AT_LINES = 20, AT_LISTS = 24, AT_UNIT = 28, AT_LINE = 32 };

static bool load(struct uspi_bytes bytes, uint64_t at, unsigned width, uint64_t *value) {
    return uspi_bytes_load(bytes, at, width, value, "Go's function table", NULL) == USP_OK;
}

/* Returns the size in bytes of a function's start, in the list of functions and at the beginning of its record. */
static unsigned start_width(const struct uspi_go_table *t) { return t->version >= USPI_GO_1_18 ? 4 : t->word; }

/* ---- the header ---- */

static bool read_version(struct uspi_go_table *t) {
    static const uint32_t magics[] = {[USPI_GO_1_2] = 0xfffffffb,
                                      [USPI_GO_1_16] = 0xfffffffa,
                                      [USPI_GO_1_18] = 0xfffffff0,
                                      [USPI_GO_1_20] = 0xfffffff1};
    uint64_t magic, padding, quantum, word;
    if (!load(t->bytes, 0, 4, &magic) || !load(t->bytes, 4, 2, &padding) || !load(t->bytes, 6, 1, &quantum) ||
        !load(t->bytes, 7, 1, &word)) {
        return false;
    }
    t->quantum = (unsigned)quantum;
    t->word = (unsigned)word;
    if (padding != 0 || (quantum != 1 && quantum != 2 && quantum != 4) || (word != 4 && word != 8)) return false;
    for (unsigned i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        t->version = (enum uspi_go_version)i;
        if (magic == magics[i]) return true;
    }
    return false;
}

/* Reads a header before 1.16: the list of functions follows it, then the offset of the list of files. Offsets count
 * from the header. */
static bool read_old_header(struct uspi_go_table *t) {
    uint64_t size;
    if (!load(t->bytes, 8, t->word, &t->count)) return false;
    t->functions = 8 + t->word;
    if (t->count > t->bytes.size / (2 * (uint64_t)t->word)) return false;
    size = (2 * t->count + 1) * t->word;
    return load(t->bytes, t->functions + size, 4, &t->files) && load(t->bytes, t->files, 4, &t->file_count);
}

static bool read_header(struct uspi_go_table *t) {
    uint64_t *const fields[] = {&t->count, NULL, &t->text, &t->names, &t->units, &t->files, &t->runs, &t->functions};
    uint64_t at = 8;
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        uint64_t value;
        /* Headers before 1.18 lack this field: starts are addresses. */
        if (fields[i] == &t->text && t->version < USPI_GO_1_18) continue;
        if (!load(t->bytes, at, t->word, &value)) return false;
        if (fields[i] != NULL) *fields[i] = value;
        at += t->word;
    }
    const bool is_inside = t->names <= t->bytes.size && t->units <= t->bytes.size && t->files <= t->bytes.size &&
                           t->runs <= t->bytes.size && t->functions <= t->bytes.size;
    return is_inside && t->names >= at && t->units >= t->names && t->files >= t->units;
}

int uspi_go_table_open(struct uspi_go_table *table, struct uspi_bytes bytes) {
    struct uspi_go_function first;
    memset(table, 0, sizeof *table);
    table->bytes = bytes;
    if (!read_version(table)) return USP_ERROR_FORMAT;
    const bool is_read = table->version == USPI_GO_1_2 ? read_old_header(table) : read_header(table);
    const uint64_t entry = 2 * (uint64_t)start_width(table);
    if (!is_read || table->count == 0 || table->count > (bytes.size - table->functions) / entry)
        return USP_ERROR_FORMAT;
    return uspi_go_function(table, 0, &first) ? USP_OK : USP_ERROR_FORMAT;
}

/* ---- functions ---- */

bool uspi_go_start(const struct uspi_go_table *t, uint64_t i, usp_addr *start) {
    const unsigned width = start_width(t);
    uint64_t value;
    if (i > t->count || !load(t->bytes, t->functions + 2 * i * width, width, &value)) return false;
    return uspi_sum(t->text, value, start);
}

bool uspi_go_find(const struct uspi_go_table *t, usp_addr address, uint64_t *i) {
    uint64_t next;
    usp_addr start;
    bool is_bad = false;
    USPI_FIRST(next, 0, t->count, is_bad || (is_bad = !uspi_go_start(t, next, &start)) || start > address);
    *i = next - 1;
    return !is_bad && next > 0 && uspi_go_start(t, next, &start) && address < start;
}

/* Returns whether a name or path begins at an offset. From 1.16 on, the byte before it ends another one. */
static bool is_string(const struct uspi_go_table *t, uint64_t at) {
    uint64_t before, first;
    if (at == 0 || !load(t->bytes, at, 1, &first) || first == 0) return false;
    if (t->version == USPI_GO_1_2 || at == t->names) return true;
    return load(t->bytes, at - 1, 1, &before) && before == 0;
}

/* Reads the offset of the tree of inlined calls, which follows a record's lists of runs. */
static void read_tree(const struct uspi_go_table *t, uint64_t lists, uint64_t counts, uint64_t list_count,
                      struct uspi_go_function *function) {
    uint64_t others, tree;
    if (t->version < USPI_GO_1_18 || list_count <= INLINE_INDEX) return;
    if (!load(t->bytes, counts + 3, 1, &others) || others <= INLINE_TREE) return;
    if (!load(t->bytes, lists + 4 * (list_count + INLINE_TREE), 4, &tree) || tree == UINT32_MAX) return;
    if (!load(t->bytes, lists + 4 * (uint64_t)INLINE_INDEX, 4, &function->calls) || function->calls == 0) return;
    function->calls += t->runs;
    function->tree = tree;
}

bool uspi_go_function(const struct uspi_go_table *t, uint64_t i, struct uspi_go_function *function) {
    const unsigned width = start_width(t);
    uint64_t at, start, name, unit = 0, line = 0, list_count, flags = 0;
    if (i >= t->count || !uspi_go_start(t, i, &function->start) || !uspi_go_start(t, i + 1, &function->end))
        return false;
    if (!load(t->bytes, t->functions + (2 * i + 1) * width, width, &at)) return false;
    /* The following sums cannot overflow if the first field can be read, since `at` lies in the bytes then. */
    if (t->version >= USPI_GO_1_16 && !uspi_sum(at, t->functions, &at)) return false;
    if (function->start >= function->end || !load(t->bytes, at, width, &start)) return false;
    if (start != function->start - t->text) return false;
    at += width;
    if (!load(t->bytes, at + AT_NAME, 4, &name) || !load(t->bytes, at + AT_STACK, 4, &function->stack) ||
        !load(t->bytes, at + AT_FILES, 4, &function->files) || !load(t->bytes, at + AT_LINES, 4, &function->lines) ||
        !load(t->bytes, at + AT_LISTS, 4, &list_count)) {
        return false;
    }
    /* From 1.16 on there are four bytes: the function's kind, its flags (0 before 1.17), padding, the number of other
     * data. */
    const uint64_t counts = at + (t->version >= USPI_GO_1_20 ? AT_LINE + 4 : AT_LINE);
    const bool is_whole = (t->version < USPI_GO_1_16 ||
                           (load(t->bytes, at + AT_UNIT, 4, &unit) && load(t->bytes, counts + 1, 1, &flags))) &&
                          (t->version < USPI_GO_1_20 || load(t->bytes, at + AT_LINE, 4, &line));
    function->name = t->names + name;
    if (!is_whole || !is_string(t, function->name)) return false;
    function->stack += function->stack != 0 ? t->runs : 0;
    function->files += function->files != 0 ? t->runs : 0;
    function->lines += function->lines != 0 ? t->runs : 0;
    function->unit = unit;
    function->flags = (uint32_t)flags;
    function->line = line <= INT32_MAX ? (uint32_t)line : 0;
    function->calls = 0;
    function->tree = UINT64_MAX;
    read_tree(t, counts + 4, counts, list_count, function);
    return true;
}

/* ---- runs ---- */

struct uspi_go_run uspi_go_runs(const struct uspi_go_table *table, const struct uspi_go_function *function,
                                uint64_t list) {
    return (struct uspi_go_run){.table = table,
                                .next = list,
                                .low = function->start,
                                .high = list != 0 ? function->start : function->end,
                                .end = function->end,
                                .value = -1};
}

bool uspi_go_next_run(struct uspi_go_run *run) {
    const struct uspi_go_table *t = run->table;
    uint64_t difference, length, bytes;
    if (run->high >= run->end) return false;
    if (uspi_bytes_uleb(t->bytes, &run->next, &difference, "difference", NULL) != USP_OK) return false;
    if ((difference == 0 && run->has_begun) || difference > UINT32_MAX) return false;
    if (uspi_bytes_uleb(t->bytes, &run->next, &length, "length", NULL) != USP_OK) return false;
    if (length == 0 || !uspi_product(length, t->quantum, &bytes)) return false;
    /* The lowest bit is the sign. */
    const uint32_t magnitude = (uint32_t)(difference >> 1);
    run->value = (int32_t)((uint32_t)run->value + ((difference & 1) != 0 ? ~magnitude : magnitude));
    run->low = run->high;
    run->high = bytes < run->end - run->low ? run->low + bytes : run->end;
    run->has_begun = true;
    return true;
}

usp_addr uspi_go_code_end(const struct uspi_go_table *table, const struct uspi_go_function *function) {
    struct uspi_go_run run = uspi_go_runs(table, function, function->lines);
    uint64_t left = RUNS_FOLLOWED + 16 * (table->bytes.size / table->count);
    if (function->lines == 0) return function->end;
    while (left > 0 && uspi_go_next_run(&run)) left--;
    return left > 0 && run.high > function->start ? run.high : function->end;
}

/* ---- files ---- */

uint64_t uspi_go_file(const struct uspi_go_table *t, const struct uspi_go_function *function, int32_t number) {
    uint64_t path;
    if (number < 0) return 0;
    if (t->version == USPI_GO_1_2) {
        const bool is_known = number > 0 && (uint64_t)number < t->file_count &&
                              load(t->bytes, t->files + 4 * (uint64_t)number, 4, &path) && is_string(t, path);
        return is_known ? path : 0;
    }
    if (!load(t->bytes, t->units + 4 * (function->unit + (uint64_t)number), 4, &path) || path == UINT32_MAX) return 0;
    path += t->files;
    /* The first path has no other before it. */
    return path == t->files || is_string(t, path) ? path : 0;
}

/* ---- inlined calls ---- */

bool uspi_go_call(const struct uspi_go_table *t, const struct uspi_go_function *function, int32_t index,
                  struct uspi_go_call *call) {
    const bool has_start = t->version >= USPI_GO_1_20;
    const unsigned size = has_start ? 16 : 20;
    uint64_t name, caller, line = 0, padding = 0, at;
    if (function->tree == UINT64_MAX || index < 0 || index >= CALLS_MAX) return false;
    at = function->tree + (uint64_t)index * size;
    /* Fields from 1.20 on: kind of function, padding, name, caller, line. Before: parent, kind, padding, file, line,
     * name, caller. */
    if (!load(t->trees, at + (has_start ? 4 : 12), 4, &name) || !load(t->trees, at + (has_start ? 8 : 16), 4, &caller))
        return false;
    if (has_start && (!load(t->trees, at + 1, 3, &padding) || !load(t->trees, at + 12, 4, &line))) return false;
    if (!has_start && !load(t->trees, at + 3, 1, &padding)) return false;
    call->name = t->names + name;
    if (padding != 0 || call->name >= t->units || !is_string(t, call->name)) return false;
    if (caller >= function->end - function->start) return false;
    call->caller = function->start + caller;
    call->line = line <= INT32_MAX ? (uint32_t)line : 0;
    return true;
}

/* Returns whether all inlined calls that a function's runs refer to are valid. */
static bool has_valid_calls(const struct uspi_go_table *t, const struct uspi_go_function *function) {
    struct uspi_go_run run = uspi_go_runs(t, function, function->calls);
    struct uspi_go_call call;
    while (uspi_go_next_run(&run)) {
        if (run.value >= 0 && !uspi_go_call(t, function, run.value, &call)) return false;
    }
    return true;
}

bool uspi_go_check_trees(const struct uspi_go_table *t) {
    uint64_t checked = 0;
    for (uint64_t i = 0; i < t->count && checked < TREES_CHECKED; i++) {
        struct uspi_go_function function;
        if (!uspi_go_function(t, i, &function) || function.tree == UINT64_MAX) continue;
        if (!has_valid_calls(t, &function)) return false;
        checked++;
    }
    return checked > 0;
}
