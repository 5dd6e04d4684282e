/* SPDX-License-Identifier: MIT */
/* Demangles Swift names of all manglings, with the output of `swift demangle`. (swift docs/ABI/Mangling.rst,
 * docs/ABI/OldMangling.rst) */
#ifndef USPI_DEMANGLE_SWIFT_SWIFT_H
#define USPI_DEMANGLE_SWIFT_SWIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory that is reused for one name after the other. Only one thread at a time may use it. */
struct uspi_swift;

/* Returns NULL when memory lacks. */
struct uspi_swift *uspi_swift_create(void);

/* NULL is ignored. */
void uspi_swift_free(struct uspi_swift *swift);

/* The maximum length of a name in bytes; longer names are refused. */
#define USPI_SWIFT_NAME_MAX 65536u

/* Demangles a name.
 *   name, length  with its prefix ("$s", "_$s", "$S", "$e", "_T", "@__swiftmacro_", …); any bytes
 *   style         enum usp_demangle_style, but not USP_DEMANGLE_NO
 *   text_length   length of the returned text in bytes
 * Returns the text, not NUL-terminated; it is valid until the next call or uspi_swift_free. NULL: the name is malformed
 * or too long, refers to its own parts so often that its text would be longer than 1 MB, or memory lacks. Takes memory
 * and time in proportion to the name and its text, and at most 16 KB of stack. */
const char *uspi_swift_demangle(struct uspi_swift *swift, const char *name, size_t length, uint32_t style,
                                size_t *text_length);

/* Returns whether a name has the form of a Swift name. Async-signal-safe. */
bool uspi_swift_is_mangled(const char *name);

#endif
