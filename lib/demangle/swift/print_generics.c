/* SPDX-License-Identifier: MIT */
/* Writes generic signatures, parameters and conformances. */
#include "lib/demangle/swift/print.h"

/* How many parameters of a depth are named. */
#define PARAMETER_MAX 128u

/* Writes a parameter's name: A, B, …, Z, AB and so on, followed by the depth if that is not 0. */
static void print_parameter_name(struct uspi_swift_printer *printer, uint64_t depth, uint64_t number) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    do {
        uspi_swift_write_span(printer, &letters[number % 26], 1);
        number /= 26;
    } while (number > 0);
    if (depth > 0) uspi_swift_write_number(printer, depth);
}

/* Returns whether there is a mark of a kind for a parameter. As in the Swift compiler's demangler, the mark's depth is
 * compared with the parameter's number, and the other way round. */
static bool is_marked(struct uspi_swift_printer *printer, const struct uspi_swift_child *mark, uint16_t kind,
                      uint64_t parameter) {
    const uint64_t turned = parameter << 32 | parameter >> 32;
    for (; mark != NULL; mark = mark->next) {
        if (mark->node->kind != SWIFT_PACK_MARKER && mark->node->kind != SWIFT_VALUE_MARKER) return false;
        uspi_swift_count_work(printer, 1);
        const struct uspi_swift_node *marked = uspi_swift_first_child(uspi_swift_first_child(mark->node));
        if (mark->node->kind != kind || marked == NULL || marked->kind != SWIFT_GENERIC_PARAMETER) continue;
        if (marked->index == turned) return true;
    }
    return false;
}

static void print_signature(struct uspi_swift_printer *printer, const struct uspi_swift_node *signature) {
    const struct uspi_swift_child *child = signature->first, *marks = signature->first;
    while (marks != NULL && marks->node->kind == SWIFT_GENERIC_PARAMETER_COUNT) marks = marks->next;
    uspi_swift_write(printer, "<");
    for (uint64_t depth = 0; child != marks; child = child->next, depth++) {
        if (depth > 0) uspi_swift_write(printer, "><");
        for (uint64_t number = 0; number < child->node->index; number++) {
            if (number > 0) uspi_swift_write(printer, ", ");
            if (number >= PARAMETER_MAX) {
                uspi_swift_write(printer, "...");
                break;
            }
            uint64_t parameter = depth << 32 | number;
            if (is_marked(printer, marks, SWIFT_PACK_MARKER, parameter)) uspi_swift_write(printer, "each ");
            if (is_marked(printer, marks, SWIFT_VALUE_MARKER, parameter)) uspi_swift_write(printer, "let ");
            print_parameter_name(printer, depth, number);
        }
    }
    while (child != NULL && (child->node->kind == SWIFT_PACK_MARKER || child->node->kind == SWIFT_VALUE_MARKER)) {
        child = child->next;
    }
    bool has_where = !uspi_swift_is_simple(printer) || (printer->form & USPI_SWIFT_FORM_WHERE) != 0;
    if (child != NULL && has_where) {
        uspi_swift_write(printer, " where ");
        uspi_swift_write_children_from(printer, child, USPI_SWIFT_COMMA);
    }
    uspi_swift_write(printer, ">");
}

static void print_generic_type(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    const struct uspi_swift_node *type = uspi_swift_child_at(node, 1);
    if (!uspi_swift_is_short(printer)) {
        uspi_swift_write_child(printer, node, 0);
        if (uspi_swift_needs_blank(type)) uspi_swift_write(printer, " ");
    }
    uspi_swift_write_node(printer, type);
}

/* Writes the protocol, if it is given, and the name. */
static void print_associated_type_name(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    if (node->child_count > 1) {
        uspi_swift_write_child(printer, node, 1);
        uspi_swift_write(printer, ".");
    }
    uspi_swift_write_child(printer, node, 0);
}

static void print_layout_requirement(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    uspi_swift_write_child(printer, node, 0);
    uspi_swift_write(printer, ": ");
    uspi_swift_write_text(printer, node);
    if (node->child_count < 2) return;
    uspi_swift_write(printer, "(");
    uspi_swift_write_children_from(printer, node->first->next, USPI_SWIFT_COMMA);
    uspi_swift_write(printer, ")");
}

static void print_conformance(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    bool is_of_property = node->child_count == 4;
    if (is_of_property) {
        uspi_swift_write(printer, "property behavior storage of ");
        uspi_swift_write_child(printer, node, 2);
        uspi_swift_write(printer, " in ");
    }
    uspi_swift_write_child(printer, node, 0);
    if (!is_of_property && uspi_swift_is_simple(printer)) return;
    uspi_swift_write(printer, " : ");
    uspi_swift_write_child(printer, node, 1);
    if (is_of_property) return;
    uspi_swift_write(printer, " in ");
    uspi_swift_write_child(printer, node, 2);
}

static void print_concrete_conformance(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    const struct uspi_swift_node *conditions = uspi_swift_child_at(node, 2);
    uspi_swift_write(printer, "concrete protocol conformance ");
    uspi_swift_write_child(printer, node, 0);
    uspi_swift_write(printer, " to ");
    uspi_swift_write_child(printer, node, 1);
    if (conditions == NULL || conditions->child_count == 0) return;
    uspi_swift_write(printer, " with conditional requirements: ");
    uspi_swift_write_node(printer, conditions);
}

bool uspi_swift_print_generic(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    switch (node->kind) {
    case SWIFT_GENERIC_SIGNATURE:
    case SWIFT_PSEUDOGENERIC_SIGNATURE:
        if (!uspi_swift_is_short(printer)) print_signature(printer, node);
        return true;
    case SWIFT_GENERIC_PARAMETER:
        print_parameter_name(printer, node->index >> 32, node->index & UINT32_MAX);
        return true;
    case SWIFT_GENERIC_TYPE: print_generic_type(printer, node); return true;
    case SWIFT_ASSOCIATED_TYPE_NAME: print_associated_type_name(printer, node); return true;
    case SWIFT_LAYOUT_REQUIREMENT: print_layout_requirement(printer, node); return true;
    case SWIFT_PROTOCOL_CONFORMANCE: print_conformance(printer, node); return true;
    case SWIFT_CONCRETE_CONFORMANCE: print_concrete_conformance(printer, node); return true;
    case SWIFT_CONFORMANCE_LIST:
        if (node->child_count == 0) return true;
        uspi_swift_write(printer, "(");
        uspi_swift_write_children(printer, node, USPI_SWIFT_COMMA);
        uspi_swift_write(printer, ")");
        return true;
    default: return false;
    }
}
