/* SPDX-License-Identifier: MIT */
/* Builds Mach-O files (arm64, 64 bits) from the debug information of dwarf_file.h: dSYMs and programs. Addresses in the
 * debug information are not changed. */
#ifndef TESTS_SUPPORT_DWARF_MACHO_H
#define TESTS_SUPPORT_DWARF_MACHO_H

#include "tests/support/dwarf_file.h"
#include "tests/support/macho_commands.h"

enum { MACHO_DYLIB = 6, MACHO_DSYM = 10 };

struct dwarf_macho {
    unsigned type;
    uint64_t base; /* address of __TEXT; the code is at offsets CODE_LOW … CODE_HIGH */
    const char *uuid;
    uint64_t hole; /* size of a hole between the commands and the sections of debug information */
};

/* Finishes the file without the hole, which comes after its first *head bytes (save_with_hole); frees the parts.
 * Sections of debug information are in the segment __DWARF; their names are cut to 16 bytes, and their offsets to 32
 * bits. */
static inline struct builder finish_dwarf_macho(struct dwarf_file *f, const struct dwarf_macho *wanted, size_t *head) {
    struct builder b = {0}, symbols = {0}, names = {0}, *parts[DWARF_PARTS];
    struct commands c = {{0}, 0};
    const char *part_names[DWARF_PARTS];
    const unsigned count = list_parts(f, part_names, parts);
    /* Header and commands: two segments with their sections, the UUID and the symbol table. */
    size_t at = 32 + 72 + 80 + 24 + 24 + 72 + count * 80u, size = 0;
    const uint64_t dwarf = wanted->base + 0x100000;
    uint32_t symbol_count = 0;
    *head = at;
    for (unsigned i = 0; i < count; i++) size += parts[i]->size;
    /* A dSYM has only the address of the code; a program has the code, too. */
    const uint64_t code_in_file = wanted->type == MACHO_DSYM ? 0 : CODE_HIGH;
    put_macho_segment(&c, true, "__TEXT", wanted->base, CODE_HIGH, 0, code_in_file, 5, 1);
    put_macho_section(&c, true, "__text", "__TEXT", wanted->base + CODE_LOW, CODE_HIGH - CODE_LOW);
    patch(&c.bytes, c.bytes.size - 16, 4, 0x80000400); /* only instructions */
    put_uuid(&c, wanted->uuid);
    put(&names, 1, 0);
    for (const struct dwarf_symbol *s = f->symbols; s != NULL && s->name != NULL; s++, symbol_count++) {
        put(&symbols, 4, names.size);
        put(&symbols, 1, 0x0f); /* N_SECT, N_EXT */
        put(&symbols, 1, 1);
        put(&symbols, 2, 0);
        put(&symbols, 8, s->value);
        put_text(&names, s->name);
    }
    c.count++;
    put(&c.bytes, 4, 2); /* LC_SYMTAB, after the sections */
    put(&c.bytes, 4, 24);
    put(&c.bytes, 4, wanted->hole + at + size);
    put(&c.bytes, 4, symbol_count);
    put(&c.bytes, 4, wanted->hole + at + size + symbols.size);
    put(&c.bytes, 4, names.size);
    put_macho_segment(&c, true, "__DWARF", dwarf, size, wanted->hole + at, size, 7, count);
    for (unsigned i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "__debug_%s", part_names[i]);
        const size_t from = c.bytes.size;
        put_macho_section(&c, true, name, "__DWARF", dwarf + at - *head, parts[i]->size);
        patch(&c.bytes, from + 48, 4, wanted->hole + at);
        at += parts[i]->size;
    }
    put_macho(&b, true, macho_cpu(USP_ARCH_ARM64), wanted->type, &c);
    for (unsigned i = 0; i < count; i++) {
        put_bytes(&b, parts[i]->bytes, parts[i]->size);
        builder_free(parts[i]);
    }
    put_bytes(&b, symbols.bytes, symbols.size);
    put_bytes(&b, names.bytes, names.size);
    pad_to(&b, (size_t)code_in_file);
    builder_free(&symbols);
    builder_free(&names);
    return b;
}

#endif
