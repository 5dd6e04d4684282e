/* SPDX-License-Identifier: MIT */
/* See name.h: the prefixes, the loop over operators, and what is left on the stack at the end. */
#include "lib/demangle/swift/name.h"

#include "lib/demangle/swift/old.h"
#include "lib/demangle/swift/parse.h"

#include <string.h>

/* Adds the attributes and nodes on the stack to the root. A partial-apply forwarder becomes the parent of all that
 * follow it; all others are siblings. */
static bool gather(struct uspi_swift_parser *parser, struct uspi_swift_node *root) {
    struct uspi_swift_node *suffix = uspi_swift_pop_kind(parser, SWIFT_SUFFIX), *parent = root, *attribute;
    while ((attribute = uspi_swift_pop_role(parser, USPI_SWIFT_ATTRIBUTE)) != NULL) {
        if (!uspi_swift_add(parser->memory, parent, attribute)) return false;
        if (attribute->kind == SWIFT_PARTIAL_APPLY || attribute->kind == SWIFT_PARTIAL_APPLY_OBJC) parent = attribute;
    }
    for (size_t i = 0; i < parser->stack.count; i++) {
        struct uspi_swift_node *node = parser->stack.items[i];
        if (node->kind == SWIFT_TYPE) node = uspi_swift_first_child(node);
        if (!uspi_swift_add(parser->memory, parent, node)) return false;
    }
    if (suffix != NULL && !uspi_swift_add(parser->memory, root, suffix)) return false;
    return root != NULL && root->child_count > 0;
}

/* Returns the length of the mangling's prefix; 0: it is not the current mangling (swift docs/ABI/Mangling.rst,
 * "Mangling"). */
static size_t prefix_length(const char *name, size_t length) {
    static const char *const prefixes[] = {"_T0", "$S", "_$S", "$s", "_$s", "$e", "_$e", "@__swiftmacro_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t prefix = strlen(prefixes[i]);
        if (length >= prefix && memcmp(name, prefixes[i], prefix) == 0) return prefix;
    }
    return 0;
}

struct uspi_swift_node *uspi_swift_parse(struct uspi_region *memory, const char *name, size_t length) {
    size_t prefix = prefix_length(name, length);
    if (prefix == 0) return uspi_old_parse(memory, name, length);
    struct uspi_swift_parser parser = {.memory = memory, .text = name, .length = length, .at = prefix};
    parser.has_labels_in_types = name[0] == '_' && name[1] == 'T';
    while (uspi_swift_peek(&parser) != '\0') {
        if (!uspi_swift_push(&parser, uspi_swift_parse_operator(&parser))) return NULL;
    }
    struct uspi_swift_node *root = uspi_swift_node(memory, SWIFT_GLOBAL);
    return gather(&parser, root) && !memory->is_exhausted ? root : NULL;
}
