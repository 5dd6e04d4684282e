/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: tasks (xnu osfmk/mach/task.defs). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_TASK_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_TASK_H

#include <Availability.h>
#include <mach/mach_types.h>
#include <sys/cdefs.h>

__BEGIN_DECLS
extern kern_return_t task_threads(task_inspect_t target_task, thread_act_array_t *act_list,
                                  mach_msg_type_number_t *act_listCnt);
extern kern_return_t task_info(task_inspect_t target_task, task_flavor_t flavor, task_info_t task_info_out,
                               mach_msg_type_number_t *task_info_outCnt);
extern __TVOS_PROHIBITED __WATCHOS_PROHIBITED kern_return_t task_suspend(task_read_t target_task);
extern __TVOS_PROHIBITED __WATCHOS_PROHIBITED kern_return_t task_resume(task_read_t target_task);
extern __TVOS_PROHIBITED __WATCHOS_PROHIBITED kern_return_t task_suspend2(task_read_t target_task,
                                                                          task_suspension_token_t *suspend_token);
extern __TVOS_PROHIBITED __WATCHOS_PROHIBITED kern_return_t task_resume2(task_suspension_token_t suspend_token);
extern __TVOS_PROHIBITED __WATCHOS_PROHIBITED kern_return_t task_set_exception_ports(task_t task,
                                                                                     exception_mask_t exception_mask,
                                                                                     mach_port_t new_port,
                                                                                     exception_behavior_t behavior,
                                                                                     thread_state_flavor_t new_flavor);
extern __TVOS_PROHIBITED __WATCHOS_PROHIBITED kern_return_t
task_get_exception_ports(task_t task, exception_mask_t exception_mask, exception_mask_array_t masks,
                         mach_msg_type_number_t *masksCnt, exception_handler_array_t old_handlers,
                         exception_behavior_array_t old_behaviors, exception_flavor_array_t old_flavors);
extern kern_return_t semaphore_create(task_t task, semaphore_t *semaphore, int policy, int value);
extern kern_return_t semaphore_destroy(task_t task, semaphore_t semaphore);
__END_DECLS

#endif
