/* SPDX-License-Identifier: MIT */
/* Shortens demangled C++ names. demangle.c decides which names are C++ names. */
#ifndef USPI_DEMANGLE_DEMANGLE_SIMPLE_H
#define USPI_DEMANGLE_DEMANGLE_SIMPLE_H

/* Shortens a demangler's output ("std::vector<int> f<int>(int) const [clone .cold]"), in place, to the function's name
 * ("f"): without return type, template arguments, parameters and what follows them. Text that is not understood is left
 * unchanged. */
void uspi_demangle_simplify(char *name);

#endif
