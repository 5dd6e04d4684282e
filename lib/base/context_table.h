/* SPDX-License-Identifier: MIT */
/* A hash table of Swift async contexts by address, with their bytes as they were copied while the process's threads
 * were stopped. Its size is fixed before the threads are stopped, so that a tracer can fill it without allocating. */
#ifndef USPI_BASE_CONTEXT_TABLE_H
#define USPI_BASE_CONTEXT_TABLE_H

#include "arch/little_endian.h"

#include <stdbool.h>
#include <stddef.h>
#include <unspool/base.h>

/* The alignment of a context, and the number of its bytes that are copied: two words, the parent's context and the
 * address at which the function resumes (Swift include/swift/ABI/Task.h, AsyncContext). */
#define USPI_CONTEXT_SIZE 16u

struct uspi_context {
    usp_addr address; /* 0: the context could not be read */
    uint8_t bytes[USPI_CONTEXT_SIZE];
};

/* All zero: empty, with room for nothing. */
struct uspi_context_table {
    struct uspi_context *contexts; /* in the order in which they were added */
    size_t count, capacity;
    uint32_t *places; /* hash table: 1 + index of a context; 0: empty */
    size_t place_mask;
};

/* Empties the table and allocates room for `capacity` contexts. False when memory lacks, or `capacity` is 0 or too
 * large. */
bool uspi_context_table_reserve(struct uspi_context_table *table, size_t capacity);

/* Adds a context; the caller fills in its bytes later. False when the table already has it or is full.
 * Async-signal-safe.
 *   address  not 0, a multiple of USPI_CONTEXT_SIZE */
bool uspi_context_table_add(struct uspi_context_table *table, usp_addr address);

/* Returns the context at an address; NULL: none was copied. Async-signal-safe. */
const struct uspi_context *uspi_context_table_find(const struct uspi_context_table *table, usp_addr address);

/* Reads n bytes of one context; false when not all of them were copied. Async-signal-safe. */
bool uspi_context_table_read(const struct uspi_context_table *table, usp_addr from, void *to, size_t n);

/* Frees the table's memory and clears it. */
void uspi_context_table_free(struct uspi_context_table *table);

static inline usp_addr uspi_context_parent(const struct uspi_context *context) { return uspi_le64(context->bytes); }
static inline usp_addr uspi_context_resume(const struct uspi_context *context) { return uspi_le64(context->bytes + 8); }

#endif
