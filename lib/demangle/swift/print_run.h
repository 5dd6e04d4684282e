/* SPDX-License-Identifier: MIT */
/* A whole tree as text. */
#ifndef USPI_SWIFT_PRINT_RUN_H
#define USPI_SWIFT_PRINT_RUN_H

#include "lib/demangle/swift/print.h"

/* Writes a tree in that form (enum uspi_swift_form): the text and its length are the printer's then, until the next one is
 * written. False: the tree is not well-formed, the text would be too long, or memory lacks. */
bool uspi_swift_print(struct uspi_swift_printer *printer, const struct uspi_swift_node *root, unsigned form);

#endif
