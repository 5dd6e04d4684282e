/* SPDX-License-Identifier: MIT */
/* Implements names.h: names a profile's call sites and functions. */
#include "lib/profile/names.h"

#include "lib/base/array.h"
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

uint64_t uspi_site_mapping(const struct usp_profile *profile, const struct uspi_site *site, usp_addr address) {
    if (site->image == USPI_NONE) return 0;
    const struct uspi_profile_mapping of = uspi_profile_mapping_of(uspi_profile_image(profile, site->image));
    /* Readers take an address outside of its mapping for one as linked. */
    return !of.is_code || (address >= of.start && address < of.limit) ? (uint64_t)site->image + 1 : 0;
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

static bool find_bases(struct uspi_profile_names *names, const struct usp_images *images) {
    const struct usp_profile *profile = names->profile;
    names->bases = calloc((size_t)profile->images.begun + 1, sizeof *names->bases);
    if (names->bases == NULL) return false;
    for (uint32_t i = 0; i < profile->images.begun; i++) {
        const struct uspi_profile_image *known = uspi_profile_image(profile, i);
        for (size_t k = 0; names->bases[i] == 0 && k < usp_images_count(images); k++) {
            const struct usp_image *image = usp_images_get(images, k);
            if (uspi_is_same_build(&known->image, image)) names->bases[i] = image->load_address;
        }
    }
    return true;
}

/* ---- functions ---- */

static bool is_same_function(const void *item, const void *key) {
    const struct uspi_function *a = item, *b = key;
    return a->start == b->start && a->image == b->image && a->is_inlined == b->is_inlined &&
           (a->symbol == NULL) == (b->symbol == NULL) && (a->symbol == NULL || strcmp(a->symbol, b->symbol) == 0);
}

/* Returns the text for a place without a name, which the caller frees; NULL if memory is exhausted. */
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

/* Sets *path to the path of a function's source file, if it is known. Returns false if memory is exhausted. */
static bool take_path(const struct usp_source_frame *source, const struct usp_symbol *symbol, char **path) {
    const char *file = source->file != NULL ? source->file : symbol->source_file;
    const char *directory = source->file != NULL && source->directory != NULL ? source->directory : "";
    if (file == NULL) return true;
    size_t size = strlen(directory) + strlen(file) + 2;
    *path = malloc(size);
    if (*path != NULL) snprintf(*path, size, "%s%s%s", directory, directory[0] != '\0' ? "/" : "", file);
    return *path != NULL;
}

/* What is known of a function when it is added. */
struct described {
    const struct uspi_function *like;      /* identifies the function */
    const struct usp_source_frame *source; /* where the call site is in the source */
    const struct usp_symbol *symbol;       /* the symbol that contains the call site */
    usp_addr address;                      /* the function's start in the symbolizer's images; 0: not known */
    const char *shown;                     /* the name that is displayed; NULL: the symbol's */
    uint32_t line;                         /* where the function begins, by a file; 0: not known */
};

/* Returns the line of a function's first instruction; 0: not known. */
static uint32_t first_line(struct uspi_profile_names *names, usp_addr address) {
    const struct uspi_naming naming = {.symbolizer = names->symbolizer, .sources = &names->sources};
    struct uspi_named named;
    if (address == 0 || uspi_name_site(&naming, address, &named) != USP_OK) return 0;
    return named.source.line;
}

static uint32_t know_function(struct uspi_profile_names *names, const struct described *described) {
    const struct uspi_function *like = described->like;
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
    const char *shown = described->shown != NULL ? described->shown : like->symbol;
    function->text = text != NULL ? text : usp_demangle(names->demangler, shown);
    if (!take_path(described->source, described->symbol, &function->file)) return USPI_NONE;
    if (names->has_lines) function->line = first_line(names, described->address);
    if (names->has_lines && described->line != 0) function->line = described->line;
    return i;
}

/* ---- sites ---- */

static bool is_same_site(const void *item, const void *key) {
    const struct uspi_site *a = item;
    const struct uspi_node *b = key;
    return a->offset == b->offset && a->image == b->image && a->kind == b->kind;
}

/* Adds a function as a place of a site. Returns false if memory is exhausted. */
static bool add_place(struct uspi_profile_names *names, uint32_t site, const struct described *described) {
    uint32_t function = know_function(names, described);
    if (function == USPI_NONE ||
        !uspi_room_for(&names->places, &names->place_capacity, names->place_count, 1, sizeof *names->places)) {
        return false;
    }
    const struct usp_source_frame *source = described->source;
    names->places[names->place_count++] =
        (struct uspi_located_function){function, site, source->directory, source->file, source->line, source->column};
    uspi_site(names, site)->count++;
    uspi_site(names, site)->function = function;
    return true;
}

static int name_call_site(struct uspi_profile_names *names, const struct uspi_node *node, usp_addr base,
                          struct uspi_named *named) {
    const struct uspi_naming naming = {.symbolizer = names->symbolizer,
                                       .sources = names->has_lines ? &names->sources : NULL};
    struct usp_frame frame = uspi_node_frame(names->profile, node);
    memset(named, 0, sizeof *named);
    if (names->symbolizer == NULL || (node->image != USPI_NONE && base == 0)) return USP_OK;
    frame.pc = base + node->offset;
    return uspi_name_site(&naming, usp_frame_call_site(names->profile->options.arch, &frame), named);
}

/* Adds the functions of a call site as its places, the innermost inlined one first. Returns false if memory is
 * exhausted. */
static bool add_places(struct uspi_profile_names *names, const struct uspi_node *node, uint32_t site) {
    const usp_addr base = node->image != USPI_NONE ? names->bases[node->image] : 0;
    struct uspi_named named;
    if (name_call_site(names, node, base, &named) == USP_ERROR_NO_MEMORY) return false;
    const struct usp_symbol *symbol = &named.symbol;
    uspi_site(names, site)->first = (uint32_t)names->place_count;
    /* Copied, because looking up the functions' first lines overwrites `names->sources`. */
    struct usp_source_frame *inlined = NULL;
    if (named.inlined_count > 0) {
        inlined = malloc(named.inlined_count * sizeof *inlined);
        if (inlined == NULL) return false;
        memcpy(inlined, named.inlined, named.inlined_count * sizeof *inlined);
    }
    bool is_done = true;
    for (uint32_t i = 0; is_done && i < named.inlined_count; i++) {
        const struct uspi_function like = {.symbol = inlined[i].function, .image = node->image, .is_inlined = true};
        is_done = add_place(names, site, &(struct described){&like, &inlined[i], symbol, 0, NULL, 0});
    }
    free(inlined);
    struct uspi_function own = {.start = node->offset, .image = node->image};
    if (symbol->name != NULL) {
        own.symbol = symbol->name;
        own.start = symbol->start - base;
        own.extent = symbol->extent;
    }
    const usp_addr start = symbol->name != NULL ? symbol->start : 0;
    return is_done && add_place(names, site, &(struct described){&own, &named.source, symbol, start, NULL, 0});
}

/* ---- names of a file ---- */

/* Copies a string of a file; NULL if it is empty or memory is exhausted. */
static const char *copy_string(struct uspi_profile_names *names, uint64_t number) {
    const struct uspi_span text = uspi_file_string(names->file, number);
    char *copy = text.length > 0 ? uspi_region_take(&names->region, text.length + 1) : NULL;
    if (copy == NULL) return NULL;
    memcpy(copy, text.bytes, text.length);
    copy[text.length] = '\0';
    return copy;
}

/* Returns the strings of a function of the file; NULL if it has no name. */
static const struct uspi_given_function *given_function(struct uspi_profile_names *names, uint64_t number) {
    if (number >= names->file->functions.count) return NULL;
    const struct uspi_file_function *function = uspi_file_function(names->file, (uint32_t)number);
    struct uspi_given_function *given = &names->given[number];
    if (given->shown != NULL) return given;
    given->shown = copy_string(names, function->name);
    given->symbol = copy_string(names, function->system_name);
    given->path = copy_string(names, function->file);
    given->line = function->line <= UINT32_MAX ? (uint32_t)function->line : 0;
    if (given->shown == NULL) given->shown = given->symbol;
    if (given->shown == NULL) return NULL;
    if (given->symbol == NULL || strcmp(given->symbol, given->shown) == 0) given->symbol = given->shown;
    return given;
}

/* Adds the functions that a file has at a site, the innermost inlined one first; inlined calls only if lines were
 * requested. Returns false if memory is exhausted. */
static bool add_given_places(struct uspi_profile_names *names, const struct uspi_node *node, uint32_t site,
                             const struct uspi_file_location *location) {
    const bool has_start = location->start != UINT64_MAX && location->address - location->start <= node->offset;
    const uint32_t count = location->line_count;
    static const struct usp_symbol none;
    uspi_site(names, site)->first = (uint32_t)names->place_count;
    for (uint32_t i = names->has_lines ? 0 : count - 1; i < count; i++) {
        const struct uspi_file_line *line = &names->file->lines[location->first_line + i];
        const struct uspi_given_function *given = given_function(names, line->function);
        struct usp_source_frame source = {.line = line->line <= UINT32_MAX ? (uint32_t)line->line : 0,
                                          .column = line->column <= UINT32_MAX ? (uint32_t)line->column : 0};
        if (given == NULL) continue;
        struct uspi_function like = {.symbol = given->symbol, .image = node->image, .is_inlined = i + 1 < count};
        like.is_given = !like.is_inlined && !has_start;
        if (!like.is_inlined && has_start) like.start = node->offset - (location->address - location->start);
        if (names->has_lines) source.file = given->path;
        if (!names->has_lines) source.line = source.column = 0;
        if (!add_place(names, site,
                       &(struct described){&like, &source, &none, 0, given->shown, like.is_inlined ? 0 : given->line}))
            return false;
    }
    return true;
}

/* Returns what the file has at a node; NULL if that has no name. */
static const struct uspi_file_location *given_location(const struct uspi_profile_names *names,
                                                       const struct uspi_node *node) {
    if (names->file == NULL) return NULL;
    const struct usp_image *image =
        node->image != USPI_NONE ? &uspi_profile_image(names->profile, node->image)->image : NULL;
    const struct uspi_file_location *location = uspi_file_location_at(names->file, image, node->offset, node->kind);
    return location != NULL && uspi_file_is_named(names->file, location) ? location : NULL;
}

static uint32_t know_site(struct uspi_profile_names *names, const struct uspi_node *node) {
    uint32_t hash = (uint32_t)uspi_mix(uspi_mix(node->offset, node->image), node->kind);
    uint32_t i = uspi_pool_find(&names->sites, hash, is_same_site, node);
    if (i != USPI_NONE) return i;
    i = uspi_pool_add(&names->sites, hash);
    if (i == USPI_NONE) return i;
    struct uspi_site *site = uspi_site(names, i);
    site->offset = node->offset;
    site->image = node->image;
    site->kind = node->kind;
    const struct uspi_file_location *given = given_location(names, node);
    const bool is_done = given != NULL ? add_given_places(names, node, i, given) : add_places(names, node, i);
    return is_done ? i : USPI_NONE;
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
                                         .file = options->file,
                                         .has_lines = (options->flags & USP_PROFILE_LINES) != 0,
                                         .allowance = {.limit = UINT64_MAX}};
    const struct usp_images *images = options->images;
    uspi_region_begin(&names->region, SIZE_MAX);
    if (names->file != NULL) {
        names->given = calloc(names->file->functions.count + 1, sizeof *names->given);
        if (names->given == NULL) return USP_ERROR_NO_MEMORY;
    }
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
        free(function->file);
    }
    uspi_sources_free(&names->sources);
    uspi_region_free(&names->region);
    free(names->given);
    free(names->places);
    uspi_pool_free(&names->functions);
    uspi_pool_free(&names->sites);
    usp_images_free(names->own);
    free(names->bases);
    free(names->site_of);
    memset(names, 0, sizeof *names);
}
