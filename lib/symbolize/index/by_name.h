/* SPDX-License-Identifier: MIT */
/* From a function's name to where it begins: a hash table of all names of an image's symbol tables, which is made when a name is first
 * asked for. A name is a key of 64 bits, which the tables make of it (tables.h). A name that several functions have leads
 * nowhere. */
#ifndef USPI_BY_NAME_H
#define USPI_BY_NAME_H

#include <unspool/base.h>

#include <stddef.h>

/* Begin with {0}. */
struct uspi_by_name {
    struct uspi_named_start {
        uint64_t key; /* 0: the entry is free */
        usp_addr start;
        bool is_ambiguous;
    } *all;
    size_t size, count;
};

/* Adds a name, which is not 0, and where its function begins. False when memory lacks. */
bool uspi_by_name_add(struct uspi_by_name *names, uint64_t key, usp_addr start);

/* Where the function with a name begins. False when there is none or there are several. */
bool uspi_by_name_find(const struct uspi_by_name *names, uint64_t key, usp_addr *start);

void uspi_by_name_clear(struct uspi_by_name *names);

#endif
