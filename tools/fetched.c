/* SPDX-License-Identifier: MIT */
/* Implements fetched.h. */
#include "tools/fetched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

char *fetch_in_cache(const char *name) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const bool has_cache = cache != NULL && cache[0] != '\0', has_home = home != NULL && home[0] != '\0';
    if (!has_cache && !has_home) return NULL;
    const char *folder = has_cache ? cache : home;
    const size_t capacity = strlen(folder) + sizeof "/.cache/" + strlen(name);
    char *path = malloc(capacity);
    if (path != NULL) snprintf(path, capacity, "%s%s/%s", folder, has_cache ? "" : "/.cache", name);
    return path;
}

uint64_t fetch_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}
