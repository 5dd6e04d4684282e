/* SPDX-License-Identifier: MIT */
/* Operators of specializations: of generic functions for types, and of functions for known values of their arguments.
 * (swift docs/ABI/Mangling.rst, "Function Specializations") */
#include "lib/demangle/swift/parse.h"
#include "lib/demangle/swift/specialization.h"

/* Reads SPEC-INFO: how the specialization was made. Passes of the optimizer have numbers of one digit. */
static struct uspi_swift_node *read_information(struct uspi_swift_parser *parser, uint16_t kind) {
    static const struct {
        char letter;
        uint16_t kind;
    } marks[] = {{'q', SWIFT_IS_SERIALIZED}, {'a', SWIFT_ASYNC_REMOVED}, {'r', SWIFT_REPRESENTATION_CHANGED}};
    struct uspi_region *memory = parser->memory;
    struct uspi_swift_node *specialization = uspi_swift_node(memory, kind);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (!uspi_swift_next_if(parser, marks[i].letter)) continue;
        uspi_swift_add(memory, specialization, uspi_swift_node(memory, marks[i].kind));
    }
    char pass = uspi_swift_next(parser);
    if (!uspi_swift_is_digit(pass)) return NULL;
    struct uspi_swift_node *number =
        uspi_swift_node_with_index(memory, SWIFT_SPECIALIZATION_PASS, (uint64_t)(pass - '0'));
    return uspi_swift_add(memory, specialization, number) ? specialization : NULL;
}

/* ---- for types ---- */

static bool add_types(struct uspi_swift_parser *parser, struct uspi_swift_node *specialization) {
    const struct uspi_swift_node *types = uspi_swift_pop_types(parser, SWIFT_TYPE_LIST);
    if (types == NULL) return false;
    for (const struct uspi_swift_child *type = types->first; type != NULL; type = type->next) {
        struct uspi_swift_node *made = uspi_swift_make(parser, SWIFT_SPECIALIZATION_TYPE, type->node);
        if (!uspi_swift_add(parser->memory, specialization, made)) return false;
    }
    return true;
}

struct uspi_swift_node *uspi_swift_parse_generic_specialization(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *specialization = read_information(parser, kind);
    return specialization != NULL && add_types(parser, specialization) ? specialization : NULL;
}

/* "t" for each argument that the specialized function lacks, with its number. */
struct uspi_swift_node *uspi_swift_parse_generic_specialization_without_arguments(struct uspi_swift_parser *parser,
                                                                                  uint16_t kind) {
    struct uspi_swift_node *lacking = uspi_swift_node(parser->memory, SWIFT_TYPE_LIST);
    do {
        int64_t number = uspi_swift_natural(parser);
        struct uspi_swift_node *argument =
            uspi_swift_node_with_index(parser->memory, SWIFT_DROPPED_ARGUMENT, number < 0 ? 0 : (uint64_t)number + 1);
        if (!uspi_swift_add(parser->memory, lacking, argument)) return NULL;
    } while (uspi_swift_next_if(parser, 't'));
    switch (uspi_swift_next(parser)) {
    case 'g': kind = SWIFT_GENERIC_SPECIALIZATION; break;
    case 'G': kind = SWIFT_GENERIC_SPECIALIZATION_NOT_REABSTRACTED; break;
    case 'B': kind = SWIFT_GENERIC_SPECIALIZATION_IN_RESILIENCE_DOMAIN; break;
    default: return NULL;
    }
    struct uspi_swift_node *specialization = read_information(parser, kind);
    for (const struct uspi_swift_child *argument = lacking->first; argument != NULL; argument = argument->next) {
        if (!uspi_swift_add(parser->memory, specialization, argument->node)) return NULL;
    }
    return add_types(parser, specialization) ? specialization : NULL;
}

struct uspi_swift_node *uspi_swift_parse_partial_specialization(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *specialization = read_information(parser, kind);
    struct uspi_swift_node *type = uspi_swift_make(parser, SWIFT_SPECIALIZATION_TYPE, uspi_swift_pop_type(parser));
    return uspi_swift_add(parser->memory, specialization, type) ? specialization : NULL;
}

/* ---- for arguments ---- */

static bool add_change(struct uspi_swift_parser *parser, struct uspi_swift_node *argument, unsigned change) {
    return uspi_swift_add(parser->memory, argument,
                          uspi_swift_node_with_index(parser->memory, SWIFT_ARGUMENT_CHANGE, change));
}

static bool add_text(struct uspi_swift_parser *parser, struct uspi_swift_node *argument, const char *text,
                     size_t length) {
    return uspi_swift_add(parser->memory, argument,
                          uspi_swift_node_with_text(parser->memory, SWIFT_ARGUMENT_PAYLOAD, text, length));
}

/* Adds decimal digits as text, because the number can exceed 64 bits. */
static bool add_digits(struct uspi_swift_parser *parser, struct uspi_swift_node *argument) {
    const char *begin = parser->text + parser->at;
    while (uspi_swift_is_digit(uspi_swift_peek(parser))) parser->at++;
    size_t length = (size_t)(parser->text + parser->at - begin);
    return length > 0 && add_text(parser, argument, begin, length);
}

/* Reads any number of CONST-PROP. */
static bool parse_constants(struct uspi_swift_parser *parser, struct uspi_swift_node *argument) {
    for (;;) {
        bool is_good;
        switch (uspi_swift_peek(parser)) {
        case 'S': is_good = add_change(parser, argument, USPI_SWIFT_CONSTANT_STRUCT); break;
        case 'f': is_good = add_change(parser, argument, USPI_SWIFT_CONSTANT_FUNCTION); break;
        case 'g': is_good = add_change(parser, argument, USPI_SWIFT_CONSTANT_GLOBAL); break;
        case 'k': is_good = add_change(parser, argument, USPI_SWIFT_CONSTANT_KEY_PATH); break;
        case 'i':
            parser->at++;
            if (!add_change(parser, argument, USPI_SWIFT_CONSTANT_INTEGER) || !add_digits(parser, argument))
                return false;
            continue;
        case 'd':
            parser->at++;
            if (!add_change(parser, argument, USPI_SWIFT_CONSTANT_FLOAT) || !add_digits(parser, argument)) return false;
            continue;
        case 's':
            parser->at++;
            if (!add_change(parser, argument, USPI_SWIFT_CONSTANT_STRING)) return false;
            switch (uspi_swift_peek(parser)) {
            case 'b': is_good = add_text(parser, argument, "u8", 2); break;
            case 'w': is_good = add_text(parser, argument, "u16", 3); break;
            case 'c': is_good = add_text(parser, argument, "objc", 4); break;
            default: return false;
            }
            break;
        /* At the name's end the Swift compiler's demangler reads the last letter again, and refuses it. */
        case '\0': return false;
        default: return true;
        }
        if (!is_good) return false;
        parser->at++;
    }
}

/* Reads further letters, and adds their bits to those of the first one. */
static unsigned read_bits(struct uspi_swift_parser *parser, unsigned bits, const char *letters) {
    for (; *letters != '\0'; letters++) {
        if (!uspi_swift_next_if(parser, *letters)) continue;
        switch (*letters) {
        case 'D': bits |= USPI_SWIFT_DEAD; break;
        case 'G': bits |= USPI_SWIFT_OWNED_TO_GUARANTEED; break;
        case 'O': bits |= USPI_SWIFT_GUARANTEED_TO_OWNED; break;
        default: bits |= USPI_SWIFT_EXPLODED; break;
        }
    }
    return bits;
}

/* Reads an ARG-SPEC-KIND: the change of one argument, or of the result. */
static struct uspi_swift_node *parse_argument(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_swift_node *argument = uspi_swift_node(parser->memory, kind);
    bool is_good = argument != NULL;
    switch (uspi_swift_next(parser)) {
    case 'n': break;
    case 'c': is_good = add_change(parser, argument, USPI_SWIFT_CLOSURE); break;
    case 'C': {
        is_good = add_change(parser, argument, USPI_SWIFT_SAME_AS_ARGUMENT);
        int64_t number = uspi_swift_natural(parser);
        if (number < 0 || !is_good) return NULL;
        is_good = uspi_swift_add(parser->memory, argument,
                                 uspi_swift_node_with_index(parser->memory, SWIFT_ARGUMENT_PAYLOAD, (uint64_t)number));
        break;
    }
    case 'p': is_good = parse_constants(parser, argument); break;
    case 'e':
        is_good = add_change(parser, argument, read_bits(parser, USPI_SWIFT_EXISTENTIAL_TO_GENERIC, "DGOX"));
        break;
    case 'd': is_good = add_change(parser, argument, read_bits(parser, USPI_SWIFT_DEAD, "GOX")); break;
    case 'g': is_good = add_change(parser, argument, read_bits(parser, USPI_SWIFT_OWNED_TO_GUARANTEED, "X")); break;
    case 'o': is_good = add_change(parser, argument, read_bits(parser, USPI_SWIFT_GUARANTEED_TO_OWNED, "X")); break;
    case 'x': is_good = add_change(parser, argument, USPI_SWIFT_EXPLODED); break;
    case 'i': is_good = add_change(parser, argument, USPI_SWIFT_BOX_TO_VALUE); break;
    case 's': is_good = add_change(parser, argument, USPI_SWIFT_BOX_TO_STACK); break;
    case 'r': is_good = add_change(parser, argument, USPI_SWIFT_IN_OUT_TO_OUT); break;
    default: return NULL;
    }
    return is_good ? argument : NULL;
}

/* Pops the values of one change, the last one on top, and adds them before the others in `values`. */
static bool pop_values(struct uspi_swift_parser *parser, uint64_t change, struct uspi_swift_node *values) {
    struct uspi_region *memory = parser->memory;
    struct uspi_swift_node *type;
    switch (change) {
    case USPI_SWIFT_CLOSURE:
        while ((type = uspi_swift_pop_type(parser)) != NULL) {
            if (!uspi_swift_add_first(memory, values, type)) return false;
        }
        break;
    case USPI_SWIFT_CONSTANT_KEY_PATH:
        for (unsigned i = 0; i < 2; i++) {
            if (!uspi_swift_add_first(memory, values, uspi_swift_pop_type(parser))) return false;
        }
        break;
    case USPI_SWIFT_CONSTANT_STRUCT: return uspi_swift_add_first(memory, values, uspi_swift_pop_type(parser));
    case USPI_SWIFT_CONSTANT_FUNCTION:
    case USPI_SWIFT_CONSTANT_GLOBAL:
    case USPI_SWIFT_CONSTANT_STRING: break;
    default: return true;
    }
    return uspi_swift_add_first(memory, values, uspi_swift_pop_kind(parser, SWIFT_IDENTIFIER));
}

/* Pops the values of an argument's changes and adds them after the changes. */
static bool add_values(struct uspi_swift_parser *parser, struct uspi_swift_node *argument) {
    struct uspi_region_array changes = {0};
    struct uspi_swift_node *values = uspi_swift_node(parser->memory, SWIFT_TYPE_LIST);
    if (values == NULL) return false;
    for (const struct uspi_swift_child *child = argument->first; child != NULL; child = child->next) {
        if (child->node->kind != SWIFT_ARGUMENT_CHANGE) continue;
        if (!uspi_region_append(parser->memory, &changes, child->node)) return false;
    }
    while (changes.count > 0) {
        const struct uspi_swift_node *change = changes.items[--changes.count];
        if (!pop_values(parser, change->index, values)) return false;
    }
    for (const struct uspi_swift_child *value = values->first; value != NULL; value = value->next) {
        if (!uspi_swift_add(parser->memory, argument, value->node)) return false;
    }
    return true;
}

struct uspi_swift_node *uspi_swift_parse_function_specialization(struct uspi_swift_parser *parser, uint16_t kind) {
    struct uspi_region *memory = parser->memory;
    struct uspi_region_array arguments = {0};
    struct uspi_swift_node *specialization = read_information(parser, kind);
    if (specialization == NULL) return NULL;
    if (uspi_swift_first_child(specialization)->kind == SWIFT_REPRESENTATION_CHANGED) return specialization;
    while (!uspi_swift_next_if(parser, '_')) {
        struct uspi_swift_node *argument = parse_argument(parser, SWIFT_SPECIALIZATION_ARGUMENT);
        if (!uspi_swift_add(memory, specialization, argument)) return NULL;
        if (!uspi_region_append(memory, &arguments, argument)) return NULL;
    }
    if (!uspi_swift_next_if(parser, 'n')) {
        struct uspi_swift_node *result = parse_argument(parser, SWIFT_SPECIALIZATION_RETURN);
        if (!uspi_swift_add(memory, specialization, result)) return NULL;
    }
    while (arguments.count > 0) {
        if (!add_values(parser, arguments.items[--arguments.count])) return NULL;
    }
    return specialization;
}
