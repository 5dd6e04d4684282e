/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: addresses and sizes of the calling task (xnu osfmk/mach/vm_types.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_VM_TYPES_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_VM_TYPES_H

#include <mach/machine/vm_types.h>

typedef vm_offset_t vm_address_t;
typedef int vm_prot_t;

#define VM_PROT_NONE ((vm_prot_t)0x00)
#define VM_PROT_READ ((vm_prot_t)0x01)

/* xnu osfmk/mach/vm_statistics.h */
#define VM_FLAGS_ANYWHERE 0x00000001

#endif
