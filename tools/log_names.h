/* SPDX-License-Identifier: MIT */
/* From a place in an image to the function there, by the files that --search has found; and what is said of images for which
 * there is none. Where in which image a frame lies, readers tell (<unspool/report.h>). */
#ifndef TOOL_LOG_NAMES_H
#define TOOL_LOG_NAMES_H

#include "tools/fetch.h"
#include "tools/lines.h"
#include "tools/log_search.h"

#include <unspool/report.h>

/* Opaque. */
struct log_names;

struct log_names_options {
    const struct line_options *lines;
    struct fetch *fetch; /* asked for builds of which there is no file; NULL: nothing is fetched */
    uint32_t demangling; /* enum usp_demangle_style */
    bool is_quiet;       /* nothing is said of images that are missing */
};

/* The search and what fetches must outlive the names, which are the caller's to free. Returns an enum usp_status. */
int log_names_create(struct log_search *search, const struct log_names_options *options, struct log_names **names);

/* NULL is ignored. */
void log_names_free(struct log_names *names);

/* A usp_place_function; `names` is a struct log_names. What it answers is valid until log_names_trim. */
int log_names_answer(void *names, const struct usp_place *place, struct usp_answer *answer);

/* At the end: when frames have names and none has a line, says once that lines need debug information, and where it was looked
 * for. */
void log_names_complain_of_lines(const struct log_names *names);

/* Between two texts: closes the files of all builds but those that were used last, so that memory does not grow with the
 * number of texts. */
void log_names_trim(struct log_names *names);

#endif
