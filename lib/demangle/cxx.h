/* SPDX-License-Identifier: MIT */
/* C++ names by the C++ runtime's __cxa_demangle. Which names are C++'s, demangle.c knows. */
#ifndef USPI_CXX_H
#define USPI_CXX_H

#include <stdbool.h>
#include <stddef.h>

/* The function that demangles, looked for at the first name. Clear it with 0. The caller holds a lock around all calls that use
 * one. */
struct uspi_cxx {
    bool is_known;
    /* Itanium C++ ABI, section 3.4. NULL: no C++ runtime is installed. */
    char *(*demangle)(const char *mangled, char *buffer, size_t *size, int *status);
};

/* Demangles `name`, which begins with _Z. Returns a malloc'ed string, or NULL when there is no C++ runtime, it does not know
 * the name, memory lacks, or the result might be longer than 128 MB. */
char *uspi_cxx_demangle(struct uspi_cxx *cxx, const char *name);

/* Demangles a name of a C++ function, variable or block, with up to three underscores before its Z; `name` is changed. A simple
 * name has no parameters and no clone's suffix. Returns as uspi_cxx_demangle does. */
char *uspi_cxx_name(struct uspi_cxx *cxx, char *name, bool is_simple);

/* Appends the suffix that a compiler gives to a copy of a function or variable (".cold"), in the form that __cxa_demangle has for
 * functions: " [clone .cold]". Takes over `text`, which may be NULL. Returns a malloc'ed string, or NULL when memory lacks. */
char *uspi_cxx_append_clone(char *text, const char *suffix);

#endif
