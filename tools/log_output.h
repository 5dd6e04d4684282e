/* SPDX-License-Identifier: MIT */
/* The output of a log: standard output, a file in a folder, or the log's own path, which is replaced when all is
 * written. */
#ifndef TOOLS_LOG_OUTPUT_H
#define TOOLS_LOG_OUTPUT_H

#include "tools/log.h"
#include "tools/log_files.h"
#include "tools/log_input.h"
#include "tools/output.h"

#include <stdatomic.h>
#include <stdio.h>

/* Receives logs that have no file of their own: standard output, or what a process of --jobs keeps until it is shown.
 * When it is the log's turn, the process writes what is in the memory to standard output, and the memory is free again.
 * Bytes that cannot be written stay there, so that the command itself meets the error. */
struct log_standard {
    FILE *file;
    char *memory; /* receives the first bytes, up to `room`; the file receives those after them */
    size_t room, used;
    const atomic_size_t *turn; /* the log whose turn it is; NULL: the memory is never written */
    size_t log;
    bool is_kept; /* bytes are in the file, or could not be written: the memory is not written any more */
};

/* Writes what the memory holds to standard output, if it is the log's turn. */
void log_standard_show(struct log_standard *standard);

struct log_output {
    FILE *file;
    struct log_standard *standard; /* NULL: the log has a file of its own */
    struct output written;         /* the file, if it has a name */
    bool has_failed;
};

/* Opens the output of a log. `standard` receives it if it has no name. `place`: its folder, if it is replaced; the
 * output owns the descriptor then. `input`: the open log. Complains. Returns an enum exit_status. */
int log_output_open(struct log_output *output, struct log_standard *standard, const struct log_options *options,
                    const struct log_file_name *name, struct log_folder *place, const struct log_input *input);

/* Writes bytes. Returns false on failure. */
bool log_output_write(struct log_output *output, const char *bytes, size_t n);

void log_output_flush(struct log_output *output);

bool log_output_has_failed(const struct log_output *output);

/* Complains of the failure. Returns an enum exit_status. */
int log_output_fail(const struct log_output *output);

/* Closes the output. `is_whole`: the written file replaces the old one; otherwise it is deleted. Complains. Returns an
 * enum exit_status. */
int log_output_close(struct log_output *output, bool is_whole);

#endif
