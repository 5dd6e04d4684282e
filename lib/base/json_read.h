/* SPDX-License-Identifier: MIT */
/* Reads JSON (RFC 8259) into a flat list of nodes in the order of the text. Each node has its position in the text, so
 * that callers can replace parts of a document. The callers interpret the nodes. There is no recursion and no limit of
 * depth: each value takes 20 bytes. Numbers are only checked for valid characters. */
#ifndef USPI_BASE_JSON_READ_H
#define USPI_BASE_JSON_READ_H

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
    uint32_t from, length; /* of the value: a string without its quotes, an object or array with its brackets */
    uint32_t key;          /* position of the key, without its quotes */
    uint32_t key_length : 29;
    uint32_t kind : 3; /* enum uspi_json_kind */
    uint32_t next;     /* index of the first node after this one and all nodes in it */
};

/* Texts of this size or larger are refused. */
#define USPI_JSON_SIZE_MAX UINT32_MAX

/* To begin, set `text` and leave the rest zero. */
struct uspi_json_document {
    struct uspi_span text;
    /* A value that the end of the text cuts off is read as far as it is whole: a member or an element that is cut off
     * is left out, and so is a number or a word at the very end. Objects and arrays that are cut off have the
     * length 0. */
    bool takes_cut;
    bool is_cut; /* with takes_cut: the last value was cut off; stays set */
    struct uspi_json_node *nodes;
    size_t count, capacity;
    size_t at; /* position after the last value read; after a failure, of the error */
};

/* Reads the next value of the text into `nodes`, which replaces the previous one. Returns USP_OK; USP_ERROR_NOT_FOUND
 * when only blanks are left; USP_ERROR_FORMAT when the text is no JSON at `at`; USP_ERROR_TRUNCATED when it ends inside
 * a value; USP_ERROR_UNSUPPORTED when it is too long; USP_ERROR_NO_MEMORY. After a failure there are no nodes. */
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

/* Means that there is no node. */
#define USPI_JSON_NONE SIZE_MAX

/* Returns the first member of an object with a key; USPI_JSON_NONE when there is none, or the node is not an object. */
size_t uspi_json_member(const struct uspi_json_document *document, size_t object, struct uspi_span key);

/* Decodes the text of a string or key to UTF-8, with escapes resolved. Returns the length, which is at most that of the
 * text; `to` must have room for that. */
size_t uspi_json_decode(struct uspi_span text, char *to);

/* Reads a number that is whole and not negative; false for any other. */
bool uspi_json_whole(struct uspi_span text, uint64_t *value);

#endif
