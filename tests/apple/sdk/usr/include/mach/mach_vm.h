/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: memory of any task. Only macOS has it: for other systems Apple's file contains only this error (xnu
 * libsyscall/xcodescripts/mach_install_mig.sh). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_MACH_VM_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_MACH_VM_H

#include <TargetConditionals.h>

#if !TARGET_OS_OSX
#error mach_vm.h unsupported.
#else

#include <mach/mach_types.h>
#include <sys/cdefs.h>

__BEGIN_DECLS
extern kern_return_t mach_vm_read_overwrite(vm_map_read_t target_task, mach_vm_address_t address, mach_vm_size_t size,
                                            mach_vm_address_t data, mach_vm_size_t *outsize);
extern kern_return_t mach_vm_region(vm_map_read_t target_task, mach_vm_address_t *address, mach_vm_size_t *size,
                                    vm_region_flavor_t flavor, vm_region_info_t info, mach_msg_type_number_t *infoCnt,
                                    mach_port_t *object_name);
__END_DECLS

#endif
#endif
