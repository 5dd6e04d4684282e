/* SPDX-License-Identifier: MIT */
/* From a tree to the text that people read: what the parts of the printer share.
 *
 * A node is written by scheduling what it consists of: texts, nodes, lists of nodes, in their order. What is scheduled waits
 * on a list of its own and not on the processor's stack, so that a name may be nested as deeply as it likes. A text that is
 * scheduled before anything else is written at once. */
#ifndef USPI_SWIFT_PRINT_H
#define USPI_SWIFT_PRINT_H

#include "lib/demangle/swift/memory.h"
#include "lib/demangle/swift/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How names are written, as bits; 0 is the full form. */
enum uspi_swift_form {
    USPI_SWIFT_FORM_SIMPLE = 1, /* without modules, types, requirements and what tells private names apart */
    USPI_SWIFT_FORM_SHORT = 2,  /* beside SIMPLE: without generic parameters, conventions, and that it is specialized */
    USPI_SWIFT_FORM_NO_SUGAR = 4, /* Swift.Optional<Swift.Int>, not Swift.Int? */
    USPI_SWIFT_FORM_WHERE = 8     /* beside SIMPLE: with requirements */
};

/* What separates the elements of a list. */
enum uspi_swift_separator {
    USPI_SWIFT_NO_SEPARATOR,
    USPI_SWIFT_COMMA,
    USPI_SWIFT_DOT,
    USPI_SWIFT_BLANK,
    USPI_SWIFT_AMPERSAND
};

/* Nodes below this depth are written as three words (swift include/swift/Demangling/Demangle.h, NodePrinter::MaxDepth). */
#define USPI_SWIFT_DEPTH_MAX 768u

enum uspi_swift_action {
    USPI_SWIFT_WRITE_NODE,
    USPI_SWIFT_WRITE_CONTEXT,  /* a node before a name that stands in it */
    USPI_SWIFT_WRITE_TEXT,     /* `number` bytes */
    USPI_SWIFT_WRITE_NUMBER,   /* `value` */
    USPI_SWIFT_WRITE_CHILDREN, /* `number`: enum uspi_swift_separator */
    USPI_SWIFT_WRITE_DOT,      /* `number`: the text's length before what it stands behind */
    USPI_SWIFT_WRITE_PART,     /* `number`: enum uspi_swift_part */
    USPI_SWIFT_WRITE_NESTED,   /* the node's text, which may be a mangled name */
    USPI_SWIFT_END_NESTED,     /* `number`: the text's length before it */
    USPI_SWIFT_SET_FORM
};

/* Something that is scheduled. */
struct uspi_swift_item {
    uint8_t action;       /* enum uspi_swift_action */
    uint8_t form;         /* SET_FORM, END_NESTED: from here on */
    bool was_specialized; /* END_NESTED */
    uint16_t depth;       /* of the node */
    uint32_t number;
    union {
        const struct uspi_swift_node *node;
        const struct uspi_swift_child *child;
        const char *text;
        uint64_t value;
    };
};

struct uspi_swift_printer {
    struct uspi_swift_memory *memory; /* for names within the name */
    unsigned form;                    /* enum uspi_swift_form */

    char *text;                    /* what is written so far, not NUL-terminated; the printer's, malloc'ed */
    size_t length, room;           /* of the text, in bytes */
    struct uspi_swift_item *items; /* what is scheduled, the next one last; the printer's, malloc'ed */
    size_t item_count, item_room;

    size_t first;        /* the items from here on were scheduled by the item that is being written */
    unsigned depth;      /* of the node that is being written */
    uint64_t work;       /* how much was done so far */
    bool is_specialized; /* the simple form has said so */
    bool is_malformed;   /* the tree, or the one of the name within the name that is being written */
    bool has_failed;     /* memory lacks, or it is too much */
};

/* ---- the text and the list ---- */

/* Writes at once. */
void uspi_swift_put(struct uspi_swift_printer *printer, const char *text, size_t length);

void uspi_swift_schedule(struct uspi_swift_printer *printer, struct uspi_swift_item item);

/* Whether nothing was scheduled yet, so that what comes next can be written at once. */
static inline bool uspi_swift_is_next(const struct uspi_swift_printer *printer) {
    return printer->item_count == printer->first;
}

/* Notes work that is done without scheduling anything. */
void uspi_swift_count_work(struct uspi_swift_printer *printer, size_t work);

/* Gives the printer's memory back to the system. */
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
/* A node at a certain depth; the action is WRITE_NODE or WRITE_CONTEXT. */
void uspi_swift_write_at(struct uspi_swift_printer *printer, enum uspi_swift_action action,
                         const struct uspi_swift_node *node, unsigned depth);
/* As a context of what follows: functions, and what else is written behind a name ("f in g"), are left out. */
void uspi_swift_write_context(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);
/* The node's children, from the given one on. */
void uspi_swift_write_children_from(struct uspi_swift_printer *printer, const struct uspi_swift_child *first,
                                    enum uspi_swift_separator separator);
void uspi_swift_write_children(struct uspi_swift_printer *printer, const struct uspi_swift_node *node,
                               enum uspi_swift_separator separator);
/* A type, in parentheses where it needs them. */
void uspi_swift_write_grouped(struct uspi_swift_printer *printer, const struct uspi_swift_node *type);
/* A dot, unless nothing was written since the text had that length. */
void uspi_swift_write_dot(struct uspi_swift_printer *printer, size_t length);
/* A node's text, which may be a mangled name: in full then. */
void uspi_swift_write_nested(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);
/* From here on in another form. */
void uspi_swift_write_form(struct uspi_swift_printer *printer, unsigned form);

static inline bool uspi_swift_is_simple(const struct uspi_swift_printer *printer) {
    return (printer->form & USPI_SWIFT_FORM_SIMPLE) != 0;
}

static inline bool uspi_swift_is_short(const struct uspi_swift_printer *printer) {
    return (printer->form & USPI_SWIFT_FORM_SHORT) != 0;
}

/* ---- what writes nodes ----
 *
 * Each schedules a node of a kind that no phrase of kinds.c describes. False: it is of no kind that the function knows. */

/* print_entities.c */
bool uspi_swift_print_entity(struct uspi_swift_printer *printer, const struct uspi_swift_node *node, bool as_context);
bool uspi_swift_print_name(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);
/* A part of an entity that follows its context. */
enum uspi_swift_part { USPI_SWIFT_ENTITY_NAME, USPI_SWIFT_ENTITY_TYPE, USPI_SWIFT_ENTITY_OUTER };
void uspi_swift_print_part(struct uspi_swift_printer *printer, enum uspi_swift_part part,
                           const struct uspi_swift_node *entity);

/* print_types.c */
bool uspi_swift_print_type(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);

/* print_functions.c */
bool uspi_swift_print_function_kind(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);
/* A function's type: `is_signature` when it belongs to an entity, and is not a type of its own. labels: or NULL. */
void uspi_swift_print_function_type(struct uspi_swift_printer *printer, const struct uspi_swift_node *labels,
                                    const struct uspi_swift_node *type, bool is_signature);
/* Whether a blank stands between a generic signature, or a name, and the type. */
bool uspi_swift_needs_blank(const struct uspi_swift_node *type);

/* print_generics.c */
bool uspi_swift_print_generic(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);

/* print_special.c */
bool uspi_swift_print_special(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);

/* print_specializations.c */
bool uspi_swift_print_specialization(struct uspi_swift_printer *printer, const struct uspi_swift_node *node);

#endif
