/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the kernel's information about a thread (xnu osfmk/mach/thread_info.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_THREAD_INFO_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_THREAD_INFO_H

#include <mach/port.h>

typedef natural_t thread_flavor_t;
typedef integer_t *thread_info_t;

#define THREAD_IDENTIFIER_INFO 4

struct thread_identifier_info {
    uint64_t thread_id;
    uint64_t thread_handle;
    uint64_t dispatch_qaddr;
};
typedef struct thread_identifier_info thread_identifier_info_data_t;
#define THREAD_IDENTIFIER_INFO_COUNT                                                                                   \
    ((mach_msg_type_number_t)(sizeof(thread_identifier_info_data_t) / sizeof(natural_t)))

#define THREAD_EXTENDED_INFO 5
#define MAXTHREADNAMESIZE    64

struct thread_extended_info {
    uint64_t pth_user_time;
    uint64_t pth_system_time;
    int32_t pth_cpu_usage;
    int32_t pth_policy;
    int32_t pth_run_state;
    int32_t pth_flags;
    int32_t pth_sleep_time;
    int32_t pth_curpri;
    int32_t pth_priority;
    int32_t pth_maxpriority;
    char pth_name[MAXTHREADNAMESIZE];
};
typedef struct thread_extended_info thread_extended_info_data_t;
#define THREAD_EXTENDED_INFO_COUNT ((mach_msg_type_number_t)(sizeof(thread_extended_info_data_t) / sizeof(natural_t)))

#endif
