/* SPDX-License-Identifier: MIT */
/* Where a log goes: standard output, a file in a folder, or its own place, which it takes when it is whole. */
#ifndef TOOL_LOG_OUTPUT_H
#define TOOL_LOG_OUTPUT_H

#include "tools/log.h"
#include "tools/log_files.h"

#include <stdio.h>

struct log_output {
    FILE *file;
    char *path, *temporary; /* NULL: standard output */
    bool has_failed;
};

/* Complains. Returns an enum exit_status. */
int log_output_open(struct log_output *output, const struct log_options *options, const struct log_file_name *name);

/* Returns false when it fails. */
bool log_output_write(struct log_output *output, const char *bytes, size_t n);

void log_output_flush(struct log_output *output);

bool log_output_has_failed(const struct log_output *output);

/* Says why it failed; returns an enum exit_status. */
int log_output_fail(const struct log_output *output);

/* `is_whole`: what was written takes its place; otherwise it is dropped. Complains. Returns an enum exit_status. */
int log_output_close(struct log_output *output, bool is_whole);

#endif
