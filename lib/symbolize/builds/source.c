/* SPDX-License-Identifier: MIT */
/* See source.h. */
#include "lib/symbolize/builds/source.h"

#include "lib/base/trampoline.h"

#include <stdlib.h>
#include <string.h>

/* Copies a string; NULL stays NULL. Returns false when memory is exhausted. */
static bool copy_string(const char *string, const char **copy) {
    *copy = string != NULL ? strdup(string) : NULL;
    return string == NULL || *copy != NULL;
}

bool uspi_build_source_init(struct uspi_build_source *source, const struct usp_build_source *where,
                            const struct usp_builds_options *options) {
    const char *store = options->index_store;
    *source = (struct uspi_build_source){.where = *where, .options = options};
    if (where->image != NULL) source->image = *where->image;
    source->where.image = NULL;
    source->image.path = "";
    const bool has_path = copy_string(where->path, &source->where.path);
    const bool has_store =
        copy_string(where->index_store != NULL ? where->index_store : store, &source->where.index_store);
    if (has_path && has_store) return true;
    uspi_build_source_clear(source);
    return false;
}

static void close_source(struct uspi_build_source *source) {
    usp_symbolizer_free(source->symbolizer);
    usp_images_free(source->images);
    source->symbolizer = NULL;
    source->images = NULL;
}

void uspi_build_source_clear(struct uspi_build_source *source) {
    close_source(source);
    free((char *)(uintptr_t)source->where.path);
    free((char *)(uintptr_t)source->where.index_store);
    *source = (struct uspi_build_source){.is_unusable = true};
}

bool uspi_build_source_is_damaged(const struct uspi_build_source *source, char *text, size_t size) {
    return source->asked != 0 &&
           usp_symbolizer_explain_lines(source->symbolizer, source->asked, text, size) == USP_ERROR_FORMAT;
}

/* Opens a file at the address for which it was linked, so that offsets and addresses can be converted. */
static int open_file(struct uspi_build_source *source) {
    struct usp_image_file_options options;
    usp_image_file_options_init(&options);
    options.build_id_size = source->where.build_id_size;
    memcpy(options.build_id, source->where.build_id, sizeof options.build_id);
    options.flags = USP_IMAGE_FILE_LINKED;
    return usp_images_open(source->where.path, &options, &source->images, NULL, 0);
}

static int open_index(struct uspi_build_source *source) {
    int status = USP_OK;
    if (source->where.index_store == NULL) return USP_ERROR_NOT_FOUND;
    if (source->image.arch == USP_ARCH_NONE) {
        status = usp_index_image(source->where.index_store, source->where.build_id, source->where.build_id_size,
                                 &source->image);
    }
    return status == USP_OK ? usp_images_create(&source->image, 1, &source->images) : status;
}

static int open_source(struct uspi_build_source *source) {
    struct usp_symbolizer_options lookup;
    if (source->images != NULL) return USP_OK;
    if (source->is_unusable) return USP_ERROR_NOT_FOUND;
    int status = source->where.path != NULL ? open_file(source) : open_index(source);
    if (status == USP_OK) {
        usp_symbolizer_options_init(&lookup);
        lookup.index_store = source->where.index_store;
        lookup.path_maps = source->options->path_maps;
        lookup.path_map_count = source->options->path_map_count;
        status = usp_symbolizer_create(source->images, &lookup, &source->symbolizer);
    }
    if (status == USP_OK) return USP_OK;
    close_source(source);
    if (status == USP_ERROR_NO_MEMORY) return status;
    source->is_unusable = true;
    return USP_ERROR_NOT_FOUND;
}

/* Selects the offset in a page. Kernels map files by pages of 4 KB. */
#define PAGE_MASK UINT64_C(0xfff)

bool uspi_build_source_link(struct uspi_build_source *source, struct usp_place *place) {
    if (source->where.path == NULL || open_source(source) != USP_OK) return false;
    const struct usp_image *image = usp_images_get(source->images, 0);
    if (place->base == USP_PLACE_TEXT) {
        place->offset += image->text_low & ~PAGE_MASK;
    } else if ((image->flags & USP_IMAGE_TEXT_OFFSET) != 0) {
        place->offset += image->text_low - image->text_offset;
    } else {
        return false;
    }
    place->base = USP_PLACE_LINKED;
    return true;
}

/* Returns the start of the function that holds the code: the last frame's. If only debug information knows the
 * function, there is no symbol, or it is another function's. */
static usp_addr start_of(const struct usp_lines *lines) {
    const bool has_last = lines->count > 0 && lines->count <= lines->capacity;
    const usp_addr start = has_last ? lines->frames[lines->count - 1].start : 0;
    return start != 0 ? start : lines->symbol.start;
}

int uspi_build_source_ask(struct uspi_build_source *source, const struct usp_place *place, struct usp_lines *lines,
                          struct usp_answer *answer) {
    const struct usp_symbol *symbol = &lines->symbol;
    struct usp_symbol here;
    int status = open_source(source);
    if (status != USP_OK) return status;
    const struct usp_image *image = usp_images_get(source->images, 0);
    const bool is_exact = (place->flags & USP_PLACE_EXACT) != 0;
    struct usp_frame frame = {.kind = is_exact ? USP_FRAME_KIND_INTERRUPTED : USP_FRAME_KIND_RETURN_ADDRESS};
    frame.pc = place->base == USP_PLACE_LINKED ? place->offset : image->load_address + place->offset;
    if (frame.pc - image->load_address > image->end - image->load_address) return USP_ERROR_NOT_FOUND;
    if (!is_exact) lines->flags |= USP_LINES_FILL;
    source->asked = usp_frame_call_site(image->arch, &frame);
    status = usp_symbolize_lines(source->symbolizer, source->asked, lines);
    bool is_inside = status == USP_OK && frame.pc - symbol->start < symbol->extent;
    if (status == USP_OK && uspi_is_trampoline(uspi_span_of(symbol->name))) answer->flags |= USP_ANSWER_TRAMPOLINE;
    /* A handler returns to the start of a trampoline, before which there is no call. */
    if (!is_exact && !is_inside && usp_symbolize(source->symbolizer, frame.pc, &here) == USP_OK &&
        here.start == frame.pc && uspi_is_trampoline(uspi_span_of(here.name))) {
        answer->flags |= USP_ANSWER_TRAMPOLINE;
    }
    const usp_addr start = start_of(lines);
    answer->offset = status == USP_OK && start <= frame.pc ? frame.pc - start : 0;
    return status;
}
