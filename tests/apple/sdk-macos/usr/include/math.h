/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: the functions that Check's header and the sampler's suite use (Apple's Libm math.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_MATH_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_MATH_H

#define INFINITY __builtin_huge_valf()
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)

double fabs(double x);
long double fabsl(long double x);

#endif
