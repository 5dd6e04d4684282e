/* SPDX-License-Identifier: MIT */
/* GSYM (lib/object/gsym.h) as a symbol file. */
#include "lib/object/gsym.h"

#include "lib/symbolize/symfile/reading.h"

#include <stdlib.h>

/* The maximum depth of inlined calls. */
#define DEPTH 512u

struct gsym_file {
    struct uspi_symfile contract;
    struct uspi_gsym gsym;
};

static const struct uspi_gsym *gsym_of(const struct uspi_symfile *symfile) {
    return &((const struct gsym_file *)symfile)->gsym;
}

/* ---- functions ---- */

static bool get_start(const struct uspi_symfile *symfile, uint64_t i, usp_addr *start) {
    return uspi_gsym_start(gsym_of(symfile), i, start);
}

static bool get_function(const struct uspi_symfile *symfile, uint64_t i, struct uspi_symfile_function *function) {
    struct uspi_gsym_function of;
    if (!uspi_gsym_function(gsym_of(symfile), i, &of)) return false;
    *function = (struct uspi_symfile_function){of.start, of.start + of.size};
    return true;
}

static uint64_t text_of(uint32_t offset) { return offset != 0 ? uspi_text_reference(USPI_TEXT_GSYM, offset) : 0; }

static const char *get_name(const struct uspi_symfile *symfile, uint64_t i, struct uspi_names *names) {
    struct uspi_gsym_function of;
    (void)names;
    if (!uspi_gsym_function(gsym_of(symfile), i, &of)) return NULL;
    return uspi_text_at(&symfile->texts, NULL, 0, text_of(of.name));
}

/* ---- a block ---- */

static uint32_t file_of(const struct uspi_gsym *g, struct uspi_symfile_reading *reading, uint64_t number) {
    uint32_t folder, name;
    if (number == 0 || !uspi_gsym_file(g, number, &folder, &name) || name == 0) return 0;
    const uint32_t known = uspi_numbers_get(&reading->files, number);
    if (known != 0) return known;
    struct uspi_builder *builder = reading->builder;
    const uint32_t in = folder != 0 ? uspi_builder_folder(builder, text_of(folder)) : 0;
    return uspi_symfile_keep(reading, &reading->files, number, uspi_builder_file(builder, in, text_of(name)));
}

static uint32_t inlined_function(struct uspi_symfile_reading *reading, uint32_t name) {
    const uint32_t known = uspi_numbers_get(&reading->functions, name);
    if (known != 0) return known;
    return uspi_symfile_keep(reading, &reading->functions, name,
                             uspi_builder_function(reading->builder, text_of(name), 0, 0));
}

static bool add_rows(const struct uspi_gsym *g, const struct uspi_gsym_function *of,
                     struct uspi_symfile_reading *reading) {
    struct uspi_gsym_row row;
    int got = 0;
    if (of->lines.size == 0) return true;
    if (!uspi_gsym_rows(of, &row)) return false;
    while ((got = uspi_gsym_next_row(&row)) > 0) {
        const struct uspi_row added = {row.address, file_of(g, reading, row.file), row.line, 0};
        uspi_symfile_row(reading, &added);
    }
    return got == 0;
}

/* Gives the ranges of a call to its node. *first becomes the start of the first range. */
static bool add_ranges(const struct uspi_bytes calls, const struct uspi_gsym_call *call, usp_addr base, uint32_t node,
                       struct uspi_symfile_reading *reading, usp_addr *first) {
    uint64_t at = call->ranges;
    for (uint64_t i = 0; i < call->range_count; i++) {
        usp_addr low, high;
        if (!uspi_gsym_range(calls, &at, base, &low, &high)) return false;
        if (i == 0) *first = low;
        uspi_symfile_range(reading, low, high, node);
    }
    return true;
}

/* Adds the tree of inlined calls, whose root is the function. */
static bool add_calls(const struct uspi_gsym *g, const struct uspi_gsym_function *of, uint32_t root,
                      struct uspi_symfile_reading *reading) {
    struct {
        uint32_t node;
        usp_addr base; /* base of the ranges of its children */
    } open[DEPTH];
    struct uspi_gsym_call call;
    uint64_t at = 0;
    unsigned depth = 0;
    if (of->calls.size == 0) return true;
    int got = uspi_gsym_next_call(g, of->calls, &at, &call);
    if (got <= 0) return got == 0;
    open[0].node = root;
    if (!add_ranges(of->calls, &call, of->start, 0, reading, &open[0].base)) return false;
    if (call.has_children) depth = 1;
    while (depth > 0) {
        got = uspi_gsym_next_call(g, of->calls, &at, &call);
        if (got < 0 || (got > 0 && depth == DEPTH)) return false;
        if (got == 0) {
            depth--;
            continue;
        }
        const struct uspi_call inlined = {.function = inlined_function(reading, call.name),
                                          .file = file_of(g, reading, call.file),
                                          .line = (uint32_t)call.line};
        open[depth].node = uspi_builder_inlined(reading->builder, open[depth - 1].node, &inlined);
        if (!add_ranges(of->calls, &call, open[depth - 1].base, open[depth].node, reading, &open[depth].base))
            return false;
        if (call.has_children) depth++;
    }
    return true;
}

static bool read_function(const struct uspi_symfile *symfile, uint64_t i, struct uspi_symfile_reading *reading) {
    const struct uspi_gsym *g = gsym_of(symfile);
    struct uspi_gsym_function of;
    if (!uspi_gsym_function(g, i, &of)) return false;
    const uint32_t root = uspi_symfile_root(reading, text_of(of.name));
    if (!uspi_symfile_spend(reading, of.lines.size + of.calls.size)) return false;
    const bool has_rows = add_rows(g, &of, reading);
    return add_calls(g, &of, root, reading) && has_rows;
}

static void close_file(struct uspi_symfile *symfile) { free(symfile); }

int uspi_symfile_open_gsym(struct uspi_bytes bytes, struct uspi_symfile **symfile) {
    struct gsym_file *made = calloc(1, sizeof *made);
    *symfile = NULL;
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    struct uspi_gsym *g = &made->gsym;
    struct uspi_text_section strings;
    if (uspi_gsym_open(g, bytes, NULL) != USP_OK || !uspi_text_section_set(&strings, g->strings)) {
        free(made);
        return USP_ERROR_NOT_FOUND;
    }
    made->contract = (struct uspi_symfile){.what = "GSYM",
                                           .size = bytes.size,
                                           .count = g->count,
                                           .header = g->base,
                                           .memory = sizeof *made,
                                           .start = get_start,
                                           .function = get_function,
                                           .name = get_name,
                                           .read = read_function,
                                           .close = close_file};
    made->contract.texts.of[USPI_TEXT_GSYM] = strings;
    *symfile = &made->contract;
    return USP_OK;
}
