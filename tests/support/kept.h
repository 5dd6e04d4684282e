/* SPDX-License-Identifier: MIT */
/* Marks functions of test programs that must have a frame, and a name, of their own. Includes nothing, so that programs
 * that do not use the library can include it, too. */
#ifndef TESTS_SUPPORT_KEPT_H
#define TESTS_SUPPORT_KEPT_H

/* gcc makes specialized copies of a function even if it may not inline it. clang makes none and does not know the
 * attribute. */
#if defined(__clang__)
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

#endif
