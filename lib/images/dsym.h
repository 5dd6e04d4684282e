/* SPDX-License-Identifier: MIT */
/* dSYM bundles: the folder NAME.dSYM into which dsymutil and Xcode put a program's debugging symbols. The Mach-O file
 * inside is read like any other. Its name varies, so its UUID decides whether it is the right one. */
#ifndef USPI_IMAGES_DSYM_H
#define USPI_IMAGES_DSYM_H

#include "lib/images/search.h"

/* Returns whether a path ends in .dSYM; the folder need not exist. */
bool uspi_dsym_is_bundle(const char *path);

/* Opens a file like uspi_search_open. For a path that ends in .dSYM, the files in that bundle are tried. Names that
 * begin with a dot are skipped: macOS leaves such files beside others on foreign file systems (AppleDouble, "._NAME").
 * If the judge accepts none, the reason is why the last file was refused. */
int uspi_search_bundles(const struct uspi_search *search, const char *path, uspi_judge judge, void *context,
                        struct uspi_file **file, struct uspi_error *error);

#endif
