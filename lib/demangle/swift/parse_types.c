/* SPDX-License-Identifier: MIT */
/* Operators of types: builtin types, functions and their labels, tuples, packs, protocol lists, boxes. parse_impl.c has
 * the types of SIL functions, parse_generics.c generic types. (swift docs/ABI/Mangling.rst, "Types") */
#include "lib/base/text.h"
#include "lib/demangle/swift/parse.h"

#include <string.h>

/* ---- builtin types ---- */

/* swift include/swift/Strings.h, BUILTIN_TYPE_NAME_… */
static const char *builtin_name(char letter) {
    switch (letter) {
    case 'A': return "Builtin.ImplicitActor";
    case 'b': return "Builtin.BridgeObject";
    case 'B': return "Builtin.UnsafeValueBuffer";
    case 'e': return "Builtin.Executor";
    case 'I': return "Builtin.IntLiteral";
    case 'O': return "Builtin.UnknownObject";
    case 'o': return "Builtin.NativeObject";
    case 'p': return "Builtin.RawPointer";
    case 'j': return "Builtin.Job";
    case 'D': return "Builtin.DefaultActorStorage";
    case 'd': return "Builtin.NonDefaultDistributedActorStorage";
    case 'c': return "Builtin.RawUnsafeContinuation";
    case 't': return "Builtin.SILToken";
    case 'w': return "Builtin.Word";
    case 'P': return "Builtin.PackIndex";
    default: return NULL;
    }
}

/* The largest size that a builtin type may have, in bits or elements. */
#define BUILTIN_SIZE_MAX 4096

/* Makes a builtin type whose name ends with its size and the name of its elements, if `element` is not NULL. */
static struct uspi_swift_node *sized_builtin(struct uspi_swift_parser *parser, const char *name,
                                             const struct uspi_swift_node *element) {
    static const char prefix[] = "Builtin.";
    const size_t prefix_length = sizeof prefix - 1;
    int64_t size = uspi_swift_index(parser) - 1;
    bool has_element = element != NULL;
    if (size <= 0 || size > BUILTIN_SIZE_MAX) return NULL;
    if (has_element && (element->kind != SWIFT_BUILTIN_TYPE || memcmp(element->text, prefix, prefix_length) != 0)) {
        return NULL;
    }
    const size_t capacity = 64 + (has_element ? element->length : 0);
    char *own = uspi_region_take(parser->memory, capacity);
    if (own == NULL) return NULL;
    struct uspi_text text = uspi_text_in(own, capacity);
    uspi_put_string(&text, name);
    uspi_put_decimal(&text, (uint64_t)size, 0);
    if (has_element) {
        uspi_put_string(&text, "x");
        uspi_put(&text, element->text + prefix_length, element->length - prefix_length);
    }
    return uspi_swift_node_with_text(parser->memory, SWIFT_BUILTIN_TYPE, own, text.used);
}

struct uspi_swift_node *uspi_swift_parse_builtin_type(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *type = NULL;
    char letter = uspi_swift_next(parser);
    switch (letter) {
    case 'f': type = sized_builtin(parser, "Builtin.FPIEEE", NULL); break;
    case 'i': type = sized_builtin(parser, "Builtin.Int", NULL); break;
    case 'v': {
        const struct uspi_swift_node *element = uspi_swift_pop_type_child(parser);
        if (element != NULL) type = sized_builtin(parser, "Builtin.Vec", element);
        break;
    }
    case 'V': {
        struct uspi_swift_node *element = uspi_swift_pop_type(parser), *size = uspi_swift_pop_type(parser);
        type = uspi_swift_make(parser, SWIFT_BUILTIN_FIXED_ARRAY, size, element);
        break;
    }
    case 'T': type = uspi_swift_node(parser->memory, SWIFT_BUILTIN_TUPLE_TYPE); break;
    default:
        if (builtin_name(letter) != NULL) {
            type = uspi_swift_node_with_string(parser->memory, kind, builtin_name(letter));
        }
        break;
    }
    return uspi_swift_type(parser, type);
}

/* "$": a number as a generic argument; "n" makes it negative. */
struct uspi_swift_node *uspi_swift_parse_integer_type(struct uspi_swift_parser *parser, uint16_t kind) {
    bool is_negative = uspi_swift_next_if(parser, 'n');
    int64_t number = uspi_swift_index(parser);
    if (is_negative) {
        kind = SWIFT_NEGATIVE_INTEGER;
        number = -number;
    }
    return uspi_swift_type(parser, uspi_swift_node_with_index(parser->memory, kind, (uint64_t)number));
}

/* ---- functions ---- */

static bool is_isolation(uint16_t kind) {
    return kind == SWIFT_GLOBAL_ACTOR_FUNCTION || kind == SWIFT_ISOLATED_ANY_FUNCTION ||
           kind == SWIFT_NONISOLATED_CALLER_FUNCTION;
}

static bool is_throwing(uint16_t kind) {
    return kind == SWIFT_THROWS_ANNOTATION || kind == SWIFT_TYPED_THROWS_ANNOTATION;
}

/* Returns the kind of the stack's top. */
static uint16_t top_kind(const struct uspi_swift_parser *parser) {
    if (parser->stack.count == 0) return SWIFT_NOTHING;
    const struct uspi_swift_node *top = parser->stack.items[parser->stack.count - 1];
    return top->kind;
}

/* Pops parameters or a result; a mark means none. */
static struct uspi_swift_node *pop_tuple_of(struct uspi_swift_parser *parser, uint16_t kind) {
    bool is_empty = uspi_swift_pop_kind(parser, SWIFT_EMPTY_LIST) != NULL;
    struct uspi_swift_node *type =
        is_empty ? uspi_swift_type(parser, uspi_swift_node(parser->memory, SWIFT_TUPLE)) : uspi_swift_pop_type(parser);
    return uspi_swift_make(parser, kind, type);
}

/* Pops the parts of a function's type; the result is the lowest on the stack. The parts become children in this order:
 * the C type, the attributes of the whole, the parameters, the result. */
static struct uspi_swift_node *pop_function_type(struct uspi_swift_parser *parser, uint16_t kind,
                                                 struct uspi_swift_node *clang_type) {
    struct uspi_region *memory = parser->memory;
    struct uspi_swift_node *type = uspi_swift_node(memory, kind);
    if (clang_type != NULL) uspi_swift_add(memory, type, clang_type);
    if (top_kind(parser) == SWIFT_SENDING_RESULT_FUNCTION) uspi_swift_add(memory, type, uspi_swift_pop(parser));
    if (is_isolation(top_kind(parser))) uspi_swift_add(memory, type, uspi_swift_pop(parser));
    if (top_kind(parser) == SWIFT_DIFFERENTIABLE_FUNCTION) uspi_swift_add(memory, type, uspi_swift_pop(parser));
    if (is_throwing(top_kind(parser))) uspi_swift_add(memory, type, uspi_swift_pop(parser));
    if (top_kind(parser) == SWIFT_SENDABLE_FUNCTION) uspi_swift_add(memory, type, uspi_swift_pop(parser));
    if (top_kind(parser) == SWIFT_ASYNC_ANNOTATION) uspi_swift_add(memory, type, uspi_swift_pop(parser));
    if (!uspi_swift_add(memory, type, pop_tuple_of(parser, SWIFT_ARGUMENT_TUPLE))) return NULL;
    if (!uspi_swift_add(memory, type, pop_tuple_of(parser, SWIFT_RETURN_TYPE))) return NULL;
    return uspi_swift_type(parser, type);
}

struct uspi_swift_node *uspi_swift_parse_function_type(struct uspi_swift_parser *parser, uint16_t kind) {
    return pop_function_type(parser, kind, NULL);
}

struct uspi_swift_node *uspi_swift_parse_clang_type(struct uspi_swift_parser *parser) {
    int64_t length = uspi_swift_natural(parser);
    if (length <= 0 || (uint64_t)length > parser->length - parser->at) return NULL;
    parser->at += (size_t)length;
    return uspi_swift_node_with_text(parser->memory, SWIFT_CLANG_TYPE, parser->text + parser->at - length,
                                     (size_t)length);
}

struct uspi_swift_node *uspi_swift_parse_function_type_with_clang_type(struct uspi_swift_parser *parser,
                                                                       uint16_t kind) {
    return pop_function_type(parser, kind, uspi_swift_parse_clang_type(parser));
}

struct uspi_swift_node *uspi_swift_parse_differentiable_function(struct uspi_swift_parser *parser, uint16_t kind) {
    const char *words = uspi_swift_differentiability(uspi_swift_next(parser));
    return words != NULL ? uspi_swift_node_with_string(parser->memory, kind, words) : NULL;
}

/* ---- labels ---- */

/* _T0: removes the label from a parameter and returns it. */
static struct uspi_swift_node *take_label(struct uspi_swift_parser *parser, struct uspi_swift_node *parameter) {
    const struct uspi_swift_node *name = uspi_swift_child_of_kind(parameter, SWIFT_TUPLE_ELEMENT_NAME);
    if (name == NULL) return uspi_swift_node(parser->memory, SWIFT_FIRST_ELEMENT);
    uspi_swift_remove(parameter, name);
    return uspi_swift_node_as(parser->memory, SWIFT_IDENTIFIER, name);
}

/* Returns the parameters of a function's type, which may be generic: a tuple, or one type. NULL: it is not a function
 * type. */
static struct uspi_swift_node *parameters_of(const struct uspi_swift_node *type) {
    const struct uspi_swift_node *function = type != NULL && type->kind == SWIFT_TYPE ? type->first->node : NULL;
    if (function != NULL && function->kind == SWIFT_GENERIC_TYPE) {
        function = uspi_swift_first_child(uspi_swift_child_at(function, 1));
    }
    if (function == NULL) return NULL;
    if (function->kind != SWIFT_FUNCTION_TYPE && function->kind != SWIFT_NO_ESCAPE_FUNCTION_TYPE) return NULL;
    return uspi_swift_first_child(uspi_swift_first_child(uspi_swift_child_of_kind(function, SWIFT_ARGUMENT_TUPLE)));
}

/* Adds each parameter's label, or a mark that it has none, to `labels`. False: the stack's top is not a label. */
static bool gather_labels(struct uspi_swift_parser *parser, const struct uspi_swift_node *parameters,
                          struct uspi_swift_node *labels) {
    bool is_tuple = parameters->kind == SWIFT_TUPLE;
    const struct uspi_swift_child *parameter = parameters->first;
    for (size_t left = is_tuple ? parameters->child_count : 1; left > 0; left--) {
        struct uspi_swift_node *label;
        if (parser->has_labels_in_types) {
            label = take_label(parser, parameter->node);
            parameter = parameter->next;
        } else {
            label = uspi_swift_pop(parser);
        }
        if (label == NULL || (label->kind != SWIFT_IDENTIFIER && label->kind != SWIFT_FIRST_ELEMENT)) return false;
        bool is_added = parser->has_labels_in_types ? uspi_swift_add(parser->memory, labels, label)
                                                    : uspi_swift_add_first(parser->memory, labels, label);
        if (!is_added) return false;
    }
    return true;
}

struct uspi_swift_node *uspi_swift_pop_labels(struct uspi_swift_parser *parser, struct uspi_swift_node *type) {
    struct uspi_region *memory = parser->memory;
    if (!parser->has_labels_in_types && uspi_swift_pop_kind(parser, SWIFT_EMPTY_LIST) != NULL) {
        return uspi_swift_node(memory, SWIFT_LABEL_LIST);
    }
    const struct uspi_swift_node *parameters = parameters_of(type);
    if (parameters == NULL) return NULL;
    bool is_tuple = parameters->kind == SWIFT_TUPLE;
    if (is_tuple && parameters->child_count == 0) return NULL;
    struct uspi_swift_node *labels = uspi_swift_node(memory, SWIFT_LABEL_LIST);
    if (parser->has_labels_in_types && !is_tuple) return labels;
    if (labels == NULL || !gather_labels(parser, parameters, labels)) return NULL;
    bool has_label = uspi_swift_child_of_kind(labels, SWIFT_IDENTIFIER) != NULL;
    return has_label ? labels : uspi_swift_node(memory, SWIFT_LABEL_LIST);
}

/* ---- tuples and packs ---- */

static struct uspi_swift_node *pop_tuple_element(struct uspi_swift_parser *parser) {
    struct uspi_region *memory = parser->memory;
    struct uspi_swift_node *element = uspi_swift_node(memory, SWIFT_TUPLE_ELEMENT);
    struct uspi_swift_node *marker = uspi_swift_pop_kind(parser, SWIFT_VARIADIC_MARKER);
    if (marker != NULL) uspi_swift_add(memory, element, marker);
    const struct uspi_swift_node *name = uspi_swift_pop_kind(parser, SWIFT_IDENTIFIER);
    if (name != NULL) uspi_swift_add(memory, element, uspi_swift_node_as(memory, SWIFT_TUPLE_ELEMENT_NAME, name));
    return uspi_swift_add(memory, element, uspi_swift_pop_type(parser)) ? element : NULL;
}

struct uspi_swift_node *uspi_swift_parse_tuple(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *tuple = uspi_swift_node(parser->memory, kind);
    return uspi_swift_pop_list(parser, tuple, pop_tuple_element) ? uspi_swift_type(parser, tuple) : NULL;
}

struct uspi_swift_node *uspi_swift_parse_pack(struct uspi_swift_parser *parser, uint16_t kind) {
    return uspi_swift_type(parser, uspi_swift_pop_types(parser, kind));
}

struct uspi_swift_node *uspi_swift_parse_sil_pack(struct uspi_swift_parser *parser, uint16_t kind) {
    switch (uspi_swift_next(parser)) {
    case 'd': kind = SWIFT_SIL_PACK_DIRECT; break;
    case 'i': kind = SWIFT_SIL_PACK_INDIRECT; break;
    default: return NULL;
    }
    return uspi_swift_parse_pack(parser, kind);
}

struct uspi_swift_node *uspi_swift_parse_pack_element(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *pack = uspi_swift_pop_type_child(parser), *level = uspi_swift_index_node(parser);
    return uspi_swift_type(parser, uspi_swift_make(parser, kind, pack, level));
}

/* ---- others ---- */

/* "D": a type as debuggers use it, with the labels of a function. */
struct uspi_swift_node *uspi_swift_parse_type_mangling(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *type = uspi_swift_pop_type(parser), *labels = uspi_swift_pop_labels(parser, type);
    return labels != NULL ? uspi_swift_make(parser, kind, labels, type) : uspi_swift_make(parser, kind, type);
}

struct uspi_swift_node *uspi_swift_parse_metatype_representation(struct uspi_swift_parser *parser, uint16_t kind) {
    switch (uspi_swift_next(parser)) {
    case 't': return uspi_swift_node_with_string(parser->memory, kind, "@thin");
    case 'T': return uspi_swift_node_with_string(parser->memory, kind, "@thick");
    case 'o': return uspi_swift_node_with_string(parser->memory, kind, "@objc_metatype");
    default: return NULL;
    }
}

struct uspi_swift_node *uspi_swift_parse_protocol_list(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *protocols = uspi_swift_node(parser->memory, SWIFT_TYPE_LIST);
    if (!uspi_swift_pop_list(parser, protocols, uspi_swift_pop_protocol)) return NULL;
    return uspi_swift_make(parser, kind, protocols);
}

struct uspi_swift_node *uspi_swift_parse_protocol_list_type(struct uspi_swift_parser *parser, uint16_t kind) {
    return uspi_swift_type(parser, uspi_swift_parse_protocol_list(parser, kind));
}

/* Makes a field of a box; a mutable one is mangled as an inout type. */
static struct uspi_swift_node *make_field(struct uspi_swift_parser *parser, struct uspi_swift_node *type) {
    struct uspi_swift_node *child = uspi_swift_first_child(type);
    if (child == NULL || child->kind != SWIFT_IN_OUT) {
        return uspi_swift_make(parser, SWIFT_SIL_BOX_IMMUTABLE_FIELD, type);
    }
    struct uspi_swift_node *changed = uspi_swift_type(parser, uspi_swift_first_child(child));
    return uspi_swift_make(parser, SWIFT_SIL_BOX_MUTABLE_FIELD, changed);
}

/* "Xx": a box by its fields; "XX": a generic one, with its signature and arguments. */
struct uspi_swift_node *uspi_swift_parse_box(struct uspi_swift_parser *parser, uint16_t kind) {
    bool is_generic = uspi_swift_letter(parser) == 'X';
    struct uspi_swift_node *signature = NULL, *arguments = NULL;
    if (is_generic) {
        signature = uspi_swift_pop_kind(parser, SWIFT_GENERIC_SIGNATURE);
        if (signature == NULL) return NULL;
        arguments = uspi_swift_pop_types(parser, SWIFT_TYPE_LIST);
        if (arguments == NULL) return NULL;
    }
    const struct uspi_swift_node *types = uspi_swift_pop_types(parser, SWIFT_TYPE_LIST);
    struct uspi_swift_node *layout = uspi_swift_node(parser->memory, SWIFT_SIL_BOX_LAYOUT);
    if (types == NULL) return NULL;
    for (const struct uspi_swift_child *type = types->first; type != NULL; type = type->next) {
        if (!uspi_swift_add(parser->memory, layout, make_field(parser, type->node))) return NULL;
    }
    return uspi_swift_type(parser, is_generic ? uspi_swift_make(parser, kind, layout, signature, arguments)
                                              : uspi_swift_make(parser, kind, layout));
}

/* "Xg": the shape of an existential type; "XG": a generic one, with its signature. */
struct uspi_swift_node *uspi_swift_parse_existential_shape(struct uspi_swift_parser *parser, uint16_t kind) {
    bool is_generic = uspi_swift_letter(parser) == 'G';
    struct uspi_swift_node *type = uspi_swift_pop_type(parser);
    struct uspi_swift_node *signature = is_generic ? uspi_swift_pop_kind(parser, SWIFT_GENERIC_SIGNATURE) : NULL;
    return signature != NULL ? uspi_swift_make(parser, kind, signature, type) : uspi_swift_make(parser, kind, type);
}
