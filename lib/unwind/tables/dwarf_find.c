/* SPDX-License-Identifier: MIT */
/* See dwarf_find.h. */
#include "lib/unwind/tables/dwarf_find.h"
#include "lib/base/bisect.h"

/* Maximum number of entries that are searched one by one. An image with more has a sorted table, or its owner makes
 * one. */
#define ENTRIES_MAX 65536u

static int read_header(struct uspi_dwarf_index *index) {
    uint8_t fixed[4]; /* version, and the encodings of the section's address, of the count and of the entries */
    uint64_t at = sizeof fixed;
    int status = uspi_bytes_read(index->section.bytes, 0, fixed, sizeof fixed, "header", NULL);
    if (status != USP_OK) return status;
    if (fixed[0] != 1) return USP_ERROR_UNSUPPORTED;
    status = uspi_dwarf_pointer(&index->section, &at, fixed[1], 0, &index->described);
    if (status != USP_OK) return status;
    index->count = 0;
    index->encoding = fixed[3];
    index->width = fixed[3] == USPI_PE_OMIT ? 0 : uspi_dwarf_width(index->section.backend, fixed[3]);
    /* The table may have no sorted entries, or have them in a format that cannot be searched. */
    if (fixed[2] == USPI_PE_OMIT || index->width == 0) return USP_OK;
    status = uspi_dwarf_pointer(&index->section, &at, fixed[2], 0, &index->count);
    index->entries = at;
    struct uspi_bytes entries;
    if (status != USP_OK) return status;
    return uspi_bytes_array(index->section.bytes,
                            (struct uspi_array){at, index->count, 2u * index->width, "sorted table"}, &entries, NULL);
}

/* Fields of an entry of the sorted table: the address of its code, the address of its FDE. */
enum index_field { INDEX_START, INDEX_FDE };

static int read_index(const struct uspi_dwarf_index *index, uint64_t i, enum index_field field, usp_addr *value) {
    uint64_t at = index->entries + (i * 2 + field) * index->width;
    return uspi_dwarf_pointer(&index->section, &at, index->encoding, 0, value);
}

static bool holds(const struct uspi_dwarf_fde *fde, usp_addr pc) { return pc >= fde->start && pc < fde->end; }

/* Counts the entries that start at or below pc. */
static int count_not_above(const struct uspi_dwarf_index *index, usp_addr pc, uint64_t *count) {
    uint64_t i;
    usp_addr start;
    int status = USP_OK;
    USPI_FIRST(i, 0, index->count,
               status != USP_OK || (status = read_index(index, i, INDEX_START, &start)) != USP_OK || start > pc);
    *count = i;
    return status;
}

static int find_sorted(const struct uspi_dwarf_section *section, const struct uspi_dwarf_index *index, usp_addr pc,
                       struct uspi_dwarf_fde *fde) {
    uint64_t count;
    usp_addr found;
    int status = count_not_above(index, pc, &count);
    if (status == USP_OK && count == 0) status = USP_ERROR_NOT_FOUND;
    if (status == USP_OK) status = read_index(index, count - 1, INDEX_FDE, &found);
    if (status != USP_OK) return status;
    struct uspi_dwarf_entry entry;
    if (found < section->bytes.from) return USP_ERROR_FORMAT;
    status = uspi_dwarf_entry(section, found - section->bytes.from, &entry);
    if (status == USP_OK) status = uspi_dwarf_fde(section, &entry, fde);
    if (status != USP_OK) return status;
    if (fde->start > pc) return USP_ERROR_FORMAT;
    return holds(fde, pc) ? USP_OK : USP_ERROR_NOT_FOUND;
}

/* Reads the next entry. Returns 1 for an FDE, 0 past the last entry, USP_ERROR_NOT_FOUND for an entry that has to be
 * skipped, another status if the entry cannot be read. */
static int next_entry(const struct uspi_dwarf_section *section, uint64_t *offset, struct uspi_dwarf_entry *entry,
                      struct uspi_dwarf_fde *fde) {
    if (*offset >= section->bytes.size) return 0;
    int status = uspi_dwarf_entry(section, *offset, entry);
    if (status != USP_OK) return status;
    *offset = entry->next;
    if (entry->is_end) return section->is_eh ? 0 : USP_ERROR_NOT_FOUND;
    if (entry->is_cie || uspi_dwarf_fde(section, entry, fde) != USP_OK) return USP_ERROR_NOT_FOUND;
    /* Linkers set the address of discarded code to 0. */
    return fde->start != 0 && fde->start != section->slide && fde->start != fde->end ? 1 : USP_ERROR_NOT_FOUND;
}

int uspi_dwarf_next_fde(const struct uspi_dwarf_section *section, uint64_t *offset, struct uspi_dwarf_entry *entry,
                        struct uspi_dwarf_fde *fde) {
    int got;
    do {
        got = next_entry(section, offset, entry, fde);
    } while (got == USP_ERROR_NOT_FOUND);
    return got;
}

static int find_linear(const struct uspi_dwarf_section *section, usp_addr pc, struct uspi_dwarf_fde *fde) {
    struct uspi_dwarf_entry entry;
    uint64_t offset = 0;
    for (unsigned i = 0; i < ENTRIES_MAX; i++) {
        int got = next_entry(section, &offset, &entry, fde);
        if (got == 0) break;
        if (got == 1 && holds(fde, pc)) return USP_OK;
        if (got < 0 && got != USP_ERROR_NOT_FOUND) return got;
    }
    return USP_ERROR_NOT_FOUND;
}

static int find_in(const struct uspi_dwarf_section *section, const struct uspi_dwarf_index *index, usp_addr pc,
                   struct uspi_dwarf_fde *fde) {
    if (index->status == USP_ERROR_NOT_FOUND) return find_linear(section, pc, fde);
    if (index->status != USP_OK) return index->status;
    return index->count != 0 ? find_sorted(section, index, pc, fde) : find_linear(section, pc, fde);
}

int uspi_dwarf_find(const struct uspi_dwarf_image *image, usp_addr pc, const struct uspi_dwarf_section **section,
                    struct uspi_dwarf_fde *fde) {
    int status = USP_ERROR_NOT_FOUND;
    if (image->has_eh) {
        *section = &image->eh;
        status = find_in(&image->eh, &image->eh_index, pc, fde);
    }
    if (status == USP_OK || !image->has_debug) return status;
    *section = &image->debug;
    int in_debug = find_in(&image->debug, &image->debug_index, pc, fde);
    return in_debug == USP_ERROR_NOT_FOUND ? status : in_debug;
}

int uspi_dwarf_next_start(const struct uspi_dwarf_image *image, usp_addr pc, usp_addr *start) {
    const struct uspi_dwarf_index *index = &image->eh_index;
    uint64_t count;
    int status = index->status;
    if (status == USP_OK) status = count_not_above(index, pc, &count);
    if (status == USP_OK && count == index->count) status = USP_ERROR_NOT_FOUND;
    return status == USP_OK ? read_index(index, count, INDEX_START, start) : status;
}

static bool section_at(const struct uspi_dwarf_image *image, struct usp_memory_range table,
                       const struct uspi_dwarf_section *like, struct uspi_dwarf_section *section) {
    *section = *like;
    section->bytes = (struct uspi_bytes){&image->source, table.address, table.size};
    uint64_t end;
    return table.size != 0 && uspi_sum(table.address, table.size, &end);
}

static void find_index(const struct uspi_dwarf_image *image, struct usp_memory_range table,
                       const struct uspi_backend *backend, struct uspi_dwarf_index *index) {
    /* Linkers write addresses relative to the table. A table that uspi_dwarf_make_index made has absolute ones. */
    const struct uspi_dwarf_section like = {.backend = backend, .is_eh = true, .data_base = table.address};
    index->status = section_at(image, table, &like, &index->section) ? read_header(index) : USP_ERROR_NOT_FOUND;
}

int uspi_dwarf_image_init(struct uspi_dwarf_image *image, const struct usp_unwind_tables *tables,
                          const struct usp_memory *memory, const struct uspi_backend *backend, uint32_t os) {
    memset(image, 0, sizeof *image);
    image->source = uspi_source_of_memory(memory, "unwind table");
    image->source.direct = tables->direct;
    const struct uspi_dwarf_section debug = {.backend = backend, .slide = tables->slide};
    struct uspi_dwarf_section eh = {.backend = backend, .is_eh = true};
    eh.text_base = tables->text_base;
    eh.data_base = tables->data_base;
    eh.swaps_sp_and_fp = os == USP_OS_DARWIN && backend->arch == USP_ARCH_I386;
    eh.slide = (tables->flags & USP_UNWIND_TABLES_AS_LINKED) != 0 ? tables->slide : 0;
    find_index(image, tables->eh_frame_hdr, backend, &image->eh_index);
    image->has_eh = section_at(image, tables->eh_frame, &eh, &image->eh);
    if (!image->has_eh && image->eh_index.status != USP_ERROR_NOT_FOUND) {
        if (image->eh_index.status != USP_OK) return image->eh_index.status;
        image->eh.bytes = uspi_bytes_at(&image->source, image->eh_index.described);
        image->has_eh = true;
    }
    image->has_debug = section_at(image, tables->debug_frame, &debug, &image->debug);
    if (image->has_debug) find_index(image, tables->debug_frame_hdr, backend, &image->debug_index);
    return image->has_eh || image->has_debug ? USP_OK : USP_ERROR_NOT_FOUND;
}
