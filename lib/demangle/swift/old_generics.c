/* SPDX-License-Identifier: MIT */
/* Parses generic types, signatures and associated types in the old mangling. */
#include "lib/demangle/swift/old.h"

/* ---- generic types ---- */

/* Gives the type on the stack and its enclosing types their arguments, the outermost first. */
bool uspi_old_take_bound_generic_rest(struct uspi_old_parser *old) {
    struct uspi_swift_node *levels = uspi_swift_node(old->base.memory, SWIFT_TYPE_LIST);
    for (struct uspi_swift_node *type = uspi_old_pop(old);;) {
        struct uspi_swift_node *context = uspi_swift_first_child(type);
        if (context == NULL || !uspi_swift_add_first(old->base.memory, levels, type)) return false;
        bool is_last =
            context->kind == SWIFT_MODULE || context->kind == SWIFT_FUNCTION || context->kind == SWIFT_EXTENSION;
        if (is_last) break;
        type = context;
    }
    return uspi_old_add_step(old, (struct uspi_old_step){.action = OLD_LEVEL, .child = levels->first});
}

/* Handles one of these types; its enclosing type is on the stack unless it is the outermost. */
bool uspi_old_take_level(struct uspi_old_parser *old, struct uspi_old_step step) {
    struct uspi_region *memory = old->base.memory;
    struct uspi_swift_node *type = step.child->node;
    bool is_outermost = step.kind == SWIFT_NOTHING;
    if (!is_outermost) {
        struct uspi_swift_node *moved = uspi_swift_make(&old->base, type->kind, uspi_old_pop(old));
        for (const struct uspi_swift_child *child = type->first->next; child != NULL; child = child->next) {
            if (!uspi_swift_add(memory, moved, child->node)) return false;
        }
        type = moved;
    }
    struct uspi_swift_node *arguments = uspi_swift_node(memory, SWIFT_TYPE_LIST);
    struct uspi_swift_node *bound =
        uspi_swift_make(&old->base, SWIFT_BOUND_GENERIC_CLASS, uspi_swift_type(&old->base, type), arguments);
    if (bound == NULL) return false;
    step.action = OLD_LEVEL_ARGUMENTS;
    step.node = bound;
    return THEN(old, DO_NODE(TYPES, arguments), step);
}

bool uspi_old_take_level_arguments(struct uspi_old_parser *old, struct uspi_old_step step) {
    struct uspi_swift_node *bound = step.node, *type = uspi_swift_first_child(uspi_swift_first_child(bound));
    const struct uspi_swift_node *arguments = uspi_swift_child_at(bound, 1);
    if (arguments->child_count == 0) {
        bound = type;
    } else {
        switch (type->kind) {
        case SWIFT_CLASS: bound->kind = SWIFT_BOUND_GENERIC_CLASS; break;
        case SWIFT_STRUCTURE: bound->kind = SWIFT_BOUND_GENERIC_STRUCTURE; break;
        case SWIFT_ENUM: bound->kind = SWIFT_BOUND_GENERIC_ENUM; break;
        default: return false;
        }
    }
    if (!uspi_old_push(old, bound)) return false;
    if (step.child->next == NULL) return true;
    return uspi_old_add_step(
        old, (struct uspi_old_step){.action = OLD_LEVEL, .kind = SWIFT_TYPE, .child = step.child->next});
}

/* ---- generic signatures ---- */

struct uspi_swift_node *uspi_old_make_parameter(struct uspi_old_parser *old, uint64_t depth, uint64_t number) {
    return uspi_swift_node_with_index(old->base.memory, SWIFT_GENERIC_PARAMETER, depth << 32 | (number & UINT32_MAX));
}

struct uspi_swift_node *uspi_old_read_parameter(struct uspi_old_parser *old) {
    uint64_t depth = 0, number;
    if (uspi_old_next_if(old, 'x')) return uspi_old_make_parameter(old, 0, 0);
    bool has_depth = uspi_old_next_if(old, 'd');
    if (has_depth && !uspi_old_read_index(old, &depth)) return NULL;
    if (!uspi_old_read_index(old, &number)) return NULL;
    return has_depth ? uspi_old_make_parameter(old, depth + 1, number) : uspi_old_make_parameter(old, 0, number + 1);
}

bool uspi_old_take_signature(struct uspi_old_parser *old, uint16_t kind) {
    struct uspi_region *memory = old->base.memory;
    struct uspi_swift_node *signature = uspi_swift_node(memory, kind);
    bool is_counted = uspi_old_peek(old) != 'R' && uspi_old_peek(old) != 'r';
    do {
        uint64_t count = 1;
        if (is_counted && uspi_old_next_if(old, 'z')) {
            count = 0;
        } else if (is_counted) {
            if (!uspi_old_read_index(old, &count)) return false;
            count++;
        }
        struct uspi_swift_node *counted = uspi_swift_node_with_index(memory, SWIFT_GENERIC_PARAMETER_COUNT, count);
        if (!uspi_swift_add(memory, signature, counted)) return false;
    } while (uspi_old_peek(old) != 'R' && uspi_old_peek(old) != 'r');
    return uspi_old_next(old) == 'r' ? uspi_old_push(old, signature) : THEN(old, DO_NODE(REQUIREMENTS, signature));
}

bool uspi_old_take_requirement(struct uspi_old_parser *old) {
    if (!THEN(old, DO_KIND(MAKE_1, SWIFT_TYPE), DO(REQUIREMENT_REST))) return false;
    if (uspi_old_next_if(old, 'w')) return THEN(old, DO(MEMBER_OF_PARAMETER));
    if (uspi_old_next_if(old, 'W')) return THEN(old, DO(MEMBERS_OF_PARAMETER));
    return uspi_old_push(old, uspi_old_read_parameter(old));
}

static bool take_layout(struct uspi_old_parser *old) {
    unsigned numbers;
    char letter = uspi_old_next(old);
    const char *words = letter != 'C' && letter != 'D' ? uspi_swift_layout(letter, &numbers) : NULL;
    if (words == NULL) return false;
    struct uspi_swift_node *requirement = uspi_old_make_string(old, SWIFT_LAYOUT_REQUIREMENT, words);
    if (!uspi_swift_add(old->base.memory, requirement, uspi_old_pop(old))) return false;
    for (unsigned i = 0; i < numbers; i++) {
        if (i > 0 && !uspi_old_next_if(old, '_')) return false;
        uint64_t number;
        if (!uspi_old_read_natural(old, &number)) return false;
        struct uspi_swift_node *made = uspi_swift_node_with_index(old->base.memory, SWIFT_NUMBER, number);
        if (!uspi_swift_add(old->base.memory, requirement, made)) return false;
    }
    return uspi_old_push(old, requirement);
}

bool uspi_old_take_requirement_rest(struct uspi_old_parser *old) {
    if (uspi_old_next_if(old, 'z')) return THEN(old, DO(TYPE), DO_KIND(MAKE_2, SWIFT_SAME_TYPE_REQUIREMENT));
    if (uspi_old_next_if(old, 'l')) return take_layout(old);
    if (!THEN(old, DO_KIND(MAKE_2, SWIFT_CONFORMANCE_REQUIREMENT))) return false;
    if (uspi_old_peek(old) == 'C') return THEN(old, DO(TYPE));
    if (!uspi_old_next_if(old, 'S')) return uspi_old_peek(old) != '\0' && THEN(old, DO(PROTOCOL));
    struct uspi_swift_node *type = uspi_old_read_substitution(old);
    if (type != NULL && type->kind == SWIFT_MODULE) type = uspi_old_read_protocol_in(old, type);
    if (type == NULL || (type->kind != SWIFT_PROTOCOL && type->kind != SWIFT_CLASS)) return false;
    return uspi_old_push(old, uspi_swift_type(&old->base, type));
}

/* ---- associated types ---- */

static bool push_member(struct uspi_old_parser *old, struct uspi_swift_node *name) {
    return uspi_old_push(old, uspi_swift_make(&old->base, SWIFT_MEMBER_TYPE, uspi_old_pop(old), name));
}

/* Reads a member of the type on the stack. */
bool uspi_old_take_member(struct uspi_old_parser *old) {
    if (uspi_old_next_if(old, 'S')) {
        struct uspi_swift_node *name = uspi_old_read_substitution(old);
        return name != NULL && name->kind == SWIFT_ASSOCIATED_TYPE_NAME && push_member(old, name);
    }
    if (uspi_old_next_if(old, 'P')) return THEN(old, DO(PROTOCOL), DO(MEMBER_NAME_OF_PROTOCOL));
    return THEN(old, DO(MEMBER_NAME));
}

bool uspi_old_take_member_name(struct uspi_old_parser *old, bool has_protocol) {
    struct uspi_swift_node *protocol = has_protocol ? uspi_old_pop(old) : NULL;
    struct uspi_swift_node *identifier = uspi_old_read_identifier(old, SWIFT_IDENTIFIER);
    struct uspi_swift_node *name = uspi_swift_make(&old->base, SWIFT_ASSOCIATED_TYPE_NAME, identifier);
    if (has_protocol && !uspi_swift_add(old->base.memory, name, protocol)) return false;
    return uspi_swift_remember(&old->base, name) != NULL && push_member(old, name);
}

bool uspi_old_take_members(struct uspi_old_parser *old) {
    if (uspi_old_next_if(old, '_')) return true;
    return uspi_old_push(old, uspi_swift_type(&old->base, uspi_old_pop(old))) && THEN(old, DO(MEMBER), DO(MEMBERS));
}

bool uspi_old_take_archetype(struct uspi_old_parser *old) {
    if (!THEN(old, DO(ARCHETYPE_REST))) return false;
    switch (uspi_old_next(old)) {
    case 'Q': return THEN(old, DO(ARCHETYPE));
    case 'S': return uspi_old_push(old, uspi_old_read_substitution(old));
    case 's': return uspi_old_push(old, uspi_old_make_string(old, SWIFT_MODULE, "Swift"));
    default: return false;
    }
}

bool uspi_old_take_archetype_rest(struct uspi_old_parser *old) {
    struct uspi_swift_node *root = uspi_old_pop(old), *name = uspi_old_read_identifier(old, SWIFT_IDENTIFIER);
    struct uspi_swift_node *made = uspi_swift_make(&old->base, SWIFT_ASSOCIATED_TYPE_REF, root, name);
    return uspi_old_push(old, uspi_swift_remember(&old->base, made));
}
