/* SPDX-License-Identifier: MIT */
/* Reads JSON (RFC 8259) token by token and keeps where each stands, so that a document can be changed in places. One or
 * several documents, one behind the other. What the tokens mean is the caller's. */
#ifndef TOOL_LOG_JSON_H
#define TOOL_LOG_JSON_H

#include "tools/log_scan.h"

enum log_json_kind {
    LOG_JSON_END,   /* of the text, behind whole documents */
    LOG_JSON_ERROR, /* `text` begins where it is no JSON, or too deep */
    LOG_JSON_OBJECT,
    LOG_JSON_OBJECT_END,
    LOG_JSON_ARRAY,
    LOG_JSON_ARRAY_END,
    LOG_JSON_KEY,    /* text: without its quotes */
    LOG_JSON_STRING, /* text: without its quotes */
    LOG_JSON_NUMBER,
    LOG_JSON_LITERAL /* true, false, null */
};

struct log_json_token {
    enum log_json_kind kind;
    struct span text; /* in the document */
    unsigned depth;   /* objects and arrays around it; of OBJECT and ARRAY and their ends, itself not counted */
};

/* Objects and arrays in each other. */
#define LOG_JSON_DEPTH 128

/* Begin with all zero but `text`. */
struct log_json {
    struct span text;
    size_t at;
    unsigned depth;
    bool is_array[LOG_JSON_DEPTH];
    enum { LOG_JSON_WANTS_VALUE, LOG_JSON_WANTS_KEY, LOG_JSON_HAS_VALUE } state;
    bool is_fresh; /* nothing stands in the object or array yet */
};

/* Behind LOG_JSON_END and LOG_JSON_ERROR nothing comes. */
struct log_json_token log_json_next(struct log_json *json);

/* The characters of a string's text: escapes resolved, in UTF-8. Returns the length, which is never more than the text's;
 * `to` has room for that. */
size_t log_json_decode(struct span text, char *to);

/* A number that is whole and not negative. */
bool log_json_number(struct span text, uint64_t *value);

#endif
