/* SPDX-License-Identifier: MIT */
/* See gopclntab_find.h. */
#include "lib/object/gopclntab_find.h"

#include "lib/object/elf_dynamic.h"
#include "lib/object/fixups.h"

#include <string.h>

/* Linux elf.h; the psABIs' R_*_RELATIVE. */
enum { DT_RELA = 7, DT_RELASZ = 8, EM_X86_64 = 62, EM_AARCH64 = 183, R_X86_64_RELATIVE = 8, R_AARCH64_RELATIVE = 1027 };

/* The maximum number of loaded parts of a file; no linker makes more. */
#define PIECES 32

/* How many places that point to the table are checked; the Go runtime has one or two. */
#define CANDIDATES 16

/* For a piece that is not mapped: how many bytes are copied at once, and how many are searched. */
#define WINDOW    4096u
#define LOOKED_AT (UINT64_C(1) << 30)

/* The linker's minimum alignment of the table in bytes: 32, but 8 on 32-bit Arm if another linker finishes the work. */
#define TABLE_ALIGN 8u

/* Numbers of the used words of moduledata, up to the last one that the newest layout needs. */
enum {
    MODULE_HEADER = 0,
    MODULE_NAMES = 1, /* each part has three words: address, length, capacity */
    MODULE_UNITS = 4,
    MODULE_FILES = 7,
    MODULE_RUNS = 10,
    MODULE_RECORDS = 13,
    MODULE_FUNCTIONS = 16,
    MODULE_FUNCTION_COUNT = 17,
    MODULE_LOWEST = 20,
    MODULE_HIGHEST = 21,
    MODULE_TEXT = 22,
    /* The trees' address is word 38 in 1.18, 40 from 1.20 on, 43 in 1.27. All words in this range are tried. */
    MODULE_TREES_FIRST = 36,
    MODULE_TREES_LAST = 46,
    MODULE_WORDS
};

/* A loaded part of the file. */
struct piece {
    usp_addr address;
    struct uspi_bytes bytes;
    bool is_writable, is_executable;
};

/* The parts of a file at linked addresses, or of an image at loaded addresses. */
struct space {
    struct piece pieces[PIECES];
    unsigned count;
    unsigned word;
    bool wants_trees;
    const struct uspi_elf *elf; /* a file that may have relocations; NULL: ignore relocations */
    /* Returns the pointer at an address of a Mach-O file with chained fixups; 0 when it cannot be read. NULL: pointers
     * are plain. */
    usp_addr (*chained)(const struct uspi_fixups *fixups, usp_addr address);
    const struct uspi_fixups *fixups; /* for it */
};

static bool add_piece(struct space *space, struct piece piece) {
    if (space->count == PIECES || piece.bytes.size == 0) return false;
    space->pieces[space->count++] = piece;
    return true;
}

/* A part of a piece that is being searched: a pointer into the piece, or a copy. */
struct window {
    uint64_t from, size;
    const uint8_t *bytes;
    uint8_t copy[WINDOW];
};

/* Returns at least n bytes of a piece from an offset on. NULL: they cannot be read, or lie past the search limit. */
static const uint8_t *look(struct window *w, const struct piece *piece, uint64_t at, size_t n) {
    if (w->size != 0 && at >= w->from && at - w->from <= w->size - n) return w->bytes + (at - w->from);
    if (at >= piece->bytes.size || n > piece->bytes.size - at) return NULL;
    w->from = at;
    w->size = piece->bytes.size - at < WINDOW ? piece->bytes.size - at : WINDOW;
    w->bytes = uspi_bytes_in_place(piece->bytes, at, (size_t)w->size);
    if (w->bytes != NULL) return w->bytes;
    /* Do not read across a page boundary if the n bytes end before it: the next page may not be mapped. */
    const uint64_t in_window = (piece->bytes.from + at) % WINDOW;
    if (w->size > WINDOW - in_window && WINDOW - in_window >= n) w->size = WINDOW - in_window;
    const bool is_read =
        at < LOOKED_AT && uspi_bytes_read(piece->bytes, at, w->copy, (size_t)w->size, "", NULL) == USP_OK;
    w->bytes = w->copy;
    if (!is_read) w->size = 0;
    return is_read ? w->copy : NULL;
}

/* Gives the bytes from an address to the end of its piece; false when no piece contains it. */
static bool bytes_at(const struct space *space, usp_addr address, struct uspi_bytes *bytes) {
    for (unsigned i = 0; i < space->count; i++) {
        const struct piece *piece = &space->pieces[i];
        const uint64_t offset = address - piece->address;
        if (address < piece->address || offset >= piece->bytes.size) continue;
        *bytes = (struct uspi_bytes){piece->bytes.source, piece->bytes.from + offset, piece->bytes.size - offset};
        return true;
    }
    return false;
}

/* Returns the word at an address, without fixups; 0 when it cannot be read. */
static uint64_t raw_word(const struct space *space, usp_addr address) {
    struct uspi_bytes bytes;
    uint64_t value;
    const bool is_read = bytes_at(space, address, &bytes) &&
                         uspi_bytes_load(bytes, 0, space->word, &value, "module data", NULL) == USP_OK;
    return is_read ? value : 0;
}

static uint64_t pointer(const struct space *space, usp_addr address) {
    return space->chained != NULL ? space->chained(space->fixups, address) : raw_word(space, address);
}

/* ---- relocations ---- */

/* Visits a relocation. The addresses of position-independent ELF programs are in relocations; some linkers leave 0 at
 * the addresses' places. Returns false to end the visits. */
typedef bool (*relocation_visitor)(void *context, usp_addr address, uint64_t value);

/* Calls `visit` for each relocation that writes an address of the image, until `visit` returns false. */
static void visit_relocations(const struct uspi_elf *elf, relocation_visitor visit, void *context) {
    struct uspi_elf_segment segment;
    struct uspi_bytes dynamic, entries;
    uint64_t table, size;
    const uint64_t type = elf->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
    if (!elf->wide || (elf->machine != EM_X86_64 && elf->machine != EM_AARCH64)) return;
    if (uspi_elf_find_segment(elf, USPI_PT_DYNAMIC, &segment, NULL) != USP_OK ||
        uspi_elf_segment_bytes(elf, &segment, &dynamic, NULL) != USP_OK ||
        uspi_elf_dynamic(dynamic, true, DT_RELA, &table, NULL) != USP_OK ||
        uspi_elf_dynamic(dynamic, true, DT_RELASZ, &size, NULL) != USP_OK ||
        uspi_elf_bytes_at(elf, table, &entries, NULL) != USP_OK) {
        return;
    }
    for (uint64_t at = 0; at < size && size - at >= 24; at += 24) {
        uint8_t raw[24];
        if (uspi_bytes_read(entries, at, raw, sizeof raw, "relocation", NULL) != USP_OK) return;
        if (uspi_le64(raw + 8) == type && !visit(context, uspi_le64(raw), uspi_le64(raw + 16))) return;
    }
}

/* Words at an address that may be moduledata. */
struct module {
    usp_addr address;
    uint64_t words[MODULE_WORDS];
};

/* A relocation_visitor. */
static bool put_relocated(void *context, usp_addr address, uint64_t value) {
    struct module *module = context;
    const uint64_t offset = address - module->address;
    if (address >= module->address && offset / 8 < MODULE_WORDS && offset % 8 == 0) module->words[offset / 8] = value;
    return true;
}

static bool is_length(unsigned word) {
    return word > MODULE_HEADER && word < MODULE_FUNCTION_COUNT + 2 && (word - MODULE_NAMES) % 3 != 0;
}

static void read_module(const struct space *space, usp_addr address, struct module *module) {
    module->address = address;
    for (unsigned i = 0; i < MODULE_WORDS; i++) {
        const usp_addr at = address + (uint64_t)i * space->word;
        module->words[i] = is_length(i) ? raw_word(space, at) : pointer(space, at);
    }
    if (space->elf != NULL && space->elf->type == USPI_ET_DYN) {
        visit_relocations(space->elf, put_relocated, module);
    }
}

/* ---- the module's data ---- */

/* Returns whether words are the module data of the table at an address. If so, sets the table's `text` and `trees` from
 * them. */
static bool use_module(const struct space *space, const struct module *module, usp_addr address,
                       struct uspi_go_table *table) {
    const uint64_t *words = module->words;
    struct uspi_go_table moved = *table;
    usp_addr first, last;
    if (words[MODULE_HEADER] != address || words[MODULE_FUNCTIONS] != address + table->functions ||
        words[MODULE_FUNCTION_COUNT] != table->count + 1) {
        return false;
    }
    const bool has_parts =
        words[MODULE_NAMES] == address + table->names && words[MODULE_UNITS] == address + table->units &&
        words[MODULE_FILES] == address + table->files && words[MODULE_RUNS] == address + table->runs &&
        words[MODULE_RECORDS] == address + table->functions;
    if (!has_parts) return false;
    if (table->version < USPI_GO_1_18) return true;
    moved.text = words[MODULE_TEXT];
    if (!uspi_go_start(&moved, 0, &first) || !uspi_go_start(&moved, table->count, &last)) return false;
    if (words[MODULE_LOWEST] != first || words[MODULE_HIGHEST] != last) return false;
    *table = moved;
    for (unsigned i = MODULE_TREES_FIRST; space->wants_trees && i <= MODULE_TREES_LAST; i++) {
        if (words[i] == 0 || !bytes_at(space, words[i], &moved.trees) || !uspi_go_check_trees(&moved)) continue;
        *table = moved;
        break;
    }
    return true;
}

struct looking {
    const struct space *space;
    struct uspi_go_table *table;
    usp_addr address; /* address of the table */
    unsigned tried;
    bool is_found;
};

static bool try_module(struct looking *l, usp_addr at) {
    struct module module = {0};
    if (l->tried++ >= CANDIDATES) return false;
    read_module(l->space, at, &module);
    return use_module(l->space, &module, l->address, l->table);
}

/* A relocation_visitor. */
static bool try_relocated(void *context, usp_addr address, uint64_t value) {
    struct looking *l = context;
    if (value == l->address) l->is_found = try_module(l, address);
    return !l->is_found && l->tried < CANDIDATES;
}

/* Looks for the module data: for words in writable memory that point to the table. */
static bool find_module(struct looking *l) {
    const struct space *space = l->space;
    for (unsigned i = 0; i < space->count; i++) {
        const struct piece *piece = &space->pieces[i];
        const usp_addr first = (piece->address + space->word - 1) / space->word * space->word;
        struct window window;
        window.size = 0;
        if (!piece->is_writable) continue;
        for (uint64_t at = first - piece->address; at < piece->bytes.size; at += space->word) {
            const uint8_t *raw = look(&window, piece, at, space->word);
            if (raw == NULL) break;
            const uint64_t value =
                space->chained != NULL ? pointer(space, piece->address + at) : uspi_le(raw, space->word);
            if (value == l->address && try_module(l, piece->address + at)) return true;
        }
    }
    if (space->elf != NULL && space->elf->type == USPI_ET_DYN) visit_relocations(space->elf, try_relocated, l);
    return l->is_found;
}

/* Completes a table that was found at an address: finds the start of its code, and its trees if wanted. */
static int finish(struct space *space, usp_addr address, struct uspi_go_table *table) {
    usp_addr start;
    struct looking l = {.space = space, .table = table, .address = address};
    const bool needs_text = table->version >= USPI_GO_1_18 && table->text == 0;
    space->word = table->word;
    if (table->version > USPI_GO_1_2 && (space->wants_trees || needs_text) && find_module(&l)) return USP_OK;
    /* Starts that count from an unknown address are useless; so are addresses that the loader has not relocated yet. */
    if (needs_text) return USP_ERROR_NOT_FOUND;
    return uspi_go_start(table, 0, &start) && start != 0 ? USP_OK : USP_ERROR_NOT_FOUND;
}

/* ---- ELF ---- */

/* Returns whether a section or note shows that Go's linker or compiler made the file. */
static bool is_of_go(const struct uspi_elf *elf) {
    static const char *const names[] = {".go.buildinfo", ".note.go.buildid", ".gosymtab"};
    struct uspi_elf_section section;
    struct uspi_elf_segment segment;
    struct uspi_bytes bytes;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (uspi_elf_find_section(elf, names[i], &section, NULL) == USP_OK) return true;
    }
    for (uint64_t i = 0; elf->section_count == 0 && i < elf->segment_count; i++) {
        struct uspi_elf_note note;
        if (uspi_elf_segment(elf, i, &segment, NULL) != USP_OK) break;
        if (segment.type != USPI_PT_NOTE || uspi_elf_segment_bytes(elf, &segment, &bytes, NULL) != USP_OK) continue;
        struct uspi_elf_notes notes = uspi_elf_notes(bytes, segment.align);
        while (uspi_elf_next_note(&notes, &note, NULL) > 0) {
            if (strcmp(note.owner, "Go") == 0) return true;
        }
    }
    return false;
}

/* Searches a piece for the first bytes of a table. */
static bool scan_piece(const struct piece *piece, struct uspi_go_table *table, usp_addr *address) {
    const usp_addr first = (piece->address + TABLE_ALIGN - 1) / TABLE_ALIGN * TABLE_ALIGN;
    struct window window;
    window.size = 0;
    for (uint64_t at = first - piece->address; at < piece->bytes.size; at += TABLE_ALIGN) {
        const uint8_t *raw = look(&window, piece, at, 8);
        if (raw == NULL) break;
        /* The high bytes of the magic number are ff ff ff, and two bytes of padding are 0. */
        if (raw[1] != 0xff || raw[2] != 0xff || raw[3] != 0xff || raw[4] != 0 || raw[5] != 0) continue;
        const struct uspi_bytes bytes = {piece->bytes.source, piece->bytes.from + at, piece->bytes.size - at};
        if (uspi_go_table_open(table, bytes) != USP_OK) continue;
        *address = piece->address + at;
        return true;
    }
    return false;
}

static bool find_elf_section(const struct uspi_elf *elf, struct uspi_go_table *table, usp_addr *address) {
    static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};
    struct uspi_elf_section section;
    struct uspi_bytes bytes;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (uspi_elf_find_section(elf, names[i], &section, NULL) != USP_OK || section.type == USPI_SHT_NOBITS) continue;
        if (uspi_bytes_sub(elf->bytes, section.offset, section.size, names[i], &bytes, NULL) != USP_OK) continue;
        *address = section.address;
        if (uspi_go_table_open(table, bytes) == USP_OK) return true;
    }
    return false;
}

static void add_segments(const struct uspi_elf *elf, uint64_t slide, struct space *space) {
    struct uspi_elf_segment segment;
    struct uspi_bytes bytes;
    for (uint64_t i = 0; i < elf->segment_count; i++) {
        if (uspi_elf_segment(elf, i, &segment, NULL) != USP_OK) break;
        if (segment.type != USPI_PT_LOAD || uspi_elf_segment_bytes(elf, &segment, &bytes, NULL) != USP_OK) continue;
        add_piece(space, (struct piece){segment.address + slide, bytes, (segment.flags & USPI_PF_W) != 0,
                                        (segment.flags & USPI_PF_X) != 0});
    }
}

/* Searches all pieces: first those without code, since most of a program is code. */
static bool scan(const struct space *space, struct uspi_go_table *table, usp_addr *address) {
    for (unsigned i = 0; i < 2 * space->count; i++) {
        const struct piece *piece = &space->pieces[i % space->count];
        if (piece->is_executable == (i >= space->count) && scan_piece(piece, table, address)) return true;
    }
    return false;
}

int uspi_go_find_elf(const struct uspi_elf *elf, struct uspi_go_table *table) {
    struct space space = {.elf = elf, .wants_trees = true};
    usp_addr address;
    if (elf->type != USPI_ET_EXEC && elf->type != USPI_ET_DYN) return USP_ERROR_NOT_FOUND;
    bool is_found = find_elf_section(elf, table, &address);
    if (!is_found && !is_of_go(elf)) return USP_ERROR_NOT_FOUND;
    add_segments(elf, 0, &space);
    return is_found || scan(&space, table, &address) ? finish(&space, address, table) : USP_ERROR_NOT_FOUND;
}

int uspi_go_find_loaded_elf(const struct uspi_elf *elf, uint64_t slide, struct uspi_go_table *table) {
    struct space space = {0};
    usp_addr address;
    if (!is_of_go(elf)) return USP_ERROR_NOT_FOUND;
    add_segments(elf, slide, &space);
    return scan(&space, table, &address) ? finish(&space, address, table) : USP_ERROR_NOT_FOUND;
}

/* ---- Mach-O ---- */

int uspi_go_find_loaded_macho(const struct uspi_macho *macho, uint64_t slide, struct uspi_go_table *table) {
    struct space space = {0};
    struct uspi_macho_section section;
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    struct uspi_bytes all = {macho->bytes.source, 0, UINT64_MAX}, bytes;
    if (uspi_macho_find_section(macho, "__gopclntab", &section, NULL) != USP_OK ||
        uspi_bytes_sub(all, section.address + slide, section.size, "__gopclntab", &bytes, NULL) != USP_OK ||
        uspi_go_table_open(table, bytes) != USP_OK) {
        return USP_ERROR_NOT_FOUND;
    }
    while (uspi_macho_next_segment(macho, &cursor, &segment, NULL) > 0) {
        const usp_addr address = segment.address + slide;
        if (uspi_bytes_sub(all, address, segment.memory_size, "segment", &bytes, NULL) != USP_OK) continue;
        add_piece(&space, (struct piece){address, bytes, (segment.protection & USPI_PROT_WRITE) != 0, false});
    }
    return finish(&space, section.address + slide, table);
}

static usp_addr chained_pointer(const struct uspi_fixups *fixups, usp_addr address) {
    struct uspi_pointer pointer;
    return uspi_fixups_pointer(fixups, address, &pointer, NULL) == USP_OK ? pointer.target : 0;
}

int uspi_go_find_macho(const struct uspi_macho *macho, struct uspi_go_table *table) {
    struct space space = {.wants_trees = true};
    struct uspi_macho_section section;
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    struct uspi_macho_space addresses;
    struct uspi_fixups fixups;
    struct uspi_bytes bytes;
    if (uspi_macho_find_section(macho, "__gopclntab", &section, NULL) != USP_OK ||
        uspi_macho_part(macho, section.file_offset, section.size, "__gopclntab", &bytes, NULL) != USP_OK ||
        uspi_go_table_open(table, bytes) != USP_OK) {
        return USP_ERROR_NOT_FOUND;
    }
    while (uspi_macho_next_segment(macho, &cursor, &segment, NULL) > 0) {
        if (uspi_macho_part(macho, segment.file_offset, segment.file_size, "segment", &bytes, NULL) != USP_OK) continue;
        add_piece(&space, (struct piece){segment.address, bytes, (segment.protection & USPI_PROT_WRITE) != 0, false});
    }
    int status = uspi_macho_space_open(&addresses, macho, NULL);
    if (status != USP_OK) return status == USP_ERROR_NO_MEMORY ? status : USP_ERROR_NOT_FOUND;
    status = uspi_fixups_open(&fixups, &addresses, "", NULL);
    if (status == USP_OK) {
        if (fixups.chains.size > 0) space.chained = chained_pointer;
        space.fixups = &fixups;
        status = finish(&space, section.address, table);
        uspi_fixups_close(&fixups);
    }
    uspi_macho_space_close(&addresses);
    return status == USP_OK || status == USP_ERROR_NO_MEMORY ? status : USP_ERROR_NOT_FOUND;
}
