/* SPDX-License-Identifier: MIT */
/* See numbers.h. */
#include "lib/base/numbers.h"

#include <stdlib.h>
#include <string.h>

void uspi_numbers_forget(struct uspi_numbers *numbers) {
    if (numbers->count > 0) memset(numbers->all, 0, numbers->size * sizeof *numbers->all);
    numbers->count = 0;
}

void uspi_numbers_free(struct uspi_numbers *numbers) {
    free(numbers->all);
    *numbers = (struct uspi_numbers){0};
}

/* Returns the entry of a key, or the free entry for it. */
static struct uspi_number *find_number(const struct uspi_numbers *numbers, uint64_t key) {
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (numbers->size - 1);
    while (numbers->all[at].number != 0 && numbers->all[at].key != key) at = (at + 1) & (numbers->size - 1);
    return &numbers->all[at];
}

uint32_t uspi_numbers_get(const struct uspi_numbers *numbers, uint64_t key) {
    return numbers->size > 0 ? find_number(numbers, key)->number : 0;
}

bool uspi_numbers_keep(struct uspi_numbers *numbers, uint64_t key, uint32_t number) {
    if (numbers->count * 2 >= numbers->size) {
        struct uspi_numbers grown = {.size = numbers->size == 0 ? 256 : numbers->size * 2, .count = numbers->count};
        grown.all = calloc(grown.size, sizeof *grown.all);
        if (grown.all == NULL) return false;
        for (size_t i = 0; i < numbers->size; i++) {
            if (numbers->all[i].number != 0) *find_number(&grown, numbers->all[i].key) = numbers->all[i];
        }
        free(numbers->all);
        *numbers = grown;
    }
    struct uspi_number *kept = find_number(numbers, key);
    if (kept->number == 0) numbers->count++;
    *kept = (struct uspi_number){key, number};
    return true;
}
