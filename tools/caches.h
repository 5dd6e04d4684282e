/* SPDX-License-Identifier: MIT */
/* The option --shared-cache: dyld's shared caches as a source of names. */
#ifndef TOOLS_CACHES_H
#define TOOLS_CACHES_H

#include <unspool/dyld_caches.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARED_CACHE_USAGE                                                                                             \
    "  --shared-cache FILE|DIR\n"                                                                                      \
    "                     take names of Apple's system libraries from the dyld shared\n"                               \
    "                     cache FILE, or from all caches in and below DIR; may be\n"                                   \
    "                     repeated"

struct cache_options {
    const char **paths; /* of --shared-cache; owned, but its strings belong to the command line */
    size_t count;
    struct usp_dyld_caches *set; /* NULL: none were given, or they are not open yet */
    bool is_incomplete;          /* a file of an open cache is missing, cut, damaged or of another cache */
};

/* Adds the value of a --shared-cache. Complains if memory is exhausted. */
bool add_shared_cache(struct cache_options *caches, const char *path);

/* Opens the caches. Complains, also of files that are missing, but not if `is_quiet`. Returns an enum exit_status. */
int open_shared_caches(struct cache_options *caches, bool is_quiet);

/* Which image of a cache. */
struct cached_choice {
    const char *name;       /* its path, or the last part of it; NULL: any */
    const uint8_t *uuid;    /* 16 bytes; NULL: any */
    uint32_t arch, variant; /* enum usp_arch, enum usp_variant; 0: any */
};

/* Lists the images of the open caches that fit the choice, which have to be in one cache; the caller frees *images.
 * `slide` is added to the addresses. is_one: there has to be exactly one image. Complains. Returns an enum
 * exit_status. */
int choose_cached_images(const struct cache_options *caches, const struct cached_choice *choice, uint64_t slide,
                         bool is_one, struct usp_images **images);

/* Returns whether a file begins like a shared cache. */
bool is_shared_cache(const char *path);

void shared_caches_clear(struct cache_options *caches);

#endif
