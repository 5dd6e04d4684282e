/* SPDX-License-Identifier: MIT */
/* The contract of a symbolization strategy: one way to find the function that holds an address. Strategies are asked in
 * the order of uspi_strategies; each stands in a file of its own and knows nothing of the others.
 *
 * How the winner is chosen, in one place (symbolizer.c): a later answer replaces an earlier one only with a higher start,
 * or with the same when it says that its name is the better one; no answer counts whose symbol does not hold the address.
 * A strategy answers only with a symbol whose section holds the address; when in doubt it has no answer.
 *
 * Code that a program generated lies in no image, so no strategy of this list is asked for it: symbolizer.c asks jit/jit.h
 * there, and only there, so that it never stands against an image's symbol. */
#ifndef USPI_STRATEGY_H
#define USPI_STRATEGY_H

#include "lib/symbolize/module.h"
#include "lib/symbolize/objc_runtime.h"

#include <unspool/lines.h>
#include <unspool/symbolize.h>

/* The line of code that a program generated. */
struct uspi_generated_line {
    const char *path; /* kept in the names; NULL: not known */
    uint32_t line;
};

struct uspi_query {
    usp_addr address;                     /* in the target */
    const struct usp_image *image;        /* holds it */
    struct uspi_module *module;           /* the image's file */
    const struct uspi_expected *expected; /* what else is going to be asked for; NULL: not known */
    struct uspi_names *names;             /* keeps names that would not stay */
    bool in_process;                      /* the image is loaded in this process */
    bool is_named;                        /* a strategy that was asked before has an answer */
    usp_addr named_start;                 /* where the function of that answer begins */
    struct uspi_objc_runtime *runtime;    /* of this process; NULL when the image is not of it */
    struct uspi_generated_line generated; /* of generated code, which lies in no image */
    struct usp_lines *lines;              /* for the frames of generated code; NULL: they are not wanted */
};

struct uspi_strategy {
    uint32_t id; /* enum usp_strategy */

    /* Fills *found, with addresses in the target, whether or not its size reaches the address. USP_OK,
     * USP_ERROR_NOT_FOUND, USP_ERROR_ABSENT when it has nothing to look in, USP_ERROR_NO_MEMORY. Called by many threads at
     * a time. */
    int (*find)(const struct uspi_query *query, struct uspi_symbol_answer *found);
};

extern const struct uspi_strategy uspi_strategy_dladdr;
extern const struct uspi_strategy uspi_strategy_objc_metadata;
extern const struct uspi_strategy uspi_strategy_objc_runtime;
extern const struct uspi_strategy uspi_strategy_symtab;

/* All of them, in order; NULL behind the last. */
extern const struct uspi_strategy *const uspi_strategies[];

#endif
