/* SPDX-License-Identifier: MIT */
/* Demangles C++ names with the C++ runtime's __cxa_demangle. demangle.c decides which names are C++ names. */
#ifndef USPI_DEMANGLE_CXX_H
#define USPI_DEMANGLE_CXX_H

#include <stdbool.h>
#include <stddef.h>

/* The demangling function, which is looked up for the first name. Initialise to zero. Callers must serialize all calls
 * for one struct with a lock. */
struct uspi_cxx {
    bool is_known;
    /* Itanium C++ ABI, section 3.4. NULL: no C++ runtime is installed. */
    char *(*demangle)(const char *mangled, char *buffer, size_t *size, int *status);
};

/* Demangles `name`, which begins with _Z. Returns a malloc'ed string. NULL: there is no C++ runtime, it does not know
 * the name, memory lacks, or the result might be longer than 128 MB. */
char *uspi_cxx_demangle(struct uspi_cxx *cxx, const char *name);

/* Demangles a name of a C++ function, variable or block, with up to three underscores before its Z; changes `name`.
 * With is_simple, the result has no parameters and no suffix of a clone. Returns what uspi_cxx_demangle returns. */
char *uspi_cxx_name(struct uspi_cxx *cxx, char *name, bool is_simple);

/* Appends the suffix that a compiler gives to a copy of a function or variable (".cold"), in __cxa_demangle's form for
 * functions: " [clone .cold]". Frees or reuses `text`, which may be NULL. Returns a malloc'ed string, or NULL when
 * memory lacks or `text` is NULL. */
char *uspi_cxx_append_clone(char *text, const char *suffix);

#endif
