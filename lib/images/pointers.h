/* SPDX-License-Identifier: MIT */
/* What a reader must know of a process to follow pointers in its memory. */
#ifndef USPI_IMAGES_POINTERS_H
#define USPI_IMAGES_POINTERS_H

#include <unspool/base.h>

/* All zero: nothing is known. */
struct uspi_pointers {
    usp_addr shared_cache;   /* address of Darwin's shared cache; 0: unknown */
    usp_addr selectors;      /* from which names in its method lists count; 0: its headers tell */
    uint64_t signature_mask; /* the bits of a pointer that hold its signature; 0: unknown */
};

#endif
