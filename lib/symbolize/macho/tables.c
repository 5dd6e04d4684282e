/* SPDX-License-Identifier: MIT */
/* A Mach-O file's symbol table, exports and stubs as sources of names, and its function starts and unwind information
 * as their bounds. Decides which entries name code, which alias is preferred, and where a symbol ends. */
#include "lib/symbolize/index/tables.h"
#include "lib/base/array.h"
#include "lib/object/fat.h"
#include "lib/object/gopclntab_find.h"
#include "lib/object/macho_exports.h"
#include "lib/object/macho_symbols.h"
#include "lib/symbolize/go/names.h"
#include "lib/symbolize/macho/code.h"
#include "lib/symbolize/macho/ends.h"
#include "lib/symbolize/macho/objc_stubs.h"
#include "lib/symbolize/macho/stabs.h"

#include <stdlib.h>
#include <string.h>

/* ---- exported ---- */

/* The exports of a Mach-O file as names of its code, where they name more than its symbol tables. macho_exports.h reads
 * the trie. */
/* Closed by closing its trie. */
struct uspi_macho_exported {
    struct uspi_macho_exports trie; /* without nodes when exports name nothing that the symbols do not */
    usp_addr header;                /* the address, as linked, from which the offsets of exports count */
};

static int compare_addresses(const void *a, const void *b) {
    const usp_addr *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The starts of external symbols in the symbol tables. */
struct visible {
    usp_addr *starts;
    size_t count, capacity;
};

static int read_visible(const struct uspi_macho_symbols *symbols, usp_addr mask, struct visible *visible) {
    for (uint64_t i = 0; i < symbols->count; i++) {
        struct uspi_macho_symbol symbol;
        int status = uspi_macho_symbol(symbols, i, &symbol, NULL);
        if (status != USP_OK) return status;
        bool is_visible = (symbol.type & (USPI_N_STAB | USPI_N_TYPE | USPI_N_EXT)) == (USPI_N_SECT | USPI_N_EXT);
        if (!is_visible) continue;
        if (!uspi_room_for(&visible->starts, &visible->capacity, visible->count, 1, sizeof *visible->starts)) {
            return USP_ERROR_NO_MEMORY;
        }
        visible->starts[visible->count++] = symbol.value & mask;
    }
    return USP_OK;
}

/* Returns whether a node exports code of this file. *start becomes the address of the code. */
static bool macho_exported_code(const struct uspi_macho_exported *exported, uint32_t node,
                                const struct uspi_macho_code *code, usp_addr mask, usp_addr *start) {
    struct uspi_export found;
    if (node == 0 || uspi_macho_export(&exported->trie, node, &found, NULL) != USP_OK) return false;
    if ((found.flags & (USPI_EXPORT_KIND | USPI_EXPORT_REEXPORT)) != USPI_EXPORT_REGULAR) return false;
    *start = (exported->header + found.offset) & mask;
    return uspi_macho_code_holds_any(code, *start);
}

/* Returns whether the exports name code that the symbol tables do not. */
static bool says_more(const struct uspi_macho_exported *exported, const struct uspi_macho_code *code, usp_addr mask,
                      const struct visible *visible) {
    for (uint32_t node = 0; node < exported->trie.count; node++) {
        usp_addr start;
        if (!macho_exported_code(exported, node, code, mask, &start)) continue;
        if (visible->count == 0) return true;
        if (bsearch(&start, visible->starts, visible->count, sizeof start, compare_addresses) == NULL) return true;
    }
    return false;
}

/* Opens the exports. They are not kept when the two symbol tables (count 0: absent) name all of their code: they would
 * only cost memory. mask: the bits of a value that are the address. Returns USP_OK, also without any exports,
 * USP_ERROR_NO_MEMORY, or the status with which reading the symbols failed. */
static int macho_exported_open(struct uspi_macho_exported *exported, const struct uspi_macho *macho,
                               const struct uspi_macho_symbols symbols[2], usp_addr mask) {
    struct uspi_macho_extent extent;
    struct uspi_macho_code code;
    struct visible visible = {0};
    *exported = (struct uspi_macho_exported){0};
    if (uspi_macho_extent(macho, &extent, NULL) != USP_OK) return USP_OK;
    exported->header = extent.header;
    int status = uspi_macho_exports_open(&exported->trie, macho, NULL);
    if (status != USP_OK) return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
    status = uspi_macho_code_read(macho, &code);
    for (unsigned i = 0; status == USP_OK && i < 2; i++) status = read_visible(&symbols[i], mask, &visible);
    if (visible.count > 0) qsort(visible.starts, visible.count, sizeof *visible.starts, compare_addresses);
    if (status != USP_OK || !says_more(exported, &code, mask, &visible)) uspi_macho_exports_close(&exported->trie);
    free(visible.starts);
    return status;
}

/* ---- stubs ---- */

/* Stubs: the few instructions through which Mach-O code calls into other libraries. They have no symbols of their own.
 * The indirect symbol table gives the symbol to which each one leads.
 * Source: xnu EXTERNAL_HEADERS/mach-o/loader.h, section type S_SYMBOL_STUBS. */
/* The maximum number of stub sections. Linkers write at most one for lazy calls and one for others. */
#define USPI_STUB_SECTIONS 8

struct uspi_stub_section {
    usp_addr address; /* as linked */
    uint32_t size;    /* of one stub in bytes */
    uint32_t first;   /* the first stub's entry in the indirect symbol table */
    uint32_t count;
};

struct uspi_macho_stubs {
    struct uspi_bytes indirect;
    struct uspi_stub_section sections[USPI_STUB_SECTIONS];
    uint32_t count; /* of sections */
};

/* A stub: where it lies and what it leads to. macho_stub finds the stub of entry `entry` in the indirect symbol
 * table. It returns USP_ERROR_NOT_FOUND when no stub has the entry, or the entry names no symbol. */
struct uspi_stub {
    usp_addr address;
    uint32_t size;
    uint32_t symbol; /* number in the symbol table */
};

#define ENTRY 4

static void add_section(struct uspi_macho_stubs *stubs, const struct uspi_macho_section *section) {
    const uint64_t entries = stubs->indirect.size / ENTRY;
    if ((section->flags & USPI_S_TYPE) != USPI_S_SYMBOL_STUBS || section->reserved2 == 0) return;
    if (section->reserved1 >= entries || stubs->count == USPI_STUB_SECTIONS) return;
    uint64_t count = section->size / section->reserved2, left = entries - section->reserved1;
    stubs->sections[stubs->count++] = (struct uspi_stub_section){
        section->address, section->reserved2, section->reserved1, (uint32_t)(count < left ? count : left)};
}

/* Finds the sections of stubs. Returns USP_OK, also when there are none, or the status with which reading failed. */
static int macho_stubs_open(struct uspi_macho_stubs *stubs, const struct uspi_macho *macho) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    struct uspi_macho_section section;
    *stubs = (struct uspi_macho_stubs){0};
    int status = uspi_macho_indirect_symbols(macho, &stubs->indirect, NULL);
    if (status == USP_ERROR_NOT_FOUND) return USP_OK;
    if (status != USP_OK) return status;
    int got;
    while ((got = uspi_macho_next_segment(macho, &cursor, &segment, NULL)) > 0) {
        for (uint32_t i = 0; i < segment.section_count; i++) {
            status = uspi_macho_section(macho, &segment, i, &section, NULL);
            if (status != USP_OK) return status;
            add_section(stubs, &section);
        }
    }
    return got < 0 ? got : USP_OK;
}

static int macho_stub(const struct uspi_macho_stubs *stubs, uint32_t entry, struct uspi_stub *stub) {
    for (uint32_t i = 0; i < stubs->count; i++) {
        const struct uspi_stub_section *section = &stubs->sections[i];
        uint64_t number;
        if (entry < section->first || entry - section->first >= section->count) continue;
        int status = uspi_bytes_load(stubs->indirect, (uint64_t)entry * ENTRY, ENTRY, &number, "stub's symbol", NULL);
        if (status != USP_OK) return status;
        if ((number & (USPI_INDIRECT_SYMBOL_LOCAL | USPI_INDIRECT_SYMBOL_ABS)) != 0) return USP_ERROR_NOT_FOUND;
        stub->address = section->address + (uint64_t)(entry - section->first) * section->size;
        stub->size = section->size;
        stub->symbol = (uint32_t)number;
        return USP_OK;
    }
    return USP_ERROR_NOT_FOUND;
}

/* A symbol's number in the index. The top two bits are its kind, the others the entry of that kind. With IS_NAME, which
 * is set for symbol tables only, the others are the offset of the name in the table's strings. */
#define KIND_SHIFT 30
#define IS_NAME    (UINT32_C(1) << 29)
#define ENTRY_MAX  (IS_NAME - 2)
#define ENTRY_MASK ((UINT32_C(1) << KIND_SHIFT) - 1)

enum kind {
    OWN,     /* the file's symbol table */
    OF_DSYM, /* that of its dSYM */
    EXPORT,  /* an export; with GO, a function of Go's table */
    STUB     /* an entry of the indirect symbol table; with OBJC_STUB, an offset in __objc_stubs */
};

/* The origin of stabs, which list functions that the file's symbol table has, too. Other origins are kinds. */
#define ORIGIN_STABS 4

#define OBJC_STUB (UINT32_C(1) << 29)
#define GO        (UINT32_C(1) << 29)

/* Of several symbols with the same start, the one with the lowest rank wins. */
enum rank {
    RANK_GLOBAL = 0,
    RANK_PRIVATE_EXTERNAL,
    RANK_LOCAL,
    RANK_WEAK,
    RANK_ALTERNATIVE = 4, /* added to the ranks above */
    RANK_EXPORT = 8,
    RANK_STAB, /* a function of the debug map that no other entry names */
    RANK_GO,
    RANK_STUB
};

/* What atos, sample and crash reports write before the name of a stub's target. */
#define STUB_PREFIX "DYLD-STUB$$"

/* The name that the shared cache gives to local symbols (dyld, DyldSharedCache builder). */
#define REDACTED "<redacted>"

struct macho_tables {
    struct uspi_tables contract;
    struct uspi_macho macho;
    struct uspi_macho_symbols symbols[2]; /* OWN and OF_DSYM; count 0: absent */
    struct uspi_macho debug;              /* the dSYM, which has symbols[OF_DSYM] */
    struct uspi_macho_stabs stabs;        /* of OWN */
    struct uspi_macho_exported exports;   /* kept only when they name more than the symbols */
    struct uspi_macho_stubs stubs;
    struct uspi_objc_stubs objc_stubs;
    struct uspi_go_table go; /* count 0: there is none */
    usp_addr address;        /* a mask that clears the Thumb bit, bit 0 of the addresses of functions of 32-bit ARM */
};

/* The context of all functions that gather. */
struct gathering {
    const struct macho_tables *tables;
    struct uspi_macho_code code;
    struct uspi_macho_ends ends;
    bool names_all; /* the tables name the functions that are local to the file */
    struct uspi_gathering *into;
};

static uint32_t number_of(enum kind kind, uint64_t entry) { return (uint32_t)kind << KIND_SHIFT | (uint32_t)entry; }

/* ---- names ---- */

/* Returns the name without the underscore that Mach-O puts before C names (LLVM DataLayout, "m:o"). Bitcode builds
 * replace names ("__hidden#12_"), and a BCSymbolMap maps them back; these names have no such underscore. */
static const char *without_underscore(const char *name) {
    return name[0] == '_' && strncmp(name, "__hidden#", 9) != 0 ? name + 1 : name;
}

/* Keeps a name that cannot be used in place, with `prefix` before it. The buffer grows until the name fits. */
static int keep_symbol_name(const struct uspi_macho_symbols *symbols, uint32_t offset, const char *prefix,
                            struct uspi_names *names, const char **name) {
    const size_t before = strlen(prefix);
    int status = USP_ERROR_FULL;
    for (size_t capacity = 256; status == USP_ERROR_FULL; capacity *= 4) {
        char *buffer = malloc(before + capacity);
        if (buffer == NULL) return USP_ERROR_NO_MEMORY;
        char *read = buffer + before;
        status = uspi_bytes_string(symbols->strings, offset, read, capacity, "name", NULL);
        if (status == USP_OK) {
            const char *rest = without_underscore(read);
            memmove(read, rest, strlen(rest) + 1);
            memcpy(buffer, prefix, before);
            *name = uspi_names_keep(names, buffer, strlen(buffer));
            if (*name == NULL) status = USP_ERROR_NO_MEMORY;
        }
        free(buffer);
    }
    return status;
}

static int keep_export_name(const struct macho_tables *m, uint32_t node, struct uspi_names *names, const char **name) {
    size_t length;
    int status = uspi_macho_export_name(&m->exports.trie, node, NULL, &length, NULL);
    if (status != USP_OK) return status;
    char *buffer = malloc(length + 1);
    if (buffer == NULL) return USP_ERROR_NO_MEMORY;
    status = uspi_macho_export_name(&m->exports.trie, node, buffer, &length, NULL);
    if (status == USP_OK) {
        buffer[length] = '\0';
        const char *rest = without_underscore(buffer);
        *name = uspi_names_keep(names, rest, strlen(rest));
        if (*name == NULL) status = USP_ERROR_NO_MEMORY;
    }
    free(buffer);
    return status;
}

/* ---- gathering ---- */

static enum rank rank_of(const struct uspi_macho_symbol *symbol) {
    enum rank rank = RANK_LOCAL;
    if ((symbol->type & USPI_N_PEXT) != 0) {
        rank = RANK_PRIVATE_EXTERNAL;
    } else if ((symbol->type & USPI_N_EXT) != 0) {
        rank = (symbol->description & USPI_N_WEAK_DEF) != 0 ? RANK_WEAK : RANK_GLOBAL;
    }
    return (symbol->description & USPI_N_ALT_ENTRY) != 0 ? rank + RANK_ALTERNATIVE : rank;
}

/* Returns whether a symbol is a private label of a compiler or an assembler, which names no function: L…, l…, ltmp…
 * (LLVM MCAsmInfoDarwin, private and linker-private prefixes). An external symbol is never one. */
static bool is_private_label(const struct uspi_macho_symbol *symbol, const char *name) {
    return (name[0] == 'L' || name[0] == 'l') && (symbol->type & (USPI_N_EXT | USPI_N_PEXT)) == 0;
}

static int gather_symbol(struct gathering *g, enum kind kind, uint64_t i, const struct uspi_stab_functions *stabs) {
    const struct macho_tables *m = g->tables;
    const struct uspi_macho_symbols *symbols = &m->symbols[kind];
    struct uspi_macho_symbol symbol;
    char buffer[USPI_MACHO_NAME_BEGINNING];
    int status = uspi_macho_symbol(symbols, i, &symbol, NULL);
    if (status != USP_OK) return status;
    const bool is_stab = (symbol.type & USPI_N_STAB) != 0;
    if (is_stab && (symbol.type != USPI_N_FUN || kind != OWN)) return USP_OK;
    if (!is_stab && (symbol.type & USPI_N_TYPE) != USPI_N_SECT) return USP_OK;
    usp_addr start = symbol.value & m->address;
    if (!uspi_gathering_wants(g->into, start, start)) return USP_OK;
    if (!uspi_macho_code_holds(&g->code, symbol.section, start)) return USP_OK;
    const char *name = uspi_macho_name_beginning(symbols, symbol.name, buffer);
    /* The second entry of a pair of stabs has no name, and its value is a size, not an address. */
    if (is_stab && name[0] == '\0') return USP_OK;
    if (name[0] == '\0' || strcmp(name, REDACTED) == 0) return uspi_gather_boundary(g->into, start);
    uint32_t entry = (uint32_t)i;
    if (!is_stab && kind == OWN) entry = uspi_stab_function(stabs, symbols, start, name, entry);
    /* An entry of the debug map's functions is a function whatever its name (Dart: List.add). */
    if (!is_stab && entry == i && is_private_label(&symbol, name)) return USP_OK;
    struct uspi_gathered_symbol candidate = {.start = start,
                                             .symbol = number_of(kind, entry),
                                             .rank = is_stab ? RANK_STAB : rank_of(&symbol),
                                             .origin = (uint8_t)(is_stab ? ORIGIN_STABS : kind)};
    const bool is_thumb = symbol.value != start || (symbol.description & USPI_N_ARM_THUMB_DEF) != 0;
    uspi_macho_bound(&g->ends, m->macho.arch == USP_ARCH_ARMV7 && is_thumb, &candidate);
    /* A stab gives more than a name, so its entry is kept instead. */
    if (!is_stab && entry == i && symbol.name < IS_NAME) candidate.name = number_of(kind, IS_NAME | symbol.name);
    return uspi_gather(g->into, &candidate);
}

static int gather_symbols(struct gathering *g, enum kind kind) {
    const struct macho_tables *m = g->tables;
    struct uspi_stab_functions stabs = {0};
    int status = USP_OK;
    if (kind == OWN && m->stabs.has_functions) {
        status = uspi_stab_functions_read(&stabs, &m->symbols[OWN], &g->code, m->address);
    }
    for (uint64_t i = 0; status == USP_OK && i < m->symbols[kind].count && i <= ENTRY_MAX; i++) {
        status = gather_symbol(g, kind, i, &stabs);
    }
    uspi_stab_functions_clear(&stabs);
    return status;
}

static int gather_exports(struct gathering *g) {
    const struct macho_tables *m = g->tables;
    for (uint32_t node = 0; node < m->exports.trie.count && node <= ENTRY_MAX; node++) {
        struct uspi_gathered_symbol candidate = {
            .symbol = number_of(EXPORT, node), .rank = RANK_EXPORT, .origin = EXPORT};
        usp_addr exported;
        if (!macho_exported_code(&m->exports, node, &g->code, ~(usp_addr)0, &exported)) continue;
        candidate.start = exported & m->address;
        uspi_macho_bound(&g->ends, candidate.start != exported, &candidate);
        int status = uspi_gather(g->into, &candidate);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

/* Returns whether a stub's symbol has a name and is external, as the target of a stub must be. (lld 13's indirect
 * symbol tables count the debug map's entries wrongly.) */
static bool is_stub_named(const struct macho_tables *m, const struct uspi_stub *stub) {
    struct uspi_macho_symbol symbol;
    char buffer[USPI_MACHO_NAME_BEGINNING];
    return uspi_macho_symbol(&m->symbols[OWN], stub->symbol, &symbol, NULL) == USP_OK &&
           (symbol.type & (USPI_N_STAB | USPI_N_EXT)) == USPI_N_EXT &&
           uspi_macho_name_beginning(&m->symbols[OWN], symbol.name, buffer)[0] != '\0';
}

static int gather_stubs(const struct gathering *g) {
    const struct macho_tables *m = g->tables;
    for (uint32_t s = 0; s < m->stubs.count; s++) {
        const struct uspi_stub_section *section = &m->stubs.sections[s];
        for (uint32_t i = 0; i < section->count && section->first + (uint64_t)i < OBJC_STUB; i++) {
            struct uspi_stub stub;
            if (macho_stub(&m->stubs, section->first + i, &stub) != USP_OK) continue;
            if (!uspi_gathering_wants(g->into, stub.address, stub.address)) continue;
            if (!uspi_macho_code_holds_any(&g->code, stub.address) || !is_stub_named(m, &stub)) continue;
            const struct uspi_gathered_symbol candidate = {.start = stub.address,
                                                           .end = stub.address,
                                                           .symbol = number_of(STUB, section->first + i),
                                                           .rank = RANK_STUB};
            int status = uspi_gather(g->into, &candidate);
            if (status != USP_OK) return status;
        }
    }
    return USP_OK;
}

/* Adds message stubs. A stub ends where the next one begins, and at most after the size of the longest one. */
static int gather_objc_stubs(const struct gathering *g) {
    const struct macho_tables *m = g->tables;
    uint64_t offset = 0;
    for (; uspi_objc_stubs_next(&m->objc_stubs, &offset) && offset < OBJC_STUB - 1; offset++) {
        usp_addr start = m->objc_stubs.address + offset;
        const struct uspi_gathered_symbol candidate = {.start = start,
                                                       .end = start + USPI_OBJC_STUB_SIZE,
                                                       .symbol = number_of(STUB, OBJC_STUB | offset),
                                                       .rank = RANK_STUB,
                                                       .is_unsized = true};
        if (!uspi_macho_code_holds_any(&g->code, start)) continue;
        int status = uspi_gather(g->into, &candidate);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

/* Returns whether the tables name the functions that are local to the file. */
static bool names_all(const struct macho_tables *m, const struct uspi_macho_code *code) {
    if (m->symbols[OF_DSYM].count > 0 || m->macho.type == USPI_MH_OBJECT || m->macho.type == USPI_MH_DSYM) return true;
    for (uint64_t i = 0; i < m->symbols[OWN].count; i++) {
        struct uspi_macho_symbol symbol;
        if (uspi_macho_symbol(&m->symbols[OWN], i, &symbol, NULL) != USP_OK) return false;
        if ((symbol.type & (USPI_N_STAB | USPI_N_EXT | USPI_N_TYPE)) != USPI_N_SECT) continue;
        if (uspi_macho_code_holds(code, symbol.section, symbol.value & m->address)) return true;
    }
    return false;
}

static int gather_all(struct gathering *g) {
    int status = gather_symbols(g, OWN);
    if (status == USP_OK) status = gather_symbols(g, OF_DSYM);
    if (status == USP_OK) status = gather_exports(g);
    if (status == USP_OK) status = gather_stubs(g);
    if (status == USP_OK) status = gather_objc_stubs(g);
    if (status == USP_OK && !g->names_all) {
        status = uspi_go_gather(&g->tables->go, number_of(EXPORT, GO), GO - 2, RANK_GO, g->into);
    }
    if (status != USP_OK || g->into->count == 0) return status;
    return uspi_macho_gather_bounds(&g->tables->macho, &g->code, g->tables->address, g->into);
}

static int gather(const struct uspi_tables *tables, struct uspi_gathering *gathering) {
    struct gathering g = {.tables = (const struct macho_tables *)tables, .into = gathering};
    const struct uspi_macho *macho = &g.tables->macho;
    struct uspi_macho_space space = {0};
    int status = uspi_macho_code_read(macho, &g.code);
    if (status != USP_OK) return status;
    const bool has_starts = uspi_macho_has_starts(macho);
    if (!has_starts || g.tables->go.count > 0) g.names_all = names_all(g.tables, &g.code);
    const bool is_whole = has_starts || g.names_all;
    if (!is_whole) status = uspi_macho_space_open(&space, macho, NULL);
    if (status == USP_ERROR_NO_MEMORY) return status;
    uspi_macho_ends_init(&g.ends, macho, &space, &g.code, is_whole);
    status = gather_all(&g);
    uspi_macho_space_close(&space);
    return status;
}

/* ---- looking up what was gathered ---- */

static int get_name(const struct uspi_macho_symbols *symbols, uint32_t offset, struct uspi_names *names,
                    const char **name) {
    const char *in_place = uspi_bytes_string_in_place(symbols->strings, offset);
    if (in_place == NULL) return keep_symbol_name(symbols, offset, "", names, name);
    *name = without_underscore(in_place);
    return USP_OK;
}

static int get_symbol(const struct macho_tables *m, enum kind kind, uint32_t entry, struct uspi_names *names,
                      struct uspi_symbol_answer *named) {
    const struct uspi_macho_symbols *symbols = &m->symbols[kind];
    struct uspi_macho_symbol symbol;
    int status = uspi_macho_symbol(symbols, entry, &symbol, NULL);
    if (status != USP_OK) return status;
    named->start = symbol.value & m->address;
    if (kind == OWN && symbol.type == USPI_N_FUN) {
        named->size = uspi_macho_stab_size(symbols, entry);
        status = uspi_macho_stab_file(&m->stabs, symbols, entry, names, &named->source_file);
        if (status != USP_OK) return status;
    }
    return get_name(symbols, symbol.name, names, &named->name);
}

static int get_export(const struct macho_tables *m, uint32_t node, struct uspi_names *names,
                      struct uspi_symbol_answer *named) {
    struct uspi_export found;
    int status = uspi_macho_export(&m->exports.trie, node, &found, NULL);
    if (status != USP_OK) return status;
    named->start = (m->exports.header + found.offset) & m->address;
    return keep_export_name(m, node, names, &named->name);
}

static int get_stub(const struct macho_tables *m, uint32_t entry, struct uspi_names *names,
                    struct uspi_symbol_answer *named) {
    struct uspi_stub stub;
    struct uspi_macho_symbol symbol;
    if ((entry & OBJC_STUB) != 0) {
        named->start = m->objc_stubs.address + (entry & ~OBJC_STUB);
        return uspi_objc_stub_name(&m->objc_stubs, entry & ~OBJC_STUB, names, &named->name);
    }
    int status = macho_stub(&m->stubs, entry, &stub);
    if (status == USP_OK) status = uspi_macho_symbol(&m->symbols[OWN], stub.symbol, &symbol, NULL);
    if (status != USP_OK) return status;
    named->start = stub.address;
    named->size = stub.size;
    return keep_symbol_name(&m->symbols[OWN], symbol.name, STUB_PREFIX, names, &named->name);
}

static int get(const struct uspi_tables *tables, uint32_t number, struct uspi_names *names,
               struct uspi_symbol_answer *named) {
    const struct macho_tables *m = (const struct macho_tables *)tables;
    const enum kind kind = (enum kind)(number >> KIND_SHIFT);
    *named = (struct uspi_symbol_answer){.start = named->start, .size = named->size};
    switch (kind) {
    case EXPORT:
        if ((number & GO) != 0) return uspi_go_get(&m->go, number & ENTRY_MASK & ~GO, names, named);
        return get_export(m, number & ENTRY_MASK, names, named);
    case STUB: return get_stub(m, number & ENTRY_MASK, names, named);
    case OWN:
    case OF_DSYM: break;
    }
    if ((number & IS_NAME) != 0)
        return get_name(&m->symbols[kind], number & ~IS_NAME & ENTRY_MASK, names, &named->name);
    return get_symbol(m, kind, number & ENTRY_MASK, names, named);
}

/* Returns the name for comparison: without the underscore, and "" when it cannot be compared. */
static const char *name_to_compare(const struct macho_tables *m, uint32_t number,
                                   char buffer[USPI_MACHO_NAME_BEGINNING]) {
    enum kind kind = (enum kind)(number >> KIND_SHIFT);
    struct uspi_macho_symbol symbol;
    size_t length;
    if (kind == EXPORT && (number & GO) != 0) return uspi_go_name(&m->go, number & ENTRY_MASK & ~GO);
    if (kind == EXPORT) {
        int status = uspi_macho_export_name(&m->exports.trie, number & ENTRY_MASK, NULL, &length, NULL);
        if (status != USP_OK || length >= USPI_MACHO_NAME_BEGINNING) return "";
        status = uspi_macho_export_name(&m->exports.trie, number & ENTRY_MASK, buffer, &length, NULL);
        buffer[status == USP_OK ? length : 0] = '\0';
        return without_underscore(buffer);
    }
    if (kind == STUB) return "";
    const struct uspi_macho_symbols *symbols = &m->symbols[kind];
    if ((number & IS_NAME) != 0) {
        symbol.name = number & ~IS_NAME & ENTRY_MASK;
    } else if (uspi_macho_symbol(symbols, number & ENTRY_MASK, &symbol, NULL) != USP_OK) {
        return "";
    }
    return without_underscore(uspi_macho_name_beginning(symbols, symbol.name, buffer));
}

/* Prefers the same names as ELF's tables do: first those without the underscores of the implementation's own aliases,
 * then the alphabetically first. So the symbol table and the exports give the same answer. */
static int prefer(const void *context, uint32_t a, uint32_t b) {
    char rooms[2][USPI_MACHO_NAME_BEGINNING];
    const char *first = name_to_compare(context, a, rooms[0]), *second = name_to_compare(context, b, rooms[1]);
    size_t underscores = 0;
    while (first[underscores] == '_' && second[underscores] == '_' && underscores < USPI_MACHO_NAME_COMPARED)
        underscores++;
    if ((first[underscores] == '_') != (second[underscores] == '_')) return first[underscores] == '_' ? 1 : -1;
    return uspi_macho_compare_names(first, second);
}

/* ---- opening ---- */

static void close_tables(struct uspi_tables *tables) {
    struct macho_tables *m = (struct macho_tables *)tables;
    uspi_macho_stabs_close(&m->stabs);
    uspi_macho_exports_close(&m->exports.trie);
    uspi_objc_stubs_close(&m->objc_stubs);
    free(m);
}

/* Opens all tables. A table that cannot be read counts as absent. Fails when the entries of a symbol table cannot be
 * read, or when memory is exhausted. */
static int open_all(struct macho_tables *m, struct uspi_bytes file, const struct uspi_bytes *debug,
                    const struct uspi_wanted_slice *wanted) {
    int status = uspi_fat_pick(file, wanted, &m->macho, NULL);
    if (status != USP_OK) return status;
    m->address = uspi_macho_address_mask(m->macho.arch);
    if (uspi_macho_symbols(&m->macho, &m->symbols[OWN], NULL) != USP_OK) m->symbols[OWN].count = 0;
    bool has_debug = debug != NULL && m->macho.type != USPI_MH_DSYM &&
                     uspi_fat_pick(*debug, wanted, &m->debug, NULL) == USP_OK &&
                     uspi_macho_symbols(&m->debug, &m->symbols[OF_DSYM], NULL) == USP_OK;
    if (!has_debug) m->symbols[OF_DSYM].count = 0;
    status = uspi_macho_stabs_open(&m->stabs, &m->symbols[OWN]);
    if (status == USP_OK) status = macho_exported_open(&m->exports, &m->macho, m->symbols, m->address);
    if (status != USP_OK) return status;
    if (macho_stubs_open(&m->stubs, &m->macho) != USP_OK) m->stubs.count = 0;
    status = uspi_objc_stubs_open(&m->objc_stubs, &m->macho);
    if (status == USP_ERROR_NO_MEMORY) return status;
    if (status != USP_OK) uspi_objc_stubs_close(&m->objc_stubs);
    status = uspi_go_find_macho(&m->macho, &m->go);
    if (status == USP_ERROR_NO_MEMORY) return status;
    if (status != USP_OK) m->go.count = 0;
    bool has_names = m->go.count > 0 || m->symbols[OWN].count > 0 || m->symbols[OF_DSYM].count > 0 ||
                     m->exports.trie.count > 0 || m->objc_stubs.code.size > 0;
    return has_names ? USP_OK : USP_ERROR_NOT_FOUND;
}

int uspi_macho_tables_open(struct uspi_bytes file, const struct uspi_bytes *debug,
                           const struct uspi_wanted_slice *wanted, struct uspi_tables **tables) {
    struct macho_tables *m = calloc(1, sizeof *m);
    if (m == NULL) return USP_ERROR_NO_MEMORY;
    m->contract = (struct uspi_tables){
        .gather = gather, .get = get, .prefer = prefer, .close = close_tables, .memory = sizeof *m};
    int status = open_all(m, file, debug, wanted);
    if (status != USP_OK) {
        close_tables(&m->contract);
        return status;
    }
    m->contract.memory +=
        m->exports.trie.count * sizeof *m->exports.trie.nodes + m->stabs.count * sizeof *m->stabs.files;
    *tables = &m->contract;
    return USP_OK;
}
