/* SPDX-License-Identifier: MIT */
/* Stand-in for Apple's objc/runtime.h: the functions that tools/demo_view.m calls. */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_OBJC_RUNTIME_H
#define TESTS_APPLE_SDK_USR_INCLUDE_OBJC_RUNTIME_H

#include <stddef.h>

typedef struct objc_class *Class;
typedef struct objc_object *id;
#define nil ((id)0)

Class objc_getClass(const char *name);
id class_createInstance(Class class, size_t extra_bytes);

#endif
