/* SPDX-License-Identifier: MIT */
/* Looks for the file that a process, a core file or a log names, on a machine where it may lie elsewhere. */
#ifndef USPI_IMAGES_SEARCH_H
#define USPI_IMAGES_SEARCH_H

#include "lib/images/file.h"

/* Opens a file if `judge` accepts it. On success the caller closes *file; otherwise it is NULL. `within` as in
 * uspi_file_open_within. Returns USP_OK, what uspi_file_open returns, or what the judge returns, USP_ERROR_MISMATCH
 * instead of USP_ERROR_NOT_FOUND. */
int uspi_open_judged(const char *path, const char *within, uspi_judge judge, void *context, struct uspi_file **file,
                     struct uspi_error *error);

/* Opens a candidate like uspi_open_judged. */
typedef int (*uspi_opener)(const char *path, const char *within, uspi_judge judge, void *context,
                           struct uspi_file **file, struct uspi_error *error);

/* Where to look, in this order. Each pointer may be NULL. */
struct uspi_search {
    const char *file;    /* this file, whatever its name */
    const char *sysroot; /* the path below this folder */
    bool as_named;       /* the path itself */
    const char *folder;  /* the path's last part in this folder ("" is the current one) */
    /* The root of the paths' process, if it is another one than ours. A path below it is searched for without this
     * beginning, and not as named. NULL: the same root, or not known. */
    const char *inside;
    /* Links in a path below this folder, and below the sysroot, do not lead out of it. */
    const char *within;
    uspi_opener open; /* NULL: uspi_open_judged */
};

/* Returns how to search for paths that stand in a process's files, rather than in its list of images: they begin at its
 * root. */
struct uspi_search uspi_search_of_names(const struct uspi_search *search);

/* Returns the path from the process's root on; the path itself, if it is not below `inside`. */
const char *uspi_search_inside(const struct uspi_search *search, const char *path);

/* Opens the first candidate that `judge` accepts. On success the caller closes *file; otherwise it is NULL. Returns
 * USP_OK, USP_ERROR_NOT_FOUND when there is no candidate, USP_ERROR_NO_MEMORY, or why the first candidate was refused,
 * with the reason in *error. A candidate in which the judge does not find what it needs counts as
 * USP_ERROR_MISMATCH. */
int uspi_search_open(const struct uspi_search *search, const char *path, uspi_judge judge, void *context,
                     struct uspi_file **file, struct uspi_error *error);

#endif
