/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: addresses and sizes (xnu osfmk/mach/arm/vm_types.h, osfmk/mach/i386/vm_types.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_MACHINE_VM_TYPES_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_MACHINE_VM_TYPES_H

#include <stdint.h>

typedef unsigned int natural_t;
typedef int integer_t;

#ifdef __LP64__
typedef uintptr_t vm_offset_t;
typedef uintptr_t vm_size_t;
#else
typedef natural_t vm_offset_t;
typedef natural_t vm_size_t;
#endif

typedef uint64_t mach_vm_address_t;
typedef uint64_t mach_vm_offset_t;
typedef uint64_t mach_vm_size_t;

#endif
