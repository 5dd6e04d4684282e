/* SPDX-License-Identifier: MIT */
/* The files of dyld shared caches put together: bytes by address, images by UUID. Bytes come through a small store of
 * pages, so that a cache of several GB takes a few MB of memory however much of it is read. */
#ifndef USPI_IMAGES_DYLD_CACHE_SET_H
#define USPI_IMAGES_DYLD_CACHE_SET_H

#include "lib/images/file.h"
#include "lib/object/dyld_cache.h"
#include "lib/object/macho.h"

#include <unspool/dyld_caches.h>

struct uspi_dyld_pages;

/* One file of a cache. */
struct uspi_dyld_file {
    struct uspi_file *file;
    struct uspi_dyld_pages *pages; /* the set's */
    uint32_t number;               /* unique in the set */
    struct uspi_source source;     /* the file's bytes, with pointers replaced by the addresses that they stand for */
    struct uspi_dyld_header header;
    struct uspi_dyld_slide slides[USPI_DYLD_MAPPINGS];
    bool is_cut; /* it lacks bytes of its mappings, and a note said so */
};

/* A range of addresses that a file holds. */
struct uspi_dyld_range {
    usp_addr address;
    uint64_t size, file_offset;
    uint32_t file;  /* its index in the cache's files */
    uint32_t flags; /* enum uspi_dyld_mapping_flags */
};

struct uspi_dyld_member {
    usp_addr address;
    uint64_t text_size;
    const char *path;
    uint8_t uuid[16];
    bool is_stubs; /* no image, but stubs of calls between images */
};

struct uspi_dyld_cache {
    char *path;
    struct uspi_dyld_file *files[USPI_DYLD_FILES]; /* the main file first */
    uint32_t file_count, missing_count;
    int32_t symbols;                /* index of the file with local symbols; -1: none */
    struct uspi_dyld_range *ranges; /* by address, without overlaps */
    size_t range_count, range_capacity;
    struct uspi_dyld_member *members;        /* the images and the ranges of stubs, by address */
    const struct uspi_dyld_member **by_uuid; /* the same by UUID */
    uint32_t member_count, stubs_count;      /* of all members, and of those that are not images */
    uint64_t stubs_size;                     /* of all ranges of stubs in bytes */
    char *paths;                             /* of the images */
    usp_addr base, end;
    uint32_t arch, variant;
    bool wide;                 /* its images have 64 bits */
    usp_addr selectors;        /* from which names in method lists count; 0: none */
    struct uspi_source source; /* the cache's bytes by address */
};

struct usp_dyld_caches {
    struct uspi_dyld_cache **caches;
    size_t count, capacity;
    struct uspi_dyld_pages *pages;
    uint32_t file_count; /* numbers of files that were given */
};

/* Makes the store of pages; NULL when memory is exhausted. NULL is ignored by `free`. */
struct uspi_dyld_pages *uspi_dyld_pages_create(void);
void uspi_dyld_pages_free(struct uspi_dyld_pages *pages);

/* Reads bytes of a file through the pages: the `read` of its source. context: the struct uspi_dyld_file. */
int uspi_dyld_read_file(void *context, uint64_t at, void *to, size_t n);

/* Reads bytes by address: the `read` of a cache's source. context: the struct uspi_dyld_cache. Returns USP_OK,
 * USP_ERROR_NOT_FOUND when no file holds one of the bytes, or why reading failed. */
int uspi_dyld_read(void *context, uint64_t at, void *to, size_t n);

/* Returns how many bytes from an address on the files hold without a gap, at most `most`. */
uint64_t uspi_dyld_extent(const struct uspi_dyld_cache *cache, usp_addr address, uint64_t most);

/* Returns the range that holds an address, or NULL. */
const struct uspi_dyld_range *uspi_dyld_range_at(const struct uspi_dyld_cache *cache, usp_addr address);

/* Returns the image or the range of stubs whose text holds an address, or NULL. */
const struct uspi_dyld_member *uspi_dyld_member_at(const struct uspi_dyld_cache *cache, usp_addr address);

/* Opens the Mach-O header of an image in the cache. USP_ERROR_FORMAT when it has too many bytes of load commands; otherwise
 * as uspi_macho_open. */
int uspi_dyld_open_member(const struct uspi_dyld_cache *cache, const struct uspi_dyld_member *member,
                          struct uspi_macho *macho, struct uspi_error *error);

/* Returns whether a UUID is one: not all zeros. */
bool uspi_dyld_is_uuid(const uint8_t uuid[16]);

/* Finds a cache by its own UUID. Returns NULL when there is none, and for a UUID of zeros. */
const struct uspi_dyld_cache *uspi_dyld_cache_of(const struct usp_dyld_caches *caches, const uint8_t uuid[16]);

/* Finds the image with a UUID. Returns false when there is none, and for a UUID of zeros. */
bool uspi_dyld_find(const struct usp_dyld_caches *caches, const uint8_t uuid[16], const struct uspi_dyld_cache **cache,
                    const struct uspi_dyld_member **member);

/* Opens the cache whose main file has this path. On success the caller frees *cache, which is NULL if the set has a cache
 * with the same UUID. Returns as usp_dyld_caches_add does for a file. */
int uspi_dyld_cache_open(struct usp_dyld_caches *caches, const char *path, usp_dyld_caches_note note, void *context,
                         struct uspi_dyld_cache **cache, struct uspi_error *error);
void uspi_dyld_cache_free(struct uspi_dyld_cache *cache);

/* Calls `found` with the path of each file in the folder that has the name of a main file, and in those folders below
 * it where Apple's systems and tools have caches. Links that lead in circles are followed a limited number of times.
 * *is_cut: there are too many folders or names, and some were not looked at.
 * `found` returns USP_OK, or a status that ends the search. Returns USP_OK, that status, USP_ERROR_NO_MEMORY, or why
 * the folder cannot be read. */
int uspi_dyld_folders_walk(const char *folder, int (*found)(void *context, const char *path), void *context,
                           bool *is_cut);

#endif
