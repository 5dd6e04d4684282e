/* SPDX-License-Identifier: MIT */
/* The parser of the names that the Objective-C runtime has for Swift's classes ("_TtC…", generic "_TtGC…") and
 * protocols ("_TtP…"): the part that is still in use of the mangling of Swift 3 and before. Source: swift
 * docs/ABI/OldMangling.rst. */
#ifndef USPI_DEMANGLE_SWIFT_OLD_H
#define USPI_DEMANGLE_SWIFT_OLD_H

#include "lib/demangle/swift/node.h"

/* Returns whether bytes begin like such a name. */
bool uspi_old_is_name(const char *name, size_t length);

/* Parses such a name with its prefix into a tree. NULL: it is another name, it is malformed, or it takes too much
 * memory. */
struct uspi_swift_node *uspi_old_parse(struct uspi_region *memory, const char *name, size_t length);

#endif
