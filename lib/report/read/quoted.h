/* SPDX-License-Identifier: MIT */
/* Lines as mail, web pages, logs and chats quote them: with times or marks before them, with entities and tags of HTML,
 * and several of them in one line, between written "\n" or <br>. */
#ifndef USPI_REPORT_READ_QUOTED_H
#define USPI_REPORT_READ_QUOTED_H

#include "lib/base/gathered.h"
#include "lib/base/span.h"

/* Gives the next of a line's lines, from *at on, and moves *at past what separates it from the one after it, which
 * becomes *separator. A line without a separator is its only one. Returns false when *at is the line's end. */
bool uspi_quoted_next(struct uspi_span line, size_t *at, struct uspi_span *part, struct uspi_span *separator);

/* Returns whether a line consists of several. */
bool uspi_is_quoted_list(struct uspi_span line);

/* Returns the length of a time before each line of a log; 0 if there is none: "2026-01-02T03:04:05.6789012Z " (GitHub,
 * Azure), "03:04:05.6789012 " (xharness), "[  +12 ms] " and "[        ] " (flutter --verbose). */
size_t uspi_length_of_time(struct uspi_span line);

/* Returns whether a line begins with a mark or has a tag. `has_angle`: it has a "<". Entities, written ends of lines
 * and blanks that do not break are USPI_HAS_QUOTE (read.h). */
bool uspi_may_be_quoted(struct uspi_span line, bool has_angle);

/* Replaces marks, entities and tags by blanks and by the characters that they stand for. With keeps_places further blanks
 * keep the text's length and every position in it; without, marks and tags at the beginning are left out. Returns the copy, which is in `copy`; the line itself if memory
 * lacks. */
struct uspi_span uspi_without_quotes(struct uspi_span line, bool keeps_places, struct uspi_gathered *copy);

#endif
