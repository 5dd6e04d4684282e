/* SPDX-License-Identifier: MIT */
/* Parses names in the old mangling: numbers, identifiers, and references to earlier parts of the name. */
#include "lib/demangle/swift/old.h"

#include <string.h>

/* ---- characters, numbers, identifiers ---- */

bool uspi_old_next_if_string(struct uspi_old_parser *old, const char *string) {
    size_t length = strlen(string);
    if (old->base.length - old->base.at < length) return false;
    if (memcmp(old->base.text + old->base.at, string, length) != 0) return false;
    old->base.at += length;
    return true;
}

bool uspi_old_read_natural(struct uspi_old_parser *old, uint64_t *number) {
    if (!uspi_swift_is_digit(uspi_old_peek(old))) return false;
    *number = 0;
    while (uspi_swift_is_digit(uspi_old_peek(old))) *number = *number * 10 + (uint64_t)(uspi_old_next(old) - '0');
    return true;
}

bool uspi_old_read_index(struct uspi_old_parser *old, uint64_t *index) {
    *index = 0;
    if (uspi_old_next_if(old, '_')) return true;
    if (!uspi_old_read_natural(old, index) || !uspi_old_next_if(old, '_')) return false;
    ++*index;
    return true;
}

struct uspi_swift_node *uspi_old_read_index_node(struct uspi_old_parser *old) {
    uint64_t index;
    return uspi_old_read_index(old, &index) ? uspi_swift_node_with_index(old->base.memory, SWIFT_NUMBER, index) : NULL;
}

struct uspi_swift_node *uspi_old_read_identifier(struct uspi_old_parser *old, uint16_t kind) {
    bool is_punycode = uspi_old_next_if(old, 'X'), is_operator = uspi_old_next_if(old, 'o');
    if (is_operator) {
        if (kind != SWIFT_IDENTIFIER) return NULL;
        switch (uspi_old_next(old)) {
        case 'p': kind = SWIFT_PREFIX_OPERATOR; break;
        case 'P': kind = SWIFT_POSTFIX_OPERATOR; break;
        case 'i': kind = SWIFT_INFIX_OPERATOR; break;
        default: return NULL;
        }
    }
    uint64_t number;
    if (!uspi_old_read_natural(old, &number) || number == 0 || number > old->base.length - old->base.at) return NULL;
    const size_t length = (size_t)number;
    const char *text = old->base.text + old->base.at;
    old->base.at += length;
    struct uspi_swift_node *name = is_punycode ? uspi_swift_decode_punycode(old->base.memory, kind, text, length)
                                               : uspi_swift_node_with_text(old->base.memory, kind, text, length);
    if (name == NULL || !is_operator) return name;
    char *own = uspi_region_take(old->base.memory, name->length);
    if (own == NULL || !uspi_swift_decode_operator(name->text, name->length, own)) return NULL;
    name->text = own;
    return name;
}

struct uspi_swift_node *uspi_old_read_declaration_name(struct uspi_old_parser *old) {
    if (uspi_old_next_if(old, 'L')) {
        struct uspi_swift_node *number = uspi_old_read_index_node(old);
        return uspi_swift_make(&old->base, SWIFT_LOCAL_NAME, number, uspi_old_read_identifier(old, SWIFT_IDENTIFIER));
    }
    if (uspi_old_next_if(old, 'P')) {
        struct uspi_swift_node *file = uspi_old_read_identifier(old, SWIFT_IDENTIFIER);
        return uspi_swift_make(&old->base, SWIFT_PRIVATE_NAME, file, uspi_old_read_identifier(old, SWIFT_IDENTIFIER));
    }
    return uspi_old_read_identifier(old, SWIFT_IDENTIFIER);
}

/* ---- substitutions ---- */

static struct uspi_swift_node *make_standard(struct uspi_old_parser *old, uint16_t kind, const char *name) {
    return uspi_swift_make(&old->base, kind, uspi_old_make_string(old, SWIFT_MODULE, "Swift"),
                           uspi_old_make_string(old, SWIFT_IDENTIFIER, name));
}

struct uspi_swift_node *uspi_old_read_substitution(struct uspi_old_parser *old) {
    static const struct {
        char letter;
        const char *name;
    } structures[] = {
        {'a', "Array"},
        {'b', "Bool"},
        {'c', "UnicodeScalar"},
        {'d', "Double"},
        {'f', "Float"},
        {'i', "Int"},
        {'V', "UnsafeRawPointer"},
        {'v', "UnsafeMutableRawPointer"},
        {'P', "UnsafePointer"},
        {'p', "UnsafeMutablePointer"},
        {'R', "UnsafeBufferPointer"},
        {'r', "UnsafeMutableBufferPointer"},
        {'S', "String"},
        {'u', "UInt"},
    };
    if (uspi_old_next_if(old, 'o')) return uspi_old_make_string(old, SWIFT_MODULE, "__C");
    if (uspi_old_next_if(old, 'C')) return uspi_old_make_string(old, SWIFT_MODULE, "__C_Synthesized");
    if (uspi_old_next_if(old, 'q')) return make_standard(old, SWIFT_ENUM, "Optional");
    if (uspi_old_next_if(old, 'Q')) return make_standard(old, SWIFT_ENUM, "ImplicitlyUnwrappedOptional");
    for (size_t i = 0; i < sizeof structures / sizeof *structures; i++) {
        if (uspi_old_next_if(old, structures[i].letter)) return make_standard(old, SWIFT_STRUCTURE, structures[i].name);
    }
    uint64_t index;
    bool is_known = uspi_old_read_index(old, &index) && index < old->base.substitutions.count;
    return is_known ? old->base.substitutions.items[index] : NULL;
}

struct uspi_swift_node *uspi_old_read_module(struct uspi_old_parser *old) {
    if (uspi_old_next_if(old, 's')) return uspi_old_make_string(old, SWIFT_MODULE, "Swift");
    if (uspi_old_next_if(old, 'S')) {
        struct uspi_swift_node *module = uspi_old_read_substitution(old);
        return module != NULL && module->kind == SWIFT_MODULE ? module : NULL;
    }
    return uspi_swift_remember(&old->base, uspi_old_read_identifier(old, SWIFT_MODULE));
}

struct uspi_swift_node *uspi_old_read_protocol_in(struct uspi_old_parser *old, struct uspi_swift_node *context) {
    struct uspi_swift_node *name = uspi_old_read_declaration_name(old);
    return uspi_swift_remember(&old->base, uspi_swift_make(&old->base, SWIFT_PROTOCOL, context, name));
}
