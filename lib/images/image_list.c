/* SPDX-License-Identifier: MIT */
/* The list of images: building, sorting, searching. Its callers find the images. */
#include "lib/images/image_list.h"
#include "lib/base/bisect.h"

#include "lib/base/array.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct usp_images {
    struct usp_image *images;
    size_t count;
    _Atomic(uint32_t) holders; /* references; releasing the last one frees the list */
    bool has_cache;
    struct usp_shared_cache cache;
    enum uspi_files_seen files;
    struct usp_memory_range *data; /* readable memory without code, by ascending address */
    size_t data_count;
};

int uspi_image_list_add(struct uspi_image_list *list, const struct usp_image *image) {
    struct usp_image *grown = uspi_array_reserve(list->images, &list->capacity, list->count + 1, sizeof *grown);
    if (grown == NULL) return USP_ERROR_NO_MEMORY;
    list->images = grown;
    char *path = strdup(image->path != NULL ? image->path : "");
    if (path == NULL) return USP_ERROR_NO_MEMORY;
    list->images[list->count] = *image;
    list->images[list->count++].path = path;
    return USP_OK;
}

int uspi_image_list_add_data(struct uspi_image_list *list, usp_addr low, usp_addr high) {
    struct usp_memory_range *last = list->data_count != 0 ? &list->data[list->data_count - 1] : NULL;
    if (last != NULL && last->address + last->size == low) {
        last->size = high - last->address;
        return USP_OK;
    }
    if (!uspi_room_for(&list->data, &list->data_capacity, list->data_count, 1, sizeof *list->data)) {
        return USP_ERROR_NO_MEMORY;
    }
    list->data[list->data_count++] = (struct usp_memory_range){low, high - low};
    return USP_OK;
}

void uspi_image_list_clear(struct uspi_image_list *list) {
    for (size_t i = 0; i < list->count; i++) free((char *)(uintptr_t)list->images[i].path);
    free(list->images);
    free(list->data);
    memset(list, 0, sizeof *list);
}

/* Compares images by load address. Images of one file may share an address; the other fields give them a fixed order:
 * members and sections as they stand in the file. An empty image comes before one that begins at the same address, so
 * that a search finds the latter. */
static int by_load_address(const void *a, const void *b) {
    const struct usp_image *x = a, *y = b;
    const bool x_is_empty = x->end == x->load_address, y_is_empty = y->end == y->load_address;
    if (x->load_address != y->load_address) return x->load_address < y->load_address ? -1 : 1;
    if (x_is_empty != y_is_empty) return x_is_empty ? -1 : 1;
    if (x->member_offset != y->member_offset) return x->member_offset < y->member_offset ? -1 : 1;
    if (x->section != y->section) return x->section < y->section ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    if (x->arch != y->arch) return x->arch < y->arch ? -1 : 1;
    if (x->variant != y->variant) return x->variant < y->variant ? -1 : 1;
    int by_build = memcmp(x->build_id, y->build_id, sizeof x->build_id);
    return by_build != 0 ? by_build : strcmp(x->path, y->path);
}

int uspi_image_list_seal(struct uspi_image_list *list, struct usp_images **images) {
    struct usp_images *sealed = malloc(sizeof *sealed);
    *images = sealed;
    if (sealed == NULL) {
        uspi_image_list_clear(list);
        return USP_ERROR_NO_MEMORY;
    }
    if (list->count > 1) qsort(list->images, list->count, sizeof *list->images, by_load_address);
    *sealed = (struct usp_images){.images = list->images,
                                  .count = list->count,
                                  .has_cache = list->has_cache,
                                  .cache = list->cache,
                                  .files = list->files,
                                  .data = list->data,
                                  .data_count = list->data_count};
    atomic_init(&sealed->holders, 1);
    memset(list, 0, sizeof *list);
    return USP_OK;
}

enum uspi_files_seen uspi_images_files_seen(const struct usp_images *images, int64_t process) {
    enum uspi_files_seen files = images != NULL ? images->files : USPI_FILES_UNKNOWN;
    if (files == USPI_FILES_UNKNOWN) files = uspi_os_files_seen(process);
    return files == USPI_FILES_UNKNOWN ? USPI_FILES_OTHER : files;
}

enum uspi_files_seen uspi_images_stricter_files(enum uspi_files_seen known, const struct usp_images *images) {
    return images != NULL && images->files > known ? images->files : known;
}

void uspi_images_set_files(struct usp_images *images, enum uspi_files_seen files) { images->files = files; }

struct usp_images *uspi_images_keep(const struct usp_images *images) {
    /* Not const, so that the caller can free its reference; the images themselves are never written to. */
    struct usp_images *kept = (struct usp_images *)(uintptr_t)images;
    atomic_fetch_add_explicit(&kept->holders, 1, memory_order_relaxed);
    return kept;
}

void usp_images_free(struct usp_images *images) {
    if (images == NULL || atomic_fetch_sub_explicit(&images->holders, 1, memory_order_acq_rel) != 1) return;
    struct uspi_image_list list = {.images = images->images, .count = images->count, .data = images->data};
    uspi_image_list_clear(&list);
    free(images);
}

uint64_t uspi_images_size(const struct usp_images *images) {
    uint64_t bytes =
        sizeof *images + images->count * sizeof *images->images + images->data_count * sizeof *images->data;
    for (size_t i = 0; i < images->count; i++) bytes += strlen(images->images[i].path) + 1;
    return bytes;
}

int usp_images_shared_cache(const struct usp_images *images, struct usp_shared_cache *cache) {
    if (images == NULL || cache == NULL) return USP_ERROR_ARGUMENT;
    memset(cache, 0, sizeof *cache);
    if (!images->has_cache) return USP_ERROR_NOT_FOUND;
    *cache = images->cache;
    return USP_OK;
}

size_t usp_images_count(const struct usp_images *images) { return images != NULL ? images->count : 0; }

const struct usp_image *usp_images_get(const struct usp_images *images, size_t i) {
    return images != NULL && i < images->count ? &images->images[i] : NULL;
}

const struct usp_image *usp_images_find(const struct usp_images *images, usp_addr address) {
    if (images == NULL) return NULL;
    size_t i;
    USPI_FIRST(i, 0, images->count, images->images[i].load_address > address);
    const struct usp_image *image = i != 0 ? &images->images[i - 1] : NULL;
    if (image == NULL || address >= image->end) return NULL;
    return address - image->load_address - image->hole_offset < image->hole_size ? NULL : image;
}

static bool is_data(const struct usp_images *images, usp_addr address) {
    size_t i;
    USPI_FIRST(i, 0, images->data_count, images->data[i].address > address);
    return i != 0 && address - images->data[i - 1].address < images->data[i - 1].size;
}

int uspi_images_region_at(const struct usp_images *images, usp_addr address, struct usp_region *region) {
    const struct usp_image *image = usp_images_find(images, address);
    if (image != NULL && image->text_high > image->text_low) {
        if (address < image->text_low || address >= image->text_high) return USP_ERROR_NOT_FOUND;
        *region = (struct usp_region){.text_low = image->text_low, .text_high = image->text_high};
        return USP_OK;
    }
    return images != NULL && is_data(images, address) ? USP_ERROR_NOT_FOUND : USP_ERROR_ABSENT;
}
