/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the Mach headers that a program includes (xnu libsyscall/mach/mach/mach.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_MACH_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_MACH_H

#include <mach/mach_init.h>
#include <mach/mach_port.h>
#include <mach/mach_types.h>
#include <mach/semaphore.h>
#include <mach/task.h>
#include <mach/thread_act.h>
#include <mach/vm_map.h>

#endif
