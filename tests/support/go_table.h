/* SPDX-License-Identifier: MIT */
/* Builds Go's function table field by field in each of its layouts, and an ELF file without section headers that
 * contains it:
 *
 *     0x00 … 0x10   main.main, /src/a.go:10
 *     0x10 … 0x18     main.leaf, /src/lib/b.go:21, inlined at the line above (from 1.18 on)
 *     0x18 … 0x20       main.deep, /src/lib/b.go:31, inlined into main.leaf
 *     0x20 … 0x30   main.main, /src/a.go:12; padding after it
 *     0x40 … 0x80   main.tail, /src/a.go:40 */
#ifndef TESTS_SUPPORT_GO_TABLE_H
#define TESTS_SUPPORT_GO_TABLE_H

#include "lib/object/gopclntab.h"
#include "tests/support/file_builder.h"

#define GO_BASE   0x400000u
#define GO_TEXT   0x401000u
#define GO_TABLE  0x402000u
#define GO_TREES  0x403000u
#define GO_MODULE 0x404000u

static const char go_names[] = "main.main\0main.tail\0main.leaf\0main.deep";
static const char go_files[] = "/src/a.go\0/src/lib/b.go";
enum { GO_NAME_TAIL = 10, GO_NAME_LEAF = 20, GO_NAME_DEEP = 30, GO_FILE_B = 10 };

struct go_table {
    enum uspi_go_version version;
    struct builder bytes;
    uint64_t parts[5]; /* offsets of names, units, files, runs, functions */
};

/* Puts a run: difference and length, each a byte below 128. */
static inline void put_run(struct builder *b, int difference, unsigned length) {
    put(b, 1, difference >= 0 ? (uint64_t)difference * 2 : (uint64_t)(-difference * 2 - 1));
    put(b, 1, length);
}

/* Offsets of the lists of runs, after a byte that belongs to none. `first` is the number of the first file. */
enum {
    GO_RUN_FILES = 1,
    GO_RUN_LINES = 8,
    GO_RUN_CALLS = 17,
    GO_RUN_TAIL_FILES = 26,
    GO_RUN_TAIL_LINES = 29,
    GO_RUN_STACK = 32
};
static inline void put_runs(struct builder *b, int first) {
    static const int lists[6][5][2] = {{{1, 16}, {1, 16}, {-1, 16}},
                                       {{11, 16}, {11, 8}, {10, 8}, {-19, 16}},
                                       {{0, 16}, {1, 8}, {1, 8}, {-2, 16}},
                                       {{1, 64}},
                                       {{41, 64}},
                                       {{1, 4}, {24, 40}, {-24, 4}}};
    put(b, 1, 0);
    for (unsigned i = 0; i < 6; i++) {
        for (unsigned k = 0; k < 5 && lists[i][k][1] != 0; k++) {
            const bool is_first_file = k == 0 && (i == 0 || i == 3);
            put_run(b, lists[i][k][0] + (is_first_file ? first : 0), (unsigned)lists[i][k][1]);
        }
        put(b, 1, 0);
    }
}

static inline void put_record(struct builder *b, enum uspi_go_version version, unsigned i, const uint64_t offsets[3]) {
    const unsigned width = version >= USPI_GO_1_18 ? 4 : 8;
    const bool has_calls = version >= USPI_GO_1_18 && i == 0;
    put(b, width, (version >= USPI_GO_1_18 ? 0 : GO_TEXT) + i * 0x40);
    put(b, 4, offsets[0] + (i == 0 ? 0 : GO_NAME_TAIL));
    put(b, 4, 0);
    put(b, 4, 0);
    put(b, 4, offsets[1] + GO_RUN_STACK);
    put(b, 4, offsets[1] + (i == 0 ? GO_RUN_FILES : GO_RUN_TAIL_FILES));
    put(b, 4, offsets[1] + (i == 0 ? GO_RUN_LINES : GO_RUN_TAIL_LINES));
    put(b, 4, has_calls ? 3 : 0);
    if (version >= USPI_GO_1_16) put(b, 4, offsets[2]);
    if (version >= USPI_GO_1_20) put(b, 4, i == 0 ? 9 : 39);
    put(b, 3, 0);
    put(b, 1, has_calls ? 4 : 0);
    if (!has_calls) return;
    put(b, 4, 0);
    put(b, 4, 0);
    put(b, 4, GO_RUN_CALLS);
    for (unsigned k = 0; k < 3; k++) put(b, 4, UINT32_MAX);
    put(b, 4, 0x10); /* the tree's offset */
}

/* Puts the list of functions and their records. `base`: what the records' offsets count from. */
static inline void put_functions(struct builder *b, enum uspi_go_version version, size_t base,
                                 const uint64_t offsets[3]) {
    const unsigned width = version >= USPI_GO_1_18 ? 4 : 8;
    const uint64_t text = version >= USPI_GO_1_18 ? 0 : GO_TEXT;
    const size_t list = b->size;
    for (unsigned i = 0; i < 3; i++) {
        put(b, width, text + i * 0x40);
        if (i < 2) put(b, width, 0);
    }
    /* Before 1.16 the offset of the files follows; it is set later. */
    if (version == USPI_GO_1_2) put(b, 4, 0);
    for (unsigned i = 0; i < 2; i++) {
        align_to(b, 8);
        patch(b, list + (2 * i + 1) * width, width, b->size - base);
        put_record(b, version, i, offsets);
    }
}

/* Builds a table from before 1.16, in which all offsets count from the header. */
static inline void build_old_table(struct go_table *t) {
    struct builder *b = &t->bytes;
    uint64_t offsets[3] = {0x200, 0x300, 0};
    put(b, 8, 2);
    put_functions(b, t->version, 0, offsets);
    pad_to(b, 0x200);
    put_bytes(b, go_names, sizeof go_names);
    pad_to(b, 0x280);
    put_bytes(b, go_files, sizeof go_files);
    pad_to(b, 0x300);
    put_runs(b, 1);
    align_to(b, 8);
    patch(b, 16 + 40, 4, b->size);
    put(b, 4, 3);
    put(b, 4, 0x280);
    put(b, 4, 0x280 + GO_FILE_B);
}

/* Builds a table. `text`: the code's beginning in the header, from 1.18 on. */
static inline void build_go_table(struct go_table *t, enum uspi_go_version version, uint64_t text) {
    static const uint32_t magics[] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};
    struct builder *b = &t->bytes;
    memset(t, 0, sizeof *t);
    t->version = version;
    put(b, 4, magics[version]);
    put(b, 2, 0);
    put(b, 1, 1);
    put(b, 1, 8);
    if (version == USPI_GO_1_2) {
        build_old_table(t);
        return;
    }
    put(b, 8, 2);
    put(b, 8, 2);
    if (version >= USPI_GO_1_18) put(b, 8, text);
    const size_t header = b->size;
    for (unsigned i = 0; i < 5; i++) put(b, 8, 0);
    t->parts[0] = b->size;
    put_bytes(b, go_names, sizeof go_names);
    align_to(b, 8);
    t->parts[1] = b->size;
    put(b, 4, UINT32_MAX); /* a file of another unit */
    put(b, 4, 0);
    put(b, 4, GO_FILE_B);
    align_to(b, 8);
    t->parts[2] = b->size;
    put_bytes(b, go_files, sizeof go_files);
    align_to(b, 8);
    t->parts[3] = b->size;
    put_runs(b, 0);
    align_to(b, 8);
    t->parts[4] = b->size;
    put_functions(b, version, b->size, (const uint64_t[3]){0, 0, 1});
    for (unsigned i = 0; i < 5; i++) patch(b, header + 8 * i, 8, t->parts[i]);
}

/* Puts the trees of inlined calls: other bytes, and then the two calls. */
static inline void put_trees(struct builder *b, enum uspi_go_version version) {
    static const unsigned names[] = {GO_NAME_LEAF, GO_NAME_DEEP}, callers[] = {0x08, 0x14};
    pad_to(b, b->size + 0x10);
    for (unsigned i = 0; i < 2; i++) {
        put(b, 4, version >= USPI_GO_1_20 || i > 0 ? 0 : 0xffff); /* the parent, before 1.20 */
        if (version < USPI_GO_1_20) put(b, 8, 0);
        put(b, 4, names[i]);
        put(b, 4, callers[i]);
        if (version >= USPI_GO_1_20) put(b, 4, 20);
    }
}

static inline void put_segment(struct builder *b, uint32_t type, uint32_t flags, uint64_t offset, uint64_t size) {
    put(b, 4, type);
    put(b, 4, flags);
    put(b, 8, offset);
    put(b, 8, GO_BASE + offset);
    put(b, 8, GO_BASE + offset);
    put(b, 8, size);
    put(b, 8, size);
    put(b, 8, 4);
}

/* Puts the words of the run-time's moduledata. */
static inline void put_module(struct builder *b, const struct go_table *t) {
    const unsigned trees = t->version >= USPI_GO_1_20 ? 40 : 38;
    put(b, 8, GO_TABLE);
    for (unsigned i = 0; i < 5; i++) {
        put(b, 8, GO_TABLE + t->parts[i]);
        put(b, 8, 1);
        put(b, 8, 1);
    }
    put(b, 8, GO_TABLE + t->parts[4]);
    put(b, 8, 3);
    put(b, 8, 3);
    put(b, 8, 0);
    put(b, 8, GO_TEXT);
    put(b, 8, GO_TEXT + 0x80);
    put(b, 8, GO_TEXT);
    for (unsigned i = 23; i < 48; i++) put(b, 8, i == trees ? GO_TREES : GO_BASE + i);
}

/* Builds a program for x86-64, with the note of Go's linker. */
static inline void build_go_program(struct builder *b, const struct go_table *t, bool has_module) {
    memset(b, 0, sizeof *b);
    put_hex(b, "7f454c46 02010100 0000000000000000 0200 3e00 01000000");
    put(b, 8, GO_TEXT);
    put(b, 8, 64);
    put(b, 8, 0);
    put_hex(b, "00000000 4000 3800 0300 4000 0000 0000");
    put_segment(b, 1, 5, 0, GO_MODULE - GO_BASE);
    put_segment(b, 1, 6, GO_MODULE - GO_BASE, 48 * 8);
    put_segment(b, 4, 4, 0x200, 20);
    pad_to(b, 0x200);
    put_hex(b, "04000000 04000000 04000000 476f0000 61626300");
    pad_to(b, GO_TEXT - GO_BASE);
    while (b->size < GO_TEXT - GO_BASE + 0x80) put(b, 1, 0x90);
    pad_to(b, GO_TABLE - GO_BASE);
    put_bytes(b, t->bytes.bytes, t->bytes.size);
    pad_to(b, GO_TREES - GO_BASE);
    put_trees(b, t->version);
    pad_to(b, GO_MODULE - GO_BASE);
    if (has_module) put_module(b, t);
    pad_to(b, GO_MODULE - GO_BASE + 48 * 8);
}

#endif
