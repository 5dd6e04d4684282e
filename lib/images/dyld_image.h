/* SPDX-License-Identifier: MIT */
/* One image of a dyld shared cache as a Mach-O file of its own. A cache spreads an image: its segments lie in different
 * files, and all images share one __LINKEDIT. The file that is made here has the segments one after the other, read
 * when they are used, with pointers as plain addresses. Its __LINKEDIT is made when it is opened: the image's own
 * symbols without those that the cache calls <redacted>, its local symbols, names, exports and function starts. */
#ifndef USPI_IMAGES_DYLD_IMAGE_H
#define USPI_IMAGES_DYLD_IMAGE_H

#include "lib/images/dyld_cache_set.h"
#include "lib/images/pointers.h"
#include "lib/object/macho.h"

/* Opens the image with a UUID. On success the caller closes *file before the caches are freed. Returns USP_OK,
 * USP_ERROR_NOT_FOUND when no cache has the image, or the file that holds it is missing, USP_ERROR_FORMAT,
 * USP_ERROR_TRUNCATED, USP_ERROR_SYSTEM, USP_ERROR_NO_MEMORY. */
int uspi_dyld_image_open(const struct usp_dyld_caches *caches, const uint8_t uuid[16], struct uspi_file **file,
                         struct uspi_error *error);

/* Opens the image whose text holds an address of a cache. Otherwise like uspi_dyld_image_open. */
int uspi_dyld_image_open_at(const struct uspi_dyld_cache *cache, usp_addr address, struct uspi_file **file,
                            struct uspi_error *error);

/* Returns the permissions that the files of a cache withhold (uspi_file_withheld). */
uint32_t uspi_dyld_withheld(const struct uspi_dyld_cache *cache);

/* A range of stubs. It has a UUID like an image; its file has its bytes and is no Mach-O file. */
struct uspi_dyld_stubs {
    const struct uspi_dyld_cache *cache;
    usp_addr address;
    uint64_t size;
};

/* Gives the range of such a file. Returns false for any other file, and for NULL. */
bool uspi_dyld_stubs_of(const struct uspi_file *file, struct uspi_dyld_stubs *stubs);

/* Gives the image of such a file as it lies in the cache: its bytes by address, and what is needed to follow its
 * pointers, which lead out of the image. Returns false for any other file. */
bool uspi_dyld_image_in_cache(const struct uspi_file *file, struct uspi_bytes *bytes, struct uspi_pointers *pointers);

/* ---- its __LINKEDIT (dyld_linkedit.c) ---- */

/* An image that is read from a cache. */
struct uspi_dyld_source {
    const struct uspi_dyld_cache *cache;
    const struct uspi_dyld_member *member;
    struct uspi_macho macho;            /* a copy of its header and load commands */
    struct uspi_macho_segment linkedit; /* the one of all images; memory_size 0: the image has none */
};

/* A part of the made __LINKEDIT. */
struct uspi_dyld_piece {
    uint64_t offset, size;
};

/* The made __LINKEDIT. Its offsets count from its beginning. */
struct uspi_dyld_linkedit {
    uint8_t *bytes; /* owned */
    size_t size, capacity;
    struct uspi_dyld_piece starts, exports, symbols, indirect, strings;
    uint32_t symbol_count;
    uint32_t local_count, external_count, undefined_count; /* of symbols, which lie in this order */
};

/* Makes the tables. One that cannot be read is left out. On success the caller frees linkedit->bytes. Returns USP_OK or
 * USP_ERROR_NO_MEMORY. */
int uspi_dyld_linkedit_make(const struct uspi_dyld_source *source, struct uspi_dyld_linkedit *linkedit);

#endif
