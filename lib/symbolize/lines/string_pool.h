/* SPDX-License-Identifier: MIT */
/* The strings of an index file: sorted and without duplicates. Each is written as the length of what it shares with the
 * one before it, and the rest. A string's number is its position in that order, from 1; 0 is none. doc/index-format.md
 * describes the bytes. */
#ifndef USPI_SYMBOLIZE_LINES_STRING_POOL_H
#define USPI_SYMBOLIZE_LINES_STRING_POOL_H

#include "lib/demangle/names.h"
#include "lib/symbolize/lines/checked.h"
#include "lib/symbolize/lines/packed.h"

/* The number of strings in a group. The first one of a group is written whole. */
#define USPI_POOL_GROUP 16u

struct uspi_string_pool {
    const uint8_t *bytes;
    const struct uspi_checked *checked; /* NULL: the bytes have no checksums */
    uint64_t size, at_groups, at_strings;
    uint64_t count, longest;
    unsigned width; /* of a group's position, in bytes */
};

/* Opens a pool. Returns USP_OK, or USP_ERROR_FORMAT when the bytes are not a pool. */
int uspi_string_pool_open(struct uspi_string_pool *pool, const uint8_t *bytes, uint64_t size,
                          const struct uspi_checked *checked);

/* How a string is put into a set of names: uspi_names_keep or uspi_names_append. */
typedef const char *(*uspi_pool_keep)(struct uspi_names *names, const char *bytes, size_t length);

/* Finds a string, and puts it into `names`. Returns USP_OK; USP_ERROR_FORMAT when no string has the number, or the bytes
 * are damaged; USP_ERROR_NO_MEMORY. On failure, *text is NULL. */
int uspi_string_pool_find(const struct uspi_string_pool *pool, uint64_t number, uspi_pool_keep keep,
                          struct uspi_names *names, const char **text);

/* Finds the number of a string; 0 when the pool does not have it, or the bytes are damaged. Returns USP_OK or
 * USP_ERROR_NO_MEMORY. */
int uspi_string_pool_number_of(const struct uspi_string_pool *pool, const char *text, uint64_t *number);

/* ---- writing ---- */

struct uspi_string_pool_writer;

struct uspi_string_pool_writer *uspi_pool_writer_create(void);
void uspi_pool_writer_free(struct uspi_string_pool_writer *writer);

/* Adds a string. Returns the number that it has until the strings are sorted, the same for equal strings; 0 when memory
 * is exhausted. The bytes must stay unless `is_copied` is set. */
uint64_t uspi_string_pool_add(struct uspi_string_pool_writer *writer, const char *text, bool is_copied);

/* Sorts the strings and writes them. The caller frees *bytes. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_string_pool_write(struct uspi_string_pool_writer *writer, uint8_t **bytes, size_t *size);

/* Returns the number that a string has in the pool, by the one that uspi_string_pool_add returned. */
uint64_t uspi_string_pool_number(const struct uspi_string_pool_writer *writer, uint64_t added);

uint64_t uspi_string_pool_count(const struct uspi_string_pool_writer *writer);

#endif
