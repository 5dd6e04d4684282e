/* SPDX-License-Identifier: MIT */
/* `unspool symbolize --log`: writes logs and reports with names for their frames that have none, everything else byte
 * for byte. The library reads the texts (<unspool/report.h>); this part handles files and messages. */
#ifndef TOOLS_LOG_H
#define TOOLS_LOG_H

#include "tools/fetch.h"
#include "tools/lines.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_options {
    const char *const *logs; /* files, or folders whose files are all read; "-": standard input */
    size_t log_count;
    const char *const *search; /* folders or files in which the images' files are searched */
    size_t search_count;
    const char *binary_images; /* file with the images of all logs, in a form of logs; NULL: the logs have them */
    const struct line_options *lines;
    struct cache_options *caches; /* those of `lines`, which are opened */
    struct fetch_options fetch;
    const char *output; /* folder for one output file per log; NULL: standard output */
    bool is_in_place;   /* replace each log */
    bool follows;       /* replace also the files that links lead to, and files of other users */
    bool is_strict;     /* fail if a frame has no name */
    bool is_quiet;      /* print nothing about missing files */
    bool keeps_names;   /* frames that have a name stay as they are */
    unsigned jobs;      /* number of logs at a time */
    /* Read one JSON object per line instead. Only `search`, `lines`, `fetch` and `demangling` apply then. */
    bool are_records;
    uint32_t demangling; /* enum usp_demangle_style */
};

/* Symbolicates the logs. Prints on standard error which images were not found, once each, and counts. Returns an enum
 * exit_status. Without is_strict it is EXIT_ALL_WELL even if files of images were not found, since no machine has all
 * of them. */
int symbolize_logs(const struct log_options *options);

#endif
