/* SPDX-License-Identifier: MIT */
/* See struct_members.h. Reads all entries in order, up to the last wanted member. */
#include "lib/images/struct_members.h"

#include "lib/object/dwarf_constants.h"
#include "lib/object/dwarf_forms.h"

/* Go has less than 100 abbreviations, and less than 16 attributes in each. Limits keep the work in proportion to the
 * section: a unit that exceeds one is left out from there on. */
#define CODES      512u
#define ATTRIBUTES 64u

struct abbreviation {
    const uint8_t *attributes; /* NULL: there is none with this code */
    uint64_t tag;
    bool has_children;
};

struct search {
    struct uspi_struct_member *members;
    size_t count;
    const struct uspi_section_bytes *abbrev;
    uint64_t table; /* offset of the table in `all`; UINT64_MAX: none */
    struct abbreviation all[CODES];
    struct uspi_encoding encoding; /* of the unit */
};

struct entry {
    const char *name;  /* in the section, NUL-terminated; NULL: none */
    bool has_location; /* `location` is valid */
    uint64_t location; /* DW_AT_data_member_location */
};

static bool next_attribute(struct uspi_cursor_at *c, uint64_t *attribute, uint64_t *form) {
    *attribute = uspi_cursor_uleb(c);
    *form = uspi_cursor_uleb(c);
    if (*form == DW_FORM_implicit_const) uspi_cursor_sleb(c);
    return !c->is_bad && (*attribute != 0 || *form != 0);
}

static void read_table(struct search *s, uint64_t offset) {
    struct uspi_cursor_at c = uspi_cursor_over(s->abbrev->bytes, s->abbrev->size, offset);
    uint64_t code, attribute, form;
    if (s->table == offset) return;
    s->table = offset;
    memset(s->all, 0, sizeof s->all);
    while ((code = uspi_cursor_uleb(&c)) != 0 && code < CODES) {
        struct abbreviation *a = &s->all[code];
        a->tag = uspi_cursor_uleb(&c);
        a->has_children = uspi_cursor_byte(&c) != 0;
        a->attributes = c.p;
        while (next_attribute(&c, &attribute, &form)) {}
        if (c.is_bad) {
            a->attributes = NULL;
            return;
        }
    }
}

/* Reads an entry, from after its code. */
static bool read_entry(const struct search *s, const struct abbreviation *a, struct uspi_cursor_at *c,
                       struct entry *entry) {
    struct uspi_cursor_at specs = {a->attributes, s->abbrev->bytes + s->abbrev->size, false};
    uint64_t attribute, form;
    memset(entry, 0, sizeof *entry);
    for (unsigned i = 0; next_attribute(&specs, &attribute, &form); i++) {
        const uint8_t *value = c->p;
        if (i == ATTRIBUTES || !uspi_form_skip(c, form, s->encoding) || c->is_bad) return false;
        if (attribute == DW_AT_name && form == DW_FORM_string) entry->name = (const char *)value;
        if (attribute != DW_AT_data_member_location) continue;
        struct uspi_cursor_at number = {value, c->p, false};
        entry->has_location = form == DW_FORM_udata; /* Go has no other form */
        entry->location = entry->has_location ? uspi_cursor_uleb(&number) : 0;
    }
    return !specs.is_bad;
}

/* Returns the name of a wanted type, NULL: the type is not wanted. */
static const char *wanted_type(const struct search *s, const struct entry *entry) {
    for (size_t i = 0; i < s->count && entry->name != NULL; i++) {
        if (strcmp(s->members[i].type, entry->name) == 0) return s->members[i].type;
    }
    return NULL;
}

static bool take_member(struct search *s, const char *type, const struct entry *entry) {
    size_t known = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct uspi_struct_member *m = &s->members[i];
        if (!m->is_known && strcmp(m->type, type) == 0 && strcmp(m->name, entry->name) == 0) {
            m->offset = entry->location;
            m->is_known = true;
        }
        known += m->is_known;
    }
    return known == s->count;
}

/* Reads the entries of a unit. Returns whether all members are known. */
static bool read_entries(struct search *s, struct uspi_cursor_at *c) {
    const char *type = NULL; /* of the struct whose members are being read */
    size_t depth = 0, inside = 0;
    while (c->p < c->end) {
        struct entry entry;
        const uint64_t code = uspi_cursor_uleb(c);
        if (code == 0) {
            if (depth > 0) depth--;
            if (depth < inside) type = NULL;
            continue;
        }
        const struct abbreviation *a = code < CODES ? &s->all[code] : NULL;
        if (a == NULL || a->attributes == NULL || !read_entry(s, a, c, &entry)) return false;
        if (type != NULL && depth == inside && a->tag == DW_TAG_member && entry.name != NULL && entry.has_location &&
            take_member(s, type, &entry)) {
            return true;
        }
        if (!a->has_children) continue;
        depth++;
        if (type != NULL || a->tag != DW_TAG_structure_type) continue;
        type = wanted_type(s, &entry);
        inside = depth;
    }
    return false;
}

bool uspi_struct_members_find(const struct uspi_debug_sections *sections, struct uspi_struct_member *members,
                              size_t count) {
    uspi_debug_section_expect_all(sections, USPI_DEBUG_INFO);
    const struct uspi_section_bytes *info = uspi_debug_section(sections, USPI_DEBUG_INFO);
    struct search s = {.members = members,
                       .count = count,
                       .abbrev = uspi_debug_section(sections, USPI_DEBUG_ABBREV),
                       .table = UINT64_MAX,
                       .encoding = {.offset_size = 4}};
    struct uspi_cursor_at c = uspi_cursor_over(info->bytes, info->size, 0);
    while (c.p < c.end) {
        const uint64_t length = uspi_cursor_number(&c, 4); /* Go has no units of 4 GB, with offsets of 8 bytes */
        if (c.is_bad || length > (uint64_t)(c.end - c.p)) return false;
        struct uspi_cursor_at unit = {c.p, c.p + (size_t)length, false};
        c.p = unit.end;
        const uint64_t version = uspi_cursor_number(&unit, 2);
        if (version < 2 || version > 5) continue;
        s.encoding.version = (uint8_t)version;
        if (version == 5 && uspi_cursor_byte(&unit) != DW_UT_compile) continue;
        if (version == 5) s.encoding.address_size = uspi_cursor_byte(&unit);
        const uint64_t table = uspi_cursor_number(&unit, 4);
        if (version < 5) s.encoding.address_size = uspi_cursor_byte(&unit);
        if (unit.is_bad) continue;
        read_table(&s, table);
        if (read_entries(&s, &unit)) return true;
    }
    return false;
}
