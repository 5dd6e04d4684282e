/* SPDX-License-Identifier: MIT */
/* Comparing an index with the debug information that it was made of (lines.h): the answers to the same questions, at each
 * address where one of them can change, and beside it. */
#include "lib/symbolize/store/index_file.h"
#include "lib/symbolize/symbolizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More inlined calls in each other are compared up to here. */
#define FRAMES 512

struct comparing {
    struct usp_symbolizer *source, *indexed;
    struct usp_index *index;
    usp_addr slide;
    struct usp_source_frame *frames; /* twice FRAMES */
    uint64_t all;
    int status;
};

static bool same_text(const char *a, const char *b) { return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0); }

static bool same_frames(const struct usp_lines *a, const struct usp_lines *b) {
    if (a->count != b->count || a->folded != b->folded) return false;
    for (uint32_t i = 0; i < a->count && i < a->capacity; i++) {
        const struct usp_source_frame *x = &a->frames[i], *y = &b->frames[i];
        const bool is_same = same_text(x->function, y->function) && same_text(x->directory, y->directory) &&
                             same_text(x->file, y->file) && x->line == y->line && x->column == y->column &&
                             x->line_source == y->line_source && x->start == y->start &&
                             ((x->flags ^ y->flags) & ~(uint32_t)USP_SOURCE_FROM_INDEX) == 0;
        if (!is_same) return false;
    }
    return true;
}

static void compare(struct comparing *c, usp_addr address) {
    struct usp_lines source, indexed;
    usp_lines_init(&source, c->frames, FRAMES);
    usp_lines_init(&indexed, c->frames + FRAMES, FRAMES);
    source.flags = indexed.flags = USP_LINES_FILL;
    int status = usp_symbolize_lines(c->source, address, &source);
    if (status != USP_ERROR_NO_MEMORY) {
        int other = usp_symbolize_lines(c->indexed, address, &indexed);
        if (other == USP_ERROR_NO_MEMORY) status = other;
        if (other != status || !same_frames(&source, &indexed)) {
            if (c->index->different++ == 0) {
                snprintf(c->index->message, sizeof c->index->message,
                         "address 0x%" PRIx64 ": another answer than by the source", address - c->slide);
            }
        }
        c->index->compared++;
    }
    if (status == USP_ERROR_NO_MEMORY) c->status = status;
}

/* Called for each place of the debug information, and of the index. */
static int compare_around(void *context, uint64_t linked) {
    struct comparing *c = context;
    const usp_addr address = linked + c->slide;
    if (address > 0) compare(c, address - 1);
    compare(c, address);
    compare(c, address + 1);
    if (c->status == USP_OK && c->index->progress != NULL && c->index->compared % 4096 < 3) {
        c->status = c->index->progress(c->index->context, c->index->compared, c->all);
    }
    return c->status;
}

static int count_place(void *context, uint64_t linked) {
    (void)linked;
    ((struct comparing *)context)->all += 6;
    return 0;
}

/* The lines that a symbolizer uses for an image. */
static struct uspi_lines *lines_of(struct usp_symbolizer *symbolizer, const struct usp_image *image) {
    struct uspi_query query = {0};
    struct usp_symbol symbol = {0};
    struct uspi_epoch *readers = uspi_symbolizer_readers(symbolizer);
    const uint32_t ticket = uspi_epoch_enter(readers);
    uspi_symbolizer_ask(symbolizer, NULL, image->load_address, NULL, &query, &symbol);
    struct uspi_lines *lines = query.module != NULL ? uspi_module_lines(query.module) : NULL;
    uspi_epoch_leave(readers, ticket);
    return lines;
}

static int compare_all(struct comparing *c, const struct usp_image *image) {
    struct uspi_lines *source = lines_of(c->source, image), *indexed = lines_of(c->indexed, image);
    struct usp_index *index = c->index;
    if (source == NULL || indexed == NULL) return USP_ERROR_NO_MEMORY;
    if (uspi_lines_index(indexed) == NULL) {
        int status = uspi_lines_explain(indexed, index->message, sizeof index->message);
        return status == USP_OK || status == USP_ERROR_NOT_FOUND ? USP_ERROR_NOT_FOUND : USP_ERROR_FORMAT;
    }
    if (uspi_lines_source(source) == NULL) {
        uspi_lines_explain(source, index->message, sizeof index->message);
        return USP_ERROR_NOT_FOUND;
    }
    if (index->progress != NULL) uspi_lines_visit(indexed, count_place, c);
    int status = uspi_lines_visit(source, compare_around, c);
    if (status == USP_OK) status = uspi_lines_visit(indexed, compare_around, c);
    char why[sizeof index->message];
    if (status == USP_OK && uspi_lines_explain(indexed, why, sizeof why) == USP_ERROR_FORMAT) {
        memcpy(index->message, why, sizeof why);
        return USP_ERROR_FORMAT;
    }
    return status == USP_OK && index->different > 0 ? USP_ERROR_MISMATCH : status;
}

int usp_index_verify(const struct usp_images *images, const struct usp_image *image, struct usp_index *index) {
    if (images == NULL || image == NULL || index == NULL || index->store == NULL) return USP_ERROR_ARGUMENT;
    if (index->size < offsetof(struct usp_index, reserved)) return USP_ERROR_ARGUMENT;
    struct usp_symbolizer_options options;
    struct usp_images *one = NULL;
    struct comparing c = {.index = index, .slide = image->slide, .frames = calloc(2 * FRAMES, sizeof *c.frames)};
    usp_symbolizer_options_init(&options);
    options.index_store = index->store;
    index->message[0] = '\0';
    index->compared = index->different = 0;
    int status = c.frames != NULL ? usp_images_create(image, 1, &one) : USP_ERROR_NO_MEMORY;
    if (status == USP_OK) status = usp_symbolizer_create(one, NULL, &c.source);
    if (status == USP_OK) status = usp_symbolizer_create(one, &options, &c.indexed);
    if (status == USP_OK) status = compare_all(&c, image);
    usp_symbolizer_free(c.source);
    usp_symbolizer_free(c.indexed);
    usp_images_free(one);
    free(c.frames);
    return status;
}
