/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the platform, from the compiler's target. Names and values as in Apple's TargetConditionals.h. It has
 * that header's include guard: included first, it gives the right platform if the SDK is another platform's. */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_TARGETCONDITIONALS_H
#define TESTS_APPLE_SDK_USR_INCLUDE_TARGETCONDITIONALS_H

#define TARGET_OS_MAC 1

#if defined(__ENVIRONMENT_MAC_OS_X_VERSION_MIN_REQUIRED__)
#define TARGET_OS_OSX 1
#else
#define TARGET_OS_OSX 0
#endif
#define TARGET_OS_IPHONE (!TARGET_OS_OSX)

#if defined(__ENVIRONMENT_IPHONE_OS_VERSION_MIN_REQUIRED__)
#define TARGET_OS_IOS 1
#else
#define TARGET_OS_IOS 0
#endif
#if defined(__ENVIRONMENT_TV_OS_VERSION_MIN_REQUIRED__)
#define TARGET_OS_TV 1
#else
#define TARGET_OS_TV 0
#endif
#if defined(__ENVIRONMENT_WATCH_OS_VERSION_MIN_REQUIRED__)
#define TARGET_OS_WATCH 1
#else
#define TARGET_OS_WATCH 0
#endif
#if TARGET_OS_IPHONE && !TARGET_OS_IOS && !TARGET_OS_TV && !TARGET_OS_WATCH
#define TARGET_OS_VISION 1
#else
#define TARGET_OS_VISION 0
#endif

#if defined(__APPLE_EMBEDDED_SIMULATOR__)
#define TARGET_OS_SIMULATOR 1
#elif defined(__has_builtin)
#if __has_builtin(__is_target_environment)
#define TARGET_OS_SIMULATOR __is_target_environment(simulator)
#endif
#endif
#ifndef TARGET_OS_SIMULATOR
#define TARGET_OS_SIMULATOR 0
#endif

#endif
