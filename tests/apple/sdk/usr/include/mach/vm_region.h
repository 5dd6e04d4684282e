/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the kernel's information about a range of memory (xnu osfmk/mach/vm_region.h, packed to 4 bytes). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_VM_REGION_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_VM_REGION_H

#include <mach/port.h>
#include <mach/vm_types.h>

typedef int *vm_region_info_t;
typedef int vm_region_flavor_t;

#define VM_REGION_BASIC_INFO_64 9

#pragma pack(push, 4)
struct vm_region_basic_info_64 {
    vm_prot_t protection;
    vm_prot_t max_protection;
    unsigned int inheritance;
    unsigned int shared;
    unsigned int reserved;
    uint64_t offset;
    int behavior;
    unsigned short user_wired_count;
};
#pragma pack(pop)
typedef struct vm_region_basic_info_64 vm_region_basic_info_data_64_t;
#define VM_REGION_BASIC_INFO_COUNT_64 ((mach_msg_type_number_t)(sizeof(vm_region_basic_info_data_64_t) / sizeof(int)))

#endif
