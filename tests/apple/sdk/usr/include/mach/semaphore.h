/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: semaphores (xnu osfmk/mach/semaphore.h, osfmk/mach/sync_policy.h, osfmk/mach/clock_types.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_SEMAPHORE_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_SEMAPHORE_H

#include <mach/mach_types.h>
#include <sys/cdefs.h>

#define SYNC_POLICY_FIFO 0x0

struct mach_timespec {
    unsigned int tv_sec;
    int tv_nsec;
};
typedef struct mach_timespec mach_timespec_t;

__BEGIN_DECLS
extern kern_return_t semaphore_signal(semaphore_t semaphore);
extern kern_return_t semaphore_timedwait(semaphore_t semaphore, mach_timespec_t wait_time);
__END_DECLS

#endif
