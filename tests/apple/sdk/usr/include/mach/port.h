/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: port names (xnu osfmk/mach/port.h, osfmk/mach/message.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_PORT_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_PORT_H

#include <mach/machine/vm_types.h>

typedef natural_t mach_port_name_t;
typedef natural_t mach_port_t;
typedef natural_t mach_msg_type_number_t;

#define MACH_PORT_NULL 0
#define MACH_PORT_DEAD ((mach_port_name_t)~0)

typedef natural_t mach_port_right_t;
typedef integer_t mach_port_delta_t;
#define MACH_PORT_RIGHT_RECEIVE ((mach_port_right_t)1)

/* The result of a call whose port has died (xnu osfmk/mach/message.h). */
#define MACH_SEND_INVALID_DEST 0x10000003

#endif
