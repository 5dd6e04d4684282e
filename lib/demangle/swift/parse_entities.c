/* SPDX-License-Identifier: MIT */
/* Operators of declarations: functions, variables, subscripts and their accessors, constructors, extensions, expansions
 * of macros. (swift docs/ABI/Mangling.rst, "Entities" and "Declaration Contexts") */
#include "lib/demangle/swift/parse.h"

/* "E": an extension of a type in another module, perhaps with requirements. */
struct uspi_swift_node *uspi_swift_parse_extension(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *signature = uspi_swift_pop_kind(parser, SWIFT_GENERIC_SIGNATURE);
    struct uspi_swift_node *module = uspi_swift_pop_module(parser), *type = uspi_swift_pop_nominal(parser);
    return signature != NULL ? uspi_swift_make(parser, kind, module, type, signature)
                             : uspi_swift_make(parser, kind, module, type);
}

/* "XZ": a context of which the runtime knows only its name, parent and types. */
struct uspi_swift_node *uspi_swift_parse_anonymous_context(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *types = uspi_swift_pop_types(parser, SWIFT_TYPE_LIST);
    struct uspi_swift_node *name = uspi_swift_pop_kind(parser, SWIFT_IDENTIFIER);
    struct uspi_swift_node *parent = uspi_swift_pop_context(parser);
    return uspi_swift_make(parser, kind, name, parent, types);
}

/* Makes a declaration with a name and a type, in a context; `labels` may be NULL. */
static struct uspi_swift_node *make_named(struct uspi_swift_parser *parser, uint16_t kind,
                                          struct uspi_swift_node *labels, struct uspi_swift_node *type) {
    struct uspi_swift_node *name = uspi_swift_pop_role(parser, USPI_SWIFT_NAME);
    struct uspi_swift_node *context = uspi_swift_pop_context(parser);
    return labels != NULL ? uspi_swift_make(parser, kind, context, name, labels, type)
                          : uspi_swift_make(parser, kind, context, name, type);
}

struct uspi_swift_node *uspi_swift_parse_named_entity(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *type = uspi_swift_pop_type(parser), *labels = uspi_swift_pop_labels(parser, type);
    return make_named(parser, kind, labels, type);
}

/* "F": a function; the parts of its type are on the stack. */
struct uspi_swift_node *uspi_swift_parse_function(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *signature = uspi_swift_pop_kind(parser, SWIFT_GENERIC_SIGNATURE);
    struct uspi_swift_node *type = uspi_swift_parse_function_type(parser, SWIFT_FUNCTION_TYPE);
    struct uspi_swift_node *labels = uspi_swift_pop_labels(parser, type);
    if (signature != NULL) {
        type = uspi_swift_type(parser, uspi_swift_make(parser, SWIFT_GENERIC_TYPE, signature, type));
    }
    return make_named(parser, kind, labels, type);
}

/* Reads an ACCESSOR, of one or two letters, and returns its kind. SWIFT_VARIABLE: the variable itself. SWIFT_NOTHING:
 * there is no such accessor. */
static uint16_t read_accessor(struct uspi_swift_parser *parser) {
    char letter = uspi_swift_next(parser);
    switch (letter) {
    case 'm': return SWIFT_MATERIALIZE_FOR_SET;
    case 's': return SWIFT_SETTER;
    case 'g': return SWIFT_GETTER;
    case 'G': return SWIFT_GLOBAL_GETTER;
    case 'w': return SWIFT_WILL_SET;
    case 'W': return SWIFT_DID_SET;
    case 'r': return SWIFT_READ_ACCESSOR;
    case 'y': return SWIFT_READ_2_ACCESSOR;
    case 'M': return SWIFT_MODIFY_ACCESSOR;
    case 'x': return SWIFT_MODIFY_2_ACCESSOR;
    case 'i': return SWIFT_INIT_ACCESSOR;
    case 'b': return SWIFT_BORROW_ACCESSOR;
    case 'z': return SWIFT_MUTATE_ACCESSOR;
    case 'p': return SWIFT_VARIABLE;
    default: break;
    }
    bool is_mutable = letter == 'a';
    if (!is_mutable && letter != 'l') return SWIFT_NOTHING;
    switch (uspi_swift_next(parser)) {
    case 'O': return is_mutable ? SWIFT_OWNING_MUTABLE_ADDRESSOR : SWIFT_OWNING_ADDRESSOR;
    case 'o': return is_mutable ? SWIFT_NATIVE_OWNING_MUTABLE_ADDRESSOR : SWIFT_NATIVE_OWNING_ADDRESSOR;
    case 'u': return is_mutable ? SWIFT_UNSAFE_MUTABLE_ADDRESSOR : SWIFT_UNSAFE_ADDRESSOR;
    /* The letters of these two differ. */
    case 'P': return is_mutable ? SWIFT_NATIVE_PINNING_MUTABLE_ADDRESSOR : SWIFT_NOTHING;
    case 'p': return is_mutable ? SWIFT_NOTHING : SWIFT_NATIVE_PINNING_ADDRESSOR;
    default: return SWIFT_NOTHING;
    }
}

/* Makes an accessor of a variable or subscript, or returns that itself. */
static struct uspi_swift_node *make_accessor(struct uspi_swift_parser *parser, struct uspi_swift_node *storage) {
    uint16_t kind = read_accessor(parser);
    if (kind == SWIFT_NOTHING) return NULL;
    return kind == SWIFT_VARIABLE ? storage : uspi_swift_make(parser, kind, storage);
}

struct uspi_swift_node *uspi_swift_parse_variable(struct uspi_swift_parser *parser, uint16_t kind) {
    return make_accessor(parser, uspi_swift_parse_named_entity(parser, kind));
}

/* A declaration without a name; a file may distinguish it. */
struct uspi_swift_node *uspi_swift_parse_constructor(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_region *memory = parser->memory;
    struct uspi_swift_node *file = uspi_swift_pop_kind(parser, SWIFT_PRIVATE_NAME);
    struct uspi_swift_node *type = uspi_swift_pop_type(parser), *labels = uspi_swift_pop_labels(parser, type);
    struct uspi_swift_node *constructor = uspi_swift_make(parser, kind, uspi_swift_pop_context(parser));
    if (labels != NULL) uspi_swift_add(memory, constructor, labels);
    if (!uspi_swift_add(memory, constructor, type)) return NULL;
    if (file != NULL) uspi_swift_add(memory, constructor, file);
    return constructor;
}

struct uspi_swift_node *uspi_swift_parse_subscript(struct uspi_swift_parser *parser, uint16_t kind) {
    return make_accessor(parser, uspi_swift_parse_constructor(parser, kind));
}

/* ---- macros ---- */

/* Pops a declaration, or the expansion of another macro. */
static struct uspi_swift_node *pop_macro_context(struct uspi_swift_parser *parser) {
    struct uspi_swift_node *expansion = uspi_swift_pop_role(parser, USPI_SWIFT_EXPANSION);
    return expansion != NULL ? expansion : uspi_swift_pop_context(parser);
}

/* The children: the context, the declaration that the macro is attached to, the macro's name, a number. */
struct uspi_swift_node *uspi_swift_parse_attached_macro(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *macro = uspi_swift_pop_kind(parser, SWIFT_IDENTIFIER);
    struct uspi_swift_node *attached = uspi_swift_pop_role(parser, USPI_SWIFT_NAME);
    struct uspi_swift_node *context = pop_macro_context(parser), *number = uspi_swift_index_node(parser);
    return uspi_swift_make(parser, kind, context, attached, macro, number);
}

/* The children: the context, the macro's name, a number, and the file if it distinguishes the macro. Names that a macro
 * made unique have the same form. */
struct uspi_swift_node *uspi_swift_parse_freestanding_macro(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *macro = uspi_swift_pop_kind(parser, SWIFT_IDENTIFIER), *file = NULL;
    if (kind == SWIFT_MACRO_FREESTANDING) file = uspi_swift_pop_kind(parser, SWIFT_PRIVATE_NAME);
    struct uspi_swift_node *context = pop_macro_context(parser), *number = uspi_swift_index_node(parser);
    return file != NULL ? uspi_swift_make(parser, kind, context, macro, number, file)
                        : uspi_swift_make(parser, kind, context, macro, number);
}

/* The source position of an expansion: module, file, line, column. */
struct uspi_swift_node *uspi_swift_parse_macro_location(struct uspi_swift_parser *parser, uint16_t kind) {
    int64_t line = uspi_swift_index(parser), column = uspi_swift_index(parser);
    struct uspi_swift_node *file = uspi_swift_pop_kind(parser, SWIFT_IDENTIFIER);
    struct uspi_swift_node *module = uspi_swift_pop_kind(parser, SWIFT_IDENTIFIER);
    return uspi_swift_make(parser, kind, module, file,
                           uspi_swift_node_with_index(parser->memory, SWIFT_NUMBER, (uint64_t)line),
                           uspi_swift_node_with_index(parser->memory, SWIFT_NUMBER, (uint64_t)column));
}
