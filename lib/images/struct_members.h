/* SPDX-License-Identifier: MIT */
/* Finds where the members of a program's structs lie, by debug information. Names that are in .debug_str are not
 * compared: Go, whose structs are asked for, has names in the entries themselves. */
#ifndef USPI_IMAGES_STRUCT_MEMBERS_H
#define USPI_IMAGES_STRUCT_MEMBERS_H

#include "lib/images/debug_sections.h"

struct uspi_struct_member {
    const char *type, *name; /* "runtime.g", "goid" */
    uint64_t offset;         /* in the struct, in bytes; valid if is_known */
    bool is_known;
};

/* Looks for members. The first struct with the name counts. Damaged units are left out. Returns whether all members are
 * known. Takes time in proportion to the size of .debug_info. */
bool uspi_struct_members_find(const struct uspi_debug_sections *sections, struct uspi_struct_member *members,
                              size_t count);

#endif
