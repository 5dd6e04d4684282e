/* SPDX-License-Identifier: MIT */
/* Implements log_split.h. */
#include "tools/log_split.h"

#include <unspool/symbolize.h>

#include <string.h>

static struct uspi_span name_of(const struct usp_place *place) {
    return (struct uspi_span){place->image, place->image_length};
}

/* Whether the place counts from a symbol, too. */
static bool is_from_symbol(const struct usp_place *place) {
    return (place->flags & (USP_PLACE_NAMED | USP_PLACE_NAME_OFFSET)) == USP_PLACE_NAME_OFFSET &&
           place->name_length > 0;
}

/* Whether the place is in code that Dart's compiler made: by the name that Flutter gives it. */
static bool is_of_flutter(const struct usp_place *place) {
    return uspi_span_is(name_of(place), USPI_SPAN("libapp.so")) || uspi_span_is(name_of(place), USPI_SPAN("App"));
}

bool log_split_may_have(const struct usp_place *place) {
    /* An ELF program and its debug information have the same addresses. A Mach-O program is linked anew. */
    return is_of_flutter(place) && (is_from_symbol(place) || !uspi_span_is(name_of(place), USPI_SPAN("App")));
}

/* Opens a file if its image is for the processor, which may be USP_ARCH_NONE: any. The caller frees *images. */
static bool open_for(const char *path, uint32_t arch, struct usp_images **images) {
    struct usp_image_file_options options;
    usp_image_file_options_init(&options);
    options.flags = USP_IMAGE_FILE_LINKED;
    if (usp_images_open(path, &options, images, NULL, 0) != USP_OK) return false;
    if (arch == USP_ARCH_NONE || usp_images_get(*images, 0)->arch == arch) return true;
    usp_images_free(*images);
    return false;
}

struct wanted {
    struct uspi_span name;
    struct log_split *split;
};

static int take_symbol(void *context, const struct usp_symbol *symbol) {
    const struct wanted *wanted = context;
    if (symbol->name == NULL || !uspi_span_is(uspi_span_of(symbol->name), wanted->name)) return 0;
    wanted->split->has_begin = true;
    wanted->split->begin = symbol->start;
    return 1;
}

/* Finds the symbol from which the place counts. */
static void find_begin(const struct usp_images *images, const struct usp_place *place, struct log_split *split) {
    struct usp_symbolizer *symbolizer;
    struct wanted wanted = {{place->name, place->name_length}, split};
    if (usp_symbolizer_create(images, NULL, &symbolizer) != USP_OK) return;
    usp_symbolizer_visit(symbolizer, usp_images_get(images, 0)->text_low, take_symbol, &wanted);
    usp_symbolizer_free(symbolizer);
}

const struct log_file *log_split_choose(struct log_search *search, const struct usp_place *place,
                                        struct log_split *split, size_t *count) {
    const struct log_file *file, *chosen = NULL;
    struct usp_images *images;
    *count = 0;
    *split = (struct log_split){.path = NULL};
    for (size_t i = 0; (file = log_search_get(search, i)) != NULL; i++) {
        const bool may_be = file->id_size == 0 && uspi_span_ends(uspi_span_of(file->path), USPI_SPAN(".symbols"));
        if (!may_be || !open_for(file->path, place->arch, &images)) continue;
        chosen = file;
        if (++*count == 1 && is_from_symbol(place)) find_begin(images, place, split);
        usp_images_free(images);
    }
    if (*count != 1 || (is_from_symbol(place) && !split->has_begin)) return NULL;
    split->path = chosen->path;
    split->id_size = place->build_id_size;
    memcpy(split->id, place->build_id, sizeof split->id);
    return chosen;
}

bool log_split_is_of(const struct log_split *split, const struct usp_place *place) {
    return split->path != NULL && split->id_size == place->build_id_size &&
           memcmp(split->id, place->build_id, split->id_size) == 0 && (split->id_size > 0 || is_of_flutter(place));
}

struct usp_place log_split_place(const struct log_split *split, const struct usp_place *place) {
    struct usp_place moved = *place;
    if (!is_from_symbol(place) || !split->has_begin) return moved;
    moved.base = USP_PLACE_LINKED;
    moved.offset = split->begin + place->name_offset;
    return moved;
}
