/* SPDX-License-Identifier: MIT */
/* Macros of the Objective-C layer for nullability, generics and availability. They are empty for compilers without
 * these (GCC). */
#ifndef UNSPOOL_OBJC_USPDEFINES_H
#define UNSPOOL_OBJC_USPDEFINES_H

#import <Foundation/Foundation.h>
#include <unspool/base.h>

#if defined(__clang__)
#define USP_NULLABLE _Nullable
/* Marks a result that lives as long as the object: reference counting must not free the object earlier. */
#define USP_INNER_POINTER       __attribute__((objc_returns_inner_pointer))
#define USP_ARRAY_OF(type_name) NSArray<type_name *>
#else
#define USP_NULLABLE
#define USP_INNER_POINTER
#define USP_ARRAY_OF(type_name) NSArray
#endif

/* The oldest systems whose headers declare what the layer uses. */
#if defined(API_AVAILABLE)
#define USP_AVAILABLE API_AVAILABLE(macos(10.12), ios(9.0), tvos(9.0), watchos(3.0))
#else
#define USP_AVAILABLE
#endif

#if defined(__APPLE__)
#define USP_EXPORT FOUNDATION_EXPORT __attribute__((visibility("default")))
#define USP_CLASS  __attribute__((visibility("default"))) __attribute__((objc_subclassing_restricted)) USP_AVAILABLE
#else
#define USP_EXPORT FOUNDATION_EXPORT
#define USP_CLASS
#endif

#endif
