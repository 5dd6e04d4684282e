/* SPDX-License-Identifier: MIT */
/* See code.h. */
#include "lib/symbolize/macho/code.h"

#include <string.h>

int uspi_macho_code_read(const struct uspi_macho *macho, struct uspi_macho_code *code) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    struct uspi_macho_section section;
    int got;
    memset(code, 0, sizeof *code);
    code->count = 1;
    while ((got = uspi_macho_next_segment(macho, &cursor, &segment, NULL)) > 0) {
        for (uint32_t i = 0; i < segment.section_count && code->count < USPI_MACHO_SECTIONS; i++, code->count++) {
            usp_addr high;
            int status = uspi_macho_section(macho, &segment, i, &section, NULL);
            if (status != USP_OK) return status;
            const uint32_t has_code = USPI_S_ATTR_PURE_INSTRUCTIONS | USPI_S_ATTR_SOME_INSTRUCTIONS;
            if ((section.flags & has_code) == 0 || !uspi_sum(section.address, section.size, &high)) continue;
            code->sections[code->count].low = section.address;
            code->sections[code->count].high = high;
        }
    }
    return got < 0 ? got : USP_OK;
}

bool uspi_macho_code_holds(const struct uspi_macho_code *code, uint32_t number, usp_addr address) {
    return number < code->count && address >= code->sections[number].low && address < code->sections[number].high;
}

bool uspi_macho_code_holds_any(const struct uspi_macho_code *code, usp_addr address) {
    for (uint32_t i = 1; i < code->count; i++) {
        if (uspi_macho_code_holds(code, i, address)) return true;
    }
    return false;
}

bool uspi_macho_next_function(const struct uspi_macho *macho, struct uspi_macho_next *next, usp_addr *start) {
    if (!next->has_begun) {
        next->has_begun = true;
        if (macho->type == USPI_MH_DSYM) return false;
        next->by_unwind = uspi_macho_starts(macho, &next->starts, NULL) != USP_OK;
        if (next->by_unwind && uspi_unwind_starts(macho, &next->unwind, NULL) != USP_OK) return false;
    }
    int got = next->by_unwind ? uspi_unwind_next_start(&next->unwind, start, NULL)
                              : uspi_macho_next_start(&next->starts, start, NULL);
    return got > 0;
}

int uspi_macho_gather_ends(const struct uspi_macho_code *code, struct uspi_gathering *gathering) {
    int status = USP_OK;
    for (uint32_t i = 1; status == USP_OK && i < code->count; i++) {
        bool has_code = code->sections[i].high > code->sections[i].low;
        if (has_code) status = uspi_gather_boundary(gathering, code->sections[i].high);
    }
    return status;
}

int uspi_macho_gather_bounds(const struct uspi_macho *macho, const struct uspi_macho_code *code, usp_addr mask,
                             struct uspi_gathering *gathering) {
    struct uspi_macho_next next = {.has_begun = false};
    usp_addr start;
    int status = USP_OK;
    while (status == USP_OK && uspi_macho_next_function(macho, &next, &start)) {
        status = uspi_gather_boundary(gathering, start & mask);
    }
    return status == USP_OK ? uspi_macho_gather_ends(code, gathering) : status;
}
