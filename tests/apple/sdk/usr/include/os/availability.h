/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: Availability.h's attributes under their public name. */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_OS_AVAILABILITY_H
#define TESTS_APPLE_SDK_USR_INCLUDE_OS_AVAILABILITY_H

#include <Availability.h>

#define API_AVAILABLE(...) __API_AVAILABLE(__VA_ARGS__)

#endif
