/* SPDX-License-Identifier: MIT */
/* Builds GSYM in either byte order, field by field, and the same program as Breakpad's text. The program is at 0x1000
 * in its image:
 *
 *     0x00 … 0x10   outer, /src/a.c:10
 *     0x10 … 0x18     inner, /src/b.h:20, inlined in the line above
 *     0x18 … 0x20       deep, /src/b.h:30, inlined into inner in /src/b.h:21
 *     0x20 … 0x30   outer, /src/a.c:12
 *     0x40 … 0x50   tail, /src/a.c:40
 *     0x60 …        label: a symbol of unknown size */
#ifndef TESTS_SUPPORT_SYMBOL_FILES_H
#define TESTS_SUPPORT_SYMBOL_FILES_H

#include "tests/support/file_builder.h"

#include <stdbool.h>

#define SYMBOLS_BASE 0x400000u
#define SYMBOLS_CODE 0x1000u

static const char symbols_uuid[] = "0123456789abcdef0123";

/* Puts a number in the file's byte order. */
static inline void put_ordered(struct builder *b, bool is_big_endian, unsigned width, uint64_t value) {
    if (is_big_endian) {
        put_be(b, width, value);
    } else {
        put(b, width, value);
    }
}

static inline void patch_ordered(struct builder *b, bool is_big_endian, size_t at, uint32_t value) {
    for (unsigned i = 0; i < 4; i++) b->bytes[at + i] = (uint8_t)(value >> 8 * (is_big_endian ? 3 - i : i));
}

enum {
    SYMBOLS_OUTER = 1,
    SYMBOLS_TAIL = 7,
    SYMBOLS_INNER = 12,
    SYMBOLS_DEEP = 18,
    SYMBOLS_SRC = 23,
    SYMBOLS_A = 28,
    SYMBOLS_B = 32,
    SYMBOLS_LABEL = 36
};
static const char symbols_strings[] = "\0outer\0tail\0inner\0deep\0/src\0a.c\0b.h\0label";

/* Puts a row by opcodes: the file, the differences of line and address. */
static inline void put_gsym_row(struct builder *b, unsigned file, int lines, unsigned addresses) {
    put(b, 1, 1);
    put(b, 1, file);
    put(b, 1, 3);
    put(b, 1, (uint64_t)lines & 0x7f);
    put(b, 1, 2);
    put(b, 1, addresses);
}

static inline void put_gsym_call(struct builder *b, bool big, unsigned offset, unsigned size, unsigned name) {
    put(b, 1, 1);
    put(b, 1, offset);
    put(b, 1, size);
    put(b, 1, name == SYMBOLS_OUTER || name == SYMBOLS_INNER);
    put_ordered(b, big, 4, name);
}

/* Begins a part of a function's description. Returns the offset of its length. */
static inline size_t begin_gsym_part(struct builder *b, bool big, unsigned type) {
    put_ordered(b, big, 4, type);
    put_ordered(b, big, 4, 0);
    return b->size - 4;
}

static inline void end_gsym_part(struct builder *b, bool big, size_t length) {
    patch_ordered(b, big, length, (uint32_t)(b->size - length - 4));
}

static inline void put_gsym_outer(struct builder *b, bool big) {
    put_ordered(b, big, 4, 0x30);
    put_ordered(b, big, 4, SYMBOLS_OUTER);
    size_t part = begin_gsym_part(b, big, 1);
    put(b, 1, 0x7c); /* −4, 10: the range of line differences; from line 10 on */
    put(b, 1, 10);
    put(b, 1, 10);
    put_gsym_row(b, 1, 0, 0);
    put_gsym_row(b, 2, 10, 0x10);
    /* A special opcode: 10 lines and 8 bytes further, for line differences −4 … 10. */
    put(b, 1, 4 + 14 + 15 * 8);
    put_gsym_row(b, 1, -18, 8);
    put(b, 1, 0);
    end_gsym_part(b, big, part);
    part = begin_gsym_part(b, big, 2);
    put_gsym_call(b, big, 0, 0x30, SYMBOLS_OUTER);
    put(b, 2, 0);
    put_gsym_call(b, big, 0x10, 0x10, SYMBOLS_INNER);
    put(b, 1, 1);
    put(b, 1, 10);
    put_gsym_call(b, big, 8, 8, SYMBOLS_DEEP);
    put(b, 1, 2);
    put(b, 1, 21);
    put(b, 2, 0);
    end_gsym_part(b, big, part);
    put_ordered(b, big, 8, 0);
}

static inline void put_gsym_tail(struct builder *b, bool big) {
    put_ordered(b, big, 4, 0x10);
    put_ordered(b, big, 4, SYMBOLS_TAIL);
    const size_t part = begin_gsym_part(b, big, 1);
    put(b, 1, 0);
    put(b, 1, 0);
    put(b, 1, 40);
    put(b, 1, 4);
    put(b, 1, 0);
    end_gsym_part(b, big, part);
    put_ordered(b, big, 8, 0);
}

static inline void build_gsym(struct builder *b, bool big) {
    static const unsigned starts[] = {SYMBOLS_CODE, SYMBOLS_CODE + 0x40, SYMBOLS_CODE + 0x60};
    *b = (struct builder){0};
    put_ordered(b, big, 4, 0x4753594d);
    put_ordered(b, big, 2, 1);
    put(b, 1, 2);
    put(b, 1, 20);
    put_ordered(b, big, 8, SYMBOLS_BASE);
    put_ordered(b, big, 4, 3);
    put_ordered(b, big, 8, 0);
    put_bytes(b, symbols_uuid, 20);
    for (unsigned i = 0; i < 3; i++) put_ordered(b, big, 2, starts[i]);
    align_to(b, 4);
    const size_t places = b->size;
    for (unsigned i = 0; i < 3; i++) put_ordered(b, big, 4, 0);
    static const unsigned files[] = {0, 0, SYMBOLS_SRC, SYMBOLS_A, SYMBOLS_SRC, SYMBOLS_B};
    put_ordered(b, big, 4, 3);
    for (unsigned i = 0; i < 6; i++) put_ordered(b, big, 4, files[i]);
    patch_ordered(b, big, 20, (uint32_t)b->size);
    patch_ordered(b, big, 24, sizeof symbols_strings);
    put_bytes(b, symbols_strings, sizeof symbols_strings);
    align_to(b, 4);
    patch_ordered(b, big, places, (uint32_t)b->size);
    put_gsym_outer(b, big);
    align_to(b, 4);
    patch_ordered(b, big, places + 4, (uint32_t)b->size);
    put_gsym_tail(b, big);
    align_to(b, 4);
    patch_ordered(b, big, places + 8, (uint32_t)b->size);
    put_ordered(b, big, 4, 0);
    put_ordered(b, big, 4, SYMBOLS_LABEL);
    put_ordered(b, big, 8, 0);
}

/* Builds the text. Records are in no order, and calls come before their callers. `ending`: the line end, "\r\n" as on
 * Windows. */
static inline void build_breakpad(struct builder *b, const char *module, const char *ending) {
    static const char *const lines[] = {"INFO CODE_ID 3031323334353637383961626364656630313233",
                                        "PUBLIC m 1060 0 label",
                                        "FILE 7 /src/b.h",
                                        "FUNC 1040 10 0 tail",
                                        "1040 10 40 3",
                                        "STACK CFI INIT 1000 30 .cfa: $rsp 8 +",
                                        "FUNC m 1000 30 0 outer",
                                        "INLINE 1 21 7 5 1018 8",
                                        "INLINE 0 10 3 4 1010 8 1018 8",
                                        "1000 10 10 3",
                                        "1018 8 30 7",
                                        "1010 8 20 7",
                                        "1020 10 12 3",
                                        "INLINE_ORIGIN 5 deep",
                                        "INLINE_ORIGIN 4 inner",
                                        "FILE 3 /src/a.c",
                                        "FUNC 1000 10 0 another name of outer"};
    *b = (struct builder){0};
    put_bytes(b, module, strlen(module));
    put_bytes(b, ending, strlen(ending));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        put_bytes(b, lines[i], strlen(lines[i]));
        put_bytes(b, ending, strlen(ending));
    }
}

#endif
