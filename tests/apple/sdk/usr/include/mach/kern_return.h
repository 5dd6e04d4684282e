/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: results of kernel calls (xnu osfmk/mach/kern_return.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_KERN_RETURN_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_KERN_RETURN_H

typedef int kern_return_t;

#define KERN_SUCCESS             0
#define KERN_INVALID_ADDRESS     1
#define KERN_PROTECTION_FAILURE  2
#define KERN_NO_SPACE            3
#define KERN_INVALID_ARGUMENT    4
#define KERN_FAILURE             5
#define KERN_RESOURCE_SHORTAGE   6
#define KERN_NO_ACCESS           8
#define KERN_ABORTED             14
#define KERN_INVALID_NAME        15
#define KERN_INVALID_TASK        16
#define KERN_INVALID_RIGHT       17
#define KERN_TERMINATED          37
#define KERN_NOT_SUPPORTED       46
#define KERN_OPERATION_TIMED_OUT 49

#endif
