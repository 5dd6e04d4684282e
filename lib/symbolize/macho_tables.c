/* SPDX-License-Identifier: MIT */
/* A Mach-O file's symbol table, exports and stubs as sources of names, and its function starts and unwind information as
 * their bounds: which entries name code, which alias is preferred, where a name ends. */
#include "lib/object/fat.h"
#include "lib/object/macho_exports.h"
#include "lib/object/macho_unwind_info.h"
#include "lib/symbolize/macho_code.h"
#include "lib/symbolize/macho_objc_stubs.h"
#include "lib/symbolize/macho_stabs.h"
#include "lib/symbolize/macho_stubs.h"
#include "lib/symbolize/tables.h"

#include <stdlib.h>
#include <string.h>

/* A symbol's number in the index: where it comes from in the top bits, and the entry there below them. */
#define KIND_SHIFT 30
#define ENTRY_MAX  ((UINT32_C(1) << KIND_SHIFT) - 2)
#define ENTRY_MASK ((UINT32_C(1) << KIND_SHIFT) - 1)

enum kind {
    OWN,   /* the file's symbol table */
    DEBUG, /* that of its dSYM */
    EXPORT,
    STUB /* the entry is one of the indirect symbol table, or with OBJC_STUB a place in __objc_stubs */
};

#define OBJC_STUB (UINT32_C(1) << 29)

/* Of symbols with the same start the one with the lowest rank wins. */
enum rank {
    RANK_GLOBAL = 0,
    RANK_PRIVATE_EXTERNAL,
    RANK_LOCAL,
    RANK_WEAK,
    RANK_ALTERNATIVE = 4, /* added to the ranks above */
    RANK_EXPORT = 8,
    RANK_STAB, /* of a function that no other entry names */
    RANK_STUB
};

/* Names are compared by so many bytes where they cannot be read in place. */
#define NAME_BEGINNING 512

/* What atos, sample and crash reports put before the name of what a stub leads to. */
#define STUB_PREFIX "DYLD-STUB$$"

/* What the shared cache puts in the place of a local symbol's name (dyld, DyldSharedCache builder). */
#define REDACTED "<redacted>"

struct macho_tables {
    struct uspi_tables contract;
    struct uspi_macho macho;
    struct uspi_macho_symbols symbols[2]; /* OWN and DEBUG; count 0: absent */
    struct uspi_macho debug;              /* the file of the latter */
    struct uspi_macho_stabs stabs;        /* of OWN */
    struct uspi_macho_exports exports;    /* only when they say more than the symbols */
    struct uspi_macho_stubs stubs;
    struct uspi_objc_stubs objc_stubs;
    usp_addr header;  /* as linked; exports count from it */
    usp_addr address; /* a mask: without the Thumb bit that 32-bit ARM's functions can have in bit 0 */
};

static uint32_t number_of(enum kind kind, uint64_t entry) { return (uint32_t)kind << KIND_SHIFT | (uint32_t)entry; }

/* ---- names ---- */

/* Mach-O's C symbols have an underscore in front of their name (LLVM DataLayout, "m:o"). */
static const char *without_underscore(const char *name) { return name[0] == '_' ? name + 1 : name; }

/* The beginning of a name as it stands in a symbol table; in place where that is possible. */
static const char *name_beginning(const struct uspi_macho_symbols *symbols, uint32_t name, char room[NAME_BEGINNING]) {
    const char *in_place = uspi_bytes_string_in_place(symbols->strings, name);
    if (in_place != NULL) return in_place;
    room[0] = '\0';
    int status = uspi_bytes_string(symbols->strings, name, room, NAME_BEGINNING, "name", NULL);
    return status == USP_OK || status == USP_ERROR_FULL ? room : "";
}

/* A name that cannot be used in place, kept with `prefix` before it. Read with room that grows until it fits. */
static int keep_symbol_name(const struct uspi_macho_symbols *symbols, uint32_t offset, const char *prefix,
                            struct uspi_names *names, const char **name) {
    const size_t before = strlen(prefix);
    int status = USP_ERROR_FULL;
    for (size_t room = 256; status == USP_ERROR_FULL; room *= 4) {
        char *buffer = malloc(before + room);
        if (buffer == NULL) return USP_ERROR_NO_MEMORY;
        char *read = buffer + before;
        status = uspi_bytes_string(symbols->strings, offset, read, room, "name", NULL);
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
    int status = uspi_macho_export_name(&m->exports, node, NULL, &length, NULL);
    if (status != USP_OK) return status;
    char *buffer = malloc(length + 1);
    if (buffer == NULL) return USP_ERROR_NO_MEMORY;
    status = uspi_macho_export_name(&m->exports, node, buffer, &length, NULL);
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

/* Labels that compilers and assemblers leave behind and that name no function: L…, l…, ltmp… (LLVM MCAsmInfoDarwin,
 * private and linker-private prefixes). What was made visible on purpose is none of them. */
static bool is_private_label(const struct uspi_macho_symbol *symbol, const char *name) {
    return (name[0] == 'L' || name[0] == 'l') && (symbol->type & (USPI_N_EXT | USPI_N_PEXT)) == 0;
}

/* A function in the debug map. */
struct stab {
    usp_addr start;
    uint32_t name;
    uint32_t entry;
};

static int by_start(const void *a, const void *b) {
    const struct stab *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

struct stab_list {
    struct stab *stabs;
    size_t count, room;
};

static int read_stabs(const struct macho_tables *m, const struct uspi_macho_code *code, struct stab_list *list) {
    const struct uspi_macho_symbols *symbols = &m->symbols[OWN];
    /* Linkers write no functions without their files. */
    for (uint64_t i = 0; m->stabs.count > 0 && i < symbols->count; i++) {
        struct uspi_macho_symbol symbol;
        int status = uspi_macho_symbol(symbols, i, &symbol, NULL);
        if (status != USP_OK) return status;
        usp_addr start = symbol.value & m->address;
        if (symbol.type != USPI_N_FUN || !uspi_macho_code_holds(code, symbol.section, start)) continue;
        if (list->count == list->room) {
            list->room = list->room == 0 ? 64 : list->room * 2;
            struct stab *grown = realloc(list->stabs, list->room * sizeof *grown);
            if (grown == NULL) return USP_ERROR_NO_MEMORY;
            list->stabs = grown;
        }
        list->stabs[list->count++] = (struct stab){start, symbol.name, (uint32_t)i};
    }
    if (list->count > 0) qsort(list->stabs, list->count, sizeof *list->stabs, by_start);
    return USP_OK;
}

/* The entry of the debug map with the same start and name, which knows more; otherwise the symbol's own. */
static uint32_t entry_of(const struct macho_tables *m, const struct stab_list *list, usp_addr start, const char *name,
                         uint32_t own) {
    char room[NAME_BEGINNING];
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->stabs[middle].start < start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < list->count && list->stabs[low].start == start; low++) {
        if (strcmp(name_beginning(&m->symbols[OWN], list->stabs[low].name, room), name) == 0) {
            return list->stabs[low].entry;
        }
    }
    return own;
}

static int gather_symbol(const struct macho_tables *m, enum kind kind, uint64_t i, const struct uspi_macho_code *code,
                         const struct stab_list *stabs, struct uspi_gathering *gathering) {
    const struct uspi_macho_symbols *symbols = &m->symbols[kind];
    struct uspi_macho_symbol symbol;
    char room[NAME_BEGINNING];
    int status = uspi_macho_symbol(symbols, i, &symbol, NULL);
    if (status != USP_OK) return status;
    const bool is_stab = (symbol.type & USPI_N_STAB) != 0;
    if (is_stab && (symbol.type != USPI_N_FUN || kind != OWN)) return USP_OK;
    if (!is_stab && (symbol.type & USPI_N_TYPE) != USPI_N_SECT) return USP_OK;
    usp_addr start = symbol.value & m->address;
    if (!uspi_macho_code_holds(code, symbol.section, start)) return USP_OK;
    const char *name = name_beginning(symbols, symbol.name, room);
    /* The second of a pair of stabs has no name, and a size where others have an address. */
    if (is_stab && name[0] == '\0') return USP_OK;
    if (name[0] == '\0' || strcmp(name, REDACTED) == 0) return uspi_gather_boundary(gathering, start);
    if (is_private_label(&symbol, name)) return USP_OK;
    uint32_t entry = (uint32_t)i;
    if (!is_stab && kind == OWN) entry = entry_of(m, stabs, start, name, entry);
    struct uspi_candidate candidate = {start, start, number_of(kind, entry), is_stab ? RANK_STAB : rank_of(&symbol)};
    return uspi_gather(gathering, &candidate);
}

static int gather_symbols(const struct macho_tables *m, enum kind kind, const struct uspi_macho_code *code,
                          struct uspi_gathering *gathering) {
    struct stab_list stabs = {0};
    int status = kind == OWN ? read_stabs(m, code, &stabs) : USP_OK;
    for (uint64_t i = 0; status == USP_OK && i < m->symbols[kind].count && i <= ENTRY_MAX; i++) {
        status = gather_symbol(m, kind, i, code, &stabs, gathering);
    }
    free(stabs.stabs);
    return status;
}

/* Whether a node exports code of this file, and where. */
static bool exported_code(const struct macho_tables *m, const struct uspi_macho_code *code, uint32_t node,
                          usp_addr *start) {
    struct uspi_export found;
    if (node == 0 || uspi_macho_export(&m->exports, node, &found, NULL) != USP_OK) return false;
    if ((found.flags & (USPI_EXPORT_KIND | USPI_EXPORT_REEXPORT)) != USPI_EXPORT_REGULAR) return false;
    *start = (m->header + found.offset) & m->address;
    return uspi_macho_code_holds_any(code, *start);
}

static int gather_exports(const struct macho_tables *m, const struct uspi_macho_code *code,
                          struct uspi_gathering *gathering) {
    for (uint32_t node = 0; node < m->exports.count && node <= ENTRY_MAX; node++) {
        struct uspi_candidate candidate = {.symbol = number_of(EXPORT, node), .rank = RANK_EXPORT};
        if (!exported_code(m, code, node, &candidate.start)) continue;
        candidate.end = candidate.start;
        int status = uspi_gather(gathering, &candidate);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

/* A stub leads to what other files see or have. (lld 13's indirect symbol tables count the debug map's entries wrongly.) */
static bool is_stub_named(const struct macho_tables *m, const struct uspi_stub *stub) {
    struct uspi_macho_symbol symbol;
    char room[NAME_BEGINNING];
    return uspi_macho_symbol(&m->symbols[OWN], stub->symbol, &symbol, NULL) == USP_OK &&
           (symbol.type & (USPI_N_STAB | USPI_N_EXT)) == USPI_N_EXT &&
           name_beginning(&m->symbols[OWN], symbol.name, room)[0] != '\0';
}

static int gather_stubs(const struct macho_tables *m, const struct uspi_macho_code *code,
                        struct uspi_gathering *gathering) {
    for (uint32_t s = 0; s < m->stubs.count; s++) {
        const struct uspi_stub_section *section = &m->stubs.sections[s];
        for (uint32_t i = 0; i < section->count && section->first + (uint64_t)i < OBJC_STUB; i++) {
            struct uspi_stub stub;
            if (uspi_macho_stub(&m->stubs, section->first + i, &stub) != USP_OK) continue;
            if (!uspi_macho_code_holds_any(code, stub.address) || !is_stub_named(m, &stub)) continue;
            struct uspi_candidate candidate = {stub.address, stub.address, number_of(STUB, section->first + i),
                                               RANK_STUB};
            int status = uspi_gather(gathering, &candidate);
            if (status != USP_OK) return status;
        }
    }
    return USP_OK;
}

/* The end of a stub is the next one's beginning. */
static int gather_objc_stubs(const struct macho_tables *m, const struct uspi_macho_code *code,
                             struct uspi_gathering *gathering) {
    uint64_t offset = 0;
    for (; uspi_objc_stubs_next(&m->objc_stubs, &offset) && offset < OBJC_STUB - 1; offset++) {
        usp_addr start = m->objc_stubs.address + offset;
        struct uspi_candidate candidate = {start, start, number_of(STUB, OBJC_STUB | offset), RANK_STUB};
        if (!uspi_macho_code_holds_any(code, start)) continue;
        int status = uspi_gather(gathering, &candidate);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

static int gather(const struct uspi_tables *tables, struct uspi_gathering *gathering) {
    const struct macho_tables *m = (const struct macho_tables *)tables;
    struct uspi_macho_code code;
    int status = uspi_macho_code_read(&m->macho, &code);
    if (status == USP_OK) status = gather_symbols(m, OWN, &code, gathering);
    if (status == USP_OK) status = gather_symbols(m, DEBUG, &code, gathering);
    if (status == USP_OK) status = gather_exports(m, &code, gathering);
    if (status == USP_OK) status = gather_stubs(m, &code, gathering);
    if (status == USP_OK) status = gather_objc_stubs(m, &code, gathering);
    if (status != USP_OK || gathering->count == 0) return status;
    return uspi_macho_gather_bounds(&m->macho, &code, m->address, gathering);
}

/* ---- what was gathered ---- */

static int get_symbol(const struct macho_tables *m, enum kind kind, uint32_t entry, struct uspi_names *names,
                      struct uspi_named *named) {
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
    const char *in_place = uspi_bytes_string_in_place(symbols->strings, symbol.name);
    if (in_place == NULL) return keep_symbol_name(symbols, symbol.name, "", names, &named->name);
    named->name = without_underscore(in_place);
    return USP_OK;
}

static int get_export(const struct macho_tables *m, uint32_t node, struct uspi_names *names, struct uspi_named *named) {
    struct uspi_export found;
    int status = uspi_macho_export(&m->exports, node, &found, NULL);
    if (status != USP_OK) return status;
    named->start = (m->header + found.offset) & m->address;
    return keep_export_name(m, node, names, &named->name);
}

static int get_stub(const struct macho_tables *m, uint32_t entry, struct uspi_names *names, struct uspi_named *named) {
    struct uspi_stub stub;
    struct uspi_macho_symbol symbol;
    if ((entry & OBJC_STUB) != 0) {
        named->start = m->objc_stubs.address + (entry & ~OBJC_STUB);
        return uspi_objc_stub_name(&m->objc_stubs, entry & ~OBJC_STUB, names, &named->name);
    }
    int status = uspi_macho_stub(&m->stubs, entry, &stub);
    if (status == USP_OK) status = uspi_macho_symbol(&m->symbols[OWN], stub.symbol, &symbol, NULL);
    if (status != USP_OK) return status;
    named->start = stub.address;
    named->size = stub.size;
    return keep_symbol_name(&m->symbols[OWN], symbol.name, STUB_PREFIX, names, &named->name);
}

static int get(const struct uspi_tables *tables, uint32_t number, struct uspi_names *names, struct uspi_named *named) {
    const struct macho_tables *m = (const struct macho_tables *)tables;
    *named = (struct uspi_named){0};
    switch ((enum kind)(number >> KIND_SHIFT)) {
    case EXPORT: return get_export(m, number & ENTRY_MASK, names, named);
    case STUB: return get_stub(m, number & ENTRY_MASK, names, named);
    case OWN:
    case DEBUG: break;
    }
    return get_symbol(m, (enum kind)(number >> KIND_SHIFT), number & ENTRY_MASK, names, named);
}

/* For comparison: without the underscore, and "" for what has no comparable name. */
static const char *name_to_compare(const struct macho_tables *m, uint32_t number, char room[NAME_BEGINNING]) {
    enum kind kind = (enum kind)(number >> KIND_SHIFT);
    struct uspi_macho_symbol symbol;
    size_t length;
    if (kind == EXPORT) {
        int status = uspi_macho_export_name(&m->exports, number & ENTRY_MASK, NULL, &length, NULL);
        if (status != USP_OK || length >= NAME_BEGINNING) return "";
        status = uspi_macho_export_name(&m->exports, number & ENTRY_MASK, room, &length, NULL);
        room[status == USP_OK ? length : 0] = '\0';
        return without_underscore(room);
    }
    if (kind == STUB || uspi_macho_symbol(&m->symbols[kind], number & ENTRY_MASK, &symbol, NULL) != USP_OK) return "";
    return without_underscore(name_beginning(&m->symbols[kind], symbol.name, room));
}

/* As with ELF: without the underscores of the implementation's own aliases, then by the alphabet, so that the symbol table
 * and the exports give the same answer. */
static int prefer(const void *context, uint32_t a, uint32_t b) {
    char rooms[2][NAME_BEGINNING];
    const char *first = name_to_compare(context, a, rooms[0]), *second = name_to_compare(context, b, rooms[1]);
    size_t underscores[2] = {strspn(first, "_"), strspn(second, "_")};
    if (underscores[0] != underscores[1]) return underscores[0] < underscores[1] ? -1 : 1;
    return strcmp(first, second);
}

/* ---- opening ---- */

static int compare_addresses(const void *a, const void *b) {
    const usp_addr *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The starts of the functions that the symbol tables name as visible from outside, sorted; to be freed. */
static int read_visible(const struct macho_tables *m, usp_addr **starts, size_t *count) {
    size_t room = 0;
    *starts = NULL;
    *count = 0;
    for (unsigned table = OWN; table <= DEBUG; table++) {
        for (uint64_t i = 0; i < m->symbols[table].count; i++) {
            struct uspi_macho_symbol symbol;
            int status = uspi_macho_symbol(&m->symbols[table], i, &symbol, NULL);
            if (status != USP_OK) return status;
            bool is_visible = (symbol.type & (USPI_N_STAB | USPI_N_TYPE | USPI_N_EXT)) == (USPI_N_SECT | USPI_N_EXT);
            if (!is_visible) continue;
            if (*count == room) {
                room = room == 0 ? 64 : room * 2;
                usp_addr *grown = realloc(*starts, room * sizeof *grown);
                if (grown == NULL) return USP_ERROR_NO_MEMORY;
                *starts = grown;
            }
            (*starts)[(*count)++] = symbol.value & m->address;
        }
    }
    if (*count > 0) qsort(*starts, *count, sizeof **starts, compare_addresses);
    return USP_OK;
}

/* Exports that the symbol tables name as well are not kept: they would only cost memory. */
static int open_exports(struct macho_tables *m) {
    struct uspi_macho_extent extent;
    struct uspi_macho_code code;
    usp_addr *visible = NULL, start;
    size_t count = 0;
    bool says_more = false;
    if (uspi_macho_extent(&m->macho, &extent, NULL) != USP_OK) return USP_OK;
    m->header = extent.header;
    int status = uspi_macho_exports_open(&m->exports, &m->macho, NULL);
    if (status != USP_OK) return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
    status = uspi_macho_code_read(&m->macho, &code);
    if (status == USP_OK) status = read_visible(m, &visible, &count);
    for (uint32_t i = 0; status == USP_OK && !says_more && i < m->exports.count; i++) {
        if (!exported_code(m, &code, i, &start)) continue;
        says_more = count == 0 || bsearch(&start, visible, count, sizeof *visible, compare_addresses) == NULL;
    }
    free(visible);
    if (!says_more) uspi_macho_exports_close(&m->exports);
    return status;
}

static void close_tables(struct uspi_tables *tables) {
    struct macho_tables *m = (struct macho_tables *)tables;
    uspi_macho_stabs_close(&m->stabs);
    uspi_macho_exports_close(&m->exports);
    uspi_objc_stubs_close(&m->objc_stubs);
    free(m);
}

/* What cannot be read is as good as absent, but for a lack of memory. */
static int open_all(struct macho_tables *m, struct uspi_bytes file, const struct uspi_bytes *debug, const uint8_t *uuid,
                    uint32_t arch) {
    int status = uspi_fat_pick(file, uuid, arch, &m->macho, NULL);
    if (status != USP_OK) return status;
    m->address = m->macho.arch == USP_ARCH_ARMV7 ? ~(usp_addr)1 : ~(usp_addr)0;
    if (uspi_macho_symbols(&m->macho, &m->symbols[OWN], NULL) != USP_OK) m->symbols[OWN].count = 0;
    bool has_debug = debug != NULL && m->macho.type != USPI_MH_DSYM &&
                     uspi_fat_pick(*debug, uuid, arch, &m->debug, NULL) == USP_OK &&
                     uspi_macho_symbols(&m->debug, &m->symbols[DEBUG], NULL) == USP_OK;
    if (!has_debug) m->symbols[DEBUG].count = 0;
    status = uspi_macho_stabs_open(&m->stabs, &m->symbols[OWN]);
    if (status == USP_OK) status = open_exports(m);
    if (status != USP_OK) return status;
    if (uspi_macho_stubs_open(&m->stubs, &m->macho) != USP_OK) m->stubs.count = 0;
    status = uspi_objc_stubs_open(&m->objc_stubs, &m->macho);
    if (status == USP_ERROR_NO_MEMORY) return status;
    if (status != USP_OK) uspi_objc_stubs_close(&m->objc_stubs);
    bool has_names =
        m->symbols[OWN].count > 0 || m->symbols[DEBUG].count > 0 || m->exports.count > 0 || m->objc_stubs.code.size > 0;
    return has_names ? USP_OK : USP_ERROR_NOT_FOUND;
}

int uspi_macho_tables_open(struct uspi_bytes file, const struct uspi_bytes *debug, const uint8_t *uuid, uint32_t arch,
                           struct uspi_tables **tables) {
    struct macho_tables *m = calloc(1, sizeof *m);
    if (m == NULL) return USP_ERROR_NO_MEMORY;
    m->contract = (struct uspi_tables){gather, get, prefer, close_tables, sizeof *m};
    int status = open_all(m, file, debug, uuid, arch);
    if (status != USP_OK) {
        close_tables(&m->contract);
        return status;
    }
    *tables = &m->contract;
    return USP_OK;
}
