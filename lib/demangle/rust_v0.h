/* SPDX-License-Identifier: MIT */
/* Names of Rust's v0 mangling (RFC 2603, "Rust Symbol Name Mangling v0"; The rustc book, "v0 Symbol Format"). The older
 * scheme, which borrows that of C++, is demangle.c's. */
#ifndef USPI_RUST_V0_H
#define USPI_RUST_V0_H

#include <stdbool.h>
#include <stddef.h>

/* Writes a name as people write it, without the hashes that tell crates of one name apart.
 *   mangled, length  from "_R" to the end, a vendor's suffix included; any bytes
 *   simple           without generic arguments
 *   room             for the text and its NUL, in bytes
 * Returns its length, or -1: it is not well-formed, nested too deeply, too much work, or longer than there is room for.
 * Work and depth are bounded whatever the input. Allocates nothing. */
int uspi_rust_v0(const char *mangled, size_t length, bool simple, char *to, size_t room);

#endif
