/* SPDX-License-Identifier: MIT */
/* Whether an image belongs to the system, by its path. */
#ifndef USPI_REPORT_SYSTEM_PATH_H
#define USPI_REPORT_SYSTEM_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns whether a path is below a folder, which has `length` bytes. */
static inline bool uspi_is_below(const char *path, const char *folder, size_t length) {
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

/* The folders are those of Apple's systems, Linux distributions (Filesystem Hierarchy Standard 3.0, Debian's multilib
 * folders) and simulators. */
static inline bool uspi_is_system_path(const char *path) {
    static const char *const folders[] = {"/System",    "/usr/lib",    "/usr/libexec", "/lib",
                                          "/lib32",     "/lib64",      "/libx32",      "/usr/lib32",
                                          "/usr/lib64", "/usr/libx32", "/Developer",   "/Library/Apple"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (uspi_is_below(path, folders[i], strlen(folders[i]))) return true;
    }
    return strstr(path, "/RuntimeRoot/") != NULL;
}

#endif
