/* SPDX-License-Identifier: MIT */
/* What is known of the process whose addresses are named, besides its images. */
#ifndef USPI_PROCESS_H
#define USPI_PROCESS_H

#include <unspool/unwind.h>

/* All zero: nothing. */
struct uspi_process {
    struct usp_memory memory; /* read NULL: there is none to read */
    usp_addr shared_cache;    /* where it has Darwin's shared cache; 0 unknown */
    uint64_t signature_mask;  /* the bits that pointer signatures fill; 0 unknown */
};

#endif
