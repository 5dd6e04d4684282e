/* SPDX-License-Identifier: MIT */
/* Shared declarations of the printer, which writes a tree as the text that people read.
 *
 * A node is written by scheduling its parts: texts, nodes, lists of nodes, in their order. Scheduled items are kept in
 * a list instead of the processor's stack, so that names may be nested to any depth. A text that is scheduled first is
 * written at once. */
#ifndef USPI_DEMANGLE_SWIFT_PRINT_H
#define USPI_DEMANGLE_SWIFT_PRINT_H

#include "lib/base/region.h"
#include "lib/demangle/swift/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How names are written, as bits; 0 is the full form. */
enum uspi_swift_form {
    USPI_SWIFT_FORM_SIMPLE = 1,   /* no modules, types, requirements, nor what distinguishes private names */
    USPI_SWIFT_FORM_SHORT = 2,    /* with SIMPLE: no generic parameters, conventions, notes of specialization */
    USPI_SWIFT_FORM_NO_SUGAR = 4, /* Swift.Optional<Swift.Int>, not Swift.Int? */
    USPI_SWIFT_FORM_WHERE = 8     /* with SIMPLE: but with requirements */
};

/* What separates the elements of a list. */
enum uspi_swift_separator {
    USPI_SWIFT_NO_SEPARATOR,
    USPI_SWIFT_COMMA,
    USPI_SWIFT_DOT,
    USPI_SWIFT_BLANK,
    USPI_SWIFT_AMPERSAND
};

/* Nodes below this depth are replaced by three words (swift include/swift/Demangling/Demangle.h,
 * NodePrinter::MaxDepth). */
#define USPI_SWIFT_DEPTH_MAX 768u

enum uspi_swift_action {
    USPI_SWIFT_WRITE_NODE,
    USPI_SWIFT_WRITE_CONTEXT,  /* a node before a name in it, as its context */
    USPI_SWIFT_WRITE_TEXT,     /* `number` bytes */
    USPI_SWIFT_WRITE_NUMBER,   /* `value` */
    USPI_SWIFT_WRITE_CHILDREN, /* `number`: enum uspi_swift_separator */
    USPI_SWIFT_WRITE_DOT,      /* a dot, unless nothing was written since the text had the length `number` */
    USPI_SWIFT_WRITE_PART,     /* `number`: enum uspi_swift_part */
    USPI_SWIFT_WRITE_NESTED,   /* the node's text, which may be a mangled name */
    USPI_SWIFT_END_NESTED,     /* `number`: the text's length before the nested name; `depth`: its form */
    USPI_SWIFT_SET_FORM        /* `number`: the form from here on */
};

/* A scheduled item. */
struct uspi_swift_item {
    uint64_t numbers; /* uspi_swift_numbers */
    union {
        const struct uspi_swift_node *node;
        const struct uspi_swift_child *child;
        const char *text;
        uint64_t value;
    };
};

/* Returns the numbers of an item as one word. A processor would have to wait before it loads an item whose small fields
 * were just stored one by one.
 *   depth   depth of the node
 *   number  depends on the action */
static inline uint64_t uspi_swift_numbers(enum uspi_swift_action action, unsigned depth, size_t number) {
    return (uint64_t)action | (uint64_t)(uint16_t)depth << 16 | (uint64_t)number << 32;
}

static inline enum uspi_swift_action uspi_swift_action_of(struct uspi_swift_item item) {
    return (enum uspi_swift_action)(item.numbers & 0xffff);
}

static inline unsigned uspi_swift_depth_of(struct uspi_swift_item item) { return item.numbers >> 16 & 0xffff; }

static inline uint32_t uspi_swift_number_of(struct uspi_swift_item item) { return (uint32_t)(item.numbers >> 32); }

struct uspi_swift_printer {
    struct uspi_region *memory; /* for names nested in the name */
    unsigned form;              /* enum uspi_swift_form */

    char *text;                    /* the text so far, not NUL-terminated; the printer owns it, malloc'ed */
    size_t length, capacity;       /* of the text, in bytes */
    struct uspi_swift_item *items; /* scheduled items, the next one last; the printer owns them, malloc'ed */
    size_t item_count, item_capacity;

    size_t first;        /* items from this index on were scheduled by the current item */
    unsigned depth;      /* depth of the current node */
    uint64_t work;       /* number of items handled so far */
    bool is_specialized; /* the simple form has noted the specialization */
    bool is_malformed;   /* the tree is malformed, or that of the current nested name */
    bool has_failed;     /* memory lacks, or the name is too much work */
};

/* ---- the text and the list ---- */

/* Writes text at once. */
void uspi_swift_put(struct uspi_swift_printer *printer, const char *text, size_t length);

/* Does what uspi_swift_schedule does when the list is full. */
void uspi_swift_schedule_more(struct uspi_swift_printer *printer, struct uspi_swift_item item);

static inline void uspi_swift_schedule(struct uspi_swift_printer *printer, struct uspi_swift_item item) {
    if (printer->item_count == printer->item_capacity) {
        uspi_swift_schedule_more(printer, item);
    } else {
        printer->items[printer->item_count++] = item;
    }
}

/* Returns whether nothing was scheduled yet, so that text can be written at once. */
static inline bool uspi_swift_is_next(const struct uspi_swift_printer *printer) {
    return printer->item_count == printer->first;
}

/* The maximum number of items that are written. The text's size does not limit it, because parts may be empty. */
#define USPI_SWIFT_WORK_MAX (UINT64_C(1) << 21)

/* Counts work that schedules nothing. */
static inline void uspi_swift_count_work(struct uspi_swift_printer *printer, size_t work) {
    printer->work += work;
    if (printer->work > USPI_SWIFT_WORK_MAX) printer->has_failed = true;
}

/* Frees the printer's memory. */
void uspi_swift_printer_free(struct uspi_swift_printer *printer);

/* ---- scheduling ----
 *
 * Strings must live as long as the tree, or be constants. A node that is NULL is malformed. */

void uspi_swift_write(struct uspi_swift_printer *printer, const char *string);
void uspi_swift_write_span(struct uspi_swift_printer *printer, const char *text, size_t length);
void uspi_swift_write_text(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);
void uspi_swift_write_number(struct uspi_swift_printer *printer, uint64_t number);

void uspi_swift_write_node(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);
void uspi_swift_write_child(struct uspi_swift_printer *printer, const struct uspi_swift_node *node, size_t position);
/* Writes a node at a depth; the action is WRITE_NODE or WRITE_CONTEXT. */
void uspi_swift_write_at(struct uspi_swift_printer *printer, enum uspi_swift_action action,
                         const struct uspi_swift_node *node, unsigned depth);
/* Writes a node as the context of what follows. Leaves out functions, and other contexts that are written after a name
 * ("f in g"). */
void uspi_swift_write_context(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);
/* Writes a node's children from `first` on. */
void uspi_swift_write_children_from(struct uspi_swift_printer *printer, const struct uspi_swift_child *first,
                                    enum uspi_swift_separator separator);
void uspi_swift_write_children(struct uspi_swift_printer *printer, const struct uspi_swift_node *node,
                               enum uspi_swift_separator separator);
/* Writes a type, in parentheses if it needs them. */
void uspi_swift_write_grouped(struct uspi_swift_printer *printer, const struct uspi_swift_node *type);
/* Writes a dot, unless nothing was written since the text had that length. */
void uspi_swift_write_dot(struct uspi_swift_printer *printer, size_t length);
/* Writes a node's text. A mangled name is demangled in full form. */
void uspi_swift_write_nested(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);
/* Changes the form of what follows. */
void uspi_swift_write_form(struct uspi_swift_printer *printer, unsigned form);

static inline bool uspi_swift_is_simple(const struct uspi_swift_printer *printer) {
    return (printer->form & USPI_SWIFT_FORM_SIMPLE) != 0;
}

static inline bool uspi_swift_is_short(const struct uspi_swift_printer *printer) {
    return (printer->form & USPI_SWIFT_FORM_SHORT) != 0;
}

/* ---- functions that write nodes ----
 *
 * Each schedules a node whose kind has no phrase in kinds.c. False: the function does not know the kind. */

/* print_entities.c */
bool uspi_swift_print_entity(struct uspi_swift_printer *printer, const struct uspi_swift_node *node, bool as_context);
bool uspi_swift_print_name(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);
/* The parts of an entity that follow its context. */
enum uspi_swift_part { USPI_SWIFT_ENTITY_NAME, USPI_SWIFT_ENTITY_TYPE, USPI_SWIFT_ENTITY_OUTER };
void uspi_swift_print_part(struct uspi_swift_printer *printer, enum uspi_swift_part part,
                           const struct uspi_swift_node *entity);

/* print_types.c */
bool uspi_swift_print_type(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);

/* print_functions.c */
bool uspi_swift_print_function_kind(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);
/* Writes a function's type. is_signature: it belongs to an entity and is not a separate type. labels: may be NULL. */
void uspi_swift_print_function_type(struct uspi_swift_printer *printer, const struct uspi_swift_node *labels,
                                    const struct uspi_swift_node *type, bool is_signature);
/* Returns whether a blank separates a generic signature or a name from the type. */
bool uspi_swift_needs_blank(const struct uspi_swift_node *type);

/* print_generics.c */
bool uspi_swift_print_generic(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);

/* print_special.c */
bool uspi_swift_print_special(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);

/* print_specializations.c */
bool uspi_swift_print_specialization(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);

#endif
