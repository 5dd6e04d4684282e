/* SPDX-License-Identifier: MIT */
/* See unit.h. */
#include "lib/symbolize/dwarf/unit.h"
#include "lib/base/bisect.h"

#include "lib/base/array.h"
#include "lib/object/dwarf_constants.h"

#include <inttypes.h>

bool uspi_dwarf_number(const struct uspi_dwarf_file *file, enum uspi_debug_section which, uint64_t at, unsigned width,
                       uint64_t *number) {
    const uint64_t end = at <= UINT64_MAX - width ? at + width : UINT64_MAX;
    const struct uspi_section_piece piece = uspi_section_lasting(&file->sections, which, at, end);
    struct uspi_cursor_at c = uspi_cursor_over(piece.bytes, piece.size, 0);
    *number = uspi_cursor_number(&c, width);
    return !c.is_bad;
}

/* ---- values ---- */

bool uspi_dwarf_is_address(const struct uspi_attribute_value *value) {
    switch (value->form) {
    case DW_FORM_addr:
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_LLVM_addrx_offset: return true;
    default: return false;
    }
}

bool uspi_dwarf_indexed_address(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit, uint64_t index,
                                uint64_t *address) {
    const unsigned size = unit->encoding.address_size;
    uint64_t at;
    if (!uspi_product(index, size, &at) || !uspi_sum(at, unit->addr_base, &at)) return false;
    return uspi_dwarf_number(file->addresses, USPI_DEBUG_ADDR, at, size, address);
}

bool uspi_dwarf_address(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                        const struct uspi_attribute_value *value, uint64_t *address) {
    if (value->form == DW_FORM_addr) {
        *address = value->number;
        return true;
    }
    if (!uspi_dwarf_is_address(value)) return false;
    if (value->form != DW_FORM_LLVM_addrx_offset) return uspi_dwarf_indexed_address(file, unit, value->number, address);
    if (!uspi_dwarf_indexed_address(file, unit, value->number & UINT32_MAX, address)) return false;
    *address += value->number >> 32;
    return true;
}

/* Returns a reference to an offset in a section of strings, if the string there is terminated; otherwise 0. */
static uint64_t text_in(const struct uspi_dwarf_file *file, enum uspi_debug_section which, enum uspi_text_kind kind,
                        uint64_t offset) {
    const size_t size = file->sections.all[which].size;
    if (offset >= size) return 0;
    /* The string itself is not read, because most strings are never shown. */
    const struct uspi_section_piece last = uspi_section_lasting(&file->sections, which, size - 1, size);
    if (last.size == 0) return 0;
    if (last.bytes[0] == 0) return uspi_text_reference(kind, offset);
    const struct uspi_section_piece rest = uspi_section_lasting(&file->sections, which, offset, size);
    return rest.size != 0 && memchr(rest.bytes, 0, rest.size) != NULL ? uspi_text_reference(kind, offset) : 0;
}

static uint64_t indexed_text(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit, uint64_t index) {
    const unsigned size = unit->encoding.offset_size;
    uint64_t at;
    if (!uspi_product(index, size, &at) || !uspi_sum(at, unit->str_offsets_base, &at)) return 0;
    uint64_t offset;
    if (!uspi_dwarf_number(file, USPI_DEBUG_STR_OFFSETS, at, size, &offset)) return 0;
    return text_in(file, USPI_DEBUG_STR, file->str, offset);
}

uint64_t uspi_dwarf_text(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                         const struct uspi_attribute_value *value) {
    switch (value->form) {
    case DW_FORM_string: return text_in(file, USPI_DEBUG_INFO, file->info, value->number);
    case DW_FORM_strp: return text_in(file, USPI_DEBUG_STR, file->str, value->number);
    case DW_FORM_line_strp: return text_in(file, USPI_DEBUG_LINE_STR, file->line_str, value->number);
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
        if (file->shared == NULL) return 0;
        return text_in(file->shared, USPI_DEBUG_STR, file->shared->str, value->number);
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index: return indexed_text(file, unit, value->number);
    default: return 0;
    }
}

void uspi_dwarf_set_text(struct uspi_texts *texts, enum uspi_text_kind kind, const struct uspi_dwarf_file *file,
                         enum uspi_debug_section which) {
    const struct uspi_section_bytes *section = &file->sections.all[which];
    struct uspi_text_section *text = &texts->of[kind];
    /* A 0 byte follows unpacked sections. It is counted, so that uspi_text_at need not search for a terminator in bytes
     * that are not unpacked yet. */
    *text = (struct uspi_text_section){.bytes = section->bytes,
                                       .size = section->size + (file->sections.packed[which] != NULL ? 1 : 0)};
    if (section->is_filled_later) {
        text->all = (struct uspi_bytes){file->sections.source, section->position, section->size};
    }
}

bool uspi_dwarf_reference(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                          const struct uspi_attribute_value *value, const struct uspi_dwarf_file **in,
                          uint64_t *offset) {
    *in = file;
    switch (value->form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        return uspi_sum(unit->offset, value->number, offset) && *offset >= unit->first && *offset < unit->end;
    case DW_FORM_ref_addr: *offset = value->number; return true;
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
        *in = file->shared;
        *offset = value->number;
        return file->shared != NULL;
    default: return false;
    }
}

/* ---- headers ---- */

/* Reads the header with which a piece of the section begins. Returns false when it is not valid. If unit->end is not 0
 * then, *unit is filled up to that field. */
static bool read_header(const struct uspi_section_piece *piece, size_t section_size, struct uspi_dwarf_unit *unit) {
    struct uspi_cursor_at c = uspi_cursor_over(piece->bytes, piece->size, 0);
    *unit = (struct uspi_dwarf_unit){.offset = piece->from, .line_table = USPI_NO_OFFSET};
    uint64_t length = uspi_cursor_number(&c, 4);
    unit->encoding.offset_size = 4;
    if (length == UINT32_MAX) {
        length = uspi_cursor_number(&c, 8);
        unit->encoding.offset_size = 8;
    } else if (length >= 0xfffffff0) {
        return false;
    }
    const uint64_t after = piece->from + (uint64_t)(c.p - piece->bytes);
    if (c.is_bad || length > section_size - after) return false;
    unit->end = after + length;
    if (length < (uint64_t)(c.end - c.p)) c.end = c.p + (size_t)length;
    unit->encoding.version = (uint8_t)uspi_cursor_number(&c, 2);
    if (unit->encoding.version < 2 || unit->encoding.version > 5) return false;
    unit->type = DW_UT_compile;
    if (unit->encoding.version >= 5) {
        unit->type = uspi_cursor_byte(&c);
        unit->encoding.address_size = uspi_cursor_byte(&c);
        unit->abbreviations = uspi_cursor_number(&c, unit->encoding.offset_size);
    } else {
        unit->abbreviations = uspi_cursor_number(&c, unit->encoding.offset_size);
        unit->encoding.address_size = uspi_cursor_byte(&c);
    }
    if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile) unit->split_id = uspi_cursor_number(&c, 8);
    const unsigned size = unit->encoding.address_size;
    unit->first = piece->from + (uint64_t)(c.p - piece->bytes);
    return !c.is_bad && (size == 2 || size == 4 || size == 8);
}

static uint64_t offset_or(const struct uspi_attributes *a, enum uspi_attribute which, uint64_t otherwise) {
    return uspi_has(a, which) ? a->all[which].number : otherwise;
}

/* Returns the language as DW_LANG_…. Version 6 has a name and a version instead of that number. */
static uint16_t language_of(const struct uspi_attributes *a) {
    if (uspi_has(a, USPI_AT_LANGUAGE)) return (uint16_t)a->all[USPI_AT_LANGUAGE].number;
    if (!uspi_has(a, USPI_AT_LANGUAGE_NAME)) return 0;
    switch (a->all[USPI_AT_LANGUAGE_NAME].number) {
    case DW_LNAME_C_plus_plus: return DW_LANG_C_plus_plus;
    case DW_LNAME_ObjC_plus_plus: return DW_LANG_ObjC_plus_plus;
    default: return DW_LANG_hi_user; /* another language: callers only ask for C++ */
    }
}

/* State of listing the units. Most abbreviation tables belong to one unit, whose first entry uses the first
 * abbreviation. Such a table is read only up to that one. A table that several units share is compiled. */
struct listing {
    struct uspi_piece_capacity capacity, table_capacity; /* for pieces of .debug_info; of .debug_abbrev */
    struct uspi_abbreviation_cache *tables;              /* NULL: no table was met twice */
    uint64_t next;                                       /* no table so far begins at this offset or after it */
    uint64_t budget;                                     /* how many more bytes of tables may be read; counts down */
};

/* The budget is this many times the size of the sections. A table is read a few times at most. It is read more often
 * only where tables overlap, by damage or malice. */
#define TABLE_READINGS 64

/* A unit's first entry, in a piece of .debug_info. */
struct first_entry {
    struct uspi_cursor_at at;
    const struct uspi_section_piece *piece;
    uint64_t tag;
    struct uspi_attributes attributes;
};

static int read_shared(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit, struct listing *listing,
                       struct first_entry *entry) {
    int status;
    if (listing->tables == NULL) listing->tables = uspi_abbreviation_cache_create(USPI_TABLES_REFERRED);
    if (listing->tables == NULL) return USP_ERROR_NO_MEMORY;
    const uint64_t before = uspi_abbreviation_cache_compiled(listing->tables);
    const struct uspi_abbreviation_table *table =
        uspi_abbreviation_cache_get(listing->tables, &file->sections, unit->abbreviations, unit->encoding, &status);
    const uint64_t compiled = uspi_abbreviation_cache_compiled(listing->tables) - before;
    listing->budget -= compiled < listing->budget ? compiled : listing->budget;
    const struct uspi_abbreviation *own = table != NULL ? uspi_abbreviation(table, uspi_cursor_uleb(&entry->at)) : NULL;
    if (own == NULL) return status != USP_OK ? status : USP_ERROR_FORMAT;
    entry->tag = own->tag;
    uspi_entry_read(table, own, &entry->at, entry->piece, &entry->attributes);
    return entry->at.is_bad ? USP_ERROR_FORMAT : USP_OK;
}

static int read_once(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit, struct listing *listing,
                     struct first_entry *entry) {
    const struct uspi_cursor_at begin = entry->at;
    const size_t size = file->sections.all[USPI_DEBUG_ABBREV].size;
    for (uint64_t n = USPI_SMALL_PIECE;; n *= 16) {
        const bool is_all = unit->abbreviations >= size || n >= size - unit->abbreviations;
        struct uspi_section_piece piece;
        const int status =
            uspi_section_piece(&file->sections, USPI_DEBUG_ABBREV, unit->abbreviations,
                               is_all ? size : unit->abbreviations + n, &listing->table_capacity, &piece);
        if (status == USP_ERROR_NO_MEMORY) return status;
        struct uspi_cursor_at own = uspi_cursor_over(piece.bytes, piece.size, 0);
        const uint8_t *before = own.p;
        entry->at = begin;
        const bool is_there = uspi_abbreviation_seek(&own, uspi_cursor_uleb(&entry->at));
        const bool is_read = is_there && uspi_entry_read_by(&own, unit->encoding, &entry->at, entry->piece, &entry->tag,
                                                            &entry->attributes);
        const uint64_t passed = (uint64_t)(own.p - before);
        listing->budget -= passed < listing->budget ? passed : listing->budget;
        if (is_read) return USP_OK;
        if (!own.is_bad || is_all) return USP_ERROR_FORMAT;
    }
}

/* Reads a unit's first entry from a piece of the section. *is_cut: the piece ends before the unit does, so the entry
 * may not have ended. */
static int read_in_piece(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                         struct listing *listing, const struct uspi_section_piece *piece, struct first_entry *entry,
                         bool *is_cut) {
    const uint64_t size = unit->end - piece->from;
    *is_cut = piece->size < size;
    *entry = (struct first_entry){
        .at = uspi_cursor_over(piece->bytes, *is_cut ? piece->size : (size_t)size, unit->first - piece->from),
        .piece = piece};
    const bool is_new = unit->abbreviations >= listing->next;
    return is_new ? read_once(file, unit, listing, entry) : read_shared(file, unit, listing, entry);
}

/* Reads the first entry of a unit, whose header is at the beginning of the piece. Returns USP_OK, USP_ERROR_FORMAT when
 * it cannot be read, USP_ERROR_NO_MEMORY. */
static int read_first_entry(const struct uspi_dwarf_file *file, struct uspi_dwarf_unit *unit, struct listing *listing,
                            const struct uspi_section_piece *piece) {
    struct first_entry entry;
    struct uspi_section_piece whole;
    uint64_t address;
    bool is_cut;
    if (listing->budget == 0) return USP_ERROR_FORMAT;
    int status = read_in_piece(file, unit, listing, piece, &entry, &is_cut);
    if (status == USP_ERROR_FORMAT && is_cut) {
        status =
            uspi_section_piece(&file->sections, USPI_DEBUG_INFO, unit->offset, unit->end, &listing->capacity, &whole);
        if (status == USP_OK) status = read_in_piece(file, unit, listing, &whole, &entry, &is_cut);
    }
    if (unit->abbreviations >= listing->next) listing->next = unit->abbreviations + 1;
    if (status != USP_OK) return status;
    const struct uspi_attributes *a = &entry.attributes;
    unit->is_partial = entry.tag == DW_TAG_partial_unit;
    unit->code =
        (struct uspi_unit_code){a->has, a->all[USPI_AT_LOW_PC], a->all[USPI_AT_HIGH_PC], a->all[USPI_AT_RANGES]};
    /* By default, a base is after the header of the section's part (DWARF 5, 7.26 to 7.28). Before version 5, there was
     * no header. There is no default for addresses: the first part of .debug_addr can be another unit's. */
    const uint64_t header = unit->encoding.offset_size == 8 ? 16 : 8;
    const bool is_five = unit->encoding.version >= 5;
    unit->str_offsets_base = offset_or(a, USPI_AT_STR_OFFSETS_BASE, is_five ? header : 0);
    unit->addr_base = offset_or(a, USPI_AT_ADDR_BASE, is_five ? USPI_NO_OFFSET : 0);
    unit->rnglists_base = offset_or(a, USPI_AT_RNGLISTS_BASE, is_five ? header + 4 : 0);
    unit->ranges_base = offset_or(a, USPI_AT_RANGES_BASE, 0);
    unit->line_table = offset_or(a, USPI_AT_STMT_LIST, USPI_NO_OFFSET);
    unit->split_id = offset_or(a, USPI_AT_DWO_ID, unit->split_id);
    unit->language = language_of(a);
    if (uspi_has(a, USPI_AT_LOW_PC) && uspi_dwarf_address(file, unit, &a->all[USPI_AT_LOW_PC], &address)) {
        unit->base = address;
    }
    if (uspi_has(a, USPI_AT_NAME)) unit->name = uspi_dwarf_text(file, unit, &a->all[USPI_AT_NAME]);
    if (uspi_has(a, USPI_AT_COMP_DIR)) unit->folder = uspi_dwarf_text(file, unit, &a->all[USPI_AT_COMP_DIR]);
    if (uspi_has(a, USPI_AT_DWO_NAME)) unit->split_name = uspi_dwarf_text(file, unit, &a->all[USPI_AT_DWO_NAME]);
    /* A split unit also has the name of its file. Only a skeleton is in the file that has the addresses. */
    unit->is_split = unit->split_name != 0 && file->addresses == file;
    return USP_OK;
}

void uspi_dwarf_describe(const struct uspi_dwarf_file *file, enum uspi_debug_section section, uint64_t offset,
                         const char *what, struct uspi_error *error) {
    if (error == NULL || error->status != USP_OK) return;
    uspi_error_set(error, USP_ERROR_FORMAT, "offset 0x%" PRIx64 ": %s at 0x%" PRIx64 " of .debug_%s",
                   file->sections.all[section].position + offset, what, offset,
                   section == USPI_DEBUG_LINE ? "line" : "info");
}

bool uspi_dwarf_is_code(const struct uspi_debug_sections *sections, uint64_t highest, uint64_t low, uint64_t high) {
    if (low >= high) return false;
    if (sections->code_count == 0) return low != 0 && low < highest - 1;
    const struct uspi_code_extent *extent = uspi_debug_sections_code(sections, low);
    return extent != NULL && high <= extent->high;
}

static int list_units(struct uspi_dwarf_file *file, struct listing *listing, struct uspi_error *error) {
    const size_t size = file->sections.all[USPI_DEBUG_INFO].size;
    for (uint64_t at = 0; at < size;) {
        struct uspi_dwarf_unit unit;
        struct uspi_section_piece piece;
        const uint64_t end = at <= UINT64_MAX - USPI_SMALL_PIECE ? at + USPI_SMALL_PIECE : UINT64_MAX;
        if (uspi_section_piece(&file->sections, USPI_DEBUG_INFO, at, end, &listing->capacity, &piece) ==
            USP_ERROR_NO_MEMORY) {
            return USP_ERROR_NO_MEMORY;
        }
        const bool is_good = read_header(&piece, size, &unit);
        if (unit.end <= at) {
            uspi_dwarf_describe(file, USPI_DEBUG_INFO, at, "the header of a unit is damaged", error);
            break;
        }
        const bool is_code = is_good && unit.type != DW_UT_type && unit.type != DW_UT_split_type;
        if (!is_good)
            uspi_dwarf_describe(file, USPI_DEBUG_INFO, at, "a unit of an unknown version or with a damaged header",
                                error);
        at = unit.end;
        if (!is_code) continue;
        const bool is_exhausted = listing->budget == 0;
        const int status = read_first_entry(file, &unit, listing, &piece);
        if (status == USP_ERROR_NO_MEMORY) return status;
        if (status != USP_OK) {
            uspi_dwarf_describe(file, USPI_DEBUG_INFO, unit.first,
                                is_exhausted ? "tables of abbreviations that lie in each other, before the unit"
                                             : "a unit whose first entry cannot be read",
                                error);
            continue;
        }
        if (!uspi_room_for(&file->units, &file->capacity, file->count, 1, sizeof *file->units))
            return USP_ERROR_NO_MEMORY;
        file->units[file->count++] = unit;
    }
    return USP_OK;
}

int uspi_dwarf_list_units(struct uspi_dwarf_file *file, struct uspi_error *error) {
    const uint64_t size =
        (uint64_t)file->sections.all[USPI_DEBUG_INFO].size + file->sections.all[USPI_DEBUG_ABBREV].size;
    struct listing listing = {.budget = size <= UINT64_MAX / TABLE_READINGS ? size * TABLE_READINGS : UINT64_MAX};
    uspi_debug_section_expect_all(&file->sections, USPI_DEBUG_INFO);
    uspi_debug_section_expect_all(&file->sections, USPI_DEBUG_ABBREV);
    const int status = list_units(file, &listing, error);
    uspi_piece_capacity_free(&listing.capacity);
    uspi_piece_capacity_free(&listing.table_capacity);
    uspi_abbreviation_cache_free(listing.tables);
    return status;
}

/* Returns the last unit that begins at or before an offset. */
static const struct uspi_dwarf_unit *unit_before(const struct uspi_dwarf_file *file, uint64_t offset) {
    size_t i;
    USPI_FIRST(i, 0, file->count, file->units[i].offset > offset);
    return i > 0 ? &file->units[i - 1] : NULL;
}

const struct uspi_dwarf_unit *uspi_dwarf_unit_at(const struct uspi_dwarf_file *file, uint64_t offset) {
    const struct uspi_dwarf_unit *unit = unit_before(file, offset);
    return unit != NULL && offset >= unit->first && offset < unit->end ? unit : NULL;
}

const struct uspi_dwarf_unit *uspi_dwarf_unit_from(const struct uspi_dwarf_file *file, uint64_t offset) {
    const struct uspi_dwarf_unit *unit = unit_before(file, offset);
    return unit != NULL && unit->offset == offset ? unit : NULL;
}
