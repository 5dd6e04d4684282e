/* SPDX-License-Identifier: MIT */
/* Call frame information that a test builds from bytes, mapped as target memory at TABLE; and its rows as text. */
#ifndef TESTS_UNWIND_CFI_BUILDER_H
#define TESTS_UNWIND_CFI_BUILDER_H

#include <inttypes.h>

#include "lib/unwind/tables/dwarf_find.h"
#include "lib/unwind/tables/dwarf_row.h"
#include "tests/support/file_builder.h"
#include "tests/support/range.h"

#define TABLE UINT64_C(0x500000)
#define CODE  UINT64_C(0x401000) /* the code that the FDEs describe */

struct cfi {
    struct builder bytes;
    struct uspi_source source;
    struct uspi_dwarf_section section;
};

static inline int cfi_read(void *context, usp_addr from, void *to, size_t n) {
    const struct builder *b = context;
    return read_range(TABLE, b->bytes, b->size, from, to, n);
}

/* Begins empty call frame information. Tests append bytes to it; cfi_section gives the section up to its current
 * end. */
static inline void cfi_begin(struct cfi *c, uint32_t arch, bool is_eh) {
    memset(c, 0, sizeof *c);
    c->section.backend = uspi_backend_find(arch);
    c->section.is_eh = is_eh;
}

static inline struct usp_memory cfi_memory(struct cfi *c) { return (struct usp_memory){cfi_read, &c->bytes}; }

static inline const struct uspi_dwarf_section *cfi_section(struct cfi *c) {
    c->source = (struct uspi_source){.name = "table", .read = cfi_read, .context = &c->bytes, .memory = true};
    c->section.bytes = (struct uspi_bytes){&c->source, TABLE, c->bytes.size};
    return &c->section;
}

/* Begins an entry's length, which end_entry fills in. Returns the entry's offset. */
static inline size_t begin_entry(struct cfi *c, bool wide) {
    size_t at = c->bytes.size;
    put(&c->bytes, 4, wide ? UINT32_MAX : 0);
    if (wide) put(&c->bytes, 8, 0);
    return at;
}

static inline void end_entry(struct cfi *c, size_t at, bool wide) {
    size_t first = at + (wide ? 12 : 4);
    patch(&c->bytes, wide ? at + 4 : at, wide ? 8 : 4, c->bytes.size - first);
}

/* Appends a CIE: version, augmentation, then `rest` from the alignment factors on. Returns its offset. */
static inline size_t put_cie(struct cfi *c, bool wide, unsigned version, const char *augmentation, const char *rest) {
    size_t at = begin_entry(c, wide);
    unsigned width = wide && !c->section.is_eh ? 8 : 4;
    put(&c->bytes, width, c->section.is_eh ? 0 : UINT64_MAX);
    put(&c->bytes, 1, version);
    put_bytes(&c->bytes, augmentation, strlen(augmentation) + 1);
    put_hex(&c->bytes, rest);
    end_entry(c, at, wide);
    return at;
}

/* Begins an FDE, up to its CIE pointer. */
static inline size_t begin_fde(struct cfi *c, bool wide, size_t cie) {
    size_t at = begin_entry(c, wide);
    unsigned width = wide && !c->section.is_eh ? 8 : 4;
    put(&c->bytes, width, c->section.is_eh ? c->bytes.size - cie : cie);
    return at;
}

/* Appends an FDE with absolute addresses of the processor's word size, for a CIE without augmentation data. */
static inline size_t put_fde(struct cfi *c, size_t cie, usp_addr start, uint64_t length, const char *instructions) {
    size_t at = begin_fde(c, false, cie);
    put(&c->bytes, c->section.backend->word, start);
    put(&c->bytes, c->section.backend->word, length);
    put_hex(&c->bytes, instructions);
    end_entry(c, at, false);
    return at;
}

/* Appends an entry of .eh_frame_hdr as linkers write it: two 4-byte numbers relative to the header's start. */
static inline void put_sorted(struct builder *b, size_t hdr, usp_addr start, size_t fde) {
    put(b, 4, start - (TABLE + hdr));
    put(b, 4, (uint64_t)fde - hdr);
}

static inline int append(char *to, size_t capacity, const char *text) {
    size_t used = strlen(to);
    return snprintf(to + used, capacity - used, "%s", text);
}

static inline void append_place(char *to, size_t capacity, const struct uspi_backend *b, const char *name,
                                const struct uspi_dwarf_recovery *place) {
    char text[64];
    switch (place->how) {
    case USPI_DWARF_UNSPECIFIED:
    case USPI_DWARF_UNDEFINED: return;
    case USPI_DWARF_SAME: snprintf(text, sizeof text, " %s=s", name); break;
    case USPI_DWARF_AT_CFA: snprintf(text, sizeof text, " %s=c%+" PRId32, name, place->offset); break;
    case USPI_DWARF_IS_CFA: snprintf(text, sizeof text, " %s=v%+" PRId32, name, place->offset); break;
    case USPI_DWARF_IN_REGISTER: snprintf(text, sizeof text, " %s=%s", name, b->register_names[place->offset]); break;
    case USPI_DWARF_EXPRESSION: snprintf(text, sizeof text, " %s=exp", name); break;
    default: snprintf(text, sizeof text, " %s=vexp", name); break;
    }
    append(to, capacity, text);
}

/* Writes a row as readelf abbreviates it: "rsp+16 rbx=c-16 ra=c-8". Unknown registers are left out. */
static inline void row_text(const struct uspi_dwarf_section *section, const struct uspi_dwarf_cie *cie,
                            const struct uspi_dwarf_row *row, char *to, size_t capacity) {
    const struct uspi_backend *b = section->backend;
    unsigned return_column = uspi_dwarf_column(section, cie, cie->return_column);
    if (!row->cfa_is_known || row->cfa_is_expression) {
        snprintf(to, capacity, row->cfa_is_known ? "exp" : "none");
    } else {
        snprintf(to, capacity, "%s%+" PRId32, b->register_names[row->cfa_register], row->cfa_offset);
    }
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        if (reg != return_column) append_place(to, capacity, b, b->register_names[reg], &row->places[reg]);
    }
    append_place(to, capacity, b, "ra", &row->places[return_column]);
}

#endif
