/* SPDX-License-Identifier: MIT */
/* ELF files made of symbols that stand in the test: one page of code (.text), a little more (.init), data, and the tables.
 * As small as the readers allow; not for running. */
#ifndef TESTS_SYMBOL_FILE_H
#define TESTS_SYMBOL_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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
};

#define FILE_ROOM 16384

struct file_bytes {
    size_t size;
    uint8_t bytes[FILE_ROOM];
};

static inline void file_put(struct file_bytes *file, size_t at, unsigned width, uint64_t value) {
    for (unsigned i = 0; i < width; i++) file->bytes[at + i] = (uint8_t)(value >> 8 * i);
    if (at + width > file->size) file->size = at + width;
}

/* A word, as the class of the file has it: 4 or 8 bytes. */
static inline size_t file_word(struct file_bytes *file, size_t at, bool wide, uint64_t value) {
    file_put(file, at, wide ? 8 : 4, value);
    return at + (wide ? 8 : 4);
}

struct file_section {
    uint32_t type;
    uint64_t flags, address, offset, size, entry_size;
    uint32_t link;
};

static inline void file_put_section(struct file_bytes *file, size_t at, bool wide, const struct file_section *s) {
    file_put(file, at, 4, 0);
    file_put(file, at + 4, 4, s->type);
    at = file_word(file, at + 8, wide, s->flags);
    at = file_word(file, at, wide, s->address);
    at = file_word(file, at, wide, s->offset);
    at = file_word(file, at, wide, s->size);
    file_put(file, at, 4, s->link);
    file_put(file, at + 4, 4, 0);
    at = file_word(file, at + 8, wide, 1);
    file_word(file, at, wide, s->entry_size);
}

/* A table and its names behind what is there already. */
static inline void file_add_table(struct file_bytes *file, bool wide, const struct file_symbol *symbols,
                                  struct file_section *table, struct file_section *strings) {
    size_t entry = wide ? 24 : 16, count = 1, names = 1;
    for (const struct file_symbol *s = symbols; s->name != NULL; s++) count++;
    table->offset = (file->size + 7) & ~(size_t)7;
    table->size = count * entry;
    table->entry_size = entry;
    strings->offset = table->offset + table->size;
    file_put(file, strings->offset, 1, 0);
    for (size_t i = 1; i < count; i++) {
        const struct file_symbol *s = &symbols[i - 1];
        size_t at = table->offset + i * entry;
        file_put(file, at, 4, names);
        file_put(file, at + (wide ? 4 : 12), 1, (uint64_t)(s->binding << 4 | s->type));
        file_put(file, at + (wide ? 6 : 14), 2, s->section);
        file_word(file, at + (wide ? 8 : 4), wide, s->value);
        file_word(file, at + (wide ? 16 : 8), wide, s->size);
        size_t length = strlen(s->name) + 1;
        memcpy(file->bytes + strings->offset + names, s->name, length);
        names += length;
    }
    strings->size = names;
    file->size = strings->offset + names;
}

static inline void file_build(struct file_bytes *file, const struct symbol_file *wanted) {
    bool wide = wanted->wide;
    size_t header = wide ? 64 : 52, segment = wide ? 56 : 32, section = wide ? 64 : 40;
    struct file_section sections[9] = {
        [TEXT] = {1, 2 | 4, TEXT_LOW, 0, TEXT_HIGH - TEXT_LOW, 0, 0},
        [INIT] = {1, 2 | 4, TEXT_HIGH, 0, INIT_HIGH - TEXT_HIGH, 0, 0},
        [DATA] = {1, 2 | 1, DATA_LOW, 0, FILE_END - DATA_LOW, 0, 0},
        [4] = {7, 2, 0x200, 0, 0, 0, 0},
        [5] = {wanted->symtab != NULL ? 2 : 1, 0, 0, 0, 0, 0, 6},
        [6] = {3, 0, 0, 0, 0, 0, 0},
        [7] = {wanted->dynsym != NULL ? 11 : 1, 2, 0, 0, 0, 0, 8},
        [8] = {3, 2, 0, 0, 0, 0, 0},
    };
    memset(file, 0, sizeof *file);
    file->size = header + 2 * segment;
    if (wanted->build_id != NULL) {
        size_t at = (file->size + 3) & ~(size_t)3;
        sections[4].offset = at;
        sections[4].size = 16 + wanted->build_id_size;
        file_put(file, at, 4, 4);
        file_put(file, at + 4, 4, wanted->build_id_size);
        file_put(file, at + 8, 4, 3); /* NT_GNU_BUILD_ID */
        memcpy(file->bytes + at + 12, "GNU", 4);
        memcpy(file->bytes + at + 16, wanted->build_id, wanted->build_id_size);
        file->size = at + 16 + ((wanted->build_id_size + 3u) & ~3u);
    }
    if (wanted->symtab != NULL) file_add_table(file, wide, wanted->symtab, &sections[5], &sections[6]);
    if (wanted->dynsym != NULL) file_add_table(file, wide, wanted->dynsym, &sections[7], &sections[8]);
    size_t section_headers = (file->size + 7) & ~(size_t)7;
    for (unsigned i = 0; i < 9; i++) file_put_section(file, section_headers + i * section, wide, &sections[i]);

    memcpy(file->bytes, "\177ELF", 4);
    file_put(file, 4, 1, wide ? 2 : 1);
    file_put(file, 5, 1, 1);
    file_put(file, 6, 1, 1);
    file_put(file, 16, 2, 3); /* ET_DYN */
    file_put(file, 18, 2, wanted->machine);
    file_put(file, 20, 4, 1);
    size_t at = file_word(file, 24, wide, 0);
    at = file_word(file, at, wide, header);
    at = file_word(file, at, wide, section_headers);
    file_put(file, at + 4, 2, header);
    file_put(file, at + 6, 2, segment);
    file_put(file, at + 8, 2, 2);
    file_put(file, at + 10, 2, section);
    file_put(file, at + 12, 2, 9);
    file_put(file, at + 14, 2, 0);

    /* One PT_LOAD for all, and PT_NOTE; their fields stand in another order in ELF32. */
    const uint64_t loads[2][6] = {{0, 0, 0, FILE_END, FILE_END, 0x1000},
                                  {sections[4].offset, 0x200, 0x200, sections[4].size, sections[4].size, 4}};
    for (unsigned i = 0; i < 2; i++) {
        at = header + i * segment;
        file_put(file, at, 4, i == 0 ? 1 : 4);
        file_put(file, at + (wide ? 4 : 24), 4, 5);
        at += wide ? 8 : 4;
        for (unsigned k = 0; k < 5; k++) at = file_word(file, at, wide, loads[i][k]);
        if (!wide) at += 4;
        file_word(file, at, wide, loads[i][5]);
    }
}

/* Returns whether it was written. A new file each time: some file systems wait for the disk when one is cut and written
 * again. */
static inline bool file_write(const struct file_bytes *file, const char *path) {
    remove(path);
    FILE *out = fopen(path, "wb");
    if (out == NULL) return false;
    bool is_written = fwrite(file->bytes, 1, file->size, out) == file->size;
    return fclose(out) == 0 && is_written;
}

#endif
