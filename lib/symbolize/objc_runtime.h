/* SPDX-License-Identifier: MIT */
/* The methods that the Objective-C runtime of this process knows, whichever runtime that is: Apple's, GCC's libobjc or
 * GNUstep's. It is asked through the public functions that they share, found when they are needed, never linked. No
 * message is sent and no class is initialized. */
#ifndef USPI_OBJC_RUNTIME_H
#define USPI_OBJC_RUNTIME_H

#include "lib/symbolize/index/tables.h"

struct uspi_objc_runtime;
struct uspi_query;

/* Asks nothing yet. signature_mask: the bits that pointer signatures fill in this process, as those of implementations do on
 * arm64e. NULL when memory lacks. */
struct uspi_objc_runtime *uspi_objc_runtime_create(uint64_t signature_mask);

/* NULL is ignored. */
void uspi_objc_runtime_free(struct uspi_objc_runtime *runtime);

/* The method that query->address, of this process, lies in. The methods are asked for once, and again when images came or
 * went; where nothing has a name also when there are more classes than before, which is asked only where nothing was found.
 * Of the query: is_named and named_start say where the function begins that a symbol has there; image and module are asked
 * for the start of a nameless one when the image is Mach-O, otherwise the system is (image NULL, too). USP_OK,
 * USP_ERROR_NOT_FOUND (also when nothing tells where the method ends), USP_ERROR_ABSENT when there is no runtime,
 * USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe. */
int uspi_objc_runtime_find(struct uspi_objc_runtime *runtime, const struct uspi_query *query,
                           struct uspi_symbol_answer *named);

#endif
