/* SPDX-License-Identifier: MIT */
/* Demangles names of Rust's v0 mangling (RFC 2603, "Rust Symbol Name Mangling v0"; The rustc book, "v0 Symbol Format").
 * demangle.c handles the legacy scheme, which is based on that of C++. */
#ifndef USPI_DEMANGLE_RUST_V0_H
#define USPI_DEMANGLE_RUST_V0_H

#include <stdbool.h>
#include <stddef.h>

/* Writes a name as people write it, without the hashes that distinguish crates of the same name.
 *   mangled, length  from "_R" to the end, with a vendor's suffix; any bytes
 *   simple           without generic arguments
 *   capacity         for the text and its NUL, in bytes
 * Returns the text's length. -1: the name is malformed, nested too deeply, too much work, or there is not enough room.
 * Work and depth are bounded for any input. Allocates nothing. */
int uspi_rust_v0(const char *mangled, size_t length, bool simple, char *to, size_t capacity);

#endif
