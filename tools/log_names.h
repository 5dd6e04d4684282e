/* SPDX-License-Identifier: MIT */
/* Finds the function at a place in an image with the files that --search has found, and reports images without files.
 * Readers find the image and the place of a frame (<unspool/report.h>). */
#ifndef TOOLS_LOG_NAMES_H
#define TOOLS_LOG_NAMES_H

#include "tools/fetch.h"
#include "tools/lines.h"
#include "tools/log_search.h"

#include <unspool/report.h>

/* Opaque. */
struct log_names;

struct log_names_options {
    const struct line_options *lines;
    struct fetch *fetch; /* used for builds without a file; NULL: nothing is fetched */
    uint32_t demangling; /* enum usp_demangle_style */
    bool is_quiet;       /* print nothing about missing images */
};

/* Creates the names, which the caller frees; the search and `fetch` must outlive them. Returns an enum usp_status. */
int log_names_create(struct log_search *search, const struct log_names_options *options, struct log_names **names);

/* NULL is ignored. */
void log_names_free(struct log_names *names);

/* Implements usp_place_function; `names` is a struct log_names. Its answers are valid until log_names_trim. */
int log_names_answer(void *names, const struct usp_place *place, struct usp_answer *answer);

/* Called at the end. If frames have names but none has a line, prints once that lines need debug information, and where
 * it was looked for. */
void log_names_complain_of_lines(const struct log_names *names);

/* Whether any frame so far has a line. If none has, although there are names, `text` becomes that message; otherwise it
 * becomes empty. */
bool log_names_have_lines(const struct log_names *names, char *text, size_t size);

/* Called between two texts: closes the files of all builds except those used last, so that memory does not grow with
 * the number of texts. */
void log_names_trim(struct log_names *names);

#endif
