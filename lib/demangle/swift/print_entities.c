/* SPDX-License-Identifier: MIT */
/* Writes declarations: their context, name and type ("closure #1 in main.f() -> ()"). */
#include "lib/demangle/swift/print.h"

#include <string.h>

/* What follows an entity's name. */
enum type_style {
    NO_TYPE,
    WITH_COLON,    /* "a : Swift.Int" */
    LIKE_FUNCTION, /* "f() -> Swift.Int" */
};

/* How an entity is written. */
struct entity_form {
    const struct uspi_swift_node *entity;    /* an accessor's variable or subscript, otherwise the node itself */
    const struct uspi_swift_node *arguments; /* of a bound generic function */
    enum type_style type;
    bool has_name;    /* its second child is its name */
    const char *name; /* a fixed name instead; NULL: there is none */
    const char *role; /* after the name and a dot; if it contains blanks, before "of" and the name; NULL: none */
    const char
        *role_end;  /* of a macro, whose name follows its role: the text after that name; NULL: it is not a macro */
    int64_t number; /* number after the role; below 0: none */
};

static const char *accessor_name(uint16_t kind) {
    switch (kind) {
    case SWIFT_OWNING_ADDRESSOR: return "owningAddressor";
    case SWIFT_OWNING_MUTABLE_ADDRESSOR: return "owningMutableAddressor";
    case SWIFT_NATIVE_OWNING_ADDRESSOR: return "nativeOwningAddressor";
    case SWIFT_NATIVE_OWNING_MUTABLE_ADDRESSOR: return "nativeOwningMutableAddressor";
    case SWIFT_NATIVE_PINNING_ADDRESSOR: return "nativePinningAddressor";
    case SWIFT_NATIVE_PINNING_MUTABLE_ADDRESSOR: return "nativePinningMutableAddressor";
    case SWIFT_UNSAFE_ADDRESSOR: return "unsafeAddressor";
    case SWIFT_UNSAFE_MUTABLE_ADDRESSOR: return "unsafeMutableAddressor";
    case SWIFT_GLOBAL_GETTER:
    case SWIFT_GETTER: return "getter";
    case SWIFT_SETTER: return "setter";
    case SWIFT_MATERIALIZE_FOR_SET: return "materializeForSet";
    case SWIFT_WILL_SET: return "willset";
    case SWIFT_DID_SET: return "didset";
    case SWIFT_READ_ACCESSOR: return "read";
    case SWIFT_READ_2_ACCESSOR: return "read2";
    case SWIFT_MODIFY_ACCESSOR: return "modify";
    case SWIFT_MODIFY_2_ACCESSOR: return "modify2";
    case SWIFT_INIT_ACCESSOR: return "init";
    case SWIFT_BORROW_ACCESSOR: return "borrow";
    case SWIFT_MUTATE_ACCESSOR: return "mutate";
    default: return NULL;
    }
}

static const char *macro_role(uint16_t kind) {
    switch (kind) {
    case SWIFT_MACRO_ACCESSOR: return "accessor macro @";
    case SWIFT_MACRO_MEMBER_ATTRIBUTE: return "memberAttribute macro @";
    case SWIFT_MACRO_MEMBER: return "member macro @";
    case SWIFT_MACRO_PEER: return "peer macro @";
    case SWIFT_MACRO_CONFORMANCE: return "conformance macro @";
    case SWIFT_MACRO_EXTENSION: return "extension macro @";
    case SWIFT_MACRO_PREAMBLE: return "preamble macro @";
    case SWIFT_MACRO_BODY: return "body macro @";
    default: return NULL;
    }
}

/* Returns the role of an entity that has neither name nor type. */
static const char *nameless_role(const struct uspi_swift_node *node) {
    const struct uspi_swift_node *context = uspi_swift_first_child(node);
    bool is_in_class = context != NULL && context->kind == SWIFT_CLASS;
    switch (node->kind) {
    case SWIFT_INITIALIZER: return "variable initialization expression";
    case SWIFT_PROPERTY_WRAPPER_BACKING_INITIALIZER: return "property wrapper backing initializer";
    case SWIFT_PROPERTY_WRAPPED_FIELD_INIT_ACCESSOR: return "property wrapped field init accessor";
    case SWIFT_PROPERTY_WRAPPER_INIT_FROM_PROJECTED_VALUE: return "property wrapper init from projected value";
    case SWIFT_DEFAULT_ARGUMENT: return "default argument ";
    case SWIFT_EXPLICIT_CLOSURE: return "closure #";
    case SWIFT_IMPLICIT_CLOSURE: return "implicit closure #";
    case SWIFT_ALLOCATOR: return is_in_class ? "__allocating_init" : "init";
    case SWIFT_CONSTRUCTOR: return "init";
    case SWIFT_DESTRUCTOR: return "deinit";
    case SWIFT_DEALLOCATOR: return is_in_class ? "__deallocating_deinit" : "deinit";
    case SWIFT_ISOLATED_DEALLOCATOR: return is_in_class ? "__isolated_deallocating_deinit" : "deinit";
    case SWIFT_IVAR_INITIALIZER: return "__ivar_initializer";
    case SWIFT_IVAR_DESTROYER: return "__ivar_destroyer";
    default: return NULL;
    }
}

/* Returns the number in a child plus `more`; below 0: there is none. */
static int64_t number_of(const struct uspi_swift_node *node, size_t position, int64_t more) {
    const struct uspi_swift_node *child = uspi_swift_child_at(node, position);
    if (child == NULL || !child->has_index || child->index > INT32_MAX) return -1;
    int64_t number = (int64_t)child->index + more;
    return number <= INT32_MAX ? number : -1;
}

/* Describes how an entity is written. False: the node is not an entity. */
static bool form_of(const struct uspi_swift_printer *printer, const struct uspi_swift_node *node,
                    struct entity_form *form) {
    *form = (struct entity_form){.entity = node, .number = -1};
    switch (node->kind) {
    case SWIFT_CLASS:
    case SWIFT_STRUCTURE:
    case SWIFT_ENUM:
    case SWIFT_PROTOCOL:
    case SWIFT_TYPE_ALIAS:
    case SWIFT_OTHER_NOMINAL_TYPE:
    case SWIFT_GENERIC_TYPE_PARAMETER: form->has_name = true; return true;
    case SWIFT_BOUND_GENERIC_FUNCTION:
        form->entity = uspi_swift_first_child(node);
        form->arguments = uspi_swift_child_at(node, 1);
        form->has_name = true;
        form->type = LIKE_FUNCTION;
        return true;
    case SWIFT_FUNCTION:
        form->has_name = true;
        form->type = LIKE_FUNCTION;
        return true;
    case SWIFT_VARIABLE:
        form->has_name = true;
        form->type = WITH_COLON;
        return true;
    case SWIFT_SUBSCRIPT:
        form->name = "subscript";
        form->type = LIKE_FUNCTION;
        return true;
    case SWIFT_MACRO:
        form->has_name = true;
        form->type = node->child_count == 3 ? WITH_COLON : LIKE_FUNCTION;
        return true;
    case SWIFT_MACRO_FREESTANDING:
    case SWIFT_MACRO_UNIQUE_NAME:
        form->has_name = true;
        form->role = node->kind == SWIFT_MACRO_FREESTANDING ? "freestanding macro expansion #" : "unique name #";
        form->number = number_of(node, 2, 1);
        return true;
    default: break;
    }
    form->role = macro_role(node->kind);
    if (form->role != NULL) {
        form->has_name = true;
        form->role_end = " expansion #";
        form->number = number_of(node, 3, 1);
        return true;
    }
    form->role = accessor_name(node->kind);
    if (form->role != NULL) {
        form->entity = uspi_swift_first_child(node);
        form->has_name = form->entity->kind == SWIFT_VARIABLE;
        form->name = form->has_name ? NULL : "subscript";
        form->type = WITH_COLON;
        return true;
    }
    form->role = nameless_role(node);
    if (form->role == NULL) return false;
    bool is_closure = node->kind == SWIFT_EXPLICIT_CLOSURE || node->kind == SWIFT_IMPLICIT_CLOSURE;
    if (is_closure) {
        form->type = uspi_swift_is_simple(printer) ? NO_TYPE : LIKE_FUNCTION;
        form->number = number_of(node, 1, 1);
    } else if (node->kind == SWIFT_DEFAULT_ARGUMENT) {
        form->number = number_of(node, 1, 0);
    } else if (node->kind == SWIFT_ALLOCATOR || node->kind == SWIFT_CONSTRUCTOR) {
        form->has_name = node->kind == SWIFT_CONSTRUCTOR && node->child_count > 2;
        form->type = LIKE_FUNCTION;
    }
    return true;
}

/* Returns whether the context follows the entity ("closure #1 in f") instead of preceding it ("f.closure"). */
static bool has_outer_context(const struct entity_form *form) {
    if (form->role != NULL && strchr(form->role, ' ') != NULL) return true;
    const struct uspi_swift_node *name = form->has_name ? uspi_swift_child_at(form->entity, 1) : NULL;
    return name != NULL && name->kind == SWIFT_LOCAL_NAME;
}

static bool is_left_out_of_context(const struct entity_form *form) {
    return form->type != NO_TYPE || has_outer_context(form);
}

/* Writes a part of an entity, at once if possible. */
static void write_part(struct uspi_swift_printer *printer, enum uspi_swift_part part,
                       const struct uspi_swift_node *entity) {
    if (uspi_swift_is_next(printer)) {
        uspi_swift_print_part(printer, part, entity);
        return;
    }
    const uint64_t numbers = uspi_swift_numbers(USPI_SWIFT_WRITE_PART, printer->depth, part);
    uspi_swift_schedule(printer, (struct uspi_swift_item){.numbers = numbers, .node = entity});
}

bool uspi_swift_print_entity(struct uspi_swift_printer *printer, const struct uspi_swift_node *node, bool as_context) {
    struct entity_form form;
    if (!form_of(printer, node, &form)) return false;
    if (as_context && is_left_out_of_context(&form)) return true;
    const uint16_t kind = form.entity->kind;
    bool is_accessor = accessor_name(node->kind) != NULL;
    if (is_accessor && kind != SWIFT_VARIABLE && kind != SWIFT_SUBSCRIPT) printer->is_malformed = true;
    if (!has_outer_context(&form)) {
        size_t length = printer->length;
        uspi_swift_write_context(printer, uspi_swift_first_child(form.entity));
        uspi_swift_write_dot(printer, length);
    }
    write_part(printer, USPI_SWIFT_ENTITY_NAME, node);
    if (form.type != NO_TYPE) write_part(printer, USPI_SWIFT_ENTITY_TYPE, node);
    if (!as_context) write_part(printer, USPI_SWIFT_ENTITY_OUTER, node);
    return true;
}

static void write_role(struct uspi_swift_printer *printer, const struct entity_form *form) {
    uspi_swift_write(printer, form->role);
    if (form->role_end != NULL) {
        uspi_swift_write_text(printer, uspi_swift_child_at(form->entity, 2));
        uspi_swift_write(printer, form->role_end);
    }
    if (form->number >= 0) uspi_swift_write_number(printer, (uint64_t)form->number);
}

static void print_entity_name(struct uspi_swift_printer *printer, const struct entity_form *form) {
    bool has_role = form->role != NULL;
    if (form->has_name || form->name != NULL) {
        if (has_role && has_outer_context(form)) {
            write_role(printer, form);
            uspi_swift_write(printer, " of ");
            has_role = false;
        }
        size_t length = printer->length;
        if (form->name != NULL) {
            uspi_swift_write(printer, form->name);
        } else {
            const struct uspi_swift_node *name = uspi_swift_child_at(form->entity, 1);
            const struct uspi_swift_node *file = uspi_swift_child_of_kind(form->entity, SWIFT_PRIVATE_NAME);
            if (name == NULL || name->kind != SWIFT_PRIVATE_NAME) uspi_swift_write_node(printer, name);
            if (file != NULL) uspi_swift_write_node(printer, file);
        }
        if (has_role) uspi_swift_write_dot(printer, length);
    }
    if (has_role) write_role(printer, form);
}

static bool is_function_type(uint16_t kind) {
    return kind == SWIFT_FUNCTION_TYPE || kind == SWIFT_NO_ESCAPE_FUNCTION_TYPE ||
           kind == SWIFT_UNCURRIED_FUNCTION_TYPE || kind == SWIFT_C_FUNCTION_POINTER ||
           kind == SWIFT_THIN_FUNCTION_TYPE;
}

/* Returns the type inside a generic one. */
static const struct uspi_swift_node *ungeneric(const struct uspi_swift_node *type) {
    while (type != NULL && type->kind == SWIFT_GENERIC_TYPE) {
        type = uspi_swift_first_child(uspi_swift_child_at(type, 1));
    }
    return type;
}

static void write_type(struct uspi_swift_printer *printer, const struct entity_form *form,
                       const struct uspi_swift_node *type) {
    const struct uspi_swift_node *labels = uspi_swift_child_of_kind(form->entity, SWIFT_LABEL_LIST);
    if (uspi_swift_is_short(printer)) {
        uspi_swift_print_function_type(printer, labels, ungeneric(type), true);
        return;
    }
    if (labels == NULL && form->arguments == NULL) {
        uspi_swift_write_node(printer, type);
        return;
    }
    if (form->arguments != NULL) {
        uspi_swift_write(printer, "<");
        uspi_swift_write_children(printer, form->arguments, USPI_SWIFT_COMMA);
        uspi_swift_write(printer, ">");
    }
    if (type->kind == SWIFT_GENERIC_TYPE) {
        const struct uspi_swift_node *inner = uspi_swift_child_at(type, 1);
        if (form->arguments == NULL) uspi_swift_write_child(printer, type, 0);
        if (uspi_swift_needs_blank(inner)) uspi_swift_write(printer, " ");
        type = uspi_swift_first_child(inner);
    }
    uspi_swift_print_function_type(printer, labels, type, true);
}

static void print_entity_type(struct uspi_swift_printer *printer, const struct entity_form *form) {
    const struct uspi_swift_node *type = uspi_swift_first_child(uspi_swift_child_of_kind(form->entity, SWIFT_TYPE));
    const struct uspi_swift_node *inner = ungeneric(type);
    if (type == NULL || inner == NULL) {
        printer->is_malformed = true;
        return;
    }
    if (form->type == LIKE_FUNCTION && is_function_type(inner->kind)) {
        bool has_blank = has_outer_context(form) || uspi_swift_needs_blank(type);
        if (has_blank && !uspi_swift_is_short(printer)) uspi_swift_write(printer, " ");
        write_type(printer, form, type);
    } else if (!uspi_swift_is_simple(printer)) {
        uspi_swift_write(printer, " : ");
        write_type(printer, form, type);
    }
}

/* Returns the context to write after a name that `context` precedes; NULL: there is none. */
static const struct uspi_swift_node *outer_context(const struct uspi_swift_printer *printer,
                                                   const struct uspi_swift_node *context) {
    struct entity_form form;
    while (context != NULL && form_of(printer, context, &form)) {
        if (is_left_out_of_context(&form)) return form.entity;
        context = uspi_swift_first_child(form.entity);
    }
    return NULL;
}

static void print_outer_context(struct uspi_swift_printer *printer, const struct entity_form *form) {
    const struct uspi_swift_node *context = uspi_swift_first_child(form->entity);
    if (!has_outer_context(form)) context = outer_context(printer, context);
    if (context == NULL) return;
    switch (form->entity->kind) {
    case SWIFT_DEFAULT_ARGUMENT:
    case SWIFT_INITIALIZER:
    case SWIFT_PROPERTY_WRAPPER_BACKING_INITIALIZER:
    case SWIFT_PROPERTY_WRAPPED_FIELD_INIT_ACCESSOR:
    case SWIFT_PROPERTY_WRAPPER_INIT_FROM_PROJECTED_VALUE: uspi_swift_write(printer, " of "); break;
    default: uspi_swift_write(printer, " in "); break;
    }
    uspi_swift_write_node(printer, context);
}

void uspi_swift_print_part(struct uspi_swift_printer *printer, enum uspi_swift_part part,
                           const struct uspi_swift_node *entity) {
    struct entity_form form;
    form_of(printer, entity, &form);
    switch (part) {
    case USPI_SWIFT_ENTITY_NAME: print_entity_name(printer, &form); break;
    case USPI_SWIFT_ENTITY_TYPE: print_entity_type(printer, &form); break;
    case USPI_SWIFT_ENTITY_OUTER: print_outer_context(printer, &form); break;
    }
}

/* ---- names and contexts ---- */

static void print_extension(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    if (!uspi_swift_is_simple(printer)) {
        uspi_swift_write(printer, "(extension in ");
        uspi_swift_write_child(printer, node, 0);
        uspi_swift_write(printer, "):");
    }
    uspi_swift_write_children_from(printer, node->first->next, USPI_SWIFT_NO_SEPARATOR);
}

static void print_anonymous_context(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    const struct uspi_swift_node *types = uspi_swift_child_at(node, 2);
    if (uspi_swift_is_simple(printer)) return;
    uspi_swift_write_child(printer, node, 1);
    uspi_swift_write(printer, ".(unknown context at ");
    uspi_swift_write_child(printer, node, 0);
    uspi_swift_write(printer, ")");
    if (types == NULL || types->child_count == 0) return;
    uspi_swift_write(printer, "<");
    uspi_swift_write_node(printer, types);
    uspi_swift_write(printer, ">");
}

/* Writes a file's text, and the name if there is one. */
static void print_private_name(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    bool has_name = node->child_count > 1;
    if (uspi_swift_is_simple(printer)) {
        if (has_name) uspi_swift_write_child(printer, node, 1);
        return;
    }
    uspi_swift_write(printer, "(");
    if (has_name) uspi_swift_write_child(printer, node, 1);
    uspi_swift_write(printer, has_name ? " in " : "in ");
    uspi_swift_write_text(printer, uspi_swift_first_child(node));
    uspi_swift_write(printer, ")");
}

bool uspi_swift_print_name(struct uspi_swift_printer *printer, const struct uspi_swift_node *node) {
    switch (node->kind) {
    case SWIFT_EXTENSION: print_extension(printer, node); return true;
    case SWIFT_ANONYMOUS_CONTEXT: print_anonymous_context(printer, node); return true;
    case SWIFT_PRIVATE_NAME: print_private_name(printer, node); return true;
    case SWIFT_LOCAL_NAME:
        uspi_swift_write_child(printer, node, 1);
        uspi_swift_write(printer, " #");
        uspi_swift_write_number(printer, uspi_swift_first_child(node)->index + 1);
        return true;
    default: return false;
    }
}
