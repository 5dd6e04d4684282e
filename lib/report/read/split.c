/* SPDX-License-Identifier: MIT */
/* Cuts a text that arrives in pieces into lines. See split.h. */
#include "lib/report/read/split.h"

#include "lib/base/array.h"

#include <unspool/base.h>

enum uspi_encoding uspi_encoding_of(struct uspi_span text, size_t *length) {
    *length = 2;
    if (uspi_span_begins(text, USPI_SPAN("\xff\xfe"))) return USPI_ENCODING_UTF16_LITTLE;
    if (uspi_span_begins(text, USPI_SPAN("\xfe\xff"))) return USPI_ENCODING_UTF16_BIG;
    *length = uspi_span_begins(text, USPI_SPAN("\xef\xbb\xbf")) ? 3 : 0;
    return USPI_ENCODING_UTF8;
}

void uspi_split_clear(struct uspi_split *split) {
    free(split->kept);
    *split = (struct uspi_split){.encoding = USPI_ENCODING_UTF8};
}

/* Returns the position after the first line end at or after `from`; 0 if there is none. `text` begins where the line
 * begins. */
static size_t end_of_line(const struct uspi_split *split, struct uspi_span text, size_t from) {
    const bool is_wide = split->encoding != USPI_ENCODING_UTF8;
    const size_t other = split->encoding == USPI_ENCODING_UTF16_LITTLE ? 1 : (size_t)-1;
    while (from < text.length) {
        const char *found = memchr(text.bytes + from, '\n', text.length - from);
        if (found == NULL) return 0;
        size_t at = (size_t)(found - text.bytes);
        if (!is_wide) return at + 1;
        /* A line end in UTF-16 is a unit of two bytes, of which the other one is 0. */
        size_t low = split->encoding == USPI_ENCODING_UTF16_LITTLE ? at : at - 1;
        bool is_unit = low % 2 == 0 && low + 1 < text.length && at + other < text.length && text.bytes[at + other] == 0;
        if (is_unit) return low + 2;
        from = at + 1;
    }
    return 0;
}

static void give(struct uspi_split *split, struct uspi_span raw, struct uspi_span rest, bool ends,
                 struct uspi_line *line) {
    *line = (struct uspi_line){split->position, raw, rest, split->is_in_long || !ends, !split->is_in_long && !ends};
    split->position += raw.length;
    split->is_in_long = !ends;
}

static bool keep(struct uspi_split *split, struct uspi_span bytes) {
    void *grown = uspi_array_reserve(split->kept, &split->capacity, split->kept_size + bytes.length + 1, 1);
    if (grown == NULL) return false;
    split->kept = grown;
    if (bytes.length > 0) memcpy(split->kept + split->kept_size, bytes.bytes, bytes.length);
    split->kept_size += bytes.length;
    return true;
}

/* Gives the line whose beginning is kept. Its end is searched for in the bytes that have arrived. */
static bool next_kept(struct uspi_split *split, struct uspi_span bytes, size_t *at, struct uspi_line *line,
                      int *status) {
    size_t before = split->kept_size, wanted = USPI_LINE_MAX - before, left = bytes.length - *at;
    const char *found = memchr(bytes.bytes + *at, '\n', left < wanted ? left : wanted);
    /* Takes bytes up to one that may end the line; in UTF-16 one more belongs to it. */
    size_t part = found != NULL ? (size_t)(found - bytes.bytes) - *at + 1 : left < wanted ? left : wanted;
    if (split->encoding != USPI_ENCODING_UTF8 && (before + part) % 2 != 0 && part < left) part++;
    *status = keep(split, uspi_span_part(bytes, *at, *at + part)) ? USP_OK : USP_ERROR_NO_MEMORY;
    if (*status != USP_OK) return false;
    *at += part;
    struct uspi_span kept = {split->kept, split->kept_size};
    size_t from = before > 2 ? before - 2 : 0, end = end_of_line(split, kept, from);
    if (end == 0 && split->kept_size < USPI_LINE_MAX) return false;
    give(split, kept, uspi_span_after(bytes, *at), end != 0, line);
    split->kept_size = 0;
    return true;
}

bool uspi_split_next(struct uspi_split *split, struct uspi_span bytes, size_t *at, struct uspi_line *line,
                     int *status) {
    *status = USP_OK;
    while (*at < bytes.length) {
        if (split->kept_size > 0) {
            if (next_kept(split, bytes, at, line, status)) return true;
            if (*status != USP_OK) return false;
            continue;
        }
        struct uspi_span left = uspi_span_after(bytes, *at);
        struct uspi_span seen = uspi_span_part(left, 0, left.length < USPI_LINE_MAX ? left.length : USPI_LINE_MAX);
        size_t end = end_of_line(split, seen, 0);
        if (end == 0 && left.length < USPI_LINE_MAX) {
            if (!keep(split, left)) *status = USP_ERROR_NO_MEMORY;
            *at = bytes.length;
            return false;
        }
        bool ends = end != 0;
        if (!ends) end = USPI_LINE_MAX;
        *at += end;
        give(split, uspi_span_part(left, 0, end), uspi_span_after(left, end), ends, line);
        return true;
    }
    return false;
}

bool uspi_split_last(struct uspi_split *split, struct uspi_line *line) {
    if (split->kept_size == 0) return false;
    struct uspi_span none = {"", 0};
    give(split, (struct uspi_span){split->kept, split->kept_size}, none, true, line);
    split->kept_size = 0;
    return true;
}
