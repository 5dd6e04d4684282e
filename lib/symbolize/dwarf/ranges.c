/* SPDX-License-Identifier: MIT */
/* See ranges.h. */
#include "lib/symbolize/dwarf/ranges.h"
#include "lib/base/bisect.h"

#include "lib/base/array.h"
#include "lib/base/merge_sort.h"
#include "lib/object/dwarf_constants.h"

static uint64_t highest_address(const struct uspi_dwarf_unit *unit) {
    const unsigned size = unit->encoding.address_size;
    return size == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1;
}

static bool add(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit, uint64_t low, uint64_t high,
                struct uspi_range_list *list) {
    if (!uspi_dwarf_is_code(&file->addresses->sections, highest_address(unit), low, high)) return true;
    if (!uspi_room_for(&list->all, &list->capacity, list->count, 1, sizeof *list->all)) return false;
    list->all[list->count++] = (struct uspi_address_range){low, high};
    return true;
}

/* A function that reads a list from the cursor on. Returns false when memory is exhausted. */
typedef bool (*read_entries)(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                             struct uspi_cursor_at *c, struct uspi_range_list *list);

/* Reads a list of pairs of offsets from a base. A special pair sets the base; a pair of zeros ends the list. */
static bool read_old_entries(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                             struct uspi_cursor_at *c, struct uspi_range_list *list) {
    const unsigned size = unit->encoding.address_size;
    const uint64_t select = highest_address(unit);
    uint64_t base = unit->base;
    while (list->budget > 0) {
        list->budget--;
        const uint64_t low = uspi_cursor_number(c, size), high = uspi_cursor_number(c, size);
        if (c->is_bad || (low == 0 && high == 0)) break;
        if (low == select) {
            base = high;
        } else if (base < select - 1 && !add(file, unit, (low + base) & select, (high + base) & select, list)) {
            return false;
        }
    }
    return true;
}

static bool read_new_entries(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                             struct uspi_cursor_at *c, struct uspi_range_list *list) {
    const unsigned size = unit->encoding.address_size;
    const uint64_t mask = highest_address(unit);
    uint64_t base = unit->base, low = 0, high = 0;
    while (!c->is_bad && list->budget > 0) {
        bool is_range = true, is_known = true;
        list->budget--;
        switch (uspi_cursor_byte(c)) {
        case DW_RLE_end_of_list: return true;
        case DW_RLE_base_addressx:
            if (!uspi_dwarf_indexed_address(file, unit, uspi_cursor_uleb(c), &base)) base = mask;
            is_range = false;
            break;
        case DW_RLE_base_address:
            base = uspi_cursor_number(c, size);
            is_range = false;
            break;
        case DW_RLE_startx_endx:
            is_known = uspi_dwarf_indexed_address(file, unit, uspi_cursor_uleb(c), &low);
            is_known = uspi_dwarf_indexed_address(file, unit, uspi_cursor_uleb(c), &high) && is_known;
            break;
        case DW_RLE_startx_length:
            is_known = uspi_dwarf_indexed_address(file, unit, uspi_cursor_uleb(c), &low);
            high = low + uspi_cursor_uleb(c);
            break;
        case DW_RLE_offset_pair:
            low = (base + uspi_cursor_uleb(c)) & mask;
            high = (base + uspi_cursor_uleb(c)) & mask;
            is_known = base < mask - 1;
            break;
        case DW_RLE_start_end:
            low = uspi_cursor_number(c, size);
            high = uspi_cursor_number(c, size);
            break;
        case DW_RLE_start_length:
            low = uspi_cursor_number(c, size);
            high = low + uspi_cursor_uleb(c);
            break;
        default: return true; /* what follows an unknown entry cannot be read */
        }
        if (c->is_bad || !is_range || !is_known) continue;
        if (!add(file, unit, low, high, list)) return false;
    }
    return true;
}

/* How much of the section is read for one list at first, where lists lie together. */
#define LISTS_PIECE ((uint64_t)1 << 14)

/* Reads the list at an offset of a section. Only the piece that has it is brought into memory. */
static bool read_list(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit, uint64_t offset,
                      struct uspi_range_list *list) {
    const bool is_old = unit->encoding.version < 5;
    const struct uspi_debug_sections *sections = is_old ? &file->addresses->sections : &file->sections;
    const enum uspi_debug_section which = is_old ? USPI_DEBUG_RANGES : USPI_DEBUG_RNGLISTS;
    const read_entries read = is_old ? read_old_entries : read_new_entries;
    const uint64_t size = sections->all[which].size, left = offset < size ? size - offset : 0, budget = list->budget;
    const size_t count = list->count;
    for (uint64_t n = list->apart != NULL ? USPI_SMALL_PIECE : LISTS_PIECE;; n *= 16) {
        struct uspi_section_piece piece;
        const uint64_t end = n < left ? offset + n : size;
        if (list->apart == NULL) {
            piece = uspi_section_lasting(sections, which, offset, end);
        } else if (uspi_section_piece(sections, which, offset, end, list->apart, &piece) == USP_ERROR_NO_MEMORY) {
            return false;
        }
        struct uspi_cursor_at c = uspi_cursor_over(piece.bytes, piece.size, 0);
        if (!read(file, unit, &c, list)) return false;
        if (!c.is_bad || n >= left || piece.size == 0) return true;
        list->count = count;
        list->budget = budget;
    }
}

/* Finds the start of the list of DW_AT_ranges. Returns false when it cannot be known. */
static bool find_list(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                      const struct uspi_attribute_value *value, uint64_t *offset) {
    if (value->form != DW_FORM_rnglistx) {
        *offset = value->number;
        /* The lists of split units are in the program, after the base that their skeleton gives. */
        if (unit->encoding.version < 5 && file->addresses != file) return uspi_sum(*offset, unit->ranges_base, offset);
        return true;
    }
    const unsigned size = unit->encoding.offset_size;
    uint64_t at;
    if (!uspi_product(value->number, size, &at) || !uspi_sum(at, unit->rnglists_base, &at)) return false;
    return uspi_dwarf_number(file, USPI_DEBUG_RNGLISTS, at, size, offset) &&
           uspi_sum(*offset, unit->rnglists_base, offset);
}

/* A uspi_before function. */
static bool range_before(const void *a, const void *b) {
    const struct uspi_address_range *x = a, *y = b;
    return x->low < y->low;
}

/* Sorts and joins the ranges from `from` on. Returns false when memory is exhausted. */
static bool join(struct uspi_range_list *list, size_t from) {
    const size_t count = list->count - from;
    size_t kept = 0;
    if (count < 2) return true;
    if (!uspi_room_for(&list->all, &list->capacity, list->count, count, sizeof *list->all)) return false;
    struct uspi_address_range *all = list->all + from;
    uspi_merge_sort(all, all + count, count, sizeof *all, range_before);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && all[i].low <= all[kept - 1].high) {
            if (all[i].high > all[kept - 1].high) all[kept - 1].high = all[i].high;
        } else {
            all[kept++] = all[i];
        }
    }
    list->count = from + kept;
    return true;
}

bool uspi_dwarf_ranges(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                       const struct uspi_attributes *attributes, struct uspi_range_list *list, uint64_t *first) {
    const size_t from = list->count;
    uint64_t low = 0, high = 0, offset;
    const bool has_low =
        uspi_has(attributes, USPI_AT_LOW_PC) && uspi_dwarf_address(file, unit, &attributes->all[USPI_AT_LOW_PC], &low);
    *first = low;
    if (uspi_has(attributes, USPI_AT_RANGES)) {
        if (!find_list(file, unit, &attributes->all[USPI_AT_RANGES], &offset)) return true;
        if (!read_list(file, unit, offset, list)) return false;
        if (list->count > from) *first = list->all[from].low;
        return join(list, from);
    }
    if (!has_low || !uspi_has(attributes, USPI_AT_HIGH_PC)) return true;
    const struct uspi_attribute_value *end = &attributes->all[USPI_AT_HIGH_PC];
    if (uspi_dwarf_is_address(end)) {
        if (!uspi_dwarf_address(file, unit, end, &high)) return true;
    } else if (!uspi_sum(low, end->number, &high)) {
        return true;
    }
    return add(file, unit, low, high, list);
}

bool uspi_dwarf_next_claims(const struct uspi_dwarf_file *file, struct uspi_claim_set *set) {
    const struct uspi_section_bytes *section = uspi_debug_section(&file->sections, USPI_DEBUG_ARANGES);
    struct uspi_cursor_at c = uspi_cursor_over(section->bytes, section->size, set->next);
    const uint8_t *begin = c.p;
    unsigned offset_size = 4;
    if (c.p == c.end) return false;
    uint64_t length = uspi_cursor_number(&c, 4);
    if (length == UINT32_MAX) {
        length = uspi_cursor_number(&c, 8);
        offset_size = 8;
    }
    if (c.is_bad || length > (uint64_t)(c.end - c.p)) return false;
    c.end = c.p + (size_t)length;
    set->next = (uint64_t)(c.end - section->bytes);
    uspi_cursor_number(&c, 2);
    set->unit = uspi_cursor_number(&c, offset_size);
    const unsigned size = set->address_size = uspi_cursor_byte(&c);
    uspi_cursor_byte(&c);
    if (size != 4 && size != 8) uspi_cursor_fail(&c);
    /* Pairs are aligned to their size, counted from the start of the set. */
    if (!c.is_bad) uspi_cursor_skip(&c, (2 * size - (uint64_t)(c.p - begin) % (2 * size)) % (2 * size));
    set->pairs = c;
    return true;
}

bool uspi_dwarf_claims(const struct uspi_dwarf_file *file, const struct uspi_claim_set *set,
                       struct uspi_range_list *list) {
    const struct uspi_dwarf_unit like = {.encoding = {.address_size = set->address_size}};
    const unsigned size = set->address_size;
    struct uspi_cursor_at c = set->pairs;
    while (c.end - c.p >= (ptrdiff_t)(2 * size) && !c.is_bad) {
        const uint64_t low = uspi_cursor_number(&c, size), count = uspi_cursor_number(&c, size);
        uint64_t high;
        /* Entries whose end overflows are skipped. */
        if (uspi_sum(low, count, &high) && !add(file, &like, low, high, list)) return false;
    }
    return true;
}

bool uspi_dwarf_intersect(struct uspi_range_list *list, size_t from, size_t count, size_t outer, size_t outer_count) {
    size_t k = 0;
    /* Find the first outer range that ends after the first inner one begins; there may be many before it. */
    if (count > 0) USPI_FIRST(k, 0, outer_count, list->all[outer + k].high > list->all[from].low);
    for (size_t i = 0; i < count && k < outer_count;) {
        const struct uspi_address_range inner = list->all[from + i], around = list->all[outer + k];
        const uint64_t low = inner.low > around.low ? inner.low : around.low;
        const uint64_t high = inner.high < around.high ? inner.high : around.high;
        if (low < high) {
            if (list->budget == 0) return true;
            list->budget--;
            if (!uspi_room_for(&list->all, &list->capacity, list->count, 1, sizeof *list->all)) return false;
            list->all[list->count++] = (struct uspi_address_range){low, high};
        }
        if (inner.high <= around.high) {
            i++;
        } else {
            k++;
        }
    }
    return true;
}
