/* SPDX-License-Identifier: MIT */
/* Writes the types of functions: those of the language, and those of the optimizer. */
#include "lib/demangle/swift/print.h"

/* ---- functions of the language ---- */

static void print_parameters(struct uspi_swift_printer *printer, const struct uspi_swift_node *labels,
                             const struct uspi_swift_node *tuple, bool has_types) {
    if (tuple == NULL || tuple->kind != SWIFT_ARGUMENT_TUPLE) {
        printer->is_malformed = true;
        return;
    }
    const struct uspi_swift_node *parameters = uspi_swift_first_child(uspi_swift_first_child(tuple));
    if (parameters == NULL || parameters->kind != SWIFT_TUPLE) {
        uspi_swift_write(printer, has_types ? "(" : "(_:");
        if (has_types) uspi_swift_write_node(printer, parameters);
        uspi_swift_write(printer, ")");
        return;
    }
    const struct uspi_swift_child *label = labels != NULL ? labels->first : NULL;
    bool has_labels = label != NULL;
    uspi_swift_write(printer, "(");
    for (const struct uspi_swift_child *parameter = parameters->first; parameter != NULL; parameter = parameter->next) {
        const struct uspi_swift_node *name = NULL;
        if (has_labels) {
            if (label != NULL && label->node->kind == SWIFT_IDENTIFIER) name = label->node;
            if (label != NULL) label = label->next;
        } else if (!has_types) {
            name = uspi_swift_child_of_kind(parameter->node, SWIFT_TUPLE_ELEMENT_NAME);
        }
        if (has_labels || !has_types) {
            if (name != NULL) uspi_swift_write_text(printer, name);
            uspi_swift_write(printer, name != NULL ? ":" : "_:");
        }
        if (!has_types) continue;
        if (has_labels) uspi_swift_write(printer, " ");
        uspi_swift_write_node(printer, parameter->node);
        if (parameter->next != NULL) uspi_swift_write(printer, ", ");
    }
    uspi_swift_write(printer, ")");
}

/* Writes a calling convention of C code, and the C type if it is given. */
static void print_convention(struct uspi_swift_printer *printer, const struct uspi_swift_node *type,
                             const char *convention) {
    const struct uspi_swift_node *first = uspi_swift_first_child(type);
    uspi_swift_write(printer, "@convention(");
    uspi_swift_write(printer, convention);
    if (first->kind == SWIFT_CLANG_TYPE) {
        uspi_swift_write(printer, ", mangledCType: \"");
        uspi_swift_write_node(printer, first);
        uspi_swift_write(printer, "\"");
    }
    uspi_swift_write(printer, ") ");
}

static void print_function_kind(struct uspi_swift_printer *printer, const struct uspi_swift_node *type) {
    switch (type->kind) {
    case SWIFT_AUTO_CLOSURE_TYPE:
    case SWIFT_ESCAPING_AUTO_CLOSURE_TYPE: uspi_swift_write(printer, "@autoclosure "); break;
    case SWIFT_THIN_FUNCTION_TYPE: uspi_swift_write(printer, "@convention(thin) "); break;
    case SWIFT_C_FUNCTION_POINTER: print_convention(printer, type, "c"); break;
    case SWIFT_ESCAPING_OBJC_BLOCK:
        uspi_swift_write(printer, "@escaping ");
        print_convention(printer, type, "block");
        break;
    case SWIFT_OBJC_BLOCK: print_convention(printer, type, "block"); break;
    default: break;
    }
}

/* Returns *child and moves to the next one if it is of a kind; otherwise NULL. */
static const struct uspi_swift_node *take_if(const struct uspi_swift_child **child, uint16_t kind) {
    if (*child == NULL || (*child)->node->kind != kind) return NULL;
    const struct uspi_swift_node *taken = (*child)->node;
    *child = (*child)->next;
    return taken;
}

void uspi_swift_print_function_type(struct uspi_swift_printer *printer, const struct uspi_swift_node *labels,
                                    const struct uspi_swift_node *type, bool is_signature) {
    if (type == NULL || type->child_count < 2) {
        printer->is_malformed = true;
        return;
    }
    const struct uspi_swift_child *child = type->first;
    print_function_kind(printer, type);
    take_if(&child, SWIFT_CLANG_TYPE);
    bool is_sending = take_if(&child, SWIFT_SENDING_RESULT_FUNCTION) != NULL;
    const struct uspi_swift_node *isolation = take_if(&child, SWIFT_ISOLATED_ANY_FUNCTION);
    if (isolation != NULL) uspi_swift_write_node(printer, isolation);
    const struct uspi_swift_node *caller = take_if(&child, SWIFT_NONISOLATED_CALLER_FUNCTION);
    const struct uspi_swift_node *actor = take_if(&child, SWIFT_GLOBAL_ACTOR_FUNCTION);
    if (actor != NULL) uspi_swift_write_node(printer, actor);
    const struct uspi_swift_node *differentiable = take_if(&child, SWIFT_DIFFERENTIABLE_FUNCTION);
    const struct uspi_swift_node *thrown = take_if(&child, SWIFT_THROWS_ANNOTATION);
    if (thrown == NULL) thrown = take_if(&child, SWIFT_TYPED_THROWS_ANNOTATION);
    const struct uspi_swift_node *sendable = take_if(&child, SWIFT_SENDABLE_FUNCTION);
    const struct uspi_swift_node *async = take_if(&child, SWIFT_ASYNC_ANNOTATION);
    if (differentiable != NULL) uspi_swift_write_node(printer, differentiable);
    if (caller != NULL) uspi_swift_write_node(printer, caller);
    if (sendable != NULL) uspi_swift_write_node(printer, sendable);
    /* The last two children are the parameters and the result. */
    bool has_types = !uspi_swift_is_simple(printer) || (uspi_swift_is_short(printer) && !is_signature);
    print_parameters(printer, labels, uspi_swift_child_at(type, type->child_count - 2), has_types);
    if (!has_types) return;
    if (async != NULL) uspi_swift_write_node(printer, async);
    if (thrown != NULL) uspi_swift_write_node(printer, thrown);
    uspi_swift_write(printer, " -> ");
    if (is_sending) uspi_swift_write(printer, "sending ");
    uspi_swift_write_node(printer, type->last->node);
}

bool uspi_swift_needs_blank(const struct uspi_swift_node *type) {
    while (type != NULL && type->kind == SWIFT_TYPE) type = uspi_swift_first_child(type);
    if (type == NULL) return true;
    return type->kind != SWIFT_FUNCTION_TYPE && type->kind != SWIFT_NO_ESCAPE_FUNCTION_TYPE &&
           type->kind != SWIFT_UNCURRIED_FUNCTION_TYPE && type->kind != SWIFT_GENERIC_TYPE;
}

/* ---- functions that the optimizer sees ---- */

/* The parts of an impl function type. */
struct impl_parts {
    const struct uspi_swift_node *pattern, *invocation, *sending; /* NULL: there is none */
    enum { ATTRIBUTES, INPUTS, RESULTS } state;
};

static void enter_state(struct uspi_swift_printer *printer, struct impl_parts *parts, int state) {
    if (parts->state == ATTRIBUTES && state > ATTRIBUTES) {
        if (parts->pattern != NULL) {
            uspi_swift_write(printer, "@substituted ");
            uspi_swift_write_child(printer, parts->pattern, 0);
            uspi_swift_write(printer, " ");
        }
        uspi_swift_write(printer, "(");
        parts->state = INPUTS;
    }
    if (parts->state == INPUTS && state > INPUTS) {
        uspi_swift_write(printer, parts->sending != NULL ? ") -> sending (" : ") -> (");
        parts->state = RESULTS;
    }
}

static void print_arguments(struct uspi_swift_printer *printer, const struct uspi_swift_node *arguments) {
    uspi_swift_write(printer, " for <");
    uspi_swift_write_children(printer, arguments, USPI_SWIFT_NO_SEPARATOR);
    uspi_swift_write(printer, ">");
}

static void print_impl_function(struct uspi_swift_printer *printer, const struct uspi_swift_node *type) {
    struct impl_parts parts = {0};
    for (const struct uspi_swift_child *child = type->first; child != NULL; child = child->next) {
        int state = ATTRIBUTES;
        switch (child->node->kind) {
        case SWIFT_IMPL_PATTERN_SUBSTITUTIONS: parts.pattern = child->node; continue;
        case SWIFT_IMPL_INVOCATION_SUBSTITUTIONS: parts.invocation = child->node; continue;
        case SWIFT_IMPL_SENDING_RESULT: parts.sending = child->node; continue;
        case SWIFT_IMPL_PARAMETER: state = INPUTS; break;
        case SWIFT_IMPL_RESULT:
        case SWIFT_IMPL_YIELD:
        case SWIFT_IMPL_ERROR_RESULT: state = RESULTS; break;
        default: break;
        }
        if (state != ATTRIBUTES && (int)parts.state == state) uspi_swift_write(printer, ", ");
        enter_state(printer, &parts, state);
        uspi_swift_write_node(printer, child->node);
        if (state == ATTRIBUTES) uspi_swift_write(printer, " ");
    }
    enter_state(printer, &parts, RESULTS);
    uspi_swift_write(printer, ")");
    if (parts.pattern != NULL) print_arguments(printer, uspi_swift_child_at(parts.pattern, 1));
    if (parts.invocation != NULL) print_arguments(printer, uspi_swift_first_child(parts.invocation));
}

/* Returns how many values of these kinds the type has. */
static unsigned count_values(const struct uspi_swift_node *type, uint16_t kind, uint16_t other) {
    unsigned count = 0;
    for (const struct uspi_swift_child *child = type->first; child != NULL; child = child->next) {
        count += child->node->kind == kind || child->node->kind == other;
    }
    return count;
}

static void print_values(struct uspi_swift_printer *printer, const struct uspi_swift_node *type, uint16_t kind,
                         uint16_t other) {
    bool is_first = true;
    for (const struct uspi_swift_child *child = type->first; child != NULL; child = child->next) {
        if (child->node->kind != kind && child->node->kind != other) continue;
        if (!is_first) uspi_swift_write(printer, ", ");
        is_first = false;
        uspi_swift_write_node(printer, child->node->last->node);
    }
}

/* Writes an impl function type like a function of the language: its parameters and results. */
static void print_impl_function_shortly(struct uspi_swift_printer *printer, const struct uspi_swift_node *type) {
    unsigned results = count_values(type, SWIFT_IMPL_RESULT, SWIFT_IMPL_YIELD);
    uspi_swift_write(printer, "(");
    print_values(printer, type, SWIFT_IMPL_PARAMETER, SWIFT_IMPL_PARAMETER);
    uspi_swift_write(printer, ")");
    if (uspi_swift_child_of_kind(type, SWIFT_IMPL_ASYNC) != NULL) uspi_swift_write(printer, " async");
    if (uspi_swift_child_of_kind(type, SWIFT_IMPL_ERROR_RESULT) != NULL) uspi_swift_write(printer, " throws");
    uspi_swift_write(printer, results == 1 ? " -> " : " -> (");
    print_values(printer, type, SWIFT_IMPL_RESULT, SWIFT_IMPL_YIELD);
    if (results != 1) uspi_swift_write(printer, ")");
}

/* Writes how a value is passed, at most two qualifiers, and its type. Like `swift demangle`, leaves out three
 * qualifiers. */
static void print_impl_value(struct uspi_swift_printer *printer, const struct uspi_swift_node *value) {
    uspi_swift_write_child(printer, value, 0);
    uspi_swift_write(printer, " ");
    if (value->child_count == 3 || value->child_count == 4) uspi_swift_write_child(printer, value, 1);
    if (value->child_count == 4) uspi_swift_write_child(printer, value, 2);
    uspi_swift_write_node(printer, value->last->node);
}

static void print_impl_convention(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    uspi_swift_write(printer, "@convention(");
    uspi_swift_write_text(printer, node);
    if (node->child_count > 0) {
        uspi_swift_write(printer, ", mangledCType: \"");
        uspi_swift_write_child(printer, node, 0);
        uspi_swift_write(printer, "\"");
    }
    uspi_swift_write(printer, ")");
}

bool uspi_swift_print_function_kind(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    switch (node->kind) {
    case SWIFT_FUNCTION_TYPE:
    case SWIFT_NO_ESCAPE_FUNCTION_TYPE:
    case SWIFT_UNCURRIED_FUNCTION_TYPE:
    case SWIFT_AUTO_CLOSURE_TYPE:
    case SWIFT_ESCAPING_AUTO_CLOSURE_TYPE:
    case SWIFT_THIN_FUNCTION_TYPE:
    case SWIFT_C_FUNCTION_POINTER:
    case SWIFT_OBJC_BLOCK:
    case SWIFT_ESCAPING_OBJC_BLOCK: uspi_swift_print_function_type(printer, NULL, node, false); return true;
    case SWIFT_ARGUMENT_TUPLE: print_parameters(printer, NULL, node, !uspi_swift_is_simple(printer)); return true;
    case SWIFT_IMPL_FUNCTION_TYPE:
        if (uspi_swift_is_short(printer)) {
            print_impl_function_shortly(printer, node);
        } else {
            print_impl_function(printer, node);
        }
        return true;
    case SWIFT_IMPL_PARAMETER:
    case SWIFT_IMPL_RESULT: print_impl_value(printer, node); return true;
    case SWIFT_IMPL_FUNCTION_CONVENTION: print_impl_convention(printer, node); return true;
    default: return false;
    }
}
