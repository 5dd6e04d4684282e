/* SPDX-License-Identifier: MIT */
/* Builds ARM exception tables: an index with one function of each form, followed by its .ARM.extab. */
#ifndef TESTS_SUPPORT_EHABI_TABLE_H
#define TESTS_SUPPORT_EHABI_TABLE_H

#include "tests/support/file_builder.h"

#define BASE  0x00100000u
#define CODE  0x00200000u
#define EXTAB 0x100u

/* The functions of the index, which is at BASE. They are at CODE + 0x00, 0x10, …. The entries of .ARM.extab that their
 * second words refer to are at BASE + EXTAB + …. */
enum { INLINE, CANNOT, MODEL_0, MODEL_1, MODEL_2, GENERIC, THUMB, FUNCTIONS };

enum extab { AT_0 = EXTAB, AT_1 = AT_0 + 4, AT_2 = AT_1 + 12, AT_GENERIC = AT_2 + 8, TABLE_END = AT_GENERIC + 16 };

static inline uint32_t prel31(uint32_t place, uint32_t target) { return (target - place) & 0x7fffffff; }

static inline void put_function(struct builder *b, uint32_t start, uint32_t second) {
    put(b, 4, prel31(BASE + (uint32_t)b->size, start));
    put(b, 4, second);
}

static inline void put_function_in_extab(struct builder *b, uint32_t start, uint32_t offset) {
    put_function(b, start, prel31(BASE + (uint32_t)b->size + 4, BASE + offset));
}

static inline struct builder build_ehabi_table(void) {
    struct builder b = {0};
    put_function(&b, CODE, 0x80a8b0b0);
    put_function(&b, CODE + 0x10, 1);
    put_function_in_extab(&b, CODE + 0x20, AT_0);
    put_function_in_extab(&b, CODE + 0x30, AT_1);
    put_function_in_extab(&b, CODE + 0x40, AT_2);
    put_function_in_extab(&b, CODE + 0x50, AT_GENERIC);
    /* The symbol of a Thumb function has bit 0. */
    put_function(&b, CODE + 0x61, 0x80b0b0b0);
    pad_to(&b, AT_0);
    put(&b, 4, 0x80008408);
    pad_to(&b, AT_1);
    /* Two additional words. */
    put(&b, 4, 0x81029784);
    put(&b, 4, 0x08010101);
    put(&b, 4, 0xb0b0b0b0);
    pad_to(&b, AT_2);
    put(&b, 4, 0x8201b27f);
    put(&b, 4, 0xa9b0b0b0);
    pad_to(&b, AT_GENERIC);
    put(&b, 4, prel31(BASE + AT_GENERIC, CODE + 0x1000));
    put(&b, 4, 0x01a90101);
    put(&b, 4, 0x0101b0b0);
    put(&b, 4, 0xffffffff); /* for the personality routine */
    return b;
}

#endif
