/* SPDX-License-Identifier: MIT */
/* The list of images: building, sorting, searching. It never asks what is loaded; lib/os/ and lib/corefile/ do. */
#include "lib/image_list.h"
#include "lib/os.h"

#include <stdlib.h>
#include <string.h>

struct usp_images {
    struct usp_image *images;
    size_t count;
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

static int by_load_address(const void *a, const void *b) {
    const struct usp_image *x = a, *y = b;
    return (x->load_address > y->load_address) - (x->load_address < y->load_address);
}

int uspi_image_list_seal(struct uspi_image_list *list, struct usp_images **images) {
    struct usp_images *sealed = malloc(sizeof *sealed);
    *images = sealed;
    if (sealed == NULL) {
        uspi_image_list_clear(list);
        return USP_ERROR_NO_MEMORY;
    }
    if (list->count > 1) qsort(list->images, list->count, sizeof *list->images, by_load_address);
    *sealed = (struct usp_images){list->images, list->count};
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

void usp_images_free(struct usp_images *images) {
    if (images == NULL) return;
    struct uspi_image_list list = {images->images, images->count, images->count};
    uspi_image_list_clear(&list);
    free(images);
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
