/* SPDX-License-Identifier: MIT */
/* See print_run.h: the loop over scheduled items, and the phrases that describe most kinds of nodes. */
#include "lib/demangle/swift/print_run.h"

#include "lib/demangle/swift/name.h"

#include <string.h>

/* ---- phrases ---- */

/* Writes a phrase of kinds.c, in which these mean parts of the node:
 *   %0 to %9  a child                     %t  the text
 *   %*        all children                %#  the index
 *   %,        all, with commas            %d  the index as a signed number
 *   %.        all, with dots              %p  the first child, in parentheses if it needs them
 *   %_        all, with blanks */
static void write_phrase(struct uspi_swift_printer *printer, const struct uspi_swift_node *node, const char *phrase) {
    while (*phrase != '\0') {
        const char *percent = *phrase == '%' ? phrase : strchr(phrase, '%');
        if (percent == NULL) {
            uspi_swift_write(printer, phrase);
            return;
        }
        if (percent > phrase) uspi_swift_write_span(printer, phrase, (size_t)(percent - phrase));
        phrase = percent + 2;
        switch (percent[1]) {
        case 't': uspi_swift_write_text(printer, node); break;
        case '#': uspi_swift_write_number(printer, node->index); break;
        case 'd':
            if (node->index > INT64_MAX) uspi_swift_write(printer, "-");
            uspi_swift_write_number(printer, node->index > INT64_MAX ? 0 - node->index : node->index);
            break;
        case 'p': uspi_swift_write_grouped(printer, uspi_swift_first_child(node)); break;
        case '*': uspi_swift_write_children(printer, node, USPI_SWIFT_NO_SEPARATOR); break;
        case ',': uspi_swift_write_children(printer, node, USPI_SWIFT_COMMA); break;
        case '.': uspi_swift_write_children(printer, node, USPI_SWIFT_DOT); break;
        case '_': uspi_swift_write_children(printer, node, USPI_SWIFT_BLANK); break;
        default: uspi_swift_write_child(printer, node, (size_t)(percent[1] - '0')); break;
        }
    }
}

/* ---- writing scheduled items ---- */

/* Reverses the order of the new items, so that the next one is the last. */
static void turn_round(struct uspi_swift_printer *printer) {
    struct uspi_swift_item *items = printer->items;
    for (size_t low = printer->first, high = printer->item_count; high > low + 1; low++) {
        struct uspi_swift_item item = items[low];
        items[low] = items[--high];
        items[high] = item;
    }
}

static void write_node(struct uspi_swift_printer *printer, const struct uspi_swift_node *node, bool as_context) {
    if (printer->depth > USPI_SWIFT_DEPTH_MAX) {
        uspi_swift_put(printer, "<<too complex>>", strlen("<<too complex>>"));
        return;
    }
    const char *phrase = uspi_swift_phrase(node->kind, uspi_swift_is_simple(printer));
    if (phrase != NULL) {
        write_phrase(printer, node, phrase);
        return;
    }
    bool is_written = uspi_swift_print_entity(printer, node, as_context) || uspi_swift_print_type(printer, node) ||
                      uspi_swift_print_function_kind(printer, node) || uspi_swift_print_name(printer, node) ||
                      uspi_swift_print_generic(printer, node) || uspi_swift_print_specialization(printer, node) ||
                      uspi_swift_print_special(printer, node);
    if (!is_written) printer->is_malformed = true;
}

static void write_children(struct uspi_swift_printer *printer, struct uspi_swift_item item) {
    static const char *const separators[] = {
        [USPI_SWIFT_COMMA] = ", ", [USPI_SWIFT_DOT] = ".", [USPI_SWIFT_BLANK] = " ", [USPI_SWIFT_AMPERSAND] = " & "};
    const struct uspi_swift_child *child = item.child;
    uspi_swift_write_at(printer, USPI_SWIFT_WRITE_NODE, child->node, uspi_swift_depth_of(item));
    if (child->next == NULL) return;
    const uint32_t separator = uspi_swift_number_of(item);
    if (separator != USPI_SWIFT_NO_SEPARATOR) uspi_swift_write(printer, separators[separator]);
    item.child = child->next;
    uspi_swift_schedule(printer, item);
}

/* What is the printer's again after a nested name. */
static unsigned outside(const struct uspi_swift_printer *printer) {
    return printer->form << 1 | printer->is_specialized;
}

static void begin_nested(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    if (!node->has_text) {
        printer->is_malformed = true;
        return;
    }
    const struct uspi_swift_node *root = uspi_swift_parse(printer->memory, node->text, node->length);
    if (root == NULL) {
        if (printer->memory->is_exhausted) printer->has_failed = true;
        uspi_swift_put(printer, node->text, node->length);
        return;
    }
    uspi_swift_schedule(
        printer, (struct uspi_swift_item){.numbers = uspi_swift_numbers(USPI_SWIFT_WRITE_NODE, 0, 0), .node = root});
    uspi_swift_schedule(printer, (struct uspi_swift_item){.numbers = uspi_swift_numbers(
                                                              USPI_SWIFT_END_NESTED, outside(printer), printer->length),
                                                          .node = node});
    printer->form = USPI_SWIFT_FORM_NO_SUGAR;
    printer->is_specialized = false;
}

static void end_nested(struct uspi_swift_printer *printer, struct uspi_swift_item item) {
    printer->form = uspi_swift_depth_of(item) >> 1;
    printer->is_specialized = (uspi_swift_depth_of(item) & 1) != 0;
}

/* Handles a malformed tree: writes the nested name that it belongs to mangled; without one, the whole name stays
 * mangled. */
static void give_up(struct uspi_swift_printer *printer) {
    while (printer->item_count > 0) {
        struct uspi_swift_item item = printer->items[--printer->item_count];
        if (uspi_swift_action_of(item) != USPI_SWIFT_END_NESTED) continue;
        printer->is_malformed = false;
        printer->length = uspi_swift_number_of(item);
        uspi_swift_put(printer, item.node->text, item.node->length);
        end_nested(printer, item);
        return;
    }
    printer->has_failed = true;
}

static void write_item(struct uspi_swift_printer *printer, struct uspi_swift_item item) {
    const enum uspi_swift_action action = uspi_swift_action_of(item);
    const uint32_t number = uspi_swift_number_of(item);
    switch (action) {
    case USPI_SWIFT_WRITE_NODE:
    case USPI_SWIFT_WRITE_CONTEXT: write_node(printer, item.node, action == USPI_SWIFT_WRITE_CONTEXT); break;
    case USPI_SWIFT_WRITE_TEXT: uspi_swift_put(printer, item.text, number); break;
    case USPI_SWIFT_WRITE_NUMBER: uspi_swift_write_number(printer, item.value); break;
    case USPI_SWIFT_WRITE_CHILDREN: write_children(printer, item); break;
    case USPI_SWIFT_WRITE_DOT: uspi_swift_write_dot(printer, number); break;
    case USPI_SWIFT_WRITE_PART: uspi_swift_print_part(printer, (enum uspi_swift_part)number, item.node); break;
    case USPI_SWIFT_WRITE_NESTED: begin_nested(printer, item.node); break;
    case USPI_SWIFT_END_NESTED: end_nested(printer, item); break;
    case USPI_SWIFT_SET_FORM: printer->form = number; break;
    }
}

bool uspi_swift_print(struct uspi_swift_printer *printer, const struct uspi_swift_node *root, unsigned form) {
    printer->form = form;
    printer->length = printer->item_count = 0;
    printer->first = printer->item_count;
    printer->work = 0;
    printer->is_specialized = printer->is_malformed = printer->has_failed = false;
    uspi_swift_schedule(
        printer, (struct uspi_swift_item){.numbers = uspi_swift_numbers(USPI_SWIFT_WRITE_NODE, 0, 0), .node = root});
    while (printer->item_count > 0 && !printer->has_failed) {
        struct uspi_swift_item item = printer->items[--printer->item_count];
        printer->first = printer->item_count;
        printer->depth = uspi_swift_depth_of(item);
        uspi_swift_count_work(printer, 1);
        write_item(printer, item);
        if (printer->is_malformed) {
            give_up(printer);
        } else {
            turn_round(printer);
        }
    }
    return !printer->has_failed && printer->length > 0;
}
