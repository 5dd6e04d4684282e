/* SPDX-License-Identifier: MIT */
/* Finds the bytes of a core or raw capture that a command is given: a regular file as it is; a compressed file, or what
 * comes from a pipe, as a temporary file without a name, in which blocks of zeros take no space. */
#ifndef TOOLS_CORE_INPUT_H
#define TOOLS_CORE_INPUT_H

#include <stdbool.h>
#include <stddef.h>

struct core_input {
    const char *path; /* by which the library opens the bytes */
    const char *name; /* for messages; NULL: the path */
    int file;         /* descriptor of the temporary file; -1: none */
    char copy[32];    /* its path */
};

/* Prepares a file. "-" is standard input. A compressed file (zstd, xz, lz4, gzip) is unpacked with libarchive, if it is
 * installed; without it, *input is the file as it is. `error` gets a message. On success the caller calls
 * core_input_end when the bytes are no longer used. Returns USP_OK, USP_ERROR_FORMAT (damaged, or too large),
 * USP_ERROR_UNSUPPORTED (a compressed pipe without libarchive), USP_ERROR_PERMISSION, USP_ERROR_SYSTEM (no space, no
 * temporary file). */
int core_input_begin(const char *path, struct core_input *input, char *error, size_t error_size);

/* Takes the bytes of an open file, which core_input_end closes. `name`: for messages. */
void core_input_take(int file, const char *name, struct core_input *input);

/* Whether the bytes are not those of the file of the given path. */
bool core_input_is_other(const struct core_input *input);

/* Returns a message of the library, with the name in place of the temporary path at its beginning. `room` has `size`
 * bytes. */
const char *core_input_message(const struct core_input *input, const char *message, char *room, size_t size);

void core_input_end(struct core_input *input);

#endif
