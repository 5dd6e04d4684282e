/* SPDX-License-Identifier: MIT */
/* Shared declarations of the parser of the mangling of Swift 3 and before ("_T…"), which Objective-C names of Swift
 * classes still have ("_Tt…"). Source: swift docs/ABI/OldMangling.rst.
 *
 * It is in prefix order: an operator precedes its operands. Instead of recursive functions, the parser has a list of
 * steps that are still to be done, so that names may be nested deeply. A step reads a little, and pushes nodes on the
 * stack or adds further steps to the list. */
#ifndef USPI_DEMANGLE_SWIFT_OLD_H
#define USPI_DEMANGLE_SWIFT_OLD_H

#include "lib/demangle/swift/parse.h"

enum uspi_old_action {
    /* Read the next item of the name and leave it on the stack. */
    OLD_GLOBAL,
    OLD_ENTITY,
    OLD_CONTEXT,
    OLD_NOMINAL,
    OLD_DECLARATION, /* a declaration of the step's kind: its context, its name */
    OLD_BOUND_GENERIC,
    OLD_TYPE,        /* a node of kind SWIFT_TYPE */
    OLD_BARE_TYPE,   /* the child of such a node */
    OLD_PROTOCOL,    /* a node of kind SWIFT_TYPE */
    OLD_CONFORMANCE, /* a type, a protocol, a context */
    OLD_SIGNATURE,   /* a generic signature, of the step's kind */
    OLD_REQUIREMENT,
    OLD_ARCHETYPE,
    OLD_MEMBER_OF_PARAMETER,
    OLD_MEMBERS_OF_PARAMETER,
    OLD_DECLARATION_NAME, /* a file or a number may distinguish it */
    OLD_MODULE,

    /* Read the rest of an item whose beginning is on the stack. */
    OLD_ENTITY_REST,
    OLD_DECLARATION_REST,
    OLD_BOUND_GENERIC_REST,
    OLD_LEVEL, /* `child`, a level of a bound generic type */
    OLD_LEVEL_ARGUMENTS,
    OLD_REQUIREMENT_REST,
    OLD_ARCHETYPE_REST,
    OLD_MEMBER,
    OLD_MEMBER_NAME,             /* without a protocol */
    OLD_MEMBER_NAME_OF_PROTOCOL, /* the protocol is on the stack */
    OLD_MEMBERS,
    OLD_IMPL_FUNCTION_REST,
    OLD_BOX_REST,

    /* Read the elements of the step's node, up to the end of the list. */
    OLD_TYPES,
    OLD_PROTOCOLS,
    OLD_REQUIREMENTS,
    OLD_TUPLE_ELEMENTS,
    OLD_VARIADIC_TUPLE_ELEMENTS,
    OLD_BOX_FIELDS,
    OLD_IMPL_PARAMETERS,
    OLD_IMPL_RESULTS,

    /* Change the stack. */
    OLD_MAKE_1, /* pop this many nodes, and push a node of the step's kind with them as children */
    OLD_MAKE_2,
    OLD_MAKE_3,
    OLD_MAKE_CONSTRAINED_EXTENSION,
    OLD_COLLECT, /* the stack's top becomes the last child of the step's node */
    OLD_ADD,     /* the step's node becomes the last child of the stack's top */
    OLD_PUSH,    /* push the step's node */
};

struct uspi_old_step {
    enum uspi_old_action action;
    uint16_t kind;
    struct uspi_swift_node *node;
    const struct uspi_swift_child *child;
    struct uspi_old_step *next;
};

struct uspi_old_parser {
    struct uspi_swift_parser base;
    struct uspi_old_step *steps;  /* steps still to be done, the next one first */
    struct uspi_old_step *unused; /* done steps, for reuse */
};

/* Parses a name with its prefix into a tree. NULL: the name is malformed, or takes too much memory. (old_name.c) */
struct uspi_swift_node *uspi_old_parse(struct uspi_region *memory, const char *name, size_t length);

/* ---- steps ----
 *
 * Functions that return a bool return false when the name is malformed or memory lacks. */

bool uspi_old_add_step(struct uspi_old_parser *old, struct uspi_old_step step);

/* Adds steps before all others, to be done in this order. */
bool uspi_old_add_steps(struct uspi_old_parser *old, const struct uspi_old_step *steps, size_t count);
#define THEN(old, ...)                                                                                                 \
    uspi_old_add_steps((old), (const struct uspi_old_step[]){__VA_ARGS__},                                             \
                       sizeof((const struct uspi_old_step[]){__VA_ARGS__}) / sizeof(struct uspi_old_step))

/* A step, and a step with its kind or node. */
#define DO(action)          {OLD_##action, SWIFT_NOTHING, NULL, NULL, NULL}
#define DO_KIND(action, of) {OLD_##action, (of), NULL, NULL, NULL}
#define DO_NODE(action, of) {OLD_##action, SWIFT_NOTHING, (of), NULL, NULL}

/* Does this step and all steps that follow from it. Returns the node that is left on the stack, or NULL. (old_run.c) */
struct uspi_swift_node *uspi_old_run(struct uspi_old_parser *old, enum uspi_old_action action);

/* ---- reading ---- */

static inline char uspi_old_peek(const struct uspi_old_parser *old) { return uspi_swift_peek(&old->base); }
static inline char uspi_old_next(struct uspi_old_parser *old) { return uspi_swift_next(&old->base); }
static inline bool uspi_old_next_if(struct uspi_old_parser *old, char c) { return uspi_swift_next_if(&old->base, c); }

static inline bool uspi_old_push(struct uspi_old_parser *old, struct uspi_swift_node *node) {
    return uspi_swift_push(&old->base, node);
}
static inline struct uspi_swift_node *uspi_old_pop(struct uspi_old_parser *old) { return uspi_swift_pop(&old->base); }

static inline struct uspi_swift_node *uspi_old_make_string(struct uspi_old_parser *old, uint16_t kind,
                                                           const char *text) {
    return uspi_swift_node_with_string(old->base.memory, kind, text);
}

/* old_names.c */

bool uspi_old_next_if_string(struct uspi_old_parser *old, const char *string);

/* Reads decimal digits as a number of 64 bits. False: there are none. */
bool uspi_old_read_natural(struct uspi_old_parser *old, uint64_t *number);

/* Reads an index: "_" is 0, a number N and "_" are N + 1. */
bool uspi_old_read_index(struct uspi_old_parser *old, uint64_t *index);
struct uspi_swift_node *uspi_old_read_index_node(struct uspi_old_parser *old);

/* Reads an identifier as a node of a kind; with SWIFT_IDENTIFIER it may also be an operator. */
struct uspi_swift_node *uspi_old_read_identifier(struct uspi_old_parser *old, uint16_t kind);

/* Reads a name, which a file or a number may distinguish from others. */
struct uspi_swift_node *uspi_old_read_declaration_name(struct uspi_old_parser *old);

/* Reads what follows an "S": a letter of the standard library, or the number of an earlier part. */
struct uspi_swift_node *uspi_old_read_substitution(struct uspi_old_parser *old);
struct uspi_swift_node *uspi_old_read_module(struct uspi_old_parser *old);

/* Reads a protocol whose context was read before. */
struct uspi_swift_node *uspi_old_read_protocol_in(struct uspi_old_parser *old, struct uspi_swift_node *context);

/* old_generics.c */

/* Makes a parameter of its depth and its number at that depth, 32 bits each. */
struct uspi_swift_node *uspi_old_make_parameter(struct uspi_old_parser *old, uint64_t depth, uint64_t number);
struct uspi_swift_node *uspi_old_read_parameter(struct uspi_old_parser *old);

/* old_specializations.c: reads what follows "_TTS"; the specialized function is not part of it. */
struct uspi_swift_node *uspi_old_read_specialization(struct uspi_old_parser *old);

/* ---- what steps do ---- */

/* old_entities.c */
bool uspi_old_take_global(struct uspi_old_parser *old);
bool uspi_old_take_entity(struct uspi_old_parser *old);
bool uspi_old_take_entity_rest(struct uspi_old_parser *old, uint16_t basic);
bool uspi_old_take_context(struct uspi_old_parser *old);
bool uspi_old_take_nominal(struct uspi_old_parser *old);
bool uspi_old_take_protocol(struct uspi_old_parser *old);

/* old_generics.c */
bool uspi_old_take_bound_generic_rest(struct uspi_old_parser *old);
bool uspi_old_take_level(struct uspi_old_parser *old, struct uspi_old_step step);
bool uspi_old_take_level_arguments(struct uspi_old_parser *old, struct uspi_old_step step);
bool uspi_old_take_signature(struct uspi_old_parser *old, uint16_t kind);
bool uspi_old_take_requirement(struct uspi_old_parser *old);
bool uspi_old_take_requirement_rest(struct uspi_old_parser *old);
bool uspi_old_take_member(struct uspi_old_parser *old);
bool uspi_old_take_member_name(struct uspi_old_parser *old, bool has_protocol);
bool uspi_old_take_members(struct uspi_old_parser *old);
bool uspi_old_take_archetype(struct uspi_old_parser *old);
bool uspi_old_take_archetype_rest(struct uspi_old_parser *old);

/* old_types.c */
bool uspi_old_take_bare_type(struct uspi_old_parser *old);
bool uspi_old_take_tuple_element(struct uspi_old_parser *old, struct uspi_old_step step);
bool uspi_old_take_impl_value(struct uspi_old_parser *old, struct uspi_old_step step);
bool uspi_old_take_box(struct uspi_old_parser *old, bool is_generic);
bool uspi_old_take_box_field(struct uspi_old_parser *old, struct uspi_old_step step);

#endif
