/* SPDX-License-Identifier: MIT */
/* See line_table.h. */
#include "lib/symbolize/dwarf/line_table.h"

#include "lib/base/array.h"
#include "lib/object/dwarf_constants.h"

void uspi_line_table_free(struct uspi_line_table *table) {
    free(table->folders);
    free(table->files);
    free(table->rows);
    free(table->sequences);
    memset(table, 0, sizeof *table);
}

const struct uspi_line_file *uspi_line_table_file(const struct uspi_line_table *table, uint64_t number) {
    /* Before version 5, files count from 1. */
    if (table->version < 5 && number-- == 0) return NULL;
    return number < table->file_count ? &table->files[(size_t)number] : NULL;
}

static int refuse_table(const struct uspi_dwarf_file *file, uint64_t offset, const char *what,
                        struct uspi_error *error) {
    uspi_dwarf_describe(file, USPI_DEBUG_LINE, offset, what, error);
    return USP_OK;
}

/* ---- directories and files ---- */

static bool add_folder(struct uspi_line_table *t, uint64_t text) {
    if (!uspi_room_for(&t->folders, &t->folder_capacity, t->folder_count, 1, sizeof *t->folders)) return false;
    t->folders[t->folder_count++] = text;
    return true;
}

static bool add_file(struct uspi_line_table *t, uint64_t name, uint64_t folder) {
    if (!uspi_room_for(&t->files, &t->file_capacity, t->file_count, 1, sizeof *t->files)) return false;
    t->files[t->file_count++] = (struct uspi_line_file){name, folder};
    return true;
}

static uint64_t text_here(const struct uspi_dwarf_file *lines, struct uspi_cursor_at *c) {
    const uint64_t offset = (uint64_t)(c->p - lines->sections.all[USPI_DEBUG_LINE].bytes);
    const bool is_empty = c->p < c->end && *c->p == 0;
    uspi_cursor_skip_string(c);
    return c->is_bad || is_empty ? 0 : uspi_text_reference(USPI_TEXT_LINE, offset);
}

/* Reads the names of versions 2 to 4: directories up to an empty string, then files up to an empty name. */
static int read_old_names(struct uspi_line_table *t, const struct uspi_dwarf_file *lines, struct uspi_cursor_at *c) {
    while (!c->is_bad && c->p < c->end && *c->p != 0) {
        if (!add_folder(t, text_here(lines, c))) return USP_ERROR_NO_MEMORY;
    }
    uspi_cursor_byte(c);
    while (!c->is_bad && c->p < c->end && *c->p != 0) {
        const uint64_t name = text_here(lines, c), folder = uspi_cursor_uleb(c);
        uspi_cursor_uleb(c);
        uspi_cursor_uleb(c);
        if (!add_file(t, name, folder)) return USP_ERROR_NO_MEMORY;
    }
    return USP_OK;
}

/* One field in the format of an entry: what it is, and its form. */
struct entry_format {
    uint64_t what, form;
};

/* Reads a list of entries of version 5. All have the same fields. Fields of unknown kinds (MD5, the source itself) are
 * skipped by their form. */
static int read_entries(struct uspi_line_table *t, const struct uspi_dwarf_file *lines,
                        const struct uspi_dwarf_unit *unit, struct uspi_cursor_at *c, bool are_files) {
    struct entry_format formats[256];
    const uint8_t format_count = uspi_cursor_byte(c);
    for (unsigned i = 0; i < format_count; i++)
        formats[i] = (struct entry_format){uspi_cursor_uleb(c), uspi_cursor_uleb(c)};
    const uint64_t count = uspi_cursor_uleb(c);
    /* Entries of no bytes could be as many as the count says. */
    if (format_count == 0 || c->is_bad) return USP_OK;
    struct uspi_encoding encoding = unit->encoding;
    for (uint64_t i = 0; i < count && !c->is_bad && c->p < c->end; i++) {
        uint64_t name = 0, folder = 0;
        for (unsigned k = 0; k < format_count && !c->is_bad; k++) {
            struct uspi_attribute_value value = {0, (uint16_t)formats[k].form};
            const uint64_t what = formats[k].what, form = formats[k].form;
            if (what == DW_LNCT_path && form == DW_FORM_string) {
                name = text_here(lines, c);
            } else if (what == DW_LNCT_path && (form == DW_FORM_strx || form == DW_FORM_udata)) {
                value.number = uspi_cursor_uleb(c);
                name = uspi_dwarf_text(lines, unit, &value);
            } else if (what == DW_LNCT_path) {
                const uint8_t *before = c->p;
                if (!uspi_form_skip(c, form, encoding)) uspi_cursor_fail(c);
                if (!c->is_bad && c->p - before <= 8) value.number = uspi_le(before, (unsigned)(c->p - before));
                name = uspi_dwarf_text(lines, unit, &value);
            } else if (what == DW_LNCT_directory_index && form == DW_FORM_udata) {
                folder = uspi_cursor_uleb(c);
            } else {
                const uint8_t *before = c->p;
                if (!uspi_form_skip(c, form, encoding)) uspi_cursor_fail(c);
                if (what == DW_LNCT_directory_index && !c->is_bad && c->p - before <= 8) {
                    folder = uspi_le(before, (unsigned)(c->p - before));
                }
            }
        }
        if (c->is_bad) break;
        if (!(are_files ? add_file(t, name, folder) : add_folder(t, name))) return USP_ERROR_NO_MEMORY;
    }
    return USP_OK;
}

/* The maximum number of bytes in the length of a table. */
#define LENGTHS 12

int uspi_line_table_open(struct uspi_line_table *t, const struct uspi_dwarf_file *lines,
                         const struct uspi_dwarf_unit *unit, struct uspi_error *error) {
    t->version = 0;
    t->folder_count = t->file_count = t->row_count = t->sequence_count = 0;
    if (unit->line_table == USPI_NO_OFFSET) return USP_OK;
    const uint64_t lengths = unit->line_table <= UINT64_MAX - LENGTHS ? unit->line_table + LENGTHS : UINT64_MAX;
    const struct uspi_section_bytes *section =
        uspi_debug_section_part(&lines->sections, USPI_DEBUG_LINE, unit->line_table, lengths);
    struct uspi_cursor_at c = uspi_cursor_over(section->bytes, section->size, unit->line_table);
    uint64_t length = uspi_cursor_number(&c, 4);
    const unsigned offset_size = length == UINT32_MAX ? 8 : 4;
    if (offset_size == 8) length = uspi_cursor_number(&c, 8);
    if (c.is_bad || length > (uint64_t)(c.end - c.p)) {
        return refuse_table(lines, unit->line_table, "a line table that reaches out of its section", error);
    }
    c.end = c.p + (size_t)length;
    t->end = (uint64_t)(c.end - section->bytes);
    section = uspi_debug_section_part(&lines->sections, USPI_DEBUG_LINE, unit->line_table, t->end);
    /* The table could not be unpacked beyond its length. */
    if (section->size == 0) return USP_OK;
    const uint64_t version = uspi_cursor_number(&c, 2);
    if (version < 2 || version > 5)
        return refuse_table(lines, unit->line_table, "a line table of an unknown version", error);
    t->address_size = unit->encoding.address_size;
    if (version >= 5) {
        t->address_size = uspi_cursor_byte(&c);
        uspi_cursor_byte(&c);
    }
    const uint64_t header = uspi_cursor_number(&c, offset_size);
    if (c.is_bad || header > (uint64_t)(c.end - c.p)) {
        return refuse_table(lines, unit->line_table, "the header of a line table is cut off", error);
    }
    t->program = (uint64_t)(c.p - section->bytes) + header;
    c.end = c.p + (size_t)header;
    t->minimum = uspi_cursor_byte(&c);
    t->operations = version >= 4 ? uspi_cursor_byte(&c) : 1;
    uspi_cursor_byte(&c);
    t->line_base = (int8_t)uspi_cursor_byte(&c);
    t->range = uspi_cursor_byte(&c);
    t->opcode_base = uspi_cursor_byte(&c);
    if (t->opcode_base == 0 || t->operations == 0) {
        return refuse_table(lines, unit->line_table, "a line table without opcodes or operations", error);
    }
    memset(t->lengths, 0, sizeof t->lengths);
    for (unsigned i = 1; i < t->opcode_base; i++) t->lengths[i] = uspi_cursor_byte(&c);
    int status = USP_OK;
    if (version >= 5) {
        struct uspi_dwarf_unit own = *unit;
        own.encoding.offset_size = (uint8_t)offset_size;
        status = read_entries(t, lines, &own, &c, false);
        if (status == USP_OK) status = read_entries(t, lines, &own, &c, true);
    } else {
        status = read_old_names(t, lines, &c);
    }
    t->version = (uint8_t)version;
    return status;
}

/* ---- the program ---- */

struct machine {
    struct uspi_line_table *t;
    const struct uspi_dwarf_file *lines;
    uint64_t address, mask;
    uint64_t operation; /* index in a bundle of instructions */
    uint64_t file, line, column;
    size_t first;      /* first row of the sequence */
    uint64_t sequence; /* offset of its first instruction */
    bool is_removed;   /* a linker wrote −1 or −2 as the address; later rows would begin again at 0 */
    bool is_out_of_memory;
};

static void begin_sequence(struct machine *m, uint64_t offset) {
    m->address = m->operation = m->column = 0;
    m->is_removed = false;
    m->file = m->line = 1;
    m->first = m->t->row_count;
    m->sequence = offset;
}

/* Makes one sequence of the rows since the last one, which end at `high`. Drops them if the file does not have their
 * code. */
static void close_run(struct machine *m, uint64_t high) {
    struct uspi_line_table *t = m->t;
    const size_t count = t->row_count - m->first;
    const uint64_t low = count > 0 ? t->rows[m->first].address : high;
    if (!uspi_dwarf_is_code(&m->lines->sections, m->mask, low, high)) {
        t->row_count = m->first;
        return;
    }
    if (!uspi_room_for(&t->sequences, &t->sequence_capacity, t->sequence_count, 1, sizeof *t->sequences)) {
        m->is_out_of_memory = true;
        return;
    }
    t->sequences[t->sequence_count++] = (struct uspi_line_sequence){low, high, m->sequence, m->first, count, false};
    m->first = t->row_count;
}

static void add_row(struct machine *m) {
    struct uspi_line_table *t = m->t;
    if (m->is_removed) return;
    if (t->row_count > m->first) {
        struct uspi_line_row *last = &t->rows[t->row_count - 1];
        /* Of several rows at one address, the last one counts. */
        if (last->address == m->address) {
            last->file = (uint32_t)m->file;
            last->line = (uint32_t)m->line;
            last->column = (uint32_t)m->column;
            return;
        }
        /* The addresses go backwards: the rows so far end where the last of them begins. */
        if (last->address > m->address) {
            const uint64_t high = last->address;
            t->row_count--;
            close_run(m, high);
            m->first = t->row_count;
        }
    }
    if (!uspi_room_for(&t->rows, &t->row_capacity, t->row_count, 1, sizeof *t->rows)) {
        m->is_out_of_memory = true;
        return;
    }
    t->rows[t->row_count++] =
        (struct uspi_line_row){m->address, (uint32_t)m->file, (uint32_t)m->line, (uint32_t)m->column};
}

/* Ends the sequence at the machine's address. */
static void end_sequence(struct machine *m) {
    struct uspi_line_table *t = m->t;
    uint64_t high = m->address;
    /* If the end is below the last row, that row has no extent. */
    if (t->row_count > m->first && t->rows[t->row_count - 1].address > high) high = t->rows[t->row_count - 1].address;
    if (t->row_count > m->first && t->rows[t->row_count - 1].address == high) t->row_count--;
    close_run(m, high);
}

static void advance(struct machine *m, uint64_t operations) {
    const struct uspi_line_table *t = m->t;
    if (t->operations == 1) {
        m->address = (m->address + operations * t->minimum) & m->mask;
        return;
    }
    const uint64_t all = m->operation + operations;
    m->address = (m->address + t->minimum * (all / t->operations)) & m->mask;
    m->operation = all % t->operations;
}

static void extended(struct machine *m, struct uspi_cursor_at *c) {
    const uint64_t length = uspi_cursor_uleb(c);
    if (length == 0 || length > (uint64_t)(c->end - c->p)) {
        if (length != 0) uspi_cursor_fail(c);
        return;
    }
    struct uspi_cursor_at own = {c->p, c->p + (size_t)length, false};
    c->p = own.end;
    switch (uspi_cursor_byte(&own)) {
    case DW_LNE_end_sequence:
        end_sequence(m);
        begin_sequence(m, (uint64_t)(c->p - m->lines->sections.all[USPI_DEBUG_LINE].bytes));
        break;
    case DW_LNE_set_address:
        m->address = uspi_cursor_number(&own, length - 1 <= 8 ? (unsigned)(length - 1) : 0) & m->mask;
        m->operation = 0;
        m->is_removed = m->address >= m->mask - 1;
        break;
    case DW_LNE_define_file: {
        const uint64_t name = text_here(m->lines, &own), folder = uspi_cursor_uleb(&own);
        if (!add_file(m->t, name, folder)) m->is_out_of_memory = true;
        break;
    }
    default: break;
    }
}

/* Executes a standard opcode. Returns false when the program cannot continue. */
static bool standard(struct machine *m, struct uspi_cursor_at *c, uint8_t opcode) {
    const struct uspi_line_table *t = m->t;
    switch (opcode) {
    case DW_LNS_copy: add_row(m); break;
    case DW_LNS_advance_pc: advance(m, uspi_cursor_uleb(c)); break;
    case DW_LNS_advance_line: m->line = (uint32_t)(m->line + (uint64_t)uspi_cursor_sleb(c)); break;
    case DW_LNS_set_file: m->file = uspi_cursor_uleb(c); break;
    case DW_LNS_set_column: m->column = uspi_cursor_uleb(c); break;
    case DW_LNS_const_add_pc:
        if (t->range == 0) return false;
        advance(m, (255u - t->opcode_base) / t->range);
        break;
    case DW_LNS_fixed_advance_pc:
        m->address = (m->address + uspi_cursor_number(c, 2)) & m->mask;
        m->operation = 0;
        break;
    default:
        for (unsigned i = 0; i < t->lengths[opcode]; i++) uspi_cursor_uleb(c);
        break;
    }
    return true;
}

static bool sequence_before(const struct uspi_line_sequence *x, const struct uspi_line_sequence *y) {
    if (x->low != y->low) return x->low < y->low;
    if (x->is_preferred != y->is_preferred) return x->is_preferred;
    return x->first < y->first;
}

static int compare_sequences(const void *a, const void *b) {
    const struct uspi_line_sequence *x = a, *y = b;
    return sequence_before(x, y) ? -1 : sequence_before(y, x) ? 1 : 0;
}

void uspi_line_table_sort(struct uspi_line_table *table) {
    bool is_sorted = true;
    for (size_t i = 1; i < table->sequence_count && is_sorted; i++) {
        is_sorted = !sequence_before(&table->sequences[i], &table->sequences[i - 1]);
    }
    if (is_sorted) return;
    qsort(table->sequences, table->sequence_count, sizeof *table->sequences, compare_sequences);
}

int uspi_line_table_run(struct uspi_line_table *t, const struct uspi_dwarf_file *lines, struct uspi_error *error) {
    if (t->version == 0) return USP_OK;
    const struct uspi_section_bytes *section =
        uspi_debug_section_part(&lines->sections, USPI_DEBUG_LINE, t->program, t->end);
    struct machine m = {.t = t, .lines = lines};
    m.mask = t->address_size >= 8 || t->address_size == 0 ? UINT64_MAX : (UINT64_C(1) << 8 * t->address_size) - 1;
    struct uspi_cursor_at c = uspi_cursor_over(section->bytes, (size_t)t->end, t->program);
    begin_sequence(&m, t->program);
    bool is_sound = true;
    while (is_sound && c.p < c.end && !m.is_out_of_memory) {
        const uint8_t opcode = *c.p++;
        if (opcode >= t->opcode_base) {
            const uint8_t adjusted = (uint8_t)(opcode - t->opcode_base);
            is_sound = t->range != 0;
            if (!is_sound) break;
            advance(&m, adjusted / t->range);
            m.line = (uint32_t)(m.line + (uint64_t)(t->line_base + (int)(adjusted % t->range)));
            add_row(&m);
        } else if (opcode == 0) {
            extended(&m, &c);
        } else {
            is_sound = standard(&m, &c, opcode);
        }
    }
    if (m.is_out_of_memory) return USP_ERROR_NO_MEMORY;
    if (!is_sound || c.is_bad) refuse_table(lines, t->program, "a line program that cannot be carried out", error);
    /* A sequence without an end ends where its last row begins. */
    if (t->row_count > m.first) {
        const uint64_t high = t->rows[t->row_count - 1].address;
        t->row_count--;
        close_run(&m, high);
        if (m.is_out_of_memory) return USP_ERROR_NO_MEMORY;
    }
    t->row_count = m.first > t->row_count ? t->row_count : m.first;
    uspi_line_table_sort(t);
    return USP_OK;
}
