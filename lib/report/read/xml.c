/* SPDX-License-Identifier: MIT */
/* See xml.h. Source: W3C, "Extensible Markup Language (XML) 1.0". */
#include "lib/report/read/xml.h"

#include "lib/base/text.h"

/* Returns the position after `end`; 0 if it has not arrived. */
static size_t after(struct uspi_span text, size_t from, struct uspi_span end) {
    const size_t at = uspi_span_find(text, from, end);
    return at < text.length ? at + end.length : 0;
}

/* Finds the position after the '>' that ends the tag at `at`, outside of quotes, or after the end of a comment. *end
 * is 0 if it has not arrived. Returns false if the '<' is text, because the tag is too long or has another '<'; *end is
 * where the next token begins, so that the same bytes are not examined again. */
static bool find_end_of_tag(struct uspi_span text, size_t at, size_t *end) {
    const bool is_long = text.length - at > USPI_XML_TAG_MAX;
    char quote = '\0';
    *end = 0;
    if (is_long) text.length = at + USPI_XML_TAG_MAX;
    if (uspi_span_has_at(text, at, USPI_SPAN("<!--"))) {
        *end = after(text, at + 4, USPI_SPAN("-->"));
    } else if (uspi_span_has_at(text, at, USPI_SPAN("<?"))) {
        *end = after(text, at, USPI_SPAN("?>"));
    } else if (text.length - at >= 4 || !uspi_span_has_at(USPI_SPAN("<!--"), 0, uspi_span_after(text, at))) {
        for (size_t i = at + 1; *end == 0 && i < text.length; i++) {
            const char c = text.bytes[i];
            if (c == '<') {
                *end = i;
                return false;
            }
            if (quote != '\0') {
                if (c == quote) quote = '\0';
            } else if (c == '"' || c == '\'') {
                quote = c;
            } else if (c == '>') {
                *end = i + 1;
            }
        }
    }
    if (*end > 0 || !is_long) return true;
    *end = text.length;
    return false;
}

bool uspi_xml_next(struct uspi_span text, size_t *at, struct uspi_xml_token *token) {
    const size_t begin = *at;
    if (begin >= text.length) return false;
    *token = (struct uspi_xml_token){.name = {"", 0}};
    size_t end;
    bool is_tag = text.bytes[begin] == '<';
    if (is_tag) {
        is_tag = find_end_of_tag(text, begin, &end);
    } else {
        end = uspi_span_find(text, begin, USPI_SPAN("<"));
    }
    if (end == 0) return false;
    *at = end;
    token->raw = uspi_span_part(text, begin, end);
    if (token->raw.length < 3 || !is_tag) return true;
    size_t from = begin + 1;
    token->is_end = uspi_skip(text, &from, USPI_SPAN("/"));
    token->is_empty = text.bytes[end - 2] == '/';
    size_t to = from;
    while (to + 1 < end && !uspi_is_blank(text.bytes[to]) && text.bytes[to] != '/') to++;
    token->name = uspi_span_part(text, from, to);
    if (uspi_span_begins(token->name, USPI_SPAN("!")) || uspi_span_begins(token->name, USPI_SPAN("?"))) {
        token->name.length = 0;
    }
    return true;
}

int uspi_xml_join(struct uspi_gathered *kept, struct uspi_span *bytes) {
    if (kept->size == 0) return USP_OK;
    const int status = uspi_gathered_append(kept, bytes->bytes, bytes->length);
    *bytes = uspi_gathered_span(kept);
    return status;
}

int uspi_xml_keep(struct uspi_gathered *kept, struct uspi_span bytes, size_t at) {
    const struct uspi_span rest = uspi_span_after(bytes, at);
    if (kept->size == 0) return uspi_gathered_append(kept, rest.bytes, rest.length);
    memmove(kept->bytes, rest.bytes, rest.length);
    kept->size = rest.length;
    return USP_OK;
}

bool uspi_xml_attribute(const struct uspi_xml_token *tag, struct uspi_span key, struct uspi_span *value) {
    const struct uspi_span raw = tag->raw;
    size_t at = (size_t)(tag->name.bytes - raw.bytes) + tag->name.length;
    while (at < raw.length) {
        while (at < raw.length && uspi_is_blank(raw.bytes[at])) at++;
        const size_t begin = at;
        while (at < raw.length && raw.bytes[at] != '=' && raw.bytes[at] != '>' && !uspi_is_blank(raw.bytes[at])) at++;
        const struct uspi_span found = uspi_span_part(raw, begin, at);
        if (!uspi_skip(raw, &at, USPI_SPAN("=")) || at >= raw.length) return false;
        const char quote = raw.bytes[at++];
        if (quote != '"' && quote != '\'') return false;
        const size_t end = uspi_span_find(raw, at, (struct uspi_span){&quote, 1});
        if (end == raw.length) return false;
        if (uspi_span_is(found, key)) {
            *value = uspi_span_part(raw, at, end);
            return true;
        }
        at = end + 1;
    }
    return false;
}

bool uspi_xml_number(const struct uspi_xml_token *tag, struct uspi_span key, uint64_t *value) {
    struct uspi_span text;
    size_t at = 0;
    if (!uspi_xml_attribute(tag, key, &text)) return false;
    const bool is_number =
        uspi_span_begins(text, USPI_SPAN("0x")) ? uspi_scan_hex(text, &at, value) : uspi_scan_decimal(text, &at, value);
    return is_number && at == text.length;
}

/* ---- text ---- */

/* Reads an entity with the number of an ASCII character, "&#39;" or "&#x27;", or of a blank that does not break. Returns
 * its length; 0 if there is none. */
static size_t length_of_number(struct uspi_span text, size_t at, char *character) {
    size_t end = at;
    uint64_t number = 0;
    if (!uspi_skip(text, &end, USPI_SPAN("&#"))) return 0;
    const bool is_hex = uspi_skip(text, &end, USPI_SPAN("x")) || uspi_skip(text, &end, USPI_SPAN("X"));
    for (int digit; end < text.length && (digit = uspi_hex_digit(text.bytes[end])) >= 0; end++) {
        if ((!is_hex && digit > 9) || number > 0xff) return 0;
        number = number * (is_hex ? 16 : 10) + (unsigned)digit;
    }
    if (number == 0xa0) number = ' ';
    *character = (char)number;
    return number >= ' ' && number <= '~' && uspi_skip(text, &end, USPI_SPAN(";")) ? end - at : 0;
}

size_t uspi_xml_entity(struct uspi_span text, size_t at, char *character) {
    static const struct {
        struct uspi_span entity;
        char character;
    } named[] = {
        {USPI_SPAN_INIT("&lt;"), '<'},   {USPI_SPAN_INIT("&gt;"), '>'},    {USPI_SPAN_INIT("&amp;"), '&'},
        {USPI_SPAN_INIT("&quot;"), '"'}, {USPI_SPAN_INIT("&apos;"), '\''}, {USPI_SPAN_INIT("&nbsp;"), ' '},
    };
    if (text.bytes[at] != '&') return 0;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        *character = named[i].character;
        if (uspi_span_has_at(text, at, named[i].entity)) return named[i].entity.length;
    }
    return length_of_number(text, at, character);
}

bool uspi_xml_decode(struct uspi_span *text, struct uspi_gathered *decoded) {
    if (uspi_span_find(*text, 0, USPI_SPAN("&")) == text->length) return true;
    decoded->size = 0;
    if (!uspi_gathered_reserve(decoded, text->length)) return false;
    for (size_t at = 0; at < text->length;) {
        char character;
        const size_t length = uspi_xml_entity(*text, at, &character);
        decoded->bytes[decoded->size++] = length > 0 ? character : text->bytes[at];
        at += length > 0 ? length : 1;
    }
    *text = uspi_gathered_span(decoded);
    return true;
}

int uspi_xml_escape(void *context, const char *bytes, size_t n) {
    struct uspi_text *out = context;
    for (size_t i = 0; i < n; i++) {
        switch (bytes[i]) {
        case '&': uspi_put_string(out, "&amp;"); break;
        case '<': uspi_put_string(out, "&lt;"); break;
        case '>': uspi_put_string(out, "&gt;"); break;
        case '"': uspi_put_string(out, "&quot;"); break;
        case '\'': uspi_put_string(out, "&#39;"); break;
        default: uspi_put(out, &bytes[i], 1); break;
        }
    }
    return out->status;
}
