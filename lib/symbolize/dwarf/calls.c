/* SPDX-License-Identifier: MIT */
/* See calls.h: notes call sites while a unit is walked. */
#include "lib/symbolize/dwarf/calls.h"
#include "lib/base/bisect.h"

#include "lib/symbolize/dwarf/reader.h"

/* A table of numbers with more slots than this is not kept for the next unit, because clearing it would take long. */
#define TABLE_KEPT ((size_t)1 << 11)

void uspi_dwarf_calls_reset(struct uspi_dwarf_calls *calls) {
    calls->root_count = calls->site_count = calls->callee_count = 0;
    if (calls->callee_numbers.size > TABLE_KEPT) {
        uspi_numbers_free(&calls->callee_numbers);
    } else {
        uspi_numbers_forget(&calls->callee_numbers);
    }
}

void uspi_dwarf_calls_free(struct uspi_dwarf_calls *calls) {
    free(calls->roots);
    free(calls->sites);
    free(calls->callees);
    free(calls->names);
    uspi_numbers_free(&calls->callee_numbers);
}

static bool is_set(const struct uspi_attributes *a, enum uspi_attribute flag) {
    return uspi_has(a, flag) && a->all[flag].number != 0;
}

bool uspi_dwarf_note_root(struct uspi_dwarf_reader *reader, const struct uspi_attributes *attributes,
                          const struct uspi_dwarf_root *root, uint32_t *number) {
    struct uspi_dwarf_calls *calls = &reader->calls;
    if (!uspi_room_for(&calls->roots, &calls->root_capacity, calls->root_count, 1, sizeof *root)) return false;
    calls->roots[calls->root_count] = *root;
    calls->roots[calls->root_count].knows_tail_calls &= is_set(attributes, USPI_AT_ALL_TAIL_CALLS);
    *number = (uint32_t)++calls->root_count;
    return true;
}

/* Marks offsets in the file that several share, to tell them from those in the unit's own file. No section is that
 * large. */
#define IN_OTHER_FILE (UINT64_C(1) << 63)

/* Returns the number of an entry to which call sites refer, from 1; 0 when memory is exhausted. */
static uint32_t number_of_callee(struct uspi_dwarf_reader *reader, const struct uspi_dwarf_file *file,
                                 uint64_t offset) {
    struct uspi_dwarf_calls *calls = &reader->calls;
    const uint64_t key = file == reader->source.file ? offset : offset | IN_OTHER_FILE;
    uint32_t number = uspi_numbers_get(&calls->callee_numbers, key);
    if (number != 0) return number;
    if (!uspi_room_for(&calls->callees, &calls->callee_capacity, calls->callee_count, 1, sizeof *calls->callees))
        return 0;
    number = (uint32_t)calls->callee_count + 1;
    if (!uspi_numbers_keep(&calls->callee_numbers, key, number)) return 0;
    calls->callees[calls->callee_count++] = (struct uspi_dwarf_callee){.file = file, .offset = offset};
    return number;
}

static bool read_address(const struct uspi_dwarf_reader *reader, const struct uspi_attributes *a,
                         enum uspi_attribute which, uint64_t *address) {
    return uspi_has(a, which) && uspi_dwarf_address(reader->source.file, reader->source.unit, &a->all[which], address);
}

/* Finds the address of a call site. DW_TAG_GNU_call_site has the return address as its DW_AT_low_pc. Returns false when
 * the entry has no address. */
static bool place_site(const struct uspi_dwarf_reader *reader, const struct uspi_attributes *a,
                       struct uspi_dwarf_site *site) {
    if (read_address(reader, a, USPI_AT_RETURN_PC, &site->address)) return true;
    if (read_address(reader, a, USPI_AT_LOW_PC, &site->address)) return true;
    site->is_start = true;
    return read_address(reader, a, USPI_AT_CALL_PC, &site->address);
}

static bool holds(const struct uspi_address_range *ranges, size_t count, uint64_t address) {
    size_t i;
    USPI_FIRST(i, 0, count, ranges[i].high > address);
    return i < count && address >= ranges[i].low;
}

bool uspi_dwarf_note_site(struct uspi_dwarf_reader *reader, const struct uspi_attributes *attributes, uint32_t root,
                          const struct uspi_address_range *ranges, size_t count) {
    struct uspi_dwarf_calls *calls = &reader->calls;
    struct uspi_dwarf_site site = {.root = root, .is_tail = is_set(attributes, USPI_AT_TAIL_CALL)};
    const enum uspi_attribute origin = uspi_has(attributes, USPI_AT_CALL_ORIGIN) ? USPI_AT_CALL_ORIGIN : USPI_AT_ORIGIN;
    const struct uspi_dwarf_file *file;
    uint64_t offset;
    /* A call through a pointer refers to no function. */
    const bool is_known =
        uspi_has(attributes, origin) && place_site(reader, attributes, &site) &&
        holds(ranges, count, site.is_start ? site.address : site.address - 1) &&
        uspi_dwarf_reference(reader->source.file, reader->source.unit, &attributes->all[origin], &file, &offset);
    if (!is_known) {
        if (site.is_tail) calls->roots[root - 1].has_unknown_callee = true;
        return true;
    }
    site.callee = number_of_callee(reader, file, offset);
    if (site.callee == 0) return false;
    if (!uspi_room_for(&calls->sites, &calls->site_capacity, calls->site_count, 1, sizeof site)) return false;
    calls->sites[calls->site_count++] = site;
    return true;
}
