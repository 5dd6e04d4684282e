/* SPDX-License-Identifier: MIT */
/* Loads libarchive, with which the command reads zip archives and compressed cores, if it is needed. */
#ifndef TOOLS_LIBARCHIVE_H
#define TOOLS_LIBARCHIVE_H

#include <stdbool.h>
#include <stddef.h>

/* A function of libarchive, and the function pointer that gets it. */
struct libarchive_function {
    const char *name;
    void *pointer;
};

/* Sets the function pointers. Returns false when libarchive is not installed or lacks one of the functions. */
bool load_libarchive(const struct libarchive_function *functions, size_t count);

#endif
