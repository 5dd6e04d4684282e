/* SPDX-License-Identifier: MIT */
/* Writes a whole tree as text. */
#ifndef USPI_DEMANGLE_SWIFT_PRINT_RUN_H
#define USPI_DEMANGLE_SWIFT_PRINT_RUN_H

#include "lib/demangle/swift/print.h"

/* Writes a tree in a form (enum uspi_swift_form). The printer keeps the text and its length until the next tree is
 * written. False: the tree is malformed, the text would be too long, or memory lacks. */
bool uspi_swift_print(struct uspi_swift_printer *printer, const struct uspi_swift_node *root, unsigned form);

#endif
