/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the system's information about itself and its processes. */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_SYS_SYSCTL_H
#define TESTS_APPLE_SDK_USR_INCLUDE_SYS_SYSCTL_H

#include <stddef.h>
#include <sys/time.h>

#define CTL_KERN      1
#define KERN_PROC     14
#define KERN_PROC_PID 1
#define P_TRACED      0x00000800

/* The size of Apple's struct (xnu bsd/sys/sysctl.h, bsd/sys/proc.h). */
#ifdef __LP64__
#define STANDIN_PROC_SIZE 648
#else
#define STANDIN_PROC_SIZE 492
#endif
struct extern_proc {
    /* Overlaid in Apple's by two pointers of a queue. */
    struct timeval p_starttime;
    void *standin_begin[4 - sizeof(struct timeval) / sizeof(void *)];
    int p_flag;
};
struct kinfo_proc {
    struct extern_proc kp_proc;
    char standin_rest[STANDIN_PROC_SIZE - sizeof(struct extern_proc)];
};

int sysctl(int *name, unsigned count, void *old, size_t *old_size, void *new_value, size_t new_size);

int sysctlbyname(const char *name, void *old, size_t *old_size, void *new_value, size_t new_size);

#endif
