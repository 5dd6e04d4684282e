/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: thread states (xnu osfmk/mach/thread_status.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_THREAD_STATUS_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_THREAD_STATUS_H

#include <mach/machine/thread_status.h>

typedef natural_t *thread_state_t;
typedef int thread_state_flavor_t;

#endif
