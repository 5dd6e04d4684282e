/* SPDX-License-Identifier: MIT */
/* See stubs.h. */
#include "lib/symbolize/macho/stubs.h"

#define ENTRY 4

static void add_section(struct uspi_macho_stubs *stubs, const struct uspi_macho_section *section) {
    const uint64_t entries = stubs->indirect.size / ENTRY;
    if ((section->flags & USPI_S_TYPE) != USPI_S_SYMBOL_STUBS || section->reserved2 == 0) return;
    if (section->reserved1 >= entries || stubs->count == USPI_STUB_SECTIONS) return;
    uint64_t count = section->size / section->reserved2, left = entries - section->reserved1;
    stubs->sections[stubs->count++] = (struct uspi_stub_section){
        section->address, section->reserved2, section->reserved1, (uint32_t)(count < left ? count : left)};
}

int uspi_macho_stubs_open(struct uspi_macho_stubs *stubs, const struct uspi_macho *macho) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    struct uspi_macho_section section;
    *stubs = (struct uspi_macho_stubs){0};
    int status = uspi_macho_indirect_symbols(macho, &stubs->indirect, NULL);
    if (status == USP_ERROR_NOT_FOUND) return USP_OK;
    if (status != USP_OK) return status;
    int got;
    while ((got = uspi_macho_next_segment(macho, &cursor, &segment, NULL)) > 0) {
        for (uint32_t i = 0; i < segment.section_count; i++) {
            status = uspi_macho_section(macho, &segment, i, &section, NULL);
            if (status != USP_OK) return status;
            add_section(stubs, &section);
        }
    }
    return got < 0 ? got : USP_OK;
}

int uspi_macho_stub(const struct uspi_macho_stubs *stubs, uint32_t entry, struct uspi_stub *stub) {
    for (uint32_t i = 0; i < stubs->count; i++) {
        const struct uspi_stub_section *section = &stubs->sections[i];
        uint64_t number;
        if (entry < section->first || entry - section->first >= section->count) continue;
        int status = uspi_bytes_load(stubs->indirect, (uint64_t)entry * ENTRY, ENTRY, &number, "stub's symbol", NULL);
        if (status != USP_OK) return status;
        if ((number & (USPI_INDIRECT_SYMBOL_LOCAL | USPI_INDIRECT_SYMBOL_ABS)) != 0) return USP_ERROR_NOT_FOUND;
        stub->address = section->address + (uint64_t)(entry - section->first) * section->size;
        stub->size = section->size;
        stub->symbol = (uint32_t)number;
        return USP_OK;
    }
    return USP_ERROR_NOT_FOUND;
}
