/* SPDX-License-Identifier: MIT */
/* See abbreviations.h. */
#include "lib/symbolize/dwarf/abbreviations.h"

#include "lib/base/array.h"
#include "lib/object/dwarf_constants.h"

#include <unspool/base.h>

static bool read_value(struct uspi_cursor_at *c, uint64_t form, int64_t implicit, struct uspi_encoding encoding,
                       const struct uspi_section_piece *piece, struct uspi_attribute_value *value) {
    if (form == DW_FORM_indirect) form = uspi_form_indirect(c);
    const uint32_t width = uspi_form_width(form, encoding);
    value->form = (uint16_t)form;
    if (width == USPI_FORM_UNKNOWN) return false;
    switch (form) {
    case DW_FORM_flag_present: value->number = 1; return true;
    case DW_FORM_implicit_const: value->number = (uint64_t)implicit; return true;
    case DW_FORM_sdata: value->number = (uint64_t)uspi_cursor_sleb(c); return true;
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_rnglistx:
    case DW_FORM_loclistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index: value->number = uspi_cursor_uleb(c); return true;
    case DW_FORM_LLVM_addrx_offset:
        /* The low half is the index, the high half is added to the address. */
        value->number = uspi_cursor_uleb(c) & UINT32_MAX;
        value->number |= uspi_cursor_number(c, 4) << 32;
        return true;
    case DW_FORM_string:
        value->number = piece->from + (uint64_t)(c->p - piece->bytes);
        uspi_cursor_skip_string(c);
        return true;
    default: break;
    }
    if (width <= 8) {
        value->number = uspi_cursor_number(c, width);
        return true;
    }
    value->number = 0;
    return uspi_form_skip(c, form, encoding);
}

/* ---- compiling ---- */

static uint8_t which_attribute(uint64_t attribute) {
    switch (attribute) {
    case DW_AT_sibling: return USPI_AT_SIBLING;
    case DW_AT_name: return USPI_AT_NAME;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name: return USPI_AT_LINKAGE_NAME;
    case DW_AT_low_pc: return USPI_AT_LOW_PC;
    case DW_AT_high_pc: return USPI_AT_HIGH_PC;
    case DW_AT_ranges: return USPI_AT_RANGES;
    case DW_AT_abstract_origin: return USPI_AT_ORIGIN;
    case DW_AT_specification: return USPI_AT_SPECIFICATION;
    case DW_AT_decl_file: return USPI_AT_DECLARED_FILE;
    case DW_AT_decl_line: return USPI_AT_DECLARED_LINE;
    case DW_AT_call_file: return USPI_AT_CALL_FILE;
    case DW_AT_call_line: return USPI_AT_CALL_LINE;
    case DW_AT_call_column: return USPI_AT_CALL_COLUMN;
    case DW_AT_stmt_list: return USPI_AT_STMT_LIST;
    case DW_AT_comp_dir: return USPI_AT_COMP_DIR;
    case DW_AT_language: return USPI_AT_LANGUAGE;
    case DW_AT_language_name: return USPI_AT_LANGUAGE_NAME;
    case DW_AT_str_offsets_base: return USPI_AT_STR_OFFSETS_BASE;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base: return USPI_AT_ADDR_BASE;
    case DW_AT_rnglists_base: return USPI_AT_RNGLISTS_BASE;
    case DW_AT_GNU_ranges_base: return USPI_AT_RANGES_BASE;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name: return USPI_AT_DWO_NAME;
    case DW_AT_GNU_dwo_id: return USPI_AT_DWO_ID;
    case DW_AT_LLVM_stmt_sequence: return USPI_AT_STMT_SEQUENCE;
    case DW_AT_declaration: return USPI_AT_DECLARATION;
    case DW_AT_external: return USPI_AT_EXTERNAL;
    case DW_AT_call_all_calls:
    case DW_AT_call_all_source_calls:
    case DW_AT_call_all_tail_calls:
    case DW_AT_GNU_all_call_sites:
    case DW_AT_GNU_all_source_call_sites:
    case DW_AT_GNU_all_tail_call_sites: return USPI_AT_ALL_TAIL_CALLS;
    case DW_AT_call_return_pc: return USPI_AT_RETURN_PC;
    case DW_AT_call_pc: return USPI_AT_CALL_PC;
    case DW_AT_call_tail_call:
    case DW_AT_GNU_tail_call: return USPI_AT_TAIL_CALL;
    case DW_AT_call_origin: return USPI_AT_CALL_ORIGIN;
    default: return USPI_ATTRIBUTES;
    }
}

static uint8_t kind_of(uint64_t tag) {
    switch (tag) {
    case DW_TAG_compile_unit:
    case DW_TAG_partial_unit:
    case DW_TAG_skeleton_unit: return USPI_ENTRY_UNIT;
    case DW_TAG_subprogram: return USPI_ENTRY_FUNCTION;
    case DW_TAG_inlined_subroutine: return USPI_ENTRY_INLINED;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_module:
    case DW_TAG_namespace: return USPI_ENTRY_SCOPE;
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site: return USPI_ENTRY_CALL_SITE;
    case DW_TAG_enumeration_type:
    case DW_TAG_array_type:
    case DW_TAG_subroutine_type: return USPI_ENTRY_LEAF;
    default: return USPI_ENTRY_OTHER;
    }
}

struct compiling {
    struct uspi_abbreviation_table *table;
    struct uspi_encoding encoding;
    size_t abbreviation_capacity, read_room, read_count;
};

static uint8_t reading_of(uint64_t form, uint32_t width) {
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const: return USPI_READ_CONSTANT;
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_rnglistx:
    case DW_FORM_loclistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index: return USPI_READ_ULEB;
    case DW_FORM_block:
    case DW_FORM_exprloc: return USPI_READ_BLOCK;
    default: return width >= 1 && width <= 8 ? USPI_READ_FIXED : USPI_READ_OTHER;
    }
}

/* Adds an attribute. Those that are skipped and have a fixed width are merged. */
static bool add_read(struct compiling *k, struct uspi_abbreviation *a, uint64_t attribute, uint64_t form,
                     uint32_t width, int64_t implicit) {
    struct uspi_abbreviation_table *t = k->table;
    const uint8_t which = a->kind == USPI_ENTRY_OTHER ? USPI_ATTRIBUTES : which_attribute(attribute);
    if (which == USPI_ATTRIBUTES && width < USPI_FORM_UNKNOWN && UINT32_MAX - a->rest > width) {
        a->rest += width;
        return true;
    }
    struct uspi_attribute_form read = {.which = which,
                                       .reading = reading_of(form, width),
                                       .width = width <= 16 ? (uint8_t)width : 0,
                                       .form = (uint16_t)(form <= UINT16_MAX ? form : UINT16_MAX),
                                       .before = a->rest,
                                       .mask = width >= 1 && width <= 8 ? UINT64_MAX >> (64 - 8 * width) : 0,
                                       .implicit = form == DW_FORM_flag_present ? 1 : implicit};
    a->rest = 0;
    if (which != USPI_ATTRIBUTES) a->has |= UINT32_C(1) << which;
    if (!uspi_room_for(&t->reads, &k->read_room, k->read_count, 1, sizeof *t->reads)) return false;
    t->reads[k->read_count++] = read;
    a->read_count++;
    return true;
}

/* Compiles one abbreviation, from after its code. Returns 1, 0 when the rest of the table cannot be read,
 * USP_ERROR_NO_MEMORY. */
static int compile_one(struct compiling *k, struct uspi_cursor_at *c, struct uspi_abbreviation *a) {
    const uint64_t tag = uspi_cursor_uleb(c);
    a->tag = tag <= UINT16_MAX ? (uint16_t)tag : 0;
    a->kind = kind_of(tag);
    a->has_children = uspi_cursor_byte(c) != 0;
    a->reads = (uint32_t)k->read_count;
    uint64_t fixed = 0;
    a->sibling = UINT32_MAX;
    while (!c->is_bad) {
        const uint64_t attribute = uspi_cursor_uleb(c), form = uspi_cursor_uleb(c);
        if (attribute == 0 && form == 0) break;
        const int64_t implicit = form == DW_FORM_implicit_const ? uspi_cursor_sleb(c) : 0;
        const uint32_t width = uspi_form_width(form, k->encoding);
        if (attribute == DW_AT_sibling && form == DW_FORM_ref4) a->sibling = (uint32_t)fixed;
        /* An unknown form is found when an entry uses it. The table's other abbreviations can be used. */
        fixed = width < USPI_FORM_UNKNOWN && fixed < USPI_FORM_UNKNOWN ? fixed + width : USPI_FORM_UNKNOWN;
        if (!add_read(k, a, attribute, form, width, implicit)) return USP_ERROR_NO_MEMORY;
    }
    const uint32_t code = UINT32_C(1) << USPI_AT_LOW_PC | UINT32_C(1) << USPI_AT_RANGES;
    const uint32_t declared = UINT32_C(1) << USPI_AT_DECLARATION | UINT32_C(1) << USPI_AT_LINKAGE_NAME;
    if (a->kind == USPI_ENTRY_FUNCTION && (a->has & code) == 0) {
        /* Without a sibling, the children are walked, which is faster for entries that are not read. */
        const bool is_passed = (a->has & declared) == declared && (!a->has_children || a->sibling != UINT32_MAX);
        a->kind = is_passed ? USPI_ENTRY_LEAF : USPI_ENTRY_DECLARED;
    }
    a->fixed = fixed < USPI_FORM_UNKNOWN ? (uint32_t)fixed : UINT32_MAX;
    return c->is_bad ? 0 : 1;
}

static int compare_codes(const void *a, const void *b) {
    const struct uspi_abbreviation *x = a, *y = b;
    return (x->code > y->code) - (x->code < y->code);
}

/* Codes may have gaps, but a table by code must not be much larger than the abbreviations themselves. */
#define DENSITY 4

/* Sorts the table so that abbreviations are found by their codes. Of two with one code, the first one counts. Returns
 * false when memory is exhausted. */
static bool sort_table(struct uspi_abbreviation_table *t) {
    uint64_t highest = 0;
    bool is_sorted = true;
    for (size_t i = 0; i < t->count; i++) {
        if (t->all[i].code > highest) highest = t->all[i].code;
        if (i > 0 && t->all[i].code <= t->all[i - 1].code) is_sorted = false;
    }
    if (highest / DENSITY <= t->count + 64) {
        struct uspi_abbreviation *by_code = calloc((size_t)highest + 1, sizeof *by_code);
        if (by_code == NULL) return false;
        for (size_t i = t->count; i-- > 0;) by_code[t->all[i].code] = t->all[i];
        free(t->all);
        t->all = by_code;
        t->count = (size_t)highest + 1;
        t->is_by_code = true;
    } else if (!is_sorted) {
        qsort(t->all, t->count, sizeof *t->all, compare_codes);
    }
    return true;
}

/* Finds the entries that uspi_plain_entries_skip skips. */
static void find_plain(struct uspi_abbreviation_table *t) {
    for (unsigned code = 1; code < sizeof t->plain / sizeof t->plain[0]; code++) {
        const struct uspi_abbreviation *a = uspi_abbreviation(t, code);
        if (a == NULL || a->fixed >= UINT16_MAX) continue;
        const uint16_t bytes = (uint16_t)(1 + a->fixed);
        if (!a->has_children && (a->kind == USPI_ENTRY_OTHER || a->kind == USPI_ENTRY_LEAF)) {
            t->plain[code] = (struct uspi_plain_entry){bytes, 0};
        } else if (a->kind == USPI_ENTRY_LEAF && a->sibling != UINT32_MAX) {
            t->plain[code] = (struct uspi_plain_entry){bytes, (uint16_t)(1 + a->sibling)};
        }
    }
}

void uspi_abbreviations_free(struct uspi_abbreviation_table *table) {
    if (table == NULL) return;
    free(table->all);
    free(table->reads);
    free(table);
}

struct uspi_abbreviation_table *uspi_abbreviations_compile(const uint8_t *section, size_t size, uint64_t offset,
                                                           struct uspi_encoding encoding, int *status) {
    struct uspi_abbreviation_table *t = calloc(1, sizeof *t);
    *status = t != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
    if (t == NULL) return NULL;
    t->offset = offset;
    t->encoding = encoding;
    struct compiling k = {.table = t, .encoding = encoding};
    struct uspi_cursor_at c = uspi_cursor_over(section, size, offset);
    int got = c.is_bad ? 0 : 1;
    bool has_code = false;
    while (got > 0) {
        struct uspi_abbreviation a = {.code = uspi_cursor_uleb(&c)};
        if (a.code == 0) {
            t->lacks_code = !has_code && !c.is_bad;
            break;
        }
        got = compile_one(&k, &c, &a);
        has_code |= a.kind == USPI_ENTRY_FUNCTION || a.kind == USPI_ENTRY_INLINED;
        if (got > 0 && !uspi_room_for(&t->all, &k.abbreviation_capacity, t->count, 1, sizeof *t->all))
            got = USP_ERROR_NO_MEMORY;
        if (got > 0) t->all[t->count++] = a;
    }
    t->length = offset <= size ? size - offset - (uint64_t)(c.end - c.p) : 0;
    const bool is_empty = t->count == 0;
    if (got >= 0 && !sort_table(t)) got = USP_ERROR_NO_MEMORY;
    if (got >= 0) find_plain(t);
    if (got < 0 || is_empty) {
        *status = got < 0 ? got : USP_ERROR_FORMAT;
        uspi_abbreviations_free(t);
        return NULL;
    }
    const size_t capacity = t->is_by_code ? t->count : k.abbreviation_capacity;
    t->memory = sizeof *t + capacity * sizeof *t->all + k.read_room * sizeof *t->reads;
    return t;
}

/* ---- entries ---- */

void uspi_entry_skip(const struct uspi_abbreviation_table *table, const struct uspi_abbreviation *a,
                     struct uspi_cursor_at *c) {
    if (a->fixed != UINT32_MAX) {
        uspi_cursor_skip(c, a->fixed);
        return;
    }
    const struct uspi_attribute_form *read = table->reads + a->reads;
    for (const struct uspi_attribute_form *end = read + a->read_count; read < end; read++) {
        uspi_cursor_skip(c, read->before);
        switch ((enum uspi_reading)read->reading) {
        case USPI_READ_FIXED: uspi_cursor_skip(c, read->width); break;
        case USPI_READ_CONSTANT: break;
        case USPI_READ_ULEB: uspi_cursor_uleb(c); break;
        case USPI_READ_BLOCK: uspi_cursor_skip(c, uspi_cursor_uleb(c)); break;
        case USPI_READ_OTHER:
            if (!uspi_form_skip(c, read->form, table->encoding)) uspi_cursor_fail(c);
            break;
        }
    }
    uspi_cursor_skip(c, a->rest);
}

void uspi_entry_read(const struct uspi_abbreviation_table *table, const struct uspi_abbreviation *a,
                     struct uspi_cursor_at *c, const struct uspi_section_piece *piece,
                     struct uspi_attributes *attributes) {
    const struct uspi_attribute_form *read = table->reads + a->reads;
    struct uspi_attribute_value skipped;
    attributes->has = a->has;
    /* Nearly all entries have a fixed size, and at least eight bytes can be read from each attribute on. Attributes
     * that are skipped have been merged then. */
    if (a->fixed != UINT32_MAX && (uint64_t)a->fixed + 8 <= (uint64_t)(c->end - c->p)) {
        const uint8_t *p = c->p;
        for (const struct uspi_attribute_form *end = read + a->read_count; read < end; read++) {
            struct uspi_attribute_value *value = &attributes->all[read->which];
            p += read->before;
            value->number = (uspi_le64(p) & read->mask) | (uint64_t)read->implicit;
            value->form = read->form;
            p += read->width;
        }
        c->p += a->fixed;
        return;
    }
    for (uint32_t i = 0; i < a->read_count; i++, read++) {
        struct uspi_attribute_value *value = read->which != USPI_ATTRIBUTES ? &attributes->all[read->which] : &skipped;
        uspi_cursor_skip(c, read->before);
        value->form = read->form;
        switch ((enum uspi_reading)read->reading) {
        case USPI_READ_FIXED: value->number = uspi_cursor_number(c, read->width); break;
        case USPI_READ_CONSTANT: value->number = (uint64_t)read->implicit; break;
        case USPI_READ_ULEB: value->number = uspi_cursor_uleb(c); break;
        case USPI_READ_BLOCK:
            value->number = 0;
            uspi_cursor_skip(c, uspi_cursor_uleb(c));
            break;
        case USPI_READ_OTHER:
            if (!read_value(c, read->form, read->implicit, table->encoding, piece, value)) uspi_cursor_fail(c);
            break;
        }
    }
    uspi_cursor_skip(c, a->rest);
}

/* Skips the attributes of an abbreviation. Optimized, because most tables are searched for one abbreviation only. */
static void pass_attributes(struct uspi_cursor_at *a) {
    while (a->end - a->p >= 2) {
        if (a->p[0] >= 0x80 || a->p[1] >= 0x80 || a->p[1] == DW_FORM_implicit_const) {
            const uint64_t attribute = uspi_cursor_uleb(a), form = uspi_cursor_uleb(a);
            if (attribute == 0 && form == 0) return;
            if (form == DW_FORM_implicit_const) uspi_cursor_sleb(a);
            continue;
        }
        const bool is_end = (a->p[0] | a->p[1]) == 0;
        a->p += 2;
        if (is_end) return;
    }
    uspi_cursor_fail(a);
}

bool uspi_abbreviation_seek(struct uspi_cursor_at *a, uint64_t code) {
    for (;;) {
        const uint64_t found = uspi_cursor_uleb(a);
        if (found == 0 || a->is_bad) return false;
        if (found == code) return true;
        uspi_cursor_uleb(a);
        uspi_cursor_byte(a);
        pass_attributes(a);
    }
}

bool uspi_entry_read_by(struct uspi_cursor_at *a, struct uspi_encoding encoding, struct uspi_cursor_at *c,
                        const struct uspi_section_piece *piece, uint64_t *tag, struct uspi_attributes *attributes) {
    attributes->has = 0;
    *tag = uspi_cursor_uleb(a);
    uspi_cursor_byte(a);
    while (!a->is_bad) {
        const uint64_t attribute = uspi_cursor_uleb(a), form = uspi_cursor_uleb(a);
        if (attribute == 0 && form == 0) break;
        const int64_t implicit = form == DW_FORM_implicit_const ? uspi_cursor_sleb(a) : 0;
        const uint8_t which = which_attribute(attribute);
        struct uspi_attribute_value skipped, *value = which == USPI_ATTRIBUTES ? &skipped : &attributes->all[which];
        if (!read_value(c, form, implicit, encoding, piece, value)) return false;
        if (which != USPI_ATTRIBUTES) attributes->has |= UINT32_C(1) << which;
    }
    return !a->is_bad && !c->is_bad;
}

/* ---- the cache of tables ---- */

#define SLOTS 1024u

struct uspi_abbreviation_cache {
    struct slot {
        const uint8_t *section;
        struct uspi_abbreviation_table *table;
    } slots[SLOTS];
    struct uspi_abbreviation_table *last; /* was evicted by the last call that compiled */
    size_t memory, memory_max;
    uint64_t compiled;
};

struct uspi_abbreviation_cache *uspi_abbreviation_cache_create(size_t memory_max) {
    struct uspi_abbreviation_cache *cache = calloc(1, sizeof *cache);
    if (cache != NULL) cache->memory_max = memory_max;
    return cache;
}

static void empty(struct uspi_abbreviation_cache *cache) {
    for (unsigned i = 0; i < SLOTS; i++) {
        uspi_abbreviations_free(cache->slots[i].table);
        cache->slots[i] = (struct slot){0};
    }
    cache->memory = 0;
}

void uspi_abbreviation_cache_free(struct uspi_abbreviation_cache *cache) {
    if (cache == NULL) return;
    empty(cache);
    uspi_abbreviations_free(cache->last);
    free(cache);
}

/* How much of the section is read for one table at first. Few tables are longer. */
#define TABLE_PIECE ((uint64_t)1 << 16)

/* Compiles the table at an offset of .debug_abbrev, of which only the piece that has the table is read. */
static struct uspi_abbreviation_table *compile_at(const struct uspi_debug_sections *sections, uint64_t offset,
                                                  struct uspi_encoding encoding, int *status) {
    const uint64_t size = sections->all[USPI_DEBUG_ABBREV].size, left = offset < size ? size - offset : 0;
    for (uint64_t n = TABLE_PIECE;; n *= 16) {
        const bool is_all = n >= left;
        const struct uspi_section_piece piece =
            uspi_section_lasting(sections, USPI_DEBUG_ABBREV, offset, is_all ? size : offset + n);
        struct uspi_abbreviation_table *table =
            uspi_abbreviations_compile(piece.bytes, piece.size, 0, encoding, status);
        const bool is_cut = *status == USP_ERROR_FORMAT || (table != NULL && table->length >= piece.size);
        if (table != NULL) table->offset = offset;
        if (!is_cut || is_all || piece.size == 0) return table;
        uspi_abbreviations_free(table);
    }
}

const struct uspi_abbreviation_table *uspi_abbreviation_cache_get(struct uspi_abbreviation_cache *cache,
                                                                  const struct uspi_debug_sections *sections,
                                                                  uint64_t offset, struct uspi_encoding encoding,
                                                                  int *status) {
    const uint8_t *section = sections->all[USPI_DEBUG_ABBREV].bytes;
    struct slot *slot = &cache->slots[(offset * UINT64_C(0x9e3779b97f4a7c15)) >> 54 & (SLOTS - 1)];
    struct uspi_abbreviation_table *kept = slot->table;
    *status = USP_OK;
    if (kept != NULL && kept->offset == offset && slot->section == section &&
        memcmp(&kept->encoding, &encoding, sizeof encoding) == 0) {
        return kept;
    }
    struct uspi_abbreviation_table *made = compile_at(sections, offset, encoding, status);
    if (made == NULL) return NULL;
    cache->compiled += made->length;
    uspi_abbreviations_free(cache->last);
    cache->last = kept;
    if (kept != NULL) cache->memory -= kept->memory;
    *slot = (struct slot){NULL, NULL};
    if (cache->memory + made->memory > cache->memory_max) empty(cache);
    *slot = (struct slot){section, made};
    cache->memory += made->memory;
    return made;
}

uint64_t uspi_abbreviation_cache_compiled(const struct uspi_abbreviation_cache *cache) { return cache->compiled; }
