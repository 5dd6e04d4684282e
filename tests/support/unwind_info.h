/* SPDX-License-Identifier: MIT */
/* Builds sections __unwind_info from numbers. */
#ifndef TESTS_SUPPORT_UNWIND_INFO_H
#define TESTS_SUPPORT_UNWIND_INFO_H

#include "tests/support/file_builder.h"

/* The layout: two encodings that all pages share, and two pages. A regular page has four functions (the third is a
 * gap), a compressed one has three functions and an encoding of its own; between them is a hole without a page.
 * Functions are at offsets 0x1000, 0x1010, 0x1100, 0x1200; 0x3000, 0x3004, 0x3100; the code ends at 0x4000. */
enum unwind_info_layout {
    UI_COMMON = 28,               /* after the header: encodings[0], encodings[1] */
    UI_INDEX = UI_COMMON + 2 * 4, /* three pages and the end */
    UI_REGULAR = UI_INDEX + 4 * 12,
    UI_COMPRESSED = UI_REGULAR + 8 + 4 * 8,
    UI_SIZE = UI_COMPRESSED + 12 + 3 * 4 + 4
};

/* The regular page has encodings 0, 1, none, 2; the compressed one 1, 2 (its own), 0. */
static inline struct builder build_unwind_info(const uint32_t encodings[3]) {
    static const uint32_t starts[] = {0x1000, 0x1010, 0x1100, 0x1200};
    const uint32_t regular[] = {encodings[0], encodings[1], 0, encodings[2]};
    struct builder b = {0};
    put(&b, 4, 1);
    put(&b, 4, UI_COMMON);
    put(&b, 4, 2);
    put(&b, 4, 0);
    put(&b, 4, 0);
    put(&b, 4, UI_INDEX);
    put(&b, 4, 4);
    put(&b, 4, encodings[0]);
    put(&b, 4, encodings[1]);
    const uint32_t index[][2] = {{0x1000, UI_REGULAR}, {0x2000, 0}, {0x3000, UI_COMPRESSED}, {0x4000, 0}};
    for (unsigned i = 0; i < 4; i++) {
        put(&b, 4, index[i][0]);
        put(&b, 4, index[i][1]);
        put(&b, 4, 0);
    }
    put(&b, 4, 2);
    put(&b, 2, 8);
    put(&b, 2, 4);
    for (unsigned i = 0; i < 4; i++) {
        put(&b, 4, starts[i]);
        put(&b, 4, regular[i]);
    }
    put(&b, 4, 3);
    put(&b, 2, 12);
    put(&b, 2, 3);
    put(&b, 2, 24);
    put(&b, 2, 1);
    put(&b, 4, 0x000 | 1u << 24);
    put(&b, 4, 0x004 | 2u << 24);
    put(&b, 4, 0x100 | 0u << 24);
    put(&b, 4, encodings[2]);
    return b;
}

#endif
