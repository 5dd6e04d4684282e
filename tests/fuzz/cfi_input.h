/* SPDX-License-Identifier: MIT */
/* The bytes that fuzz_cfi takes: this header, then .eh_frame, .debug_frame and .eh_frame_hdr one behind the other at TABLE
 * (cfi_builder.h), then the stack. */
#ifndef TESTS_FUZZ_CFI_INPUT_H
#define TESTS_FUZZ_CFI_INPUT_H

#include <stdint.h>

#define STACK UINT64_C(0x20000)

struct header {
    uint8_t arch; /* usp_arch − 1 */
    uint8_t os, wishes, reserved;
    uint16_t eh_size, debug_size, hdr_size; /* cut to what follows */
    uint16_t pc;                            /* from CODE on */
};

enum wishes {
    WISH_AS_LINKED = 1 << 0,
    WISH_BOUNDS = 1 << 1,
    WISH_HDR_ONLY = 1 << 2, /* the section is where .eh_frame_hdr says */
    WISH_RECORDS = 1 << 3   /* the other readers are asked as well */
};

#endif
