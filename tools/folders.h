/* SPDX-License-Identifier: MIT */
/* Makes and removes folders. */
#ifndef TOOLS_FOLDERS_H
#define TOOLS_FOLDERS_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes the folders above a path. Changes the path temporarily. Returns false with errno. */
bool make_folders_of(char *path, mode_t mode);

/* Removes a folder with all that is in it. Links are removed, not followed. */
void remove_folder(const char *path);

#endif
