/* SPDX-License-Identifier: MIT */
/* See elf_code.h. */
#include "lib/object/elf_code.h"
#include "lib/base/array.h"
#include "lib/base/bisect.h"

#include <stdlib.h>
#include <string.h>

static int by_low(const void *a, const void *b) {
    const struct uspi_code_range *x = a, *y = b;
    return (x->low > y->low) - (x->low < y->low);
}

/* Reads the range of section or segment i; *is_code tells whether it contains code. */
static int read_range(const struct uspi_elf *elf, bool sections, uint64_t i, struct uspi_code_range *range,
                      bool *is_code) {
    struct uspi_elf_section section;
    struct uspi_elf_segment segment;
    uint64_t size;
    int status;
    if (sections) {
        const uint64_t wanted = USPI_SHF_ALLOC | USPI_SHF_EXECINSTR;
        status = uspi_elf_section(elf, i, &section, NULL);
        *is_code = status == USP_OK && (section.flags & wanted) == wanted;
        range->low = section.address;
        size = section.size;
    } else {
        status = uspi_elf_segment(elf, i, &segment, NULL);
        *is_code = status == USP_OK && segment.type == USPI_PT_LOAD && (segment.flags & USPI_PF_X) != 0;
        range->low = segment.address;
        size = segment.memory_size;
    }
    if (status != USP_OK) return status;
    range->section = i;
    *is_code = *is_code && size > 0 && uspi_sum(range->low, size, &range->high);
    return USP_OK;
}

/* Returns whether any code section of an unlinked object has an address. */
static bool is_loaded(const struct uspi_elf *elf) {
    struct uspi_code_range range;
    bool is_code;
    for (uint64_t i = 0; i < elf->section_count; i++) {
        if (read_range(elf, true, i, &range, &is_code) == USP_OK && is_code && range.low != 0) return true;
    }
    return false;
}

int uspi_elf_code_read(const struct uspi_elf *elf, struct uspi_elf_code *code) {
    const bool is_unlinked = elf->type == USPI_ET_REL, sections = is_unlinked || elf->section_count > 0;
    const uint64_t count = sections ? elf->section_count : elf->segment_count;
    size_t capacity = 0;
    usp_addr end = 0;
    memset(code, 0, sizeof *code);
    code->is_unlinked = is_unlinked;
    const bool has_addresses = is_unlinked && is_loaded(elf);
    for (uint64_t i = 0; i < count; i++) {
        struct uspi_code_range range;
        bool is_code = false;
        int status = read_range(elf, sections, i, &range, &is_code);
        if (has_addresses) {
            is_code = is_code && range.low != 0;
        } else if (status == USP_OK && is_code && is_unlinked) {
            const uint64_t size = range.high - range.low;
            range.low = end;
            is_code = uspi_sum(end, size, &end);
            range.high = end;
        }
        if (status == USP_OK && is_code) {
            struct uspi_code_range *grown =
                uspi_array_reserve(code->by_address, &capacity, code->count + 1, sizeof *grown);
            if (grown != NULL) code->by_address = grown;
            if (grown == NULL) status = USP_ERROR_NO_MEMORY;
        }
        if (status != USP_OK) {
            uspi_elf_code_clear(code);
            return status;
        }
        if (is_code) code->by_address[code->count++] = range;
    }
    if (code->count == 0) return USP_OK;
    if (sections) {
        code->by_section = malloc(code->count * sizeof *code->by_section);
        if (code->by_section == NULL) {
            uspi_elf_code_clear(code);
            return USP_ERROR_NO_MEMORY;
        }
        memcpy(code->by_section, code->by_address, code->count * sizeof *code->by_section);
    }
    qsort(code->by_address, code->count, sizeof *code->by_address, by_low);
    return USP_OK;
}

void uspi_elf_code_clear(struct uspi_elf_code *code) {
    free(code->by_section);
    free(code->by_address);
    memset(code, 0, sizeof *code);
}

/* Returns the last range whose section number or address is not above `key`; NULL when there is none. */
static const struct uspi_code_range *last_not_above(const struct uspi_code_range *ranges, size_t count, bool by_address,
                                                    uint64_t key) {
    size_t i;
    USPI_FIRST(i, 0, count, (by_address ? ranges[i].low : ranges[i].section) > key);
    return i > 0 ? &ranges[i - 1] : NULL;
}

/* Returns the range of the section with that number; NULL when the section has no code. */
static const struct uspi_code_range *section_of(const struct uspi_elf_code *code, uint64_t number) {
    const struct uspi_code_range *range = last_not_above(code->by_section, code->count, false, number);
    return range != NULL && range->section == number ? range : NULL;
}

const struct uspi_code_range *uspi_elf_code_of(const struct uspi_elf_code *code, const struct uspi_elf_symbol *symbol,
                                               usp_addr *address) {
    const struct uspi_code_range *range;
    *address = symbol->value;
    if (symbol->section == USPI_SHN_UNDEF) return NULL;
    if (symbol->section >= USPI_SHN_RESERVED && symbol->section != USPI_SHN_XINDEX) return NULL;
    if (code->is_unlinked) {
        /* Without its section's number, a symbol could be in any section. */
        range = symbol->section != USPI_SHN_XINDEX ? section_of(code, symbol->section) : NULL;
        if (range == NULL || symbol->value >= range->high - range->low) return NULL;
        *address = range->low + symbol->value;
        return range;
    }
    if (code->by_section != NULL && symbol->section != USPI_SHN_XINDEX) {
        range = section_of(code, symbol->section);
    } else {
        range = last_not_above(code->by_address, code->count, true, symbol->value);
    }
    return range != NULL && symbol->value >= range->low && symbol->value < range->high ? range : NULL;
}
