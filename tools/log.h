/* SPDX-License-Identifier: MIT */
/* `unspool symbolize --log`: a log or a crash report with its unnamed frames named, everything else byte for byte.
 * The way of a log: log_input.h gives its bytes, log_line.h knows the lines, log_tables.h what they say of images,
 * log_names.h names a place in an image by the files of log_search.h; log_text.h and log_ips.h write. */
#ifndef TOOL_LOG_H
#define TOOL_LOG_H

#include <stddef.h>
#include <stdint.h>

struct log_options {
    const char *log;           /* a file; "-": standard input */
    const char *const *search; /* folders, or single files, in which the images' files are looked for; at least one */
    size_t search_count;
    const char
        *binary_images;  /* a file that tells the log's images, in any form that a log may tell them; NULL: the log
                                  tells them itself */
    uint32_t demangling; /* enum usp_demangling */
};

/* Writes to standard output; says on standard error which images were not found, once each. Returns an enum exit_status:
 * EXIT_ALL_WELL also when files of images were not found, since nobody has all of them. */
int symbolize_log(const struct log_options *options);

#endif
