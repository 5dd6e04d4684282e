/* SPDX-License-Identifier: MIT */
/* See old.h. The mangling is in prefix order: an operator precedes its operands. So the parser is recursive, up to a
 * depth. */
#include "lib/demangle/swift/old.h"
#include "lib/demangle/swift/parse.h"

#include <string.h>

/* Maximum depth of types in types. */
#define DEPTH_MAX 64

static struct uspi_swift_node *read_type(struct uspi_swift_parser *p, unsigned depth);

static struct uspi_swift_node *make_string(struct uspi_swift_parser *p, uint16_t kind, const char *text) {
    return uspi_swift_node_with_string(p->memory, kind, text);
}

/* ---- names ---- */

static struct uspi_swift_node *read_identifier(struct uspi_swift_parser *p, uint16_t kind) {
    const bool is_punycode = uspi_swift_next_if(p, 'X');
    const int64_t number = uspi_swift_natural(p);
    if (number <= 0 || (uint64_t)number > p->length - p->at) return NULL;
    const char *text = p->text + p->at;
    p->at += (size_t)number;
    return is_punycode ? uspi_swift_decode_punycode(p->memory, kind, text, (size_t)number)
                       : uspi_swift_node_with_text(p->memory, kind, text, (size_t)number);
}

/* Reads a name, which a file (P) or a number (L) may distinguish from others. */
static struct uspi_swift_node *read_name(struct uspi_swift_parser *p) {
    if (uspi_swift_next_if(p, 'L')) {
        struct uspi_swift_node *number = uspi_swift_index_node(p);
        return uspi_swift_make(p, SWIFT_LOCAL_NAME, number, read_identifier(p, SWIFT_IDENTIFIER));
    }
    if (uspi_swift_next_if(p, 'P')) {
        struct uspi_swift_node *file = read_identifier(p, SWIFT_IDENTIFIER);
        return uspi_swift_make(p, SWIFT_PRIVATE_NAME, file, read_identifier(p, SWIFT_IDENTIFIER));
    }
    return read_identifier(p, SWIFT_IDENTIFIER);
}

/* Reads what follows an "S": a letter of the standard library, or the number of an earlier part. */
static struct uspi_swift_node *read_substitution(struct uspi_swift_parser *p) {
    static const struct {
        char letter;
        uint16_t kind;
        const char *name;
    } types[] = {
        {'a', SWIFT_STRUCTURE, "Array"},
        {'b', SWIFT_STRUCTURE, "Bool"},
        {'c', SWIFT_STRUCTURE, "UnicodeScalar"},
        {'d', SWIFT_STRUCTURE, "Double"},
        {'f', SWIFT_STRUCTURE, "Float"},
        {'i', SWIFT_STRUCTURE, "Int"},
        {'V', SWIFT_STRUCTURE, "UnsafeRawPointer"},
        {'v', SWIFT_STRUCTURE, "UnsafeMutableRawPointer"},
        {'P', SWIFT_STRUCTURE, "UnsafePointer"},
        {'p', SWIFT_STRUCTURE, "UnsafeMutablePointer"},
        {'R', SWIFT_STRUCTURE, "UnsafeBufferPointer"},
        {'r', SWIFT_STRUCTURE, "UnsafeMutableBufferPointer"},
        {'S', SWIFT_STRUCTURE, "String"},
        {'u', SWIFT_STRUCTURE, "UInt"},
        {'q', SWIFT_ENUM, "Optional"},
        {'Q', SWIFT_ENUM, "ImplicitlyUnwrappedOptional"},
    };
    if (uspi_swift_next_if(p, 'o')) return make_string(p, SWIFT_MODULE, "__C");
    if (uspi_swift_next_if(p, 'C')) return make_string(p, SWIFT_MODULE, "__C_Synthesized");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!uspi_swift_next_if(p, types[i].letter)) continue;
        return uspi_swift_make(p, types[i].kind, make_string(p, SWIFT_MODULE, "Swift"),
                               make_string(p, SWIFT_IDENTIFIER, types[i].name));
    }
    const int64_t index = uspi_swift_index(p);
    return index >= 0 && (uint64_t)index < p->substitutions.count ? p->substitutions.items[index] : NULL;
}

/* ---- types ---- */

static struct uspi_swift_node *read_declaration(struct uspi_swift_parser *p, unsigned depth);
static struct uspi_swift_node *read_context(struct uspi_swift_parser *p, unsigned depth);

static struct uspi_swift_node *read_module(struct uspi_swift_parser *p) {
    if (uspi_swift_next_if(p, 's')) return make_string(p, SWIFT_MODULE, "Swift");
    if (uspi_swift_next_if(p, 'S')) return read_substitution(p);
    return uspi_swift_remember(p, read_identifier(p, SWIFT_MODULE));
}

/* Reads a function that a type is declared in. */
static struct uspi_swift_node *read_function(struct uspi_swift_parser *p, unsigned depth) {
    struct uspi_swift_node *context = read_context(p, depth), *name = context != NULL ? read_name(p) : NULL;
    return name != NULL ? uspi_swift_make(p, SWIFT_FUNCTION, context, name, read_type(p, depth)) : NULL;
}

/* Reads what a type is declared in: a module, a type, a function, or an extension of a type in another module. */
static struct uspi_swift_node *read_context(struct uspi_swift_parser *p, unsigned depth) {
    if (uspi_swift_next_if(p, 'E')) {
        struct uspi_swift_node *module = read_module(p);
        if (depth == 0 || module == NULL || module->kind != SWIFT_MODULE) return NULL;
        return uspi_swift_make(p, SWIFT_EXTENSION, module, read_context(p, depth - 1));
    }
    if (uspi_swift_next_if(p, 'F')) return depth > 0 ? read_function(p, depth - 1) : NULL;
    const char c = uspi_swift_peek(p);
    return c == 'C' || c == 'V' || c == 'O' ? read_declaration(p, depth) : read_module(p);
}

static struct uspi_swift_node *read_protocol(struct uspi_swift_parser *p, struct uspi_swift_node *context) {
    struct uspi_swift_node *name = read_name(p);
    return uspi_swift_remember(p, uspi_swift_make(p, SWIFT_PROTOCOL, context, name));
}

/* Reads a class, a struct or an enum. */
static struct uspi_swift_node *read_declaration(struct uspi_swift_parser *p, unsigned depth) {
    const char c = uspi_swift_next(p);
    if (c == 'S') return read_substitution(p);
    if ((c != 'C' && c != 'V' && c != 'O') || depth == 0) return NULL;
    struct uspi_swift_node *context = read_context(p, depth - 1), *name = context != NULL ? read_name(p) : NULL;
    const uint16_t kind = c == 'C' ? SWIFT_CLASS : c == 'V' ? SWIFT_STRUCTURE : SWIFT_ENUM;
    return uspi_swift_remember(p, uspi_swift_make(p, kind, context, name));
}

/* Reads protocols up to an underscore. */
static struct uspi_swift_node *read_protocols(struct uspi_swift_parser *p) {
    struct uspi_swift_node *list = uspi_swift_node(p->memory, SWIFT_TYPE_LIST);
    while (!uspi_swift_next_if(p, '_')) {
        struct uspi_swift_node *first = read_module(p);
        struct uspi_swift_node *protocol =
            first != NULL && first->kind == SWIFT_MODULE ? read_protocol(p, first) : first;
        if (protocol == NULL || protocol->kind != SWIFT_PROTOCOL) return NULL;
        if (!uspi_swift_add(p->memory, list, uspi_swift_type(p, protocol))) return NULL;
    }
    return uspi_swift_make(p, SWIFT_PROTOCOL_LIST, list);
}

static struct uspi_swift_node *read_tuple(struct uspi_swift_parser *p, unsigned depth) {
    struct uspi_swift_node *tuple = uspi_swift_node(p->memory, SWIFT_TUPLE);
    while (!uspi_swift_next_if(p, '_')) {
        struct uspi_swift_node *element = uspi_swift_node(p->memory, SWIFT_TUPLE_ELEMENT);
        const bool has_label = uspi_swift_is_digit(uspi_swift_peek(p));
        if (has_label && !uspi_swift_add(p->memory, element, read_identifier(p, SWIFT_TUPLE_ELEMENT_NAME))) return NULL;
        if (!uspi_swift_add(p->memory, element, read_type(p, depth))) return NULL;
        if (!uspi_swift_add(p->memory, tuple, element)) return NULL;
    }
    return tuple;
}

static uint16_t bound_kind(uint16_t kind) {
    switch (kind) {
    case SWIFT_CLASS: return SWIFT_BOUND_GENERIC_CLASS;
    case SWIFT_STRUCTURE: return SWIFT_BOUND_GENERIC_STRUCTURE;
    case SWIFT_ENUM: return SWIFT_BOUND_GENERIC_ENUM;
    default: return SWIFT_NOTHING;
    }
}

/* Reads the arguments of a type and of the types that it is declared in, the outermost first. `type`: without
 * arguments. */
static struct uspi_swift_node *bind(struct uspi_swift_parser *p, struct uspi_swift_node *type, unsigned depth) {
    struct uspi_swift_node *context = uspi_swift_first_child(type);
    if (context == NULL || bound_kind(type->kind) == SWIFT_NOTHING) return NULL;
    if (bound_kind(context->kind) != SWIFT_NOTHING) {
        if (depth == 0) return NULL;
        type = uspi_swift_make(p, type->kind, bind(p, context, depth - 1), uspi_swift_child_at(type, 1));
    }
    struct uspi_swift_node *arguments = uspi_swift_node(p->memory, SWIFT_TYPE_LIST);
    while (!uspi_swift_next_if(p, '_')) {
        if (!uspi_swift_add(p->memory, arguments, read_type(p, depth))) return NULL;
    }
    if (type == NULL || arguments == NULL || arguments->child_count == 0) return type;
    return uspi_swift_make(p, bound_kind(type->kind), uspi_swift_type(p, type), arguments);
}

static struct uspi_swift_node *read_function_type(struct uspi_swift_parser *p, unsigned depth) {
    struct uspi_swift_node *function = uspi_swift_node(p->memory, SWIFT_FUNCTION_TYPE);
    const bool throws = uspi_swift_next_if(p, 'z');
    if (throws && !uspi_swift_add(p->memory, function, uspi_swift_node(p->memory, SWIFT_THROWS_ANNOTATION)))
        return NULL;
    struct uspi_swift_node *arguments = uspi_swift_make(p, SWIFT_ARGUMENT_TUPLE, read_type(p, depth));
    if (!uspi_swift_add(p->memory, function, arguments)) return NULL;
    struct uspi_swift_node *result = uspi_swift_make(p, SWIFT_RETURN_TYPE, read_type(p, depth));
    return uspi_swift_add(p->memory, function, result) ? function : NULL;
}

/* Reads a type, without the node of kind SWIFT_TYPE around it. */
static struct uspi_swift_node *read_bare_type(struct uspi_swift_parser *p, unsigned depth) {
    if (uspi_swift_next_if(p, 'G')) {
        struct uspi_swift_node *type = read_declaration(p, depth);
        return type != NULL ? bind(p, type, depth) : NULL;
    }
    if (uspi_swift_next_if(p, 'F')) return read_function_type(p, depth);
    if (uspi_swift_next_if(p, 'P')) return read_protocols(p);
    if (uspi_swift_next_if(p, 'T')) return read_tuple(p, depth);
    return read_declaration(p, depth);
}

static struct uspi_swift_node *read_type(struct uspi_swift_parser *p, unsigned depth) {
    return depth > 0 ? uspi_swift_type(p, read_bare_type(p, depth - 1)) : NULL;
}

bool uspi_old_is_name(const char *name, size_t length) {
    static const char *const prefixes[] = {"_TtC", "_TtGC", "_TtP"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const size_t prefix = strlen(prefixes[i]);
        if (length > prefix && memcmp(name, prefixes[i], prefix) == 0) return true;
    }
    return false;
}

struct uspi_swift_node *uspi_old_parse(struct uspi_region *memory, const char *name, size_t length) {
    if (!uspi_old_is_name(name, length)) return NULL;
    struct uspi_swift_parser p = {.memory = memory, .text = name, .length = length, .at = 3};
    struct uspi_swift_node *type = uspi_swift_make(&p, SWIFT_TYPE_MANGLING, read_type(&p, DEPTH_MAX));
    struct uspi_swift_node *root = uspi_swift_make(&p, SWIFT_GLOBAL, type);
    if (root == NULL || memory->is_exhausted) return NULL;
    if (p.at == length) return root;
    struct uspi_swift_node *suffix = uspi_swift_node_with_text(memory, SWIFT_SUFFIX, name + p.at, length - p.at);
    return uspi_swift_add(memory, root, suffix) ? root : NULL;
}
