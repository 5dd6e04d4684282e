/* SPDX-License-Identifier: MIT */
/* Makes, opens and removes folders. */
#ifndef TOOLS_FOLDERS_H
#define TOOLS_FOLDERS_H

#include <fcntl.h>
#include <stdbool.h>
#include <sys/types.h>

/* Makes the folders above a path. Changes the path temporarily. Returns false with errno. */
bool make_folders_of(char *path, mode_t mode);

/* Makes a folder and those above it, unless it is there. Returns false with errno. */
bool make_all_folders(const char *path);

/* Removes a folder with all that is in it. Links are removed, not followed. */
void remove_folder(const char *path);

/* Flags to open a folder for use in openat(2), also a folder that may not be listed. */
#ifdef O_PATH
#define FOLDER_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)
#else
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#endif

/* Opens the folder that holds the file of a path, following links. Sets *name to the file's name in the path. Returns a
 * descriptor, or -1 with errno. */
int open_folder_of(const char *path, const char **name);

/* Opens the folder that holds a file below `folder`, a descriptor: "a/b" for "a/b/file". Links are not followed,
 * because the owner of a folder can put one in the place of a folder at any time. `makes`: makes missing folders.
 * *reach (may be NULL) loses the permissions of users who may not enter one of the folders. Returns a descriptor, or -1
 * with errno, ENOTDIR for a link. */
int open_folder_below(int folder, const char *relative, bool makes, mode_t *reach);

#endif
