/* SPDX-License-Identifier: MIT */
/* Names that a text gives to its frames: decides whether the function of that name, in the frame's build, holds the
 * frame's code. A stripped program names the nearest exported symbol, however far away it is. */
#ifndef USPI_SYMBOLIZE_BUILDS_GIVEN_NAMES_H
#define USPI_SYMBOLIZE_BUILDS_GIVEN_NAMES_H

#include "lib/base/span.h"

#include <unspool/demangle.h>
#include <unspool/symbolize.h>

/* A given name, and the functions of that name in the build. */
struct uspi_given_name;

/* The names that were asked for in one build, and demanglers to compare names with. Begin with {0}. */
struct uspi_given_names {
    struct uspi_given_name *names;
    size_t count, capacity;
    struct usp_demangler *demanglers[3]; /* the modes full, simple and short; NULL: not needed so far */
};

/* A frame with a name, in an open build. */
struct uspi_given_place {
    struct usp_symbolizer *symbolizer;
    const struct usp_symbol *symbol; /* what holds the call site, by the build; NULL: nothing that it knows */
    struct uspi_span name;           /* as the text has it */
    usp_addr pc;                     /* the frame's address */
    usp_addr call_site;              /* the address that is looked up */
    usp_addr start;                  /* of the function that holds the code, by the build */
    uint64_t offset;                 /* of `pc` from the named function, by the text; valid with has_offset */
    bool has_offset;
};

/* Sets *holds: whether the code belongs to the named function. That is so if
 *   - a function of that name in the build holds the call site, or
 *   - the build has none of that name, and the text's offset leads to the function that holds the code, or is missing.
 * Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_given_name_holds(struct uspi_given_names *names, const struct uspi_given_place *place, bool *holds);

/* Forgets the functions, which other sources of the build may have elsewhere. */
void uspi_given_names_reset(struct uspi_given_names *names);

/* Frees everything. */
void uspi_given_names_clear(struct uspi_given_names *names);

#endif
