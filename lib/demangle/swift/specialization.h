/* SPDX-License-Identifier: MIT */
/* The changes that the optimizer made to an argument of a specialized function: the index of a node of kind
 * SWIFT_ARGUMENT_CHANGE. It is one value of the first group, or bits of the second. Source of the numbers: swift
 * include/swift/Demangling/Demangle.h, FunctionSigSpecializationParamKind. */
#ifndef USPI_DEMANGLE_SWIFT_SPECIALIZATION_H
#define USPI_DEMANGLE_SWIFT_SPECIALIZATION_H

enum uspi_swift_change {
    USPI_SWIFT_CONSTANT_FUNCTION = 0,
    USPI_SWIFT_CONSTANT_GLOBAL = 1,
    USPI_SWIFT_CONSTANT_INTEGER = 2,
    USPI_SWIFT_CONSTANT_FLOAT = 3,
    USPI_SWIFT_CONSTANT_STRING = 4,
    USPI_SWIFT_CLOSURE = 5,
    USPI_SWIFT_BOX_TO_VALUE = 6,
    USPI_SWIFT_BOX_TO_STACK = 7,
    USPI_SWIFT_IN_OUT_TO_OUT = 8,
    USPI_SWIFT_CONSTANT_KEY_PATH = 9,
    USPI_SWIFT_CONSTANT_STRUCT = 10,
    USPI_SWIFT_SAME_AS_ARGUMENT = 11,

    USPI_SWIFT_DEAD = 1 << 6,
    USPI_SWIFT_OWNED_TO_GUARANTEED = 1 << 7,
    USPI_SWIFT_EXPLODED = 1 << 8,
    USPI_SWIFT_GUARANTEED_TO_OWNED = 1 << 9,
    USPI_SWIFT_EXISTENTIAL_TO_GENERIC = 1 << 10,
};

#endif
