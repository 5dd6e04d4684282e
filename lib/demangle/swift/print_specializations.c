/* SPDX-License-Identifier: MIT */
/* Writes specializations: for types, or for known values of arguments. */
#include "lib/demangle/swift/print.h"
#include "lib/demangle/swift/specialization.h"

#include <string.h>

/* ---- what was done to an argument ---- */

static const char *change_words(uint64_t change) {
    switch (change) {
    case USPI_SWIFT_CONSTANT_FUNCTION: return "Constant Propagated Function";
    case USPI_SWIFT_CONSTANT_GLOBAL: return "Constant Propagated Global";
    case USPI_SWIFT_CONSTANT_INTEGER: return "Constant Propagated Integer";
    case USPI_SWIFT_CONSTANT_FLOAT: return "Constant Propagated Float";
    case USPI_SWIFT_CONSTANT_STRING: return "Constant Propagated String";
    case USPI_SWIFT_CONSTANT_KEY_PATH: return "Constant Propagated KeyPath";
    case USPI_SWIFT_CONSTANT_STRUCT: return "Constant Propagated Struct";
    case USPI_SWIFT_CLOSURE: return "Closure Propagated";
    case USPI_SWIFT_SAME_AS_ARGUMENT: return "Same As Argument";
    case USPI_SWIFT_BOX_TO_VALUE: return "Value Promoted from Box";
    case USPI_SWIFT_BOX_TO_STACK: return "Stack Promoted from Box";
    case USPI_SWIFT_IN_OUT_TO_OUT: return "InOut Converted to Out";
    default: return NULL;
    }
}

static void print_change(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    static const struct {
        unsigned bit;
        const char *words;
    } bits[] = {{USPI_SWIFT_EXISTENTIAL_TO_GENERIC, "Existential To Protocol Constrained Generic"},
                {USPI_SWIFT_DEAD, "Dead"},
                {USPI_SWIFT_OWNED_TO_GUARANTEED, "Owned To Guaranteed"},
                {USPI_SWIFT_GUARANTEED_TO_OWNED, "Guaranteed To Owned"},
                {USPI_SWIFT_EXPLODED, "Exploded"}};
    const char *words = change_words(node->index);
    bool is_first = true;
    if (words != NULL) uspi_swift_write(printer, words);
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        if ((node->index & bits[i].bit) == 0) continue;
        if (!is_first) uspi_swift_write(printer, " and ");
        is_first = false;
        uspi_swift_write(printer, bits[i].words);
    }
}

/* Returns an argument's next value: a child that is neither a change nor a payload; NULL: there is none. */
static const struct uspi_swift_node *next_value(const struct uspi_swift_child **value) {
    while (*value != NULL) {
        const struct uspi_swift_node *node = (*value)->node;
        *value = (*value)->next;
        if (node->kind != SWIFT_ARGUMENT_CHANGE && node->kind != SWIFT_ARGUMENT_PAYLOAD) return node;
    }
    return NULL;
}

static void print_value(struct uspi_swift_printer *printer, const struct uspi_swift_child **value) {
    const struct uspi_swift_node *node = next_value(value);
    if (node != NULL) uspi_swift_write_node(printer, node);
}

/* Writes the name of a function or a variable. */
static void print_named_value(struct uspi_swift_printer *printer, const struct uspi_swift_child **value) {
    const struct uspi_swift_node *node = next_value(value);
    if (node != NULL) uspi_swift_write_nested(printer, node);
}

/* Writes a string. In the name, one that begins with a digit or "_" has an extra "_". */
static void print_string_value(struct uspi_swift_printer *printer, const struct uspi_swift_child **value) {
    const struct uspi_swift_node *node = next_value(value);
    if (node == NULL) return;
    if (node->has_text && node->length > 0 && node->text[0] == '_') {
        uspi_swift_write_span(printer, node->text + 1, node->length - 1);
    } else {
        uspi_swift_write_node(printer, node);
    }
}

/* Writes the types that a closure captured. Like `swift demangle`, writes a comma only before a node with a text. */
static const struct uspi_swift_child *print_captured(struct uspi_swift_printer *printer,
                                                     const struct uspi_swift_child *child) {
    uspi_swift_write(printer, ", Argument Types : [");
    while (child != NULL && child->node->kind == SWIFT_TYPE) {
        uspi_swift_write_node(printer, child->node);
        child = child->next;
        if (child != NULL && child->node->has_text) uspi_swift_write(printer, ", ");
    }
    return child;
}

/* Writes a change with its payload and values. `child`: the change; `value`: the next value. Returns the child after
 * it. */
static const struct uspi_swift_child *print_change_with_values(struct uspi_swift_printer *printer,
                                                               const struct uspi_swift_child *child,
                                                               const struct uspi_swift_child **value) {
    const uint64_t change = child->node->index;
    const struct uspi_swift_child *next = child->next;
    const struct uspi_swift_node *payload = NULL;
    if (change_words(change) == NULL || change == USPI_SWIFT_BOX_TO_VALUE || change == USPI_SWIFT_BOX_TO_STACK ||
        change == USPI_SWIFT_IN_OUT_TO_OUT) {
        uspi_swift_write_node(printer, child->node);
        return next;
    }
    bool has_payload = change == USPI_SWIFT_CONSTANT_INTEGER || change == USPI_SWIFT_CONSTANT_FLOAT ||
                       change == USPI_SWIFT_CONSTANT_STRING || change == USPI_SWIFT_CLOSURE ||
                       change == USPI_SWIFT_SAME_AS_ARGUMENT;
    if (has_payload) {
        if (next == NULL) return NULL;
        payload = next->node;
        next = next->next;
    }
    uspi_swift_write(printer, "[");
    uspi_swift_write_node(printer, child->node);
    uspi_swift_write(printer, change == USPI_SWIFT_SAME_AS_ARGUMENT ? " " : " : ");
    if (has_payload) uspi_swift_write_node(printer, payload);
    switch (change) {
    case USPI_SWIFT_CONSTANT_FUNCTION:
    case USPI_SWIFT_CONSTANT_GLOBAL: print_named_value(printer, value); break;
    case USPI_SWIFT_CONSTANT_STRING:
        uspi_swift_write(printer, "'");
        print_string_value(printer, value);
        uspi_swift_write(printer, "'");
        break;
    case USPI_SWIFT_CONSTANT_KEY_PATH:
        print_value(printer, value);
        uspi_swift_write(printer, "<");
        print_value(printer, value);
        uspi_swift_write(printer, ",");
        print_value(printer, value);
        uspi_swift_write(printer, ">");
        break;
    case USPI_SWIFT_CONSTANT_STRUCT: print_value(printer, value); break;
    case USPI_SWIFT_CLOSURE: next = print_captured(printer, next); break;
    default: break;
    }
    uspi_swift_write(printer, "]");
    return next;
}

static void print_changes(struct uspi_swift_printer *printer, const struct uspi_swift_node *argument) {
    const struct uspi_swift_child *child = argument->first, *value = argument->first;
    while (child != NULL && child->node->has_index) child = print_change_with_values(printer, child, &value);
}

/* ---- specializations ---- */

static const char *specialization_words(uint16_t kind) {
    switch (kind) {
    case SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION: return "function signature specialization <";
    case SWIFT_GENERIC_PARTIAL_SPECIALIZATION: return "generic partial specialization <";
    case SWIFT_GENERIC_PARTIAL_SPECIALIZATION_NOT_REABSTRACTED:
        return "generic not-reabstracted partial specialization <";
    case SWIFT_GENERIC_SPECIALIZATION:
    case SWIFT_GENERIC_SPECIALIZATION_IN_RESILIENCE_DOMAIN: return "generic specialization <";
    case SWIFT_GENERIC_SPECIALIZATION_PRESPECIALIZED: return "generic pre-specialization <";
    case SWIFT_GENERIC_SPECIALIZATION_NOT_REABSTRACTED: return "generic not re-abstracted specialization <";
    case SWIFT_INLINED_GENERIC_FUNCTION: return "inlined generic function <";
    default: return NULL;
    }
}

static void print_parts(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    bool is_partial = node->kind == SWIFT_GENERIC_PARTIAL_SPECIALIZATION ||
                      node->kind == SWIFT_GENERIC_PARTIAL_SPECIALIZATION_NOT_REABSTRACTED;
    bool is_first = true;
    uint64_t number = 0;
    for (const struct uspi_swift_child *child = node->first; child != NULL; child = child->next) {
        const struct uspi_swift_node *part = child->node;
        if (part->kind == SWIFT_SPECIALIZATION_PASS || part->kind == SWIFT_DROPPED_ARGUMENT) continue;
        bool is_serialized = part->kind == SWIFT_IS_SERIALIZED;
        if (is_serialized || part->child_count > 0) {
            if (!is_first) uspi_swift_write(printer, ", ");
            is_first = false;
            if (is_partial && !is_serialized) uspi_swift_write(printer, "Signature = ");
            switch (part->kind) {
            case SWIFT_SPECIALIZATION_ARGUMENT:
                uspi_swift_write(printer, "Arg[");
                uspi_swift_write_number(printer, number);
                uspi_swift_write(printer, "] = ");
                print_changes(printer, part);
                break;
            case SWIFT_SPECIALIZATION_RETURN:
                uspi_swift_write(printer, "Return = ");
                print_changes(printer, part);
                break;
            default: uspi_swift_write_node(printer, part); break;
            }
        }
        if (!is_serialized) number++;
    }
}

static void print_specialization(struct uspi_swift_printer *printer, const struct uspi_swift_node *node,
                                 const char *words) {
    if (uspi_swift_is_simple(printer)) {
        bool is_said = printer->is_specialized || uspi_swift_is_short(printer);
        if (!is_said) uspi_swift_write(printer, "specialized ");
        printer->is_specialized = true;
        return;
    }
    if (uspi_swift_first_child(node)->kind == SWIFT_REPRESENTATION_CHANGED) {
        uspi_swift_write(printer, "representation changed of ");
        return;
    }
    uspi_swift_write(printer, words);
    print_parts(printer, node);
    uspi_swift_write(printer, "> of ");
}

bool uspi_swift_print_specialization(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    const char *words = specialization_words(node->kind);
    if (words != NULL) {
        print_specialization(printer, node, words);
        return true;
    }
    switch (node->kind) {
    case SWIFT_ARGUMENT_CHANGE: print_change(printer, node); return true;
    case SWIFT_ARGUMENT_PAYLOAD:
        if (node->has_text) {
            uspi_swift_write_nested(printer, node);
        } else {
            uspi_swift_write_number(printer, node->index);
        }
        return true;
    case SWIFT_SPECIALIZATION_TYPE:
        uspi_swift_write_child(printer, node, 0);
        for (const struct uspi_swift_child *child = node->first->next; child != NULL; child = child->next) {
            uspi_swift_write(printer, child == node->first->next ? " with " : " and ");
            uspi_swift_write_node(printer, child->node);
        }
        return true;
    default: return false;
    }
}
