/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: a program's initial ports, and traps (xnu libsyscall/mach/mach/mach_init.h,
 * osfmk/mach/mach_traps.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_MACH_INIT_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_MACH_INIT_H

#include <Availability.h>
#include <mach/mach_types.h>
#include <sys/cdefs.h>

__BEGIN_DECLS
extern mach_port_t mach_task_self_;
#define mach_task_self() mach_task_self_

extern kern_return_t task_for_pid(mach_port_name_t target_tport, int pid, mach_port_name_t *t);
__END_DECLS

#endif
