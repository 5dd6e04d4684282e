/* SPDX-License-Identifier: MIT */
/* For readers that add the files and functions of a block to a builder (builder.h): which number one has that was added before. */
#ifndef USPI_NUMBERS_H
#define USPI_NUMBERS_H

#include "lib/base/span.h"
#include "lib/symbolize/lines/builder.h"

/* A hash table of numbers by keys: how the reader names a thing, by its number or its offset in the source. Begin with {0}. */
struct uspi_numbers {
    struct uspi_number {
        uint64_t key;
        uint32_t number; /* 0: the entry is free */
    } *all;
    size_t size, count;
};

/* Forgets all, for the next block. */
void uspi_numbers_forget(struct uspi_numbers *numbers);

void uspi_numbers_free(struct uspi_numbers *numbers);

/* The number that was kept for a key; 0: none was. */
uint32_t uspi_numbers_get(const struct uspi_numbers *numbers, uint64_t key);

/* Keeps a number, which is not 0, for a new key. False when memory lacks. */
bool uspi_numbers_keep(struct uspi_numbers *numbers, uint64_t key, uint32_t number);

/* Directories of a block that a new one is compared with. */
#define USPI_FOLDERS 32u

/* Directories that were added last. Set count to 0 for each block. */
struct uspi_folders {
    struct {
        struct uspi_span path;
        uint32_t number;
    } all[USPI_FOLDERS];
    unsigned count;
};

/* The builder's number of a directory whose path stands in no section. The path must stay as long as the block is made. */
uint32_t uspi_folders_number(struct uspi_folders *folders, struct uspi_builder *builder, struct uspi_span path);

#endif
