/* SPDX-License-Identifier: MIT */
/* The mangling of Swift 3 and before ("_T…"), which the Objective-C runtime's names of Swift classes still have ("_Tt…"):
 * what the parts of its parser share. (swift docs/ABI/OldMangling.rst)
 *
 * It is in prefix order: what comes is known before it is there. Instead of functions that call each other as deeply as the
 * name is nested, there is a list of steps that are still to be taken. A step reads a little, and puts nodes on the stack or
 * further steps on the list. */
#ifndef USPI_SWIFT_OLD_H
#define USPI_SWIFT_OLD_H

#include "lib/demangle/swift/parse.h"

enum uspi_old_action {
    /* What comes next in the name: it is read and left on the stack. */
    OLD_GLOBAL,
    OLD_ENTITY,
    OLD_CONTEXT,
    OLD_NOMINAL,
    OLD_DECLARATION, /* of that kind: its context, its name */
    OLD_BOUND_GENERIC,
    OLD_TYPE,        /* of kind SWIFT_TYPE */
    OLD_BARE_TYPE,   /* what that is made of */
    OLD_PROTOCOL,    /* of kind SWIFT_TYPE */
    OLD_CONFORMANCE, /* a type, a protocol, a context */
    OLD_SIGNATURE,   /* a generic one, of that kind */
    OLD_REQUIREMENT,
    OLD_ARCHETYPE,
    OLD_MEMBER_OF_PARAMETER,
    OLD_MEMBERS_OF_PARAMETER,
    OLD_DECLARATION_NAME, /* which may be distinguished by its file or a number */
    OLD_MODULE,

    /* What is left of these when their beginning is on the stack. */
    OLD_ENTITY_REST,
    OLD_DECLARATION_REST,
    OLD_BOUND_GENERIC_REST,
    OLD_LEVEL, /* of a bound generic type: `child` */
    OLD_LEVEL_ARGUMENTS,
    OLD_REQUIREMENT_REST,
    OLD_ARCHETYPE_REST,
    OLD_MEMBER,
    OLD_MEMBER_NAME,             /* without a protocol */
    OLD_MEMBER_NAME_OF_PROTOCOL, /* whose protocol is on the stack */
    OLD_MEMBERS,
    OLD_IMPL_FUNCTION_REST,
    OLD_BOX_REST,

    /* The elements of the node, up to the end of the list. */
    OLD_TYPES,
    OLD_PROTOCOLS,
    OLD_REQUIREMENTS,
    OLD_TUPLE_ELEMENTS,
    OLD_VARIADIC_TUPLE_ELEMENTS,
    OLD_BOX_FIELDS,
    OLD_IMPL_PARAMETERS,
    OLD_IMPL_RESULTS,

    /* What is done with the stack. */
    OLD_MAKE_1, /* a node of that kind with so many nodes of the stack as its children */
    OLD_MAKE_2,
    OLD_MAKE_3,
    OLD_MAKE_CONSTRAINED_EXTENSION,
    OLD_COLLECT, /* the top of the stack becomes the node's last child */
    OLD_ADD,     /* the node becomes the last child of the stack's top */
    OLD_PUSH,    /* the node */
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
    struct uspi_old_step *steps;  /* the next one first */
    struct uspi_old_step *unused; /* for the next ones */
};

/* A name with its prefix as a tree; NULL: it is not well-formed, or takes too much memory. (old_name.c) */
struct uspi_swift_node *uspi_old_parse(struct uspi_swift_memory *memory, const char *name, size_t length);

/* ---- steps ----
 *
 * Functions that return a bool return false when the name is not well-formed or memory lacks. */

bool uspi_old_add_step(struct uspi_old_parser *old, struct uspi_old_step step);

/* Puts steps before all others, to be taken in this order. */
bool uspi_old_add_steps(struct uspi_old_parser *old, const struct uspi_old_step *steps, size_t count);
#define THEN(old, ...)                                                                                                 \
    uspi_old_add_steps((old), (const struct uspi_old_step[]){__VA_ARGS__},                                             \
                       sizeof((const struct uspi_old_step[]){__VA_ARGS__}) / sizeof(struct uspi_old_step))

/* A step, with what it is about. */
#define DO(action)          {OLD_##action, SWIFT_NOTHING, NULL, NULL, NULL}
#define DO_KIND(action, of) {OLD_##action, (of), NULL, NULL, NULL}
#define DO_NODE(action, of) {OLD_##action, SWIFT_NOTHING, (of), NULL, NULL}

/* Takes this step and all that follow from it. Returns what is left on the stack, or NULL. (old_run.c) */
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

/* Decimal digits, whose number is kept to 64 bits. False: there are none. */
bool uspi_old_read_natural(struct uspi_old_parser *old, uint64_t *number);

/* "_" is 0, a number N and "_" are N + 1. */
bool uspi_old_read_index(struct uspi_old_parser *old, uint64_t *index);
struct uspi_swift_node *uspi_old_read_index_node(struct uspi_old_parser *old);

/* An identifier of that kind; SWIFT_IDENTIFIER: it may be an operator as well. */
struct uspi_swift_node *uspi_old_read_identifier(struct uspi_old_parser *old, uint16_t kind);

/* A name, which may be distinguished by its file or by a number. */
struct uspi_swift_node *uspi_old_read_declaration_name(struct uspi_old_parser *old);

/* What follows an "S": a letter of the standard library's, or the number of what came before. */
struct uspi_swift_node *uspi_old_read_substitution(struct uspi_old_parser *old);
struct uspi_swift_node *uspi_old_read_module(struct uspi_old_parser *old);

/* A protocol whose module was read. */
struct uspi_swift_node *uspi_old_read_protocol_in(struct uspi_old_parser *old, struct uspi_swift_node *context);

/* old_generics.c */

/* A parameter by its depth and its number at that depth, of 32 bits each. */
struct uspi_swift_node *uspi_old_make_parameter(struct uspi_old_parser *old, uint64_t depth, uint64_t number);
struct uspi_swift_node *uspi_old_read_parameter(struct uspi_old_parser *old);

/* old_specializations.c: behind "_TTS", which function was specialized is not named. */
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
