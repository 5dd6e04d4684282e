/* SPDX-License-Identifier: MIT */
/* Rewrites the names of functions that Kotlin/Native gives to the linker: kfun:PACKAGE.CLASS#NAME(TYPES){}RESULT. */
#ifndef USPI_DEMANGLE_KOTLIN_H
#define USPI_DEMANGLE_KOTLIN_H

#include <stdbool.h>

/* Returns whether a name has the form of a Kotlin/Native function. */
bool uspi_kotlin_is_mangled(const char *name);

/* Rewrites a name: PACKAGE.CLASS.NAME(TYPE, TYPE): RESULT, or with is_simple PACKAGE.CLASS.NAME. Changes `name`. The
 * receiver of an extension function is the first of its types. The word before the name of a bridge between Kotlin and
 * Objective-C (objc2kotlin, objc2kotlin_virtual, kotlin2objc) stays, with a space after it. Returns a malloc'ed string;
 * NULL when memory lacks or the name is not understood. */
char *uspi_kotlin(char *name, bool is_simple);

#endif
