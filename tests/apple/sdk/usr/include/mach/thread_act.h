/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: threads (xnu osfmk/mach/thread_act.defs). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_THREAD_ACT_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_THREAD_ACT_H

#include <Availability.h>
#include <mach/mach_types.h>
#include <sys/cdefs.h>

__BEGIN_DECLS
extern __WATCHOS_PROHIBITED kern_return_t thread_get_state(thread_read_t target_act, thread_state_flavor_t flavor,
                                                           thread_state_t old_state,
                                                           mach_msg_type_number_t *old_stateCnt);
extern __WATCHOS_PROHIBITED kern_return_t thread_suspend(thread_read_t target_act);
extern __WATCHOS_PROHIBITED kern_return_t thread_resume(thread_read_t target_act);
extern kern_return_t thread_info(thread_inspect_t target_act, thread_flavor_t flavor, thread_info_t thread_info_out,
                                 mach_msg_type_number_t *thread_info_outCnt);
__END_DECLS

#endif
