/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: port rights (xnu osfmk/mach/mach_port.defs, osfmk/mach/port.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_MACH_PORT_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_MACH_PORT_H

#include <mach/mach_types.h>
#include <sys/cdefs.h>

__BEGIN_DECLS
extern kern_return_t mach_port_allocate(ipc_space_t task, mach_port_right_t right, mach_port_name_t *name);
extern kern_return_t mach_port_insert_right(ipc_space_t task, mach_port_name_t name, mach_port_t poly,
                                            mach_msg_type_name_t polyPoly);
extern kern_return_t mach_port_mod_refs(ipc_space_t task, mach_port_name_t name, mach_port_right_t right,
                                        mach_port_delta_t delta);
extern kern_return_t mach_port_deallocate(ipc_space_t task, mach_port_name_t name);
__END_DECLS

#endif
