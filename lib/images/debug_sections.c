/* SPDX-License-Identifier: MIT */
/* See debug_sections.h. */
#include "lib/images/debug_sections.h"
#include "lib/base/bisect.h"

#include "arch/little_endian.h"
#include "lib/object/elf_code.h"

#include <stdlib.h>
#include <string.h>

/* ---- debug relocations ---- */

/* Applies the relocations of the debug sections of an unlinked ELF object: places that the linker would have filled
 * with addresses of code and with offsets in other debug sections. An executable that still has them (ld --emit-relocs)
 * already contains the values and is not relocated. Sources: the System V ABI supplements of the processors; ELF for
 * the Arm Architecture; the RISC-V ELF psABI. */

enum { SHT_RELA = 4, SHT_REL = 9 };

/* What a relocation does with its place and the sum of a symbol's value and the addend. RISC-V's linker moves code, so
 * its compilers leave each difference of two addresses to a pair of relocations: one sets or adds, the other
 * subtracts. */
struct change {
    uint8_t bits; /* of the place; 0: another kind of relocation. ULEB: as many as its bytes hold */
    enum { CHANGE_SET, CHANGE_ADD, CHANGE_SUBTRACT } how;
};
#define ULEB UINT8_MAX

static struct change riscv_change_of(uint32_t type) {
    switch (type) {
    case 1: return (struct change){32, CHANGE_SET}; /* R_RISCV_32 */
    case 2: return (struct change){64, CHANGE_SET}; /* R_RISCV_64 */
    case 33:                                        /* R_RISCV_ADD8, _ADD16, _ADD32, _ADD64 */
    case 34:
    case 35:
    case 36: return (struct change){(uint8_t)(8u << (type - 33)), CHANGE_ADD};
    case 37: /* R_RISCV_SUB8, _SUB16, _SUB32, _SUB64 */
    case 38:
    case 39:
    case 40: return (struct change){(uint8_t)(8u << (type - 37)), CHANGE_SUBTRACT};
    case 52: return (struct change){6, CHANGE_SUBTRACT}; /* R_RISCV_SUB6 */
    case 53: return (struct change){6, CHANGE_SET};      /* R_RISCV_SET6 */
    case 54:                                             /* R_RISCV_SET8, _SET16, _SET32 */
    case 55:
    case 56: return (struct change){(uint8_t)(8u << (type - 54)), CHANGE_SET};
    case 60: return (struct change){ULEB, CHANGE_SET};      /* R_RISCV_SET_ULEB128 */
    case 61: return (struct change){ULEB, CHANGE_SUBTRACT}; /* R_RISCV_SUB_ULEB128 */
    default: return (struct change){0, CHANGE_SET};
    }
}

static struct change change_of(uint16_t machine, uint32_t type) {
    unsigned bits = 0;
    switch (machine) {
    case 3: bits = type == 1 ? 32 : 0; break;                                  /* R_386_32 */
    case 40: bits = type == 2 ? 32 : 0; break;                                 /* R_ARM_ABS32 */
    case 62: bits = type == 1 ? 64 : type == 10 || type == 11 ? 32 : 0; break; /* R_X86_64_64, _32, _32S */
    case 183: bits = type == 257 ? 64 : type == 258 ? 32 : 0; break;           /* R_AARCH64_ABS64, _ABS32 */
    case 243: return riscv_change_of(type);
    default: break;
    }
    return (struct change){(uint8_t)bits, CHANGE_SET};
}

/* Changes a ULEB128 number of at most `room` bytes, without changing its length. */
static void change_uleb(uint8_t *place, size_t room, struct change change, uint64_t value) {
    size_t length = 0;
    uint64_t number = 0;
    do {
        if (length == room || length == 9) return;
        number |= (uint64_t)(place[length] & 0x7f) << 7 * length;
    } while ((place[length++] & 0x80) != 0);
    number = change.how == CHANGE_SET ? value : number - value;
    for (size_t i = 0; i < length; i++) {
        place[i] = (uint8_t)((number >> 7 * i & 0x7f) | (place[i] & 0x80));
    }
}

/* Applies one relocation to a place with `room` bytes after its beginning. */
static void apply_change(uint8_t *place, uint64_t room, struct change change, uint64_t value, bool has_addend) {
    const unsigned width = (change.bits + 7u) / 8;
    if (change.bits == ULEB) {
        change_uleb(place, room < 16 ? (size_t)room : 16, change, value);
        return;
    }
    if (width > room) return;
    const uint64_t before = uspi_le(place, width);
    uint64_t after = change.how == CHANGE_ADD ? before + value : change.how == CHANGE_SUBTRACT ? before - value : value;
    if (!has_addend && change.how == CHANGE_SET) after += before;
    if (change.bits == 6) after = (before & 0xc0) | (after & 0x3f);
    uspi_store_le(place, after, width);
}

struct relocation {
    uint64_t offset, addend;
    uint64_t symbol;
    uint32_t type;
    bool has_addend;
};

static int read_entry(const struct uspi_elf *elf, struct uspi_bytes entries, uint64_t at, bool has_addend,
                      struct relocation *relocation) {
    uint8_t raw[24];
    const unsigned word = elf->wide ? 8 : 4;
    const size_t size = has_addend ? 3 * word : 2 * word;
    int status = uspi_bytes_read(entries, at, raw, size, "relocation", NULL);
    if (status != USP_OK) return status;
    const uint64_t info = uspi_le(raw + word, word);
    relocation->offset = uspi_le(raw, word);
    relocation->type = elf->wide ? (uint32_t)info : (uint32_t)(info & 0xff);
    relocation->symbol = elf->wide ? info >> 32 : info >> 8;
    relocation->has_addend = has_addend;
    relocation->addend = has_addend ? uspi_le(raw + 2 * word, word) : 0;
    return USP_OK;
}

struct tables {
    struct uspi_elf_symbols symbols;
    struct uspi_elf_code code;
};

/* Returns the code range of a section by its number; NULL: the section has no code. uspi_elf_code_of does not serve
 * here: the end of a section lies in no range, but debug information refers to it. */
static const struct uspi_code_range *find_section(const struct uspi_elf_code *code, uint64_t number) {
    size_t i;
    USPI_FIRST(i, 0, code->by_section != NULL ? code->count : 0, code->by_section[i].section >= number);
    return i < code->count && code->by_section != NULL && code->by_section[i].section == number ? &code->by_section[i]
                                                                                                : NULL;
}

/* Gives a symbol's value: for code its address as laid out by uspi_elf_code_read, for anything else its offset in its
 * section. */
static bool value_of(const struct tables *tables, uint64_t number, uint64_t *value) {
    struct uspi_elf_symbol symbol;
    if (uspi_elf_symbol(&tables->symbols, number, &symbol, NULL) != USP_OK) return false;
    *value = symbol.value;
    const struct uspi_code_range *range = find_section(&tables->code, symbol.section);
    if (range != NULL) *value = range->low + symbol.value;
    return true;
}

static int relocate_section(struct uspi_debug_sections *sections, enum uspi_debug_section which,
                            const struct uspi_elf *elf, const struct uspi_elf_section *table,
                            const struct tables *tables) {
    struct uspi_section_bytes *section = &sections->all[which];
    struct uspi_bytes entries;
    const bool has_addend = table->type == SHT_RELA;
    const uint64_t size = (elf->wide ? 8u : 4u) * (has_addend ? 3u : 2u);
    int status = uspi_bytes_sub(elf->bytes, table->offset, table->size, "relocations", &entries, NULL);
    if (status != USP_OK) return status;
    struct uspi_packed_section *packed = sections->packed[which];
    /* A decompressed section is already a copy. */
    if (packed != NULL) {
        status = uspi_packed_section_need(packed, UINT64_MAX);
        if (status != USP_OK) return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
    } else if (sections->owned[which] == NULL) {
        const struct uspi_section_bytes *whole = uspi_debug_section(sections, which);
        if (whole->size == 0) return USP_OK;
        uint8_t *copy = malloc(section->size);
        if (copy == NULL) return USP_ERROR_NO_MEMORY;
        memcpy(copy, whole->bytes, section->size);
        sections->owned[which] = copy;
        section->bytes = copy;
        section->is_filled_later = false;
    }
    uint8_t *bytes = packed != NULL ? packed->bytes : sections->owned[which];
    for (uint64_t at = 0; entries.size - at >= size; at += size) {
        struct relocation relocation;
        uint64_t value;
        if (read_entry(elf, entries, at, has_addend, &relocation) != USP_OK) break;
        const struct change change = change_of(elf->machine, relocation.type);
        if (change.bits == 0 || relocation.offset >= section->size) continue;
        if (!value_of(tables, relocation.symbol, &value)) continue;
        apply_change(bytes + relocation.offset, section->size - relocation.offset, change, value + relocation.addend,
                     has_addend);
    }
    return USP_OK;
}

static int open_tables(const struct uspi_elf *elf, struct tables *tables) {
    struct uspi_elf_section symbols, strings;
    struct uspi_bytes entries, names;
    int status = uspi_elf_symbol_sections(elf, USPI_SHT_SYMTAB, &symbols, &strings, NULL);
    if (status == USP_OK) status = uspi_bytes_sub(elf->bytes, symbols.offset, symbols.size, "symbols", &entries, NULL);
    if (status == USP_OK) status = uspi_bytes_sub(elf->bytes, strings.offset, strings.size, "names", &names, NULL);
    if (status == USP_OK) status = uspi_elf_symbols_in(elf, &symbols, entries, names, &tables->symbols, NULL);
    return status == USP_OK ? uspi_elf_code_read(elf, &tables->code) : status;
}

/* Replaces sections that have relocations by relocated copies. `numbers` has each section's number in the file, 0 if
 * the file lacks it. Entries that are damaged, or of a kind that debug sections do not have, are ignored. Returns
 * USP_OK, USP_ERROR_NO_MEMORY, or what is wrong with the tables. */
static int debug_relocate(struct uspi_debug_sections *sections, const struct uspi_elf *elf,
                          const uint64_t numbers[USPI_DEBUG_SECTIONS], struct uspi_error *error) {
    struct tables tables = {0};
    int status = open_tables(elf, &tables);
    for (uint64_t i = 1; status == USP_OK && i < elf->section_count; i++) {
        struct uspi_elf_section table;
        if (uspi_elf_section(elf, i, &table, NULL) != USP_OK) break;
        if (table.type != SHT_RELA && table.type != SHT_REL) continue;
        for (unsigned which = 0; which < USPI_DEBUG_SECTIONS && status == USP_OK; which++) {
            if (numbers[which] == 0 || table.info != numbers[which] || sections->all[which].size == 0) continue;
            status = relocate_section(sections, (enum uspi_debug_section)which, elf, &table, &tables);
        }
    }
    uspi_elf_code_clear(&tables.code);
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    return uspi_bytes_error(error, elf->bytes, elf->section_offset, status, "relocations of debug sections");
}

/* Section names without their prefix ".debug_", ".zdebug_", "__debug_" or "__zdebug_". */
static const char *const section_names[USPI_DEBUG_SECTIONS] = {
    [USPI_DEBUG_INFO] = "info",         [USPI_DEBUG_ABBREV] = "abbrev",     [USPI_DEBUG_STR] = "str",
    [USPI_DEBUG_LINE] = "line",         [USPI_DEBUG_LINE_STR] = "line_str", [USPI_DEBUG_RANGES] = "ranges",
    [USPI_DEBUG_RNGLISTS] = "rnglists", [USPI_DEBUG_ADDR] = "addr",         [USPI_DEBUG_STR_OFFSETS] = "str_offsets",
    [USPI_DEBUG_CU_INDEX] = "cu_index", [USPI_DEBUG_ARANGES] = "aranges",
};

#define NAME_MAX_LENGTH 48

void uspi_debug_sections_close(struct uspi_debug_sections *sections) {
    for (unsigned i = 0; i < USPI_DEBUG_SECTIONS; i++) {
        uspi_packed_section_free(sections->packed[i]);
        free(sections->owned[i]);
    }
    free(sections->code);
    memset(sections, 0, sizeof *sections);
}

void uspi_piece_capacity_free(struct uspi_piece_capacity *capacity) {
    free(capacity->bytes);
    *capacity = (struct uspi_piece_capacity){0};
}

int uspi_section_piece(const struct uspi_debug_sections *sections, enum uspi_debug_section which, uint64_t from,
                       uint64_t end, struct uspi_piece_capacity *capacity, struct uspi_section_piece *piece) {
    const struct uspi_section_bytes *section = &sections->all[which];
    const struct uspi_source *source = sections->source;
    if (end > section->size) end = section->size;
    const size_t n = from < end ? (size_t)(end - from) : 0;
    if (n == 0 || !section->is_filled_later || uspi_source_has(source, section->position + from, n)) {
        *piece = uspi_section_lasting(sections, which, from, end);
        return USP_OK;
    }
    *piece = (struct uspi_section_piece){NULL, from, 0};
    if (capacity->capacity < n) {
        uint8_t *grown = malloc(n);
        if (grown == NULL) return USP_ERROR_NO_MEMORY;
        free(capacity->bytes);
        *capacity = (struct uspi_piece_capacity){grown, n};
    }
    const int status = source->read(source->context, section->position + from, capacity->bytes, n);
    if (status == USP_OK) {
        *piece = (struct uspi_section_piece){capacity->bytes, from, n};
    } else {
        /* The source remembers the damage. */
        (void)uspi_source_need(source, section->position + from, n);
    }
    return status;
}

int uspi_debug_sections_damage(const struct uspi_debug_sections *sections, struct uspi_error *error) {
    const struct uspi_source *source = sections->source;
    int status = source != NULL && source->blocks != NULL ? source->damage(source->context) : USP_OK;
    if (status != USP_OK && error != NULL && error->status == USP_OK) {
        uspi_error_set(error, status, "%s: the file was cut off or could not be read while it was used", source->name);
    }
    for (unsigned i = 0; i < USPI_DEBUG_SECTIONS; i++) {
        struct uspi_packed_section *packed = sections->packed[i];
        const int own = packed != NULL ? atomic_load_explicit(&packed->status, memory_order_relaxed) : USP_OK;
        if (own == USP_OK || status != USP_OK) continue;
        status = own;
        if (error == NULL || error->status != USP_OK) continue;
        const struct uspi_bytes bytes = {sections->source, sections->all[i].position, sections->all[i].size};
        uspi_bytes_error(error, bytes, 0, own, "compressed .debug_%s: %s", section_names[i], usp_status_string(own));
    }
    return status;
}

uint32_t uspi_debug_sections_shortages(const struct uspi_debug_sections *sections) {
    uint32_t count = 0;
    for (unsigned i = 0; i < USPI_DEBUG_SECTIONS; i++) {
        struct uspi_packed_section *packed = sections->packed[i];
        if (packed != NULL) count += atomic_load_explicit(&packed->shortages, memory_order_relaxed);
    }
    return count;
}

const struct uspi_code_extent *uspi_debug_sections_code(const struct uspi_debug_sections *sections, usp_addr address) {
    size_t i;
    USPI_FIRST(i, 0, sections->code_count, sections->code[i].low > address);
    return i > 0 && address < sections->code[i - 1].high ? &sections->code[i - 1] : NULL;
}

static void own(struct uspi_debug_sections *sections, enum uspi_debug_section which, uint8_t *bytes, size_t size) {
    free(sections->owned[which]);
    sections->owned[which] = bytes;
    sections->all[which].bytes = bytes;
    sections->all[which].size = size;
    sections->all[which].is_filled_later = false;
}

/* Stores a compressed section, which is decompressed when it is first read. */
static int take_packed(struct uspi_debug_sections *sections, enum uspi_debug_section which,
                       const struct uspi_packing_header *header) {
    uspi_packed_section_free(sections->packed[which]);
    int status = uspi_packed_section_open(header, &sections->packed[which]);
    if (status != USP_OK) return status;
    sections->all[which].bytes = sections->packed[which]->bytes;
    sections->all[which].size = sections->packed[which]->size;
    return USP_OK;
}

/* Stores a range of the file: a pointer to its place in memory, or a copy. */
static int take_bytes(struct uspi_debug_sections *sections, enum uspi_debug_section which, struct uspi_bytes bytes,
                      struct uspi_error *error) {
    if (bytes.size > SIZE_MAX / 2) return USP_ERROR_NO_MEMORY;
    sections->all[which].position = bytes.from;
    if (bytes.size == 0) return USP_OK;
    const uint8_t *place = uspi_bytes_place(bytes);
    if (place != NULL) {
        sections->all[which].bytes = place;
        sections->all[which].size = (size_t)bytes.size;
        sections->all[which].is_filled_later = bytes.source->blocks != NULL;
        return USP_OK;
    }
    uint8_t *copy = malloc((size_t)bytes.size);
    if (copy == NULL) return USP_ERROR_NO_MEMORY;
    int status = uspi_bytes_read(bytes, 0, copy, (size_t)bytes.size, "debug section", error);
    if (status == USP_OK) {
        own(sections, which, copy, (size_t)bytes.size);
    } else {
        free(copy);
    }
    return status;
}

/* Stores a section in the old compressed format: "ZLIB", the size in 8 bytes, big-endian, and a zlib stream. GNU tools
 * wrote it before SHF_COMPRESSED; Go writes it for macOS (cmd/link/internal/ld/data.go, compressSyms). */
static int take_old_compressed(struct uspi_debug_sections *sections, enum uspi_debug_section which,
                               struct uspi_bytes bytes, struct uspi_error *error) {
    uint8_t header[12];
    int status = uspi_bytes_read(bytes, 0, header, sizeof header, "zdebug header", error);
    if (status != USP_OK) return status;
    if (memcmp(header, "ZLIB", 4) != 0) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "zdebug_%s does not begin with ZLIB",
                                section_names[which]);
    }
    struct uspi_packing_header packing = {.method = USPI_PACKED_ZLIB, .size = uspi_be64(header + 4)};
    status = uspi_bytes_sub(bytes, sizeof header, bytes.size - sizeof header, "zdebug", &packing.packed, error);
    if (status == USP_OK && !uspi_packing_is_sane(packing.packed, packing.size)) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "zdebug_%s: %s", section_names[which],
                                usp_status_string(USP_ERROR_FORMAT));
    }
    return status == USP_OK ? take_packed(sections, which, &packing) : status;
}

/* ---- ELF ---- */

static int take_elf_section(struct uspi_debug_sections *sections, enum uspi_debug_section which,
                            const struct uspi_elf *elf, const struct uspi_elf_section *section, bool is_old,
                            struct uspi_error *error) {
    struct uspi_packing_header packing;
    struct uspi_bytes bytes;
    if (section->type == USPI_SHT_NOBITS) return USP_OK;
    int status = uspi_bytes_sub(elf->bytes, section->offset, section->size, "debug section", &bytes, error);
    if (status != USP_OK) return status;
    sections->all[which].position = bytes.from;
    if (is_old) return take_old_compressed(sections, which, bytes, error);
    if ((section->flags & USPI_SHF_COMPRESSED) == 0) return take_bytes(sections, which, bytes, error);
    status = uspi_elf_packing(elf, bytes, &packing);
    if (status != USP_OK) {
        return uspi_bytes_error(error, elf->bytes, section->offset, status, "compressed .debug_%s: %s",
                                section_names[which], usp_status_string(status));
    }
    return take_packed(sections, which, &packing);
}

/* Returns which debug section an ELF name means; USPI_DEBUG_SECTIONS: none. */
static enum uspi_debug_section which_elf_section(const char *name, enum uspi_debug_kind kind, bool *is_old) {
    size_t length = strlen(name);
    *is_old = strncmp(name, ".zdebug_", 8) == 0;
    if (!*is_old && strncmp(name, ".debug_", 7) != 0) return USPI_DEBUG_SECTIONS;
    const char *rest = name + (*is_old ? 8 : 7);
    length -= (size_t)(rest - name);
    const bool is_dwo = length > 4 && strcmp(rest + length - 4, ".dwo") == 0;
    if (is_dwo) length -= 4;
    for (unsigned i = 0; i < USPI_DEBUG_SECTIONS; i++) {
        if (strlen(section_names[i]) != length || memcmp(section_names[i], rest, length) != 0) continue;
        const bool is_wanted =
            i == USPI_DEBUG_CU_INDEX ? kind == USPI_DEBUG_SPLIT : is_dwo == (kind == USPI_DEBUG_SPLIT);
        return is_wanted ? (enum uspi_debug_section)i : USPI_DEBUG_SECTIONS;
    }
    return USPI_DEBUG_SECTIONS;
}

static int read_elf_code(struct uspi_debug_sections *sections, const struct uspi_elf *elf) {
    struct uspi_elf_code code;
    int status = uspi_elf_code_read(elf, &code);
    if (status != USP_OK) return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
    if (code.count > 0) {
        sections->code = malloc(code.count * sizeof *sections->code);
        if (sections->code == NULL) status = USP_ERROR_NO_MEMORY;
    }
    for (size_t i = 0; status == USP_OK && i < code.count; i++) {
        sections->code[sections->code_count++] =
            (struct uspi_code_extent){code.by_address[i].low, code.by_address[i].high};
    }
    uspi_elf_code_clear(&code);
    return status;
}

/* Treats a damaged section as absent. Records the first damage in *error. Returns USP_OK or USP_ERROR_NO_MEMORY. */
static int note_damage(int status, struct uspi_error *error, const struct uspi_error *why) {
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    if (error != NULL && error->status == USP_OK) *error = *why;
    return USP_OK;
}

static int finish(struct uspi_debug_sections *sections, int status) {
    if (status == USP_OK && sections->all[USPI_DEBUG_INFO].size == 0) status = USP_ERROR_NOT_FOUND;
    if (status != USP_OK) uspi_debug_sections_close(sections);
    return status;
}

int uspi_debug_sections_open_elf(struct uspi_debug_sections *sections, const struct uspi_elf *elf,
                                 enum uspi_debug_kind kind, struct uspi_error *error) {
    struct uspi_bytes names;
    uint64_t numbers[USPI_DEBUG_SECTIONS] = {0};
    struct uspi_error why = {0};
    memset(sections, 0, sizeof *sections);
    if (error != NULL) error->status = USP_OK;
    sections->source = elf->bytes.source;
    sections->address_size = elf->wide ? 8 : 4;
    int status = uspi_elf_section_names(elf, &names, NULL);
    if (status != USP_OK) return USP_ERROR_NOT_FOUND;
    for (uint64_t i = 1; status == USP_OK && i < elf->section_count; i++) {
        struct uspi_elf_section section;
        char name[NAME_MAX_LENGTH];
        bool is_old;
        if (uspi_elf_section(elf, i, &section, NULL) != USP_OK) break;
        if (uspi_bytes_string(names, section.name, name, sizeof name, "section name", NULL) != USP_OK) continue;
        const enum uspi_debug_section which = which_elf_section(name, kind, &is_old);
        /* The first section of a name counts, as in other readers; groups of type units follow it. */
        if (which == USPI_DEBUG_SECTIONS || sections->all[which].size > 0) continue;
        status = note_damage(take_elf_section(sections, which, elf, &section, is_old, &why), error, &why);
        numbers[which] = i;
    }
    if (status == USP_OK && kind == USPI_DEBUG_WHOLE) status = read_elf_code(sections, elf);
    if (status == USP_OK && elf->type == USPI_ET_REL && sections->all[USPI_DEBUG_INFO].size > 0) {
        status = note_damage(debug_relocate(sections, elf, numbers, &why), error, &why);
    }
    return finish(sections, status);
}

/* ---- Mach-O ---- */

/* Returns a section's offset in the file. Section headers have 32-bit offsets, which wrap around in files of more than
 * 4 GB; the segment's offset has 64 bits. */
static uint64_t offset_of(const struct uspi_macho_segment *segment, const struct uspi_macho_section *section) {
    const uint64_t by_segment = segment->file_offset + (section->address - segment->address);
    return (uint32_t)by_segment == section->file_offset ? by_segment : section->file_offset;
}

/* Returns which debug section a Mach-O name, cut to 16 bytes, means; USPI_DEBUG_SECTIONS: none. */
static enum uspi_debug_section which_macho_section(const char *name, bool *is_old) {
    *is_old = strncmp(name, "__zdebug_", 9) == 0;
    if (!*is_old && strncmp(name, "__debug_", 8) != 0) return USPI_DEBUG_SECTIONS;
    const size_t before = *is_old ? 9 : 8;
    for (unsigned i = 0; i < USPI_DEBUG_SECTIONS; i++) {
        if (strncmp(section_names[i], name + before, 16 - before) == 0) return (enum uspi_debug_section)i;
    }
    return USPI_DEBUG_SECTIONS;
}

/* Stores a debug section of a Mach-O file. The first section of a name counts. */
static int take_macho_section(struct uspi_debug_sections *sections, const struct uspi_macho *macho,
                              const struct uspi_macho_segment *segment, const struct uspi_macho_section *section,
                              struct uspi_error *error) {
    struct uspi_bytes bytes;
    bool is_old;
    const enum uspi_debug_section which = which_macho_section(section->name, &is_old);
    if (which == USPI_DEBUG_SECTIONS || sections->all[which].size > 0) return USP_OK;
    int status = uspi_bytes_sub(macho->bytes, offset_of(segment, section), section->size, section->name, &bytes, error);
    if (status != USP_OK) return status;
    sections->all[which].position = bytes.from;
    return is_old ? take_old_compressed(sections, which, bytes, error) : take_bytes(sections, which, bytes, error);
}

static int by_low(const void *a, const void *b) {
    const struct uspi_code_extent *x = a, *y = b;
    return (x->low > y->low) - (x->low < y->low);
}

static int add_code(struct uspi_debug_sections *sections, const struct uspi_macho_section *section) {
    usp_addr high;
    const bool is_code = (section->flags & (USPI_S_ATTR_PURE_INSTRUCTIONS | USPI_S_ATTR_SOME_INSTRUCTIONS)) != 0;
    if (!is_code || section->size == 0 || !uspi_sum(section->address, section->size, &high)) return USP_OK;
    struct uspi_code_extent *grown = realloc(sections->code, (sections->code_count + 1) * sizeof *grown);
    if (grown == NULL) return USP_ERROR_NO_MEMORY;
    sections->code = grown;
    grown[sections->code_count++] = (struct uspi_code_extent){section->address, high};
    return USP_OK;
}

int uspi_debug_sections_open_macho(struct uspi_debug_sections *sections, const struct uspi_macho *macho,
                                   struct uspi_error *error) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    struct uspi_error why = {0};
    int got = 0, status = USP_OK;
    memset(sections, 0, sizeof *sections);
    if (error != NULL) error->status = USP_OK;
    sections->source = macho->bytes.source;
    sections->address_size = macho->wide ? 8 : 4;
    while (status == USP_OK && (got = uspi_macho_next_segment(macho, &cursor, &segment, NULL)) > 0) {
        for (uint32_t i = 0; status == USP_OK && i < segment.section_count; i++) {
            struct uspi_macho_section section;
            if (uspi_macho_section(macho, &segment, i, &section, NULL) != USP_OK) break;
            status = add_code(sections, &section);
            if (status != USP_OK) break;
            status = note_damage(take_macho_section(sections, macho, &segment, &section, &why), error, &why);
        }
    }
    if (sections->code_count > 1) qsort(sections->code, sections->code_count, sizeof *sections->code, by_low);
    return finish(sections, status);
}
