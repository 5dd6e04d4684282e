/* SPDX-License-Identifier: MIT */
/* Builds Mach-O files from symbols, function starts, exports and stubs of the test: as small as the readers accept, not
 * executable. Offsets in memory and in the file are the same. */
#ifndef TESTS_SUPPORT_MACHO_SYMBOL_FILE_H
#define TESTS_SUPPORT_MACHO_SYMBOL_FILE_H

#include "tests/support/core_fixtures.h"

/* Offsets from the header, and the numbers of sections. */
enum { IN_TEXT = 1, IN_STUBS = 2, IN_CONST = 3, IN_UNWIND = 4, IN_MORE = 5 };
#define TEXT_LOW   0x1000u
#define TEXT_HIGH  0x2000u
#define STUBS_LOW  0x2000u
#define STUB_SIZE  12u
#define STUBS_HIGH (STUBS_LOW + 3 * STUB_SIZE)
#define CONST_LOW  0x2100u
#define UNWIND_LOW 0x2200u
#define MORE_LOW   0x2300u
#define MORE_HIGH  0x2400u
#define LINKEDIT   0x3000u

/* nlist.h, stab.h */
enum { SECT = 0x0e, EXT = 0x01, PEXT = 0x10, UNDEFINED = 0x00, FUN = 0x24, SO = 0x64, SOL = 0x84 };
enum { THUMB = 0x8, WEAK_DEF = 0x80, ALT_ENTRY = 0x200 };

struct macho_symbol {
    const char *name;
    uint32_t value; /* an offset from the header, for a symbol in a section */
    uint8_t type, section;
    uint16_t description;
};

struct macho_export {
    const char *name; /* NULL after the last one */
    uint32_t flags, offset;
};

struct macho_file {
    uint32_t arch, type; /* enum usp_arch; MH_…, 0 means a dylib */
    const char *uuid;
    const struct macho_symbol *symbols; /* end at a NULL name; NULL: no table */
    const uint32_t *starts;             /* offsets from the header, ascending, end at 0; NULL: no table */
    const uint32_t *unwind;             /* same format as starts, for __unwind_info */
    bool unwind_regular;                /* in a regular page instead of a compressed one */
    const struct macho_export *exports; /* NULL: none */
    const uint8_t *trie;                /* the trie's bytes, if exports is NULL */
    size_t trie_size;
    bool in_dyld_info;    /* LC_DYLD_INFO_ONLY contains the exports */
    uint32_t indirect[3]; /* the symbols of the stubs */
    bool with_stubs;
    const char *text; /* code from TEXT_LOW on; NULL: zeros */
    size_t text_size;
};

static inline uint64_t macho_base(uint32_t arch) { return arch_is_64(arch) ? UINT64_C(0x100000000) : 0x4000; }

static inline void put_code_section(struct commands *c, bool wide, const char *name, uint64_t base, uint32_t low,
                                    uint32_t high, uint32_t flags) {
    size_t from = c->bytes.size;
    put_macho_section(c, wide, name, "__TEXT", base + low, high - low);
    patch(&c->bytes, from + (wide ? 48 : 40), 4, low);
    patch(&c->bytes, from + (wide ? 64 : 56), 4, flags);
    if ((flags & 0xff) == 8) patch(&c->bytes, from + (wide ? 72 : 64), 4, STUB_SIZE);
}

static inline void put_uleb(struct builder *b, uint64_t value) {
    for (; value >= 0x80; value >>= 7) put(b, 1, (value & 0x7f) | 0x80);
    put(b, 1, value);
}

/* Puts a ULEB128 number of fixed length, so that later offsets are known before its value. */
static inline void put_wide_uleb(struct builder *b, uint32_t value) {
    put(b, 1, (value & 0x7f) | 0x80);
    put(b, 1, (value >> 7 & 0x7f) | 0x80);
    put(b, 1, value >> 14);
}

/* Puts a trie: a root, and below it a node for each export. */
static inline void put_trie(struct builder *b, const struct macho_export *exports) {
    const size_t from = b->size;
    size_t places[16], count = 0;
    while (exports[count].name != NULL) count++;
    put(b, 1, 0);
    put(b, 1, count);
    for (size_t i = 0; i < count; i++) {
        put_bytes(b, exports[i].name, strlen(exports[i].name) + 1);
        places[i] = b->size;
        put_wide_uleb(b, 0);
    }
    for (size_t i = 0; i < count; i++) {
        struct builder place = {0};
        put_wide_uleb(&place, (uint32_t)(b->size - from));
        memcpy(b->bytes + places[i], place.bytes, 3);
        builder_free(&place);
        put(b, 1, 4);
        put(b, 1, exports[i].flags);
        put_wide_uleb(b, exports[i].offset);
        put(b, 1, 0);
    }
}

static inline void put_unwind_info(struct builder *b, const uint32_t *starts, bool regular) {
    uint32_t count = 0;
    while (starts[count] != 0) count++;
    put(b, 4, 1);
    for (unsigned i = 0; i < 4; i++) put(b, 4, 0);
    put(b, 4, 28); /* the index, with two entries */
    put(b, 4, 2);
    put(b, 4, starts[0]);
    put(b, 4, 28 + 24);
    put(b, 4, 0);
    put(b, 4, TEXT_HIGH);
    put(b, 4, 0);
    put(b, 4, 0);
    put(b, 4, regular ? 2 : 3);
    put(b, 2, regular ? 8 : 12);
    put(b, 2, count);
    if (!regular) put(b, 4, 0);
    for (uint32_t i = 0; i < count; i++) {
        put(b, 4, regular ? starts[i] : (starts[i] - starts[0]) | UINT32_C(5) << 24);
        if (regular) put(b, 4, 0x02000000);
    }
}

static inline void put_linkedit_command(struct commands *c, uint32_t kind, size_t offset, size_t size) {
    c->count++;
    put(&c->bytes, 4, kind);
    put(&c->bytes, 4, 16);
    put(&c->bytes, 4, offset);
    put(&c->bytes, 4, size);
}

static inline void put_symbol_table(struct builder *b, struct commands *c, const struct macho_file *wanted) {
    const bool wide = arch_is_64(wanted->arch);
    const uint64_t base = macho_base(wanted->arch);
    const size_t symbols_at = LINKEDIT + b->size;
    uint32_t name = 1, count = 0;
    for (const struct macho_symbol *s = wanted->symbols; s->name != NULL; s++, count++) {
        put(b, 4, s->name[0] != '\0' ? name : 0);
        put(b, 1, s->type);
        put(b, 1, s->section);
        put(b, 2, s->description);
        put(b, wide ? 8 : 4, s->section != 0 ? base + s->value : s->value);
        if (s->name[0] != '\0') name += (uint32_t)strlen(s->name) + 1;
    }
    const size_t strings_at = LINKEDIT + b->size;
    put(b, 1, 0);
    for (const struct macho_symbol *s = wanted->symbols; s->name != NULL; s++) {
        if (s->name[0] != '\0') put_bytes(b, s->name, strlen(s->name) + 1);
    }
    c->count++;
    put(&c->bytes, 4, 2);
    put(&c->bytes, 4, 24);
    put(&c->bytes, 4, symbols_at);
    put(&c->bytes, 4, count);
    put(&c->bytes, 4, strings_at);
    put(&c->bytes, 4, LINKEDIT + b->size - strings_at);
}

/* Builds the file. The caller frees it with builder_free. */
static inline struct builder build_macho_symbol_file(const struct macho_file *wanted) {
    const bool wide = arch_is_64(wanted->arch);
    const uint64_t base = macho_base(wanted->arch);
    struct commands tables = {{0}, 0}, c = {{0}, 0};
    struct builder linkedit = {0}, b = {0};
    if (wanted->uuid != NULL) put_uuid(&tables, wanted->uuid);
    if (wanted->symbols != NULL) put_symbol_table(&linkedit, &tables, wanted);
    if (wanted->starts != NULL) {
        size_t from = linkedit.size;
        uint32_t last = 0;
        for (const uint32_t *start = wanted->starts; *start != 0; last = *start++) put_uleb(&linkedit, *start - last);
        pad_to(&linkedit, (linkedit.size + 8) / 8 * 8);
        put_linkedit_command(&tables, 0x26, LINKEDIT + from, linkedit.size - from);
    }
    if (wanted->exports != NULL || wanted->trie != NULL) {
        size_t from = linkedit.size;
        if (wanted->exports != NULL) put_trie(&linkedit, wanted->exports);
        if (wanted->exports == NULL) put_bytes(&linkedit, wanted->trie, wanted->trie_size);
        if (wanted->in_dyld_info) {
            tables.count++;
            put(&tables.bytes, 4, 0x80000022);
            put(&tables.bytes, 4, 48);
            for (unsigned i = 0; i < 8; i++) put(&tables.bytes, 4, 0);
            put(&tables.bytes, 4, LINKEDIT + from);
            put(&tables.bytes, 4, linkedit.size - from);
        } else {
            put_linkedit_command(&tables, 0x80000033, LINKEDIT + from, linkedit.size - from);
        }
    }
    if (wanted->with_stubs) {
        tables.count++;
        put(&tables.bytes, 4, 0xb);
        put(&tables.bytes, 4, 80);
        for (unsigned i = 0; i < 12; i++) put(&tables.bytes, 4, 0);
        put(&tables.bytes, 4, LINKEDIT + linkedit.size);
        put(&tables.bytes, 4, 3);
        for (unsigned i = 0; i < 4; i++) put(&tables.bytes, 4, 0);
        for (unsigned i = 0; i < 3; i++) put(&linkedit, 4, wanted->indirect[i]);
    }
    put_macho_segment(&c, wide, "__TEXT", base, LINKEDIT, 0, LINKEDIT, 5, 5);
    put_code_section(&c, wide, "__text", base, TEXT_LOW, TEXT_HIGH, 0x80000400);
    put_code_section(&c, wide, "__stubs", base, STUBS_LOW, STUBS_HIGH, 0x80000408);
    put_code_section(&c, wide, "__const", base, CONST_LOW, UNWIND_LOW, 0);
    put_code_section(&c, wide, wanted->unwind != NULL ? "__unwind_info" : "__nothing", base, UNWIND_LOW, MORE_LOW, 0);
    put_code_section(&c, wide, "__more", base, MORE_LOW, MORE_HIGH, 0x400);
    put_macho_segment(&c, wide, "__LINKEDIT", base + LINKEDIT, 0x1000, LINKEDIT, linkedit.size, 1, 0);
    put_bytes(&c.bytes, tables.bytes.bytes, tables.bytes.size);
    c.count += tables.count;
    put_macho(&b, wide, macho_cpu(wanted->arch), wanted->type != 0 ? wanted->type : 6, &c);
    if (wanted->text != NULL) {
        pad_to(&b, TEXT_LOW);
        put_bytes(&b, wanted->text, wanted->text_size);
    }
    if (wanted->unwind != NULL) {
        pad_to(&b, UNWIND_LOW);
        put_unwind_info(&b, wanted->unwind, wanted->unwind_regular);
    }
    pad_to(&b, LINKEDIT);
    put_bytes(&b, linkedit.bytes, linkedit.size);
    builder_free(&linkedit);
    builder_free(&tables.bytes);
    return b;
}

#endif
