/* SPDX-License-Identifier: MIT */
/* ELF's .symtab and .dynsym as sources of names: which entries name code, how far they reach, which alias is preferred. */
#include "lib/object/elf_symbols.h"
#include "lib/symbolize/tables.h"

#include <stdlib.h>
#include <string.h>

/* A symbol's number in the index: the table in the top bit, whether the name has a version in the next, and the entry
 * below them. */
#define TABLE_SHIFT 31
#define HAS_VERSION (UINT32_C(1) << 30)
#define ENTRY_MASK  (HAS_VERSION - 1)

/* Linux elf-em.h. */
#define EM_ARM     40
#define EM_AARCH64 183

/* Names are compared and recognised by so many bytes where they cannot be read in place. */
#define NAME_BEGINNING 128

enum { SYMTAB, DYNSYM, TABLES };

/* A section that holds code, as linked. */
struct code {
    uint64_t section;
    usp_addr low, high;
};

struct elf_tables {
    struct uspi_tables contract;
    struct uspi_elf elf;
    struct uspi_elf_symbols tables[TABLES]; /* count 0: absent */
};

static int read_code_sections(const struct uspi_elf *elf, struct code **sections, size_t *count) {
    struct code *found = NULL;
    size_t used = 0, room = 0;
    int status = USP_OK;
    for (uint64_t i = 0; status == USP_OK && i < elf->section_count; i++) {
        struct uspi_elf_section section;
        status = uspi_elf_section(elf, i, &section, NULL);
        const uint64_t wanted = USPI_SHF_ALLOC | USPI_SHF_EXECINSTR;
        usp_addr high;
        if (status != USP_OK || (section.flags & wanted) != wanted || section.size == 0) continue;
        if (!uspi_sum(section.address, section.size, &high)) continue;
        if (used == room) {
            room = room == 0 ? 8 : room * 2;
            struct code *grown = realloc(found, room * sizeof *grown);
            if (grown == NULL) {
                status = USP_ERROR_NO_MEMORY;
                break;
            }
            found = grown;
        }
        found[used++] = (struct code){i, section.address, high};
    }
    if (status != USP_OK) {
        free(found);
        return status;
    }
    *sections = found;
    *count = used;
    return USP_OK;
}

/* The symbol's section, which must be one of code and hold its address. NULL: it names no code. */
static const struct code *section_of(const struct uspi_elf_symbol *symbol, const struct code *sections, size_t count) {
    bool is_extended = symbol->section == USPI_SHN_XINDEX;
    if (symbol->section == USPI_SHN_UNDEF || (symbol->section >= USPI_SHN_RESERVED && !is_extended)) return NULL;
    for (size_t i = 0; i < count; i++) {
        bool holds = symbol->value >= sections[i].low && symbol->value < sections[i].high;
        if (holds && (is_extended || sections[i].section == symbol->section)) return &sections[i];
    }
    return NULL;
}

/* The name's beginning, as a string; in place where that is possible. */
static const char *name_beginning(const struct uspi_elf_symbols *table, uint32_t name, char room[NAME_BEGINNING]) {
    const char *in_place = uspi_bytes_string_in_place(table->strings, name);
    if (in_place != NULL) return in_place;
    room[0] = '\0';
    int status = uspi_bytes_string(table->strings, name, room, NAME_BEGINNING, "name", NULL);
    return status == USP_OK || status == USP_ERROR_FULL ? room : "";
}

/* Labels that assemblers leave behind and that name no function: .L…, and on ARM $a, $d, $t, $x, alone or with a suffix
 * ("ELF for the Arm Architecture", mapping symbols). */
static bool is_private_label(uint16_t machine, const char *name) {
    if (strncmp(name, ".L", 2) == 0) return true;
    if ((machine != EM_ARM && machine != EM_AARCH64) || name[0] != '$') return false;
    return name[1] != '\0' && strchr("adtx", name[1]) != NULL && (name[2] == '\0' || name[2] == '.');
}

/* .symtab has the version behind the name: name@VERSION, name@@VERSION. */
static size_t length_without_version(const char *name) {
    const char *version = name[0] != '\0' ? strchr(name + 1, '@') : NULL;
    return version != NULL ? (size_t)(version - name) : strlen(name);
}

static bool has_version(const char *name) { return name[length_without_version(name)] != '\0'; }

static bool is_function(const struct uspi_elf_symbol *symbol) {
    return symbol->type == USPI_STT_FUNC || symbol->type == USPI_STT_GNU_IFUNC;
}

/* Of aliases: functions before labels, global before local before weak, those with a size before those without. */
static uint32_t rank_of(const struct uspi_elf_symbol *symbol) {
    uint32_t binding = 3;
    switch (symbol->binding) {
    case USPI_STB_GLOBAL:
    case USPI_STB_GNU_UNIQUE: binding = 0; break;
    case USPI_STB_LOCAL: binding = 1; break;
    case USPI_STB_WEAK: binding = 2; break;
    default: break;
    }
    return (is_function(symbol) ? 0u : 8u) | binding << 1 | (symbol->size == 0 ? 1u : 0u);
}

static int gather_table(const struct elf_tables *e, unsigned table, const struct code *sections, size_t section_count,
                        struct uspi_gathering *gathering) {
    const struct uspi_elf_symbols *symbols = &e->tables[table];
    for (uint64_t i = 0; i < symbols->count && i < ENTRY_MASK; i++) {
        struct uspi_elf_symbol symbol;
        char room[NAME_BEGINNING];
        int status = uspi_elf_symbol(symbols, i, &symbol, NULL);
        if (status != USP_OK) return status;
        if (!is_function(&symbol) && symbol.type != USPI_STT_NOTYPE) continue;
        const struct code *section = section_of(&symbol, sections, section_count);
        if (section == NULL) continue;
        const char *name = name_beginning(symbols, symbol.name, room);
        if (name[0] == '\0' || is_private_label(symbols->machine, name)) continue;
        uint64_t left = section->high - symbol.value;
        struct uspi_candidate candidate = {
            .start = symbol.value,
            .end = symbol.value + (symbol.size < left ? symbol.size : left),
            .symbol = (uint32_t)table << TABLE_SHIFT | (has_version(name) ? HAS_VERSION : 0) | (uint32_t)i,
            .rank = rank_of(&symbol),
        };
        status = uspi_gather(gathering, &candidate);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

static int gather(const struct uspi_tables *tables, struct uspi_gathering *gathering) {
    const struct elf_tables *e = (const struct elf_tables *)tables;
    struct code *sections;
    size_t count;
    int status = read_code_sections(&e->elf, &sections, &count);
    if (status != USP_OK) return status;
    for (unsigned table = 0; status == USP_OK && table < TABLES; table++) {
        status = gather_table(e, table, sections, count, gathering);
    }
    for (size_t i = 0; status == USP_OK && i < count; i++) status = uspi_gather_boundary(gathering, sections[i].high);
    free(sections);
    return status;
}

static const char *keep_without_version(struct uspi_names *names, const char *name) {
    return uspi_names_keep(names, name, length_without_version(name));
}

/* A name that cannot be used in place, read with room that grows until it fits. */
static int read_name(const struct uspi_elf_symbols *table, uint32_t offset, struct uspi_names *names,
                     const char **name) {
    int status = USP_ERROR_FULL;
    for (size_t room = 256; status == USP_ERROR_FULL; room *= 4) {
        char *buffer = malloc(room);
        if (buffer == NULL) return USP_ERROR_NO_MEMORY;
        status = uspi_bytes_string(table->strings, offset, buffer, room, "name", NULL);
        if (status == USP_OK) {
            *name = keep_without_version(names, buffer);
            if (*name == NULL) status = USP_ERROR_NO_MEMORY;
        }
        free(buffer);
    }
    return status;
}

static int get(const struct uspi_tables *tables, uint32_t number, struct uspi_names *names, struct uspi_named *named) {
    const struct elf_tables *e = (const struct elf_tables *)tables;
    const struct uspi_elf_symbols *table = &e->tables[number >> TABLE_SHIFT];
    struct uspi_elf_symbol symbol;
    int status = uspi_elf_symbol(table, number & ENTRY_MASK, &symbol, NULL);
    if (status != USP_OK) return status;
    named->start = symbol.value;
    named->size = symbol.size;
    named->name = uspi_bytes_string_in_place(table->strings, symbol.name);
    if (named->name == NULL) return read_name(table, symbol.name, names, &named->name);
    if ((number & HAS_VERSION) != 0) named->name = keep_without_version(names, named->name);
    return named->name != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* The name that people write: without the underscores of the implementation's own aliases; then by the alphabet, so that
 * .symtab and .dynsym give the same answer. */
static int prefer(const void *context, uint32_t a, uint32_t b) {
    const struct elf_tables *e = context;
    const uint32_t numbers[2] = {a, b};
    char room[2][NAME_BEGINNING];
    const char *names[2];
    size_t underscores[2];
    for (unsigned i = 0; i < 2; i++) {
        const struct uspi_elf_symbols *table = &e->tables[numbers[i] >> TABLE_SHIFT];
        struct uspi_elf_symbol symbol;
        if (uspi_elf_symbol(table, numbers[i] & ENTRY_MASK, &symbol, NULL) != USP_OK) return 0;
        names[i] = name_beginning(table, symbol.name, room[i]);
        underscores[i] = strspn(names[i], "_");
    }
    if (underscores[0] != underscores[1]) return underscores[0] < underscores[1] ? -1 : 1;
    return strcmp(names[0], names[1]);
}

static void close_tables(struct uspi_tables *tables) { free(tables); }

int uspi_elf_tables_open(const struct uspi_file *file, const struct uspi_file *debug, struct uspi_tables **tables) {
    struct elf_tables *e = calloc(1, sizeof *e);
    if (e == NULL) return USP_ERROR_NO_MEMORY;
    e->contract = (struct uspi_tables){gather, get, prefer, close_tables};
    int status = uspi_elf_open(&e->elf, uspi_file_bytes(file), NULL);
    if (status == USP_OK) {
        bool has_symtab = uspi_elf_symbols(&e->elf, USPI_SHT_SYMTAB, &e->tables[SYMTAB], NULL) == USP_OK;
        bool has_dynsym = uspi_elf_symbols(&e->elf, USPI_SHT_DYNSYM, &e->tables[DYNSYM], NULL) == USP_OK;
        struct uspi_elf split;
        if (!has_symtab && debug != NULL && uspi_elf_open(&split, uspi_file_bytes(debug), NULL) == USP_OK) {
            has_symtab = uspi_elf_symbols(&split, USPI_SHT_SYMTAB, &e->tables[SYMTAB], NULL) == USP_OK;
        }
        /* A table that could not be read may be half filled in. */
        if (!has_symtab) e->tables[SYMTAB].count = 0;
        if (!has_dynsym) e->tables[DYNSYM].count = 0;
        if (!has_symtab && !has_dynsym) status = USP_ERROR_NOT_FOUND;
    }
    if (status != USP_OK) {
        free(e);
        return status;
    }
    *tables = &e->contract;
    return USP_OK;
}
