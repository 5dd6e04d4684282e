/* SPDX-License-Identifier: MIT */
/* Builds debug information entry by entry, in an ELF file whose code is at CODE_LOW … CODE_HIGH: for forms that only
 * some compilers write, or none. DWARF 2 to 5, offsets of 4 and of 8 bytes, x86-64. dwarf_macho.h makes a Mach-O file
 * of it. */
#ifndef TESTS_SUPPORT_DWARF_FILE_H
#define TESTS_SUPPORT_DWARF_FILE_H

#include "lib/object/dwarf_constants.h"
#include "tests/support/file_builder.h"

#include <stdbool.h>

#define CODE_LOW  0x1000u
#define CODE_HIGH 0x4000u

/* Abbreviations that every file has. */
enum entry {
    UNIT = 1,      /* name, comp_dir, stmt_list, low_pc, high_pc */
    UNIT_UNKNOWN,  /* name, comp_dir, stmt_list; without addresses of its code */
    FUNCTION,      /* name, low_pc, high_pc */
    FUNCTION_LIST, /* name, ranges */
    ABSTRACT,      /* name, decl_file, decl_line */
    INLINED,       /* abstract_origin, low_pc, high_pc, call_file, call_line */
    SCOPE,         /* a lexical block */
    INSTANCE,      /* a function: abstract_origin, low_pc, high_pc */
    NAMED_LATER,   /* a function: specification; low_pc, high_pc */
    LINKED,        /* linkage_name */
    DECLARED,      /* a function: name, decl_file, decl_line, low_pc, high_pc */
    STRANGE,       /* a form that readers do not know */
    SPACE,         /* a namespace: name */
    SEQUENCED,     /* a function: name, low_pc, high_pc, stmt_sequence */
    WITH_SIBLING,  /* an enumeration: sibling */
    OWN = 100,     /* a test's own abbreviations begin here (put_abbreviation) */
    FAR_CODE = 700 /* a function: name, low_pc, high_pc; with a code far above the others */
};

/* How sections are compressed, and where their contents are damaged. */
struct packing {
    unsigned way;                  /* 0: not at all; ch_type of SHF_COMPRESSED */
    const struct builder *damaged; /* section that is damaged */
    unsigned block;                /* first damaged block of 65,535 bytes */
};

/* A symbol of the file, in the code section. */
struct dwarf_symbol {
    const char *name;
    uint64_t value, size;
};

struct dwarf_file {
    unsigned version; /* of units and line tables; 0: 4 */
    bool is_wide;     /* offsets have 8 bytes ("64-bit DWARF") */
    struct builder abbrev, info, line, ranges, str, line_str, str_offsets, addr, rnglists, aranges;
    struct builder other; /* a section named other_name */
    const char *other_name;
    const struct dwarf_symbol *symbols; /* end at a NULL name; NULL: no symbol table */
    bool is_at_0;                       /* the code section begins at 0 instead of CODE_LOW */
    bool has_build_id;                  /* the build id 0102030405060708 */
    struct packing packing;
    bool is_unlinked;                      /* addresses need relocations */
    struct builder info_moves, line_moves; /* relocations of .debug_info and .debug_line: offset, address */
    size_t table;                          /* offset of the next units' abbreviations */
    size_t unit;                           /* offset of the current unit */
    size_t program;                        /* offset of the current line table's length */
    size_t header;
};

static inline void put_leb(struct builder *b, uint64_t value) {
    do {
        put(b, 1, (value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value != 0);
}

static inline void put_text(struct builder *b, const char *text) { put_bytes(b, text, strlen(text) + 1); }

/* Puts an abbreviation. `pairs`: attribute and form of each, ending with 0. */
static inline void put_abbreviation(struct dwarf_file *f, unsigned code, unsigned tag, bool has_children,
                                    const uint16_t *pairs) {
    put_leb(&f->abbrev, code);
    put_leb(&f->abbrev, tag);
    put(&f->abbrev, 1, has_children);
    for (; *pairs != 0; pairs++) put_leb(&f->abbrev, *pairs);
    put(&f->abbrev, 2, 0);
}

#define PAIRS(...) (const uint16_t[]){__VA_ARGS__, 0}

static inline void put_abbreviations(struct dwarf_file *f) {
    put_abbreviation(f, UNIT, 0x11, true, PAIRS(0x03, 0x08, 0x1b, 0x08, 0x10, 0x17, 0x11, 0x01, 0x12, 0x07));
    put_abbreviation(f, UNIT_UNKNOWN, 0x11, true, PAIRS(0x03, 0x08, 0x1b, 0x08, 0x10, 0x17));
    put_abbreviation(f, FUNCTION, 0x2e, true, PAIRS(0x03, 0x08, 0x11, 0x01, 0x12, 0x07));
    put_abbreviation(f, FUNCTION_LIST, 0x2e, true, PAIRS(0x03, 0x08, 0x55, 0x17));
    put_abbreviation(f, ABSTRACT, 0x2e, false, PAIRS(0x03, 0x08, 0x3a, 0x0b, 0x3b, 0x0b));
    put_abbreviation(f, INLINED, 0x1d, true, PAIRS(0x31, 0x13, 0x11, 0x01, 0x12, 0x07, 0x58, 0x0b, 0x59, 0x0b));
    put_abbreviation(f, SCOPE, 0x0b, true, PAIRS(0x02, 0x18));
    put_abbreviation(f, INSTANCE, 0x2e, false, PAIRS(0x31, 0x13, 0x11, 0x01, 0x12, 0x07));
    put_abbreviation(f, NAMED_LATER, 0x2e, false, PAIRS(0x47, 0x13, 0x11, 0x01, 0x12, 0x07));
    put_abbreviation(f, LINKED, 0x2e, false, PAIRS(0x6e, 0x08));
    put_abbreviation(f, DECLARED, 0x2e, false, PAIRS(0x03, 0x08, 0x3a, 0x0b, 0x3b, 0x0b, 0x11, 0x01, 0x12, 0x07));
    put_abbreviation(f, STRANGE, 0x34, false, PAIRS(0x03, 0x7777));
    put_abbreviation(f, SPACE, 0x39, true, PAIRS(0x03, 0x08));
    put_abbreviation(f, SEQUENCED, 0x2e, false, PAIRS(0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0x3e0c, 0x17));
    put_abbreviation(f, WITH_SIBLING, 0x04, true, PAIRS(0x01, 0x13));
    put_abbreviation(f, FAR_CODE, 0x2e, false, PAIRS(0x03, 0x08, 0x11, 0x01, 0x12, 0x07));
}

/* Begins a table of abbreviations for the next units. */
static inline void begin_abbreviations(struct dwarf_file *f) {
    put(&f->abbrev, 1, 0);
    f->table = f->abbrev.size;
}

/* Puts an address of the code. */
static inline void put_code_address(struct dwarf_file *f, struct builder *b, uint64_t address) {
    if (f->is_unlinked) {
        struct builder *moves = b == &f->info ? &f->info_moves : &f->line_moves;
        put(moves, 8, b->size);
        put(moves, 8, (uint64_t)1 << 32 | 1); /* R_X86_64_64, relative to the code section */
        put(moves, 8, address - CODE_LOW);
        address = 0;
    }
    put(b, 8, address);
}

/* ---- entries ---- */

/* The offset of the next entry from its unit's beginning, as references use it. */
static inline uint32_t here(const struct dwarf_file *f) { return (uint32_t)(f->info.size - f->unit); }

static inline unsigned version_of(const struct dwarf_file *f) { return f->version != 0 ? f->version : 4; }

/* Puts an offset in a section. */
static inline void put_offset(const struct dwarf_file *f, struct builder *b, uint64_t value) {
    put(b, f->is_wide ? 8 : 4, value);
}

/* Puts a length, which end_length sets. Returns the length's offset. */
static inline size_t begin_length(const struct dwarf_file *f, struct builder *b) {
    const size_t from = b->size;
    if (f->is_wide) put(b, 4, UINT32_MAX);
    put_offset(f, b, 0);
    return from;
}

static inline void end_length(const struct dwarf_file *f, struct builder *b, size_t from) {
    const size_t length = f->is_wide ? 12 : 4;
    patch(b, from + (f->is_wide ? 4 : 0), f->is_wide ? 8 : 4, b->size - from - length);
}

/* Begins the header of a unit of a type (DW_UT_…), which only version 5 has. */
static inline void begin_header_of(struct dwarf_file *f, unsigned type) {
    f->unit = begin_length(f, &f->info);
    put(&f->info, 2, version_of(f));
    if (version_of(f) >= 5) {
        put(&f->info, 1, type);
        put(&f->info, 1, 8);
        put_offset(f, &f->info, f->table);
    } else {
        put_offset(f, &f->info, f->table);
        put(&f->info, 1, 8);
    }
}

static inline void begin_header(struct dwarf_file *f) { begin_header_of(f, DW_UT_compile); }

static inline void begin_unit(struct dwarf_file *f, const char *name, uint64_t low, uint64_t size) {
    begin_header(f);
    put_leb(&f->info, UNIT);
    put_text(&f->info, name);
    put_text(&f->info, "/src");
    put_offset(f, &f->info, f->line.size);
    put_code_address(f, &f->info, low);
    put(&f->info, 8, size);
}

static inline void begin_unknown_unit(struct dwarf_file *f, const char *name) {
    begin_header(f);
    put_leb(&f->info, UNIT_UNKNOWN);
    put_text(&f->info, name);
    put_text(&f->info, "/src");
    put_offset(f, &f->info, f->line.size);
}

/* Ends an entry's children, or a unit. */
static inline void end_entry(struct dwarf_file *f) { put(&f->info, 1, 0); }

static inline void end_unit(struct dwarf_file *f) {
    end_entry(f);
    end_length(f, &f->info, f->unit);
}

static inline uint32_t put_function(struct dwarf_file *f, unsigned kind, const char *name, uint64_t low,
                                    uint64_t size) {
    const uint32_t at = here(f);
    put_leb(&f->info, kind);
    put_text(&f->info, name);
    put_code_address(f, &f->info, low);
    put(&f->info, 8, size);
    return at;
}

static inline uint32_t put_abstract(struct dwarf_file *f, const char *name, unsigned line) {
    const uint32_t at = here(f);
    put_leb(&f->info, ABSTRACT);
    put_text(&f->info, name);
    put(&f->info, 1, 1);
    put(&f->info, 1, line);
    return at;
}

/* Puts an inlined call. put_instance puts an entry of another kind with an origin and a range. */
static inline void put_inlined(struct dwarf_file *f, uint32_t origin, uint64_t low, uint64_t size, unsigned line) {
    put_leb(&f->info, INLINED);
    put(&f->info, 4, origin);
    put_code_address(f, &f->info, low);
    put(&f->info, 8, size);
    put(&f->info, 1, 1);
    put(&f->info, 1, line);
}

static inline void put_instance(struct dwarf_file *f, unsigned kind, uint32_t origin, uint64_t low, uint64_t size) {
    put_leb(&f->info, kind);
    put(&f->info, 4, origin);
    put_code_address(f, &f->info, low);
    put(&f->info, 8, size);
}

static inline void put_block(struct dwarf_file *f) {
    put_leb(&f->info, SCOPE);
    put_leb(&f->info, 0);
}

/* ---- the line table of the next unit ---- */

/* Puts the header up to the directories and files; end_line_header follows these. */
static inline void begin_line_header(struct dwarf_file *f) {
    static const uint8_t lengths[12] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    f->program = begin_length(f, &f->line);
    put(&f->line, 2, version_of(f));
    if (version_of(f) >= 5) {
        put(&f->line, 1, 8);
        put(&f->line, 1, 0);
    }
    f->header = f->line.size;
    put_offset(f, &f->line, 0);
    put(&f->line, 1, 1);                         /* length of the shortest instruction */
    if (version_of(f) >= 4) put(&f->line, 1, 1); /* operations in one instruction */
    put(&f->line, 1, 1);
    put(&f->line, 1, (uint8_t)-5); /* line base */
    put(&f->line, 1, 14);          /* line range */
    put(&f->line, 1, 13);          /* first special opcode */
    put_bytes(&f->line, lengths, sizeof lengths);
}

static inline void end_line_header(struct dwarf_file *f) {
    const unsigned size = f->is_wide ? 8 : 4;
    patch(&f->line, f->header, size, f->line.size - f->header - size);
}

/* Begins a table with the directory "sub" of "/src", and the files 1, "one.c", and 2, "sub/two.c". */
static inline void begin_lines(struct dwarf_file *f) {
    static const char *const names[] = {"one.c", "one.c", "two.c"};
    begin_line_header(f);
    if (version_of(f) >= 5) {
        /* Entries are strings; those of files also have the number of a directory. */
        put_bytes(&f->line, "\1\1\10\2", 4);
        put_text(&f->line, "/src");
        put_text(&f->line, "sub");
        put_bytes(&f->line, "\2\1\10\2\17\3", 6);
    } else {
        put_text(&f->line, "sub");
        put(&f->line, 1, 0);
    }
    for (unsigned i = version_of(f) >= 5 ? 0 : 1; i < 3; i++) {
        put_text(&f->line, names[i]);
        put_leb(&f->line, i == 2);
        if (version_of(f) < 5) put(&f->line, 2, 0);
    }
    if (version_of(f) < 5) put(&f->line, 1, 0);
    end_line_header(f);
}

static inline void put_address(struct dwarf_file *f, uint64_t address) {
    put(&f->line, 1, 0);
    put_leb(&f->line, 9);
    put(&f->line, 1, 2);
    put_code_address(f, &f->line, address);
}

/* Puts a row at the current address plus `advance`, `lines` lines after the last one. */
static inline void put_row(struct dwarf_file *f, unsigned advance, int lines) {
    put(&f->line, 1, 2);
    put_leb(&f->line, advance);
    put(&f->line, 1, 3);
    for (int value = lines;;) {
        const uint8_t low = value & 0x7f;
        value >>= 7;
        const bool is_last = (value == 0 && (low & 0x40) == 0) || (value == -1 && (low & 0x40) != 0);
        put(&f->line, 1, (uint8_t)(low | (is_last ? 0 : 0x80)));
        if (is_last) break;
    }
    put(&f->line, 1, 1);
}

static inline void put_end(struct dwarf_file *f, unsigned advance) {
    put(&f->line, 1, 2);
    put_leb(&f->line, advance);
    put_bytes(&f->line, "\0\1\1", 3);
}

static inline void end_lines(struct dwarf_file *f) { end_length(f, &f->line, f->program); }

/* ---- the file ---- */

/* Compresses a section (SHF_COMPRESSED): in zlib's format, with stored blocks. */
static inline void pack_part(const struct dwarf_file *f, struct builder *part) {
    struct builder packed = {0};
    uint32_t a = 1, b = 0;
    put(&packed, 8, f->packing.way);
    put(&packed, 8, part->size);
    put(&packed, 8, 1);
    put(&packed, 2, 0x0178);
    for (size_t at = 0, block = 0; at == 0 || at < part->size; block++) {
        const size_t left = part->size - at, n = left < 0xffff ? left : 0xffff;
        const bool is_damaged = part == f->packing.damaged && block >= f->packing.block;
        put(&packed, 1, n == left);
        put(&packed, 2, n);
        put(&packed, 2, is_damaged ? 0 : ~n);
        if (n > 0) put_bytes(&packed, part->bytes + at, n);
        at += n;
        if (n == left) break;
    }
    for (size_t i = 0; i < part->size; i++) {
        a = (a + part->bytes[i]) % 65521;
        b = (b + a) % 65521;
    }
    put_be(&packed, 4, b << 16 | a);
    builder_free(part);
    *part = packed;
}

/* Fields of a section's header: name, type, flags, address, offset, size, link, info, alignment, size of an entry. */
struct section_header {
    uint64_t of[10];
};

static inline void put_section_header(struct builder *b, const struct section_header *section) {
    for (unsigned i = 0; i < 10; i++) put(b, i < 2 || i == 6 || i == 7 ? 4 : 8, section->of[i]);
}

#define DWARF_PARTS 11

static inline unsigned list_parts(struct dwarf_file *f, const char *names[DWARF_PARTS],
                                  struct builder *parts[DWARF_PARTS]) {
    static const char *const all_names[DWARF_PARTS] = {"abbrev",      "info", "line",     "ranges",  "str", "line_str",
                                                       "str_offsets", "addr", "rnglists", "aranges", NULL};
    struct builder *const all[DWARF_PARTS] = {&f->abbrev,   &f->info,     &f->line,        &f->ranges,
                                              &f->str,      &f->line_str, &f->str_offsets, &f->addr,
                                              &f->rnglists, &f->aranges,  &f->other};
    unsigned count = 0;
    if (f->abbrev.size > 0) put(&f->abbrev, 1, 0);
    for (unsigned i = 0; i < DWARF_PARTS; i++) {
        if (all[i]->size == 0) {
            builder_free(all[i]);
            continue;
        }
        names[count] = all_names[i] != NULL ? all_names[i] : f->other_name;
        parts[count++] = all[i];
    }
    return count;
}

static inline void put_dwarf_symbols(struct builder *table, struct builder *names, const struct dwarf_symbol *symbols) {
    put(names, 1, 0);
    for (unsigned i = 0; i < 3; i++) put(table, 8, 0);
    for (; symbols->name != NULL; symbols++) {
        put(table, 4, names->size);
        put(table, 1, 0x12); /* global, a function */
        put(table, 1, 0);
        put(table, 2, 1); /* in the code section */
        put(table, 8, symbols->value);
        put(table, 8, symbols->size);
        put_text(names, symbols->name);
    }
}

/* Finishes the ELF file; frees the parts. */
static inline struct builder finish_dwarf_file(struct dwarf_file *f) {
    enum { SECTIONS = DWARF_PARTS + 6 };
    struct builder b = {0}, names = {0}, symbols = {0}, symbol_names = {0}, note = {0}, *parts[SECTIONS];
    struct section_header headers[SECTIONS];
    const char *part_names[DWARF_PARTS];
    const uint64_t code_low = f->is_at_0 ? 0 : CODE_LOW;
    const unsigned parts_count = list_parts(f, part_names, parts + 2);
    unsigned count = 0;
    put_bytes(&names, "\0.text", 7);
    headers[count++] = (struct section_header){{0}};
    headers[count++] = (struct section_header){{1, 8, 6, code_low, 0, CODE_HIGH - code_low, 0, 0, 1, 0}};
    for (unsigned i = 0; i < parts_count; i++, count++) {
        const bool is_other = parts[count] == &f->other;
        const bool is_packed = f->packing.way != 0 && !is_other;
        if (is_packed) pack_part(f, parts[count]);
        headers[count] = (struct section_header){{names.size, 1, is_packed ? 0x800 : 0, 0, 0, 0, 0, 0, 1, 0}};
        if (!is_other) put_bytes(&names, ".debug_", 7);
        put_text(&names, part_names[i]);
    }
    if (f->symbols != NULL) {
        put_dwarf_symbols(&symbols, &symbol_names, f->symbols);
        headers[count] = (struct section_header){{names.size, 2, 0, 0, 0, 0, count + 1, 1, 8, 24}};
        put_text(&names, ".symtab");
        parts[count++] = &symbols;
        headers[count] = (struct section_header){{names.size, 3, 0, 0, 0, 0, 0, 0, 1, 0}};
        put_text(&names, ".strtab");
        parts[count++] = &symbol_names;
    }
    if (f->has_build_id) {
        headers[count] = (struct section_header){{names.size, 7, 0, 0, 0, 0, 0, 0, 4, 0}};
        put_text(&names, ".note.gnu.build-id");
        put_bytes(&note, "\4\0\0\0\10\0\0\0\3\0\0\0GNU\0\1\2\3\4\5\6\7\10", 24);
        parts[count++] = &note;
    }
    headers[count] = (struct section_header){{names.size, 3, 0, 0, 0, 0, 0, 0, 1, 0}};
    put_text(&names, ".shstrtab");
    parts[count++] = &names;
    put_bytes(&b, "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0", 16);
    put(&b, 2, 3);
    put(&b, 2, 62);
    put(&b, 4, 1);
    put(&b, 8, 0);
    put(&b, 8, 64); /* program headers */
    const size_t sections_at = b.size;
    put(&b, 8, 0);
    put(&b, 4, 0);
    put(&b, 2, 64);
    put(&b, 2, 56);
    put(&b, 2, 1);
    put(&b, 2, 64);
    put(&b, 2, count);
    put(&b, 2, count - 1);
    put(&b, 4, 1); /* PT_LOAD, readable and executable */
    put(&b, 4, 5);
    put(&b, 8, 0);
    put(&b, 8, 0);
    put(&b, 8, 0);
    put(&b, 8, 0x100);
    put(&b, 8, CODE_HIGH);
    put(&b, 8, 0x1000);
    for (unsigned i = 2; i < count; i++) {
        align_to(&b, (size_t)headers[i].of[8]);
        headers[i].of[4] = b.size;
        headers[i].of[5] = parts[i]->size;
        put_bytes(&b, parts[i]->bytes, parts[i]->size);
        builder_free(parts[i]);
    }
    align_to(&b, 8);
    patch(&b, sections_at, 8, b.size);
    for (unsigned i = 0; i < count; i++) put_section_header(&b, &headers[i]);
    return b;
}

/* ---- an object of the GDB JIT interface ---- */

/* Finishes an unlinked object whose code, of CODE_HIGH - CODE_LOW bytes, is at `address`, with one function of that
 * size. Frees the parts. */
static inline struct builder finish_jit_object(struct dwarf_file *f, uint64_t address, const char *function) {
    static const char names[] = "\0.text\0.debug_abbrev\0.debug_info\0.debug_line\0.debug_ranges\0.rela\0.names";
    static const unsigned at[] = {0, 1, 7, 21, 33, 45, 59, 59, 65, 65};
    enum { SECTIONS = 10, SYMBOLS = 8, STRINGS = 9 };
    struct builder symbols = {0}, strings = {0}, b = {0};
    const uint64_t size = CODE_HIGH - CODE_LOW;
    put_bytes(&strings, names, sizeof names);
    const uint64_t entries[3][4] = {{0, 0, 0, 0}, {0, 3 | 1 << 16, 0, 0}, {strings.size, 0x12 | 1 << 16, 0, size}};
    put(&f->abbrev, 1, 0);
    put_text(&strings, function);
    for (unsigned i = 0; i < 3; i++) {
        put(&symbols, 4, entries[i][0]);
        for (unsigned k = 1; k < 4; k++) put(&symbols, k == 1 ? 4 : 8, entries[i][k]);
    }
    struct builder *const parts[SECTIONS] = {NULL,       NULL,           &f->abbrev,     &f->info, &f->line,
                                             &f->ranges, &f->info_moves, &f->line_moves, &symbols, &strings};
    put_bytes(&b, "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0", 16);
    put(&b, 2, 1);
    put(&b, 2, 62);
    put(&b, 4, 1);
    put(&b, 8, 0);
    put(&b, 8, 0);
    put(&b, 8, 64); /* section headers */
    put(&b, 4, 0);
    put(&b, 2, 64);
    put(&b, 2, 0);
    put(&b, 2, 0);
    put(&b, 2, 64);
    put(&b, 2, SECTIONS);
    put(&b, 2, STRINGS);
    for (unsigned i = 2; i <= 5 && f->packing.way != 0; i++) pack_part(f, parts[i]);
    uint64_t offset = 64 + SECTIONS * 64;
    for (unsigned i = 0; i < SECTIONS; i++) {
        struct section_header header = {{at[i], 1, 0, 0, offset, parts[i] != NULL ? parts[i]->size : 0, 0, 0, 1, 0}};
        uint64_t *section = header.of;
        if (i == 0) memset(section, 0, sizeof header);
        if (i >= 2 && i <= 5 && f->packing.way != 0) section[2] = 0x800;
        if (i == 1) section[1] = 8, section[2] = 6, section[3] = address, section[5] = size;
        if (i == 6 || i == 7) section[1] = 4, section[6] = SYMBOLS, section[7] = i - 3, section[9] = 24;
        if (i == SYMBOLS) section[1] = 2, section[6] = STRINGS, section[7] = 2, section[9] = 24;
        if (i == STRINGS) section[1] = 3;
        put_section_header(&b, &header);
        offset += parts[i] != NULL ? parts[i]->size : 0;
    }
    for (unsigned i = 2; i < SECTIONS; i++) {
        put_bytes(&b, parts[i]->bytes, parts[i]->size);
        builder_free(parts[i]);
    }
    return b;
}

#endif
