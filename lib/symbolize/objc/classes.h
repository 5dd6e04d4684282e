/* SPDX-License-Identifier: MIT */
/* Walks the classes and categories of an image to their method lists.
 * Source of the layouts: Apple objc4 runtime/objc-runtime-new.h (objc_class, class_ro_t, class_rw_t, class_rw_ext_t,
 * category_t), runtime/isa.h. */
#ifndef USPI_SYMBOLIZE_OBJC_CLASSES_H
#define USPI_SYMBOLIZE_OBJC_CLASSES_H

#include "lib/symbolize/objc/names.h"

/* Where a list was found. If two lists name the same method, the one with the lower value is better. */
enum uspi_objc_origin {
    USPI_OBJC_OF_CATEGORY, /* the category's own list */
    USPI_OBJC_OF_CLASS,    /* the list with which the class was compiled */
    USPI_OBJC_AT_RUN_TIME  /* all methods that the runtime has collected, including those of categories */
};

struct uspi_objc_owner {
    struct uspi_objc_text class_name, category; /* category.at 0: none */
    bool is_meta;                               /* class methods */
    enum uspi_objc_origin origin;
};

/* Receives a method list. Returns USP_OK or another status, of which only USP_ERROR_NO_MEMORY ends the walk. */
typedef int (*uspi_objc_visit)(void *context, const struct uspi_objc_owner *owner, usp_addr list);

/* Visits the method lists of all classes and categories. A class that cannot be read is skipped. *budget limits the
 * number of classes, categories and lists together, and counts down. Returns USP_OK, USP_ERROR_NOT_FOUND when the image
 * has no Objective-C, USP_ERROR_NO_MEMORY, or what is wrong with the load commands. */
int uspi_objc_classes_walk(const struct uspi_objc_source *source, uint64_t *budget, uspi_objc_visit visit,
                           void *context);

#endif
