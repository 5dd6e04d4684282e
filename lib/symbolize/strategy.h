/* SPDX-License-Identifier: MIT */
/* What a symbolization strategy gets, and those that do not ask an index. A strategy is one way to find the function
 * that holds an address. symbolizer.c asks them in the order of its list; they do not use each other.
 *
 * The winner is chosen in one place, symbolizer.c. An answer whose symbol does not hold the address is ignored. A later
 * answer replaces an earlier one if it has a higher start, or if it has the same start and says that its name is
 * better. A strategy answers only with a symbol whose section holds the address; in doubt it does not answer.
 *
 * Code that a program generated is in no image, so no strategy of this list is asked for it. symbolizer.c asks
 * jit/jit.h for such addresses only, so a name of generated code never competes with an image's symbol. */
#ifndef USPI_SYMBOLIZE_STRATEGY_H
#define USPI_SYMBOLIZE_STRATEGY_H

#include "lib/symbolize/module.h"
#include "lib/symbolize/objc_runtime.h"

#include <unspool/lines.h>
#include <unspool/symbolize.h>

/* The source line of code that a program generated. */
struct uspi_generated_line {
    const char *path; /* kept in query.names; NULL: not known */
    uint32_t line;
};

struct uspi_query {
    usp_addr address;                     /* in the target */
    const struct usp_image *image;        /* the image that holds the address */
    struct uspi_module *module;           /* of the image's file */
    const struct uspi_expected *expected; /* further addresses that will be looked up; NULL: not known */
    struct uspi_names *names;             /* keeps names that are not in a mapped file */
    bool in_process;                      /* the image is loaded in this process */
    bool is_named;                        /* an earlier strategy has an answer */
    usp_addr named_start;                 /* the start of that answer's function */
    struct uspi_objc_runtime *runtime;    /* of this process; NULL: the image is not in this process */
    struct uspi_generated_line generated; /* the line, if the address is in generated code */
    struct usp_lines *lines;              /* receives the frames of generated code; NULL: they are not wanted */
};

/* The strategies. Each fills *found with the nearest symbol, whether or not the symbol's size reaches the address.
 * Addresses in *found are those of the target. Each returns USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_ABSENT when it has
 * nothing to search, or USP_ERROR_NO_MEMORY. Several threads may call them at the same time. */

/* Asks this process's own loader. */
int uspi_find_by_loader(const struct uspi_query *query, struct uspi_symbol_answer *found);

/* Asks the Objective-C runtime of this process. */
int uspi_find_by_runtime(const struct uspi_query *query, struct uspi_symbol_answer *found);

#endif
