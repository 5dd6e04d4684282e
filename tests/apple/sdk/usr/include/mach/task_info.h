/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the kernel's information about a task (xnu osfmk/mach/task_info.h, where the structs are packed to 4
 * bytes). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_TASK_INFO_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_TASK_INFO_H

#include <mach/port.h>

typedef natural_t task_flavor_t;
typedef integer_t *task_info_t;

#define TASK_DYLD_INFO 17

#pragma pack(push, 4)
struct task_dyld_info {
    mach_vm_address_t all_image_info_addr;
    mach_vm_size_t all_image_info_size;
    integer_t all_image_info_format;
};
#pragma pack(pop)
typedef struct task_dyld_info task_dyld_info_data_t;
#define TASK_DYLD_INFO_COUNT        (sizeof(task_dyld_info_data_t) / sizeof(natural_t))
#define TASK_DYLD_ALL_IMAGE_INFO_32 0
#define TASK_DYLD_ALL_IMAGE_INFO_64 1

#endif
