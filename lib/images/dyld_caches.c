/* SPDX-License-Identifier: MIT */
/* See <unspool/dyld_caches.h>. */
#include "lib/base/array.h"
#include "lib/base/bisect.h"
#include "lib/images/dyld_cache_set.h"
#include "lib/images/image_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int usp_dyld_caches_create(struct usp_dyld_caches **caches) {
    if (caches == NULL) return USP_ERROR_ARGUMENT;
    struct usp_dyld_caches *made = *caches = calloc(1, sizeof *made);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->pages = uspi_dyld_pages_create();
    if (made->pages != NULL) return USP_OK;
    free(made);
    *caches = NULL;
    return USP_ERROR_NO_MEMORY;
}

void usp_dyld_caches_free(struct usp_dyld_caches *caches) {
    if (caches == NULL) return;
    for (size_t i = 0; i < caches->count; i++) uspi_dyld_cache_free(caches->caches[i]);
    uspi_dyld_pages_free(caches->pages);
    free(caches->caches);
    free(caches);
}

/* ---- adding ---- */

struct adding {
    struct usp_dyld_caches *caches;
    usp_dyld_caches_note note;
    void *context;
    size_t found; /* caches in a folder */
};

static int add_file(const struct adding *adding, const char *path, struct uspi_error *error) {
    struct usp_dyld_caches *caches = adding->caches;
    struct uspi_dyld_cache *cache;
    int status = uspi_dyld_cache_open(caches, path, adding->note, adding->context, &cache, error);
    if (status != USP_OK || cache == NULL) return status;
    if (!uspi_room_for(&caches->caches, &caches->capacity, caches->count, 1, sizeof *caches->caches)) {
        uspi_dyld_cache_free(cache);
        return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", path);
    }
    caches->caches[caches->count++] = cache;
    return USP_OK;
}

/* Adds a cache of a folder. One that is damaged is a note. */
static int add_found(void *context, const char *path) {
    struct adding *adding = context;
    struct uspi_error error = {.text = ""};
    const int status = add_file(adding, path, &error);
    if (status == USP_ERROR_NO_MEMORY) return status;
    if (status == USP_OK) adding->found++;
    if (status != USP_OK && adding->note != NULL) adding->note(adding->context, error.text);
    return USP_OK;
}

int usp_dyld_caches_add(struct usp_dyld_caches *caches, const char *path, usp_dyld_caches_note note, void *context,
                        char *error, size_t error_size) {
    struct uspi_error reason = {.text = ""};
    if (error != NULL && error_size > 0) error[0] = '\0';
    if (caches == NULL || path == NULL) return USP_ERROR_ARGUMENT;
    struct adding adding = {.caches = caches, .note = note, .context = context};
    bool is_cut;
    int status = uspi_dyld_folders_walk(path, add_found, &adding, &is_cut);
    if (is_cut && note != NULL) {
        (void)uspi_error_set(&reason, USP_OK,
                             "%s: too many folders or files to look for caches in all: give a folder "
                             "nearer to them",
                             path);
        note(context, reason.text);
    }
    if (status == USP_OK && adding.found == 0) {
        status = uspi_error_set(&reason, USP_ERROR_NOT_FOUND, "%s: no dyld shared cache in this folder", path);
    } else if (status != USP_OK && status != USP_ERROR_NO_MEMORY) {
        const int of_folder = status;
        status = add_file(&adding, path, &reason);
        /* A folder that must not be listed is not a regular file either. */
        if (status == USP_ERROR_FORMAT && of_folder == USP_ERROR_PERMISSION) {
            status = uspi_error_set(&reason, of_folder, "%s: %s", path, usp_status_string(of_folder));
        }
    }
    if (status != USP_OK && error != NULL && error_size > 0) snprintf(error, error_size, "%s", reason.text);
    return status;
}

/* ---- asking ---- */

size_t usp_dyld_caches_count(const struct usp_dyld_caches *caches) { return caches != NULL ? caches->count : 0; }

int usp_dyld_caches_get(const struct usp_dyld_caches *caches, size_t i, struct usp_dyld_cache *cache) {
    if (caches == NULL || cache == NULL) return USP_ERROR_ARGUMENT;
    *cache = (struct usp_dyld_cache){.path = ""};
    if (i >= caches->count) return USP_ERROR_NOT_FOUND;
    const struct uspi_dyld_cache *own = caches->caches[i];
    *cache = (struct usp_dyld_cache){.path = own->path,
                                     .base = own->base,
                                     .size = own->end > own->base ? own->end - own->base : 0,
                                     .arch = own->arch,
                                     .variant = own->variant,
                                     .platform = own->files[0]->header.platform,
                                     .image_count = own->member_count - own->stubs_count,
                                     .file_count = own->file_count,
                                     .missing_count = own->missing_count};
    memcpy(cache->uuid, own->files[0]->header.uuid, sizeof cache->uuid);
    return USP_OK;
}

static struct usp_image describe(const struct uspi_dyld_cache *cache, const struct uspi_dyld_member *member) {
    struct usp_image image = {.path = member->path,
                              .load_address = member->address,
                              .text_low = member->address,
                              .text_high = member->address + member->text_size,
                              .end = member->address + member->text_size,
                              .arch = cache->arch,
                              .variant = cache->variant,
                              .flags = USP_IMAGE_MACHO};
    if (uspi_dyld_is_uuid(member->uuid)) {
        memcpy(image.build_id, member->uuid, sizeof member->uuid);
        image.build_id_size = sizeof member->uuid;
    }
    return image;
}

int usp_dyld_caches_list(const struct usp_dyld_caches *caches, size_t i, uint32_t flags, struct usp_images **images) {
    struct uspi_image_list list = {0};
    if (caches == NULL || images == NULL || (flags & ~(uint32_t)USP_DYLD_STUBS) != 0) return USP_ERROR_ARGUMENT;
    *images = NULL;
    if (i >= caches->count) return USP_ERROR_NOT_FOUND;
    const struct uspi_dyld_cache *cache = caches->caches[i];
    for (uint32_t k = 0; k < cache->member_count; k++) {
        const struct usp_image image = describe(cache, &cache->members[k]);
        if (cache->members[k].is_stubs && (flags & USP_DYLD_STUBS) == 0) continue;
        if (uspi_image_list_add(&list, &image) != USP_OK) {
            uspi_image_list_clear(&list);
            return USP_ERROR_NO_MEMORY;
        }
    }
    return uspi_image_list_seal(&list, images);
}

bool uspi_dyld_find(const struct usp_dyld_caches *caches, const uint8_t uuid[16], const struct uspi_dyld_cache **cache,
                    const struct uspi_dyld_member **member) {
    if (!uspi_dyld_is_uuid(uuid)) return false;
    for (size_t i = 0; i < caches->count; i++) {
        const struct uspi_dyld_cache *own = caches->caches[i];
        uint32_t k;
        USPI_FIRST(k, 0, own->member_count, memcmp(own->by_uuid[k]->uuid, uuid, 16) >= 0);
        if (k == own->member_count || memcmp(own->by_uuid[k]->uuid, uuid, 16) != 0) continue;
        *cache = own;
        *member = own->by_uuid[k];
        return true;
    }
    return false;
}

int usp_dyld_caches_find(const struct usp_dyld_caches *caches, const uint8_t *uuid, struct usp_image *image) {
    const struct uspi_dyld_cache *cache;
    const struct uspi_dyld_member *member;
    if (caches == NULL || uuid == NULL || image == NULL) return USP_ERROR_ARGUMENT;
    *image = (struct usp_image){.path = ""};
    if (!uspi_dyld_find(caches, uuid, &cache, &member)) return USP_ERROR_NOT_FOUND;
    *image = describe(cache, member);
    return USP_OK;
}
