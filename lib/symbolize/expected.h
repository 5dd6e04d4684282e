/* SPDX-License-Identifier: MIT */
/* Naming an address when it is known which others follow: of an image that has just been met, one reading of its tables
 * then serves all of them. */
#ifndef USPI_EXPECTED_H
#define USPI_EXPECTED_H

#include <unspool/symbolize.h>

/* Embedded by whoever knows what is going to be asked for. */
struct uspi_expected {
    /* Gives each address, in the target, to `take`, until that returns false. Called only when tables are to be read. */
    void (*visit)(const struct uspi_expected *expected, bool (*take)(void *context, usp_addr address), void *context);
};

/* As usp_symbolize. The answer is the same whatever is expected; NULL: nothing is known. */
int uspi_symbolize_expecting(struct usp_symbolizer *symbolizer, usp_addr address, const struct uspi_expected *expected,
                             struct usp_symbol *symbol);

#endif
