/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: exceptions (xnu osfmk/mach/exception_types.h, osfmk/mach/arm/exception.h, osfmk/mach/i386/exception.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_EXCEPTION_TYPES_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_EXCEPTION_TYPES_H

#include <mach/port.h>
#include <mach/thread_status.h>

#define EXC_TYPES_COUNT 14

#define EXC_BAD_ACCESS      1
#define EXC_BAD_INSTRUCTION 2
#define EXC_ARITHMETIC      3
#define EXC_BREAKPOINT      6

#define EXCEPTION_STATE_IDENTITY     3
#define EXCEPTION_IDENTITY_PROTECTED 4
#define MACH_EXCEPTION_CODES         0x80000000

#define EXC_MASK_BAD_ACCESS      (1 << EXC_BAD_ACCESS)
#define EXC_MASK_BAD_INSTRUCTION (1 << EXC_BAD_INSTRUCTION)
#define EXC_MASK_ARITHMETIC      (1 << EXC_ARITHMETIC)
#define EXC_MASK_BREAKPOINT      (1 << EXC_BREAKPOINT)

typedef int exception_type_t;
typedef int exception_behavior_t;
typedef unsigned int exception_mask_t;
typedef exception_mask_t *exception_mask_array_t;
typedef exception_behavior_t *exception_behavior_array_t;
typedef thread_state_flavor_t *exception_flavor_array_t;

#endif
