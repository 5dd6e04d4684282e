/* SPDX-License-Identifier: MIT */
/* Looking for the file that a process, a core or a log names, on a machine where it may lie elsewhere. */
#ifndef USPI_SEARCH_H
#define USPI_SEARCH_H

#include "lib/images/file.h"

/* Where to look, in this order. Each may be NULL. A path that ends in .dSYM stands for the files in that bundle. */
struct uspi_search {
    const char *file;    /* this file, whatever its name */
    const char *sysroot; /* the path below this folder */
    bool as_named;       /* the path itself */
    const char *folder;  /* the path's last part in this folder ("" is the current one) */
};

/* Opens the first candidate that `judge` accepts; *file is the caller's then, NULL otherwise. USP_ERROR_NOT_FOUND when
 * there is no candidate, USP_ERROR_NO_MEMORY, or what the first one was refused for, with *error saying it; a candidate
 * that lacks what the judge looks for counts as USP_ERROR_MISMATCH. */
int uspi_search_open(const struct uspi_search *search, const char *path, uspi_judge judge, void *context,
                     struct uspi_file **file, struct uspi_error *error);

#endif
