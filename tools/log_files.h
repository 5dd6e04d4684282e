/* SPDX-License-Identifier: MIT */
/* Collects the files that a command reads from the files and folders of its arguments, and their paths in an output
 * folder. */
#ifndef TOOLS_LOG_FILES_H
#define TOOLS_LOG_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct log_file_name {
    char *path;      /* "-": standard input */
    size_t relative; /* start of the part of the path that is kept in another folder */
    /* The file was found in a folder. That is the path before the relative part; it is opened again as long as it is
     * the same one. */
    bool is_found;
    dev_t device;
    ino_t inode;
};

struct log_file_names {
    struct log_file_name *names;
    size_t count, capacity;
    size_t links; /* symbolic links in folders, which are left out */
};

/* Adds a file, or all regular files below a folder, sorted. In folders, symbolic links, files that begin with a dot and
 * temporary files of a former run are left out. An empty list is all zero. Complains. Returns an enum exit_status. */
int log_files_add(struct log_file_names *names, const char *path);

/* Prints a line on standard error if links were left out. */
void log_files_say_links(const struct log_file_names *names);

void log_files_clear(struct log_file_names *names);

/* The folder of a log. */
struct log_folder {
    int folder;       /* descriptor, which the caller closes; -1: not asked for */
    const char *name; /* of the log in it */
    mode_t reach;     /* permissions of users who may enter each folder in which the log was found */
};

/* Opens a log for reading. In a folder that was listed, no link is followed. With `is_replaced`, neither is a link in
 * the place of the log, and place->folder is opened. Returns a descriptor; standard input's for "-". Otherwise returns
 * -1 with errno, ELOOP for a link. */
int log_file_open(const struct log_file_name *name, bool is_replaced, struct log_folder *place);

/* Opens the folder for a log's copy in another folder, and makes the folders that are missing. Sets *path to the copy's
 * path, which the caller frees, and *copy to its name in that. Returns a descriptor. Complains and returns -1. */
int log_files_open_in(const char *folder, const struct log_file_name *name, char **path, const char **copy);

#endif
