/* SPDX-License-Identifier: MIT */
/* Parses specialized functions in the old mangling: for types, or for known values of arguments. */
#include "lib/demangle/swift/old.h"
#include "lib/demangle/swift/specialization.h"

/* ---- specializations ---- */

static bool add_generic_arguments(struct uspi_old_parser *old, struct uspi_swift_node *specialization) {
    while (!uspi_old_next_if(old, '_')) {
        struct uspi_swift_node *type =
            uspi_swift_make(&old->base, SWIFT_SPECIALIZATION_TYPE, uspi_old_run(old, OLD_TYPE));
        while (!uspi_old_next_if(old, '_')) {
            if (!uspi_swift_add(old->base.memory, type, uspi_old_run(old, OLD_CONFORMANCE))) return false;
        }
        if (!uspi_swift_add(old->base.memory, specialization, type)) return false;
    }
    return true;
}

static bool add_change(struct uspi_old_parser *old, struct uspi_swift_node *argument, unsigned change) {
    return uspi_swift_add(old->base.memory, argument,
                          uspi_swift_node_with_index(old->base.memory, SWIFT_ARGUMENT_CHANGE, change));
}

/* Adds a change and its identifier, as a node of a kind. */
static bool add_named_change(struct uspi_old_parser *old, struct uspi_swift_node *argument, unsigned change,
                             uint16_t kind) {
    const struct uspi_swift_node *name = uspi_old_read_identifier(old, SWIFT_IDENTIFIER);
    if (name == NULL || !add_change(old, argument, change)) return false;
    return uspi_swift_add(old->base.memory, argument, uspi_swift_node_as(old->base.memory, kind, name));
}

/* Adds a change and its text, up to "_". */
static bool add_literal(struct uspi_old_parser *old, struct uspi_swift_node *argument, unsigned change) {
    const char *begin = old->base.text + old->base.at;
    while (uspi_old_peek(old) != '_' && uspi_old_peek(old) != '\0') uspi_old_next(old);
    size_t length = (size_t)(old->base.text + old->base.at - begin);
    return add_change(old, argument, change) &&
           uspi_swift_add(old->base.memory, argument,
                          uspi_swift_node_with_text(old->base.memory, SWIFT_ARGUMENT_PAYLOAD, begin, length));
}

static bool add_string_literal(struct uspi_old_parser *old, struct uspi_swift_node *argument) {
    if (!uspi_old_next_if(old, 'e')) return false;
    char encoding = uspi_old_next(old);
    if ((encoding != '0' && encoding != '1') || !uspi_old_next_if(old, 'v')) return false;
    const struct uspi_swift_node *name = uspi_old_read_identifier(old, SWIFT_IDENTIFIER);
    if (name == NULL || !add_change(old, argument, USPI_SWIFT_CONSTANT_STRING)) return false;
    return uspi_swift_add(old->base.memory, argument,
                          uspi_old_make_string(old, SWIFT_ARGUMENT_PAYLOAD, encoding == '0' ? "u8" : "u16")) &&
           uspi_swift_add(old->base.memory, argument, uspi_swift_node_as(old->base.memory, SWIFT_IDENTIFIER, name));
}

static bool add_constant(struct uspi_old_parser *old, struct uspi_swift_node *argument) {
    bool is_good = false;
    if (uspi_old_next_if_string(old, "fr")) {
        is_good = add_named_change(old, argument, USPI_SWIFT_CONSTANT_FUNCTION, SWIFT_IDENTIFIER);
    } else if (uspi_old_next_if(old, 'g')) {
        is_good = add_named_change(old, argument, USPI_SWIFT_CONSTANT_GLOBAL, SWIFT_IDENTIFIER);
    } else if (uspi_old_next_if(old, 'i')) {
        is_good = add_literal(old, argument, USPI_SWIFT_CONSTANT_INTEGER);
    } else if (uspi_old_next_if_string(old, "fl")) {
        is_good = add_literal(old, argument, USPI_SWIFT_CONSTANT_FLOAT);
    } else if (uspi_old_next_if(old, 's')) {
        is_good = add_string_literal(old, argument);
    }
    return is_good && uspi_old_next_if(old, '_');
}

static bool add_closure(struct uspi_old_parser *old, struct uspi_swift_node *argument) {
    if (!add_named_change(old, argument, USPI_SWIFT_CLOSURE, SWIFT_ARGUMENT_PAYLOAD)) return false;
    while (!uspi_old_next_if(old, '_')) {
        if (!uspi_swift_add(old->base.memory, argument, uspi_old_run(old, OLD_TYPE))) return false;
    }
    return true;
}

static bool add_bits(struct uspi_old_parser *old, struct uspi_swift_node *argument) {
    unsigned bits = 0;
    if (uspi_old_next_if(old, 'd')) bits |= USPI_SWIFT_DEAD;
    if (uspi_old_next_if(old, 'g')) bits |= USPI_SWIFT_OWNED_TO_GUARANTEED;
    if (uspi_old_next_if(old, 'o')) bits |= USPI_SWIFT_GUARANTEED_TO_OWNED;
    if (uspi_old_next_if(old, 's')) bits |= USPI_SWIFT_EXPLODED;
    return bits != 0 && uspi_old_next_if(old, '_') && add_change(old, argument, bits);
}

static bool add_arguments(struct uspi_old_parser *old, struct uspi_swift_node *specialization) {
    while (!uspi_old_next_if(old, '_')) {
        struct uspi_swift_node *argument = uspi_swift_node(old->base.memory, SWIFT_SPECIALIZATION_ARGUMENT);
        bool is_good;
        if (argument == NULL) return false;
        if (uspi_old_next_if_string(old, "n_")) {
            is_good = true;
        } else if (uspi_old_next_if_string(old, "cp")) {
            is_good = add_constant(old, argument);
        } else if (uspi_old_next_if_string(old, "cl")) {
            is_good = add_closure(old, argument);
        } else if (uspi_old_next_if_string(old, "i_")) {
            is_good = add_change(old, argument, USPI_SWIFT_BOX_TO_VALUE);
        } else if (uspi_old_next_if_string(old, "k_")) {
            is_good = add_change(old, argument, USPI_SWIFT_BOX_TO_STACK);
        } else if (uspi_old_next_if_string(old, "r_")) {
            is_good = add_change(old, argument, USPI_SWIFT_IN_OUT_TO_OUT);
        } else {
            is_good = add_bits(old, argument);
        }
        if (!is_good || !uspi_swift_add(old->base.memory, specialization, argument)) return false;
    }
    return true;
}

struct uspi_swift_node *uspi_old_read_specialization(struct uspi_old_parser *old) {
    struct uspi_region *memory = old->base.memory;
    uint16_t kind;
    switch (uspi_old_next(old)) {
    case 'g': kind = SWIFT_GENERIC_SPECIALIZATION; break;
    case 'r': kind = SWIFT_GENERIC_SPECIALIZATION_NOT_REABSTRACTED; break;
    case 'f': kind = SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION; break;
    default: return NULL;
    }
    struct uspi_swift_node *specialization = uspi_swift_node(memory, kind);
    if (uspi_old_next_if(old, 'q'))
        uspi_swift_add(memory, specialization, uspi_swift_node(memory, SWIFT_IS_SERIALIZED));
    struct uspi_swift_node *pass =
        uspi_swift_node_with_index(memory, SWIFT_SPECIALIZATION_PASS, (uint64_t)(uint8_t)uspi_old_next(old) - '0');
    if (!uspi_swift_add(memory, specialization, pass)) return NULL;
    bool is_good = kind == SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION ? add_arguments(old, specialization)
                                                                   : add_generic_arguments(old, specialization);
    return is_good ? specialization : NULL;
}
