/* SPDX-License-Identifier: MIT */
/* Collects the files that a command reads from the files and folders of its arguments, and their paths in an output
 * folder. */
#ifndef TOOLS_LOG_FILES_H
#define TOOLS_LOG_FILES_H

#include <stdbool.h>
#include <stddef.h>

struct log_file_name {
    char *path;      /* "-": standard input */
    size_t relative; /* start of the part of the path that is kept in another folder */
};

struct log_file_names {
    struct log_file_name *names;
    size_t count, room;
};

/* Adds a file, or all regular files below a folder, sorted. In folders, files that begin with a dot and links to
 * folders are left out. An empty list is all zero. Complains. Returns an enum exit_status. */
int log_files_add(struct log_file_names *names, const char *path);

void log_files_clear(struct log_file_names *names);

/* Returns the path of a file in another folder, and makes the folders that it needs. The caller frees it. Complains and
 * returns NULL on failure. */
char *log_files_in(const char *folder, const struct log_file_name *name);

#endif
