/* SPDX-License-Identifier: MIT */
/* Writes whole symbols, and thunks and other compiler-generated symbols that no phrase can describe. */
#include "lib/demangle/swift/print.h"

#include <string.h>

/* ---- the whole ---- */

/* Returns whether a suffix ends like the name of a part of an async function: "TQ" or "TY", a number, "_". */
static bool names_part(const struct uspi_swift_node *suffix, char letter) {
    size_t at = suffix->length;
    if (at == 0 || suffix->text[--at] != '_') return false;
    while (at > 0 && suffix->text[at - 1] >= '0' && suffix->text[at - 1] <= '9') at--;
    return at >= 2 && suffix->text[at - 2] == 'T' && suffix->text[at - 1] == letter;
}

/* Returns whether a symbol is a part of an async function, which the compiler splits: marked after its name, or in
 * LLVM's suffix. */
static bool is_part(const struct uspi_swift_node *root, uint16_t kind, char letter) {
    const struct uspi_swift_node *suffix = uspi_swift_child_of_kind(root, SWIFT_SUFFIX);
    return uspi_swift_child_of_kind(root, kind) != NULL || (suffix != NULL && names_part(suffix, letter));
}

/* Writes a whole symbol. The short form adds the part of an async function after its name. */
static void print_global(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    uspi_swift_write_children(printer, node, USPI_SWIFT_NO_SEPARATOR);
    if (!uspi_swift_is_short(printer)) return;
    if (is_part(node, SWIFT_ASYNC_AWAIT_RESUME, 'Q')) uspi_swift_write(printer, " await");
    if (is_part(node, SWIFT_ASYNC_SUSPEND_RESUME, 'Y')) uspi_swift_write(printer, " suspend");
}

/* Writes a string as in Swift source code. */
static void print_quoted(struct uspi_swift_printer *printer, const char *text, size_t length) {
    static const char digits[] = "0123456789ABCDEF";
    static const char escaped[] = "\\\t\n\r\"", letters[] = "\\tnr\"";
    uspi_swift_write(printer, "\"");
    for (size_t i = 0; i < length; i++) {
        const uint8_t byte = (uint8_t)text[i];
        const char *found = byte != 0 ? strchr(escaped, (char)byte) : NULL;
        if (byte == 0) {
            uspi_swift_write(printer, "\\0");
        } else if (found != NULL) {
            uspi_swift_write(printer, "\\");
            uspi_swift_write_span(printer, &letters[found - escaped], 1);
        } else if (byte < 0x20 || byte >= 0x7f) {
            uspi_swift_write(printer, "\\x");
            uspi_swift_write_span(printer, &digits[byte >> 4], 1);
            uspi_swift_write_span(printer, &digits[byte & 0xf], 1);
        } else {
            uspi_swift_write_span(printer, &text[i], 1);
        }
    }
    uspi_swift_write(printer, "\"");
}

static void print_suffix(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    if (uspi_swift_is_simple(printer)) return;
    uspi_swift_write(printer, " with unmangled suffix ");
    print_quoted(printer, node->text, node->length);
}

static void print_partial_apply(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    bool is_objc = node->kind == SWIFT_PARTIAL_APPLY_OBJC;
    uspi_swift_write(printer, uspi_swift_is_simple(printer) ? "partial apply"
                              : is_objc                     ? "partial apply ObjC forwarder"
                                                            : "partial apply forwarder");
    if (node->child_count == 0) return;
    uspi_swift_write(printer, " for ");
    uspi_swift_write_children(printer, node, USPI_SWIFT_NO_SEPARATOR);
}

/* ---- thunks ---- */

/* The children: a signature if there is one, Self if it is captured, the type that is made, the type that it is made
 * from. */
static void print_reabstraction(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    bool has_self = node->kind == SWIFT_REABSTRACTION_THUNK_HELPER_WITH_SELF;
    size_t first = node->child_count == (has_self ? 4 : 3) ? 1 : 0;
    if (uspi_swift_is_simple(printer) && !has_self) {
        uspi_swift_write(printer, "thunk for ");
        uspi_swift_write_node(printer, node->last->node);
        return;
    }
    uspi_swift_write(printer, node->kind == SWIFT_REABSTRACTION_THUNK_HELPER ? "reabstraction thunk helper "
                                                                             : "reabstraction thunk ");
    if (first == 1) {
        uspi_swift_write_child(printer, node, 0);
        uspi_swift_write(printer, " ");
    }
    uspi_swift_write(printer, "from ");
    uspi_swift_write_child(printer, node, first + (has_self ? 2 : 1));
    uspi_swift_write(printer, " to ");
    uspi_swift_write_child(printer, node, first + (has_self ? 1 : 0));
    if (has_self) {
        uspi_swift_write(printer, " self ");
        uspi_swift_write_child(printer, node, first);
    }
}

/* The children: the block's type, the result's, how an error is thrown, a signature if there is one. */
static void print_completion_handler(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    static const char *const flags[] = {"", " nonzero on error", " zero on error"};
    const struct uspi_swift_node *signature = uspi_swift_child_at(node, 3);
    const uint64_t flag = uspi_swift_child_at(node, 2)->index;
    if (node->kind == SWIFT_CHECKED_OBJC_COMPLETION_HANDLER) uspi_swift_write(printer, "checked ");
    uspi_swift_write(printer, "@objc completion handler block implementation for ");
    if (signature != NULL) uspi_swift_write_node(printer, signature);
    uspi_swift_write_child(printer, node, 0);
    uspi_swift_write(printer, " with result type ");
    uspi_swift_write_child(printer, node, 1);
    uspi_swift_write(printer, flag < 3 ? flags[flag] : " <invalid error flag>");
}

static void print_key_path_accessor(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    switch (node->kind) {
    case SWIFT_KEY_PATH_GETTER: uspi_swift_write(printer, "key path getter for "); break;
    case SWIFT_KEY_PATH_SETTER: uspi_swift_write(printer, "key path setter for "); break;
    case SWIFT_KEY_PATH_UNAPPLIED_METHOD: uspi_swift_write(printer, "key path unapplied method "); break;
    default: uspi_swift_write(printer, "key path applied method "); break;
    }
    uspi_swift_write_child(printer, node, 0);
    uspi_swift_write(printer, " : ");
    for (const struct uspi_swift_child *child = node->first->next; child != NULL; child = child->next) {
        if (child->node->kind == SWIFT_IS_SERIALIZED) uspi_swift_write(printer, ", ");
        uspi_swift_write_node(printer, child->node);
    }
}

/* The children: types, a signature if there is one, and whether it is serialized. */
static void print_key_path_operator(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    const struct uspi_swift_node *signature = uspi_swift_child_of_kind(node, SWIFT_GENERIC_SIGNATURE);
    bool is_first = true;
    uspi_swift_write(printer, node->kind == SWIFT_KEY_PATH_EQUALS ? "key path index equality operator for "
                                                                  : "key path index hash operator for ");
    if (signature != NULL) uspi_swift_write_node(printer, signature);
    uspi_swift_write(printer, "(");
    for (const struct uspi_swift_child *child = node->first; child != NULL; child = child->next) {
        if (child->node->kind != SWIFT_TYPE) continue;
        if (!is_first) uspi_swift_write(printer, ", ");
        is_first = false;
        uspi_swift_write_node(printer, child->node);
    }
    uspi_swift_write(printer, ")");
}

/* ---- derivatives ---- */

/* Writes the first `count` children. Returns the child after them. */
static const struct uspi_swift_child *print_first(struct uspi_swift_printer *printer,
                                                  const struct uspi_swift_node *node, size_t count) {
    const struct uspi_swift_child *child = node->first;
    for (; count > 0 && child != NULL; count--, child = child->next) uspi_swift_write_node(printer, child->node);
    return child;
}

/* Writes the two subsets of a derivative, which are children. */
static void print_subsets(struct uspi_swift_printer *printer, const struct uspi_swift_child *subsets) {
    uspi_swift_write(printer, " with respect to parameters ");
    uspi_swift_write_node(printer, subsets->node);
    uspi_swift_write(printer, " and results ");
    uspi_swift_write_node(printer, subsets->next->node);
}

static void print_derivative(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    size_t count = node->child_count - 2;
    const struct uspi_swift_node *signature = count > 0 ? uspi_swift_child_at(node, count - 1) : NULL;
    if (signature != NULL && signature->kind != SWIFT_GENERIC_SIGNATURE) signature = NULL;
    if (node->kind == SWIFT_AUTO_DIFF_VTABLE_THUNK) uspi_swift_write(printer, "vtable thunk for ");
    uspi_swift_write_text(printer, node);
    uspi_swift_write(printer, " of ");
    const struct uspi_swift_child *rest = print_first(printer, node, signature != NULL ? count - 1 : count);
    if (uspi_swift_is_simple(printer)) return;
    print_subsets(printer, signature != NULL ? rest->next : rest);
    if (signature == NULL) return;
    uspi_swift_write(printer, " with ");
    uspi_swift_write_node(printer, signature);
}

static void print_self_reordering(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    const struct uspi_swift_node *signature = uspi_swift_child_at(node, 2);
    uspi_swift_write(printer, "autodiff self-reordering reabstraction thunk for ");
    if (uspi_swift_is_simple(printer)) {
        uspi_swift_write_child(printer, node, 0);
        return;
    }
    uspi_swift_write_text(printer, node);
    if (signature != NULL) {
        uspi_swift_write_node(printer, signature);
        uspi_swift_write(printer, " ");
    }
    uspi_swift_write(printer, " from ");
    uspi_swift_write_child(printer, node, 0);
    uspi_swift_write(printer, " to ");
    uspi_swift_write_child(printer, node, 1);
}

/* The children: the nodes that it is made from, then three subsets. If there are several such nodes, the last is the
 * type that is made. */
static void print_subset_thunk(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    size_t count = node->child_count - 3;
    if (count == 0) {
        printer->is_malformed = true;
        return;
    }
    uspi_swift_write(printer, "autodiff subset parameters thunk for ");
    uspi_swift_write_text(printer, node);
    uspi_swift_write(printer, " from ");
    const struct uspi_swift_child *rest = print_first(printer, node, count == 1 ? 1 : count - 1);
    if (uspi_swift_is_simple(printer)) return;
    if (count > 1) rest = rest->next;
    print_subsets(printer, rest);
    uspi_swift_write(printer, " to parameters ");
    uspi_swift_write_node(printer, node->last->node);
    if (count == 1) return;
    uspi_swift_write(printer, " of type ");
    uspi_swift_write_child(printer, node, count - 1);
}

static void print_differentiability_witness(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    bool is_generic = node->last->node->kind == SWIFT_GENERIC_SIGNATURE;
    uspi_swift_write_text(printer, node);
    uspi_swift_write(printer, " differentiability witness for ");
    print_subsets(printer, print_first(printer, node, node->child_count - (is_generic ? 3 : 2)));
    if (!is_generic || uspi_swift_is_short(printer)) return;
    uspi_swift_write(printer, " with ");
    uspi_swift_write_node(printer, node->last->node);
}

static void print_index_subset(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    bool is_first = true;
    uspi_swift_count_work(printer, node->length);
    uspi_swift_write(printer, "{");
    for (uint32_t i = 0; i < node->length; i++) {
        if (node->text[i] != 'S') continue;
        if (!is_first) uspi_swift_write(printer, ", ");
        is_first = false;
        uspi_swift_write_number(printer, i);
    }
    uspi_swift_write(printer, "}");
}

bool uspi_swift_print_special(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    switch (node->kind) {
    case SWIFT_GLOBAL: print_global(printer, node); return true;
    case SWIFT_SUFFIX: print_suffix(printer, node); return true;
    case SWIFT_PARTIAL_APPLY:
    case SWIFT_PARTIAL_APPLY_OBJC: print_partial_apply(printer, node); return true;
    case SWIFT_REABSTRACTION_THUNK:
    case SWIFT_REABSTRACTION_THUNK_HELPER:
    case SWIFT_REABSTRACTION_THUNK_HELPER_WITH_SELF: print_reabstraction(printer, node); return true;
    case SWIFT_OBJC_COMPLETION_HANDLER:
    case SWIFT_CHECKED_OBJC_COMPLETION_HANDLER: print_completion_handler(printer, node); return true;
    case SWIFT_KEY_PATH_GETTER:
    case SWIFT_KEY_PATH_SETTER:
    case SWIFT_KEY_PATH_UNAPPLIED_METHOD:
    case SWIFT_KEY_PATH_APPLIED_METHOD: print_key_path_accessor(printer, node); return true;
    case SWIFT_KEY_PATH_EQUALS:
    case SWIFT_KEY_PATH_HASH: print_key_path_operator(printer, node); return true;
    case SWIFT_AUTO_DIFF_FUNCTION:
    case SWIFT_AUTO_DIFF_VTABLE_THUNK: print_derivative(printer, node); return true;
    case SWIFT_AUTO_DIFF_SELF_REORDERING_THUNK: print_self_reordering(printer, node); return true;
    case SWIFT_AUTO_DIFF_SUBSET_THUNK: print_subset_thunk(printer, node); return true;
    case SWIFT_DIFFERENTIABILITY_WITNESS: print_differentiability_witness(printer, node); return true;
    case SWIFT_INDEX_SUBSET: print_index_subset(printer, node); return true;
    case SWIFT_ONCE_DECLARATIONS: {
        bool is_one = node->child_count == 1;
        if (!is_one) uspi_swift_write(printer, "(");
        uspi_swift_write_children(printer, node, USPI_SWIFT_COMMA);
        if (!is_one) uspi_swift_write(printer, ")");
        return true;
    }
    default: return false;
    }
}
