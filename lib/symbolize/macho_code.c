/* SPDX-License-Identifier: MIT */
/* See macho_code.h. */
#include "lib/symbolize/macho_code.h"

#include "lib/object/macho_symbols.h"
#include "lib/object/macho_unwind_info.h"

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

/* As a boundary, or with the number that it gets as a function. */
static int add_start(struct uspi_gathering *gathering, usp_addr start, uint32_t *number) {
    if (number == NULL) return uspi_gather_boundary(gathering, start);
    if (*number == USPI_NO_SYMBOL) return USP_OK;
    const struct uspi_candidate function = {.start = start, .end = start, .symbol = (*number)++};
    return uspi_gather(gathering, &function);
}

static int gather_starts(const struct uspi_macho *macho, usp_addr mask, uint32_t *number,
                         struct uspi_gathering *gathering) {
    struct uspi_macho_starts starts;
    struct uspi_unwind_starts unwind;
    usp_addr start;
    int status = USP_OK;
    if (macho->type == USPI_MH_DSYM) return USP_OK;
    if (uspi_macho_starts(macho, &starts, NULL) == USP_OK) {
        while (status == USP_OK && uspi_macho_next_start(&starts, &start, NULL) > 0) {
            status = add_start(gathering, start & mask, number);
        }
    } else if (uspi_unwind_starts(macho, &unwind, NULL) == USP_OK) {
        while (status == USP_OK && uspi_unwind_next_start(&unwind, &start, NULL) > 0) {
            status = add_start(gathering, start & mask, number);
        }
    }
    return status;
}

static int gather_all(const struct uspi_macho *macho, const struct uspi_macho_code *code, usp_addr mask,
                      uint32_t *number, struct uspi_gathering *gathering) {
    int status = gather_starts(macho, mask, number, gathering);
    for (uint32_t i = 1; status == USP_OK && i < code->count; i++) {
        bool has_code = code->sections[i].high > code->sections[i].low;
        if (has_code) status = uspi_gather_boundary(gathering, code->sections[i].high);
    }
    return status;
}

int uspi_macho_gather_bounds(const struct uspi_macho *macho, const struct uspi_macho_code *code, usp_addr mask,
                             struct uspi_gathering *gathering) {
    return gather_all(macho, code, mask, NULL, gathering);
}

int uspi_macho_gather_functions(const struct uspi_macho *macho, const struct uspi_macho_code *code, usp_addr mask,
                                struct uspi_gathering *gathering) {
    uint32_t number = 0;
    return gather_all(macho, code, mask, &number, gathering);
}
