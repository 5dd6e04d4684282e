/* SPDX-License-Identifier: MIT */
/* Symbolicates an address when the caller knows which addresses follow. Then one pass over the symbol tables of an
 * image serves all of them. */
#ifndef USPI_SYMBOLIZE_INDEX_EXPECTED_H
#define USPI_SYMBOLIZE_INDEX_EXPECTED_H

#include <unspool/lines.h>

/* The expected lookups. The caller embeds it in its own data about them. */
struct uspi_expected {
    /* Passes each expected address (in the target) from `low` up to and excluding `high` to `take`, until that returns
     * false. Called only before tables are read, once for each image: so it skips other addresses fast. */
    void (*visit)(const struct uspi_expected *expected, usp_addr low, usp_addr high,
                  bool (*take)(void *context, usp_addr address), void *context);
};

/* Like usp_symbolize or, where `image` is not NULL, like usp_symbolize_image. `expected` may be NULL, and never changes
 * the answer. */
int uspi_symbolize_expecting(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                             const struct uspi_expected *expected, struct usp_symbol *symbol);

/* Like usp_symbolize_lines, with `image` and `expected` as above. */
int uspi_symbolize_lines_expecting(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                                   const struct uspi_expected *expected, struct usp_lines *lines);

/* Like usp_symbolizer_visit_names, with `image` as above. */
int uspi_visit_names_of(struct usp_symbolizer *symbolizer, const struct usp_image *image, usp_addr address,
                        usp_name_visitor visit, void *context);

#endif
