/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the clock (xnu osfmk/mach/mach_time.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_MACH_TIME_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_MACH_TIME_H

#include <mach/mach_types.h>
#include <sys/cdefs.h>

struct mach_timebase_info {
    uint32_t numer;
    uint32_t denom;
};
typedef struct mach_timebase_info *mach_timebase_info_t;
typedef struct mach_timebase_info mach_timebase_info_data_t;

__BEGIN_DECLS
kern_return_t mach_timebase_info(mach_timebase_info_t info);
uint64_t mach_absolute_time(void);
__END_DECLS

#endif
