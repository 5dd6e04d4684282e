/* SPDX-License-Identifier: MIT */
/* See bounds.h. */
#include "lib/symbolize/elf/bounds.h"

#include "lib/object/elf_dynamic.h"
#include "lib/symbolize/index/reach.h"

/* More segments than linkers make. Each read searches all of them. */
#define SEGMENTS_MAX 64

/* A usp_memory.read function; the context is the file or image. */
static int read_linked(void *context, usp_addr from, void *to, size_t n) {
    const struct uspi_elf *elf = context;
    struct uspi_bytes bytes;
    int status = uspi_elf_bytes_at(elf, from, &bytes, NULL);
    return status == USP_OK ? uspi_bytes_read(bytes, 0, to, n, "code", NULL) : status;
}

static struct usp_memory_range range_of(const struct uspi_elf *elf, uint32_t type) {
    struct uspi_elf_segment segment;
    if (uspi_elf_find_segment(elf, type, &segment, NULL) != USP_OK) return (struct usp_memory_range){0, 0};
    return (struct usp_memory_range){segment.address, segment.memory_size};
}

void uspi_elf_bounds_init(struct uspi_elf_bounds *bounds, const struct uspi_elf *elf) {
    *bounds = (struct uspi_elf_bounds){.elf = elf, .backend = uspi_backend_find(elf->arch)};
    if (elf->segment_count > SEGMENTS_MAX) bounds->backend = NULL;
    if (bounds->backend == NULL) return;
    /* A callback's context is not const, but read_linked only reads it. */
    bounds->memory = (struct usp_memory){read_linked, (void *)(uintptr_t)elf};
    bounds->source = uspi_source_of_memory(&bounds->memory, "image");
    const struct usp_unwind_tables tables = {.eh_frame_hdr = range_of(elf, USPI_PT_GNU_EH_FRAME)};
    bounds->has_dwarf =
        uspi_dwarf_image_init(&bounds->dwarf, &tables, &bounds->memory, bounds->backend, USP_OS_LINUX) == USP_OK;
    if (elf->arch != USP_ARCH_ARMV7) return;
    const struct usp_memory_range index = range_of(elf, USPI_PT_ARM_EXIDX);
    bounds->ehabi = (struct uspi_ehabi_table){.image = uspi_bytes_at(&bounds->source, elf->header_address),
                                              .base = elf->header_address,
                                              .index = index.address,
                                              .index_size = index.size};
}

static usp_addr lower_of(usp_addr a, usp_addr b) { return a < b ? a : b; }

/* Returns where the tables show that the next function after `start` begins, or `high`. */
static usp_addr next_function(const struct uspi_elf_bounds *bounds, usp_addr start, usp_addr high) {
    struct uspi_table_entry entry;
    usp_addr next;
    if (bounds->has_dwarf && uspi_dwarf_next_start(&bounds->dwarf, start, &next) == USP_OK) high = lower_of(high, next);
    if (bounds->ehabi.index_size == 0) return high;
    const enum uspi_described described = uspi_ehabi_find(&bounds->ehabi, start, &entry, NULL);
    if (described != USPI_DESCRIBED && described != USPI_CANNOT_UNWIND) return high;
    return entry.end > start ? lower_of(high, entry.end) : high;
}

usp_addr uspi_elf_bounds_end(const struct uspi_elf_bounds *bounds, usp_addr start, usp_addr high, bool is_thumb,
                             bool names_all) {
    const struct uspi_dwarf_section *section;
    struct uspi_dwarf_fde fde;
    struct uspi_code code;
    if (bounds->backend == NULL) return names_all || high == start ? high : start + 1;
    /* An FDE describes a single function. */
    if (bounds->has_dwarf && uspi_dwarf_find(&bounds->dwarf, start, &section, &fde) == USP_OK) {
        return lower_of(high, fde.end);
    }
    high = next_function(bounds, start, high);
    if (names_all) return high;
    uspi_code_init(&code, bounds->backend, &bounds->memory);
    return uspi_reach(&code, start, is_thumb ? USPI_MODE_THUMB : 0, high);
}
