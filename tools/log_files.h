/* SPDX-License-Identifier: MIT */
/* The files that a command is to read, out of files and folders that it was given; and where each goes in a folder. */
#ifndef TOOL_LOG_FILES_H
#define TOOL_LOG_FILES_H

#include <stdbool.h>
#include <stddef.h>

struct log_file_name {
    char *path;      /* "-": standard input */
    size_t relative; /* where in the path the part begins that it keeps in another folder */
};

struct log_file_names {
    struct log_file_name *names;
    size_t count, room;
};

/* All zero is an empty list. Adds a file, or all regular files below a folder, sorted; files that begin with a dot and links
 * to folders are left out of folders. Complains. Returns an enum exit_status. */
int log_files_add(struct log_file_names *names, const char *path);

void log_files_clear(struct log_file_names *names);

/* The path of a file in another folder; the folders that it needs are made. The caller's to free; complains and returns NULL
 * when that fails. */
char *log_files_in(const char *folder, const struct log_file_name *name);

#endif
