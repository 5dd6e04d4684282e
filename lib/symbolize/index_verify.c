/* SPDX-License-Identifier: MIT */
/* Compares an index with the debug information from which it was made (lines.h). Both are asked at each address where
 * an answer can change, and at the addresses next to it. */
#include "lib/base/hash.h"
#include "lib/base/sized.h"
#include "lib/symbolize/store/index_file.h"
#include "lib/symbolize/symbolizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The maximum number of source frames that are compared for one address. */
#define FRAMES 512

struct comparing {
    struct usp_symbolizer *source, *indexed;
    struct uspi_lines *source_lines, *indexed_lines;
    struct uspi_names *names; /* names of called functions */
    struct usp_index *index;
    usp_addr slide;
    struct usp_source_frame *frames; /* FRAMES for the source, then FRAMES for the index */
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
                             x->line_source == y->line_source && x->named_by == y->named_by && x->start == y->start &&
                             ((x->flags ^ y->flags) & ~(uint32_t)USP_SOURCE_FROM_INDEX) == 0;
        if (!is_same) return false;
    }
    return true;
}

/* A usp_name_visitor: adds a name to a hash that depends on all names and their order. */
static int add_name(void *context, const char *name) {
    uint64_t *sum = context;
    *sum = uspi_mix(*sum, uspi_hash_bytes(name, strlen(name)));
    return 0;
}

static bool same_names(const struct comparing *c, usp_addr address) {
    uint64_t source = 0, indexed = 0;
    const int status = usp_symbolizer_visit_names(c->source, address, add_name, &source);
    return usp_symbolizer_visit_names(c->indexed, address, add_name, &indexed) == status && source == indexed;
}

/* What a block says about calls at an address. */
struct calls {
    struct uspi_lines_answer answer;
    struct uspi_names *names;
    bool is_known; /* the block has an answer for the address */
};

static bool same_call(const struct calls *a, const struct uspi_block_call *x, const struct calls *b,
                      const struct uspi_block_call *y) {
    struct uspi_block_part p = {0}, q = {0};
    if (x->end + a->answer.moved != y->end + b->answer.moved || (x->part == 0) != (y->part == 0)) return false;
    if (x->part == 0) {
        return same_text(uspi_lines_text(&a->answer, x->name, a->names),
                         uspi_lines_text(&b->answer, y->name, b->names));
    }
    return uspi_block_part(a->answer.block, x->part - 1, &p) == uspi_block_part(b->answer.block, y->part - 1, &q) &&
           p.start + a->answer.moved == q.start + b->answer.moved;
}

/* Compares the calls whose last byte is at the address and, if a function begins there, all of its tail calls. */
static bool same_calls(const struct calls *a, const struct calls *b, uint64_t address) {
    const struct uspi_lines_answer *s = &a->answer, *t = &b->answer;
    struct uspi_block_call x, y;
    int one = uspi_block_find_call(s->block, address + 1 - s->moved, &x);
    int other = uspi_block_find_call(t->block, address + 1 - t->moved, &y);
    if (one != other || (one == USP_OK && !same_call(a, &x, b, &y))) return false;
    if (s->part.size == 0 || t->part.size == 0) return s->part.size == t->part.size;
    if (s->part.knows_tail_calls != t->part.knows_tail_calls) return false;
    const bool is_start = s->part.start + s->moved == address;
    for (uint32_t i = 0; is_start && one != USP_ERROR_FORMAT; i++) {
        one = uspi_block_tail_call(s->block, s->part.number, i, &x);
        other = uspi_block_tail_call(t->block, t->part.number, i, &y);
        if (one != other || (one == USP_OK && !same_call(a, &x, b, &y))) return false;
        if (one == USP_ERROR_NOT_FOUND) break;
    }
    return true;
}

/* Finds what a symbolizer's lines say about calls at an address as linked. */
static void find_calls(struct uspi_lines *lines, uint64_t address, struct calls *calls) {
    struct uspi_lines_answer answers[USPI_MAP_BLOCKS];
    calls->is_known = uspi_lines_find(lines, address, answers) > 0;
    if (calls->is_known) calls->answer = answers[0];
}

/* Returns whether the source and the index know the same calls. */
static bool compare_calls(struct comparing *c, uint64_t address) {
    struct uspi_epoch *readers[] = {uspi_symbolizer_readers(c->source), uspi_symbolizer_readers(c->indexed)};
    const uint32_t tickets[] = {uspi_epoch_enter(readers[0]), uspi_epoch_enter(readers[1])};
    struct calls source = {.names = c->names}, indexed = {.names = c->names};
    find_calls(c->source_lines, address, &source);
    find_calls(c->indexed_lines, address, &indexed);
    const bool is_same =
        source.is_known == indexed.is_known && (!source.is_known || same_calls(&source, &indexed, address));
    for (unsigned i = 0; i < 2; i++) uspi_epoch_leave(readers[i], tickets[i]);
    return is_same;
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
        if (other != status || !same_frames(&source, &indexed) || (source.folded > 0 && !same_names(c, address)) ||
            !compare_calls(c, address - c->slide)) {
            if (c->index->different++ == 0) {
                snprintf(c->index->message, sizeof c->index->message,
                         "address 0x%" PRIx64 ": another answer than by the source", address - c->slide);
            }
        }
        c->index->compared++;
    }
    if (status == USP_ERROR_NO_MEMORY) c->status = status;
}

/* Compares the answers at a place of the debug information or the index, and at the addresses before and after it. */
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

/* Returns the lines that a symbolizer uses for an image. */
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
        if (status != USP_OK && status != USP_ERROR_NOT_FOUND) return USP_ERROR_FORMAT;
        snprintf(index->message, sizeof index->message, "%s: has no index of it", index->store);
        return USP_ERROR_NOT_FOUND;
    }
    if (uspi_lines_source(source) == NULL) {
        uspi_lines_explain(source, index->message, sizeof index->message);
        return USP_ERROR_NOT_FOUND;
    }
    c->source_lines = source;
    c->indexed_lines = indexed;
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
    if (index->size < USPI_LEAST_SIZE(index)) return USP_ERROR_ARGUMENT;
    struct usp_symbolizer_options options;
    struct usp_images *one = NULL;
    struct comparing c = {.index = index, .slide = image->slide, .frames = calloc(2 * FRAMES, sizeof *c.frames)};
    usp_symbolizer_options_init(&options);
    options.index_store = index->store;
    index->message[0] = '\0';
    index->compared = index->different = 0;
    c.names = uspi_names_create();
    int status = c.frames != NULL && c.names != NULL ? usp_images_create(image, 1, &one) : USP_ERROR_NO_MEMORY;
    if (status == USP_OK) status = usp_symbolizer_create(one, NULL, &c.source);
    if (status == USP_OK) status = usp_symbolizer_create(one, &options, &c.indexed);
    if (status == USP_OK) status = compare_all(&c, image);
    usp_symbolizer_free(c.source);
    usp_symbolizer_free(c.indexed);
    usp_images_free(one);
    uspi_names_free(c.names);
    free(c.frames);
    return status;
}
