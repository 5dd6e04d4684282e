/* SPDX-License-Identifier: MIT */
/* Reads JSON (RFC 8259) into a flat list of nodes in the order of the text, each of which tells where it stands, so that a
 * document can be changed in places. What the nodes mean is the caller's. There is no recursion and no limit of depth:
 * 20 bytes are kept for each value, whatever it is. Numbers are checked roughly: by their characters. */
#ifndef USPI_JSON_READ_H
#define USPI_JSON_READ_H

#include "lib/base/span.h"

enum uspi_json_kind {
    USPI_JSON_OBJECT,
    USPI_JSON_ARRAY,
    USPI_JSON_STRING,
    USPI_JSON_NUMBER,
    USPI_JSON_LITERAL /* true, false, null */
};

/* Positions are offsets in the text, in bytes. A member of an object has a key, an element of an array has none. */
struct uspi_json_node {
    uint32_t from, length; /* of the value; of a string without its quotes, of an object or array with brackets */
    uint32_t key;          /* where the key stands, without its quotes */
    uint32_t key_length : 29;
    uint32_t kind : 3; /* enum uspi_json_kind */
    uint32_t next;     /* the number of the first node behind this one and all that stands in it */
};

/* Texts of that size and more are refused. */
#define USPI_JSON_SIZE_MAX UINT32_MAX

/* Begin with all zero but `text`. */
struct uspi_json_document {
    struct uspi_span text;
    struct uspi_json_node *nodes;
    size_t count, room;
    size_t at; /* behind what was read; after a failure, where the text is no JSON */
};

/* Reads the next value of the text, and forgets the one before. Returns USP_OK; USP_ERROR_NOT_FOUND when nothing but blanks
 * is left; USP_ERROR_FORMAT when the text is no JSON at `at`; USP_ERROR_TRUNCATED when it ends in the midst of a value;
 * USP_ERROR_UNSUPPORTED when it is too long; USP_ERROR_NO_MEMORY. After a failure there are no nodes. */
int uspi_json_read(struct uspi_json_document *document);

/* Frees the nodes. */
void uspi_json_clear(struct uspi_json_document *document);

static inline struct uspi_span uspi_json_text(const struct uspi_json_document *document, size_t node) {
    const struct uspi_json_node *n = &document->nodes[node];
    return (struct uspi_span){document->text.bytes + n->from, n->length};
}

static inline struct uspi_span uspi_json_key(const struct uspi_json_document *document, size_t node) {
    const struct uspi_json_node *n = &document->nodes[node];
    return (struct uspi_span){document->text.bytes + n->key, n->key_length};
}

/* No node. */
#define USPI_JSON_NONE SIZE_MAX

/* The member of an object with a key (of several the first); USPI_JSON_NONE when there is none, or no object. */
size_t uspi_json_member(const struct uspi_json_document *document, size_t object, struct uspi_span key);

/* The characters of a string's or key's text: escapes resolved, in UTF-8. Returns the length, which is never more than the
 * text's; `to` has room for that. */
size_t uspi_json_decode(struct uspi_span text, char *to);

/* A number that is whole and not negative. */
bool uspi_json_whole(struct uspi_span text, uint64_t *value);

#endif
