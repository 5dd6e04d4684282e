/* SPDX-License-Identifier: MIT */
/* Parses conformances of types to protocols, in symbols and as generic arguments. (swift docs/ABI/Mangling.rst,
 * "Generics") */
#include "lib/demangle/swift/parse.h"

/* Pops a conformance of a symbol: of a type, or of a property of one, to a protocol, declared in a module. */
struct uspi_swift_node *uspi_swift_pop_conformance(struct uspi_swift_parser *parser) {
    struct uspi_swift_node *signature = uspi_swift_pop_kind(parser, SWIFT_GENERIC_SIGNATURE);
    struct uspi_swift_node *module = uspi_swift_pop_module(parser), *protocol = uspi_swift_pop_protocol(parser);
    struct uspi_swift_node *type = uspi_swift_pop_type(parser), *property = NULL;
    if (type == NULL) {
        property = uspi_swift_pop_kind(parser, SWIFT_IDENTIFIER);
        type = uspi_swift_pop_type(parser);
    }
    if (signature != NULL) {
        type = uspi_swift_type(parser, uspi_swift_make(parser, SWIFT_GENERIC_TYPE, signature, type));
    }
    return property != NULL ? uspi_swift_make(parser, SWIFT_PROTOCOL_CONFORMANCE, type, protocol, module, property)
                            : uspi_swift_make(parser, SWIFT_PROTOCOL_CONFORMANCE, type, protocol, module);
}

struct uspi_swift_node *uspi_swift_pop_any_conformance(struct uspi_swift_parser *parser) {
    return uspi_swift_pop_role(parser, USPI_SWIFT_CONFORMANCE);
}

struct uspi_swift_node *uspi_swift_pop_conformances(struct uspi_swift_parser *parser) {
    struct uspi_swift_node *list = uspi_swift_node(parser->memory, SWIFT_CONFORMANCE_LIST);
    return uspi_swift_pop_list(parser, list, uspi_swift_pop_any_conformance) ? list : NULL;
}

/* Pops a reference to a conformance: in the type's module, in the protocol's, or in another one. */
struct uspi_swift_node *uspi_swift_pop_conformance_ref(struct uspi_swift_parser *parser) {
    struct uspi_swift_node *ref = uspi_swift_pop_kind(parser, SWIFT_CONFORMANCE_REF_IN_TYPE_MODULE);
    if (ref == NULL) ref = uspi_swift_pop_kind(parser, SWIFT_CONFORMANCE_REF_IN_PROTOCOL_MODULE);
    if (ref != NULL) return ref;
    struct uspi_swift_node *module = uspi_swift_pop_module(parser), *protocol = uspi_swift_pop_protocol(parser);
    return uspi_swift_make(parser, SWIFT_CONFORMANCE_REF_IN_OTHER_MODULE, protocol, module);
}

struct uspi_swift_node *uspi_swift_pop_dependent_conformance(struct uspi_swift_parser *parser) {
    struct uspi_swift_node *conformance = uspi_swift_pop_kind(parser, SWIFT_DEPENDENT_CONFORMANCE_ROOT);
    if (conformance == NULL) conformance = uspi_swift_pop_kind(parser, SWIFT_DEPENDENT_CONFORMANCE_INHERITED);
    if (conformance == NULL) conformance = uspi_swift_pop_kind(parser, SWIFT_DEPENDENT_CONFORMANCE_ASSOCIATED);
    return conformance;
}

struct uspi_swift_node *uspi_swift_pop_associated_conformance(struct uspi_swift_parser *parser) {
    struct uspi_swift_node *protocol = uspi_swift_pop_protocol(parser), *type = uspi_swift_pop_type(parser);
    return uspi_swift_make(parser, SWIFT_DEPENDENT_ASSOCIATED_CONFORMANCE, type, protocol);
}

/* Reads a DEPENDENT-CONFORMANCE-INDEX: 0 is invalid, 1 means unknown, others are the index plus 2. */
struct uspi_swift_node *uspi_swift_parse_conformance_index(struct uspi_swift_parser *parser) {
    int64_t index = uspi_swift_index(parser);
    if (index <= 0) return NULL;
    if (index == 1) return uspi_swift_node(parser->memory, SWIFT_UNKNOWN_CONFORMANCE_INDEX);
    return uspi_swift_node_with_index(parser->memory, SWIFT_CONFORMANCE_INDEX, (uint64_t)index - 2);
}
