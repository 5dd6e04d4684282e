/* SPDX-License-Identifier: MIT */
/* Reads lines that are quoted. See quoted.h. */
#include "lib/report/read/quoted.h"

#include "lib/report/read/xml.h"

/* What stands between lines that were joined, but for "<br>" with its variants. */
#define WRITTEN_END "\\n"

/* Returns the length of a tag <br>, <br/> or <br /> at `at`; 0 if there is none. */
static size_t length_of_break(struct uspi_span line, size_t at) {
    size_t end = at;
    if (!uspi_skip(line, &end, USPI_SPAN("<br")) && !uspi_skip(line, &end, USPI_SPAN("<BR"))) return 0;
    uspi_skip(line, &end, USPI_SPAN(" "));
    uspi_skip(line, &end, USPI_SPAN("/"));
    return uspi_skip(line, &end, USPI_SPAN(">")) ? end - at : 0;
}

/* Returns the length of what separates two lines at `at`; 0 if nothing does. */
static size_t length_of_separator(struct uspi_span line, size_t at) {
    const size_t length = sizeof WRITTEN_END - 1;
    if (line.bytes[at] == '<') return length_of_break(line, at);
    return uspi_span_has_at(line, at, USPI_SPAN(WRITTEN_END)) ? length : 0;
}

/* Returns the position of the first separator at or after `from`. *length becomes its length. */
static size_t find_separator(struct uspi_span line, size_t from, size_t *length) {
    for (size_t at = from; at < line.length; at++) {
        if (line.bytes[at] != '<' && line.bytes[at] != '\\') continue;
        *length = length_of_separator(line, at);
        if (*length > 0) return at;
    }
    *length = 0;
    return line.length;
}

bool uspi_quoted_next(struct uspi_span line, size_t *at, struct uspi_span *part, struct uspi_span *separator) {
    size_t length;
    if (*at >= line.length) return false;
    const size_t end = find_separator(line, *at, &length);
    *part = uspi_span_part(line, *at, end);
    *separator = uspi_span_part(line, end, end + length);
    *at = end + length;
    return true;
}

bool uspi_is_quoted_list(struct uspi_span line) {
    size_t length;
    /* Without an address none of the lines is of interest. */
    if (line.length == 0 || !uspi_span_has(line, USPI_SPAN("0x"))) return false;
    if (memchr(line.bytes, '\\', line.length) == NULL && memchr(line.bytes, '<', line.length) == NULL) return false;
    const size_t end = find_separator(line, 0, &length);
    return end < line.length && uspi_span_trim(uspi_span_after(line, end + length)).length > 0;
}

/* ---- marks, entities, tags ---- */

/* Returns the length of an entity, or of another text for which a character stands, at `at`; 0 if there is none. */
static size_t length_of_stand_in(struct uspi_span line, size_t at, char *character) {
    *character = ' ';
    switch (line.bytes[at]) {
    case '&': return uspi_xml_entity(line, at, character);
    case '\xc2': return uspi_span_has_at(line, at, USPI_SPAN("\xc2\xa0")) ? 2 : 0;
    case '\\': return uspi_span_has_at(line, at, USPI_SPAN("\\t")) ? 2 : 0;
    default: return 0;
    }
}

/* Names of tags that occur around lines of text. */
static const struct uspi_span tags[] = {USPI_SPAN_INIT("br"),   USPI_SPAN_INIT("p"),   USPI_SPAN_INIT("pre"),
                                        USPI_SPAN_INIT("code"), USPI_SPAN_INIT("div"), USPI_SPAN_INIT("li"),
                                        USPI_SPAN_INIT("td"),   USPI_SPAN_INIT("tr"),  USPI_SPAN_INIT("b"),
                                        USPI_SPAN_INIT("i"),    USPI_SPAN_INIT("span")};

/* Returns the length of a tag at `at`; 0 if there is none. */
static size_t length_of_tag(struct uspi_span line, size_t at) {
    size_t begin = at + 1;
    uspi_skip(line, &begin, USPI_SPAN("/"));
    const size_t close = uspi_span_find(line, begin, USPI_SPAN(">"));
    for (size_t i = 0; close < line.length && i < sizeof tags / sizeof *tags; i++) {
        const size_t end = begin + tags[i].length;
        if (!uspi_span_has_at(line, begin, tags[i])) continue;
        if (end == close || line.bytes[end] == ' ' || line.bytes[end] == '/') return close + 1 - at;
    }
    return 0;
}

/* Whether a line begins with a form, in which d is any digit. */
static bool begins_with_form(struct uspi_span line, const char *form) {
    size_t at = 0;
    for (; form[at] != '\0' && at < line.length; at++) {
        if (form[at] == 'd' ? !uspi_is_digit(line.bytes[at]) : line.bytes[at] != form[at]) return false;
    }
    return form[at] == '\0';
}

/* Returns the length of "[  +12 ms] " or "[        ] ", which `flutter --verbose` writes before each line. */
static size_t length_of_bracket(struct uspi_span line) {
    size_t at = 1;
    while (at < line.length && line.bytes[at] == ' ') at++;
    const size_t begin = at;
    if (uspi_skip(line, &at, USPI_SPAN("+"))) {
        while (at < line.length && (uspi_is_digit(line.bytes[at]) || line.bytes[at] == ',')) at++;
        if (!uspi_skip(line, &at, USPI_SPAN(" ms"))) return 0;
    }
    return at > 1 && (at > begin || begin > 2) && uspi_skip(line, &at, USPI_SPAN("] ")) ? at : 0;
}

size_t uspi_length_of_time(struct uspi_span line) {
    static const char date[] = "dddd-dd-ddTdd:dd:dd", clock[] = "dd:dd:dd.d";
    /* Most lines end here. */
    if (line.length <= sizeof clock - 1) return 0;
    if (line.bytes[0] == '[') return length_of_bracket(line);
    if (line.bytes[4] != '-' && line.bytes[2] != ':') return 0;
    const bool is_clock = begins_with_form(line, clock);
    if (!is_clock && !begins_with_form(line, date)) return 0;
    size_t at = is_clock ? sizeof clock - 1 : sizeof date - 1;
    if (!is_clock && at < line.length && line.bytes[at] == '.') at++;
    while (at < line.length && uspi_is_digit(line.bytes[at])) at++;
    return uspi_skip(line, &at, is_clock ? USPI_SPAN(" ") : USPI_SPAN("Z ")) ? at : 0;
}

/* Whether a byte is one of those that mark a quoted line, and are not part of any format: mail's and Markdown's. */
static bool is_mark(char c) { return c == '>' || c == '`'; }

bool uspi_may_be_quoted(struct uspi_span line, bool has_angle) {
    size_t at = 0;
    uspi_skip_blanks(line, &at);
    if (at < line.length && (is_mark(line.bytes[at]) || line.bytes[at] == '<')) return true;
    if (!has_angle) return false;
    /* A tag at the line's end. A UUID is not one. */
    for (at = uspi_span_find(line, at, USPI_SPAN("<")); at < line.length;
         at = uspi_span_find(line, at + 1, USPI_SPAN("<"))) {
        if (length_of_tag(line, at) > 0) return true;
    }
    return false;
}

/* Replaces tags by blanks and entities by their characters. Returns the new length. With keeps_places blanks fill the
 * places of the other bytes, outside of angle brackets and before opening quotation marks. */
static size_t replace_all(char *bytes, struct uspi_span line, bool keeps_places) {
    size_t to = 0;
    for (size_t at = 0; at < line.length;) {
        char character;
        const size_t tag = line.bytes[at] == '<' ? length_of_tag(line, at) : 0;
        const size_t entity = tag == 0 ? length_of_stand_in(line, at, &character) : 0;
        const size_t length = tag > 0 ? tag : entity, place = keeps_places ? length : 1;
        if (length == 0) {
            bytes[to++] = bytes[at++];
            continue;
        }
        memset(bytes + to, ' ', place);
        const bool is_opening = tag == 0 && (character == '<' || character == '"');
        if (tag == 0) bytes[is_opening ? to + place - 1 : to] = character;
        to += place;
        at += length;
    }
    return to;
}

/* Returns the length of the marks at a line's beginning, each with a blank after it, and of tags after them, which
 * become one blank each: it is that in the copy of the line. */
static size_t length_of_marks(struct uspi_span line) {
    size_t at = 0, length = 0, tag;
    for (size_t i = 0; i < line.length && (is_mark(line.bytes[i]) || uspi_is_blank(line.bytes[i])); i++) {
        if (is_mark(line.bytes[i])) at = length = i + 1;
    }
    if (length > 0 && uspi_skip(line, &at, USPI_SPAN(" "))) length++;
    for (; at < line.length && line.bytes[at] == '<' && (tag = length_of_tag(line, at)) > 0; at += tag) length++;
    return length;
}

struct uspi_span uspi_without_quotes(struct uspi_span line, bool keeps_places, struct uspi_gathered *copy) {
    const size_t marks = keeps_places ? 0 : length_of_marks(line);
    copy->size = 0;
    if (uspi_gathered_append(copy, line.bytes, line.length) != 0) return line;
    char *bytes = copy->bytes;
    for (size_t at = 0; at < line.length && (is_mark(bytes[at]) || uspi_is_blank(bytes[at])); at++) {
        if (is_mark(bytes[at])) bytes[at] = ' ';
    }
    const size_t length = replace_all(bytes, line, keeps_places);
    const struct uspi_span text = uspi_span_trim_right((struct uspi_span){bytes, length});
    if (text.length > 0 && text.bytes[text.length - 1] == '`') bytes[text.length - 1] = ' ';
    return uspi_span_after((struct uspi_span){bytes, length}, marks);
}
