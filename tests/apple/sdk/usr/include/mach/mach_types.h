/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: kernel objects, for which a program has ports (xnu osfmk/mach/mach_types.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_MACH_TYPES_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_MACH_TYPES_H

#include <mach/exception_types.h>
#include <mach/kern_return.h>
#include <mach/message.h>
#include <mach/port.h>
#include <mach/task_info.h>
#include <mach/thread_info.h>
#include <mach/thread_status.h>
#include <mach/vm_region.h>
#include <mach/vm_types.h>

typedef mach_port_t task_t;
typedef mach_port_t task_inspect_t;
typedef mach_port_t task_read_t;
typedef mach_port_t task_suspension_token_t;
typedef mach_port_t thread_t;
typedef mach_port_t thread_act_t;
typedef mach_port_t thread_inspect_t;
typedef mach_port_t thread_read_t;
typedef mach_port_t ipc_space_t;
typedef mach_port_t semaphore_t;
typedef mach_port_t vm_map_t;
typedef mach_port_t vm_map_read_t;
typedef thread_act_t *thread_act_array_t;
typedef mach_port_t exception_handler_t;
typedef exception_handler_t *exception_handler_array_t;

#endif
