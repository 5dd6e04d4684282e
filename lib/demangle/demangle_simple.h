/* SPDX-License-Identifier: MIT */
/* A demangled C++ name made shorter. Which names are C++'s, demangle.c knows. */
#ifndef USPI_DEMANGLE_SIMPLE_H
#define USPI_DEMANGLE_SIMPLE_H

/* Shortens, in place, what a demangler wrote ("std::vector<int> f<int>(int) const [clone .cold]") to the function's name
 * ("f"): without return type, template arguments, parameters and what follows them. What is not understood stays. */
void uspi_demangle_simplify(char *name);

#endif
