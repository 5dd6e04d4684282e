/* SPDX-License-Identifier: MIT */
/* Builds ELF files from symbols of the test: one page of code (.text), a little more (.init), data, and the tables. As
 * small as the readers accept; not executable. */
#ifndef TESTS_SUPPORT_SYMBOL_FILE_H
#define TESTS_SUPPORT_SYMBOL_FILE_H

#include <stdbool.h>

#include "tests/support/file_builder.h"

/* Linked addresses and section numbers. */
enum { TEXT = 1, INIT = 2, DATA = 3, ABSOLUTE = 0xfff1 };
#define TEXT_LOW  0x1000u
#define TEXT_HIGH 0x2000u
#define INIT_HIGH 0x2100u
#define DATA_LOW  0x3000u
#define FILE_END  0x4000u

enum { NOTYPE = 0, OBJECT = 1, FUNC = 2, IFUNC = 10 };
enum { LOCAL = 0, GLOBAL = 1, WEAK = 2 };

struct file_symbol {
    const char *name;
    uint64_t value, size;
    uint8_t type, binding;
    uint16_t section;
};

struct symbol_file {
    bool wide;                                 /* ELF64 */
    uint16_t machine;                          /* e_machine */
    const struct file_symbol *symtab, *dynsym; /* end at a NULL name; NULL: no such table */
    const uint8_t *build_id;                   /* NULL: none */
    uint8_t build_id_size;
    const char *text; /* code from TEXT_LOW on; NULL: the file has none */
    size_t text_size;
};

/* Puts a word of the file's class: 4 or 8 bytes. */
static inline void put_word(struct builder *b, bool wide, uint64_t value) { put(b, wide ? 8 : 4, value); }

struct file_section {
    uint32_t type;
    uint64_t flags, address, offset, size, entry_size;
    uint32_t link;
};

static inline void put_section(struct builder *b, bool wide, const struct file_section *s) {
    put(b, 4, 0);
    put(b, 4, s->type);
    put_word(b, wide, s->flags);
    put_word(b, wide, s->address);
    put_word(b, wide, s->offset);
    put_word(b, wide, s->size);
    put(b, 4, s->link);
    put(b, 4, 0);
    put_word(b, wide, 1);
    put_word(b, wide, s->entry_size);
}

static inline void put_symbol(struct builder *b, bool wide, uint32_t name, const struct file_symbol *s) {
    put(b, 4, name);
    if (!wide) {
        put(b, 4, s->value);
        put(b, 4, s->size);
    }
    put(b, 1, (uint64_t)(s->binding << 4 | s->type));
    put(b, 1, 0);
    put(b, 2, s->section);
    if (wide) {
        put(b, 8, s->value);
        put(b, 8, s->size);
    }
}

/* Puts a symbol table and its names. */
static inline void put_symbols(struct builder *b, bool wide, const struct file_symbol *symbols,
                               struct file_section *table, struct file_section *strings) {
    static const struct file_symbol none = {0};
    uint32_t name = 1;
    align_to(b, 8);
    table->offset = b->size;
    table->entry_size = wide ? 24 : 16;
    put_symbol(b, wide, 0, &none);
    for (const struct file_symbol *s = symbols; s->name != NULL; s++) {
        put_symbol(b, wide, name, s);
        name += (uint32_t)strlen(s->name) + 1;
    }
    table->size = b->size - table->offset;
    strings->offset = b->size;
    put(b, 1, 0);
    for (const struct file_symbol *s = symbols; s->name != NULL; s++) put_bytes(b, s->name, strlen(s->name) + 1);
    strings->size = b->size - strings->offset;
}

/* The fields of a program header have another order in ELF32. */
static inline void put_segment(struct builder *b, bool wide, uint32_t type, uint64_t offset, uint64_t address,
                               uint64_t size, uint64_t align) {
    put(b, 4, type);
    if (wide) put(b, 4, 5);
    put_word(b, wide, offset);
    put_word(b, wide, address);
    put_word(b, wide, address);
    put_word(b, wide, size);
    put_word(b, wide, size);
    if (!wide) put(b, 4, 5);
    put_word(b, wide, align);
}

#define FILE_SECTIONS 11

static inline void put_header(struct builder *b, const struct symbol_file *wanted) {
    const bool wide = wanted->wide;
    put_bytes(b, "\177ELF", 4);
    put(b, 1, wide ? 2 : 1);
    put(b, 1, 1);
    put(b, 1, 1);
    pad_to(b, 16);
    put(b, 2, 3); /* ET_DYN */
    put(b, 2, wanted->machine);
    put(b, 4, 1);
    put_word(b, wide, 0);
    put_word(b, wide, wide ? 64 : 52);
    put_word(b, wide, 0); /* offset of the section headers, set later */
    put(b, 4, 0);
    put(b, 2, wide ? 64 : 52);
    put(b, 2, wide ? 56 : 32);
    put(b, 2, 2);
    put(b, 2, wide ? 64 : 40);
    put(b, 2, FILE_SECTIONS);
    put(b, 2, 0);
}

/* The names of the versions that each file defines. */
static const char *const file_versions[] = {"GLIBC_2.2.5", "VERS_1", "V1"};
#define FILE_VERSIONS (sizeof file_versions / sizeof *file_versions)

/* Puts .gnu.version_d (Elf64_Verdef and Elf64_Verdaux, equal in ELF32) and its names. */
static inline void put_versions(struct builder *b, struct file_section *versions, struct file_section *strings) {
    uint32_t name = 0;
    align_to(b, 8);
    versions->offset = b->size;
    for (uint32_t i = 0; i < FILE_VERSIONS; i++) {
        put(b, 2, 1);
        put(b, 2, 0);
        put(b, 2, i + 1);
        put(b, 2, 1);
        put(b, 4, 0);
        put(b, 4, 20);
        put(b, 4, i + 1 < FILE_VERSIONS ? 28 : 0);
        put(b, 4, name);
        put(b, 4, 0);
        name += (uint32_t)strlen(file_versions[i]) + 1;
    }
    versions->size = b->size - versions->offset;
    strings->offset = b->size;
    for (uint32_t i = 0; i < FILE_VERSIONS; i++) put_bytes(b, file_versions[i], strlen(file_versions[i]) + 1);
    strings->size = b->size - strings->offset;
}

#define NOTE_ADDRESS 0x200u

/* Builds the file. The caller frees it with builder_free. */
static inline struct builder build_symbol_file(const struct symbol_file *wanted) {
    const bool wide = wanted->wide;
    struct builder b = {0};
    struct file_section sections[FILE_SECTIONS] = {
        [TEXT] = {1, 2 | 4, TEXT_LOW, 0, TEXT_HIGH - TEXT_LOW, 0, 0},
        [INIT] = {1, 2 | 4, TEXT_HIGH, 0, INIT_HIGH - TEXT_HIGH, 0, 0},
        [DATA] = {1, 2 | 1, DATA_LOW, 0, FILE_END - DATA_LOW, 0, 0},
        [4] = {7, 2, NOTE_ADDRESS, NOTE_ADDRESS, 0, 0, 0},
        [5] = {wanted->symtab != NULL ? 2 : 1, 0, 0, 0, 0, 0, 6},
        [6] = {3, 0, 0, 0, 0, 0, 0},
        [7] = {wanted->dynsym != NULL ? 11 : 1, 2, 0, 0, 0, 0, 8},
        [8] = {3, 2, 0, 0, 0, 0, 0},
        [9] = {0x6ffffffd, 2, 0, 0, 0, 0, 10},
        [10] = {3, 2, 0, 0, 0, 0, 0},
    };
    if (wanted->build_id != NULL) sections[4].size = 16u + wanted->build_id_size;
    if (wanted->text != NULL) sections[TEXT].offset = TEXT_LOW;
    put_header(&b, wanted);
    put_segment(&b, wide, 1, 0, 0, FILE_END, 0x1000);
    put_segment(&b, wide, 4, NOTE_ADDRESS, NOTE_ADDRESS, sections[4].size, 4);
    pad_to(&b, NOTE_ADDRESS);
    if (wanted->build_id != NULL) {
        put(&b, 4, 4);
        put(&b, 4, wanted->build_id_size);
        put(&b, 4, 3); /* NT_GNU_BUILD_ID */
        put_name(&b, "GNU", 4);
        put_bytes(&b, wanted->build_id, wanted->build_id_size);
    }
    if (wanted->symtab != NULL) put_symbols(&b, wide, wanted->symtab, &sections[5], &sections[6]);
    if (wanted->dynsym != NULL) put_symbols(&b, wide, wanted->dynsym, &sections[7], &sections[8]);
    put_versions(&b, &sections[9], &sections[10]);
    if (wanted->text != NULL) {
        pad_to(&b, TEXT_LOW);
        put_bytes(&b, wanted->text, wanted->text_size);
    }
    align_to(&b, 8);
    patch(&b, wide ? 40 : 32, wide ? 8 : 4, b.size);
    for (unsigned i = 0; i < FILE_SECTIONS; i++) put_section(&b, wide, &sections[i]);
    /* The code up to the end of its segment. */
    if (wanted->text != NULL) pad_to(&b, FILE_END);
    return b;
}

/* Removes the old file first: some file systems wait for the disk if a file is truncated and written again. */
static inline void save_new(const struct builder *b, const char *path) {
    remove(path);
    save(b, path);
}

#endif
