/* SPDX-License-Identifier: MIT */
/* Remembers the numbers of files and functions that a reader has already added to a builder (builder.h). */
#ifndef USPI_SYMBOLIZE_LINES_NUMBERS_H
#define USPI_SYMBOLIZE_LINES_NUMBERS_H

#include "lib/base/span.h"
#include "lib/symbolize/lines/builder.h"

/* A hash table from keys to numbers. A key is how the reader identifies a thing: its number or its offset in the
 * source. Begin with {0}. */
struct uspi_numbers {
    struct uspi_number {
        uint64_t key;
        uint32_t number; /* 0: the entry is free */
    } *all;
    size_t size, count;
};

/* Forgets all numbers, for the next block. */
void uspi_numbers_forget(struct uspi_numbers *numbers);

void uspi_numbers_free(struct uspi_numbers *numbers);

/* Returns the number of a key; 0: none. */
uint32_t uspi_numbers_get(const struct uspi_numbers *numbers, uint64_t key);

/* Remembers a number, which is not 0, for a new key. Returns false when memory is exhausted. */
bool uspi_numbers_keep(struct uspi_numbers *numbers, uint64_t key, uint32_t number);

/* The number of directories of a block with which a new one is compared. */
#define USPI_FOLDERS 32u

/* The directories that were added last. Set count to 0 for each block. */
struct uspi_folders {
    struct {
        struct uspi_span path;
        uint32_t number;
    } all[USPI_FOLDERS];
    unsigned count;
};

/* Returns the builder's number of a directory whose path is in no section. The path must stay until the block is
 * made. */
uint32_t uspi_folders_number(struct uspi_folders *folders, struct uspi_builder *builder, struct uspi_span path);

#endif
