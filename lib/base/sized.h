/* SPDX-License-Identifier: MIT */
/* Structs that begin with their size in bytes, so that callers compiled against another version of the library can pass
 * theirs. */
#ifndef USPI_BASE_SIZED_H
#define USPI_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The smallest size that a caller's struct may have: that of its first released layout, which ends where the reserved
 * space begins. When a later release makes a field of reserved space, the struct's minimum stays here, as the offset of
 * that field. `sized` is a pointer to the struct. */
#define USPI_LEAST_SIZE(sized) ((size_t)((const char *)(sized)->reserved - (const char *)(sized)))

/* Completes a caller's struct: see below. `complete` is a pointer to this version's struct, with all defaults set. */
#define USPI_COMPLETE(complete, given)                                                                                 \
    uspi_complete_sized((complete), sizeof *(complete), (given), USPI_LEAST_SIZE(complete))

/* Completes a caller's struct: fields that the caller's version lacks keep their defaults.
 *   complete, size  this version's struct with all defaults set; its first member is the uint32_t size
 *   given           the caller's struct, NULL: all defaults
 *   least           the oldest version's size in bytes: USPI_LEAST_SIZE
 * Returns false when the caller's struct is smaller than that. */
static inline bool uspi_complete_sized(void *complete, size_t size, const void *given, size_t least) {
    uint32_t given_size, own_size = (uint32_t)size;
    if (given == NULL) return true;
    memcpy(&given_size, given, sizeof given_size);
    if (given_size < least) return false;
    memcpy(complete, given, given_size < size ? given_size : size);
    memcpy(complete, &own_size, sizeof own_size);
    return true;
}

#endif
