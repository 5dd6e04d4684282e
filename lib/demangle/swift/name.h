/* SPDX-License-Identifier: MIT */
/* Parses a whole mangled name into a tree. */
#ifndef USPI_DEMANGLE_SWIFT_NAME_H
#define USPI_DEMANGLE_SWIFT_NAME_H

#include "lib/base/region.h"
#include "lib/demangle/swift/node.h"

#include <stddef.h>

/* Parses a name with its prefix, in any mangling. Returns the root, of kind SWIFT_GLOBAL. NULL: the name is malformed,
 * or takes too much memory. */
struct uspi_swift_node *uspi_swift_parse(struct uspi_region *memory, const char *name, size_t length);

#endif
