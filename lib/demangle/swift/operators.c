/* SPDX-License-Identifier: MIT */
/* The table of all operators of the current mangling, and the function that executes them.
 *
 * Most operators do the same: they pop nodes from the stack, and make a node of a certain kind with them as children.
 * They may put it into a node of kind SWIFT_TYPE, or add it to the substitutions. A row of the table describes such an
 * operator completely. Other rows name a function.
 *
 * Source: swift docs/ABI/Mangling.rst. */
#include "lib/demangle/swift/parse.h"

/* Flags of an operator's row. */
enum {
    TYPE = 1,       /* its node is put into a node of kind SWIFT_TYPE */
    KEPT = 2,       /* its node becomes a substitution */
    UPWARDS = 4,    /* the first child is popped first; usually the last child is */
    FAMILY = 8,     /* another character decides; the row's kind is the number of the family */
    NODE_ONLY = 16, /* it pops nothing */
    CALL = 32       /* a function reads it: the row's first child is the function's number */
};

/* The functions that rows name. The rows have numbers, not pointers, which would have to be relocated. */
#define FUNCTIONS_OF_OPERATORS(EACH)                                                                                   \
    EACH(anonymous_context)                                                                                            \
    EACH(associated_type)                                                                                              \
    EACH(attached_macro)                                                                                               \
    EACH(auto_diff)                                                                                                    \
    EACH(bound_generic_type)                                                                                           \
    EACH(box)                                                                                                          \
    EACH(bridged_method)                                                                                               \
    EACH(builtin_type)                                                                                                 \
    EACH(completion_handler)                                                                                           \
    EACH(constructor)                                                                                                  \
    EACH(differentiability_witness)                                                                                    \
    EACH(differentiable_function)                                                                                      \
    EACH(existential_shape)                                                                                            \
    EACH(extension)                                                                                                    \
    EACH(field_offset)                                                                                                 \
    EACH(first_generic_parameter)                                                                                      \
    EACH(freestanding_macro)                                                                                           \
    EACH(function)                                                                                                     \
    EACH(function_specialization)                                                                                      \
    EACH(function_type)                                                                                                \
    EACH(function_type_with_clang_type)                                                                                \
    EACH(generic_parameter)                                                                                            \
    EACH(generic_requirement)                                                                                          \
    EACH(generic_signature)                                                                                            \
    EACH(generic_specialization)                                                                                       \
    EACH(generic_specialization_without_arguments)                                                                     \
    EACH(impl_function_type)                                                                                           \
    EACH(key_path_accessor)                                                                                            \
    EACH(key_path_operator)                                                                                            \
    EACH(local_identifier)                                                                                             \
    EACH(macro_location)                                                                                               \
    EACH(named_entity)                                                                                                 \
    EACH(once)                                                                                                         \
    EACH(opaque_return_type)                                                                                           \
    EACH(opaque_type)                                                                                                  \
    EACH(operator_identifier)                                                                                          \
    EACH(outlined_copy)                                                                                                \
    EACH(outlined_enum)                                                                                                \
    EACH(outlined_variable)                                                                                            \
    EACH(pack)                                                                                                         \
    EACH(pack_element)                                                                                                 \
    EACH(partial_specialization)                                                                                       \
    EACH(protocol_list_type)                                                                                           \
    EACH(reabstraction_thunk)                                                                                          \
    EACH(sil_pack)                                                                                                     \
    EACH(standard_type)                                                                                                \
    EACH(subscript)                                                                                                    \
    EACH(substitutions)                                                                                                \
    EACH(tuple)                                                                                                        \
    EACH(type_mangling)                                                                                                \
    EACH(value_witness)                                                                                                \
    EACH(variable)

#define NUMBER(name)   CALL_##name,
#define FUNCTION(name) uspi_swift_parse_##name,
enum { FUNCTIONS_OF_OPERATORS(NUMBER) };
static struct uspi_swift_node *(*const functions[])(struct uspi_swift_parser *parser,
                                                    uint16_t kind) = {FUNCTIONS_OF_OPERATORS(FUNCTION)};

/* The children of the node that an operator makes, a letter for each:
 *   t  a type                           g  the child of a type             N  such a child that can be generic
 *   p  a protocol                       c  a protocol conformance          q  a conformance of any kind
 *   Q  a list of conformances           f  a conformance's reference       d  a dependent conformance
 *   D  an associated conformance        j  the index of a conformance      e  an entity
 *   x  a context                        m  a module                        n  a declaration's name
 *   i  an identifier                    s  a generic signature             *  any node
 *   #  an index, read from the name     a  an associated type's name       P  a path of associated types' names
 *   L  a list of protocols              r  a list of requirements          R  a metatype's representation, read
 */
struct operator_row {
    uint16_t kind;
    uint8_t flags;
    char children[5];
};

#define MAKES(letter, made, children, flags) [(letter) & 63] = {SWIFT_##made, (flags), children}
#define MARKS(letter, made)                  [(letter) & 63] = {SWIFT_##made, NODE_ONLY, ""}
#define CALLS(letter, name, made)            [(letter) & 63] = {SWIFT_##made, CALL, {CALL_##name}}
#define LEADS(letter, family)                [(letter) & 63] = {(family), FAMILY, ""}

enum family {
    ROOT,
    CONFORMANCES,        /* H */
    METADATA,            /* M */
    PRIVATE_DESCRIPTORS, /* MX */
    ARCHETYPES,          /* Q */
    THUNKS,              /* T */
    THUNKS_IDENTITY,     /* TT */
    THUNKS_MORE,         /* Tw */
    AUTO_DIFF,           /* TJ */
    WITNESSES,           /* W */
    OUTLINED,            /* WO */
    SPECIAL_TYPES,       /* X */
    SUGARED_TYPES,       /* XS */
    CLANG_FUNCTIONS,     /* Xz */
    ANNOTATIONS,         /* Y */
    FUNCTIONS,           /* f */
    MACROS,              /* fM */
    FAMILY_COUNT
};

/* Operators by the lower six bits of their letters, which differ. */
static const struct operator_row operators[FAMILY_COUNT][64] =
    {
        [ROOT] =
            {
                CALLS('A', substitutions, NOTHING),
                CALLS('B', builtin_type, BUILTIN_TYPE),
                MAKES('C', CLASS, "xn", TYPE | KEPT),
                CALLS('D', type_mangling, TYPE_MANGLING),
                CALLS('E', extension, EXTENSION),
                CALLS('F', function, FUNCTION),
                CALLS('G', bound_generic_type, NOTHING),
                LEADS('H', CONFORMANCES),
                CALLS('I', impl_function_type, IMPL_FUNCTION_TYPE),
                MARKS('K', THROWS_ANNOTATION),
                CALLS('L', local_identifier, NOTHING),
                LEADS('M', METADATA),
                MAKES('N', TYPE_METADATA, "t", 0),
                MAKES('O', ENUM, "xn", TYPE | KEPT),
                MAKES('P', PROTOCOL, "xn", TYPE | KEPT),
                LEADS('Q', ARCHETYPES),
                CALLS('R', generic_requirement, NOTHING),
                CALLS('S', standard_type, NOTHING),
                LEADS('T', THUNKS),
                MAKES('V', STRUCTURE, "xn", TYPE | KEPT),
                LEADS('W', WITNESSES),
                LEADS('X', SPECIAL_TYPES),
                LEADS('Y', ANNOTATIONS),
                MAKES('Z', STATIC, "e", 0),
                MAKES('a', TYPE_ALIAS, "xn", TYPE | KEPT),
                CALLS('c', function_type, FUNCTION_TYPE),
                MARKS('d', VARIADIC_MARKER),
                LEADS('f', FUNCTIONS),
                MAKES('g', RETROACTIVE_CONFORMANCE, "#q", 0),
                MAKES('h', SHARED, "g", TYPE),
                CALLS('i', subscript, SUBSCRIPT),
                CALLS('l', generic_signature, GENERIC_SIGNATURE),
                MAKES('m', METATYPE, "t", TYPE),
                MAKES('n', OWNED, "g", TYPE),
                CALLS('o', operator_identifier, NOTHING),
                CALLS('p', protocol_list_type, PROTOCOL_LIST),
                CALLS('q', generic_parameter, GENERIC_PARAMETER),
                CALLS('r', generic_signature, GENERIC_SIGNATURE),
                CALLS('t', tuple, TUPLE),
                MAKES('u', GENERIC_TYPE, "st", TYPE | UPWARDS),
                CALLS('v', variable, VARIABLE),
                CALLS('w', value_witness, VALUE_WITNESS),
                CALLS('x', first_generic_parameter, GENERIC_PARAMETER),
                MARKS('y', EMPTY_LIST),
                MAKES('z', IN_OUT, "g", TYPE),
            },
        [CONFORMANCES] =
            {
                MAKES('A', DEPENDENT_CONFORMANCE_ASSOCIATED, "dDj", 0),
                MAKES('C', CONCRETE_CONFORMANCE, "tfQ", 0),
                MAKES('D', DEPENDENT_CONFORMANCE_ROOT, "tpj", 0),
                MARKS('F', ACCESSIBLE_FUNCTION_RECORD),
                MAKES('I', DEPENDENT_CONFORMANCE_INHERITED, "dpj", 0),
                MAKES('O', DEPENDENT_CONFORMANCE_OPAQUE, "dt", 0),
                MAKES('P', CONFORMANCE_REF_IN_TYPE_MODULE, "p", 0),
                MAKES('X', PACK_CONFORMANCE, "Q", 0),
                MAKES('c', PROTOCOL_CONFORMANCE_DESCRIPTOR_RECORD, "c", 0),
                MAKES('n', NOMINAL_TYPE_DESCRIPTOR_RECORD, "t", 0),
                MAKES('o', OPAQUE_TYPE_DESCRIPTOR_RECORD, "*", 0),
                MAKES('p', CONFORMANCE_REF_IN_PROTOCOL_MODULE, "p", 0),
                MAKES('r', PROTOCOL_DESCRIPTOR_RECORD, "p", 0),
            },
        [METADATA] =
            {
                MAKES('A', REFLECTION_ASSOCIATED_TYPE_DESCRIPTOR, "c", 0),
                MAKES('B', REFLECTION_BUILTIN_DESCRIPTOR, "t", 0),
                MAKES('C', REFLECTION_SUPERCLASS_DESCRIPTOR, "N", 0),
                MAKES('D', TYPE_METADATA_DEMANGLING_CACHE, "t", 0),
                MAKES('F', REFLECTION_FIELD_DESCRIPTOR, "t", 0),
                MAKES('I', TYPE_METADATA_INSTANTIATION_CACHE, "t", 0),
                MAKES('J', NONCANONICAL_METADATA_CACHE, "*", 0),
                MAKES('K', METADATA_INSTANTIATION_CACHE, "*", 0),
                MAKES('L', TYPE_METADATA_LAZY_CACHE, "t", 0),
                MAKES('M', CANONICAL_METACLASS, "t", 0),
                MAKES('N', NONCANONICAL_METADATA, "t", 0),
                MAKES('P', GENERIC_TYPE_METADATA_PATTERN, "t", 0),
                MAKES('Q', OPAQUE_TYPE_DESCRIPTOR, "*", 0),
                MAKES('S', PROTOCOL_SELF_CONFORMANCE_DESCRIPTOR, "p", 0),
                MAKES('U', OBJC_METADATA_UPDATE, "t", 0),
                MAKES('V', PROPERTY_DESCRIPTOR, "e", 0),
                LEADS('X', PRIVATE_DESCRIPTORS),
                MAKES('a', TYPE_METADATA_ACCESSOR, "t", 0),
                MAKES('b', CANONICAL_METADATA_ACCESSOR, "t", 0),
                MAKES('c', PROTOCOL_CONFORMANCE_DESCRIPTOR, "c", 0),
                MAKES('f', FULL_TYPE_METADATA, "t", 0),
                MAKES('g', OPAQUE_TYPE_DESCRIPTOR_ACCESSOR, "*", 0),
                MAKES('h', OPAQUE_TYPE_DESCRIPTOR_ACCESSOR_IMPL, "*", 0),
                MAKES('i', TYPE_METADATA_INSTANTIATION_FUNCTION, "t", 0),
                MAKES('j', OPAQUE_TYPE_DESCRIPTOR_ACCESSOR_KEY, "*", 0),
                MAKES('k', OPAQUE_TYPE_DESCRIPTOR_ACCESSOR_VAR, "*", 0),
                MAKES('l', TYPE_METADATA_SINGLETON_CACHE, "t", 0),
                MAKES('m', METACLASS, "t", 0),
                MAKES('n', NOMINAL_TYPE_DESCRIPTOR, "t", 0),
                MAKES('o', CLASS_METADATA_BASE_OFFSET, "t", 0),
                MAKES('p', PROTOCOL_DESCRIPTOR, "p", 0),
                MAKES('q', UNIQUABLE, "*", 0),
                MAKES('r', TYPE_METADATA_COMPLETION, "t", 0),
                MAKES('s', OBJC_CLASS_STUB, "t", 0),
                MAKES('t', FULL_OBJC_CLASS_STUB, "t", 0),
                MAKES('u', METHOD_LOOKUP_FUNCTION, "t", 0),
                MAKES('z', CANONICAL_METADATA_TOKEN, "t", 0),
            },
        [PRIVATE_DESCRIPTORS] =
            {
                MAKES('A', ASSOCIATED_TYPE_PARAMETER_REF, "tP", 0),
                MAKES('E', EXTENSION_DESCRIPTOR, "x", 0),
                MAKES('M', MODULE_DESCRIPTOR, "m", 0),
                MAKES('X', ANONYMOUS_DESCRIPTOR, "x", 0),
                MAKES('Y', ANONYMOUS_DESCRIPTOR, "x*", 0),
            },
        [ARCHETYPES] =
            {
                MAKES('O', OPAQUE_RETURN_TYPE_OF, "x", 0),
                CALLS('P', pack, PACK),
                CALLS('R', opaque_return_type, OPAQUE_RETURN_TYPE),
                CALLS('S', sil_pack, NOTHING),
                CALLS('X', associated_type, MEMBER_TYPE),
                CALLS('Y', associated_type, MEMBER_TYPE),
                CALLS('Z', associated_type, MEMBER_TYPE),
                MAKES('a', ASSOCIATED_TYPE_REF, "gi", TYPE | KEPT),
                CALLS('e', pack_element, PACK_ELEMENT),
                CALLS('o', opaque_type, OPAQUE_TYPE),
                MAKES('p', PACK_EXPANSION, "gg", TYPE),
                [('r') & 63] = {SWIFT_OPAQUE_RETURN_TYPE, TYPE | NODE_ONLY, ""},
                CALLS('x', associated_type, MEMBER_TYPE),
                CALLS('y', associated_type, MEMBER_TYPE),
                CALLS('z', associated_type, MEMBER_TYPE),
            },
        [THUNKS] =
            {
                MARKS('A', PARTIAL_APPLY),
                CALLS('B', generic_specialization, GENERIC_SPECIALIZATION_IN_RESILIENCE_DOMAIN),
                MAKES('C', COROUTINE_CONTINUATION, "t", 0),
                MARKS('D', DYNAMIC_ATTRIBUTE),
                MARKS('E', DISTRIBUTED_THUNK),
                MARKS('F', DISTRIBUTED_ACCESSOR),
                CALLS('G', generic_specialization, GENERIC_SPECIALIZATION_NOT_REABSTRACTED),
                CALLS('H', key_path_operator, KEY_PATH_EQUALS),
                MARKS('I', DYNAMICALLY_REPLACEABLE_IMPL),
                LEADS('J', AUTO_DIFF),
                CALLS('K', key_path_accessor, KEY_PATH_GETTER),
                MAKES('L', PROTOCOL_REQUIREMENTS_BASE, "p", 0),
                MAKES('M', DEFAULT_ASSOCIATED_TYPE_ACCESSOR, "a", 0),
                MAKES('N', DEFAULT_ASSOCIATED_CONFORMANCE_ACCESSOR, "tPp", 0),
                MARKS('O', NON_OBJC_ATTRIBUTE),
                CALLS('P', partial_specialization, GENERIC_PARTIAL_SPECIALIZATION_NOT_REABSTRACTED),
                MAKES('Q', ASYNC_AWAIT_RESUME, "#", 0),
                CALLS('R', reabstraction_thunk, REABSTRACTION_THUNK_HELPER),
                MAKES('S', PROTOCOL_SELF_CONFORMANCE_WITNESS, "e", 0),
                LEADS('T', THUNKS_IDENTITY),
                MAKES('U', REABSTRACTION_THUNK_HELPER_WITH_GLOBAL_ACTOR, "*t", 0),
                MAKES('V', VTABLE_THUNK, "ee", 0),
                MAKES('W', PROTOCOL_WITNESS, "ce", 0),
                MARKS('X', DYNAMICALLY_REPLACEABLE_VAR),
                MAKES('Y', ASYNC_SUSPEND_RESUME, "#", 0),
                CALLS('Z', completion_handler, CHECKED_OBJC_COMPLETION_HANDLER),
                MARKS('a', PARTIAL_APPLY_OBJC),
                MAKES('b', BASE_CONFORMANCE_DESCRIPTOR, "tp", 0),
                MAKES('c', CURRY_THUNK, "e", 0),
                MARKS('d', DIRECT_METHOD_REFERENCE),
                CALLS('e', bridged_method, OUTLINED_BRIDGED_METHOD),
                CALLS('f', function_specialization, FUNCTION_SIGNATURE_SPECIALIZATION),
                CALLS('g', generic_specialization, GENERIC_SPECIALIZATION),
                CALLS('h', key_path_operator, KEY_PATH_HASH),
                CALLS('i', generic_specialization, INLINED_GENERIC_FUNCTION),
                MAKES('j', DISPATCH_THUNK, "e", 0),
                CALLS('k', key_path_accessor, KEY_PATH_SETTER),
                MAKES('l', ASSOCIATED_TYPE_DESCRIPTOR, "a", 0),
                MARKS('m', MERGED_FUNCTION),
                MAKES('n', ASSOCIATED_CONFORMANCE_DESCRIPTOR, "tPp", 0),
                MARKS('o', OBJC_ATTRIBUTE),
                CALLS('p', partial_specialization, GENERIC_PARTIAL_SPECIALIZATION),
                MAKES('q', METHOD_DESCRIPTOR, "e", 0),
                CALLS('r', reabstraction_thunk, REABSTRACTION_THUNK),
                CALLS('s', generic_specialization, GENERIC_SPECIALIZATION_PRESPECIALIZED),
                CALLS('t', generic_specialization_without_arguments, NOTHING),
                MARKS('u', ASYNC_FUNCTION_POINTER),
                CALLS('v', outlined_variable, OUTLINED_VARIABLE),
                LEADS('w', THUNKS_MORE),
                MARKS('x', DYNAMICALLY_REPLACEABLE_KEY),
                CALLS('y', reabstraction_thunk, REABSTRACTION_THUNK_HELPER_WITH_SELF),
                CALLS('z', completion_handler, OBJC_COMPLETION_HANDLER),
            },
        [THUNKS_IDENTITY] = {MAKES('I', IDENTITY_THUNK, "e", 0)},
        [THUNKS_MORE] =
            {
                MARKS('B', BACK_DEPLOYMENT_FALLBACK),
                MARKS('S', HAS_SYMBOL_QUERY),
                MARKS('b', BACK_DEPLOYMENT_THUNK),
                MARKS('c', CORO_FUNCTION_POINTER),
                MARKS('d', DEFAULT_OVERRIDE),
            },
        [AUTO_DIFF] =
            {
                CALLS('O', auto_diff, AUTO_DIFF_SELF_REORDERING_THUNK),
                CALLS('S', auto_diff, AUTO_DIFF_SUBSET_THUNK),
                CALLS('V', auto_diff, AUTO_DIFF_VTABLE_THUNK),
                /* No letter follows these four: they tell which function it is. */
                CALLS('d', auto_diff, AUTO_DIFF_FUNCTION),
                CALLS('f', auto_diff, AUTO_DIFF_FUNCTION),
                CALLS('p', auto_diff, AUTO_DIFF_FUNCTION),
                CALLS('r', auto_diff, AUTO_DIFF_FUNCTION),
            },
        [WITNESSES] =
            {
                MAKES('C', ENUM_CASE, "e", 0),
                MAKES('G', GENERIC_WITNESS_TABLE, "c", 0),
                MAKES('I', GENERIC_WITNESS_TABLE_INSTANTIATION, "c", 0),
                CALLS('J', differentiability_witness, DIFFERENTIABILITY_WITNESS),
                MAKES('L', LAZY_WITNESS_TABLE_CACHE, "tc", 0),
                LEADS('O', OUTLINED),
                MAKES('P', PROTOCOL_WITNESS_TABLE, "c", 0),
                MAKES('S', PROTOCOL_SELF_CONFORMANCE_WITNESS_TABLE, "p", 0),
                MAKES('T', ASSOCIATED_TYPE_WITNESS_TABLE_ACCESSOR, "cPt", 0),
                MAKES('V', VALUE_WITNESS_TABLE, "t", 0),
                CALLS('Z', once, ONCE_FUNCTION),
                MAKES('a', PROTOCOL_WITNESS_TABLE_ACCESSOR, "c", 0),
                MAKES('b', BASE_WITNESS_TABLE_ACCESSOR, "ct", 0),
                MAKES('l', LAZY_WITNESS_TABLE_ACCESSOR, "tc", 0),
                MAKES('p', PROTOCOL_WITNESS_TABLE_PATTERN, "c", 0),
                MAKES('r', RESILIENT_WITNESS_TABLE, "c", 0),
                MAKES('t', ASSOCIATED_TYPE_METADATA_ACCESSOR, "cn", 0),
                CALLS('v', field_offset, FIELD_OFFSET),
                CALLS('z', once, ONCE_TOKEN),
            },
        [OUTLINED] =
            {
                CALLS('B', outlined_copy, OUTLINED_INITIALIZE_WITH_TAKE),
                CALLS('C', outlined_copy, OUTLINED_INITIALIZE_WITH_COPY),
                CALLS('D', outlined_copy, OUTLINED_ASSIGN_WITH_TAKE),
                CALLS('F', outlined_copy, OUTLINED_ASSIGN_WITH_COPY),
                CALLS('H', outlined_copy, OUTLINED_DESTROY),
                CALLS('b', outlined_copy, OUTLINED_INITIALIZE_WITH_TAKE),
                CALLS('c', outlined_copy, OUTLINED_INITIALIZE_WITH_COPY),
                CALLS('d', outlined_copy, OUTLINED_ASSIGN_WITH_TAKE),
                CALLS('e', outlined_copy, OUTLINED_CONSUME),
                CALLS('f', outlined_copy, OUTLINED_ASSIGN_WITH_COPY),
                CALLS('g', outlined_copy, OUTLINED_ENUM_GET_TAG),
                CALLS('h', outlined_copy, OUTLINED_DESTROY),
                CALLS('i', outlined_enum, OUTLINED_ENUM_TAG_STORE),
                CALLS('j', outlined_enum, OUTLINED_ENUM_PROJECT_DATA),
                CALLS('r', outlined_copy, OUTLINED_RETAIN),
                CALLS('s', outlined_copy, OUTLINED_RELEASE),
                CALLS('y', outlined_copy, OUTLINED_COPY),
            },
        [SPECIAL_TYPES] =
            {
                CALLS('A', function_type, ESCAPING_AUTO_CLOSURE_TYPE),
                CALLS('B', function_type, OBJC_BLOCK),
                CALLS('C', function_type, C_FUNCTION_POINTER),
                MAKES('D', DYNAMIC_SELF, "t", TYPE),
                CALLS('E', function_type, NO_ESCAPE_FUNCTION_TYPE),
                CALLS('G', existential_shape, EXTENDED_EXISTENTIAL_SHAPE),
                CALLS('K', function_type, AUTO_CLOSURE_TYPE),
                CALLS('L', function_type, ESCAPING_OBJC_BLOCK),
                MAKES('M', METATYPE, "Rt", TYPE),
                MAKES('P', CONSTRAINED_EXISTENTIAL, "tr", TYPE),
                LEADS('S', SUGARED_TYPES),
                CALLS('U', function_type, UNCURRIED_FUNCTION_TYPE),
                CALLS('X', box, SIL_BOX_TYPE_WITH_LAYOUT),
                MAKES('Y', OTHER_NOMINAL_TYPE, "xn", TYPE | KEPT),
                CALLS('Z', anonymous_context, ANONYMOUS_CONTEXT),
                MAKES('b', SIL_BOX_TYPE, "t", TYPE),
                MAKES('c', PROTOCOL_LIST_WITH_CLASS, "Lt", TYPE),
                [('e') & 63] = {SWIFT_ERROR_TYPE, TYPE | NODE_ONLY, ""},
                CALLS('f', function_type, THIN_FUNCTION_TYPE),
                CALLS('g', existential_shape, EXTENDED_EXISTENTIAL_SHAPE),
                MAKES('l', PROTOCOL_LIST_WITH_ANY_OBJECT, "L", TYPE),
                MAKES('m', EXISTENTIAL_METATYPE, "Rt", TYPE),
                MAKES('o', UNOWNED, "t", TYPE),
                MAKES('p', EXISTENTIAL_METATYPE, "t", TYPE),
                MAKES('u', UNMANAGED, "t", TYPE),
                MAKES('w', WEAK, "t", TYPE),
                CALLS('x', box, SIL_BOX_TYPE_WITH_LAYOUT),
                LEADS('z', CLANG_FUNCTIONS),
            },
        [SUGARED_TYPES] =
            {
                MAKES('A', SUGARED_INLINE_ARRAY, "tt", TYPE),
                MAKES('D', SUGARED_DICTIONARY, "tt", TYPE),
                MAKES('a', SUGARED_ARRAY, "t", TYPE),
                MAKES('p', SUGARED_PAREN, "t", TYPE),
                MAKES('q', SUGARED_OPTIONAL, "t", TYPE),
            },
        [CLANG_FUNCTIONS] =
            {
                CALLS('B', function_type_with_clang_type, OBJC_BLOCK),
                CALLS('C', function_type_with_clang_type, C_FUNCTION_POINTER),
            },
        [ANNOTATIONS] =
            {
                MARKS('A', ISOLATED_ANY_FUNCTION),
                MARKS('C', NONISOLATED_CALLER_FUNCTION),
                MAKES('K', TYPED_THROWS_ANNOTATION, "g", 0),
                MARKS('T', SENDING_RESULT_FUNCTION),
                MARKS('a', ASYNC_ANNOTATION),
                MARKS('b', SENDABLE_FUNCTION),
                MAKES('c', GLOBAL_ACTOR_FUNCTION, "g", 0),
                MAKES('g', CONST_VALUE, "g", TYPE),
                MAKES('i', ISOLATED, "g", TYPE),
                CALLS('j', differentiable_function, DIFFERENTIABLE_FUNCTION),
                MAKES('k', NO_DERIVATIVE, "g", TYPE),
                MAKES('t', COMPILE_TIME_LITERAL, "g", TYPE),
                MAKES('u', SENDING, "g", TYPE),
            },
        [FUNCTIONS] =
            {
                MAKES('A', DEFAULT_ARGUMENT, "x#", 0),
                CALLS('C', constructor, ALLOCATOR),
                MAKES('D', DEALLOCATOR, "x", 0),
                MAKES('E', IVAR_DESTROYER, "x", 0),
                MAKES('F', PROPERTY_WRAPPED_FIELD_INIT_ACCESSOR, "x", 0),
                LEADS('M', MACROS),
                MAKES('P', PROPERTY_WRAPPER_BACKING_INITIALIZER, "x", 0),
                MAKES('U', EXPLICIT_CLOSURE, "x#t", 0),
                MAKES('W', PROPERTY_WRAPPER_INIT_FROM_PROJECTED_VALUE, "x", 0),
                MAKES('Z', ISOLATED_DEALLOCATOR, "x", 0),
                CALLS('c', constructor, CONSTRUCTOR),
                MAKES('d', DESTRUCTOR, "x", 0),
                MAKES('e', IVAR_INITIALIZER, "x", 0),
                MAKES('i', INITIALIZER, "x", 0),
                CALLS('m', named_entity, MACRO),
                CALLS('p', named_entity, GENERIC_TYPE_PARAMETER),
                MAKES('u', IMPLICIT_CLOSURE, "x#t", 0),
            },
        [MACROS] =
            {
                CALLS('X', macro_location, MACRO_LOCATION),
                CALLS('a', attached_macro, MACRO_ACCESSOR),
                CALLS('b', attached_macro, MACRO_BODY),
                CALLS('c', attached_macro, MACRO_CONFORMANCE),
                CALLS('e', attached_macro, MACRO_EXTENSION),
                CALLS('f', freestanding_macro, MACRO_FREESTANDING),
                CALLS('m', attached_macro, MACRO_MEMBER),
                CALLS('p', attached_macro, MACRO_PEER),
                CALLS('q', attached_macro, MACRO_PREAMBLE),
                CALLS('r', attached_macro, MACRO_MEMBER_ATTRIBUTE),
                CALLS('u', freestanding_macro, MACRO_UNIQUE_NAME),
            },
};

/* Pops or reads one of an operator's children, by its letter. */
static struct uspi_swift_node *take_child(struct uspi_swift_parser *parser, char letter) {
    switch (letter) {
    case 't': return uspi_swift_pop_type(parser);
    case 'g': return uspi_swift_pop_type_child(parser);
    case 'N': return uspi_swift_pop_nominal(parser);
    case 'p': return uspi_swift_pop_protocol(parser);
    case 'c': return uspi_swift_pop_conformance(parser);
    case 'q': return uspi_swift_pop_any_conformance(parser);
    case 'Q': return uspi_swift_pop_conformances(parser);
    case 'f': return uspi_swift_pop_conformance_ref(parser);
    case 'd': return uspi_swift_pop_dependent_conformance(parser);
    case 'D': return uspi_swift_pop_associated_conformance(parser);
    case 'j': return uspi_swift_parse_conformance_index(parser);
    case 'e': return uspi_swift_pop_entity(parser);
    case 'x': return uspi_swift_pop_context(parser);
    case 'm': return uspi_swift_pop_module(parser);
    case 'n': return uspi_swift_pop_role(parser, USPI_SWIFT_NAME);
    case 'i': return uspi_swift_pop_kind(parser, SWIFT_IDENTIFIER);
    case 's': return uspi_swift_pop_kind(parser, SWIFT_GENERIC_SIGNATURE);
    case '*': return uspi_swift_pop(parser);
    case '#': return uspi_swift_index_node(parser);
    case 'a': return uspi_swift_pop_associated_type_name(parser);
    case 'P': return uspi_swift_pop_associated_type_path(parser);
    case 'L': return uspi_swift_parse_protocol_list(parser, SWIFT_PROTOCOL_LIST);
    case 'r': return uspi_swift_pop_requirements(parser);
    case 'R': return uspi_swift_parse_metatype_representation(parser, SWIFT_METATYPE_REPRESENTATION);
    default: return NULL;
    }
}

static struct uspi_swift_node *make_by_row(struct uspi_swift_parser *parser, const struct operator_row *row) {
    struct uspi_swift_node *node = uspi_swift_node(parser->memory, row->kind);
    size_t count = 0;
    while (row->children[count] != '\0') count++;
    for (size_t i = 0; i < count; i++) {
        bool is_made =
            (row->flags & UPWARDS) != 0
                ? uspi_swift_add(parser->memory, node, take_child(parser, row->children[i]))
                : uspi_swift_add_first(parser->memory, node, take_child(parser, row->children[count - 1 - i]));
        if (!is_made) return NULL;
    }
    if ((row->flags & TYPE) != 0) node = uspi_swift_type(parser, node);
    return (row->flags & KEPT) != 0 ? uspi_swift_remember(parser, node) : node;
}

static bool is_letter(char c) { return uspi_swift_is_upper(c) || uspi_swift_is_lower(c); }

/* Reads the rest of the text, which was added after the mangled name. */
static struct uspi_swift_node *parse_suffix(struct uspi_swift_parser *parser) {
    const char *suffix = parser->text + parser->at;
    size_t length = parser->length - parser->at;
    parser->at = parser->length;
    return uspi_swift_node_with_text(parser->memory, SWIFT_SUFFIX, suffix, length);
}

static struct uspi_swift_node *parse_letters(struct uspi_swift_parser *parser) {
    const struct operator_row *row = &operators[ROOT][uspi_swift_next(parser) & 63];
    while ((row->flags & FAMILY) != 0) {
        char letter = uspi_swift_next(parser);
        if (!is_letter(letter)) return NULL;
        row = &operators[row->kind][letter & 63];
    }
    if ((row->flags & CALL) != 0) return functions[(size_t)row->children[0]](parser, row->kind);
    return row->kind != SWIFT_NOTHING ? make_by_row(parser, row) : NULL;
}

struct uspi_swift_node *uspi_swift_parse_operator(struct uspi_swift_parser *parser) {
    /* Skip bytes that align symbolic references; the references themselves are refused. */
    while (uspi_swift_peek(parser) == '\xff') parser->at++;
    char c = uspi_swift_peek(parser);
    if (c == 's') {
        parser->at++;
        return uspi_swift_node_with_string(parser->memory, SWIFT_MODULE, "Swift");
    }
    if (is_letter(c)) return parse_letters(parser);
    switch (c) {
    case '_': parser->at++; return uspi_swift_node(parser->memory, SWIFT_FIRST_ELEMENT);
    case '.': return parse_suffix(parser);
    case '$': parser->at++; return uspi_swift_parse_integer_type(parser, SWIFT_INTEGER);
    default: return uspi_swift_parse_identifier(parser, SWIFT_IDENTIFIER);
    }
}
