/* SPDX-License-Identifier: MIT */
/* What test programs say of a function that must have a frame, and the name, of its own. Includes nothing, so that
 * programs that know nothing of the library can use it as well. */
#ifndef TESTS_KEPT_H
#define TESTS_KEPT_H

/* gcc puts specialized copies beside a function that it may not inline; clang makes none and knows no such word. */
#if defined(__clang__)
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

#endif
