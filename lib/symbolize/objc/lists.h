/* SPDX-License-Identifier: MIT */
/* Method lists, absolute and relative ones, and the three ways in which the runtime combines several lists.
 * Source of the layouts: Apple objc4 runtime/objc-runtime-new.h (method_t, entsize_list_tt, list_array_tt,
 * relative_list_list_t). */
#ifndef USPI_SYMBOLIZE_OBJC_LISTS_H
#define USPI_SYMBOLIZE_OBJC_LISTS_H

#include "lib/symbolize/objc/source.h"

struct uspi_objc_list {
    usp_addr at;         /* of its header */
    uint32_t entry_size; /* in bytes */
    uint32_t count;
    bool is_relative;      /* three offsets of 32 bits instead of three pointers */
    bool has_direct_names; /* relative: names are offsets from the shared cache's selectors, without a reference */
};

/* Reads a list's header. Returns USP_OK, USP_ERROR_FORMAT, USP_ERROR_UNSUPPORTED (names in a shared cache that is not
 * known), or the status with which reading failed. */
int uspi_objc_list_open(const struct uspi_objc_source *source, usp_addr at, struct uspi_objc_list *list);

struct uspi_objc_method {
    usp_addr implementation; /* includes the Thumb bit */
    usp_addr selector;       /* its name, a string */
};

/* Reads entry i, which is less than list->count. Returns USP_OK, or the status with which reading failed. */
int uspi_objc_method(const struct uspi_objc_source *source, const struct uspi_objc_list *list, uint32_t i,
                     struct uspi_objc_method *method);

/* What a field may point to. The low bits of its pointer say which. */
enum uspi_objc_lists_kind {
    USPI_OBJC_BASE_METHODS, /* class_ro_t.baseMethods: 0 a list, 1 a relative list of lists */
    USPI_OBJC_ALL_METHODS   /* class_rw_ext_t.methods: 0 a list, 1 an array of lists, 2 a relative list of lists */
};

/* Receives a list. Returns USP_OK, or a status that ends the walk. */
typedef int (*uspi_objc_visit_list)(void *context, usp_addr list);

/* Visits each list to which the field at `at` leads; none if it is null. *budget is how many lists may be visited in
 * all; it counts down. Returns USP_OK, what `visit` returned, USP_ERROR_FORMAT when the budget is used up, or the
 * status with which reading failed. */
int uspi_objc_lists_walk(const struct uspi_objc_source *source, usp_addr at, enum uspi_objc_lists_kind kind,
                         uint64_t *budget, uspi_objc_visit_list visit, void *context);

#endif
