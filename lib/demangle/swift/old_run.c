/* SPDX-License-Identifier: MIT */
/* Runs the steps of the old mangling until none is left. */
#include "lib/demangle/swift/old.h"

static bool make(struct uspi_old_parser *old, uint16_t kind, size_t count) {
    struct uspi_swift_node *node = uspi_swift_node(old->base.memory, kind);
    for (; count > 0; count--) {
        if (!uspi_swift_add_first(old->base.memory, node, uspi_old_pop(old))) return false;
    }
    return uspi_old_push(old, node);
}

static bool make_constrained_extension(struct uspi_old_parser *old) {
    struct uspi_swift_node *type = uspi_old_pop(old), *signature = uspi_old_pop(old), *module = uspi_old_pop(old);
    return uspi_old_push(old, uspi_swift_make(&old->base, SWIFT_EXTENSION, module, type, signature));
}

static bool take_declaration_rest(struct uspi_old_parser *old, uint16_t kind) {
    struct uspi_swift_node *context = uspi_old_pop(old), *name = uspi_old_read_declaration_name(old);
    return uspi_old_push(old, uspi_swift_remember(&old->base, uspi_swift_make(&old->base, kind, context, name)));
}

/* Reads one element of a list, and adds the same step again. "_" ends the list; "r" ends a list of requirements. */
static bool take_element(struct uspi_old_parser *old, struct uspi_old_step step, enum uspi_old_action element) {
    bool is_requirement = element == OLD_REQUIREMENT;
    if (uspi_old_next_if(old, is_requirement ? 'r' : '_')) return !is_requirement || uspi_old_push(old, step.node);
    return THEN(old, {.action = element}, DO_NODE(COLLECT, step.node), step);
}

static bool take_step(struct uspi_old_parser *old, struct uspi_old_step step) {
    switch (step.action) {
    case OLD_GLOBAL: return uspi_old_take_global(old);
    case OLD_ENTITY: return uspi_old_take_entity(old);
    case OLD_CONTEXT: return uspi_old_take_context(old);
    case OLD_NOMINAL: return uspi_old_take_nominal(old);
    case OLD_DECLARATION: return THEN(old, DO(CONTEXT), DO_KIND(DECLARATION_REST, step.kind));
    case OLD_BOUND_GENERIC: return THEN(old, DO(NOMINAL), DO(BOUND_GENERIC_REST));
    case OLD_TYPE: return THEN(old, DO(BARE_TYPE), DO_KIND(MAKE_1, SWIFT_TYPE));
    case OLD_BARE_TYPE: return uspi_old_take_bare_type(old);
    case OLD_PROTOCOL: return uspi_old_take_protocol(old);
    case OLD_CONFORMANCE:
        return THEN(old, DO(TYPE), DO(PROTOCOL), DO(CONTEXT), DO_KIND(MAKE_3, SWIFT_PROTOCOL_CONFORMANCE));
    case OLD_SIGNATURE: return uspi_old_take_signature(old, step.kind);
    case OLD_REQUIREMENT: return uspi_old_take_requirement(old);
    case OLD_ARCHETYPE: return uspi_old_take_archetype(old);
    case OLD_MEMBER_OF_PARAMETER:
        return uspi_old_push(old, uspi_swift_type(&old->base, uspi_old_read_parameter(old))) && THEN(old, DO(MEMBER));
    case OLD_MEMBERS_OF_PARAMETER: return uspi_old_push(old, uspi_old_read_parameter(old)) && THEN(old, DO(MEMBERS));
    case OLD_DECLARATION_NAME: return uspi_old_push(old, uspi_old_read_declaration_name(old));
    case OLD_MODULE: return uspi_old_push(old, uspi_old_read_module(old));
    case OLD_ENTITY_REST: return uspi_old_take_entity_rest(old, step.kind);
    case OLD_DECLARATION_REST: return take_declaration_rest(old, step.kind);
    case OLD_BOUND_GENERIC_REST: return uspi_old_take_bound_generic_rest(old);
    case OLD_LEVEL: return uspi_old_take_level(old, step);
    case OLD_LEVEL_ARGUMENTS: return uspi_old_take_level_arguments(old, step);
    case OLD_REQUIREMENT_REST: return uspi_old_take_requirement_rest(old);
    case OLD_ARCHETYPE_REST: return uspi_old_take_archetype_rest(old);
    case OLD_MEMBER: return uspi_old_take_member(old);
    case OLD_MEMBER_NAME: return uspi_old_take_member_name(old, false);
    case OLD_MEMBER_NAME_OF_PROTOCOL: return uspi_old_take_member_name(old, true);
    case OLD_MEMBERS: return uspi_old_take_members(old);
    case OLD_IMPL_FUNCTION_REST:
        return uspi_old_next_if(old, '_') && THEN(old, DO_NODE(IMPL_PARAMETERS, step.node),
                                                  DO_NODE(IMPL_RESULTS, step.node), DO_NODE(PUSH, step.node));
    case OLD_BOX_REST: return uspi_old_take_box(old, true);
    case OLD_TYPES: return take_element(old, step, OLD_TYPE);
    case OLD_PROTOCOLS: return take_element(old, step, OLD_PROTOCOL);
    case OLD_REQUIREMENTS: return take_element(old, step, OLD_REQUIREMENT);
    case OLD_TUPLE_ELEMENTS:
    case OLD_VARIADIC_TUPLE_ELEMENTS: return uspi_old_take_tuple_element(old, step);
    case OLD_BOX_FIELDS: return uspi_old_take_box_field(old, step);
    case OLD_IMPL_PARAMETERS:
    case OLD_IMPL_RESULTS: return uspi_old_take_impl_value(old, step);
    case OLD_MAKE_1: return make(old, step.kind, 1);
    case OLD_MAKE_2: return make(old, step.kind, 2);
    case OLD_MAKE_3: return make(old, step.kind, 3);
    case OLD_MAKE_CONSTRAINED_EXTENSION: return make_constrained_extension(old);
    case OLD_COLLECT: return uspi_swift_add(old->base.memory, step.node, uspi_old_pop(old));
    case OLD_ADD: {
        struct uspi_swift_node *top = uspi_old_pop(old);
        return uspi_swift_add(old->base.memory, top, step.node) && uspi_old_push(old, top);
    }
    case OLD_PUSH: return uspi_old_push(old, step.node);
    }
    return false;
}

struct uspi_swift_node *uspi_old_run(struct uspi_old_parser *old, enum uspi_old_action action) {
    if (!uspi_old_add_step(old, (struct uspi_old_step){.action = action})) return NULL;
    while (old->steps != NULL) {
        struct uspi_old_step *step = old->steps;
        old->steps = step->next;
        struct uspi_old_step taken = *step;
        step->next = old->unused;
        old->unused = step;
        if (!take_step(old, taken)) return NULL;
    }
    return uspi_old_pop(old);
}
