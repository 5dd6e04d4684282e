/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: memory, with addresses as wide as the calling task's (xnu osfmk/mach/vm_map.defs). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_VM_MAP_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_VM_MAP_H

#include <mach/mach_types.h>
#include <sys/cdefs.h>

__BEGIN_DECLS
extern kern_return_t vm_allocate(vm_map_t target_task, vm_address_t *address, vm_size_t size, int flags);
extern kern_return_t vm_deallocate(vm_map_t target_task, vm_address_t address, vm_size_t size);
extern kern_return_t vm_read_overwrite(vm_map_read_t target_task, vm_address_t address, vm_size_t size,
                                       vm_address_t data, vm_size_t *outsize);
extern kern_return_t vm_region_64(vm_map_read_t target_task, vm_address_t *address, vm_size_t *size,
                                  vm_region_flavor_t flavor, vm_region_info_t info, mach_msg_type_number_t *infoCnt,
                                  mach_port_t *object_name);
__END_DECLS

#endif
