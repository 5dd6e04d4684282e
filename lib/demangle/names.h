/* SPDX-License-Identifier: MIT */
/* Keeps copies of strings, one of each that is asked for by its bytes. It is for names whose memory may be freed (a
 * library's own tables, a read buffer). Names in a mapped file need no copy. */
#ifndef USPI_DEMANGLE_NAMES_H
#define USPI_DEMANGLE_NAMES_H

#include <stddef.h>

struct uspi_names;

/* Returns NULL when memory lacks. */
struct uspi_names *uspi_names_create(void);

/* NULL is ignored. */
void uspi_names_free(struct uspi_names *names);

/* Frees all strings. No thread may be using them or `names`. */
void uspi_names_clear(struct uspi_names *names);

/* Returns a NUL-terminated copy of `length` bytes without NUL; the same pointer for the same bytes. It is valid until
 * uspi_names_clear or uspi_names_free. NULL when memory lacks. Thread-safe; a known string is found without a lock. */
const char *uspi_names_keep(struct uspi_names *names, const char *bytes, size_t length);

/* Like uspi_names_keep, but does not search for the bytes: each call makes another copy. For strings that the caller
 * finds again by itself, which is faster. */
const char *uspi_names_append(struct uspi_names *names, const char *bytes, size_t length);

#endif
