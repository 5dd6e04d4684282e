/* SPDX-License-Identifier: MIT */
/* See kinds.h. */
#include "lib/demangle/swift/kinds.h"

#include <stddef.h>

#define CONTEXT     USPI_SWIFT_CONTEXT
#define NAME        USPI_SWIFT_NAME
#define ATTRIBUTE   USPI_SWIFT_ATTRIBUTE
#define SIMPLE      USPI_SWIFT_SIMPLE
#define NOMINAL     USPI_SWIFT_NOMINAL
#define REQUIREMENT USPI_SWIFT_REQUIREMENT
#define CONFORMANCE USPI_SWIFT_CONFORMANCE
#define EXPANSION   USPI_SWIFT_EXPANSION

/* The rows: a kind's full and simple phrase, and its roles. A kind without a phrase is written by a function; a kind
 * without a row also has no role. */
#define ROWS(ROLES, PHRASE, PHRASES)                                                                                   \
    PHRASE(OBJC_ATTRIBUTE, "@objc ", ATTRIBUTE)                                                                        \
    PHRASE(NON_OBJC_ATTRIBUTE, "@nonobjc ", ATTRIBUTE)                                                                 \
    PHRASE(DYNAMIC_ATTRIBUTE, "dynamic ", ATTRIBUTE)                                                                   \
    PHRASE(DIRECT_METHOD_REFERENCE, "super ", ATTRIBUTE)                                                               \
    PHRASE(VTABLE_ATTRIBUTE, "override ", ATTRIBUTE)                                                                   \
    ROLES(PARTIAL_APPLY, ATTRIBUTE)                                                                                    \
    ROLES(PARTIAL_APPLY_OBJC, ATTRIBUTE)                                                                               \
    PHRASES(MERGED_FUNCTION, "merged ", "", ATTRIBUTE)                                                                 \
    PHRASES(DISTRIBUTED_THUNK, "distributed thunk ", "", ATTRIBUTE)                                                    \
    PHRASES(DISTRIBUTED_ACCESSOR, "distributed accessor for ", "", ATTRIBUTE)                                          \
    PHRASES(ACCESSIBLE_FUNCTION_RECORD, "accessible function runtime record for ", "", ATTRIBUTE)                      \
    PHRASES(DYNAMICALLY_REPLACEABLE_IMPL, "dynamically replaceable thunk for ", "", ATTRIBUTE)                         \
    PHRASES(DYNAMICALLY_REPLACEABLE_KEY, "dynamically replaceable key for ", "", ATTRIBUTE)                            \
    PHRASES(DYNAMICALLY_REPLACEABLE_VAR, "dynamically replaceable variable for ", "", ATTRIBUTE)                       \
    PHRASE(ASYNC_FUNCTION_POINTER, "async function pointer to ", ATTRIBUTE)                                            \
    PHRASES(ASYNC_AWAIT_RESUME, "(%0) await resume partial function for ", "", ATTRIBUTE)                              \
    PHRASES(ASYNC_SUSPEND_RESUME, "(%0) suspend resume partial function for ", "", ATTRIBUTE)                          \
    PHRASES(BACK_DEPLOYMENT_THUNK, "back deployment thunk for ", "", ATTRIBUTE)                                        \
    PHRASE(BACK_DEPLOYMENT_FALLBACK, "back deployment fallback for ", ATTRIBUTE)                                       \
    PHRASE(HAS_SYMBOL_QUERY, "#_hasSymbol query for ", ATTRIBUTE)                                                      \
    PHRASE(CORO_FUNCTION_POINTER, "coro function pointer to ", ATTRIBUTE)                                              \
    PHRASE(DEFAULT_OVERRIDE, "default override of ", ATTRIBUTE)                                                        \
    PHRASE(OUTLINED_VARIABLE, "outlined variable #%# of ", ATTRIBUTE)                                                  \
    PHRASE(OUTLINED_READ_ONLY_OBJECT, "outlined read-only object #%# of ", ATTRIBUTE)                                  \
    PHRASE(OUTLINED_BRIDGED_METHOD, "outlined bridged method (%t) of ", ATTRIBUTE)                                     \
    ROLES(FUNCTION_SIGNATURE_SPECIALIZATION, ATTRIBUTE)                                                                \
    ROLES(GENERIC_SPECIALIZATION, ATTRIBUTE)                                                                           \
    ROLES(GENERIC_SPECIALIZATION_IN_RESILIENCE_DOMAIN, ATTRIBUTE)                                                      \
    ROLES(GENERIC_SPECIALIZATION_NOT_REABSTRACTED, ATTRIBUTE)                                                          \
    ROLES(GENERIC_SPECIALIZATION_PRESPECIALIZED, ATTRIBUTE)                                                            \
    ROLES(INLINED_GENERIC_FUNCTION, ATTRIBUTE)                                                                         \
    ROLES(GENERIC_PARTIAL_SPECIALIZATION, ATTRIBUTE)                                                                   \
    ROLES(GENERIC_PARTIAL_SPECIALIZATION_NOT_REABSTRACTED, ATTRIBUTE)                                                  \
    PHRASE(SPECIALIZATION_PASS, "%#", 0)                                                                               \
    PHRASE(IS_SERIALIZED, "serialized", 0)                                                                             \
    PHRASE(ASYNC_REMOVED, "async demotion of ", 0)                                                                     \
    PHRASE(REPRESENTATION_CHANGED, "representation changed of ", 0)                                                    \
    PHRASE(DROPPED_ARGUMENT, "param%#-removed", 0)                                                                     \
    PHRASES(MODULE, "%t", "", CONTEXT | SIMPLE)                                                                        \
    ROLES(EXTENSION, CONTEXT)                                                                                          \
    ROLES(ANONYMOUS_CONTEXT, CONTEXT)                                                                                  \
    ROLES(CLASS, CONTEXT | SIMPLE | NOMINAL)                                                                           \
    ROLES(STRUCTURE, CONTEXT | SIMPLE | NOMINAL)                                                                       \
    ROLES(ENUM, CONTEXT | SIMPLE | NOMINAL)                                                                            \
    ROLES(PROTOCOL, CONTEXT | SIMPLE | NOMINAL)                                                                        \
    ROLES(TYPE_ALIAS, CONTEXT | SIMPLE | NOMINAL)                                                                      \
    ROLES(OTHER_NOMINAL_TYPE, CONTEXT | SIMPLE | NOMINAL)                                                              \
    PHRASE(STATIC, "static %0", CONTEXT)                                                                               \
    ROLES(FUNCTION, CONTEXT)                                                                                           \
    ROLES(BOUND_GENERIC_FUNCTION, SIMPLE)                                                                              \
    ROLES(VARIABLE, CONTEXT)                                                                                           \
    ROLES(SUBSCRIPT, CONTEXT)                                                                                          \
    ROLES(ALLOCATOR, CONTEXT)                                                                                          \
    ROLES(CONSTRUCTOR, CONTEXT)                                                                                        \
    ROLES(DESTRUCTOR, CONTEXT)                                                                                         \
    ROLES(DEALLOCATOR, CONTEXT)                                                                                        \
    ROLES(ISOLATED_DEALLOCATOR, CONTEXT)                                                                               \
    ROLES(IVAR_INITIALIZER, CONTEXT)                                                                                   \
    ROLES(IVAR_DESTROYER, CONTEXT)                                                                                     \
    ROLES(INITIALIZER, CONTEXT)                                                                                        \
    ROLES(DEFAULT_ARGUMENT, CONTEXT)                                                                                   \
    ROLES(PROPERTY_WRAPPER_BACKING_INITIALIZER, CONTEXT)                                                               \
    ROLES(PROPERTY_WRAPPED_FIELD_INIT_ACCESSOR, CONTEXT)                                                               \
    ROLES(PROPERTY_WRAPPER_INIT_FROM_PROJECTED_VALUE, CONTEXT)                                                         \
    ROLES(EXPLICIT_CLOSURE, CONTEXT)                                                                                   \
    ROLES(IMPLICIT_CLOSURE, CONTEXT)                                                                                   \
    ROLES(GETTER, CONTEXT)                                                                                             \
    ROLES(GLOBAL_GETTER, CONTEXT)                                                                                      \
    ROLES(SETTER, CONTEXT)                                                                                             \
    ROLES(MATERIALIZE_FOR_SET, CONTEXT)                                                                                \
    ROLES(WILL_SET, CONTEXT)                                                                                           \
    ROLES(DID_SET, CONTEXT)                                                                                            \
    ROLES(READ_ACCESSOR, CONTEXT)                                                                                      \
    ROLES(READ_2_ACCESSOR, CONTEXT)                                                                                    \
    ROLES(MODIFY_ACCESSOR, CONTEXT)                                                                                    \
    ROLES(MODIFY_2_ACCESSOR, CONTEXT)                                                                                  \
    ROLES(INIT_ACCESSOR, CONTEXT)                                                                                      \
    ROLES(BORROW_ACCESSOR, CONTEXT)                                                                                    \
    ROLES(MUTATE_ACCESSOR, CONTEXT)                                                                                    \
    ROLES(OWNING_ADDRESSOR, CONTEXT)                                                                                   \
    ROLES(OWNING_MUTABLE_ADDRESSOR, CONTEXT)                                                                           \
    ROLES(NATIVE_OWNING_ADDRESSOR, CONTEXT)                                                                            \
    ROLES(NATIVE_OWNING_MUTABLE_ADDRESSOR, CONTEXT)                                                                    \
    ROLES(NATIVE_PINNING_ADDRESSOR, CONTEXT)                                                                           \
    ROLES(NATIVE_PINNING_MUTABLE_ADDRESSOR, CONTEXT)                                                                   \
    ROLES(UNSAFE_ADDRESSOR, CONTEXT)                                                                                   \
    ROLES(UNSAFE_MUTABLE_ADDRESSOR, CONTEXT)                                                                           \
    ROLES(MACRO_ACCESSOR, EXPANSION)                                                                                   \
    ROLES(MACRO_MEMBER_ATTRIBUTE, EXPANSION)                                                                           \
    ROLES(MACRO_MEMBER, EXPANSION)                                                                                     \
    ROLES(MACRO_PEER, EXPANSION)                                                                                       \
    ROLES(MACRO_CONFORMANCE, EXPANSION)                                                                                \
    ROLES(MACRO_EXTENSION, EXPANSION)                                                                                  \
    ROLES(MACRO_FREESTANDING, EXPANSION)                                                                               \
    PHRASE(MACRO_LOCATION, "module %0 file %1 line %2 column %3", EXPANSION)                                           \
    PHRASE(IDENTIFIER, "%t", NAME)                                                                                     \
    ROLES(LOCAL_NAME, NAME)                                                                                            \
    ROLES(PRIVATE_NAME, NAME)                                                                                          \
    PHRASE(RELATED_NAME, "related decl '%t' for %0", NAME)                                                             \
    PHRASE(INFIX_OPERATOR, "%t infix", NAME)                                                                           \
    PHRASE(PREFIX_OPERATOR, "%t prefix", NAME)                                                                         \
    PHRASE(POSTFIX_OPERATOR, "%t postfix", NAME)                                                                       \
    PHRASE(NUMBER, "%#", 0)                                                                                            \
    PHRASE(LABEL_LIST, "", SIMPLE)                                                                                     \
    PHRASE(TYPE, "%0", 0)                                                                                              \
    PHRASE(BUILTIN_TYPE, "%t", SIMPLE)                                                                                 \
    PHRASE(BUILTIN_TUPLE_TYPE, "Builtin.TheTupleType", CONTEXT | SIMPLE | NOMINAL)                                     \
    PHRASE(BUILTIN_FIXED_ARRAY, "Builtin.FixedArray<%0, %1>", SIMPLE)                                                  \
    ROLES(BOUND_GENERIC_CLASS, SIMPLE)                                                                                 \
    ROLES(BOUND_GENERIC_STRUCTURE, SIMPLE)                                                                             \
    ROLES(BOUND_GENERIC_ENUM, SIMPLE)                                                                                  \
    ROLES(BOUND_GENERIC_PROTOCOL, SIMPLE)                                                                              \
    ROLES(BOUND_GENERIC_OTHER, SIMPLE)                                                                                 \
    ROLES(BOUND_GENERIC_TYPE_ALIAS, SIMPLE)                                                                            \
    PHRASE(TYPE_LIST, "%*", SIMPLE)                                                                                    \
    PHRASE(TUPLE, "(%,)", SIMPLE)                                                                                      \
    PHRASE(TUPLE_ELEMENT_NAME, "%t: ", SIMPLE)                                                                         \
    PHRASE(VARIADIC_MARKER, " variadic-marker ", 0)                                                                    \
    PHRASE(PACK, "Pack{%,}", SIMPLE)                                                                                   \
    PHRASE(SIL_PACK_DIRECT, "@direct Pack{%,}", SIMPLE)                                                                \
    PHRASE(SIL_PACK_INDIRECT, "@indirect Pack{%,}", SIMPLE)                                                            \
    PHRASE(PACK_EXPANSION, "repeat %0", 0)                                                                             \
    PHRASE(PACK_ELEMENT, "/* level: %1 */ each %0", 0)                                                                 \
    PHRASE(RETURN_TYPE, "%*", SIMPLE)                                                                                  \
    PHRASE(CLANG_TYPE, "%t", 0)                                                                                        \
    PHRASE(ASYNC_ANNOTATION, " async", 0)                                                                              \
    PHRASE(THROWS_ANNOTATION, " throws", 0)                                                                            \
    PHRASE(TYPED_THROWS_ANNOTATION, " throws(%0)", 0)                                                                  \
    PHRASE(SENDABLE_FUNCTION, "@Sendable ", 0)                                                                         \
    PHRASE(GLOBAL_ACTOR_FUNCTION, "@%0 ", 0)                                                                           \
    PHRASE(ISOLATED_ANY_FUNCTION, "@isolated(any) ", 0)                                                                \
    PHRASE(NONISOLATED_CALLER_FUNCTION, "nonisolated(nonsending) ", 0)                                                 \
    PHRASE(SENDING_RESULT_FUNCTION, "sending ", 0)                                                                     \
    PHRASE(DIFFERENTIABLE_FUNCTION, "%t ", 0)                                                                          \
    PHRASE(IN_OUT, "inout %0", 0)                                                                                      \
    PHRASE(SHARED, "__shared %0", 0)                                                                                   \
    PHRASE(OWNED, "__owned %0", 0)                                                                                     \
    PHRASE(ISOLATED, "isolated %0", 0)                                                                                 \
    PHRASE(SENDING, "sending %0", 0)                                                                                   \
    PHRASE(NO_DERIVATIVE, "@noDerivative %0", 0)                                                                       \
    PHRASE(COMPILE_TIME_LITERAL, "_const %0", 0)                                                                       \
    PHRASE(CONST_VALUE, "@const %0", 0)                                                                                \
    PHRASE(WEAK, "weak %0", 0)                                                                                         \
    PHRASE(UNOWNED, "unowned %0", 0)                                                                                   \
    PHRASE(UNMANAGED, "unowned(unsafe) %0", 0)                                                                         \
    ROLES(METATYPE, SIMPLE)                                                                                            \
    ROLES(EXISTENTIAL_METATYPE, SIMPLE)                                                                                \
    PHRASE(METATYPE_REPRESENTATION, "%t", SIMPLE)                                                                      \
    PHRASE(CONSTRAINED_EXISTENTIAL, "any %0<%1>", 0)                                                                   \
    PHRASE(CONSTRAINED_EXISTENTIAL_REQUIREMENTS, "%,", SIMPLE)                                                         \
    PHRASE(CONSTRAINED_EXISTENTIAL_SELF, "Self", SIMPLE)                                                               \
    PHRASE(DYNAMIC_SELF, "Self", SIMPLE)                                                                               \
    PHRASE(ERROR_TYPE, "<ERROR TYPE>", SIMPLE)                                                                         \
    PHRASE(OPAQUE_TYPE, "%0.%1", 0)                                                                                    \
    PHRASE(OPAQUE_RETURN_TYPE, "some", 0)                                                                              \
    PHRASE(OPAQUE_RETURN_TYPE_OF, "<<opaque return type of %*>>", CONTEXT)                                             \
    PHRASE(SUGARED_OPTIONAL, "%p?", SIMPLE)                                                                            \
    PHRASE(SUGARED_ARRAY, "[%0]", SIMPLE)                                                                              \
    PHRASE(SUGARED_INLINE_ARRAY, "[%0 of %1]", SIMPLE)                                                                 \
    PHRASE(SUGARED_DICTIONARY, "[%0 : %1]", SIMPLE)                                                                    \
    PHRASE(SUGARED_PAREN, "(%0)", SIMPLE)                                                                              \
    PHRASE(INTEGER, "%#", SIMPLE)                                                                                      \
    PHRASE(NEGATIVE_INTEGER, "%d", SIMPLE)                                                                             \
    PHRASE(SIL_BOX_TYPE, "@box %0", SIMPLE)                                                                            \
    ROLES(SIL_BOX_TYPE_WITH_LAYOUT, SIMPLE)                                                                            \
    PHRASE(SIL_BOX_MUTABLE_FIELD, "var %0", 0)                                                                         \
    PHRASE(SIL_BOX_IMMUTABLE_FIELD, "let %0", 0)                                                                       \
    PHRASE(IMPL_ATTRIBUTE, "%t", 0)                                                                                    \
    PHRASE(IMPL_ASYNC, "@async", 0)                                                                                    \
    PHRASE(IMPL_SENDING_RESULT, "sending", 0)                                                                          \
    PHRASE(IMPL_CONVENTION, "%t", 0)                                                                                   \
    PHRASE(IMPL_QUALIFIER, "%t", 0)                                                                                    \
    PHRASE(IMPL_YIELD, "@yields %_", 0)                                                                                \
    PHRASE(IMPL_ERROR_RESULT, "@error %_", 0)                                                                          \
    ROLES(GENERIC_TYPE, SIMPLE)                                                                                        \
    ROLES(GENERIC_PARAMETER, SIMPLE)                                                                                   \
    ROLES(PACK_MARKER, REQUIREMENT)                                                                                    \
    ROLES(VALUE_MARKER, REQUIREMENT)                                                                                   \
    PHRASE(CONFORMANCE_REQUIREMENT, "%0: %1", REQUIREMENT)                                                             \
    PHRASE(INVERSE_REQUIREMENT, "%0: ~Swift.%t", REQUIREMENT)                                                          \
    ROLES(LAYOUT_REQUIREMENT, REQUIREMENT)                                                                             \
    PHRASE(SAME_TYPE_REQUIREMENT, "%0 == %1", REQUIREMENT)                                                             \
    PHRASE(SAME_SHAPE_REQUIREMENT, "%0.shape == %1.shape", REQUIREMENT)                                                \
    PHRASE(MEMBER_TYPE, "%0.%1", SIMPLE)                                                                               \
    PHRASE(ASSOCIATED_TYPE_REF, "%0.%1", SIMPLE)                                                                       \
    PHRASE(ASSOCIATED_TYPE_PATH, "%.", 0)                                                                              \
    ROLES(CONCRETE_CONFORMANCE, CONFORMANCE)                                                                           \
    PHRASE(PACK_CONFORMANCE, "pack protocol conformance %*", CONFORMANCE)                                              \
    PHRASE(DEPENDENT_CONFORMANCE_ROOT, "dependent root protocol conformance %2%0 to %1", CONFORMANCE)                  \
    PHRASE(DEPENDENT_CONFORMANCE_INHERITED, "dependent inherited protocol conformance %2%0 to %1", CONFORMANCE)        \
    PHRASE(DEPENDENT_CONFORMANCE_ASSOCIATED, "dependent associated protocol conformance %2%0 to %1", CONFORMANCE)      \
    PHRASE(DEPENDENT_CONFORMANCE_OPAQUE, "opaque result conformance %0 of %1", CONFORMANCE)                            \
    PHRASE(DEPENDENT_ASSOCIATED_CONFORMANCE, "dependent associated conformance %*", 0)                                 \
    PHRASE(CONFORMANCE_INDEX, "#%# ", 0)                                                                               \
    PHRASE(UNKNOWN_CONFORMANCE_INDEX, "", 0)                                                                           \
    PHRASE(CONFORMANCE_REF_IN_TYPE_MODULE, "protocol conformance ref (type's module) %*", 0)                           \
    PHRASE(CONFORMANCE_REF_IN_PROTOCOL_MODULE, "protocol conformance ref (protocol's module) %*", 0)                   \
    PHRASE(CONFORMANCE_REF_IN_OTHER_MODULE, "protocol conformance ref (retroactive) %*", 0)                            \
    PHRASE(RETROACTIVE_CONFORMANCE, "retroactive @ %0%1", 0)                                                           \
    PHRASE(CURRY_THUNK, "curry thunk of %0", 0)                                                                        \
    PHRASE(IDENTITY_THUNK, "identity thunk of %0", 0)                                                                  \
    PHRASE(DISPATCH_THUNK, "dispatch thunk of %0", 0)                                                                  \
    PHRASE(VTABLE_THUNK, "vtable thunk for %1 dispatching to %0", 0)                                                   \
    PHRASE(PROTOCOL_WITNESS, "protocol witness for %1 in conformance %0", 0)                                           \
    PHRASE(PROTOCOL_SELF_CONFORMANCE_WITNESS, "protocol self-conformance witness for %0", 0)                           \
    PHRASE(REABSTRACTION_THUNK_HELPER_WITH_GLOBAL_ACTOR, "%0 with global actor constraint %1", 0)                      \
    ROLES(AUTO_DIFF_FUNCTION, CONTEXT)                                                                                 \
    PHRASE(COROUTINE_CONTINUATION, "coroutine continuation prototype for %0", 0)                                       \
    PHRASE(OUTLINED_COPY, "outlined copy of %*", 0)                                                                    \
    PHRASE(OUTLINED_CONSUME, "outlined consume of %*", 0)                                                              \
    PHRASE(OUTLINED_RETAIN, "outlined retain of %0", 0)                                                                \
    PHRASE(OUTLINED_RELEASE, "outlined release of %0", 0)                                                              \
    PHRASE(OUTLINED_INITIALIZE_WITH_TAKE, "outlined init with take of %0", 0)                                          \
    PHRASE(OUTLINED_INITIALIZE_WITH_COPY, "outlined init with copy of %0", 0)                                          \
    PHRASE(OUTLINED_ASSIGN_WITH_TAKE, "outlined assign with take of %0", 0)                                            \
    PHRASE(OUTLINED_ASSIGN_WITH_COPY, "outlined assign with copy of %0", 0)                                            \
    PHRASE(OUTLINED_DESTROY, "outlined destroy of %0", 0)                                                              \
    PHRASE(OUTLINED_ENUM_GET_TAG, "outlined enum get tag of %0", 0)                                                    \
    PHRASE(OUTLINED_ENUM_TAG_STORE, "outlined enum tag store of %0", 0)                                                \
    PHRASE(OUTLINED_ENUM_PROJECT_DATA, "outlined enum project data for load of %0", 0)                                 \
    PHRASES(VALUE_WITNESS, "%t value witness for %0", "%t for %0", 0)                                                  \
    PHRASE(VALUE_WITNESS_TABLE, "value witness table for %0", 0)                                                       \
    PHRASE(FIELD_OFFSET, "%0field offset for %1", 0)                                                                   \
    PHRASE(DIRECTNESS, "%t ", 0)                                                                                       \
    PHRASE(ENUM_CASE, "enum case for %0", 0)                                                                           \
    PHRASE(ONCE_FUNCTION, "one-time initialization function for %1", 0)                                                \
    PHRASE(ONCE_TOKEN, "one-time initialization token for %1", 0)                                                      \
    PHRASE(PROTOCOL_WITNESS_TABLE, "protocol witness table for %0", 0)                                                 \
    PHRASE(PROTOCOL_WITNESS_TABLE_ACCESSOR, "protocol witness table accessor for %0", 0)                               \
    PHRASE(PROTOCOL_WITNESS_TABLE_PATTERN, "protocol witness table pattern for %0", 0)                                 \
    PHRASE(PROTOCOL_SELF_CONFORMANCE_WITNESS_TABLE, "protocol self-conformance witness table for %0", 0)               \
    PHRASE(GENERIC_WITNESS_TABLE, "generic protocol witness table for %0", 0)                                          \
    PHRASE(GENERIC_WITNESS_TABLE_INSTANTIATION, "instantiation function for generic protocol witness table for %0", 0) \
    PHRASE(RESILIENT_WITNESS_TABLE, "resilient protocol witness table for %0", 0)                                      \
    PHRASE(LAZY_WITNESS_TABLE_ACCESSOR, "lazy protocol witness table accessor for type %0 and conformance %1", 0)      \
    PHRASE(LAZY_WITNESS_TABLE_CACHE, "lazy protocol witness table cache variable for type %0 and conformance %1", 0)   \
    PHRASE(ASSOCIATED_TYPE_METADATA_ACCESSOR, "associated type metadata accessor for %1 in %0", 0)                     \
    PHRASE(ASSOCIATED_TYPE_WITNESS_TABLE_ACCESSOR, "associated type witness table accessor for %1 : %2 in %0", 0)      \
    PHRASE(BASE_WITNESS_TABLE_ACCESSOR, "base witness table accessor for %1 in %0", 0)                                 \
    PHRASE(TYPE_METADATA, "type metadata for %0", 0)                                                                   \
    PHRASE(FULL_TYPE_METADATA, "full type metadata for %0", 0)                                                         \
    PHRASE(TYPE_METADATA_ACCESSOR, "type metadata accessor for %0", 0)                                                 \
    PHRASE(TYPE_METADATA_COMPLETION, "type metadata completion function for %0", 0)                                    \
    PHRASE(TYPE_METADATA_INSTANTIATION_CACHE, "type metadata instantiation cache for %0", 0)                           \
    PHRASE(TYPE_METADATA_INSTANTIATION_FUNCTION, "type metadata instantiation function for %0", 0)                     \
    PHRASE(TYPE_METADATA_SINGLETON_CACHE, "type metadata singleton initialization cache for %0", 0)                    \
    PHRASE(TYPE_METADATA_DEMANGLING_CACHE, "demangling cache variable for type metadata for %0", 0)                    \
    PHRASE(TYPE_METADATA_LAZY_CACHE, "lazy cache variable for type metadata for %0", 0)                                \
    PHRASE(GENERIC_TYPE_METADATA_PATTERN, "generic type metadata pattern for %0", 0)                                   \
    PHRASE(CANONICAL_METADATA_ACCESSOR, "canonical specialized generic type metadata accessor for %0", 0)              \
    PHRASE(CANONICAL_METACLASS, "specialized generic metaclass for %0", 0)                                             \
    PHRASE(CANONICAL_METADATA_TOKEN, "flag for loading of canonical specialized generic type metadata for %0", 0)      \
    PHRASE(NONCANONICAL_METADATA, "noncanonical specialized generic type metadata for %0", 0)                          \
    PHRASE(NONCANONICAL_METADATA_CACHE, "cache variable for noncanonical specialized generic type metadata for %0", 0) \
    PHRASE(METADATA_INSTANTIATION_CACHE, "metadata instantiation cache for %0", 0)                                     \
    PHRASE(METACLASS, "metaclass for %0", 0)                                                                           \
    PHRASE(CLASS_METADATA_BASE_OFFSET, "class metadata base offset for %0", 0)                                         \
    PHRASE(METHOD_DESCRIPTOR, "method descriptor for %0", 0)                                                           \
    PHRASE(METHOD_LOOKUP_FUNCTION, "method lookup function for %0", 0)                                                 \
    PHRASE(PROPERTY_DESCRIPTOR, "property descriptor for %0", 0)                                                       \
    PHRASE(NOMINAL_TYPE_DESCRIPTOR, "nominal type descriptor for %0", 0)                                               \
    PHRASE(NOMINAL_TYPE_DESCRIPTOR_RECORD, "nominal type descriptor runtime record for %0", 0)                         \
    PHRASE(OPAQUE_TYPE_DESCRIPTOR, "opaque type descriptor for %0", 0)                                                 \
    PHRASE(OPAQUE_TYPE_DESCRIPTOR_RECORD, "opaque type descriptor runtime record for %0", 0)                           \
    PHRASE(OPAQUE_TYPE_DESCRIPTOR_ACCESSOR, "opaque type descriptor accessor for %0", 0)                               \
    PHRASE(OPAQUE_TYPE_DESCRIPTOR_ACCESSOR_IMPL, "opaque type descriptor accessor impl for %0", 0)                     \
    PHRASE(OPAQUE_TYPE_DESCRIPTOR_ACCESSOR_KEY, "opaque type descriptor accessor key for %0", 0)                       \
    PHRASE(OPAQUE_TYPE_DESCRIPTOR_ACCESSOR_VAR, "opaque type descriptor accessor var for %0", 0)                       \
    PHRASE(PROTOCOL_DESCRIPTOR, "protocol descriptor for %0", 0)                                                       \
    PHRASE(PROTOCOL_DESCRIPTOR_RECORD, "protocol descriptor runtime record for %0", 0)                                 \
    PHRASE(PROTOCOL_REQUIREMENTS_BASE, "protocol requirements base descriptor for %0", 0)                              \
    PHRASE(PROTOCOL_CONFORMANCE_DESCRIPTOR, "protocol conformance descriptor for %0", 0)                               \
    PHRASE(PROTOCOL_CONFORMANCE_DESCRIPTOR_RECORD, "protocol conformance descriptor runtime record for %0", 0)         \
    PHRASE(PROTOCOL_SELF_CONFORMANCE_DESCRIPTOR, "protocol self-conformance descriptor for %0", 0)                     \
    PHRASE(ASSOCIATED_CONFORMANCE_DESCRIPTOR, "associated conformance descriptor for %0.%1: %2", 0)                    \
    PHRASE(DEFAULT_ASSOCIATED_CONFORMANCE_ACCESSOR, "default associated conformance accessor for %0.%1: %2", 0)        \
    PHRASE(ASSOCIATED_TYPE_DESCRIPTOR, "associated type descriptor for %0", 0)                                         \
    PHRASE(DEFAULT_ASSOCIATED_TYPE_ACCESSOR, "default associated type metadata accessor for %0", 0)                    \
    PHRASE(BASE_CONFORMANCE_DESCRIPTOR, "base conformance descriptor for %0: %1", 0)                                   \
    PHRASE(MODULE_DESCRIPTOR, "module descriptor %0", 0)                                                               \
    PHRASE(EXTENSION_DESCRIPTOR, "extension descriptor %0", 0)                                                         \
    PHRASE(ANONYMOUS_DESCRIPTOR, "anonymous descriptor %0", 0)                                                         \
    PHRASE(ASSOCIATED_TYPE_PARAMETER_REF, "generic parameter reference for associated type %*", 0)                     \
    PHRASE(OBJC_METADATA_UPDATE, "ObjC metadata update function for %0", 0)                                            \
    PHRASE(OBJC_CLASS_STUB, "ObjC resilient class stub for %0", 0)                                                     \
    PHRASE(FULL_OBJC_CLASS_STUB, "full ObjC resilient class stub for %0", 0)                                           \
    PHRASE(REFLECTION_BUILTIN_DESCRIPTOR, "reflection metadata builtin descriptor %0", 0)                              \
    PHRASE(REFLECTION_FIELD_DESCRIPTOR, "reflection metadata field descriptor %0", 0)                                  \
    PHRASE(REFLECTION_ASSOCIATED_TYPE_DESCRIPTOR, "reflection metadata associated type descriptor %0", 0)              \
    PHRASE(REFLECTION_SUPERCLASS_DESCRIPTOR, "reflection metadata superclass descriptor %0", 0)                        \
    PHRASE(UNIQUABLE, "uniquable %0", 0)                                                                               \
    PHRASE(EMPTY_LIST, " empty-list ", 0)                                                                              \
    PHRASE(FIRST_ELEMENT, " first-element-marker ", 0)

/* All phrases, one behind the other. The table has their positions: pointers would have to be relocated. */
#define NO_TEXT(kind, roles)
#define TEXT(kind, text, roles)          char kind[sizeof text];
#define TEXTS(kind, full, simple, roles) char kind[sizeof full], kind##_SIMPLE[sizeof simple];
static const struct texts {
    char none; /* position 0: no phrase */
    ROWS(NO_TEXT, TEXT, TEXTS)
} texts = {
#undef TEXT
#undef TEXTS
#define TEXT(kind, text, roles)          .kind = text,
#define TEXTS(kind, full, simple, roles) .kind = full, .kind##_SIMPLE = simple,
    ROWS(NO_TEXT, TEXT, TEXTS)};

#define AT(member)                         (uint16_t)offsetof(struct texts, member)
#define ROLES(kind, roles)                 [SWIFT_##kind] = {0, 0, roles},
#define PHRASE(kind, text, roles)          [SWIFT_##kind] = {AT(kind), AT(kind), roles},
#define PHRASES(kind, full, simple, roles) [SWIFT_##kind] = {AT(kind), AT(kind##_SIMPLE), roles},
static const struct {
    uint16_t full, simple; /* positions in `texts` */
    uint8_t roles;         /* enum uspi_swift_role */
} kinds[SWIFT_KIND_COUNT] = {ROWS(ROLES, PHRASE, PHRASES)};

bool uspi_swift_can_be(uint16_t kind, unsigned roles) { return (kinds[kind].roles & roles) != 0; }

const char *uspi_swift_phrase(uint16_t kind, bool is_simple) {
    const size_t at = is_simple ? kinds[kind].simple : kinds[kind].full;
    return at != 0 ? (const char *)&texts + at : NULL;
}
