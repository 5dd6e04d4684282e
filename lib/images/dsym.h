/* SPDX-License-Identifier: MIT */
/* dSYM bundles: the folder NAME.dSYM that dsymutil and Xcode put a program's debugging symbols in. The Mach-O file inside
 * is read as any other; how it is named varies, so that its UUID decides. */
#ifndef USPI_DSYM_H
#define USPI_DSYM_H

#include "lib/images/file.h"

/* Whether the path is one of a bundle by its name; it need not be there. */
bool uspi_dsym_is_bundle(const char *path);

/* Opens the file in a bundle that `judge` accepts. What macOS leaves beside files on foreign file systems (AppleDouble,
 * "._NAME") is passed over. On success *file is the caller's, NULL otherwise. USP_ERROR_NOT_FOUND when there is no such
 * bundle or nothing in it, USP_ERROR_NO_MEMORY, or what the last file was refused for. */
int uspi_dsym_open(const char *path, uspi_judge judge, void *context, struct uspi_file **file,
                   struct uspi_error *error);

#endif
