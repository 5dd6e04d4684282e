/* SPDX-License-Identifier: MIT */
/* See print.h: the text and the list of scheduled items. */
#include "lib/demangle/swift/print.h"

#include "lib/base/array.h"
#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

/* The maximum size of the text in bytes; names with a longer text stay mangled. A name that refers to its own parts can
 * double every few characters. */
#define TEXT_MAX (UINT64_C(1) << 20)

/* The maximum number of items that are scheduled at one time. */
#define ITEM_MAX (UINT64_C(1) << 17)

/* ---- the text and the list ---- */

/* Makes room for `needed` elements, at first for 256. Returns the array, which may have moved; NULL: memory lacks. */
static void *grow(void *array, size_t *capacity, size_t needed, size_t size) {
    return uspi_array_reserve(array, capacity, needed > 256 ? needed : 256, size);
}

void uspi_swift_put(struct uspi_swift_printer *printer, const char *text, size_t length) {
    if (printer->has_failed || length > TEXT_MAX - printer->length) {
        printer->has_failed = true;
        return;
    }
    if (length > printer->capacity - printer->length) {
        char *grown = grow(printer->text, &printer->capacity, printer->length + length, 1);
        if (grown == NULL) {
            printer->has_failed = true;
            return;
        }
        printer->text = grown;
    }
    memcpy(printer->text + printer->length, text, length);
    printer->length += length;
}

static void put_number(struct uspi_swift_printer *printer, uint64_t number) {
    char digits[24];
    struct uspi_text text = uspi_text_in(digits, sizeof digits);
    uspi_put_decimal(&text, number, 0);
    uspi_swift_put(printer, digits, text.used);
}

void uspi_swift_schedule_more(struct uspi_swift_printer *printer, struct uspi_swift_item item) {
    const size_t count = printer->item_count;
    struct uspi_swift_item *grown =
        count < ITEM_MAX ? grow(printer->items, &printer->item_capacity, count + 1, sizeof *grown) : NULL;
    if (grown == NULL) {
        printer->has_failed = true;
        return;
    }
    printer->items = grown;
    printer->items[printer->item_count++] = item;
}

/* ---- scheduling ---- */

void uspi_swift_write_span(struct uspi_swift_printer *printer, const char *text, size_t length) {
    if (uspi_swift_is_next(printer)) {
        uspi_swift_put(printer, text, length);
    } else {
        uspi_swift_schedule(
            printer,
            (struct uspi_swift_item){.numbers = uspi_swift_numbers(USPI_SWIFT_WRITE_TEXT, 0, length), .text = text});
    }
}

void uspi_swift_write(struct uspi_swift_printer *printer, const char *string) {
    uspi_swift_write_span(printer, string, strlen(string));
}

void uspi_swift_write_text(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    if (node == NULL || !node->has_text) {
        printer->is_malformed = true;
    } else {
        uspi_swift_write_span(printer, node->text, node->length);
    }
}

void uspi_swift_write_number(struct uspi_swift_printer *printer, uint64_t number) {
    if (uspi_swift_is_next(printer)) {
        put_number(printer, number);
    } else {
        uspi_swift_schedule(
            printer,
            (struct uspi_swift_item){.numbers = uspi_swift_numbers(USPI_SWIFT_WRITE_NUMBER, 0, 0), .value = number});
    }
}

/* Returns whether a node is written as its text only. */
static bool is_leaf(const struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    return node->kind == SWIFT_IDENTIFIER || (node->kind == SWIFT_MODULE && !uspi_swift_is_simple(printer));
}

/* Writes a node at a depth: at once if possible, otherwise schedules it. Nodes of kind SWIFT_TYPE are replaced by their
 * child. */
void uspi_swift_write_at(struct uspi_swift_printer *printer, enum uspi_swift_action action,
                         const struct uspi_swift_node *node, unsigned depth) {
    for (; node != NULL && node->kind == SWIFT_TYPE && depth <= USPI_SWIFT_DEPTH_MAX; depth++) {
        node = uspi_swift_first_child(node);
    }
    if (node == NULL) {
        printer->is_malformed = true;
    } else if (uspi_swift_is_next(printer) && depth <= USPI_SWIFT_DEPTH_MAX && is_leaf(printer, node)) {
        uspi_swift_put(printer, node->text, node->length);
    } else {
        uspi_swift_schedule(printer,
                            (struct uspi_swift_item){.numbers = uspi_swift_numbers(action, depth, 0), .node = node});
    }
}

void uspi_swift_write_node(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    uspi_swift_write_at(printer, USPI_SWIFT_WRITE_NODE, node, printer->depth + 1);
}

void uspi_swift_write_child(struct uspi_swift_printer *printer, const struct uspi_swift_node *node, size_t position) {
    uspi_swift_write_node(printer, uspi_swift_child_at(node, position));
}

void uspi_swift_write_context(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    uspi_swift_write_at(printer, USPI_SWIFT_WRITE_CONTEXT, node, printer->depth + 1);
}

void uspi_swift_write_children_from(struct uspi_swift_printer *printer, const struct uspi_swift_child *first,
                                    enum uspi_swift_separator separator) {
    if (first == NULL) return;
    uspi_swift_schedule(printer, (struct uspi_swift_item){.numbers = uspi_swift_numbers(USPI_SWIFT_WRITE_CHILDREN,
                                                                                        printer->depth + 1, separator),
                                                          .child = first});
}

void uspi_swift_write_children(struct uspi_swift_printer *printer, const struct uspi_swift_node *node,
                               enum uspi_swift_separator separator) {
    if (node == NULL) {
        printer->is_malformed = true;
    } else {
        uspi_swift_write_children_from(printer, node->first, separator);
    }
}

void uspi_swift_write_grouped(struct uspi_swift_printer *printer, const struct uspi_swift_node *type) {
    bool is_simple = uspi_swift_is_simple_type(type);
    if (!is_simple) uspi_swift_write(printer, "(");
    uspi_swift_write_node(printer, type);
    if (!is_simple) uspi_swift_write(printer, ")");
}

void uspi_swift_write_dot(struct uspi_swift_printer *printer, size_t length) {
    if (!uspi_swift_is_next(printer)) {
        uspi_swift_schedule(printer,
                            (struct uspi_swift_item){.numbers = uspi_swift_numbers(USPI_SWIFT_WRITE_DOT, 0, length)});
    } else if (printer->length != length) {
        uspi_swift_put(printer, ".", 1);
    }
}

void uspi_swift_write_nested(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    uspi_swift_schedule(
        printer, (struct uspi_swift_item){.numbers = uspi_swift_numbers(USPI_SWIFT_WRITE_NESTED, 0, 0), .node = node});
}

void uspi_swift_write_form(struct uspi_swift_printer *printer, unsigned form) {
    uspi_swift_schedule(printer, (struct uspi_swift_item){.numbers = uspi_swift_numbers(USPI_SWIFT_SET_FORM, 0, form)});
}

void uspi_swift_printer_free(struct uspi_swift_printer *printer) {
    free(printer->text);
    free(printer->items);
    printer->text = NULL;
    printer->items = NULL;
    printer->capacity = printer->item_capacity = 0;
}
