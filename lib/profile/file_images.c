/* SPDX-License-Identifier: MIT */
/* Makes images of a profile's mappings, and gives each location a place in them, so that its frames can be kept like
 * those of a captured stack. See file.h. */
#include "lib/profile/file.h"

#include "lib/base/hash.h"
#include "lib/profile/profile.h"

/* An image. Mappings of one file at one place are one image. */
struct made_image {
    struct uspi_item item;
    struct usp_image image;
    usp_addr load; /* by the file; image.load_address may be moved */
    uint64_t size; /* of the largest offset, plus 1 */
};

/* Which location frames of a kind have at an offset in an image. */
struct place {
    struct uspi_item item;
    uint32_t image, location, kind;
    uint64_t offset;
};

static bool is_made(const void *item, const void *key) {
    const struct made_image *a = item, *b = key;
    return a->load == b->load && a->image.build_id_size == b->image.build_id_size &&
           memcmp(a->image.build_id, b->image.build_id, a->image.build_id_size) == 0 &&
           strcmp(a->image.path, b->image.path) == 0;
}

static char *copy_text(struct usp_profile_file *file, struct uspi_span text) {
    char *copy = text.length < SIZE_MAX ? uspi_region_take(&file->region, text.length + 1) : NULL;
    if (copy == NULL) return NULL;
    if (text.length > 0) memcpy(copy, text.bytes, text.length);
    copy[text.length] = '\0';
    return copy;
}

/* Where addresses of kernels begin. */
#define UPPER_HALF (UINT64_C(1) << 63)

/* Whether a mapping has a range of addresses, which locations outside it do not count from. */
static bool is_range(const struct uspi_file_mapping *mapping) { return mapping->limit > mapping->start; }

/* Whether a mapping's range is as large as its image. One that ends in the addresses of kernels and begins before them
 * stands for all addresses: its image is as large as its locations require, so that others have room. */
static bool is_image_range(const struct uspi_file_mapping *mapping) {
    return is_range(mapping) && (mapping->start >= UPPER_HALF || mapping->limit <= UPPER_HALF);
}

/* Finds the image of a mapping, or adds it. Returns false when memory is exhausted. */
static bool know_image(struct usp_profile_file *file, struct uspi_file_mapping *mapping, bool is_first) {
    struct made_image like = {.image = {.build_id_size = mapping->build_id_size}};
    like.image.path = copy_text(file, mapping->path);
    if (like.image.path == NULL) return false;
    memcpy(like.image.build_id, mapping->build_id, mapping->build_id_size);
    if (is_range(mapping)) like.load = mapping->start - (mapping->offset <= mapping->start ? mapping->offset : 0);
    const uint64_t mixed = uspi_mix(uspi_hash_bytes(like.image.path, strlen(like.image.path)), like.load);
    mapping->image = uspi_pool_find(&file->images_made, (uint32_t)mixed, is_made, &like);
    if (mapping->image == USPI_NONE) {
        mapping->image = uspi_pool_add(&file->images_made, (uint32_t)mixed);
        if (mapping->image == USPI_NONE) return false;
        struct made_image *made = uspi_pool_at(&file->images_made, mapping->image);
        const struct uspi_item item = made->item;
        *made = like;
        made->item = item;
        if (is_first) made->image.flags = USP_IMAGE_MAIN;
    }
    struct made_image *made = uspi_pool_at(&file->images_made, mapping->image);
    if (is_image_range(mapping) && mapping->limit - made->load > made->size) made->size = mapping->limit - made->load;
    return true;
}

/* Returns a location's offset in its image. A location outside its mapping has an address as linked. */
static uint64_t offset_of(const struct usp_profile_file *file, const struct uspi_file_location *location) {
    const struct uspi_file_mapping *mapping = uspi_file_mapping(file, (uint32_t)location->mapping);
    const struct made_image *made = uspi_pool_at(&file->images_made, mapping->image);
    const bool is_inside = mapping->start <= location->address && location->address < mapping->limit;
    return is_inside ? location->address - made->load : location->address;
}

static int by_load(const void *a, const void *b) {
    const struct made_image *x = *(struct made_image *const *)a, *y = *(struct made_image *const *)b;
    return x->load < y->load ? -1 : x->load > y->load;
}

#define ALIGNED UINT64_C(0x10000)

/* Places an image at `at` if it then ends at or before `limit`. Returns whether it does. */
static bool put_at(struct made_image *made, usp_addr at, usp_addr limit) {
    if (at > limit || made->size > limit - at) return false;
    made->image.load_address = made->image.slide = at;
    made->image.end = at + made->size;
    return true;
}

/* Returns the end of the last image that begins before `before`; at least `least`. */
static usp_addr end_of(struct made_image *const *images, uint32_t count, usp_addr before, usp_addr least) {
    for (uint32_t i = 0; i < count; i++) {
        const struct made_image *made = images[i];
        if (made->load >= before || made->size > UINT64_MAX - made->load) continue;
        if (made->load + made->size > least) least = made->load + made->size;
    }
    return least;
}

/* Gives each image addresses of its own: those by the file, or some past all others, but before those of kernels, which
 * usually extend to the last address. Images that do not fit anywhere get none. */
static bool place_images(struct usp_profile_file *file, usp_addr past_all) {
    const uint32_t count = file->images_made.begun;
    struct made_image **sorted = malloc(((size_t)count + 1) * sizeof(struct made_image *));
    usp_addr end = 0, limit = UPPER_HALF;
    if (sorted == NULL) return false;
    for (uint32_t i = 0; i < count; i++) sorted[i] = uspi_pool_at(&file->images_made, i);
    if (count > 0) qsort(sorted, count, sizeof *sorted, by_load);
    past_all = end_of(sorted, count, UPPER_HALF, past_all);
    if (past_all > UPPER_HALF) {
        past_all = end_of(sorted, count, UINT64_MAX, past_all);
        limit = UINT64_MAX;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (sorted[i]->size == 0) continue;
        if (sorted[i]->load >= end && put_at(sorted[i], sorted[i]->load, UINT64_MAX)) {
            end = sorted[i]->image.end;
            continue;
        }
        if (past_all > UINT64_MAX - ALIGNED || !put_at(sorted[i], (past_all + ALIGNED - 1) / ALIGNED * ALIGNED, limit))
            continue;
        past_all = sorted[i]->image.end;
    }
    file->past_all = past_all <= UINT64_MAX - ALIGNED - file->locations.count ? past_all : 0;
    free(sorted);
    return true;
}

static int list_images(struct usp_profile_file *file) {
    const uint32_t count = file->images_made.begun;
    struct usp_image *entries = calloc((size_t)count + 1, sizeof *entries);
    size_t n = 0;
    if (entries == NULL) return USP_ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        const struct made_image *made = uspi_pool_at(&file->images_made, i);
        if (made->image.end > made->image.load_address) entries[n++] = made->image;
    }
    const int status = usp_images_create(entries, n, &file->images);
    free(entries);
    return status;
}

/* ---- places of locations ---- */

/* What a place is found by: an image, by number or as a profile has it, and an offset. */
struct place_key {
    const struct usp_profile_file *file;
    const struct usp_image *image; /* NULL: outside all images */
    uint64_t offset;
    uint32_t kind;
};

static bool is_place(const void *item, const void *key) {
    const struct place *place = item;
    const struct place_key *wanted = key;
    if (place->offset != wanted->offset || place->kind != wanted->kind ||
        (place->image == USPI_NONE) != (wanted->image == NULL))
        return false;
    if (wanted->image == NULL) return true;
    const struct made_image *made = uspi_pool_at(&wanted->file->images_made, place->image);
    return uspi_is_same_build(&made->image, wanted->image);
}

static uint32_t hash_place(const struct place_key *key) {
    const uint64_t hash = key->image != NULL ? uspi_hash_build(key->image) : 0;
    return (uint32_t)uspi_mix(uspi_mix(hash, key->offset), key->kind);
}

const struct uspi_file_location *uspi_file_location_at(const struct usp_profile_file *file,
                                                       const struct usp_image *image, uint64_t offset, uint32_t kind) {
    const struct place_key key = {file, image, offset, kind};
    if (file->images == NULL) return NULL;
    const uint32_t i = uspi_pool_find(&file->places, hash_place(&key), is_place, &key);
    return i != USPI_NONE ? uspi_file_location(file, ((struct place *)uspi_pool_at(&file->places, i))->location) : NULL;
}

/* Whether two locations say the same of their code. */
static bool is_same_code(const struct usp_profile_file *file, const struct uspi_file_location *a,
                         const struct uspi_file_location *b) {
    if (a->line_count != b->line_count) return false;
    for (uint32_t i = 0; i < a->line_count; i++) {
        const struct uspi_file_line *x = &file->lines[a->first_line + i], *y = &file->lines[b->first_line + i];
        if (x->function != y->function || x->line != y->line) return false;
    }
    return true;
}

/* Whether a location that belongs to no image has an address in one, where its name would not be found, or its mapping
 * would seem to be that image. */
static bool is_astray(const struct usp_profile_file *file, const struct uspi_file_location *location) {
    return usp_images_find(file->images, location->address) != NULL &&
           (location->mapping != USPI_NONE || uspi_file_is_named(file, location));
}

/* Gives a location its address in the images. One without an address of its own, one whose address is in another image,
 * and one whose place another location with other names has, get one outside all images. */
static bool place_location(struct usp_profile_file *file, uint32_t number) {
    struct uspi_file_location *location = uspi_file_location(file, number);
    struct place_key key = {.file = file, .offset = location->address, .kind = location->kind};
    uint32_t image = USPI_NONE;
    location->pc = location->address;
    if (location->mapping != USPI_NONE && location->address != 0) {
        const struct uspi_file_mapping *mapping = uspi_file_mapping(file, (uint32_t)location->mapping);
        const struct made_image *made = uspi_pool_at(&file->images_made, mapping->image);
        const bool is_placed = made->image.end > made->image.load_address;
        if (is_placed) {
            image = mapping->image;
            key.image = &made->image;
            key.offset = offset_of(file, location);
            location->pc = made->image.load_address + key.offset;
        }
    }
    if (location->is_thumb) key.kind |= USPI_NODE_THUMB;
    const bool has_place = location->address != 0 && (image != USPI_NONE || !is_astray(file, location));
    const struct uspi_file_location *other =
        has_place ? uspi_file_location_at(file, key.image, key.offset, key.kind) : NULL;
    if (other != NULL && is_same_code(file, other, location)) return true;
    if (!has_place || other != NULL) {
        location->pc = key.offset = file->past_all + ALIGNED + number;
        key.image = NULL;
        image = USPI_NONE;
    }
    const uint32_t i = uspi_pool_add(&file->places, hash_place(&key));
    if (i == USPI_NONE) return false;
    struct place *place = uspi_pool_at(&file->places, i);
    place->image = image;
    place->location = number;
    place->kind = key.kind;
    place->offset = key.offset;
    return true;
}

int uspi_file_place(struct usp_profile_file *file) {
    usp_addr past_all = 0;
    usp_images_free(file->images);
    file->images = NULL;
    uspi_pool_free(&file->images_made);
    uspi_pool_free(&file->places);
    if (!uspi_pool_init(&file->images_made, sizeof(struct made_image), 64, false, &file->allowance) ||
        !uspi_pool_init(&file->places, sizeof(struct place), 256, false, &file->allowance))
        return USP_ERROR_NO_MEMORY;
    for (size_t i = 0; i < file->mappings.count; i++) {
        /* The first mapping of pprof is the program. */
        const bool is_first = i == 0 && file->layout->format == USP_PROFILE_FILE_PPROF;
        struct uspi_file_mapping *mapping = uspi_file_mapping(file, (uint32_t)i);
        const bool is_program =
            file->saved != NULL ? uspi_span_is(mapping->path, uspi_span_of(file->saved->program)) : is_first;
        if (!know_image(file, mapping, is_program)) return USP_ERROR_NO_MEMORY;
    }
    for (size_t i = 0; i < file->locations.count; i++) {
        const struct uspi_file_location *location = uspi_file_location(file, (uint32_t)i);
        if (location->mapping == USPI_NONE || location->address == 0) {
            /* Addresses of kernels do not move images. */
            if (location->address < UPPER_HALF && location->address > past_all) past_all = location->address;
            continue;
        }
        struct made_image *made =
            uspi_pool_at(&file->images_made, uspi_file_mapping(file, (uint32_t)location->mapping)->image);
        const uint64_t offset = offset_of(file, location);
        if (offset >= made->size && offset < UINT64_MAX) made->size = offset + 1;
    }
    if (!place_images(file, past_all)) return USP_ERROR_NO_MEMORY;
    const int status = list_images(file);
    for (size_t i = 0; status == USP_OK && i < file->locations.count; i++) {
        if (!place_location(file, (uint32_t)i)) return USP_ERROR_NO_MEMORY;
    }
    return status;
}
