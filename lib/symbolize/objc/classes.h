/* SPDX-License-Identifier: MIT */
/* The classes and categories of an image, as far as they lead to method lists.
 * Source of the layouts: Apple objc4 runtime/objc-runtime-new.h (objc_class, class_ro_t, class_rw_t, class_rw_ext_t,
 * category_t), runtime/isa.h. */
#ifndef USPI_OBJC_CLASSES_H
#define USPI_OBJC_CLASSES_H

#include "lib/symbolize/objc/names.h"

/* Where a list was found: of two that name the same method, the first knows it better. */
enum uspi_objc_origin {
    USPI_OBJC_OF_CATEGORY, /* the category's own list */
    USPI_OBJC_OF_CLASS,    /* what the class was compiled with */
    USPI_OBJC_AT_RUN_TIME  /* all that the runtime has put together, categories included */
};

struct uspi_objc_owner {
    struct uspi_objc_text class_name, category; /* category.at 0: none */
    bool is_meta;                               /* class methods */
    enum uspi_objc_origin origin;
};

/* Returns USP_OK, or a status that ends the walk when it is USP_ERROR_NO_MEMORY. */
typedef int (*uspi_objc_visit)(void *context, const struct uspi_objc_owner *owner, usp_addr list);

/* Visits the method lists of all classes and categories; a class that cannot be read is passed over. *budget bounds the
 * classes, categories and lists together, and goes down. USP_OK, USP_ERROR_NOT_FOUND when the image has no Objective-C,
 * USP_ERROR_NO_MEMORY, or what the load commands have wrong. */
int uspi_objc_classes_walk(const struct uspi_objc_source *source, uint64_t *budget, uspi_objc_visit visit,
                           void *context);

#endif
