/* SPDX-License-Identifier: MIT */
/* Bounds how long a demangled C++ name becomes, before a demangler without limits gets the name. */
#ifndef USPI_DEMANGLE_CXX_LENGTH_H
#define USPI_DEMANGLE_CXX_LENGTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets *bound to a number of bytes that the demangled form of `name` (_Z…) does not exceed, UINT64_MAX for a number that
 * does not fit, and for a name with more than 256 levels of nesting. The number also bounds the demangler's work: what
 * prints nothing is counted too. It is often 20 times the true length. Returns false for a name that is malformed or has
 * a construct that this file does not know.
 *   resolves_late  the demangler replaces template parameters when it prints them, as GNU's does: a part that is
 *                  repeated after other template arguments then has those */
bool uspi_cxx_length(const char *name, size_t length, bool resolves_late, uint64_t *bound);

#endif
