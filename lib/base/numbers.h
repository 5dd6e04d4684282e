/* SPDX-License-Identifier: MIT */
/* A map from keys to numbers, which grows. */
#ifndef USPI_BASE_NUMBERS_H
#define USPI_BASE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hash table with open addressing. Any number can be a key. Begin with {0}. */
struct uspi_numbers {
    struct uspi_number {
        uint64_t key;
        uint32_t number; /* 0: the entry is free */
    } *all;
    size_t size, count;
};

/* Forgets all numbers, and keeps the memory. */
void uspi_numbers_forget(struct uspi_numbers *numbers);

void uspi_numbers_free(struct uspi_numbers *numbers);

/* Returns the number of a key; 0: none. */
uint32_t uspi_numbers_get(const struct uspi_numbers *numbers, uint64_t key);

/* Remembers a number, which is not 0, for a key, instead of an earlier one. Returns false when memory is exhausted. */
bool uspi_numbers_keep(struct uspi_numbers *numbers, uint64_t key, uint32_t number);

#endif
