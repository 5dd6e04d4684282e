/* SPDX-License-Identifier: MIT */
/* Strings that stay: names from places that may go away (a library's own tables, a read buffer) are kept here, each once.
 * Names that lie in a mapped file need no copy and don't come here. */
#ifndef USPI_NAMES_H
#define USPI_NAMES_H

#include <stddef.h>

struct uspi_names;

/* NULL when memory lacks. */
struct uspi_names *uspi_names_create(void);

/* NULL is ignored. */
void uspi_names_free(struct uspi_names *names);

/* Forgets all strings. No thread may be using them or the names. */
void uspi_names_clear(struct uspi_names *names);

/* The string of `length` bytes at `bytes` (no NUL among them), NUL-terminated and valid until they are forgotten or freed;
 * the same pointer for the same bytes. NULL when memory lacks. Thread-safe; a known string is found without a lock. */
const char *uspi_names_keep(struct uspi_names *names, const char *bytes, size_t length);

#endif
