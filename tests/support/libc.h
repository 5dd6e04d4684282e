/* SPDX-License-Identifier: MIT */
/* What libcs can and cannot do: tests are compiled for all of them, and ask before they need something that musl lacks. */
#ifndef TESTS_LIBC_H
#define TESTS_LIBC_H

#include <stdlib.h>
#include <ucontext.h>

#ifdef __GLIBC__
#define LIBC_HAS_COROUTINES 1 /* makecontext(3) */
#define LIBC_UNLOADS        1 /* dlclose(3) */
#define LIBC_HAS_TABLES     1 /* call frame information of libc, and where programs have theirs (PT_GNU_EH_FRAME) */
#define LIBC_ROBUST_LISTS   1 /* each thread tells the kernel of one, at its start (set_robust_list(2)) */
#define LIBC_MAIN_MAY_END   1 /* in a forked child too: musl 1.2.3 can make no thread afterwards */
#else
#define LIBC_HAS_COROUTINES 0
#define LIBC_UNLOADS        0
#define LIBC_HAS_TABLES     0
#define LIBC_ROBUST_LISTS   0
#define LIBC_MAIN_MAY_END   0
/* Stands for all three, which are never called. */
#define getcontext          libc_has_none
#define makecontext         libc_has_none
#define swapcontext         libc_has_none
static inline int libc_has_none(ucontext_t *context, ...) {
    (void)context;
    abort();
}
#endif

#endif
