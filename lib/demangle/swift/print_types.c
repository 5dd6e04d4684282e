/* SPDX-License-Identifier: MIT */
/* Writes types, except those of functions (print_functions.c) and generic signatures (print_generics.c). */
#include "lib/demangle/swift/print.h"

/* ---- generic types ---- */

static void print_bound_plainly(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    uspi_swift_write_child(printer, node, 0);
    uspi_swift_write(printer, "<");
    uspi_swift_write_children(printer, uspi_swift_child_at(node, 1), USPI_SWIFT_COMMA);
    uspi_swift_write(printer, ">");
}

/* Returns whether a generic type is the standard library's type with this name. */
static bool is_standard(const struct uspi_swift_node *bound, const char *name) {
    const struct uspi_swift_node *type = uspi_swift_first_child(uspi_swift_first_child(bound));
    if (type == NULL || type->child_count < 2) return false;
    const struct uspi_swift_node *module = uspi_swift_first_child(type), *called = uspi_swift_child_at(type, 1);
    return module->kind == SWIFT_MODULE && uspi_swift_text_is(module, "Swift") && called->kind == SWIFT_IDENTIFIER &&
           uspi_swift_text_is(called, name);
}

/* Writes an optional, an array or a dictionary in its short notation. False: it is none of these. */
static bool print_sugar(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    const struct uspi_swift_node *arguments = uspi_swift_child_at(node, 1);
    const struct uspi_swift_node *first = uspi_swift_first_child(arguments);
    bool is_enum = node->kind == SWIFT_BOUND_GENERIC_ENUM, is_structure = node->kind == SWIFT_BOUND_GENERIC_STRUCTURE;
    bool is_optional = is_enum && is_standard(node, "Optional");
    if (arguments->child_count == 1 && (is_optional || (is_enum && is_standard(node, "ImplicitlyUnwrappedOptional")))) {
        uspi_swift_write_grouped(printer, first);
        uspi_swift_write(printer, is_optional ? "?" : "!");
        return true;
    }
    bool is_array = is_structure && arguments->child_count == 1 && is_standard(node, "Array");
    bool is_dictionary = is_structure && arguments->child_count == 2 && is_standard(node, "Dictionary");
    if (!is_array && !is_dictionary) return false;
    uspi_swift_write(printer, "[");
    uspi_swift_write_node(printer, first);
    if (is_dictionary) {
        uspi_swift_write(printer, " : ");
        uspi_swift_write_child(printer, arguments, 1);
    }
    uspi_swift_write(printer, "]");
    return true;
}

static void print_bound(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    bool is_plain = node->child_count != 2 || (printer->form & USPI_SWIFT_FORM_NO_SUGAR) != 0 ||
                    node->kind == SWIFT_BOUND_GENERIC_CLASS;
    if (!is_plain && node->kind == SWIFT_BOUND_GENERIC_PROTOCOL) {
        uspi_swift_write_children(printer, uspi_swift_child_at(node, 1), USPI_SWIFT_NO_SEPARATOR);
        uspi_swift_write(printer, " as ");
        uspi_swift_write_child(printer, node, 0);
        return;
    }
    if (is_plain || !print_sugar(printer, node)) print_bound_plainly(printer, node);
}

/* ---- existential types ---- */

static bool is_existential(uint16_t kind) {
    return kind == SWIFT_EXISTENTIAL_METATYPE || kind == SWIFT_PROTOCOL_LIST ||
           kind == SWIFT_PROTOCOL_LIST_WITH_CLASS || kind == SWIFT_PROTOCOL_LIST_WITH_ANY_OBJECT;
}

/* Writes the representation, if it is given, and then the type. */
static void print_metatype(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    const struct uspi_swift_node *type = node->last->node;
    if (node->child_count == 2) {
        uspi_swift_write_child(printer, node, 0);
        uspi_swift_write(printer, " ");
    }
    if (node->kind == SWIFT_EXISTENTIAL_METATYPE) {
        uspi_swift_write_node(printer, type);
        uspi_swift_write(printer, ".Type");
        return;
    }
    const struct uspi_swift_node *inner = uspi_swift_first_child(type);
    uspi_swift_write_grouped(printer, inner);
    uspi_swift_write(printer, inner != NULL && is_existential(inner->kind) ? ".Protocol" : ".Type");
}

static void print_protocol_list(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    const struct uspi_swift_node *first = uspi_swift_first_child(node);
    switch (node->kind) {
    case SWIFT_PROTOCOL_LIST:
        if (first->child_count == 0) uspi_swift_write(printer, "Any");
        uspi_swift_write_children(printer, first, USPI_SWIFT_AMPERSAND);
        return;
    case SWIFT_PROTOCOL_LIST_WITH_CLASS:
        uspi_swift_write_child(printer, node, 1);
        uspi_swift_write(printer, " & ");
        uspi_swift_write_children(printer, uspi_swift_first_child(first), USPI_SWIFT_AMPERSAND);
        return;
    default:
        first = uspi_swift_first_child(first);
        uspi_swift_write_children(printer, first, USPI_SWIFT_AMPERSAND);
        if (first->child_count > 0) uspi_swift_write(printer, " & ");
        uspi_swift_write(printer, uspi_swift_is_short(printer) ? "AnyObject" : "Swift.AnyObject");
        return;
    }
}

/* Writes an existential shape. Forms other than the short one are as `swift demangle` of Swift 6.3 writes them: it
 * takes a generic shape's type for its signature, and then finds no type. */
static void print_existential_shape(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    uspi_swift_write(printer, "existential shape for ");
    if (uspi_swift_is_short(printer)) {
        uspi_swift_write_node(printer, node->last->node);
        return;
    }
    if (node->child_count == 2) {
        unsigned form = printer->form;
        printer->form |= USPI_SWIFT_FORM_WHERE;
        uspi_swift_write_child(printer, node, 1);
        uspi_swift_write(printer, " ");
        uspi_swift_write_form(printer, form);
    }
    uspi_swift_write(printer, "any <null node pointer>");
}

/* ---- others ---- */

static void print_tuple_element(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    const struct uspi_swift_node *label = uspi_swift_child_of_kind(node, SWIFT_TUPLE_ELEMENT_NAME);
    if (label != NULL) uspi_swift_write_node(printer, label);
    uspi_swift_write_node(printer, uspi_swift_child_of_kind(node, SWIFT_TYPE));
    if (uspi_swift_child_of_kind(node, SWIFT_VARIADIC_MARKER) != NULL) uspi_swift_write(printer, "...");
}

static void print_box(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    bool is_generic = node->child_count == 3;
    if (is_generic) {
        uspi_swift_write_child(printer, node, 1);
        uspi_swift_write(printer, " ");
    }
    uspi_swift_write_child(printer, node, 0);
    if (is_generic) {
        uspi_swift_write(printer, " <");
        uspi_swift_write_children(printer, uspi_swift_child_at(node, 2), USPI_SWIFT_COMMA);
        uspi_swift_write(printer, ">");
    }
}

static void print_box_layout(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    uspi_swift_write(printer, node->child_count > 0 ? "{ " : "{");
    uspi_swift_write_children(printer, node, USPI_SWIFT_COMMA);
    uspi_swift_write(printer, " }");
}

bool uspi_swift_print_type(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    switch (node->kind) {
    case SWIFT_BOUND_GENERIC_CLASS:
    case SWIFT_BOUND_GENERIC_STRUCTURE:
    case SWIFT_BOUND_GENERIC_ENUM:
    case SWIFT_BOUND_GENERIC_PROTOCOL:
    case SWIFT_BOUND_GENERIC_OTHER:
    case SWIFT_BOUND_GENERIC_TYPE_ALIAS: print_bound(printer, node); return true;
    case SWIFT_METATYPE:
    case SWIFT_EXISTENTIAL_METATYPE: print_metatype(printer, node); return true;
    case SWIFT_PROTOCOL_LIST:
    case SWIFT_PROTOCOL_LIST_WITH_CLASS:
    case SWIFT_PROTOCOL_LIST_WITH_ANY_OBJECT: print_protocol_list(printer, node); return true;
    case SWIFT_EXTENDED_EXISTENTIAL_SHAPE: print_existential_shape(printer, node); return true;
    case SWIFT_TUPLE_ELEMENT: print_tuple_element(printer, node); return true;
    case SWIFT_SIL_BOX_TYPE_WITH_LAYOUT: print_box(printer, node); return true;
    case SWIFT_SIL_BOX_LAYOUT: print_box_layout(printer, node); return true;
    case SWIFT_TYPE_MANGLING:
        if (node->child_count == 2) {
            const struct uspi_swift_node *type = uspi_swift_first_child(uspi_swift_child_at(node, 1));
            uspi_swift_print_function_type(printer, uspi_swift_first_child(node), type, false);
        } else {
            uspi_swift_write_child(printer, node, 0);
        }
        return true;
    default: return false;
    }
}
