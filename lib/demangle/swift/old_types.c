/* SPDX-License-Identifier: MIT */
/* Parses types in the old mangling. */
#include "lib/base/text.h"
#include "lib/demangle/swift/old.h"

/* ---- function types ---- */

static bool take_function_type(struct uspi_old_parser *old, uint16_t kind) {
    struct uspi_region *memory = old->base.memory;
    struct uspi_swift_node *function = uspi_swift_node(memory, kind);
    bool throws = uspi_old_next_if(old, 'z'), is_sendable = uspi_old_next_if(old, 'y'),
         is_async = uspi_old_next_if(old, 'Z');
    const char *differentiability =
        uspi_old_next_if(old, 'D') ? uspi_swift_differentiability(uspi_old_next(old)) : NULL;
    if (function == NULL) return false;
    if (throws) uspi_swift_add(memory, function, uspi_swift_node(memory, SWIFT_THROWS_ANNOTATION));
    if (is_async) uspi_swift_add(memory, function, uspi_swift_node(memory, SWIFT_ASYNC_ANNOTATION));
    if (is_sendable) uspi_swift_add(memory, function, uspi_swift_node(memory, SWIFT_SENDABLE_FUNCTION));
    if (differentiability != NULL) {
        uspi_swift_add(memory, function, uspi_old_make_string(old, SWIFT_DIFFERENTIABLE_FUNCTION, differentiability));
    }
    bool has_actor = uspi_old_next_if(old, 'Y');
    return THEN(old, DO(TYPE), DO_KIND(MAKE_1, SWIFT_ARGUMENT_TUPLE), DO_NODE(COLLECT, function), DO(TYPE),
                DO_KIND(MAKE_1, SWIFT_RETURN_TYPE), DO_NODE(COLLECT, function), DO_NODE(PUSH, function)) &&
           (!has_actor ||
            THEN(old, DO(TYPE), DO_KIND(MAKE_1, SWIFT_GLOBAL_ACTOR_FUNCTION), DO_NODE(COLLECT, function)));
}

/* Reads the letter of how a function is called or a value is passed. Returns its words; NULL: the letter is invalid
 * there. */
static const char *read_convention(struct uspi_old_parser *old, uint16_t kind) {
    static const struct {
        char letter;
        const char *callee, *parameter, *result;
    } conventions[] = {
        {'a', NULL, NULL, "@autoreleased"},
        {'d', "@callee_unowned", "@unowned", "@unowned"},
        {'D', NULL, NULL, "@unowned_inner_pointer"},
        {'g', "@callee_guaranteed", "@guaranteed", NULL},
        {'e', NULL, "@deallocating", NULL},
        {'i', NULL, "@in", "@out"},
        {'l', NULL, "@inout", NULL},
        {'o', "@callee_owned", "@owned", "@owned"},
        {'t', "@convention(thin)", NULL, NULL},
    };
    char letter = uspi_old_next(old);
    for (size_t i = 0; i < sizeof conventions / sizeof *conventions; i++) {
        if (conventions[i].letter != letter) continue;
        if (kind == SWIFT_IMPL_FUNCTION_TYPE) return conventions[i].callee;
        return kind == SWIFT_IMPL_PARAMETER ? conventions[i].parameter : conventions[i].result;
    }
    return NULL;
}

static bool take_impl_function_type(struct uspi_old_parser *old) {
    static const struct {
        char letter;
        const char *name;
    } others[] = {{'b', "block"}, {'c', "c"}, {'m', "method"}, {'O', "objc_method"}, {'w', "witness_method"}};
    struct uspi_region *memory = old->base.memory;
    struct uspi_swift_node *function = uspi_swift_node(memory, SWIFT_IMPL_FUNCTION_TYPE);
    const char *callee = read_convention(old, SWIFT_IMPL_FUNCTION_TYPE), *other = NULL;
    if (callee == NULL) return false;
    if (!uspi_swift_add(memory, function, uspi_old_make_string(old, SWIFT_IMPL_ATTRIBUTE, callee))) return false;
    if (uspi_old_next_if(old, 'C')) {
        char letter = uspi_old_next(old);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            if (others[i].letter == letter) other = others[i].name;
        }
        if (other == NULL) return false;
        uspi_swift_add(memory, function, uspi_old_make_string(old, SWIFT_IMPL_FUNCTION_CONVENTION, other));
    }
    if (uspi_old_next_if(old, 'h'))
        uspi_swift_add(memory, function, uspi_old_make_string(old, SWIFT_IMPL_ATTRIBUTE, "@Sendable"));
    if (uspi_old_next_if(old, 'H')) uspi_swift_add(memory, function, uspi_swift_node(memory, SWIFT_IMPL_ASYNC));
    if (!THEN(old, DO_NODE(IMPL_FUNCTION_REST, function))) return false;
    bool is_generic = uspi_old_next_if(old, 'G'), is_pseudogeneric = !is_generic && uspi_old_next_if(old, 'g');
    if (!is_generic && !is_pseudogeneric) return true;
    uint16_t signature = is_generic ? SWIFT_GENERIC_SIGNATURE : SWIFT_PSEUDOGENERIC_SIGNATURE;
    return THEN(old, DO_KIND(SIGNATURE, signature), DO_NODE(COLLECT, function));
}

/* Reads a parameter or a result, and adds the same step again. */
bool uspi_old_take_impl_value(struct uspi_old_parser *old, struct uspi_old_step step) {
    bool is_parameter = step.action == OLD_IMPL_PARAMETERS, is_error = uspi_old_next_if(old, 'z');
    if (uspi_old_next_if(old, '_')) return !is_error;
    if (is_error && is_parameter) return false;
    uint16_t kind = is_error ? SWIFT_IMPL_ERROR_RESULT : is_parameter ? SWIFT_IMPL_PARAMETER : SWIFT_IMPL_RESULT;
    const char *convention = read_convention(old, kind);
    if (convention == NULL) return false;
    struct uspi_swift_node *value =
        uspi_swift_make(&old->base, kind, uspi_old_make_string(old, SWIFT_IMPL_CONVENTION, convention));
    if (!uspi_swift_add(old->base.memory, step.node, value)) return false;
    return THEN(old, DO(TYPE), DO_NODE(COLLECT, value), step);
}

/* ---- other types ---- */

/* Makes a builtin type whose name ends with its size; a vector also has a number of elements. NULL: the numbers are
 * missing. */
static struct uspi_swift_node *make_sized(struct uspi_old_parser *old, const char *name, const uint64_t *elements,
                                          const uint64_t *size) {
    const size_t room = 96;
    char *own = uspi_region_take(old->base.memory, room);
    if (own == NULL) return NULL;
    struct uspi_text text = uspi_text_in(own, room);
    uspi_put_string(&text, "Builtin.");
    if (elements != NULL) {
        uspi_put_string(&text, "Vec");
        uspi_put_decimal(&text, *elements, 0);
        uspi_put_string(&text, "x");
    }
    uspi_put_string(&text, name);
    if (size != NULL) uspi_put_decimal(&text, *size, 0);
    return uspi_swift_node_with_text(old->base.memory, SWIFT_BUILTIN_TYPE, own, text.used);
}

static struct uspi_swift_node *read_builtin(struct uspi_old_parser *old) {
    uint64_t elements, size;
    char letter = uspi_old_next(old);
    bool is_vector = letter == 'v';
    if (is_vector) {
        if (!uspi_old_read_natural(old, &elements) || !uspi_old_next_if(old, 'B')) return NULL;
        letter = uspi_old_next(old);
        if (letter == 'p') return make_sized(old, "RawPointer", &elements, NULL);
        if (letter != 'i' && letter != 'f') return NULL;
    }
    if (letter == 'i' || letter == 'f') {
        if (!uspi_old_read_natural(old, &size) || !uspi_old_next_if(old, '_')) return NULL;
        return make_sized(old, letter == 'i' ? "Int" : "FPIEEE", is_vector ? &elements : NULL, &size);
    }
    switch (letter) {
    case 'b': return uspi_old_make_string(old, SWIFT_BUILTIN_TYPE, "Builtin.BridgeObject");
    case 'B': return uspi_old_make_string(old, SWIFT_BUILTIN_TYPE, "Builtin.UnsafeValueBuffer");
    case 'O': return uspi_old_make_string(old, SWIFT_BUILTIN_TYPE, "Builtin.UnknownObject");
    case 'o': return uspi_old_make_string(old, SWIFT_BUILTIN_TYPE, "Builtin.NativeObject");
    case 'p': return uspi_old_make_string(old, SWIFT_BUILTIN_TYPE, "Builtin.RawPointer");
    case 't': return uspi_old_make_string(old, SWIFT_BUILTIN_TYPE, "Builtin.SILToken");
    case 'w': return uspi_old_make_string(old, SWIFT_BUILTIN_TYPE, "Builtin.Word");
    default: return NULL;
    }
}

/* Reads an element, and adds the same step again. */
bool uspi_old_take_tuple_element(struct uspi_old_parser *old, struct uspi_old_step step) {
    struct uspi_region *memory = old->base.memory;
    struct uspi_swift_node *tuple = step.node;
    if (uspi_old_next_if(old, '_')) {
        bool is_variadic = step.action == OLD_VARIADIC_TUPLE_ELEMENTS && tuple->last != NULL;
        if (is_variadic) {
            struct uspi_swift_node *marker = uspi_swift_node(memory, SWIFT_VARIADIC_MARKER);
            if (!uspi_swift_add_first(memory, tuple->last->node, marker)) return false;
        }
        return uspi_old_push(old, tuple);
    }
    struct uspi_swift_node *element = uspi_swift_node(memory, SWIFT_TUPLE_ELEMENT);
    if (!uspi_swift_add(memory, tuple, element)) return false;
    if (uspi_swift_is_digit(uspi_old_peek(old)) || uspi_old_peek(old) == 'o') {
        struct uspi_swift_node *label = uspi_old_read_identifier(old, SWIFT_TUPLE_ELEMENT_NAME);
        if (!uspi_swift_add(memory, element, label)) return false;
    }
    return THEN(old, DO(TYPE), DO_NODE(COLLECT, element), step);
}

static bool take_tuple(struct uspi_old_parser *old, enum uspi_old_action elements) {
    struct uspi_swift_node *tuple = uspi_swift_node(old->base.memory, SWIFT_TUPLE);
    return tuple != NULL && THEN(old, {elements, SWIFT_NOTHING, tuple, NULL, NULL});
}

bool uspi_old_take_box_field(struct uspi_old_parser *old, struct uspi_old_step step) {
    switch (uspi_old_next(old)) {
    case '_': return true;
    case 'm':
        return THEN(old, DO(TYPE), DO_KIND(MAKE_1, SWIFT_SIL_BOX_MUTABLE_FIELD), DO_NODE(COLLECT, step.node), step);
    case 'i':
        return THEN(old, DO(TYPE), DO_KIND(MAKE_1, SWIFT_SIL_BOX_IMMUTABLE_FIELD), DO_NODE(COLLECT, step.node), step);
    default: return false;
    }
}

/* Reads a box; the signature of a generic one is on the stack. */
bool uspi_old_take_box(struct uspi_old_parser *old, bool is_generic) {
    struct uspi_region *memory = old->base.memory;
    struct uspi_swift_node *layout = uspi_swift_node(memory, SWIFT_SIL_BOX_LAYOUT);
    struct uspi_swift_node *box = uspi_swift_make(&old->base, SWIFT_SIL_BOX_TYPE_WITH_LAYOUT, layout);
    if (!is_generic) return box != NULL && THEN(old, DO_NODE(BOX_FIELDS, layout), DO_NODE(PUSH, box));
    struct uspi_swift_node *arguments = uspi_swift_node(memory, SWIFT_TYPE_LIST);
    if (!uspi_swift_add(memory, box, uspi_old_pop(old)) || !uspi_swift_add(memory, box, arguments)) return false;
    return THEN(old, DO_NODE(BOX_FIELDS, layout), DO_NODE(TYPES, arguments), DO_NODE(PUSH, box));
}

/* Reads a metatype with its representation. */
static bool take_metatype(struct uspi_old_parser *old, uint16_t kind) {
    struct uspi_swift_node *representation =
        uspi_swift_parse_metatype_representation(&old->base, SWIFT_METATYPE_REPRESENTATION);
    return uspi_old_push(old, representation) && THEN(old, DO(TYPE), DO_KIND(MAKE_2, kind));
}

static bool take_protocol_list(struct uspi_old_parser *old) {
    struct uspi_swift_node *protocols = uspi_swift_node(old->base.memory, SWIFT_TYPE_LIST);
    struct uspi_swift_node *list = uspi_swift_make(&old->base, SWIFT_PROTOCOL_LIST, protocols);
    return list != NULL && THEN(old, DO_NODE(PROTOCOLS, protocols), DO_NODE(PUSH, list));
}

static bool take_special_type(struct uspi_old_parser *old) {
    switch (uspi_old_next(old)) {
    case 'b': return THEN(old, DO(TYPE), DO_KIND(MAKE_1, SWIFT_SIL_BOX_TYPE));
    case 'B':
        if (uspi_old_next_if(old, 'G')) return THEN(old, DO_KIND(SIGNATURE, SWIFT_GENERIC_SIGNATURE), DO(BOX_REST));
        return uspi_old_take_box(old, false);
    case 'M': return take_metatype(old, SWIFT_METATYPE);
    case 'P':
        return uspi_old_next_if(old, 'M') ? take_metatype(old, SWIFT_EXISTENTIAL_METATYPE) : take_protocol_list(old);
    case 'f': return take_function_type(old, SWIFT_THIN_FUNCTION_TYPE);
    case 'o': return THEN(old, DO(TYPE), DO_KIND(MAKE_1, SWIFT_UNOWNED));
    case 'u': return THEN(old, DO(TYPE), DO_KIND(MAKE_1, SWIFT_UNMANAGED));
    case 'w': return THEN(old, DO(TYPE), DO_KIND(MAKE_1, SWIFT_WEAK));
    case 'F': return take_impl_function_type(old);
    default: return false;
    }
}

static bool take_archetype_or_opaque(struct uspi_old_parser *old) {
    if (uspi_old_next_if(old, 'u'))
        return uspi_old_push(old, uspi_swift_node(old->base.memory, SWIFT_OPAQUE_RETURN_TYPE));
    if (uspi_old_next_if(old, 'U')) {
        return uspi_old_push(old, uspi_swift_make(&old->base, SWIFT_OPAQUE_RETURN_TYPE, uspi_old_read_index_node(old)));
    }
    return THEN(old, DO(ARCHETYPE));
}

static bool take_dependent_type(struct uspi_old_parser *old) {
    char c = uspi_old_peek(old);
    bool is_parameter = c == 'd' || c == '_' || uspi_swift_is_digit(c);
    if (is_parameter) return uspi_old_push(old, uspi_old_read_parameter(old));
    return c != '\0' && THEN(old, DO(TYPE), DO(MEMBER));
}

bool uspi_old_take_bare_type(struct uspi_old_parser *old) {
    switch (uspi_old_next(old)) {
    case 'B': return uspi_old_push(old, read_builtin(old));
    case 'C': return THEN(old, DO_KIND(DECLARATION, SWIFT_CLASS));
    case 'D': return THEN(old, DO(TYPE), DO_KIND(MAKE_1, SWIFT_DYNAMIC_SELF));
    case 'E':
        return uspi_old_next_if_string(old, "RR") &&
               uspi_old_push(old, uspi_swift_node(old->base.memory, SWIFT_ERROR_TYPE));
    case 'F': return take_function_type(old, SWIFT_FUNCTION_TYPE);
    case 'G': return THEN(old, DO(BOUND_GENERIC));
    case 'K': return take_function_type(old, SWIFT_AUTO_CLOSURE_TYPE);
    case 'M': return THEN(old, DO(TYPE), DO_KIND(MAKE_1, SWIFT_METATYPE));
    case 'O': return THEN(old, DO_KIND(DECLARATION, SWIFT_ENUM));
    case 'P':
        return uspi_old_next_if(old, 'M') ? THEN(old, DO(TYPE), DO_KIND(MAKE_1, SWIFT_EXISTENTIAL_METATYPE))
                                          : take_protocol_list(old);
    case 'Q': return take_archetype_or_opaque(old);
    case 'R': return THEN(old, DO(BARE_TYPE), DO_KIND(MAKE_1, SWIFT_IN_OUT));
    case 'S': return uspi_old_push(old, uspi_old_read_substitution(old));
    case 'T': return take_tuple(old, OLD_TUPLE_ELEMENTS);
    case 'V': return THEN(old, DO_KIND(DECLARATION, SWIFT_STRUCTURE));
    case 'W': return THEN(old, DO(MEMBERS_OF_PARAMETER));
    case 'X': return take_special_type(old);
    case 'a': return THEN(old, DO_KIND(DECLARATION, SWIFT_TYPE_ALIAS));
    case 'b': return take_function_type(old, SWIFT_OBJC_BLOCK);
    case 'c': return take_function_type(old, SWIFT_C_FUNCTION_POINTER);
    case 'f': return take_function_type(old, SWIFT_UNCURRIED_FUNCTION_TYPE);
    case 'k': return THEN(old, DO(BARE_TYPE), DO_KIND(MAKE_1, SWIFT_NO_DERIVATIVE));
    case 'q': return take_dependent_type(old);
    case 't': return take_tuple(old, OLD_VARIADIC_TUPLE_ELEMENTS);
    case 'u':
        return THEN(old, DO_KIND(SIGNATURE, SWIFT_GENERIC_SIGNATURE), DO(TYPE), DO_KIND(MAKE_2, SWIFT_GENERIC_TYPE));
    case 'w': return THEN(old, DO(MEMBER_OF_PARAMETER));
    case 'x': return uspi_old_push(old, uspi_old_make_parameter(old, 0, 0));
    default: return false;
    }
}
