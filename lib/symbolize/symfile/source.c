/* SPDX-License-Identifier: MIT */
/* See source.h. */
#include "lib/symbolize/symfile/source.h"
#include "lib/base/bisect.h"

#include "lib/symbolize/symfile/symfile.h"

#include <stdlib.h>

/* The number of functions in a unit. A block of that many is made fast, and they share most of their files. */
#define UNIT 256u

struct symfile_source {
    struct uspi_line_source contract;
    struct uspi_symfile *symfile;
    uint64_t budget; /* how many bytes may be read in a unit */
};

static const struct symfile_source *source_of(const struct uspi_line_source *source) {
    return (const struct symfile_source *)source;
}

static uint64_t unit_end(const struct symfile_source *s, size_t unit) {
    const uint64_t end = ((uint64_t)unit + 1) * UNIT;
    return end < s->symfile->count ? end : s->symfile->count;
}

static uint64_t unit_size(const struct uspi_line_source *source, size_t unit) {
    (void)unit;
    return source->units > 0 ? source->size / source->units : 0;
}

/* ---- functions ----
 *
 * The last start at or below an address decides which function it belongs to, as in LLVM's reader of GSYM: a function
 * ends where the next one begins. Of several functions with one start, the first one with a known size counts. */

/* Returns the first start above `above`, of functions from number i on; UINT64_MAX: there is none. */
static usp_addr next_start(const struct uspi_symfile *f, uint64_t i, usp_addr above) {
    uint64_t next;
    usp_addr start;
    USPI_FIRST(next, i, f->count, !f->start(f, next, &start) || start > above);
    return f->start(f, next, &start) ? start : UINT64_MAX;
}

/* Returns where the last unit ends: the highest end of the functions with the last start. */
static usp_addr last_end(const struct symfile_source *s, size_t unit) {
    const struct uspi_symfile *f = s->symfile;
    struct uspi_symfile_function of;
    usp_addr last = 0, end = 0;
    (void)f->start(f, f->count - 1, &last);
    for (uint64_t i = f->count; i-- > (uint64_t)unit * UNIT;) {
        if (!f->function(f, i, &of) || of.start != last) break;
        if (of.end > end) end = of.end;
    }
    return end;
}

static bool claims(const struct uspi_line_source *source, struct uspi_map_range **ranges, size_t *count,
                   bool *unclaimed) {
    const struct symfile_source *s = source_of(source);
    const struct uspi_symfile *f = s->symfile;
    struct uspi_map_range *all = malloc((source->units + 1) * sizeof *all);
    *count = 0;
    *ranges = all;
    if (all == NULL) return false;
    for (size_t i = 0; i < source->units; i++) {
        struct uspi_map_range range = {.block = (uint32_t)i};
        unclaimed[i] = false;
        if (!f->start(f, (uint64_t)i * UNIT, &range.low)) continue;
        if (i + 1 == source->units) {
            range.high = last_end(s, i);
        } else if (!f->start(f, unit_end(s, i), &range.high)) {
            continue;
        }
        if (range.low < range.high) all[(*count)++] = range;
    }
    return true;
}

/* ---- blocks ---- */

static void free_reader(void *reader) {
    struct uspi_symfile_reading *r = reader;
    if (r == NULL) return;
    uspi_builder_free(r->builder);
    uspi_numbers_free(&r->files);
    uspi_numbers_free(&r->functions);
    free(r->rows);
    free(r->inlined);
    free(r);
}

static void *create_reader(void) {
    struct uspi_symfile_reading *r = calloc(1, sizeof *r);
    if (r == NULL) return NULL;
    r->builder = uspi_builder_create();
    if (r->builder != NULL) return r;
    free(r);
    return NULL;
}

/* Adds the functions to the block. Returns false when some are damaged. */
static bool read_functions(const struct uspi_symfile *f, uint64_t from, uint64_t end, struct uspi_symfile_reading *r) {
    struct uspi_symfile_function of;
    bool is_valid = true;
    r->high = 0;
    for (uint64_t i = from; i < end && !r->is_out_of_memory; i++) {
        if (!f->function(f, i, &of)) {
            is_valid = false;
            continue;
        }
        const bool is_repeated = r->high != 0 && of.start == r->low;
        if (of.end <= of.start || is_repeated) continue;
        const usp_addr next = next_start(f, i + 1, of.start);
        /* Rows must be added in the order of their addresses. */
        if (of.start < r->high || next <= of.start) {
            is_valid = false;
            continue;
        }
        r->low = of.start;
        r->high = of.end < next ? of.end : next;
        is_valid = f->read(f, i, r) && is_valid;
        uspi_builder_row(r->builder, &(struct uspi_row){.address = r->high});
    }
    return is_valid;
}

static int build(struct uspi_line_source *source, void *reader, size_t unit, const uint8_t **bytes, size_t *size,
                 struct uspi_error *error) {
    const struct symfile_source *s = source_of(source);
    struct uspi_symfile_reading *r = reader;
    const uint64_t from = (uint64_t)unit * UNIT, end = unit_end(s, unit);
    uspi_builder_reset(r->builder);
    uspi_numbers_forget(&r->files);
    uspi_numbers_forget(&r->functions);
    r->folders.count = 0;
    r->left = s->budget;
    r->is_out_of_memory = false;
    if (error != NULL) error->status = USP_OK;
    if (!read_functions(s->symfile, from, end, r)) {
        uspi_error_set(error, USP_ERROR_FORMAT, "%s contradicts itself in functions %zu to %zu", source->what,
                       (size_t)from, (size_t)end - 1);
    }
    return r->is_out_of_memory ? USP_ERROR_NO_MEMORY : uspi_builder_finish(r->builder, bytes, size);
}

static const struct uspi_texts *unit_texts(const struct uspi_line_source *source, size_t unit) {
    (void)unit;
    return &source_of(source)->symfile->texts;
}

static void close_source(struct uspi_line_source *source) {
    struct symfile_source *s = (struct symfile_source *)source;
    s->symfile->close(s->symfile);
    free(s);
}

int uspi_symfile_source_open(struct uspi_bytes bytes, struct uspi_line_source **source) {
    struct uspi_symfile *f;
    *source = NULL;
    int status = uspi_symfile_open(bytes, &f);
    if (status != USP_OK) return status;
    const uint64_t units = (f->count + UNIT - 1) / UNIT;
    struct symfile_source *made = NULL;
    status = units <= UINT32_MAX / 2 ? USP_OK : USP_ERROR_NOT_FOUND;
    if (status == USP_OK && (made = calloc(1, sizeof *made)) == NULL) status = USP_ERROR_NO_MEMORY;
    if (status != USP_OK) {
        f->close(f);
        return status;
    }
    made->symfile = f;
    /* Far more than functions need on average. In a damaged file, all functions can have the longest table. */
    made->budget = 262144 + (units > 0 ? 16 * f->size / units : 0);
    made->contract = (struct uspi_line_source){.what = f->what,
                                               .units = (size_t)units,
                                               .size = f->size,
                                               .header = f->header,
                                               .is_relative = f->is_relative,
                                               .is_partial = true,
                                               .unit_size = unit_size,
                                               .claims = claims,
                                               .create_reader = create_reader,
                                               .free_reader = free_reader,
                                               .build = build,
                                               .texts = unit_texts,
                                               .close = close_source};
    *source = &made->contract;
    return USP_OK;
}
