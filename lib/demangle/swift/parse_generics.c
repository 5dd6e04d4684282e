/* SPDX-License-Identifier: MIT */
/* Operators of generics: arguments, parameters, signatures and their requirements, associated types, opaque types.
 * (swift docs/ABI/Mangling.rst, "Generics") */
#include "lib/base/text.h"
#include "lib/demangle/swift/parse.h"

#include <string.h>

/* ---- arguments ---- */

bool uspi_swift_pop_generic_arguments(struct uspi_swift_parser *parser, struct uspi_swift_node *lists,
                                      struct uspi_swift_node **conformances) {
    struct uspi_region *memory = parser->memory;
    struct uspi_swift_node *conformance, *type;
    *conformances = NULL;
    while ((conformance = uspi_swift_pop_kind(parser, SWIFT_RETROACTIVE_CONFORMANCE)) != NULL) {
        if (*conformances == NULL) *conformances = uspi_swift_node(memory, SWIFT_TYPE_LIST);
        if (!uspi_swift_add_first(memory, *conformances, conformance)) return false;
    }
    for (;;) {
        struct uspi_swift_node *list = uspi_swift_node(memory, SWIFT_TYPE_LIST);
        if (!uspi_swift_add(memory, lists, list)) return false;
        while ((type = uspi_swift_pop_type(parser)) != NULL) {
            if (!uspi_swift_add_first(memory, list, type)) return false;
        }
        if (uspi_swift_pop_kind(parser, SWIFT_EMPTY_LIST) != NULL) return true;
        if (uspi_swift_pop_kind(parser, SWIFT_FIRST_ELEMENT) == NULL) return false;
    }
}

/* Returns whether a kind of declaration has its own generic arguments. Others only stand in declarations that have
 * some. */
static bool has_own_arguments(uint16_t kind) {
    switch (kind) {
    case SWIFT_VARIABLE:
    case SWIFT_SUBSCRIPT:
    case SWIFT_IMPLICIT_CLOSURE:
    case SWIFT_EXPLICIT_CLOSURE:
    case SWIFT_DEFAULT_ARGUMENT:
    case SWIFT_INITIALIZER:
    case SWIFT_PROPERTY_WRAPPER_BACKING_INITIALIZER:
    case SWIFT_PROPERTY_WRAPPED_FIELD_INIT_ACCESSOR:
    case SWIFT_PROPERTY_WRAPPER_INIT_FROM_PROJECTED_VALUE:
    case SWIFT_STATIC: return false;
    default: return true;
    }
}

/* Returns a declaration with its arguments. */
static struct uspi_swift_node *bind(struct uspi_swift_parser *parser, struct uspi_swift_node *declaration,
                                    struct uspi_swift_node *arguments) {
    uint16_t kind;
    if (arguments->child_count == 0) return declaration;
    switch (declaration->kind) {
    case SWIFT_CLASS: kind = SWIFT_BOUND_GENERIC_CLASS; break;
    case SWIFT_STRUCTURE: kind = SWIFT_BOUND_GENERIC_STRUCTURE; break;
    case SWIFT_ENUM: kind = SWIFT_BOUND_GENERIC_ENUM; break;
    case SWIFT_PROTOCOL: kind = SWIFT_BOUND_GENERIC_PROTOCOL; break;
    case SWIFT_OTHER_NOMINAL_TYPE: kind = SWIFT_BOUND_GENERIC_OTHER; break;
    case SWIFT_TYPE_ALIAS: kind = SWIFT_BOUND_GENERIC_TYPE_ALIAS; break;
    case SWIFT_FUNCTION:
    case SWIFT_CONSTRUCTOR: return uspi_swift_make(parser, SWIFT_BOUND_GENERIC_FUNCTION, declaration, arguments);
    default: return NULL;
    }
    return uspi_swift_make(parser, kind, uspi_swift_type(parser, declaration), arguments);
}

/* Returns a copy of a declaration in another context. */
static struct uspi_swift_node *move_into(struct uspi_swift_parser *parser, const struct uspi_swift_node *declaration,
                                         struct uspi_swift_node *context) {
    const struct uspi_swift_node *before = uspi_swift_first_child(declaration);
    if (before->kind == SWIFT_EXTENSION) {
        struct uspi_swift_node *signature = uspi_swift_child_at(before, 2);
        context = uspi_swift_make(parser, SWIFT_EXTENSION, uspi_swift_first_child(before), context);
        if (context != NULL && signature != NULL) uspi_swift_add(parser->memory, context, signature);
    }
    struct uspi_swift_node *moved = uspi_swift_make(parser, declaration->kind, context);
    if (moved == NULL) return NULL;
    for (const struct uspi_swift_child *child = declaration->first->next; child != NULL; child = child->next) {
        if (!uspi_swift_add(parser->memory, moved, child->node)) return NULL;
    }
    return moved;
}

/* Gives a type and its enclosing contexts one list of arguments each, as far as there are lists; the first one is the
 * type's own. Goes outwards to the context of the last list, and returns inwards while it binds the arguments. */
static struct uspi_swift_node *bind_all(struct uspi_swift_parser *parser, struct uspi_swift_node *type,
                                        const struct uspi_swift_node *lists) {
    struct uspi_region_array levels = {0}, arguments = {0};
    const struct uspi_swift_child *list = lists->first;
    for (struct uspi_swift_node *declaration = type; list != NULL;) {
        struct uspi_swift_node *context = declaration != NULL ? uspi_swift_first_child(declaration) : NULL;
        if (context == NULL) return NULL;
        bool is_bound = has_own_arguments(declaration->kind);
        if (!uspi_region_append(parser->memory, &levels, declaration)) return NULL;
        if (!uspi_region_append(parser->memory, &arguments, is_bound ? list->node : NULL)) return NULL;
        if (is_bound) list = list->next;
        declaration = context->kind == SWIFT_EXTENSION ? uspi_swift_child_at(context, 1) : context;
    }
    struct uspi_swift_node *bound = NULL;
    for (size_t i = levels.count; i-- > 0;) {
        struct uspi_swift_node *declaration = levels.items[i];
        if (i + 1 < levels.count) declaration = move_into(parser, declaration, bound);
        if (declaration == NULL) return NULL;
        bound = arguments.items[i] != NULL ? bind(parser, declaration, arguments.items[i]) : declaration;
        if (bound == NULL) return NULL;
    }
    return bound;
}

struct uspi_swift_node *uspi_swift_parse_bound_generic_type(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *lists = uspi_swift_node(parser->memory, SWIFT_TYPE_LIST), *conformances;
    (void)kind;
    if (!uspi_swift_pop_generic_arguments(parser, lists, &conformances)) return NULL;
    struct uspi_swift_node *type = uspi_swift_pop_nominal(parser);
    if (type == NULL) return NULL;
    struct uspi_swift_node *bound = bind_all(parser, type, lists);
    if (bound == NULL) return NULL;
    /* Copy the type, because one without arguments is still the node to which others refer. */
    if (conformances != NULL) {
        bound = uspi_swift_node_as(parser->memory, bound->kind, bound);
        if (!uspi_swift_add(parser->memory, bound, conformances)) return NULL;
    }
    return uspi_swift_remember(parser, uspi_swift_type(parser, bound));
}

/* "Qo": an opaque type by the declaration that returns it, its number and its arguments. */
struct uspi_swift_node *uspi_swift_parse_opaque_type(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_region *memory = parser->memory;
    int64_t index = uspi_swift_index(parser);
    struct uspi_swift_node *lists = uspi_swift_node(memory, SWIFT_TYPE_LIST), *conformances;
    if (!uspi_swift_pop_generic_arguments(parser, lists, &conformances)) return NULL;
    struct uspi_swift_node *declaration = uspi_swift_pop(parser);
    struct uspi_swift_node *number = uspi_swift_node_with_index(memory, SWIFT_NUMBER, (uint64_t)index);
    struct uspi_swift_node *type = uspi_swift_make(parser, kind, declaration, number);
    return uspi_swift_remember(parser, uspi_swift_type(parser, type));
}

/* "QR": one of several opaque types of the current declaration. */
struct uspi_swift_node *uspi_swift_parse_opaque_return_type(struct uspi_swift_parser *parser, uint16_t kind) {
    return uspi_swift_type(parser, uspi_swift_make(parser, kind, uspi_swift_index_node(parser)));
}

/* ---- parameters ---- */

/* Makes a parameter of its depth and its number at that depth; the node's index contains both. */
static struct uspi_swift_node *make_parameter(struct uspi_swift_parser *parser, int64_t depth, int64_t number) {
    if (depth < 0 || number < 0) return NULL;
    return uspi_swift_node_with_index(parser->memory, SWIFT_GENERIC_PARAMETER,
                                      (uint64_t)depth << 32 | (uint64_t)number);
}

/* GENERIC-PARAM-INDEX */
static struct uspi_swift_node *read_parameter(struct uspi_swift_parser *parser) {
    if (uspi_swift_next_if(parser, 'd')) {
        int64_t depth = uspi_swift_index(parser) + 1;
        return make_parameter(parser, depth, uspi_swift_index(parser));
    }
    if (uspi_swift_next_if(parser, 'z')) return make_parameter(parser, 0, 0);
    if (uspi_swift_next_if(parser, 's')) return uspi_swift_node(parser->memory, SWIFT_CONSTRAINED_EXISTENTIAL_SELF);
    return make_parameter(parser, 0, uspi_swift_index(parser) + 1);
}

struct uspi_swift_node *uspi_swift_parse_generic_parameter(struct uspi_swift_parser *parser, uint16_t kind) {
    (void)kind;
    return uspi_swift_type(parser, read_parameter(parser));
}

struct uspi_swift_node *uspi_swift_parse_first_generic_parameter(struct uspi_swift_parser *parser, uint16_t kind) {
    (void)kind;
    return uspi_swift_type(parser, make_parameter(parser, 0, 0));
}

/* ---- associated types ---- */

struct uspi_swift_node *uspi_swift_pop_associated_type_name(struct uspi_swift_parser *parser) {
    struct uspi_swift_node *protocol = uspi_swift_pop_type(parser);
    if (protocol != NULL && !uspi_swift_is_protocol(protocol)) return NULL;
    struct uspi_swift_node *name = uspi_swift_pop_kind(parser, SWIFT_IDENTIFIER);
    return protocol != NULL ? uspi_swift_make(parser, SWIFT_ASSOCIATED_TYPE_NAME, name, protocol)
                            : uspi_swift_make(parser, SWIFT_ASSOCIATED_TYPE_NAME, name);
}

struct uspi_swift_node *uspi_swift_pop_associated_type_path(struct uspi_swift_parser *parser) {
    struct uspi_swift_node *path = uspi_swift_node(parser->memory, SWIFT_ASSOCIATED_TYPE_PATH);
    bool is_first;
    do {
        is_first = uspi_swift_pop_kind(parser, SWIFT_FIRST_ELEMENT) != NULL;
        if (!uspi_swift_add_first(parser->memory, path, uspi_swift_pop_associated_type_name(parser))) return NULL;
    } while (!is_first);
    return path;
}

/* Makes a member of a type; if `base` is NULL, of the type on the stack. */
static struct uspi_swift_node *make_member(struct uspi_swift_parser *parser, struct uspi_swift_node *base) {
    struct uspi_swift_node *name = uspi_swift_pop_associated_type_name(parser);
    struct uspi_swift_node *type = base != NULL ? uspi_swift_type(parser, base) : uspi_swift_pop_type(parser);
    return uspi_swift_type(parser, uspi_swift_make(parser, SWIFT_MEMBER_TYPE, type, name));
}

/* Makes a member by a path of members; otherwise like make_member. */
static struct uspi_swift_node *make_member_at(struct uspi_swift_parser *parser, struct uspi_swift_node *base) {
    const struct uspi_swift_node *path = uspi_swift_pop_associated_type_path(parser);
    struct uspi_swift_node *type = base != NULL ? uspi_swift_type(parser, base) : uspi_swift_pop_type(parser);
    if (path == NULL) return NULL;
    for (const struct uspi_swift_child *name = path->first; name != NULL; name = name->next) {
        type = uspi_swift_type(parser, uspi_swift_make(parser, SWIFT_MEMBER_TYPE, type, name->node));
    }
    return type;
}

/* "Qx", "Qy", "Qz": a member of the type on the stack, of a generic parameter, of the first parameter; in upper case a
 * path. */
struct uspi_swift_node *uspi_swift_parse_associated_type(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *base = NULL;
    char letter = uspi_swift_letter(parser);
    (void)kind;
    bool is_path = uspi_swift_is_upper(letter), is_on_stack = letter == 'x' || letter == 'X';
    if (!is_on_stack) {
        bool is_first = letter == 'z' || letter == 'Z';
        base = is_first ? make_parameter(parser, 0, 0) : read_parameter(parser);
    }
    return uspi_swift_remember(parser, is_path ? make_member_at(parser, base) : make_member(parser, base));
}

/* ---- signatures ---- */

/* "l": one parameter; "r", numbers and "l": this many parameters at each depth. */
struct uspi_swift_node *uspi_swift_parse_generic_signature(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_region *memory = parser->memory;
    struct uspi_swift_node *signature = uspi_swift_node(memory, kind), *requirement;
    struct uspi_swift_node *requirements = uspi_swift_node(memory, SWIFT_TYPE_LIST);
    bool is_counted = uspi_swift_letter(parser) == 'r';
    do {
        int64_t count = 1;
        if (is_counted) {
            if (uspi_swift_next_if(parser, 'l')) break;
            count = uspi_swift_next_if(parser, 'z') ? 0 : uspi_swift_index(parser) + 1;
        }
        struct uspi_swift_node *counted =
            count >= 0 ? uspi_swift_node_with_index(memory, SWIFT_GENERIC_PARAMETER_COUNT, (uint64_t)count) : NULL;
        if (!uspi_swift_add(memory, signature, counted)) return NULL;
    } while (is_counted);
    while ((requirement = uspi_swift_pop_role(parser, USPI_SWIFT_REQUIREMENT)) != NULL) {
        if (!uspi_swift_add_first(memory, requirements, requirement)) return NULL;
    }
    if (signature == NULL || requirements == NULL) return NULL;
    for (const struct uspi_swift_child *child = requirements->first; child != NULL; child = child->next) {
        if (!uspi_swift_add(memory, signature, child->node)) return NULL;
    }
    return signature;
}

struct uspi_swift_node *uspi_swift_pop_requirements(struct uspi_swift_parser *parser) {
    struct uspi_swift_node *list = uspi_swift_node(parser->memory, SWIFT_CONSTRAINED_EXISTENTIAL_REQUIREMENTS);
    bool is_first;
    do {
        is_first = uspi_swift_pop_kind(parser, SWIFT_FIRST_ELEMENT) != NULL;
        struct uspi_swift_node *requirement = uspi_swift_pop_role(parser, USPI_SWIFT_REQUIREMENT);
        if (!uspi_swift_add_first(parser->memory, list, requirement)) return NULL;
    } while (!is_first);
    return list;
}

/* ---- requirements ---- */

/* The subject and kind of a requirement, by the letter after "R". */
struct requirement_form {
    char letter;
    enum { PARAMETER, MEMBER, MEMBER_AT_PATH, ON_STACK } subject;
    uint16_t kind;
};

static const struct requirement_form requirement_forms[] = {
    {'V', PARAMETER, SWIFT_VALUE_MARKER},
    {'v', PARAMETER, SWIFT_PACK_MARKER},
    {'b', PARAMETER, SWIFT_CONFORMANCE_REQUIREMENT},
    {'c', MEMBER, SWIFT_CONFORMANCE_REQUIREMENT},
    {'C', MEMBER_AT_PATH, SWIFT_CONFORMANCE_REQUIREMENT},
    {'B', ON_STACK, SWIFT_CONFORMANCE_REQUIREMENT},
    {'s', PARAMETER, SWIFT_SAME_TYPE_REQUIREMENT},
    {'t', MEMBER, SWIFT_SAME_TYPE_REQUIREMENT},
    {'T', MEMBER_AT_PATH, SWIFT_SAME_TYPE_REQUIREMENT},
    {'S', ON_STACK, SWIFT_SAME_TYPE_REQUIREMENT},
    {'l', PARAMETER, SWIFT_LAYOUT_REQUIREMENT},
    {'m', MEMBER, SWIFT_LAYOUT_REQUIREMENT},
    {'M', MEMBER_AT_PATH, SWIFT_LAYOUT_REQUIREMENT},
    {'L', ON_STACK, SWIFT_LAYOUT_REQUIREMENT},
    /* SWIFT_PROTOCOL: a conformance to a protocol; the others are to a class. */
    {'p', MEMBER, SWIFT_PROTOCOL},
    {'P', MEMBER_AT_PATH, SWIFT_PROTOCOL},
    {'Q', ON_STACK, SWIFT_PROTOCOL},
    {'h', PARAMETER, SWIFT_SAME_SHAPE_REQUIREMENT},
    {'i', PARAMETER, SWIFT_INVERSE_REQUIREMENT},
    {'I', ON_STACK, SWIFT_INVERSE_REQUIREMENT},
    {0, PARAMETER, SWIFT_PROTOCOL}, /* no letter: the parameter follows */
};

static struct uspi_swift_node *read_subject(struct uspi_swift_parser *parser, const struct requirement_form *form) {
    struct uspi_swift_node *base;
    switch (form->subject) {
    case PARAMETER: return uspi_swift_type(parser, read_parameter(parser));
    case MEMBER:
    case MEMBER_AT_PATH:
        base = read_parameter(parser);
        return uspi_swift_remember(parser,
                                   form->subject == MEMBER ? make_member(parser, base) : make_member_at(parser, base));
    default: return uspi_swift_pop_type(parser);
    }
}

/* Returns the words for a letter of LAYOUT-CONSTRAINT, and how many numbers follow it; NULL: it is none. */
static const char *layout_words(char letter, unsigned *numbers) {
    *numbers = letter == 'E' || letter == 'M' ? 2 : letter == 'e' || letter == 'm' || letter == 'S' ? 1 : 0;
    switch (letter) {
    case 'U': return "_UnknownLayout";
    case 'R': return "_RefCountedObject";
    case 'N': return "_NativeRefCountedObject";
    case 'C': return "AnyObject";
    case 'D': return "_NativeClass";
    case 'T':
    case 'E':
    case 'e': return "_Trivial";
    case 'M':
    case 'm': return "_TrivialAtMost";
    case 'B':
    case 'S': return ""; /* no words are written for them */
    default: return NULL;
    }
}

static struct uspi_swift_node *read_layout(struct uspi_swift_parser *parser, struct uspi_swift_node *subject) {
    unsigned numbers;
    const char *words = layout_words(uspi_swift_next(parser), &numbers);
    if (words == NULL || subject == NULL) return NULL;
    struct uspi_swift_node *requirement = uspi_swift_node_with_string(parser->memory, SWIFT_LAYOUT_REQUIREMENT, words);
    if (!uspi_swift_add(parser->memory, requirement, subject)) return NULL;
    for (unsigned i = 0; i < numbers; i++) {
        struct uspi_swift_node *number = uspi_swift_index_node(parser);
        if (number == NULL && i == 0) return NULL;
        if (number != NULL) uspi_swift_add(parser->memory, requirement, number);
    }
    return requirement;
}

/* Makes a requirement that a type does not conform to one of the protocols to which every type conforms by default
 * (swift include/swift/ABI/InvertibleProtocols.def). */
static struct uspi_swift_node *make_inverse(struct uspi_swift_parser *parser, int64_t bit,
                                            struct uspi_swift_node *subject) {
    static const char *const protocols[] = {"Copyable", "Escapable"};
    const size_t capacity = 32;
    char *own = uspi_region_take(parser->memory, capacity);
    if (own == NULL) return NULL;
    struct uspi_text text = uspi_text_in(own, capacity);
    if (bit < 2) {
        uspi_put_string(&text, protocols[bit]);
    } else {
        uspi_put_string(&text, "<bit ");
        uspi_put_decimal(&text, (uint64_t)bit, 0);
        uspi_put_string(&text, ">");
    }
    struct uspi_swift_node *requirement =
        uspi_swift_node_with_text(parser->memory, SWIFT_INVERSE_REQUIREMENT, own, text.used);
    return uspi_swift_add(parser->memory, requirement, subject) ? requirement : NULL;
}

struct uspi_swift_node *uspi_swift_parse_generic_requirement(struct uspi_swift_parser *parser, uint16_t kind) {
    const struct requirement_form *form = requirement_forms;
    int64_t bit = 0;
    (void)kind;
    while (form->letter != 0 && form->letter != uspi_swift_peek(parser)) form++;
    if (form->letter != 0) parser->at++;
    if (form->kind == SWIFT_INVERSE_REQUIREMENT) {
        bit = uspi_swift_index(parser);
        if (bit < 0) return NULL;
    }
    struct uspi_swift_node *subject = read_subject(parser, form);
    switch (form->kind) {
    case SWIFT_INVERSE_REQUIREMENT: return make_inverse(parser, bit, subject);
    case SWIFT_LAYOUT_REQUIREMENT: return read_layout(parser, subject);
    case SWIFT_PACK_MARKER: return uspi_swift_make(parser, form->kind, subject);
    case SWIFT_PROTOCOL:
        return uspi_swift_make(parser, SWIFT_CONFORMANCE_REQUIREMENT, subject, uspi_swift_pop_protocol(parser));
    default: return uspi_swift_make(parser, form->kind, subject, uspi_swift_pop_type(parser));
    }
}
