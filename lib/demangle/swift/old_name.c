/* SPDX-License-Identifier: MIT */
/* Parses a whole name in the old mangling. */
#include "lib/demangle/swift/old.h"

/* Reads the attributes that precede a symbol. */
static bool add_attributes(struct uspi_old_parser *old, struct uspi_swift_node *root) {
    static const struct {
        const char *letters;
        uint16_t kind;
    } attributes[] = {{"To", SWIFT_OBJC_ATTRIBUTE},
                      {"TO", SWIFT_NON_OBJC_ATTRIBUTE},
                      {"TD", SWIFT_DYNAMIC_ATTRIBUTE},
                      {"Td", SWIFT_DIRECT_METHOD_REFERENCE},
                      {"TV", SWIFT_VTABLE_ATTRIBUTE}};
    struct uspi_region *memory = old->base.memory;
    if (uspi_old_next_if_string(old, "TS")) {
        do {
            if (!uspi_swift_add(memory, root, uspi_old_read_specialization(old))) return false;
            old->base.substitutions.count = 0;
        } while (uspi_old_next_if_string(old, "_TTS"));
        return uspi_old_next_if_string(old, "_T");
    }
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        if (!uspi_old_next_if_string(old, attributes[i].letters)) continue;
        return uspi_swift_add(memory, root, uspi_swift_node(memory, attributes[i].kind));
    }
    return true;
}

struct uspi_swift_node *uspi_old_parse(struct uspi_region *memory, const char *name, size_t length) {
    struct uspi_old_parser old = {.base = {.memory = memory, .text = name, .length = length}};
    struct uspi_swift_node *root = uspi_swift_node(memory, SWIFT_GLOBAL);
    if (root == NULL || !uspi_old_next_if_string(&old, "_T") || !add_attributes(&old, root)) return NULL;
    if (!uspi_swift_add(memory, root, uspi_old_run(&old, OLD_GLOBAL))) return NULL;
    if (old.base.at < length) {
        struct uspi_swift_node *suffix =
            uspi_swift_node_with_text(memory, SWIFT_SUFFIX, name + old.base.at, length - old.base.at);
        if (!uspi_swift_add(memory, root, suffix)) return NULL;
    }
    return memory->is_exhausted ? NULL : root;
}
