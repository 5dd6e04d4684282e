/* SPDX-License-Identifier: MIT */
/* The methods that the Objective-C runtime of this process knows: Apple's, GCC's libobjc or GNUstep's. The runtime is
 * asked through the public functions that all three share. They are looked up when needed, never linked. No message is
 * sent and no class is initialized. */
#ifndef USPI_SYMBOLIZE_OBJC_RUNTIME_H
#define USPI_SYMBOLIZE_OBJC_RUNTIME_H

#include "lib/symbolize/index/tables.h"

struct uspi_objc_runtime;
struct uspi_query;

/* Makes the object without asking the runtime yet. signature_mask: the bits that pointer signatures occupy in this
 * process; on arm64e, pointers to implementations are signed. Returns NULL when memory is exhausted. */
struct uspi_objc_runtime *uspi_objc_runtime_create(uint64_t signature_mask);

/* Frees the object. NULL is ignored. */
void uspi_objc_runtime_free(struct uspi_objc_runtime *runtime);

/* Finds the method that holds query->address, which is in this process.
 *
 * The methods are read at the first call, and again after images were loaded or unloaded. If no method and no symbol
 * was found, they are also read again when the number of classes has changed.
 *
 * query->is_named and query->named_start give the start of the function that a symbol names at the address. Otherwise
 * the function starts of a Mach-O image are searched, through query->image and query->module. For other images, and
 * when image is NULL, the system is asked.
 *
 * Returns USP_OK; USP_ERROR_NOT_FOUND, also when nothing shows where the method ends; USP_ERROR_ABSENT when there is no
 * runtime; USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe. */
int uspi_objc_runtime_find(struct uspi_objc_runtime *runtime, const struct uspi_query *query,
                           struct uspi_symbol_answer *named);

#endif
