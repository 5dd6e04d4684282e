/* SPDX-License-Identifier: MIT */
/* The input of fuzz_cfi: this header, then .eh_frame, .debug_frame and .eh_frame_hdr one after the other at TABLE
 * (cfi_builder.h), then the stack. */
#ifndef TESTS_FUZZ_CFI_INPUT_H
#define TESTS_FUZZ_CFI_INPUT_H

#include <stdint.h>

#define STACK UINT64_C(0x20000)

struct header {
    uint8_t arch; /* usp_arch − 1 */
    uint8_t os, wishes, reserved;
    uint16_t eh_size, debug_size, hdr_size; /* limited to the bytes that follow */
    uint16_t pc;                            /* offset from CODE */
};

enum wishes {
    WISH_AS_LINKED = 1 << 0,
    WISH_BOUNDS = 1 << 1,
    WISH_HDR_ONLY = 1 << 2, /* the section is found through .eh_frame_hdr */
    WISH_RECORDS = 1 << 3   /* the other frame readers are used too */
};

#endif
