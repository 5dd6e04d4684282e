/* SPDX-License-Identifier: MIT */
/* `unspool symbolize --log`: logs and reports with their unnamed frames named, everything else byte for byte. What is in the
 * texts, the library reads (<unspool/report.h>); here are files: which are read, where it is written, what is said. */
#ifndef TOOL_LOG_H
#define TOOL_LOG_H

#include "tools/fetch.h"
#include "tools/lines.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_options {
    const char *const *logs; /* files, folders with all files below them; "-": standard input */
    size_t log_count;
    const char *const *search; /* folders, or single files, in which the images' files are looked for */
    size_t search_count;
    const char *binary_images; /* a file that tells the images of all logs in a form of theirs; NULL: the logs do */
    const struct line_options *lines;
    struct fetch_options fetch;
    const char *output; /* a folder that gets a file for each log; NULL: standard output */
    bool is_in_place;   /* each log is replaced */
    bool is_strict;     /* frames without a name are a failure */
    bool is_quiet;      /* nothing is said of what is missing */
    /* One JSON object a line; of the others `search`, `lines`, `fetch` and `demangling` count. */
    bool are_records;
    uint32_t demangling; /* enum usp_demangle_style */
};

/* Says on standard error which images were not found, once each, and what was named. Returns an enum exit_status: without
 * is_strict EXIT_ALL_WELL also when files of images were not found, since no machine has all of them. */
int symbolize_logs(const struct log_options *options);

#endif
