/* SPDX-License-Identifier: MIT */
/* See parse.h: numbers, and the stack. */
#include "lib/demangle/swift/parse.h"

/* ---- characters and numbers ---- */

int64_t uspi_swift_natural(struct uspi_swift_parser *parser) {
    int64_t number = 0;
    if (!uspi_swift_is_digit(uspi_swift_peek(parser))) return USPI_SWIFT_NO_NUMBER;
    while (uspi_swift_is_digit(uspi_swift_peek(parser))) {
        number = number * 10 + (uspi_swift_next(parser) - '0');
        if (number > INT32_MAX) return USPI_SWIFT_NO_NUMBER;
    }
    return number;
}

int64_t uspi_swift_index(struct uspi_swift_parser *parser) {
    if (uspi_swift_next_if(parser, '_')) return 0;
    int64_t number = uspi_swift_natural(parser);
    return number >= 0 && uspi_swift_next_if(parser, '_') ? number + 1 : USPI_SWIFT_NO_NUMBER;
}

struct uspi_swift_node *uspi_swift_index_node(struct uspi_swift_parser *parser) {
    int64_t index = uspi_swift_index(parser);
    return index >= 0 ? uspi_swift_node_with_index(parser->memory, SWIFT_NUMBER, (uint64_t)index) : NULL;
}

/* ---- the stack and the substitutions ---- */

static struct uspi_swift_node *top_of(const struct uspi_swift_parser *parser) {
    return parser->stack.count > 0 ? parser->stack.items[parser->stack.count - 1] : NULL;
}

struct uspi_swift_node *uspi_swift_pop(struct uspi_swift_parser *parser) {
    struct uspi_swift_node *top = top_of(parser);
    if (top != NULL) parser->stack.count--;
    return top;
}

struct uspi_swift_node *uspi_swift_pop_kind(struct uspi_swift_parser *parser, uint16_t kind) {
    const struct uspi_swift_node *top = top_of(parser);
    return top != NULL && top->kind == kind ? uspi_swift_pop(parser) : NULL;
}

struct uspi_swift_node *uspi_swift_pop_role(struct uspi_swift_parser *parser, unsigned roles) {
    const struct uspi_swift_node *top = top_of(parser);
    return top != NULL && uspi_swift_can_be(top->kind, roles) ? uspi_swift_pop(parser) : NULL;
}

bool uspi_swift_push(struct uspi_swift_parser *parser, struct uspi_swift_node *node) {
    return node != NULL && uspi_region_append(parser->memory, &parser->stack, node);
}

struct uspi_swift_node *uspi_swift_remember(struct uspi_swift_parser *parser, struct uspi_swift_node *node) {
    return node != NULL && uspi_region_append(parser->memory, &parser->substitutions, node) ? node : NULL;
}

/* ---- making nodes ---- */

struct uspi_swift_node *uspi_swift_make_of(struct uspi_swift_parser *parser, uint16_t kind,
                                           struct uspi_swift_node *const *children, size_t count) {
    struct uspi_swift_node *node = uspi_swift_node(parser->memory, kind);
    for (size_t i = 0; i < count; i++) {
        if (!uspi_swift_add(parser->memory, node, children[i])) return NULL;
    }
    return node;
}

struct uspi_swift_node *uspi_swift_type(struct uspi_swift_parser *parser, struct uspi_swift_node *child) {
    return uspi_swift_make(parser, SWIFT_TYPE, child);
}

struct uspi_swift_node *uspi_swift_standard_type(struct uspi_region *memory, uint16_t kind, const char *name) {
    struct uspi_swift_node *type = uspi_swift_node(memory, SWIFT_TYPE), *named = uspi_swift_node(memory, kind);
    bool is_made = uspi_swift_add(memory, named, uspi_swift_node_with_string(memory, SWIFT_MODULE, "Swift")) &&
                   uspi_swift_add(memory, named, uspi_swift_node_with_string(memory, SWIFT_IDENTIFIER, name)) &&
                   uspi_swift_add(memory, type, named);
    return is_made ? type : NULL;
}

/* ---- what operators take from the stack ---- */

struct uspi_swift_node *uspi_swift_pop_module(struct uspi_swift_parser *parser) {
    const struct uspi_swift_node *name = uspi_swift_pop_kind(parser, SWIFT_IDENTIFIER);
    return name != NULL ? uspi_swift_node_as(parser->memory, SWIFT_MODULE, name)
                        : uspi_swift_pop_kind(parser, SWIFT_MODULE);
}

struct uspi_swift_node *uspi_swift_pop_context(struct uspi_swift_parser *parser) {
    const struct uspi_swift_node *top = top_of(parser);
    if (top == NULL) return NULL;
    if (top->kind == SWIFT_IDENTIFIER) return uspi_swift_pop_module(parser);
    if (top->kind != SWIFT_TYPE) return uspi_swift_pop_role(parser, USPI_SWIFT_CONTEXT);
    struct uspi_swift_node *child = uspi_swift_pop_type_child(parser);
    return child != NULL && uspi_swift_can_be(child->kind, USPI_SWIFT_CONTEXT) ? child : NULL;
}

struct uspi_swift_node *uspi_swift_pop_entity(struct uspi_swift_parser *parser) {
    const struct uspi_swift_node *top = top_of(parser);
    bool is_type = top != NULL && top->kind == SWIFT_TYPE;
    return is_type ? uspi_swift_pop(parser) : uspi_swift_pop_role(parser, USPI_SWIFT_CONTEXT);
}

struct uspi_swift_node *uspi_swift_pop_type(struct uspi_swift_parser *parser) {
    return uspi_swift_pop_kind(parser, SWIFT_TYPE);
}

struct uspi_swift_node *uspi_swift_pop_type_child(struct uspi_swift_parser *parser) {
    return uspi_swift_first_child(uspi_swift_pop_type(parser));
}

struct uspi_swift_node *uspi_swift_pop_nominal(struct uspi_swift_parser *parser) {
    struct uspi_swift_node *child = uspi_swift_pop_type_child(parser);
    return child != NULL && uspi_swift_can_be(child->kind, USPI_SWIFT_NOMINAL) ? child : NULL;
}

bool uspi_swift_is_protocol(const struct uspi_swift_node *type) {
    while (type != NULL && type->kind == SWIFT_TYPE) type = uspi_swift_first_child(type);
    return type != NULL && type->kind == SWIFT_PROTOCOL;
}

struct uspi_swift_node *uspi_swift_pop_protocol(struct uspi_swift_parser *parser) {
    struct uspi_swift_node *type = uspi_swift_pop_type(parser);
    if (type != NULL) return uspi_swift_is_protocol(type) ? type : NULL;
    struct uspi_swift_node *name = uspi_swift_pop_role(parser, USPI_SWIFT_NAME);
    struct uspi_swift_node *context = uspi_swift_pop_context(parser);
    return uspi_swift_type(parser, uspi_swift_make(parser, SWIFT_PROTOCOL, context, name));
}

bool uspi_swift_pop_list(struct uspi_swift_parser *parser, struct uspi_swift_node *parent,
                         struct uspi_swift_node *(*pop)(struct uspi_swift_parser *parser)) {
    bool is_end = uspi_swift_pop_kind(parser, SWIFT_EMPTY_LIST) != NULL;
    while (!is_end) {
        is_end = uspi_swift_pop_kind(parser, SWIFT_FIRST_ELEMENT) != NULL;
        if (!uspi_swift_add_first(parser->memory, parent, pop(parser))) return false;
    }
    return parent != NULL;
}

struct uspi_swift_node *uspi_swift_pop_types(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *list = uspi_swift_node(parser->memory, kind);
    return uspi_swift_pop_list(parser, list, uspi_swift_pop_type) ? list : NULL;
}
