/* SPDX-License-Identifier: MIT */
/* Builds jitdumps and objects of the GDB JIT interface from numbers. */
#ifndef TESTS_SUPPORT_JIT_FILES_H
#define TESTS_SUPPORT_JIT_FILES_H

#include <unspool/base.h>

#include "tests/support/symbol_file.h"

/* ---- jitdumps, little-endian or big-endian ---- */

static inline void put_number(struct builder *b, bool is_big, unsigned width, uint64_t value) {
    if (is_big) {
        put_be(b, width, value);
    } else {
        put(b, width, value);
    }
}

static inline void put_dump_header(struct builder *b, bool is_big, uint64_t pid) {
    put_number(b, is_big, 4, 0x4A695444);
    put_number(b, is_big, 4, 1);
    put_number(b, is_big, 4, 40);
    put_number(b, is_big, 4, 62);
    put_number(b, is_big, 4, 0);
    put_number(b, is_big, 4, pid);
    put_number(b, is_big, 8, 0);
    put_number(b, is_big, 8, 0);
}

static inline void put_record(struct builder *b, bool is_big, uint32_t id, uint32_t size, uint64_t time) {
    put_number(b, is_big, 4, id);
    put_number(b, is_big, 4, size);
    put_number(b, is_big, 8, time);
}

static inline void put_load(struct builder *b, bool is_big, uint64_t time, usp_addr start, uint64_t size,
                            uint64_t index, const char *name) {
    const size_t length = strlen(name) + 1;
    put_record(b, is_big, 0, (uint32_t)(56 + length + 4), time);
    put_number(b, is_big, 8, 0);
    put_number(b, is_big, 8, start);
    put_number(b, is_big, 8, start);
    put_number(b, is_big, 8, size);
    put_number(b, is_big, 8, index);
    put_bytes(b, name, length);
    put_number(b, is_big, 4, 0);
}

static inline void put_move(struct builder *b, bool is_big, uint64_t time, usp_addr from, usp_addr to, uint64_t size,
                            uint64_t index) {
    put_record(b, is_big, 1, 64, time);
    put_number(b, is_big, 8, 0);
    put_number(b, is_big, 8, to);
    put_number(b, is_big, 8, from);
    put_number(b, is_big, 8, to);
    put_number(b, is_big, 8, size);
    put_number(b, is_big, 8, index);
}

/* An entry of a jitdump's line record. */
struct dump_line {
    uint64_t offset; /* offset of its address from the code's start */
    uint32_t line;
    const char *path;
    size_t length; /* of the path; 0: it ends with a NUL */
};

/* Puts a line record, padded to a multiple of 8 bytes. `lines` ends with an entry without a path. */
static inline void put_lines(struct builder *b, bool is_big, usp_addr start, const struct dump_line *lines) {
    uint32_t count = 0, size = 32;
    for (; lines[count].path != NULL; count++) {
        size += 17 + (uint32_t)(lines[count].length != 0 ? lines[count].length : strlen(lines[count].path));
    }
    const uint32_t filling = (8 - size % 8) % 8;
    put_record(b, is_big, 2, size + filling, 5);
    put_number(b, is_big, 8, start);
    put_number(b, is_big, 8, count);
    for (uint32_t i = 0; i < count; i++) {
        put_number(b, is_big, 8, start + lines[i].offset);
        put_number(b, is_big, 4, lines[i].line);
        put_number(b, is_big, 4, 0);
        put_bytes(b, lines[i].path, lines[i].length != 0 ? lines[i].length : strlen(lines[i].path));
        put(b, 1, 0);
    }
    for (uint32_t i = 0; i < filling; i++) put(b, 1, 0);
}

static inline void put_dump(struct builder *b, bool is_big) {
    put_dump_header(b, is_big, 77);
    static const struct dump_line lines[] = {
        {0, 7, "/src/one.c", 0}, {0x10, 8, "\xff", 0}, {0x20, 9, "/src/other.c", 0}, {0, 0, NULL, 0}};
    put_lines(b, is_big, 0x1000, lines);
    put_load(b, is_big, 10, 0x1000, 0x100, 1, "one");
    put_load(b, is_big, 30, 0x1080, 0x100, 2, "newer");
    put_load(b, is_big, 20, 0x1080, 0x80, 3, "late in the file, but older");
    put_record(b, is_big, 2, 24, 31); /* lines, but with too few bytes */
    put_number(b, is_big, 8, 0);
    put_record(b, is_big, 99, 16, 32); /* a record of a later version */
    put_load(b, is_big, 40, 0x3000, 0x10, 4, "moved");
    put_move(b, is_big, 50, 0x3000, 0x3008, 0x10, 4);
    put_move(b, is_big, 60, 0x3008, 0x5000, 0x10, 4);
    put_move(b, is_big, 70, 0x1000, 0x7000, 0x10, 12345);
    put_load(b, is_big, 45, 0x5000, 0x20, 5, "below");
    put_load(b, is_big, 80, 0x9000, 0x10, 6, "");
    put_record(b, is_big, 3, 16, 90);
}

/* ---- objects ---- */

#define CODE UINT64_C(0x7f0000000000)

/* Puts an unlinked or a linked object, whose code is at CODE and a hundred bytes long. */
static inline void put_jit_object(struct builder *b, bool is_linked, const char *prefix) {
    char names[128];
    const uint64_t base = is_linked ? CODE : 0;
    const size_t first = b->size;
    const int length =
        snprintf(names, sizeof names, "%c%sfirst%c%ssecond%c%sunsized%cdata", 0, prefix, 0, prefix, 0, prefix, 0);
    const uint32_t second = 2 + (uint32_t)strlen(prefix) + 5, third = second + (uint32_t)strlen(prefix) + 7;
    put_bytes(b, "\177ELF\2\1\1", 7);
    pad_to(b, first + 16);
    put(b, 2, is_linked ? 3 : 1);
    put(b, 2, 62);
    put(b, 4, 1);
    put(b, 8, 0);
    put(b, 8, 0);
    put(b, 8, 64);
    put(b, 4, 0);
    put(b, 2, 64);
    put(b, 2, 0);
    put(b, 2, 0);
    put(b, 2, 64);
    put(b, 2, 5);
    put(b, 2, 0);
    const uint64_t symbols = 64 + 5 * 64, strings = symbols + 5 * 24;
    const struct file_section sections[5] = {
        {0},
        {.type = 1, .flags = 6, .address = CODE, .size = 100},
        {.type = 2, .offset = symbols, .size = 5 * 24, .entry_size = 24, .link = 3},
        {.type = 3, .offset = strings, .size = (uint64_t)length + 1},
        {.type = 1, .flags = 3, .address = CODE + 0x1000, .size = 100},
    };
    for (unsigned i = 0; i < 5; i++) put_section(b, true, &sections[i]);
    const struct file_symbol entries[5] = {
        {NULL, 0, 0, 0, 0, 0},
        {NULL, base + 0, 16, FUNC, GLOBAL, 1},
        {NULL, base + 16, 1000, FUNC, LOCAL, 1},
        {NULL, base + 8, 0, FUNC, LOCAL, 1},
        {NULL, is_linked ? CODE + 0x1000 : 0, 16, FUNC, GLOBAL, 4},
    };
    const uint32_t at[5] = {0, 1, second, third, 1};
    for (unsigned i = 0; i < 5; i++) put_symbol(b, true, at[i], &entries[i]);
    put_bytes(b, names, (size_t)length + 1);
}

#endif
