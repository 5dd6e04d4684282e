/* SPDX-License-Identifier: MIT */
/* See lists.h. */
#include "lib/symbolize/objc/lists.h"

#define LIST_HEADER 8 /* u32 entry size with flags, u32 count */

/* From method_list_t: the runtime keeps flags in the upper half and in the lowest two bits of the entry size. */
#define ENTRY_SIZE_MASK 0xfffcu
#define IS_RELATIVE     0x80000000u
/* Names, and since 2026 (objc4 of dyld 1376.6) also types, are offsets from the shared cache's selectors. */
#define NAMES_ARE_DIRECT 0x60000000u

#define RELATIVE_ENTRY 12 /* i32 name, i32 types, i32 implementation */

/* From relative_list_list_t: entries of {u16 image, i48 distance from the entry to the list}. */
#define LISTS_ENTRY 8

int uspi_objc_list_open(const struct uspi_objc_source *source, usp_addr at, struct uspi_objc_list *list) {
    uint8_t raw[LIST_HEADER];
    int status = uspi_objc_read(source, at, raw, sizeof raw);
    if (status != USP_OK) return status;
    uint32_t word = uspi_le32(raw);
    *list = (struct uspi_objc_list){.at = at, .entry_size = word & ENTRY_SIZE_MASK, .count = uspi_le32(raw + 4)};
    list->is_relative = (word & IS_RELATIVE) != 0;
    uint32_t needed = list->is_relative ? RELATIVE_ENTRY : 3 * source->word;
    if (list->count != 0 && list->entry_size < needed) return USP_ERROR_FORMAT;
    if (!list->is_relative || !source->space.is_loaded) return USP_OK;
    /* The runtime checks whether the list lies in the cache. The flag is set only in caches that were built with it. */
    bool is_in_cache = (source->space.macho.flags & USPI_MH_DYLIB_IN_CACHE) != 0;
    list->has_direct_names = is_in_cache && (source->selectors != 0 || (word & NAMES_ARE_DIRECT) != 0);
    return list->has_direct_names && source->selectors == 0 ? USP_ERROR_UNSUPPORTED : USP_OK;
}

/* Returns the address to which a 32-bit offset leads, counted from its own address. */
static usp_addr relative_to(usp_addr at, const uint8_t *raw) { return at + (uint64_t)(int64_t)(int32_t)uspi_le32(raw); }

static usp_addr in_word(const struct uspi_objc_source *source, usp_addr address) {
    return source->word == 4 ? (uint32_t)address : address;
}

static int relative_method(const struct uspi_objc_source *source, const struct uspi_objc_list *list, usp_addr at,
                           struct uspi_objc_method *method) {
    uint8_t raw[RELATIVE_ENTRY];
    struct uspi_pointer pointer;
    int status = uspi_objc_read(source, at, raw, sizeof raw);
    if (status != USP_OK) return status;
    method->implementation = in_word(source, relative_to(at + 8, raw + 8));
    if (list->has_direct_names) {
        method->selector = relative_to(source->selectors, raw);
        return USP_OK;
    }
    status = uspi_objc_pointer(source, in_word(source, relative_to(at, raw)), &pointer);
    method->selector = pointer.target;
    return status;
}

int uspi_objc_method(const struct uspi_objc_source *source, const struct uspi_objc_list *list, uint32_t i,
                     struct uspi_objc_method *method) {
    usp_addr at = list->at + LIST_HEADER + (uint64_t)i * list->entry_size;
    struct uspi_pointer name = {0}, implementation = {0};
    *method = (struct uspi_objc_method){0};
    if (list->is_relative) return relative_method(source, list, at, method);
    int status = uspi_objc_pointer(source, at, &name);
    if (status == USP_OK) status = uspi_objc_pointer(source, at + 2 * source->word, &implementation);
    method->selector = name.target;
    method->implementation = implementation.target;
    return status;
}

struct walk {
    const struct uspi_objc_source *source;
    uint64_t *budget;
    uspi_objc_visit_list visit;
    void *context;
};

static int visit_one(const struct walk *walk, usp_addr list) {
    if (*walk->budget == 0) return USP_ERROR_FORMAT;
    --*walk->budget;
    return walk->visit(walk->context, list);
}

static int walk_relative_lists(const struct walk *walk, usp_addr at) {
    uint8_t raw[LISTS_ENTRY];
    int status = uspi_objc_read(walk->source, at, raw, sizeof raw);
    if (status != USP_OK) return status;
    uint32_t entry_size = uspi_le32(raw), count = uspi_le32(raw + 4);
    if (entry_size < LISTS_ENTRY) return count == 0 ? USP_OK : USP_ERROR_FORMAT;
    at += LIST_HEADER;
    for (uint32_t i = 0; status == USP_OK && i < count; i++, at += entry_size) {
        status = uspi_objc_read(walk->source, at, raw, sizeof raw);
        if (status != USP_OK) break;
        /* Lists of images that the process has not loaded have only methods of those images, which are not asked
         * for. */
        uint64_t distance = uspi_le64(raw) >> 16;
        if ((distance >> 47) != 0) distance |= UINT64_C(0xffff) << 48;
        status = visit_one(walk, at + distance);
    }
    return status;
}

/* Walks an array of lists: {u32 count; pointers from the next whole word on}. */
static int walk_array(const struct walk *walk, usp_addr at) {
    const unsigned word = walk->source->word;
    uint8_t raw[4];
    int status = uspi_objc_read(walk->source, at, raw, sizeof raw);
    for (uint32_t i = 0; status == USP_OK && i < uspi_le32(raw); i++) {
        struct uspi_pointer list;
        status = uspi_objc_pointer(walk->source, at + word + (uint64_t)i * word, &list);
        if (status == USP_OK) status = visit_one(walk, list.target);
    }
    return status;
}

int uspi_objc_lists_walk(const struct uspi_objc_source *source, usp_addr at, enum uspi_objc_lists_kind kind,
                         uint64_t *budget, uspi_objc_visit_list visit, void *context) {
    const struct walk walk = {source, budget, visit, context};
    struct uspi_pointer pointer;
    int status = uspi_objc_pointer(source, at, &pointer);
    if (status != USP_OK || pointer.target == 0) return status;
    unsigned tag = pointer.target & 3;
    usp_addr target = pointer.target - tag;
    if (tag == 0) return visit_one(&walk, target);
    if (tag == 1 && kind == USPI_OBJC_ALL_METHODS) return walk_array(&walk, target);
    if (tag == (kind == USPI_OBJC_ALL_METHODS ? 2 : 1)) return walk_relative_lists(&walk, target);
    return USP_ERROR_FORMAT;
}
