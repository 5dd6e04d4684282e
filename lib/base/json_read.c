/* SPDX-License-Identifier: MIT */
/* See json_read.h. While an object or array is open, its `next` is the index of the enclosing one. So returning to the
 * enclosing one needs no extra memory. */
#include "lib/base/json_read.h"

#include "lib/base/array.h"
#include "lib/base/text.h"

#include <unspool/base.h>

/* The parent of the outermost value. */
#define NO_PARENT UINT32_MAX

static const char *skip_blanks(const char *at, const char *end) {
    /* Indented trees consist mostly of blanks. */
    static const char blanks[8] = {' ', ' ', ' ', ' ', ' ', ' ', ' ', ' '};
    for (;;) {
        while (end - at >= 8 && memcmp(at, blanks, 8) == 0) at += 8;
        while (at < end && *at == ' ') at++;
        if (at == end || !uspi_is_blank(*at)) return at;
        at++;
    }
}

/* Which bytes end the plain part of a string: the quote, the backslash, control characters. */
static const bool ends_plain[256] = {
    [0] = 1,  [1] = 1,  [2] = 1,  [3] = 1,  [4] = 1,  [5] = 1,   [6] = 1,    [7] = 1,  [8] = 1,
    [9] = 1,  [10] = 1, [11] = 1, [12] = 1, [13] = 1, [14] = 1,  [15] = 1,   [16] = 1, [17] = 1,
    [18] = 1, [19] = 1, [20] = 1, [21] = 1, [22] = 1, [23] = 1,  [24] = 1,   [25] = 1, [26] = 1,
    [27] = 1, [28] = 1, [29] = 1, [30] = 1, [31] = 1, ['"'] = 1, ['\\'] = 1,
};

/* Returns the position of a string's closing quote; `at` is its first character. If the string is malformed, returns
 * the position of the error, `end` when it is cut off. */
static const char *end_of_string(const char *at, const char *end) {
    for (;;) {
        while (at < end && !ends_plain[(unsigned char)*at]) at++;
        if (at == end || *at != '\\') return at;
        at += end - at > 1 ? 2 : 1;
    }
}

struct parse {
    struct uspi_json_document *document;
    const char *at, *begin, *end;
    uint32_t parent; /* index of the innermost open object or array */
};

/* Whether the text ends at `at`. Text that is cut off may have the end of its last line. */
static bool is_end(const struct parse *parse, const char *at) { return skip_blanks(at, parse->end) == parse->end; }

static int fail(struct parse *parse, const char *where) {
    parse->at = where;
    return is_end(parse, where) ? USP_ERROR_TRUNCATED : USP_ERROR_FORMAT;
}

static int read_key(struct parse *parse, struct uspi_json_node *node) {
    if (parse->at == parse->end || *parse->at != '"') return fail(parse, parse->at);
    const char *from = parse->at + 1, *to = end_of_string(from, parse->end);
    if (to == parse->end || *to != '"') return fail(parse, to);
    if (to - from >= 1 << 29) return fail(parse, from);
    node->key = (uint32_t)(from - parse->begin);
    node->key_length = (uint32_t)(to - from) & ((1u << 29) - 1);
    parse->at = skip_blanks(to + 1, parse->end);
    if (parse->at == parse->end || *parse->at != ':') return fail(parse, parse->at);
    parse->at = skip_blanks(parse->at + 1, parse->end);
    return USP_OK;
}

/* The bytes of numbers and of words. An "e" is one of both. */
enum { OF_NUMBER = 1, OF_WORD };
static const unsigned char word_bytes[256] = {
    ['0'] = OF_NUMBER, ['1'] = OF_NUMBER, ['2'] = OF_NUMBER, ['3'] = OF_NUMBER, ['4'] = OF_NUMBER, ['5'] = OF_NUMBER,
    ['6'] = OF_NUMBER, ['7'] = OF_NUMBER, ['8'] = OF_NUMBER, ['9'] = OF_NUMBER, ['-'] = OF_NUMBER, ['+'] = OF_NUMBER,
    ['.'] = OF_NUMBER, ['E'] = OF_NUMBER, ['e'] = OF_NUMBER, ['a'] = OF_WORD,   ['b'] = OF_WORD,   ['c'] = OF_WORD,
    ['d'] = OF_WORD,   ['f'] = OF_WORD,   ['g'] = OF_WORD,   ['h'] = OF_WORD,   ['i'] = OF_WORD,   ['j'] = OF_WORD,
    ['k'] = OF_WORD,   ['l'] = OF_WORD,   ['m'] = OF_WORD,   ['n'] = OF_WORD,   ['o'] = OF_WORD,   ['p'] = OF_WORD,
    ['q'] = OF_WORD,   ['r'] = OF_WORD,   ['s'] = OF_WORD,   ['t'] = OF_WORD,   ['u'] = OF_WORD,   ['v'] = OF_WORD,
    ['w'] = OF_WORD,   ['x'] = OF_WORD,   ['y'] = OF_WORD,   ['z'] = OF_WORD,
};

static int read_word(struct parse *parse, struct uspi_json_node *node) {
    static const struct uspi_span literals[] = {USPI_SPAN_INIT("true"), USPI_SPAN_INIT("false"),
                                                USPI_SPAN_INIT("null")};
    const char *from = parse->at, *at = from;
    unsigned bytes = 0;
    while (at < parse->end && word_bytes[(unsigned char)*at] != 0) bytes |= word_bytes[(unsigned char)*at++];
    struct uspi_span word = {from, (size_t)(at - from)};
    if (word.length == 0) return fail(parse, from);
    const bool is_number = bytes == OF_NUMBER && (*from == '-' || uspi_is_digit(*from));
    bool is_literal = false, is_cut = false;
    for (size_t i = 0; !is_number && i < sizeof literals / sizeof *literals; i++) {
        is_literal = is_literal || uspi_span_is(word, literals[i]);
        is_cut = is_cut || (uspi_span_begins(literals[i], word) && is_end(parse, at));
    }
    if (!is_number && !is_literal) return fail(parse, is_cut ? at : from);
    node->kind = is_number ? USPI_JSON_NUMBER : USPI_JSON_LITERAL;
    node->length = (uint32_t)word.length;
    parse->at = at;
    return USP_OK;
}

/* Reads the value at parse->at. An object or array becomes the open one. */
static int read_value(struct parse *parse, struct uspi_json_node *node) {
    if (parse->at == parse->end) return fail(parse, parse->at);
    node->from = (uint32_t)(parse->at - parse->begin);
    if (*parse->at == '{' || *parse->at == '[') {
        node->kind = *parse->at++ == '{' ? USPI_JSON_OBJECT : USPI_JSON_ARRAY;
        node->next = parse->parent;
        parse->parent = (uint32_t)parse->document->count - 1;
        return USP_OK;
    }
    if (*parse->at != '"') return read_word(parse, node);
    const char *from = parse->at + 1, *to = end_of_string(from, parse->end);
    if (to == parse->end || *to != '"') return fail(parse, to);
    node->kind = USPI_JSON_STRING;
    node->from = (uint32_t)(from - parse->begin);
    node->length = (uint32_t)(to - from);
    parse->at = to + 1;
    return USP_OK;
}

/* Adds a node for the value at parse->at, or for the member there if has_key. */
static int add_node(struct parse *parse, bool has_key) {
    struct uspi_json_document *document = parse->document;
    void *grown =
        uspi_array_reserve(document->nodes, &document->capacity, document->count + 1, sizeof *document->nodes);
    if (grown == NULL) return USP_ERROR_NO_MEMORY;
    document->nodes = grown;
    struct uspi_json_node *node = &document->nodes[document->count++];
    *node = (struct uspi_json_node){.next = (uint32_t)document->count};
    int status = has_key ? read_key(parse, node) : USP_OK;
    return status == USP_OK ? read_value(parse, node) : status;
}

static void close_one(struct parse *parse) {
    struct uspi_json_node *node = &parse->document->nodes[parse->parent];
    parse->at++;
    node->length = (uint32_t)(parse->at - parse->begin) - node->from;
    parse->parent = node->next;
    node->next = (uint32_t)parse->document->count;
}

/* Reads the contents of the open objects and arrays, until all are closed. */
static int read_inside(struct parse *parse) {
    bool is_fresh = true;
    while (parse->parent != NO_PARENT) {
        const struct uspi_json_node *node = &parse->document->nodes[parse->parent];
        const bool is_object = node->kind == USPI_JSON_OBJECT;
        parse->at = skip_blanks(parse->at, parse->end);
        if (parse->at == parse->end) return fail(parse, parse->at);
        if (*parse->at == (is_object ? '}' : ']')) {
            close_one(parse);
            is_fresh = false;
            continue;
        }
        if (!is_fresh) {
            if (*parse->at != ',') return fail(parse, parse->at);
            parse->at = skip_blanks(parse->at + 1, parse->end);
        }
        const size_t number = parse->document->count;
        int status = add_node(parse, is_object);
        if (status != USP_OK) {
            parse->document->count = number;
            return status;
        }
        is_fresh = parse->parent == number;
    }
    return USP_OK;
}

/* Ends a value that the end of the text cuts off. Returns false if nothing of it is whole. */
static bool end_cut(struct parse *parse) {
    struct uspi_json_document *document = parse->document;
    uint32_t open = parse->parent;
    if (open == NO_PARENT) return false;
    const size_t last = document->count - 1;
    const struct uspi_json_node *node = &document->nodes[last];
    const bool is_at_end = node->kind >= USPI_JSON_NUMBER && is_end(parse, parse->begin + node->from + node->length);
    if (last != open && is_at_end) document->count--;
    while (open != NO_PARENT) {
        struct uspi_json_node *around = &document->nodes[open];
        open = around->next;
        around->next = (uint32_t)document->count;
        around->length = 0;
    }
    document->is_cut = true;
    return true;
}

int uspi_json_read(struct uspi_json_document *document) {
    struct parse parse = {.document = document, .begin = document->text.bytes, .parent = NO_PARENT};
    document->count = 0;
    if (document->text.length >= USPI_JSON_SIZE_MAX) return USP_ERROR_UNSUPPORTED;
    if (document->text.length == document->at) return USP_ERROR_NOT_FOUND;
    parse.end = parse.begin + document->text.length;
    parse.at = skip_blanks(parse.begin + document->at, parse.end);
    int status = parse.at == parse.end ? USP_ERROR_NOT_FOUND : add_node(&parse, false);
    if (status == USP_OK) status = read_inside(&parse);
    document->at = (size_t)(parse.at - parse.begin);
    if (status == USP_ERROR_TRUNCATED && document->takes_cut && end_cut(&parse)) status = USP_OK;
    if (status != USP_OK) document->count = 0;
    return status;
}

void uspi_json_clear(struct uspi_json_document *document) {
    free(document->nodes);
    document->nodes = NULL;
    document->count = document->capacity = 0;
}

size_t uspi_json_member(const struct uspi_json_document *document, size_t object, struct uspi_span key) {
    if (object == USPI_JSON_NONE || document->nodes[object].kind != USPI_JSON_OBJECT) return USPI_JSON_NONE;
    const size_t end = document->nodes[object].next;
    for (size_t i = object + 1; i < end; i = document->nodes[i].next) {
        if (uspi_span_is(uspi_json_key(document, i), key)) return i;
    }
    return USPI_JSON_NONE;
}

/* ---- values ---- */

static bool read_unit(struct uspi_span text, size_t at, uint32_t *unit) {
    *unit = 0;
    if (text.length - at < 4) return false;
    for (size_t i = at; i < at + 4; i++) {
        int digit = uspi_hex_digit(text.bytes[i]);
        if (digit < 0) return false;
        *unit = *unit << 4 | (uint32_t)digit;
    }
    return true;
}

size_t uspi_json_decode(struct uspi_span text, char *to) {
    static const char escapes[] = "bfnrt", resolved[] = "\b\f\n\r\t";
    size_t length = 0;
    for (size_t at = 0; at < text.length; at++) {
        uint32_t unit, low;
        if (text.bytes[at] != '\\' || at + 1 == text.length) {
            to[length++] = text.bytes[at];
            continue;
        }
        char c = text.bytes[++at];
        const char *escape = memchr(escapes, c, sizeof escapes - 1);
        if (c != 'u' || !read_unit(text, at + 1, &unit)) {
            to[length++] = escape != NULL ? resolved[escape - escapes] : c;
            continue;
        }
        at += 4;
        /* RFC 8259: a character above U+FFFF is a pair of surrogates. */
        if (unit >> 10 == 0xd800 >> 10 && text.length - at > 6 && text.bytes[at + 1] == '\\' &&
            text.bytes[at + 2] == 'u' && read_unit(text, at + 3, &low) && low >> 10 == 0xdc00 >> 10) {
            unit = 0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff));
            at += 6;
        }
        length += uspi_utf8_encode(unit, to + length);
    }
    return length;
}

bool uspi_json_whole(struct uspi_span text, uint64_t *value) {
    size_t at = 0;
    return uspi_scan_decimal(text, &at, value) && at == text.length;
}
