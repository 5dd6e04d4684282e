/* SPDX-License-Identifier: MIT */
/* What the C libraries support. Tests are compiled for all of them, and check this before they use something that musl
 * lacks. */
#ifndef TESTS_SUPPORT_LIBC_H
#define TESTS_SUPPORT_LIBC_H

#include <stdlib.h>
#include <ucontext.h>

#ifdef __GLIBC__
#define LIBC_HAS_COROUTINES 1 /* makecontext(3) */
#define LIBC_UNLOADS        1 /* dlclose(3) */
#define LIBC_HAS_TABLES     1 /* call frame information of libc, and addresses of programs' own (PT_GNU_EH_FRAME) */
#define LIBC_ROBUST_LISTS   1 /* each thread registers a list with the kernel at its start (set_robust_list(2)) */
#define LIBC_MAIN_MAY_END   1 /* also in a forked child: with musl 1.2.3 it can make no thread afterwards */
#else
#define LIBC_HAS_COROUTINES 0
#define LIBC_UNLOADS        0
#define LIBC_HAS_TABLES     0
#define LIBC_ROBUST_LISTS   0
#define LIBC_MAIN_MAY_END   0
/* Replaces all three functions, which are never called. */
#define getcontext          libc_has_none
#define makecontext         libc_has_none
#define swapcontext         libc_has_none
static inline int libc_has_none(ucontext_t *context, ...) {
    (void)context;
    abort();
}
#endif

#endif
