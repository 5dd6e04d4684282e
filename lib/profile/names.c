/* SPDX-License-Identifier: MIT */
/* See names.h. */
#include "lib/profile/names.h"

#include "lib/base/path.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *uspi_profile_image_name(const struct usp_profile *profile, uint32_t image) {
    return image != USPI_NONE ? uspi_last_component(uspi_profile_image(profile, image)->image.path) : "";
}

usp_addr uspi_site_address(const struct usp_profile *profile, const struct uspi_site *site) {
    usp_addr base = site->image != USPI_NONE ? uspi_profile_image(profile, site->image)->image.load_address : 0;
    return base + site->offset;
}

void uspi_put_profile_thread(struct uspi_text *text, const struct usp_thread_info *info, bool with_id) {
    bool has_name = info->name[0] != '\0';
    if (has_name) {
        uspi_put_harmless(text, uspi_span_of(info->name), ";");
    } else {
        uspi_put_string(text, "thread");
    }
    if (has_name && !with_id) return;
    uspi_put(text, " ", 1);
    uspi_put_decimal(text, info->thread.id, 0);
}

/* ---- where the symbolizer knows the images ---- */

static bool is_same_image(const struct usp_image *a, const struct usp_image *b) {
    if (a->build_id_size != b->build_id_size) return false;
    if (a->build_id_size > 0) return memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
    return strcmp(a->path, b->path) == 0 && a->end - a->load_address == b->end - b->load_address;
}

static bool find_bases(struct uspi_profile_names *names, const struct usp_images *images) {
    const struct usp_profile *profile = names->profile;
    names->bases = calloc((size_t)profile->images.begun + 1, sizeof *names->bases);
    if (names->bases == NULL) return false;
    for (uint32_t i = 0; i < profile->images.begun; i++) {
        const struct uspi_profile_image *known = uspi_profile_image(profile, i);
        for (size_t k = 0; names->bases[i] == 0 && k < usp_images_count(images); k++) {
            const struct usp_image *image = usp_images_get(images, k);
            if (is_same_image(&known->image, image)) names->bases[i] = image->load_address;
        }
    }
    return true;
}

/* ---- functions ---- */

static bool is_same_function(const void *item, const void *key) {
    const struct uspi_function *a = item, *b = key;
    return a->start == b->start && a->image == b->image && (a->symbol == NULL) == (b->symbol == NULL) &&
           (a->symbol == NULL || strcmp(a->symbol, b->symbol) == 0);
}

/* What is shown of a place without a name. NULL when memory lacks. */
static char *describe_place(const struct usp_profile *profile, const struct uspi_function *place) {
    const char *image = uspi_profile_image_name(profile, place->image);
    size_t size = strlen(image) + 24;
    char *text = malloc(size);
    if (text != NULL) {
        snprintf(text, size, place->image != USPI_NONE ? "%s+0x%llx" : "%s0x%llx", image,
                 (unsigned long long)place->start);
    }
    return text;
}

static uint32_t know_function(struct uspi_profile_names *names, const struct uspi_function *like) {
    uint64_t hash = uspi_mix(like->start, like->image);
    for (const char *c = like->symbol; c != NULL && *c != '\0'; c++) hash = uspi_mix(hash, (uint8_t)*c);
    uint32_t i = uspi_pool_find(&names->functions, (uint32_t)hash, is_same_function, like);
    if (i != USPI_NONE) return i;
    char *text = like->symbol == NULL ? describe_place(names->profile, like) : NULL;
    if (like->symbol == NULL && text == NULL) return USPI_NONE;
    i = uspi_pool_add(&names->functions, (uint32_t)hash);
    if (i == USPI_NONE) {
        free(text);
        return i;
    }
    struct uspi_function *function = uspi_function(names, i);
    const struct uspi_item item = function->item;
    *function = *like;
    function->item = item;
    function->owns_text = text != NULL;
    function->text = text != NULL ? text : usp_demangle(names->demangler, like->symbol);
    return i;
}

/* What holds a frame's call. False when memory lacks. */
static bool find_function(struct uspi_profile_names *names, const struct uspi_node *node, uint32_t *function) {
    const struct usp_profile *profile = names->profile;
    struct usp_frame frame = uspi_node_frame(profile, node);
    struct usp_symbol symbol = {.name = NULL};
    struct uspi_function like = {.start = node->offset, .image = node->image};
    usp_addr base = node->image != USPI_NONE ? names->bases[node->image] : 0;
    if (names->symbolizer != NULL && (node->image == USPI_NONE || base != 0)) {
        frame.pc = base + node->offset;
        usp_addr site = usp_frame_call_site(profile->options.arch, &frame);
        if (usp_symbolize(names->symbolizer, site, &symbol) == USP_ERROR_NO_MEMORY) return false;
    }
    if (symbol.name != NULL) {
        like.symbol = symbol.name;
        like.start = symbol.start - base;
        like.extent = symbol.extent;
        like.file = symbol.source_file;
    }
    *function = know_function(names, &like);
    return *function != USPI_NONE;
}

/* ---- sites ---- */

static bool is_same_site(const void *item, const void *key) {
    const struct uspi_site *a = item;
    const struct uspi_node *b = key;
    return a->offset == b->offset && a->image == b->image && a->kind == b->kind;
}

static uint32_t know_site(struct uspi_profile_names *names, const struct uspi_node *node) {
    uint32_t hash = (uint32_t)uspi_mix(uspi_mix(node->offset, node->image), node->kind), function;
    uint32_t i = uspi_pool_find(&names->sites, hash, is_same_site, node);
    if (i != USPI_NONE || !find_function(names, node, &function)) return i;
    i = uspi_pool_add(&names->sites, hash);
    if (i == USPI_NONE) return i;
    struct uspi_site *site = uspi_site(names, i);
    site->offset = node->offset;
    site->image = node->image;
    site->kind = node->kind;
    site->function = function;
    return i;
}

static int name_nodes(struct uspi_profile_names *names) {
    const struct usp_profile *profile = names->profile;
    names->site_of = malloc(((size_t)profile->nodes.begun + 1) * sizeof *names->site_of);
    if (names->site_of == NULL) return USP_ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < profile->nodes.begun; i++) {
        const struct uspi_node *node = uspi_node(profile, i);
        names->site_of[i] = USPI_NONE;
        if ((node->kind & USPI_NODE_OMITTED) != 0) continue;
        names->site_of[i] = know_site(names, node);
        if (names->site_of[i] == USPI_NONE) return USP_ERROR_NO_MEMORY;
    }
    return USP_OK;
}

int uspi_profile_names_find(struct uspi_profile_names *names, const struct usp_profile *clone,
                            const struct usp_profile_write_options *options) {
    *names = (struct uspi_profile_names){.profile = clone,
                                         .symbolizer = options->symbolizer,
                                         .demangler = options->demangler,
                                         .allowance = {.limit = UINT64_MAX}};
    const struct usp_images *images = options->images;
    if (images == NULL && names->symbolizer != NULL && usp_images_create_self(&names->own) == USP_OK)
        images = names->own;
    if (!uspi_pool_init(&names->functions, sizeof(struct uspi_function), 256, false, &names->allowance) ||
        !uspi_pool_init(&names->sites, sizeof(struct uspi_site), 256, false, &names->allowance) ||
        !find_bases(names, images)) {
        return USP_ERROR_NO_MEMORY;
    }
    return name_nodes(names);
}

void uspi_profile_names_free(struct uspi_profile_names *names) {
    for (uint32_t i = 0; i < names->functions.begun; i++) {
        const struct uspi_function *function = uspi_function(names, i);
        if (function->owns_text) free((char *)(uintptr_t)function->text);
    }
    uspi_pool_free(&names->functions);
    uspi_pool_free(&names->sites);
    usp_images_free(names->own);
    free(names->bases);
    free(names->site_of);
    memset(names, 0, sizeof *names);
}
