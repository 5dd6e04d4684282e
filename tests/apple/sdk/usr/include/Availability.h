/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: availability attributes. Names as in Apple's Availability.h, which defines the same Clang
 * attributes. */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_AVAILABILITY_H
#define TESTS_APPLE_SDK_USR_INCLUDE_AVAILABILITY_H

#if defined(__has_feature)
#if __has_feature(attribute_availability_with_message)
#define __OS_AVAILABILITY(target, when) __attribute__((availability(target, when)))
#endif
#if __has_feature(attribute_availability_tvos)
#define __TVOS_PROHIBITED __OS_AVAILABILITY(tvos, unavailable)
#endif
#if __has_feature(attribute_availability_watchos)
#define __WATCHOS_PROHIBITED __OS_AVAILABILITY(watchos, unavailable)
#endif
#endif
#ifndef __TVOS_PROHIBITED
#define __TVOS_PROHIBITED
#endif
#ifndef __WATCHOS_PROHIBITED
#define __WATCHOS_PROHIBITED
#endif

#if defined(__clang__)
#define STANDIN_macos(version)                  __attribute__((availability(macos, introduced = version)))
#define STANDIN_ios(version)                    __attribute__((availability(ios, introduced = version)))
#define STANDIN_tvos(version)                   __attribute__((availability(tvos, introduced = version)))
#define STANDIN_watchos(version)                __attribute__((availability(watchos, introduced = version)))
#define STANDIN_1(a)                            STANDIN_##a
#define STANDIN_2(a, b)                         STANDIN_##a STANDIN_##b
#define STANDIN_3(a, b, c)                      STANDIN_##a STANDIN_##b STANDIN_##c
#define STANDIN_4(a, b, c, d)                   STANDIN_##a STANDIN_##b STANDIN_##c STANDIN_##d
#define STANDIN_PICK(_1, _2, _3, _4, NAME, ...) NAME
#define __API_AVAILABLE(...)                    STANDIN_PICK(__VA_ARGS__, STANDIN_4, STANDIN_3, STANDIN_2, STANDIN_1, 0)(__VA_ARGS__)
#else
#define __API_AVAILABLE(...)
#endif

#endif
