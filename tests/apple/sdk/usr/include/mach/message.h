/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: messages (xnu osfmk/mach/message.h, osfmk/mach/ndr.h; the structs are packed to 4 bytes). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_MESSAGE_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_MESSAGE_H

#include <Availability.h>
#include <mach/kern_return.h>
#include <mach/port.h>
#include <sys/cdefs.h>

typedef natural_t mach_msg_timeout_t;
typedef unsigned int mach_msg_bits_t;
typedef natural_t mach_msg_size_t;
typedef integer_t mach_msg_id_t;
typedef unsigned int mach_msg_type_name_t;
typedef unsigned int mach_msg_descriptor_type_t;
typedef integer_t mach_msg_option_t;
typedef kern_return_t mach_msg_return_t;

#define MACH_MSG_TIMEOUT_NONE         ((mach_msg_timeout_t)0)
#define MACH_MSG_TYPE_MOVE_SEND       17
#define MACH_MSG_TYPE_MAKE_SEND       20
#define MACH_MSGH_BITS(remote, local) ((remote) | ((local) << 8))
#define MACH_MSGH_BITS_REMOTE(bits)   ((bits) & 0x1fu)
#define MACH_MSGH_BITS_COMPLEX        0x80000000u
#define MACH_SEND_MSG                 0x00000001
#define MACH_SEND_TIMEOUT             0x00000010
#define MACH_RCV_MSG                  0x00000002
#define MACH_MSG_SUCCESS              0x00000000
#define MACH_RCV_TOO_LARGE            0x10004004
#define MACH_RCV_PORT_DIED            0x10004009

#pragma pack(push, 4)
typedef struct {
    mach_msg_bits_t msgh_bits;
    mach_msg_size_t msgh_size;
    mach_port_t msgh_remote_port;
    mach_port_t msgh_local_port;
    mach_port_name_t msgh_voucher_port;
    mach_msg_id_t msgh_id;
} mach_msg_header_t;
typedef struct {
    mach_msg_size_t msgh_descriptor_count;
} mach_msg_body_t;
typedef struct {
    mach_port_t name;
    mach_msg_size_t pad1;
    unsigned int pad2 : 16;
    mach_msg_type_name_t disposition : 8;
    mach_msg_descriptor_type_t type : 8;
} mach_msg_port_descriptor_t;
#pragma pack(pop)
typedef struct {
    unsigned char mig_vers, if_vers, reserved1, mig_encoding, int_rep, char_rep, float_rep, reserved2;
} NDR_record_t;

__BEGIN_DECLS
extern __TVOS_PROHIBITED __WATCHOS_PROHIBITED mach_msg_return_t
mach_msg(mach_msg_header_t *msg, mach_msg_option_t option, mach_msg_size_t send_size, mach_msg_size_t rcv_size,
         mach_port_name_t rcv_name, mach_msg_timeout_t timeout, mach_port_name_t notify);
__END_DECLS

#endif
