/* SPDX-License-Identifier: MIT */
/* What all ways of fetching a file share (fetch.h): the request, its result, the folder for caches, the clock. */
#ifndef TOOLS_FETCHED_H
#define TOOLS_FETCHED_H

#include <unspool/images.h>

/* A build, identified by its UUID or build id. */
struct fetch_build {
    uint8_t id[USP_BUILD_ID_MAX];
    size_t id_size;
};

/* The result of fetching a file. */
enum fetched {
    FETCH_DONE,
    FETCH_FAILED,
    FETCH_LATE,    /* timeout */
    FETCH_HOPELESS /* other builds would fail too */
};

/* Size of a buffer for an error message. */
#define FETCH_ERROR 512

/* Returns a folder below the user's folder for caches: $XDG_CACHE_HOME/NAME or ~/.cache/NAME, which the caller frees.
 * NULL: there is no $HOME, or memory is exhausted. */
char *fetch_in_cache(const char *name);

/* Returns the time of the monotonic clock in milliseconds. */
uint64_t fetch_clock(void);

#endif
