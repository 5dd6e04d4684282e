/* SPDX-License-Identifier: MIT */
/* What has to be known of a process to follow pointers in its memory. */
#ifndef USPI_POINTERS_H
#define USPI_POINTERS_H

#include <unspool/base.h>

/* All zero: nothing. */
struct uspi_pointers {
    usp_addr shared_cache;   /* where it has Darwin's shared cache; 0 unknown */
    uint64_t signature_mask; /* the bits that pointer signatures fill; 0 unknown */
};

#endif
