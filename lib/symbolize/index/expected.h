/* SPDX-License-Identifier: MIT */
/* Symbolicates an address when it is known which others follow: of an image that has just been met, one reading of its
 * tables then serves all of them. */
#ifndef USPI_EXPECTED_H
#define USPI_EXPECTED_H

#include <unspool/lines.h>

/* Embedded by the caller that knows what it is going to ask for. */
struct uspi_expected {
    /* Gives each address, in the target, to `take`, until that returns false. Called only when tables are to be read. */
    void (*visit)(const struct uspi_expected *expected, bool (*take)(void *context, usp_addr address), void *context);
};

/* As usp_symbolize; or, where `image` is not NULL, as usp_symbolize_image. The answer is the same whatever is expected;
 * NULL: nothing is known. */
int uspi_symbolize_expecting(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                             const struct uspi_expected *expected, struct usp_symbol *symbol);

/* As usp_symbolize_lines, with `image` and `expected` as above. */
int uspi_symbolize_lines_expecting(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                                   const struct uspi_expected *expected, struct usp_lines *lines);

#endif
