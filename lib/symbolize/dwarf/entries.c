/* SPDX-License-Identifier: MIT */
/* Reads the entries of a unit (reader.h): functions, inlined calls and the ranges of their code; call sites (calls.h);
 * the scopes of names. */
#include "lib/symbolize/dwarf/reader.h"

/* The maximum depth of nested entries. Compilers stay below a hundred, so deeper nesting is damage. */
#define DEPTH_MAX 4096

void uspi_dwarf_complain(struct uspi_dwarf_reader *reader, uint64_t offset, const char *what) {
    uspi_dwarf_describe(reader->source.file, USPI_DEBUG_INFO, offset, what, reader->error);
}

/* ---- functions ---- */

static size_t hash_origin(const struct uspi_dwarf_file *file, uint64_t offset) {
    const uint64_t h = (offset ^ (uint64_t)(uintptr_t)file << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h ^ h >> 32);
}

static bool grow_origins(struct uspi_dwarf_reader *reader) {
    const size_t size = reader->origin_hash_size == 0 ? 1024 : reader->origin_hash_size * 2;
    uint32_t *grown = calloc(size, sizeof *grown);
    if (grown == NULL) return false;
    for (size_t i = 0; i < reader->origin_count; i++) {
        size_t at = hash_origin(reader->origins[i].file, reader->origins[i].offset) & (size - 1);
        while (grown[at] != 0) at = (at + 1) & (size - 1);
        grown[at] = (uint32_t)i + 1;
    }
    free(reader->origin_hash);
    reader->origin_hash = grown;
    reader->origin_hash_size = size;
    return true;
}

/* Returns the builder's number for the function of an entry, or 0 when memory is exhausted. Its name is found later,
 * when all functions are known. */
static uint32_t function_of(struct uspi_dwarf_reader *reader, const struct uspi_dwarf_file *file, uint64_t offset) {
    if (reader->origin_count * 2 >= reader->origin_hash_size && !grow_origins(reader)) return 0;
    size_t at = hash_origin(file, offset) & (reader->origin_hash_size - 1);
    for (; reader->origin_hash[at] != 0; at = (at + 1) & (reader->origin_hash_size - 1)) {
        const struct uspi_dwarf_origin *origin = &reader->origins[reader->origin_hash[at] - 1];
        if (origin->offset == offset && origin->file == file) return origin->function;
    }
    if (!uspi_room_for(&reader->origins, &reader->origin_capacity, reader->origin_count, 1, sizeof *reader->origins))
        return 0;
    const uint32_t function = uspi_builder_function(reader->builder, 0, 0, 0);
    reader->origins[reader->origin_count++] = (struct uspi_dwarf_origin){file, offset, function};
    reader->origin_hash[at] = (uint32_t)reader->origin_count;
    return function;
}

/* Returns the number of the function that an entry describes: its origin, or else itself. */
static uint32_t function_of_entry(struct uspi_dwarf_reader *reader, const struct uspi_attributes *a, uint64_t offset) {
    const struct uspi_dwarf_file *file;
    uint64_t origin;
    if (uspi_has(a, USPI_AT_ORIGIN) && !uspi_has(a, USPI_AT_LINKAGE_NAME) &&
        uspi_dwarf_reference(reader->source.file, reader->source.unit, &a->all[USPI_AT_ORIGIN], &file, &origin)) {
        return function_of(reader, file, origin);
    }
    return function_of(reader, reader->source.file, offset);
}

static size_t hash_place(uint64_t low, uint64_t high) {
    const uint64_t h = (low ^ high << 20) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h ^ h >> 32);
}

/* Finds the node of a function that has exactly this first range. If there is none, remembers the range for the given
 * node. Returns false when memory is exhausted. */
static bool see_function(struct uspi_dwarf_reader *reader, uint64_t low, uint64_t high, uint32_t *node) {
    if (reader->seen_count * 2 >= reader->seen_capacity) {
        const size_t old_capacity = reader->seen_capacity, capacity = old_capacity == 0 ? 256 : old_capacity * 2;
        struct uspi_seen_function *old = reader->seen, *grown = calloc(capacity, sizeof *grown);
        if (grown == NULL) return false;
        for (size_t i = 0; i < old_capacity; i++) {
            if (old[i].high == 0) continue;
            size_t at = hash_place(old[i].low, old[i].high) & (capacity - 1);
            while (grown[at].high != 0) at = (at + 1) & (capacity - 1);
            grown[at] = old[i];
        }
        free(old);
        reader->seen = grown;
        reader->seen_capacity = capacity;
    }
    size_t at = hash_place(low, high) & (reader->seen_capacity - 1);
    for (; reader->seen[at].high != 0; at = (at + 1) & (reader->seen_capacity - 1)) {
        if (reader->seen[at].low != low || reader->seen[at].high != high) continue;
        *node = reader->seen[at].node;
        return true;
    }
    reader->seen[at] = (struct uspi_seen_function){low, high, *node};
    reader->seen_count++;
    return true;
}

/* ---- the walk ---- */

/* Makes *inside what applies to the children of a function without code. */
static void leave_code(const struct uspi_dwarf_reader *reader, struct uspi_walk_scope *inside) {
    inside->node = inside->root = 0;
    inside->ranges = reader->ranges.count;
    inside->range_count = 0;
}

/* Reads a function. *inside becomes what applies to its children. Returns false when memory is exhausted. */
static bool enter_function(struct uspi_dwarf_reader *reader, const struct uspi_attributes *a, uint64_t offset,
                           struct uspi_walk_scope *inside) {
    struct uspi_range_list *list = &reader->ranges;
    uint64_t first;
    leave_code(reader, inside);
    if (!uspi_dwarf_ranges(reader->source.file, reader->source.unit, a, list, &first)) return false;
    inside->range_count = list->count - inside->ranges;
    if (inside->range_count == 0) return true;
    const uint32_t function = function_of_entry(reader, a, offset);
    const struct uspi_address_range *ranges = list->all + inside->ranges;
    uint32_t own = uspi_builder_root(reader->builder, function), node = own;
    if (function == 0 || !see_function(reader, ranges[0].low, ranges[0].high, &node)) return false;
    /* Of functions folded into one, only the first one's call sites are read. */
    const struct uspi_dwarf_root root = {offset, node, function, node == own, false};
    uint32_t number;
    if (!uspi_dwarf_note_root(reader, a, &root, &number)) return false;
    if (node != own) {
        /* The code was folded: the first function that has it is the one that is shown. */
        uspi_builder_alias(reader->builder, node, function);
        list->count = inside->ranges;
        inside->range_count = 0;
        return true;
    }
    inside->node = node;
    inside->root = number;
    inside->root_ranges = inside->ranges;
    inside->root_range_count = inside->range_count;
    for (size_t i = 0; i < inside->range_count; i++) {
        const bool is_cold = first < ranges[i].low || first >= ranges[i].high;
        uspi_builder_range(reader->builder, ranges[i].low, ranges[i].high, node);
        uspi_builder_part(reader->builder, ranges[i].low, ranges[i].high, node, is_cold);
    }
    if (!uspi_has(a, USPI_AT_STMT_SEQUENCE)) return true;
    if (!uspi_room_for(&reader->sequences, &reader->sequence_capacity, reader->sequence_count, 1,
                       sizeof *reader->sequences)) {
        return false;
    }
    reader->sequences[reader->sequence_count++] = a->all[USPI_AT_STMT_SEQUENCE].number;
    return true;
}

static uint32_t number_32(const struct uspi_attributes *a, enum uspi_attribute which) {
    if (!uspi_has(a, which)) return 0;
    const uint64_t number = a->all[which].number;
    return number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* Reads an inlined call. Only the part of its ranges that lies in the enclosing function counts. Returns false when
 * memory is exhausted. */
static bool enter_inlined(struct uspi_dwarf_reader *reader, const struct uspi_attributes *a, uint64_t offset,
                          const struct uspi_walk_scope *around, struct uspi_walk_scope *inside) {
    struct uspi_range_list *list = &reader->ranges;
    uint64_t first;
    inside->node = 0;
    inside->ranges = list->count;
    inside->range_count = 0;
    if (around->node == 0) return true;
    if (!uspi_dwarf_ranges(reader->source.file, reader->source.unit, a, list, &first)) return false;
    const size_t own = list->count - inside->ranges;
    if (own == 0) return true;
    if (!uspi_dwarf_intersect(list, inside->ranges, own, around->ranges, around->range_count)) return false;
    const size_t kept = list->count - inside->ranges - own;
    memmove(list->all + inside->ranges, list->all + inside->ranges + own, kept * sizeof *list->all);
    list->count = inside->ranges + kept;
    inside->range_count = kept;
    if (kept == 0) return true;
    struct uspi_call call = {.function = function_of_entry(reader, a, offset),
                             .line = number_32(a, USPI_AT_CALL_LINE),
                             .column = number_32(a, USPI_AT_CALL_COLUMN)};
    if (uspi_has(a, USPI_AT_CALL_FILE)) call.file = uspi_dwarf_file_number(reader, a->all[USPI_AT_CALL_FILE].number);
    if (call.file == 0 && call.line != 0) call.file = uspi_builder_file(reader->builder, 0, 0);
    inside->node = uspi_builder_inlined(reader->builder, around->node, &call);
    for (size_t i = 0; i < kept; i++) {
        const struct uspi_address_range *range = &list->all[inside->ranges + i];
        uspi_builder_range(reader->builder, range->low, range->high, inside->node);
    }
    return call.function != 0;
}

/* A walk over a unit's entries, and what it is for: the scopes of names, the code, or both. */
struct walk {
    struct uspi_dwarf_reader *reader;
    const struct uspi_dwarf_file *file;
    const struct uspi_dwarf_unit *unit;
    struct uspi_section_piece entries; /* the unit in .debug_info */
    const struct uspi_abbreviation_table *table;
    struct uspi_scopes *scopes;
    bool needs_scopes, needs_code;
};

/* Makes *inside a scope with the name of an entry. */
static void begin_scope(struct uspi_walk_scope *inside, uint64_t offset) {
    inside->named = offset;
    inside->name_scope = USPI_SCOPE_UNKNOWN;
}

/* Adds the scope of a namespace, a class or a function, which has been passed. Returns its number, or
 * USPI_SCOPE_UNKNOWN when memory is exhausted. */
static uint32_t add_name_scope(struct walk *w, uint64_t offset, uint32_t around) {
    const struct uspi_section_piece *piece = &w->entries;
    struct uspi_cursor_at c = uspi_cursor_over(piece->bytes, piece->size, offset - piece->from);
    const struct uspi_abbreviation *ab = uspi_abbreviation(w->table, uspi_cursor_uleb(&c));
    struct uspi_scopes *scopes = w->scopes;
    struct uspi_name_scope scope = {.around = around};
    struct uspi_attributes a;
    if (ab != NULL) {
        uspi_entry_read(w->table, ab, &c, piece, &a);
        scope.tag = ab->tag;
        if (uspi_has(&a, USPI_AT_NAME)) scope.name = uspi_dwarf_text(w->file, w->unit, &a.all[USPI_AT_NAME]);
    }
    if (!uspi_room_for(&scopes->all, &scopes->capacity, scopes->count, 1, sizeof *scopes->all))
        return USPI_SCOPE_UNKNOWN;
    scopes->all[scopes->count++] = scope;
    return (uint32_t)scopes->count;
}

/* Returns the scope of the names at a depth. Few names need one, so a scope is added when the first name in it asks for
 * it. Returns USPI_SCOPE_UNKNOWN when memory is exhausted. */
static uint32_t scope_at(struct walk *w, size_t depth) {
    struct uspi_walk_scope *stack = w->reader->stack;
    size_t at = depth;
    while (stack[at].name_scope == USPI_SCOPE_UNKNOWN) at--;
    while (at < depth && stack[at].name_scope != USPI_SCOPE_UNKNOWN) {
        const struct uspi_walk_scope *around = &stack[at++];
        stack[at].name_scope = stack[at].named == around->named
                                   ? around->name_scope
                                   : add_name_scope(w, stack[at].named, around->name_scope);
    }
    return stack[depth].name_scope;
}

/* Notes the scope of a function that may need it for its name. Returns false when memory is exhausted. */
static bool note_scope(struct walk *w, uint64_t offset, size_t depth) {
    struct uspi_scopes *scopes = w->scopes;
    const uint32_t scope = scope_at(w, depth);
    if (scope == 0) return true;
    if (scope == USPI_SCOPE_UNKNOWN ||
        !uspi_room_for(&scopes->entries, &scopes->entry_capacity, scopes->entry_count, 1, sizeof *scopes->entries)) {
        return false;
    }
    scopes->entries[scopes->entry_count++] = (struct uspi_scoped_entry){offset, scope};
    return true;
}

/* Handles the name of a function, which can also be part of the names in it. Returns false when memory is exhausted. */
static inline bool pass_function(struct walk *w, const struct uspi_abbreviation *ab, uint64_t offset, size_t depth) {
    const bool has_name = (ab->has >> USPI_AT_NAME & 1) != 0, has_linkage = (ab->has >> USPI_AT_LINKAGE_NAME & 1) != 0;
    if (!w->needs_scopes || !has_name) return true;
    begin_scope(&w->reader->stack[depth + 1], offset);
    return has_linkage || note_scope(w, offset, depth);
}

/* Skips the children of an entry that says where they end. */
static void skip_children(const struct walk *w, const struct uspi_attributes *a, struct uspi_cursor_at *c,
                          bool *has_children) {
    const struct uspi_section_piece *piece = &w->entries;
    if (!*has_children || !uspi_has(a, USPI_AT_SIBLING)) return;
    uint64_t sibling;
    if (!uspi_sum(w->unit->offset, a->all[USPI_AT_SIBLING].number, &sibling)) return;
    /* An offset that leads backwards or out of the unit is invalid. */
    if (sibling <= piece->from + (uint64_t)(c->p - piece->bytes) || sibling >= w->unit->end) return;
    c->p = piece->bytes + (size_t)(sibling - piece->from);
    *has_children = false;
}

/* Reads an entry at a depth, from after its code. The stack's next element becomes what applies to its children.
 * Returns false when memory is exhausted. */
static bool read_entry(struct walk *w, const struct uspi_abbreviation *ab, struct uspi_cursor_at *c, uint64_t offset,
                       size_t depth, bool *has_children) {
    struct uspi_dwarf_reader *reader = w->reader;
    struct uspi_walk_scope *around = &reader->stack[depth], *inside = around + 1;
    struct uspi_attributes a;
    uspi_entry_read(w->table, ab, c, &w->entries, &a);
    if (c->is_bad) return true;
    switch ((enum uspi_entry_kind)ab->kind) {
    case USPI_ENTRY_FUNCTION:
        return pass_function(w, ab, offset, depth) && (!w->needs_code || enter_function(reader, &a, offset, inside));
    case USPI_ENTRY_INLINED:
        if (!w->needs_code) return true;
        if (!enter_inlined(reader, &a, offset, around, inside)) return false;
        /* An inlined call without code has none below it. */
        if (inside->node == 0) skip_children(w, &a, c, has_children);
        return true;
    case USPI_ENTRY_CALL_SITE:
        skip_children(w, &a, c, has_children);
        return !w->needs_code || around->root == 0 ||
               uspi_dwarf_note_site(reader, &a, around->root, reader->ranges.all + around->root_ranges,
                                    around->root_range_count);
    case USPI_ENTRY_LEAF: skip_children(w, &a, c, has_children); return true;
    case USPI_ENTRY_UNIT:
    case USPI_ENTRY_OTHER:
    case USPI_ENTRY_SCOPE:
    case USPI_ENTRY_DECLARED: break;
    }
    return true;
}

/* Passes an entry that is not read, from after its code. Otherwise like read_entry. */
static inline bool skip_entry(struct walk *w, const struct uspi_abbreviation *ab, struct uspi_cursor_at *c,
                              uint64_t offset, size_t depth) {
    struct uspi_walk_scope *inside = &w->reader->stack[depth + 1];
    uspi_entry_skip(w->table, ab, c);
    if (ab->kind == USPI_ENTRY_SCOPE && w->needs_scopes) begin_scope(inside, offset);
    if (ab->kind != USPI_ENTRY_DECLARED) return true;
    if (w->needs_code) leave_code(w->reader, inside);
    return pass_function(w, ab, offset, depth);
}

/* Walks the unit's entries. Returns false when memory is exhausted. */
static bool walk_unit(struct walk *w) {
    struct uspi_dwarf_reader *reader = w->reader;
    /* The piece is the unit: it begins at the unit's header. */
    const struct uspi_section_piece *piece = &w->entries;
    struct uspi_cursor_at c = uspi_cursor_over(piece->bytes, piece->size, w->unit->first - piece->from);
    size_t depth = 0;
    if (!uspi_room_for(&reader->stack, &reader->stack_capacity, 0, 2, sizeof *reader->stack)) return false;
    reader->stack[0] = (struct uspi_walk_scope){0};
    for (;;) {
        if (depth > 0) uspi_plain_entries_skip(w->table, &c, piece->bytes);
        if (c.p >= c.end) break;
        const uint64_t offset = piece->from + (uint64_t)(c.p - piece->bytes), code = uspi_cursor_uleb(&c);
        if (code == 0) {
            if (depth <= 1) break;
            depth--;
            /* The ranges of the entry that has ended are no longer needed. */
            reader->ranges.count = reader->stack[depth].ranges + reader->stack[depth].range_count;
            continue;
        }
        const struct uspi_abbreviation *ab = uspi_abbreviation(w->table, code);
        if (ab == NULL) {
            uspi_dwarf_complain(reader, offset, "an entry without an abbreviation");
            break;
        }
        bool has_children = ab->has_children;
        const bool is_read = ab->kind > USPI_ENTRY_DECLARED;
        if (is_read || has_children) reader->stack[depth + 1] = reader->stack[depth];
        if (!(is_read ? read_entry(w, ab, &c, offset, depth, &has_children) : skip_entry(w, ab, &c, offset, depth)))
            return false;
        if (c.is_bad) {
            uspi_dwarf_complain(reader, offset,
                                "an entry that reaches out of its unit, or of a form that is not known");
            break;
        }
        if (!has_children) {
            if (is_read) reader->ranges.count = reader->stack[depth].ranges + reader->stack[depth].range_count;
            if (depth == 0) break;
            continue;
        }
        if (depth + 1 == DEPTH_MAX) {
            uspi_dwarf_complain(reader, offset, "entries are nested too deep");
            break;
        }
        depth++;
        if (!uspi_room_for(&reader->stack, &reader->stack_capacity, depth, 2, sizeof *reader->stack)) return false;
    }
    return true;
}

/* ---- names of other units ---- */

void uspi_scopes_reset(struct uspi_scopes *scopes, const struct uspi_dwarf_file *file,
                       const struct uspi_dwarf_unit *unit) {
    scopes->file = file;
    scopes->unit = unit;
    scopes->count = scopes->entry_count = 0;
}

bool uspi_dwarf_note_scopes(struct uspi_dwarf_reader *reader, const struct uspi_dwarf_file *file,
                            const struct uspi_dwarf_unit *unit) {
    int status;
    const struct uspi_abbreviation_table *table = uspi_abbreviation_cache_get(
        reader->other_tables, &file->sections, unit->abbreviations, unit->encoding, &status);
    uspi_scopes_reset(&reader->foreign_scopes, file, unit);
    if (table == NULL) return status != USP_ERROR_NO_MEMORY;
    const struct uspi_section_piece entries =
        uspi_section_lasting(&file->sections, USPI_DEBUG_INFO, unit->offset, unit->end);
    struct walk w = {reader, file, unit, entries, table, &reader->foreign_scopes, true, false};
    if (walk_unit(&w)) return true;
    uspi_scopes_reset(&reader->foreign_scopes, NULL, NULL);
    return false;
}

bool uspi_dwarf_walk_unit(struct uspi_dwarf_reader *reader, bool needs_scopes) {
    const struct uspi_dwarf_source *source = &reader->source;
    struct walk w = {reader,        source->file,    source->unit, reader->entries,
                     reader->table, &reader->scopes, needs_scopes, true};
    return walk_unit(&w);
}
