/* SPDX-License-Identifier: MIT */
/* The last component of a path. */
#ifndef USPI_BASE_PATH_H
#define USPI_BASE_PATH_H

#include <string.h>

/* Returns what follows the last slash, or the whole path when nothing follows it. Points into `path`. */
static inline const char *uspi_last_component(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

#endif
