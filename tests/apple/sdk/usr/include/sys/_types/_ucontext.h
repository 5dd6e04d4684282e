/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the interrupted registers, as a signal handler gets them (xnu bsd/sys/_types/_ucontext.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_SYS_TYPES_UCONTEXT_H
#define TESTS_APPLE_SDK_USR_INCLUDE_SYS_TYPES_UCONTEXT_H

#include <sys/types.h>

struct standin_sigaltstack {
    void *ss_sp;
    size_t ss_size;
    int ss_flags;
};

typedef struct __darwin_ucontext {
    int uc_onstack;
    uint32_t uc_sigmask;
    struct standin_sigaltstack uc_stack;
    struct __darwin_ucontext *uc_link;
    size_t uc_mcsize;
    void *uc_mcontext; /* of the target's processor */
} ucontext_t;

#endif
