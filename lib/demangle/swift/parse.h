/* SPDX-License-Identifier: MIT */
/* Shared declarations of the parser, which makes a tree of a mangled Swift name.
 *
 * The current mangling is in postfix order: each operator pops what it needs from a stack of nodes and pushes the node
 * that it makes. So the parser is a loop over operators (name.c), without recursion. What is left of the old mangling,
 * until Swift 3, has its own parser (old.h). */
#ifndef USPI_DEMANGLE_SWIFT_PARSE_H
#define USPI_DEMANGLE_SWIFT_PARSE_H

#include "lib/base/region.h"
#include "lib/demangle/swift/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many words of identifiers can be referred to (swift docs/ABI/Mangling.rst, "Identifiers"). */
#define USPI_SWIFT_WORDS 26

struct uspi_swift_parser {
    struct uspi_region *memory;
    const char *text;
    size_t length, at;
    struct uspi_region_array stack;
    struct uspi_region_array substitutions; /* nodes that can be referred to again, in order of appearance */
    struct {
        const char *text;
        size_t length;
    } words[USPI_SWIFT_WORDS];
    unsigned word_count;
    bool has_labels_in_types; /* _T0: the function's type contains the labels of parameters */
};

/* ---- characters and numbers ---- */

/* Returns the next character, 0 at the end. */
static inline char uspi_swift_peek(const struct uspi_swift_parser *parser) {
    return parser->at < parser->length ? parser->text[parser->at] : '\0';
}

static inline char uspi_swift_next(struct uspi_swift_parser *parser) {
    return parser->at < parser->length ? parser->text[parser->at++] : '\0';
}

static inline bool uspi_swift_next_if(struct uspi_swift_parser *parser, char c) {
    if (uspi_swift_peek(parser) != c || c == '\0') return false;
    parser->at++;
    return true;
}

static inline bool uspi_swift_is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool uspi_swift_is_lower(char c) { return c >= 'a' && c <= 'z'; }
static inline bool uspi_swift_is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/* Returned by these functions if there is no number, or one above INT32_MAX. It is so low that the small sums which the
 * mangling makes of numbers stay below 0. */
#define USPI_SWIFT_NO_NUMBER (-1000)

/* Reads a NATURAL: decimal digits. */
int64_t uspi_swift_natural(struct uspi_swift_parser *parser);

/* Reads an INDEX: "_" is 0, a number N and "_" are N + 1. */
int64_t uspi_swift_index(struct uspi_swift_parser *parser);

/* Reads an index as a node of kind SWIFT_NUMBER, or returns NULL. */
struct uspi_swift_node *uspi_swift_index_node(struct uspi_swift_parser *parser);

/* ---- the stack and the substitutions ---- */

/* These return NULL when the stack is empty, or its top is not of that kind or role. */
struct uspi_swift_node *uspi_swift_pop(struct uspi_swift_parser *parser);
struct uspi_swift_node *uspi_swift_pop_kind(struct uspi_swift_parser *parser, uint16_t kind);
struct uspi_swift_node *uspi_swift_pop_role(struct uspi_swift_parser *parser, unsigned roles);

/* Pushes a node. False: it is NULL, or memory lacks. */
bool uspi_swift_push(struct uspi_swift_parser *parser, struct uspi_swift_node *node);

/* Adds a node to the substitutions and returns it. NULL: it was NULL, or memory lacks. */
struct uspi_swift_node *uspi_swift_remember(struct uspi_swift_parser *parser, struct uspi_swift_node *node);

/* ---- making nodes ---- */

/* Makes a node with these children; NULL when one of them is NULL or memory lacks. */
struct uspi_swift_node *uspi_swift_make_of(struct uspi_swift_parser *parser, uint16_t kind,
                                           struct uspi_swift_node *const *children, size_t count);
#define uspi_swift_make(parser, kind, ...)                                                                             \
    uspi_swift_make_of((parser), (kind), (struct uspi_swift_node *const[]){__VA_ARGS__},                               \
                       sizeof((struct uspi_swift_node *const[]){__VA_ARGS__}) / sizeof(struct uspi_swift_node *))

/* Makes a node of kind SWIFT_TYPE around another one; NULL for NULL. */
struct uspi_swift_node *uspi_swift_type(struct uspi_swift_parser *parser, struct uspi_swift_node *child);

/* Makes the type Swift.NAME, of kind SWIFT_TYPE. */
struct uspi_swift_node *uspi_swift_standard_type(struct uspi_region *memory, uint16_t kind, const char *name);

/* ---- what operators take from the stack ---- */

struct uspi_swift_node *uspi_swift_pop_module(struct uspi_swift_parser *parser);
struct uspi_swift_node *uspi_swift_pop_context(struct uspi_swift_parser *parser);
/* Pops a type, or a node that can be a declaration. */
struct uspi_swift_node *uspi_swift_pop_entity(struct uspi_swift_parser *parser);
/* Pops a node of kind SWIFT_TYPE and returns its only child. */
struct uspi_swift_node *uspi_swift_pop_type_child(struct uspi_swift_parser *parser);
/* Does the same, for a type that can be generic. */
struct uspi_swift_node *uspi_swift_pop_nominal(struct uspi_swift_parser *parser);
struct uspi_swift_node *uspi_swift_pop_protocol(struct uspi_swift_parser *parser);
bool uspi_swift_is_protocol(const struct uspi_swift_node *type);

/* Pops a list and adds its elements to `parent`, in their order. On the stack, a mark follows the first element, or a
 * mark stands for an empty list. `pop` pops one element. False: it is not a list. */
bool uspi_swift_pop_list(struct uspi_swift_parser *parser, struct uspi_swift_node *parent,
                         struct uspi_swift_node *(*pop)(struct uspi_swift_parser *parser));
/* Pops a list of types as a node of a kind. */
struct uspi_swift_node *uspi_swift_pop_types(struct uspi_swift_parser *parser, uint16_t kind);
struct uspi_swift_node *uspi_swift_pop_type(struct uspi_swift_parser *parser);

/* ---- operators ----
 *
 * Each function reads the rest of its operator and returns its node, without pushing it. NULL: the name is malformed or
 * memory lacks. `kind` is the kind of the node, from the table in operators.c. Functions that make only one kind, or
 * choose it themselves, ignore it. */

/* Returns the operator's last letter, which was read before. */
static inline char uspi_swift_letter(const struct uspi_swift_parser *parser) { return parser->text[parser->at - 1]; }

#define USPI_SWIFT_OPERATOR(name)                                                                                      \
    struct uspi_swift_node *uspi_swift_parse_##name(struct uspi_swift_parser *parser, uint16_t kind)

/* operators.c: reads the next operator of any kind. */
struct uspi_swift_node *uspi_swift_parse_operator(struct uspi_swift_parser *parser);

/* identifiers.c */
/* Makes a node of a kind whose text is written in Punycode; NULL when it is malformed or memory lacks. */
struct uspi_swift_node *uspi_swift_decode_punycode(struct uspi_region *memory, uint16_t kind, const char *piece,
                                                   size_t length);
USPI_SWIFT_OPERATOR(identifier);
USPI_SWIFT_OPERATOR(operator_identifier);
USPI_SWIFT_OPERATOR(local_identifier);
USPI_SWIFT_OPERATOR(substitutions);
USPI_SWIFT_OPERATOR(standard_type);

/* parse_types.c */
USPI_SWIFT_OPERATOR(builtin_type);
USPI_SWIFT_OPERATOR(function_type);
USPI_SWIFT_OPERATOR(function_type_with_clang_type);
USPI_SWIFT_OPERATOR(tuple);
USPI_SWIFT_OPERATOR(pack);
USPI_SWIFT_OPERATOR(sil_pack);
USPI_SWIFT_OPERATOR(pack_element);
USPI_SWIFT_OPERATOR(type_mangling);
USPI_SWIFT_OPERATOR(differentiable_function);
USPI_SWIFT_OPERATOR(metatype_representation);
USPI_SWIFT_OPERATOR(protocol_list);
USPI_SWIFT_OPERATOR(protocol_list_type);
USPI_SWIFT_OPERATOR(box);
USPI_SWIFT_OPERATOR(existential_shape);
USPI_SWIFT_OPERATOR(integer_type);
/* Returns the labels of a function's parameters, from the stack or, before Swift 4.1, from its type; NULL: it has
 * none. */
struct uspi_swift_node *uspi_swift_pop_labels(struct uspi_swift_parser *parser, struct uspi_swift_node *type);
struct uspi_swift_node *uspi_swift_parse_clang_type(struct uspi_swift_parser *parser);

/* parse_impl.c */
USPI_SWIFT_OPERATOR(impl_function_type);

/* parse_generics.c */
USPI_SWIFT_OPERATOR(bound_generic_type);
USPI_SWIFT_OPERATOR(generic_signature);
USPI_SWIFT_OPERATOR(generic_requirement);
USPI_SWIFT_OPERATOR(generic_parameter);
USPI_SWIFT_OPERATOR(first_generic_parameter);
USPI_SWIFT_OPERATOR(associated_type);
USPI_SWIFT_OPERATOR(opaque_type);
USPI_SWIFT_OPERATOR(opaque_return_type);
/* Pops the arguments of bound generic types: a list for each level, the innermost first, as children of `lists`.
 * *conformances becomes the retroactive conformances, or NULL. False: they are malformed. */
bool uspi_swift_pop_generic_arguments(struct uspi_swift_parser *parser, struct uspi_swift_node *lists,
                                      struct uspi_swift_node **conformances);
struct uspi_swift_node *uspi_swift_pop_associated_type_name(struct uspi_swift_parser *parser);
struct uspi_swift_node *uspi_swift_pop_associated_type_path(struct uspi_swift_parser *parser);
struct uspi_swift_node *uspi_swift_pop_requirements(struct uspi_swift_parser *parser);

/* parse_conformances.c */
struct uspi_swift_node *uspi_swift_pop_conformance(struct uspi_swift_parser *parser);
struct uspi_swift_node *uspi_swift_pop_any_conformance(struct uspi_swift_parser *parser);
struct uspi_swift_node *uspi_swift_pop_conformances(struct uspi_swift_parser *parser);
struct uspi_swift_node *uspi_swift_pop_conformance_ref(struct uspi_swift_parser *parser);
struct uspi_swift_node *uspi_swift_pop_dependent_conformance(struct uspi_swift_parser *parser);
struct uspi_swift_node *uspi_swift_pop_associated_conformance(struct uspi_swift_parser *parser);
struct uspi_swift_node *uspi_swift_parse_conformance_index(struct uspi_swift_parser *parser);

/* parse_entities.c */
USPI_SWIFT_OPERATOR(extension);
USPI_SWIFT_OPERATOR(function);
USPI_SWIFT_OPERATOR(variable);
USPI_SWIFT_OPERATOR(subscript);
USPI_SWIFT_OPERATOR(named_entity);
USPI_SWIFT_OPERATOR(constructor);
USPI_SWIFT_OPERATOR(anonymous_context);
USPI_SWIFT_OPERATOR(attached_macro);
USPI_SWIFT_OPERATOR(freestanding_macro);
USPI_SWIFT_OPERATOR(macro_location);

/* parse_special.c */
USPI_SWIFT_OPERATOR(reabstraction_thunk);
USPI_SWIFT_OPERATOR(completion_handler);
USPI_SWIFT_OPERATOR(key_path_accessor);
USPI_SWIFT_OPERATOR(key_path_operator);
USPI_SWIFT_OPERATOR(outlined_variable);
USPI_SWIFT_OPERATOR(bridged_method);
USPI_SWIFT_OPERATOR(outlined_copy);
USPI_SWIFT_OPERATOR(outlined_enum);
USPI_SWIFT_OPERATOR(field_offset);
USPI_SWIFT_OPERATOR(value_witness);
USPI_SWIFT_OPERATOR(once);
USPI_SWIFT_OPERATOR(auto_diff);
USPI_SWIFT_OPERATOR(differentiability_witness);
/* Returns the words for the character of a function's differentiability ("@differentiable(reverse)"); NULL: it is
 * none. */
const char *uspi_swift_differentiability(char c);

/* parse_specializations.c */
USPI_SWIFT_OPERATOR(generic_specialization);
USPI_SWIFT_OPERATOR(generic_specialization_without_arguments);
USPI_SWIFT_OPERATOR(partial_specialization);
USPI_SWIFT_OPERATOR(function_specialization);

#endif
