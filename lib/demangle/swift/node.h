/* SPDX-License-Identifier: MIT */
/* The tree into which a Swift name is parsed. A node can have several parents: a part of a name that is referred to
 * again is not copied. Nodes, and the texts to which they point, live until their memory is taken back. */
#ifndef USPI_DEMANGLE_SWIFT_NODE_H
#define USPI_DEMANGLE_SWIFT_NODE_H

#include "lib/base/region.h"
#include "lib/demangle/swift/kinds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uspi_swift_node;

/* A child of a node, in a list. */
struct uspi_swift_child {
    struct uspi_swift_node *node;
    struct uspi_swift_child *next;
};

struct uspi_swift_node {
    uint16_t kind; /* enum uspi_swift_kind */
    bool has_text, has_index;
    uint32_t child_count;
    struct uspi_swift_child *first, *last; /* NULL: there are no children */
    union {
        struct {
            const char *text; /* not NUL-terminated */
            uint32_t length;  /* in bytes */
        };
        uint64_t index;
    };
};

/* These return NULL when memory lacks. */
struct uspi_swift_node *uspi_swift_node(struct uspi_region *memory, uint16_t kind);
struct uspi_swift_node *uspi_swift_node_with_index(struct uspi_region *memory, uint16_t kind, uint64_t index);
/* The text must live as long as the node. */
struct uspi_swift_node *uspi_swift_node_with_text(struct uspi_region *memory, uint16_t kind, const char *text,
                                                  size_t length);
struct uspi_swift_node *uspi_swift_node_with_string(struct uspi_region *memory, uint16_t kind, const char *text);
/* Returns a node of another kind with the same text or index and the same children. */
struct uspi_swift_node *uspi_swift_node_as(struct uspi_region *memory, uint16_t kind,
                                           const struct uspi_swift_node *node);

/* Adds a child after the others, or before them. False: the parent or the child is NULL, or memory lacks. */
bool uspi_swift_add(struct uspi_region *memory, struct uspi_swift_node *parent, struct uspi_swift_node *child);
bool uspi_swift_add_first(struct uspi_region *memory, struct uspi_swift_node *parent, struct uspi_swift_node *child);

/* Removes a child from its parent. */
void uspi_swift_remove(struct uspi_swift_node *parent, const struct uspi_swift_node *child);

/* Returns the child at a position, from 0 on; NULL when there is none. */
struct uspi_swift_node *uspi_swift_child_at(const struct uspi_swift_node *node, size_t position);

/* Returns the first child of a kind, or NULL. */
struct uspi_swift_node *uspi_swift_child_of_kind(const struct uspi_swift_node *node, uint16_t kind);

static inline struct uspi_swift_node *uspi_swift_first_child(const struct uspi_swift_node *node) {
    return node != NULL && node->first != NULL ? node->first->node : NULL;
}

/* Returns whether a type needs no parentheses before "?" or ".Type". */
bool uspi_swift_is_simple_type(const struct uspi_swift_node *type);

/* Returns whether the node's text is the string. */
bool uspi_swift_text_is(const struct uspi_swift_node *node, const char *string);

#endif
