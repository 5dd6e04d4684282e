/* SPDX-License-Identifier: MIT */
/* Builds the names of methods: -[Class selector], +[Class(Category) selector]. */
#ifndef USPI_SYMBOLIZE_OBJC_NAMES_H
#define USPI_SYMBOLIZE_OBJC_NAMES_H

#include "lib/symbolize/objc/source.h"

/* The prefix of a class's symbol, before the class's name. (clang CGObjCMac.cpp) */
#define USPI_OBJC_CLASS_SYMBOL "_OBJC_CLASS_$_"

struct uspi_objc_method_name {
    struct uspi_objc_text class_name, category; /* category.at 0: none */
    usp_addr selector;
    bool is_class_method;
};

/* Builds the name. The caller frees *text. Returns USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_FORMAT when a part is empty
 * or longer than any compiler writes, or the status with which reading a part failed. */
int uspi_objc_format_name(const struct uspi_objc_source *source, const struct uspi_objc_method_name *name, char **text,
                          size_t *length);

#endif
