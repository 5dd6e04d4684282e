/* SPDX-License-Identifier: MIT */
/* Parses declarations in the old mangling, and whole symbols. */
#include "lib/demangle/swift/old.h"

#include <string.h>

/* ---- declarations ---- */

static bool begins_nominal(char c) { return c == 'C' || c == 'V' || c == 'O'; }
static bool begins_entity(char c) { return c != '\0' && (begins_nominal(c) || strchr("FIvPsZ", c) != NULL); }

bool uspi_old_take_context(struct uspi_old_parser *old) {
    if (uspi_old_next_if(old, 'E')) return THEN(old, DO(MODULE), DO(CONTEXT), DO_KIND(MAKE_2, SWIFT_EXTENSION));
    if (uspi_old_next_if(old, 'e')) {
        return THEN(old, DO(MODULE), DO_KIND(SIGNATURE, SWIFT_GENERIC_SIGNATURE), DO(CONTEXT),
                    DO(MAKE_CONSTRAINED_EXTENSION));
    }
    if (uspi_old_next_if(old, 'S')) return uspi_old_push(old, uspi_old_read_substitution(old));
    if (uspi_old_next_if(old, 's')) return uspi_old_push(old, uspi_old_make_string(old, SWIFT_MODULE, "Swift"));
    if (uspi_old_next_if(old, 'G')) return THEN(old, DO(BOUND_GENERIC));
    return begins_entity(uspi_old_peek(old)) ? THEN(old, DO(ENTITY)) : THEN(old, DO(MODULE));
}

bool uspi_old_take_nominal(struct uspi_old_parser *old) {
    switch (uspi_old_next(old)) {
    case 'S': return uspi_old_push(old, uspi_old_read_substitution(old));
    case 'V': return THEN(old, DO_KIND(DECLARATION, SWIFT_STRUCTURE));
    case 'O': return THEN(old, DO_KIND(DECLARATION, SWIFT_ENUM));
    case 'C': return THEN(old, DO_KIND(DECLARATION, SWIFT_CLASS));
    case 'P': return THEN(old, DO_KIND(DECLARATION, SWIFT_PROTOCOL));
    default: return false;
    }
}

bool uspi_old_take_protocol(struct uspi_old_parser *old) {
    if (!THEN(old, DO_KIND(MAKE_1, SWIFT_TYPE))) return false;
    if (uspi_old_next_if(old, 'S')) {
        struct uspi_swift_node *substitution = uspi_old_read_substitution(old);
        if (substitution == NULL) return false;
        if (substitution->kind == SWIFT_PROTOCOL) return uspi_old_push(old, substitution);
        return substitution->kind == SWIFT_MODULE && uspi_old_push(old, uspi_old_read_protocol_in(old, substitution));
    }
    if (uspi_old_next_if(old, 's'))
        return uspi_old_push(old, uspi_old_read_protocol_in(old, uspi_old_make_string(old, SWIFT_MODULE, "Swift")));
    return THEN(old, DO_KIND(DECLARATION, SWIFT_PROTOCOL));
}

/* The properties of an entity that was read. */
struct entity {
    uint16_t kind;
    bool has_type, has_storage; /* has_storage: an accessor, which has a variable or subscript */
    struct uspi_swift_node *name;
};

static uint16_t read_addressor(struct uspi_old_parser *old, bool is_mutable) {
    switch (uspi_old_next(old)) {
    case 'O': return is_mutable ? SWIFT_OWNING_MUTABLE_ADDRESSOR : SWIFT_OWNING_ADDRESSOR;
    case 'o': return is_mutable ? SWIFT_NATIVE_OWNING_MUTABLE_ADDRESSOR : SWIFT_NATIVE_OWNING_ADDRESSOR;
    case 'p': return is_mutable ? SWIFT_NATIVE_PINNING_MUTABLE_ADDRESSOR : SWIFT_NATIVE_PINNING_ADDRESSOR;
    case 'u': return is_mutable ? SWIFT_UNSAFE_MUTABLE_ADDRESSOR : SWIFT_UNSAFE_ADDRESSOR;
    default: return SWIFT_NOTHING;
    }
}

/* Reads the letter of a function's role. Kind SWIFT_NOTHING: there is none, and nothing was read. */
static struct entity read_role(struct uspi_old_parser *old) {
    static const struct {
        char letter;
        struct entity entity;
    } roles[] = {
        {'D', {SWIFT_DEALLOCATOR, false, false, NULL}},
        {'Z', {SWIFT_ISOLATED_DEALLOCATOR, false, false, NULL}},
        {'d', {SWIFT_DESTRUCTOR, false, false, NULL}},
        {'e', {SWIFT_IVAR_INITIALIZER, false, false, NULL}},
        {'E', {SWIFT_IVAR_DESTROYER, false, false, NULL}},
        {'C', {SWIFT_ALLOCATOR, true, false, NULL}},
        {'c', {SWIFT_CONSTRUCTOR, true, false, NULL}},
        {'g', {SWIFT_GETTER, true, true, NULL}},
        {'G', {SWIFT_GLOBAL_GETTER, true, true, NULL}},
        {'s', {SWIFT_SETTER, true, true, NULL}},
        {'m', {SWIFT_MATERIALIZE_FOR_SET, true, true, NULL}},
        {'w', {SWIFT_WILL_SET, true, true, NULL}},
        {'W', {SWIFT_DID_SET, true, true, NULL}},
        {'r', {SWIFT_READ_ACCESSOR, true, true, NULL}},
        {'M', {SWIFT_MODIFY_ACCESSOR, true, true, NULL}},
        {'U', {SWIFT_EXPLICIT_CLOSURE, true, false, NULL}},
        {'u', {SWIFT_IMPLICIT_CLOSURE, true, false, NULL}},
    };
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (uspi_old_next_if(old, roles[i].letter)) return roles[i].entity;
    }
    return (struct entity){SWIFT_NOTHING, true, false, NULL};
}

/* Reads an entity up to its type. `basic`: its kind by its first letter. False: it is malformed. */
static bool read_entity(struct uspi_old_parser *old, uint16_t basic, struct entity *entity) {
    *entity = read_role(old);
    if (entity->kind == SWIFT_EXPLICIT_CLOSURE || entity->kind == SWIFT_IMPLICIT_CLOSURE) {
        entity->name = uspi_old_read_index_node(old);
        return entity->name != NULL;
    }
    if (entity->kind == SWIFT_NOTHING && (uspi_old_peek(old) == 'a' || uspi_old_peek(old) == 'l')) {
        entity->kind = read_addressor(old, uspi_old_next(old) == 'a');
        entity->has_storage = true;
        if (entity->kind == SWIFT_NOTHING) return false;
    }
    if (entity->has_storage) {
        entity->name = uspi_old_read_declaration_name(old);
        return entity->name != NULL;
    }
    if (entity->kind != SWIFT_NOTHING) return true;
    entity->kind = basic;
    if (basic != SWIFT_INITIALIZER) {
        entity->name = uspi_old_read_declaration_name(old);
        return entity->name != NULL;
    }
    entity->has_type = false;
    if (uspi_old_next_if(old, 'i')) return true;
    entity->kind = SWIFT_DEFAULT_ARGUMENT;
    entity->name = uspi_old_next_if(old, 'A') ? uspi_old_read_index_node(old) : NULL;
    return entity->name != NULL;
}

/* Adds an accessor's storage. A subscript is written as a variable with that name; of its name only the file is
 * kept. */
static bool take_storage(struct uspi_old_parser *old, struct entity entity, struct uspi_swift_node *context) {
    const struct uspi_swift_node *called = entity.name;
    if (called->kind == SWIFT_PRIVATE_NAME) called = uspi_swift_child_at(called, 1);
    bool is_subscript = called->kind == SWIFT_IDENTIFIER && uspi_swift_text_is(called, "subscript");
    struct uspi_swift_node *storage =
        uspi_swift_make(&old->base, is_subscript ? SWIFT_SUBSCRIPT : SWIFT_VARIABLE, context);
    if (!THEN(old, DO_KIND(MAKE_1, entity.kind))) return false;
    if (!is_subscript) {
        if (!uspi_swift_add(old->base.memory, storage, entity.name)) return false;
    } else if (called != entity.name) {
        struct uspi_swift_node *file =
            uspi_swift_make(&old->base, SWIFT_PRIVATE_NAME, uspi_swift_first_child(entity.name));
        if (file == NULL || !THEN(old, DO_NODE(ADD, file))) return false;
    }
    return THEN(old, DO(TYPE), DO_NODE(COLLECT, storage), DO_NODE(PUSH, storage));
}

bool uspi_old_take_entity_rest(struct uspi_old_parser *old, uint16_t basic) {
    struct entity entity;
    struct uspi_swift_node *context = uspi_old_pop(old);
    if (!read_entity(old, basic, &entity)) return false;
    if (entity.has_storage) return take_storage(old, entity, context);
    struct uspi_swift_node *made = uspi_swift_make(&old->base, entity.kind, context);
    if (entity.name != NULL && !uspi_swift_add(old->base.memory, made, entity.name)) return false;
    if (!entity.has_type) return uspi_old_push(old, made);
    return made != NULL && THEN(old, DO(TYPE), DO_NODE(COLLECT, made), DO_NODE(PUSH, made));
}

bool uspi_old_take_entity(struct uspi_old_parser *old) {
    uint16_t basic;
    bool is_static = uspi_old_next_if(old, 'Z');
    switch (uspi_old_peek(old)) {
    case 'F': basic = SWIFT_FUNCTION; break;
    case 'v': basic = SWIFT_VARIABLE; break;
    case 'I': basic = SWIFT_INITIALIZER; break;
    case 'i': basic = SWIFT_SUBSCRIPT; break;
    default: return THEN(old, DO(NOMINAL));
    }
    uspi_old_next(old);
    if (is_static && !THEN(old, DO_KIND(MAKE_1, SWIFT_STATIC))) return false;
    return THEN(old, DO(CONTEXT), DO_KIND(ENTITY_REST, basic));
}

/* ---- what symbols stand for ---- */

static bool take_metadata(struct uspi_old_parser *old) {
    static const struct {
        char letter;
        uint16_t kind;
    } kinds[] = {
        {'P', SWIFT_GENERIC_TYPE_METADATA_PATTERN}, {'a', SWIFT_TYPE_METADATA_ACCESSOR},
        {'L', SWIFT_TYPE_METADATA_LAZY_CACHE},      {'m', SWIFT_METACLASS},
        {'n', SWIFT_NOMINAL_TYPE_DESCRIPTOR},       {'f', SWIFT_FULL_TYPE_METADATA},
    };
    if (uspi_old_next_if(old, 'p')) return THEN(old, DO(PROTOCOL), DO_KIND(MAKE_1, SWIFT_PROTOCOL_DESCRIPTOR));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (uspi_old_next_if(old, kinds[i].letter)) return THEN(old, DO(TYPE), DO_KIND(MAKE_1, kinds[i].kind));
    }
    return THEN(old, DO(TYPE), DO_KIND(MAKE_1, SWIFT_TYPE_METADATA));
}

static bool take_field_offset(struct uspi_old_parser *old) {
    char letter = uspi_old_next(old);
    if (letter != 'd' && letter != 'i') return false;
    return uspi_old_push(old, uspi_old_make_string(old, SWIFT_DIRECTNESS, letter == 'd' ? "direct" : "indirect")) &&
           THEN(old, DO(ENTITY), DO_KIND(MAKE_2, SWIFT_FIELD_OFFSET));
}

static bool take_witness_table(struct uspi_old_parser *old) {
    switch (uspi_old_next(old)) {
    case 'V': return THEN(old, DO(TYPE), DO_KIND(MAKE_1, SWIFT_VALUE_WITNESS_TABLE));
    case 'v': return take_field_offset(old);
    case 'P': return THEN(old, DO(CONFORMANCE), DO_KIND(MAKE_1, SWIFT_PROTOCOL_WITNESS_TABLE));
    case 'G': return THEN(old, DO(CONFORMANCE), DO_KIND(MAKE_1, SWIFT_GENERIC_WITNESS_TABLE));
    case 'I': return THEN(old, DO(CONFORMANCE), DO_KIND(MAKE_1, SWIFT_GENERIC_WITNESS_TABLE_INSTANTIATION));
    case 'l': return THEN(old, DO(TYPE), DO(CONFORMANCE), DO_KIND(MAKE_2, SWIFT_LAZY_WITNESS_TABLE_ACCESSOR));
    case 'L': return THEN(old, DO(TYPE), DO(CONFORMANCE), DO_KIND(MAKE_2, SWIFT_LAZY_WITNESS_TABLE_CACHE));
    case 'a': return THEN(old, DO(CONFORMANCE), DO_KIND(MAKE_1, SWIFT_PROTOCOL_WITNESS_TABLE_ACCESSOR));
    case 't':
        return THEN(old, DO(CONFORMANCE), DO(DECLARATION_NAME),
                    DO_KIND(MAKE_2, SWIFT_ASSOCIATED_TYPE_METADATA_ACCESSOR));
    case 'T':
        return THEN(old, DO(CONFORMANCE), DO(DECLARATION_NAME), DO(PROTOCOL),
                    DO_KIND(MAKE_3, SWIFT_ASSOCIATED_TYPE_WITNESS_TABLE_ACCESSOR));
    default: return false;
    }
}

static bool take_thunk(struct uspi_old_parser *old) {
    char letter = uspi_old_next(old);
    if (letter == 'W') return THEN(old, DO(CONFORMANCE), DO(ENTITY), DO_KIND(MAKE_2, SWIFT_PROTOCOL_WITNESS));
    if (letter != 'R' && letter != 'r') return false;
    uint16_t kind = letter == 'R' ? SWIFT_REABSTRACTION_THUNK_HELPER : SWIFT_REABSTRACTION_THUNK;
    if (!uspi_old_next_if(old, 'G')) return THEN(old, DO(TYPE), DO(TYPE), DO_KIND(MAKE_2, kind));
    return THEN(old, DO_KIND(SIGNATURE, SWIFT_GENERIC_SIGNATURE), DO(TYPE), DO(TYPE), DO_KIND(MAKE_3, kind));
}

bool uspi_old_take_global(struct uspi_old_parser *old) {
    if (uspi_old_next_if(old, 'M')) return take_metadata(old);
    if (uspi_old_next_if_string(old, "PA")) {
        uint16_t kind = uspi_old_next_if(old, 'o') ? SWIFT_PARTIAL_APPLY_OBJC : SWIFT_PARTIAL_APPLY;
        if (uspi_old_next_if_string(old, "__T")) return THEN(old, DO(GLOBAL), DO_KIND(MAKE_1, kind));
        return uspi_old_push(old, uspi_swift_node(old->base.memory, kind));
    }
    if (uspi_old_next_if(old, 't')) return THEN(old, DO(TYPE), DO_KIND(MAKE_1, SWIFT_TYPE_MANGLING));
    if (uspi_old_next_if(old, 'w')) {
        char first = uspi_old_next(old);
        const char *name = uspi_swift_value_witness(first, uspi_old_next(old));
        struct uspi_swift_node *witness = name != NULL ? uspi_old_make_string(old, SWIFT_VALUE_WITNESS, name) : NULL;
        return witness != NULL && THEN(old, DO(TYPE), DO_NODE(COLLECT, witness), DO_NODE(PUSH, witness));
    }
    if (uspi_old_next_if(old, 'W')) return take_witness_table(old);
    if (uspi_old_next_if(old, 'T')) return take_thunk(old);
    return THEN(old, DO(ENTITY));
}
