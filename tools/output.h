/* SPDX-License-Identifier: MIT */
/* Opens the files that the command writes, and puts them in their places when all is written. The folder of an output
 * can belong to a user who means harm to the one who runs the command. So a link is not followed unless it is the
 * caller's own, an old file is replaced and never written to, and no output has the setuid bit or lets anyone read or
 * write who may not do that with the file that it was made from. */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

/* Longest name of a temporary file. */
#define OUTPUT_NAME_MAX 255

struct output {
    FILE *file;    /* NULL: not open */
    int error;     /* errno of the first output_write that failed; 0: none has */
    char *path;    /* for messages */
    int folder;    /* descriptor of the file's folder; -1: no file is replaced, as with standard output and a pipe */
    char *name;    /* the file's name in the folder */
    mode_t mode;   /* of the finished file */
    bool is_owned; /* the finished file belongs to `owner` and `group` */
    bool is_copy;  /* `group` is the group of the file that it was made from */
    uid_t owner;
    gid_t group;
    char temporary[OUTPUT_NAME_MAX + 1]; /* name of the file while it is written; empty: it has none */
};

/* What the permissions of an output come from. */
enum output_kind {
    OUTPUT_NEW,  /* nothing: the owner's alone, or those of the caller's own file that is replaced */
    OUTPUT_COPY, /* a file that was read: what that, the umask or the file that is replaced forbids is forbidden */
    OUTPUT_REPLACEMENT /* a file that was read: its owner, its group and its permissions */
};

/* Opens a file that the caller has named (OUTPUT_NEW). It can be a pipe, a device, or an open descriptor (/dev/stdout).
 * Complains. */
bool output_open(struct output *output, const char *path);

/* Opens a file of a folder, a descriptor that the output owns from now on. `path`: for messages. `source`: status of
 * the file that was read, asked of its descriptor; NULL for OUTPUT_NEW. Complains. */
bool output_open_in(struct output *output, int folder, const char *name, const char *path, enum output_kind kind,
                    const struct stat *source);

/* Writes bytes to the file. The reason of a failure is kept for the message of output_close. */
bool output_write(struct output *output, const char *bytes, size_t n);

/* Returns the end of a message that the output could not be written: ": " and the reason, if it is known. `error`: an
 * errno or 0. */
const char *output_reason(int error, char *text, size_t size);

/* Closes the output. `is_whole`: the file is put in its place; otherwise it is removed. Returns false if it could not
 * be written; complains of that. */
bool output_close(struct output *output, bool is_whole);

/* Whether a path has the name of a temporary file. A command that was killed can have left it. */
bool output_is_temporary(const char *path);

#endif
