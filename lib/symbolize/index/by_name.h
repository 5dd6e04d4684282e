/* SPDX-License-Identifier: MIT */
/* A hash table from the names in an image's symbol tables to the starts of their functions. It is made at the first
 * search for a name. Each name is represented by a key of 64 bits, which the tables make (tables.h). A name that
 * several functions have is ambiguous, and is not found. */
#ifndef USPI_SYMBOLIZE_INDEX_BY_NAME_H
#define USPI_SYMBOLIZE_INDEX_BY_NAME_H

#include <unspool/base.h>

#include <stddef.h>

/* All zero means empty. */
struct uspi_by_name {
    struct uspi_named_start {
        uint64_t key; /* 0: the entry is free */
        usp_addr start;
        bool is_ambiguous;
    } *all;
    size_t size, count;
};

/* Adds a name by its key, which is not 0, and the start of its function. Returns false when memory is exhausted. */
bool uspi_by_name_add(struct uspi_by_name *names, uint64_t key, usp_addr start);

/* Finds the start of the function with a name. Returns false when no function or several functions have the name. */
bool uspi_by_name_find(const struct uspi_by_name *names, uint64_t key, usp_addr *start);

void uspi_by_name_clear(struct uspi_by_name *names);

#endif
