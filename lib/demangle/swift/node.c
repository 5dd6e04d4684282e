/* SPDX-License-Identifier: MIT */
/* See node.h. */
#include "lib/demangle/swift/node.h"

#include <string.h>

struct uspi_swift_node *uspi_swift_node(struct uspi_region *memory, uint16_t kind) {
    struct uspi_swift_node *node = uspi_region_take(memory, sizeof *node);
    if (node != NULL) *node = (struct uspi_swift_node){.kind = kind};
    return node;
}

struct uspi_swift_node *uspi_swift_node_with_index(struct uspi_region *memory, uint16_t kind, uint64_t index) {
    struct uspi_swift_node *node = uspi_swift_node(memory, kind);
    if (node == NULL) return NULL;
    node->has_index = true;
    node->index = index;
    return node;
}

struct uspi_swift_node *uspi_swift_node_with_text(struct uspi_region *memory, uint16_t kind, const char *text,
                                                  size_t length) {
    struct uspi_swift_node *node = uspi_swift_node(memory, kind);
    if (node == NULL) return NULL;
    node->has_text = true;
    node->text = text;
    node->length = (uint32_t)length;
    return node;
}

struct uspi_swift_node *uspi_swift_node_with_string(struct uspi_region *memory, uint16_t kind, const char *text) {
    return uspi_swift_node_with_text(memory, kind, text, strlen(text));
}

struct uspi_swift_node *uspi_swift_node_as(struct uspi_region *memory, uint16_t kind,
                                           const struct uspi_swift_node *node) {
    struct uspi_swift_node *copy = uspi_swift_node(memory, kind);
    if (copy == NULL) return NULL;
    *copy = *node;
    copy->kind = kind;
    copy->first = copy->last = NULL;
    copy->child_count = 0;
    for (const struct uspi_swift_child *child = node->first; child != NULL; child = child->next) {
        if (!uspi_swift_add(memory, copy, child->node)) return NULL;
    }
    return copy;
}

static struct uspi_swift_child *make_child(struct uspi_region *memory, struct uspi_swift_node *parent,
                                           struct uspi_swift_node *node) {
    if (parent == NULL || node == NULL) return NULL;
    struct uspi_swift_child *child = uspi_region_take(memory, sizeof *child);
    if (child != NULL) *child = (struct uspi_swift_child){.node = node};
    return child;
}

bool uspi_swift_add(struct uspi_region *memory, struct uspi_swift_node *parent, struct uspi_swift_node *child) {
    struct uspi_swift_child *added = make_child(memory, parent, child);
    if (added == NULL) return false;
    if (parent->last != NULL) {
        parent->last->next = added;
    } else {
        parent->first = added;
    }
    parent->last = added;
    parent->child_count++;
    return true;
}

bool uspi_swift_add_first(struct uspi_region *memory, struct uspi_swift_node *parent, struct uspi_swift_node *child) {
    struct uspi_swift_child *added = make_child(memory, parent, child);
    if (added == NULL) return false;
    added->next = parent->first;
    parent->first = added;
    if (parent->last == NULL) parent->last = added;
    parent->child_count++;
    return true;
}

void uspi_swift_remove(struct uspi_swift_node *parent, const struct uspi_swift_node *child) {
    struct uspi_swift_child *before = NULL;
    for (struct uspi_swift_child *place = parent->first; place != NULL; before = place, place = place->next) {
        if (place->node != child) continue;
        if (before != NULL) {
            before->next = place->next;
        } else {
            parent->first = place->next;
        }
        if (place == parent->last) parent->last = before;
        parent->child_count--;
        return;
    }
}

struct uspi_swift_node *uspi_swift_child_at(const struct uspi_swift_node *node, size_t position) {
    const struct uspi_swift_child *child = node->first;
    while (child != NULL && position-- > 0) child = child->next;
    return child != NULL ? child->node : NULL;
}

struct uspi_swift_node *uspi_swift_child_of_kind(const struct uspi_swift_node *node, uint16_t kind) {
    for (const struct uspi_swift_child *child = node->first; child != NULL; child = child->next) {
        if (child->node->kind == kind) return child->node;
    }
    return NULL;
}

bool uspi_swift_text_is(const struct uspi_swift_node *node, const char *string) {
    size_t length = strlen(string);
    return node->has_text && node->length == length && memcmp(node->text, string, length) == 0;
}

bool uspi_swift_is_simple_type(const struct uspi_swift_node *type) {
    while (type != NULL && type->kind == SWIFT_TYPE) type = uspi_swift_first_child(type);
    if (type == NULL) return true;
    const struct uspi_swift_node *first = uspi_swift_first_child(type);
    switch (type->kind) {
    case SWIFT_PROTOCOL_LIST: return first->child_count <= 1;
    case SWIFT_PROTOCOL_LIST_WITH_ANY_OBJECT: return uspi_swift_first_child(first)->child_count == 0;
    default: return uspi_swift_can_be(type->kind, USPI_SWIFT_SIMPLE);
    }
}
