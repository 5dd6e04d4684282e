/* SPDX-License-Identifier: MIT */
/* The list of images: building, sorting, searching. It never asks what is loaded; lib/os/ and lib/corefile/ do. What lies in
 * a file is images_file.c's. */
#include "lib/image_list.h"
#include "lib/image_tables.h"
#include "lib/os.h"

#include <stdlib.h>
#include <string.h>

struct usp_images {
    struct usp_image *images;
    size_t count;
    struct usp_unwind_tables *tables; /* of each; NULL: not known */
    bool has_cache;
    struct usp_shared_cache cache;
};

int uspi_image_list_add(struct uspi_image_list *list, const struct usp_image *image) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 32 : list->capacity * 2;
        struct usp_image *grown = realloc(list->images, capacity * sizeof *grown);
        if (grown == NULL) return USP_ERROR_NO_MEMORY;
        list->images = grown;
        list->capacity = capacity;
    }
    char *path = strdup(image->path != NULL ? image->path : "");
    if (path == NULL) return USP_ERROR_NO_MEMORY;
    list->images[list->count] = *image;
    list->images[list->count++].path = path;
    return USP_OK;
}

void uspi_image_list_clear(struct uspi_image_list *list) {
    for (size_t i = 0; i < list->count; i++) free((char *)(uintptr_t)list->images[i].path);
    free(list->images);
    memset(list, 0, sizeof *list);
}

/* Where images of one file share an address, the rest makes the order the same each time: members and sections as they
 * stand in the file. An image that holds nothing comes before one that begins at the same address, so that a search meets
 * the latter. */
static int by_load_address(const void *a, const void *b) {
    const struct usp_image *x = a, *y = b;
    const bool x_is_empty = x->end == x->load_address, y_is_empty = y->end == y->load_address;
    if (x->load_address != y->load_address) return x->load_address < y->load_address ? -1 : 1;
    if (x_is_empty != y_is_empty) return x_is_empty ? -1 : 1;
    if (x->member_offset != y->member_offset) return x->member_offset < y->member_offset ? -1 : 1;
    if (x->section != y->section) return x->section < y->section ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    if (x->arch != y->arch) return x->arch < y->arch ? -1 : 1;
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
    *sealed = (struct usp_images){
        .images = list->images, .count = list->count, .has_cache = list->has_cache, .cache = list->cache};
    memset(list, 0, sizeof *list);
    return USP_OK;
}

static int collect(int (*add_all)(void *, struct uspi_image_list *), void *context, struct usp_images **images) {
    struct uspi_image_list list = {0};
    if (images == NULL) return USP_ERROR_ARGUMENT;
    *images = NULL;
    int status = add_all(context, &list);
    if (status == USP_OK) return uspi_image_list_seal(&list, images);
    uspi_image_list_clear(&list);
    return status;
}

static int add_own(void *context, struct uspi_image_list *list) {
    (void)context;
    return uspi_os_images_self(list);
}

static int add_of_process(void *context, struct uspi_image_list *list) {
    return uspi_os_images_process(*(const int64_t *)context, list);
}

int usp_images_self(struct usp_images **images) { return collect(add_own, NULL, images); }

int usp_images_process(int64_t pid, struct usp_images **images) { return collect(add_of_process, &pid, images); }

#define KNOWN_FLAGS                                                                                                    \
    (USP_IMAGE_MAIN | USP_IMAGE_KERNEL | USP_IMAGE_DELETED | USP_IMAGE_MACHO | USP_IMAGE_LOADER | USP_IMAGE_PERMANENT)

/* Whether there can be such an image. */
static bool makes_sense(const struct usp_image *image) {
    bool has_text = image->text_low != 0 || image->text_high != 0;
    if (image->end < image->load_address || image->build_id_size > USP_BUILD_ID_MAX) return false;
    if (image->arch > USP_ARCH_I386 || (image->flags & ~(uint32_t)KNOWN_FLAGS) != 0) return false;
    if (!has_text) return true;
    return image->text_low >= image->load_address && image->text_low <= image->text_high &&
           image->text_high <= image->end;
}

static int add_recorded(const struct usp_image *entry, struct uspi_image_list *list) {
    struct usp_image image = *entry;
    if (!makes_sense(entry)) return USP_ERROR_ARGUMENT;
    if (image.text_high == 0) image.text_low = image.text_high = image.load_address;
    memset(image.build_id + image.build_id_size, 0, sizeof image.build_id - image.build_id_size);
    return uspi_image_list_add(list, &image);
}

static bool overlap(const struct usp_images *images) {
    for (size_t i = 1; i < images->count; i++) {
        if (images->images[i - 1].end > images->images[i].load_address) return true;
    }
    return false;
}

int usp_images_create(const struct usp_image *entries, size_t count, struct usp_images **images) {
    struct uspi_image_list list = {0};
    int status = USP_OK;
    if (images == NULL) return USP_ERROR_ARGUMENT;
    *images = NULL;
    if (entries == NULL && count > 0) return USP_ERROR_ARGUMENT;
    for (size_t i = 0; status == USP_OK && i < count; i++) status = add_recorded(&entries[i], &list);
    if (status != USP_OK) {
        uspi_image_list_clear(&list);
        return status;
    }
    status = uspi_image_list_seal(&list, images);
    if (status != USP_OK || !overlap(*images)) return status;
    usp_images_free(*images);
    *images = NULL;
    return USP_ERROR_ARGUMENT;
}

void usp_images_free(struct usp_images *images) {
    if (images == NULL) return;
    struct uspi_image_list list = {.images = images->images, .count = images->count};
    uspi_image_tables_free(images->tables, images->count);
    uspi_image_list_clear(&list);
    free(images);
}

void uspi_images_give_tables(struct usp_images *images, struct usp_unwind_tables *tables) {
    uspi_image_tables_free(images->tables, images->count);
    images->tables = tables;
}

const struct usp_unwind_tables *uspi_images_tables(const struct usp_images *images, const struct usp_image *image) {
    return images->tables != NULL ? &images->tables[image - images->images] : NULL;
}

uint64_t uspi_images_size(const struct usp_images *images) {
    uint64_t bytes = sizeof *images + images->count * sizeof *images->images;
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
    size_t low = 0, high = images->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (images->images[middle].load_address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0 || address >= images->images[low - 1].end) return NULL;
    return &images->images[low - 1];
}
