/* SPDX-License-Identifier: MIT */
/* How methods are called: -[Class selector], +[Class(Category) selector]. */
#ifndef USPI_OBJC_NAMES_H
#define USPI_OBJC_NAMES_H

#include "lib/symbolize/objc/source.h"

/* What the symbol of a class begins with; its name follows. (clang CGObjCMac.cpp) */
#define USPI_OBJC_CLASS_SYMBOL "_OBJC_CLASS_$_"

struct uspi_objc_method_name {
    struct uspi_objc_text class_name, category; /* category.at 0: none */
    usp_addr selector;
    bool is_class_method;
};

/* Builds the name; *text is the caller's to free. USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_FORMAT when a part is empty or
 * longer than any compiler writes, or why one cannot be read. */
int uspi_objc_format_name(const struct uspi_objc_source *source, const struct uspi_objc_method_name *name, char **text,
                          size_t *length);

#endif
