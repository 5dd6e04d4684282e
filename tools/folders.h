/* SPDX-License-Identifier: MIT */
/* Folders that the command makes for itself. */
#ifndef TOOL_FOLDERS_H
#define TOOL_FOLDERS_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes the folders that lead to a path, which is as it was afterwards. False with errno. */
bool make_folders_of(char *path, mode_t mode);

/* Removes a folder with all that is in it. Links are removed, not followed. */
void remove_folder(const char *path);

#endif
