/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: thread states (xnu osfmk/mach/thread_status.h). */
#ifndef STANDIN_MACH_THREAD_STATUS_H
#define STANDIN_MACH_THREAD_STATUS_H

#include <mach/machine/thread_status.h>

typedef natural_t *thread_state_t;
typedef int thread_state_flavor_t;

#endif
