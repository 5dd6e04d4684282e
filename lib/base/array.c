/* SPDX-License-Identifier: MIT */
/* See array.h and gathered.h. */
#include "lib/base/array.h"
#include "lib/base/gathered.h"

void *uspi_array_grow(void *array, size_t *capacity, size_t needed, size_t size) {
    size_t wanted = *capacity > SIZE_MAX / 2 ? needed : *capacity * 2;
    if (wanted < needed) wanted = needed;
    if (wanted < 8) wanted = 8;
    if (wanted > SIZE_MAX / size) return NULL;
    void *grown = realloc(array, wanted * size);
    if (grown != NULL) *capacity = wanted;
    return grown;
}

int uspi_gathered_append(void *context, const char *bytes, size_t n) {
    struct uspi_gathered *gathered = (struct uspi_gathered *)context;
    if (!uspi_gathered_reserve(gathered, n)) return USP_ERROR_NO_MEMORY;
    if (n > 0) memcpy(gathered->bytes + gathered->size, bytes, n);
    gathered->size += n;
    return USP_OK;
}
