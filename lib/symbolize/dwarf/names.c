/* SPDX-License-Identifier: MIT */
/* Finds names of functions (reader.h): the linkage name of the entry, or of the entry of which it is an instance or the
 * definition, through other units and files. Without a linkage name it is the plain name; for C++, with its namespaces
 * and classes. */
#include "lib/base/bisect.h"
#include "lib/object/dwarf_constants.h"
#include "lib/symbolize/dwarf/reader.h"

/* The maximum number of entries in a chain, as in elfutils (libdw/dwarf_attr_integrate.c). */
#define CHAIN_MAX 16

/* The maximum number of scopes in a function's name. */
#define SCOPES_MAX 32

/* How much of another unit is read for one entry at first. Few entries are longer. */
#define ENTRY_PIECE 1024u

static bool read_entry_in(const struct uspi_abbreviation_table *table, const struct uspi_section_piece *piece,
                          uint64_t offset, struct uspi_attributes *attributes) {
    struct uspi_cursor_at c = uspi_cursor_over(piece->bytes, piece->size, offset - piece->from);
    const struct uspi_abbreviation *a = uspi_abbreviation(table, uspi_cursor_uleb(&c));
    if (a == NULL) return false;
    uspi_entry_read(table, a, &c, piece, attributes);
    return !c.is_bad;
}

bool uspi_dwarf_read_entry(struct uspi_dwarf_reader *reader, const struct uspi_dwarf_file *file, uint64_t offset,
                           const struct uspi_dwarf_unit **unit, struct uspi_attributes *attributes) {
    const struct uspi_dwarf_unit *own = reader->source.unit;
    const bool is_own = file == reader->source.file && offset >= own->first && offset < own->end;
    int status;
    *unit = is_own ? own : uspi_dwarf_unit_at(file, offset);
    if (*unit == NULL) return false;
    const struct uspi_abbreviation_table *table =
        is_own ? reader->table
               : uspi_abbreviation_cache_get(reader->other_tables, &file->sections, (*unit)->abbreviations,
                                             (*unit)->encoding, &status);
    if (table == NULL) return false;
    if (is_own) return read_entry_in(table, &reader->entries, offset, attributes);
    const bool is_long = (*unit)->end - offset > ENTRY_PIECE;
    struct uspi_section_piece piece =
        uspi_section_lasting(&file->sections, USPI_DEBUG_INFO, offset, is_long ? offset + ENTRY_PIECE : (*unit)->end);
    if (read_entry_in(table, &piece, offset, attributes)) return true;
    if (!is_long) return false;
    piece = uspi_section_lasting(&file->sections, USPI_DEBUG_INFO, offset, (*unit)->end);
    return read_entry_in(table, &piece, offset, attributes);
}

/* Returns the scope that encloses an entry, from 1; 0: none. */
static uint32_t scope_of(const struct uspi_scopes *scopes, uint64_t offset) {
    size_t i;
    USPI_FIRST(i, 0, scopes->entry_count, scopes->entries[i].offset >= offset);
    return i < scopes->entry_count && scopes->entries[i].offset == offset ? scopes->entries[i].scope : 0;
}

static bool put_text(struct uspi_dwarf_reader *reader, const char *text) {
    return uspi_dwarf_put(reader, text, strlen(text));
}

/* Writes a name with its scopes, and returns a reference to it; 0 when memory is exhausted. */
static uint64_t qualify(struct uspi_dwarf_reader *reader, const struct uspi_scopes *scopes, uint32_t scope,
                        uint64_t name) {
    uint32_t around[SCOPES_MAX];
    unsigned count = 0;
    const char *own = uspi_text_at(reader->source.texts, NULL, 0, name);
    for (; scope != 0 && count < SCOPES_MAX; scope = scopes->all[scope - 1].around) around[count++] = scope;
    if (count == 0 || own == NULL) return name;
    reader->text_length = 0;
    for (unsigned i = count; i-- > 0;) {
        const struct uspi_name_scope *s = &scopes->all[around[i] - 1];
        const char *text = uspi_text_at(reader->source.texts, NULL, 0, s->name);
        /* Demanglers write the same for scopes without a name. */
        if (text == NULL) text = s->tag == DW_TAG_namespace ? "(anonymous namespace)" : "{unnamed type}";
        if (!put_text(reader, text) || !put_text(reader, "::")) return 0;
    }
    if (!put_text(reader, own)) return 0;
    return uspi_builder_text(reader->builder, reader->text, reader->text_length);
}

/* Returns a reference to the name that an attribute of an entry gives; 0, which is reported, when its section does not
 * have it. A shared file that was not found is reported by dwarf.c. */
static uint64_t name_at(struct uspi_dwarf_reader *reader, const struct uspi_dwarf_file *file,
                        const struct uspi_dwarf_unit *unit, uint64_t offset, const struct uspi_attribute_value *value) {
    const uint64_t name = uspi_dwarf_text(file, unit, value);
    const bool is_shared = value->form == DW_FORM_strp_sup || value->form == DW_FORM_GNU_strp_alt;
    if (name == 0 && !(is_shared && file->shared == NULL)) {
        uspi_dwarf_describe(file, USPI_DEBUG_INFO, offset, "a function whose name is not in its section",
                            reader->error);
    }
    return name;
}

void uspi_dwarf_follow(struct uspi_dwarf_reader *reader, const struct uspi_dwarf_file *file, uint64_t offset,
                       struct uspi_dwarf_found *found) {
    for (unsigned i = 0; i < CHAIN_MAX; i++) {
        const struct uspi_dwarf_unit *unit;
        struct uspi_attributes a;
        if (!uspi_dwarf_read_entry(reader, file, offset, &unit, &a)) return;
        found->last_file = file;
        found->last_unit = unit;
        found->last_offset = offset;
        if (uspi_has(&a, USPI_AT_EXTERNAL) || uspi_has(&a, USPI_AT_DECLARATION)) found->is_visible = true;
        if (found->linkage == 0 && uspi_has(&a, USPI_AT_LINKAGE_NAME)) {
            found->linkage = name_at(reader, file, unit, offset, &a.all[USPI_AT_LINKAGE_NAME]);
        }
        if (found->name == 0 && uspi_has(&a, USPI_AT_NAME)) {
            found->name = name_at(reader, file, unit, offset, &a.all[USPI_AT_NAME]);
        }
        /* Each unit numbers files in its own way. */
        if (found->wants_place && found->file == 0 && unit == reader->source.unit &&
            uspi_has(&a, USPI_AT_DECLARED_FILE)) {
            found->file = uspi_dwarf_file_number(reader, a.all[USPI_AT_DECLARED_FILE].number);
        }
        if (found->line == 0 && uspi_has(&a, USPI_AT_DECLARED_LINE)) {
            found->line = (uint32_t)a.all[USPI_AT_DECLARED_LINE].number;
        }
        const bool has_origin = uspi_has(&a, USPI_AT_ORIGIN);
        const bool has_place = found->file != 0 && found->line != 0;
        if (found->linkage != 0 && (found->wants_place ? has_place : found->is_visible)) return;
        if (!has_origin && !uspi_has(&a, USPI_AT_SPECIFICATION)) return;
        const struct uspi_attribute_value *next = &a.all[has_origin ? USPI_AT_ORIGIN : USPI_AT_SPECIFICATION];
        if (!uspi_dwarf_reference(file, unit, next, &file, &offset)) return;
    }
}

bool uspi_dwarf_names_scopes(uint16_t language) {
    switch (language) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_ObjC_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case DW_LANG_C_plus_plus_17:
    case DW_LANG_C_plus_plus_20: return true;
    default: return false;
    }
}

/* Returns whether the names of a unit need scopes. Units that several files share (dwz) do not give their language. */
static bool needs_scopes(const struct uspi_dwarf_reader *reader, const struct uspi_dwarf_unit *unit) {
    return uspi_dwarf_names_scopes(unit->language != 0 ? unit->language : reader->source.unit->language);
}

static bool name_origin(struct uspi_dwarf_reader *reader, const struct uspi_dwarf_origin *origin) {
    struct uspi_dwarf_found found = {.wants_place = true};
    uspi_dwarf_follow(reader, origin->file, origin->offset, &found);
    uint64_t name = found.linkage != 0 ? found.linkage : found.name;
    reader->function_texts[origin->function - 1] = name;
    if (found.linkage == 0 && found.name != 0) {
        const struct uspi_scopes *scopes = NULL;
        if (found.last_unit == reader->source.unit) {
            scopes = &reader->scopes;
        } else if (needs_scopes(reader, found.last_unit)) {
            scopes = &reader->foreign_scopes;
            if (scopes->unit != found.last_unit && !uspi_dwarf_note_scopes(reader, found.last_file, found.last_unit)) {
                return false;
            }
        }
        if (scopes != NULL) name = qualify(reader, scopes, scope_of(scopes, found.last_offset), found.name);
        if (name == 0) return false;
    }
    uspi_builder_describe(reader->builder, origin->function, name, found.file, found.line);
    return true;
}

static int by_place(const void *a, const void *b) {
    const struct uspi_dwarf_origin *x = a, *y = b;
    if (x->file != y->file) return x->file->info < y->file->info ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

bool uspi_dwarf_name_origins(struct uspi_dwarf_reader *reader) {
    /* Sort, so that each unit that is referred to is searched once. */
    if (reader->origin_count > 1) qsort(reader->origins, reader->origin_count, sizeof *reader->origins, by_place);
    if (!uspi_room_for(&reader->function_texts, &reader->function_text_capacity, 0, reader->origin_count,
                       sizeof(uint64_t)))
        return false;
    for (size_t i = 0; i < reader->origin_count; i++) {
        if (!name_origin(reader, &reader->origins[i])) return false;
    }
    return true;
}
