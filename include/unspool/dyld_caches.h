/* SPDX-License-Identifier: MIT */
/* dyld's shared caches as files: where Apple's systems keep their own libraries, and the source of those libraries'
 * symbols. symbolize.h and places.h use them. A mapped cache of a process is described by images.h. */
#ifndef UNSPOOL_DYLD_CACHES_H
#define UNSPOOL_DYLD_CACHES_H

#include <unspool/base.h>
#include <unspool/images.h>

USP_BEGIN_DECLS

/* Opaque: a set of open caches, which symbolizers share. Any number of threads may use one at the same time, except for
 * usp_dyld_caches_add and usp_dyld_caches_free. */
struct usp_dyld_caches;

/* Makes an empty set. On success the caller frees *caches. Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Not
 * async-signal-safe: it allocates. */
USP_API int usp_dyld_caches_create(struct usp_dyld_caches **caches);

/* Receives a sentence about a file of a cache that is missing, cut, damaged or of another build. The rest of the cache
 * is used without it. The text is valid during the call. */
typedef void (*usp_dyld_caches_note)(void *context, const char *text);

/* Opens a cache and adds it to the set; a cache with a UUID that the set has is left out.
 *   path   the cache's main file (dyld_shared_cache_arm64e), or a folder: all caches in it and in those folders below
 *          it where macOS, Xcode (DeviceSupport), IPSW archives and simulators have theirs
 *   note   NULL: notes are dropped
 *   error  may be NULL; `error_size` bytes, receives a sentence that says why it failed
 * Further files are opened by the names and UUIDs that the main file lists (.1, .02.dylddata, .symbols). Of the files
 * only the headers, the lists and the paths of images are read now. Files may be replaced or cut while they are used:
 * what cannot be read has no names.
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NOT_FOUND (no such file, or no cache in the folder), USP_ERROR_FORMAT
 * (no cache, or a part of one), USP_ERROR_TRUNCATED, USP_ERROR_PERMISSION, USP_ERROR_SYSTEM, USP_ERROR_NO_MEMORY. For
 * one thread at a time, not async-signal-safe: it opens files and allocates. */
USP_API int usp_dyld_caches_add(struct usp_dyld_caches *caches, const char *path, usp_dyld_caches_note note,
                                void *context, char *error, size_t error_size);

/* Frees a set, which no symbolizer uses any more. NULL is ignored. Not async-signal-safe: it frees memory. */
USP_API void usp_dyld_caches_free(struct usp_dyld_caches *caches);

struct usp_dyld_cache {
    const char *path;       /* of the main file; valid as long as the set */
    usp_addr base;          /* the address for which the cache was linked */
    uint64_t size;          /* from there to the end of the last mapping, in bytes */
    uint8_t uuid[16];       /* all 0: an old cache without one */
    uint32_t arch;          /* enum usp_arch; USP_ARCH_NONE: no image can be read */
    uint32_t variant;       /* enum usp_variant */
    uint32_t platform;      /* as in LC_BUILD_VERSION: 1 macOS, 2 iOS, 7 iOS simulator; 0: not known */
    uint32_t image_count;   /* number of images, without aliases */
    uint32_t file_count;    /* number of its open files */
    uint32_t missing_count; /* number of files that it lists and that were missing or of another build */
    uint64_t reserved[4];
};

/* The number of caches. Async-signal-safe, thread-safe. */
USP_API size_t usp_dyld_caches_count(const struct usp_dyld_caches *caches);

/* Describes the i-th cache, in the order of adding. Returns USP_OK, USP_ERROR_ARGUMENT, or USP_ERROR_NOT_FOUND past the
 * end. Async-signal-safe, thread-safe. */
USP_API int usp_dyld_caches_get(const struct usp_dyld_caches *caches, size_t i, struct usp_dyld_cache *cache);

enum usp_dyld_flags {
    USP_DYLD_STUBS = 1 << 0 /* also the ranges of stubs, through which images call each other, as images "stubs" */
};

/* Lists the images of the i-th cache at the addresses for which they were linked. An image ends where its text ends;
 * its other segments lie elsewhere. flags: enum usp_dyld_flags. On success the caller frees *images. Returns USP_OK,
 * USP_ERROR_ARGUMENT, USP_ERROR_NOT_FOUND past the end, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe: it
 * allocates. */
USP_API int usp_dyld_caches_list(const struct usp_dyld_caches *caches, size_t i, uint32_t flags,
                                 struct usp_images **images);

/* Finds the image with a UUID, of 16 bytes, at the address for which it was linked. image->path is valid as long as the
 * set. Returns USP_OK, USP_ERROR_ARGUMENT, or USP_ERROR_NOT_FOUND. Async-signal-safe, thread-safe. */
USP_API int usp_dyld_caches_find(const struct usp_dyld_caches *caches, const uint8_t *uuid, struct usp_image *image);

USP_END_DECLS

#endif
