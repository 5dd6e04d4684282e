/* SPDX-License-Identifier: MIT */
/* dSYM bundles: the folder NAME.dSYM into which dsymutil and Xcode put a program's debugging symbols. The Mach-O file
 * inside is read like any other. Its name varies, so its UUID decides whether it is the right one. */
#ifndef USPI_IMAGES_DSYM_H
#define USPI_IMAGES_DSYM_H

#include "lib/images/file.h"

/* Returns whether a path ends in .dSYM; the folder need not exist. */
bool uspi_dsym_is_bundle(const char *path);

/* Opens the file in a bundle that `judge` accepts. Names that begin with a dot are skipped: macOS leaves such files
 * beside others on foreign file systems (AppleDouble, "._NAME"). On success the caller closes *file; otherwise it is
 * NULL. Returns USP_OK, USP_ERROR_NOT_FOUND when there is no such bundle or no file in it, USP_ERROR_NO_MEMORY, or why
 * the last file was refused. `within` as in uspi_file_open_within. */
int uspi_dsym_open(const char *path, const char *within, uspi_judge judge, void *context, struct uspi_file **file,
                   struct uspi_error *error);

#endif
