/* SPDX-License-Identifier: MIT */
/* Clearing what every capture fills, as memset does. In pieces, because compilers for x86 make one instruction (rep stos) of
 * what memset clears between 100 bytes and 8 KB, and that takes longer to begin than all of these take. */
#ifndef USPI_CLEAR_H
#define USPI_CLEAR_H

#include "arch/frame.h"

#include <stddef.h>
#include <string.h>

#define USPI_CLEAR_PIECE 64u

USPI_TEMPLATE void uspi_clear(void *object, size_t size) {
    unsigned char *at = object;
    for (; size >= USPI_CLEAR_PIECE; at += USPI_CLEAR_PIECE, size -= USPI_CLEAR_PIECE) memset(at, 0, USPI_CLEAR_PIECE);
    memset(at, 0, size);
}

#endif
