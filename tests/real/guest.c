/* SPDX-License-Identifier: MIT */
/* See guest.h. */
#include "guest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/images/image_list.h"
#include "lib/object/elf.h"
#include "lib/os/linux/proc.h"
#include "lib/unwind/readers/kinds.h"
#include "lib/unwind/tables/dwarf_find.h"
#include "lib/unwind/tables/ehabi.h"
#include "lib/unwind/tables/go_frames.h"
#include "lib/unwind/tables/image_tables.h"

/* More bytes than the tables of any program's images have. */
#define TABLES_MAX (UINT64_C(1) << 32)

/* ---- memory ---- */

const struct guest_mapping *guest_mapping_at(const struct guest *g, usp_addr address) {
    size_t low = 0, high = g->mapping_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (g->mappings[middle].high <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < g->mapping_count && g->mappings[low].low <= address ? &g->mappings[low] : NULL;
}

static struct guest_page *page_at(struct guest *g, usp_addr from) {
    const struct guest_mapping *m = guest_mapping_at(g, from);
    bool stays = m != NULL && m->has_file && !m->writable;
    struct guest_page *page = stays ? &g->text[from / USPI_LEAST_PAGE % GUEST_TEXT_PAGES]
                                    : &g->other[from / USPI_LEAST_PAGE % GUEST_OTHER_PAGES];
    if (page->from == from && (stays || page->moment == g->moment)) return page;
    page->from = from;
    page->moment = g->moment;
    page->readable = victim_read(g->victim, from, page->bytes, sizeof page->bytes);
    return page;
}

static int read_guest(void *context, usp_addr from, void *to, size_t n) {
    struct guest *g = context;
    uint8_t *out = to;
    while (n > 0) {
        usp_addr offset = from & (USPI_LEAST_PAGE - 1);
        size_t part = USPI_LEAST_PAGE - (size_t)offset;
        const struct guest_page *page = page_at(g, from - offset);
        if (part > n) part = n;
        if (!page->readable) return USP_ERROR_UNREADABLE;
        memcpy(out, page->bytes + offset, part);
        out += part;
        from += part;
        n -= part;
    }
    return USP_OK;
}

bool guest_load(struct guest *g, usp_addr from, usp_addr *word) {
    uint8_t bytes[8];
    if (read_guest(g, from, bytes, g->victim->backend->word) != USP_OK) return false;
    *word = uspi_le(bytes, g->victim->backend->word);
    return true;
}

void guest_describe(struct guest *g, struct usp_target *target) {
    usp_target_init(target, g->victim->backend->arch);
    target->os = USP_OS_LINUX;
    target->memory = (struct usp_memory){read_guest, g};
}

/* ---- the list of mappings and images ---- */

static bool describe_image(struct guest *g, usp_addr load, struct usp_image *image) {
    const struct usp_memory memory = {read_guest, g};
    struct uspi_source source = uspi_source_of_memory(&memory, "image");
    struct uspi_elf elf;
    struct uspi_elf_extent extent;
    memset(image, 0, sizeof *image);
    if (uspi_elf_open_image(&elf, uspi_bytes_at(&source, load), NULL) != USP_OK ||
        (elf.type != USPI_ET_EXEC && elf.type != USPI_ET_DYN) || uspi_elf_extent(&elf, &extent, NULL) != USP_OK ||
        elf.arch != g->victim->backend->arch) {
        return false;
    }
    image->load_address = load;
    image->slide = load - elf.header_address;
    image->text_low = extent.text_low + image->slide;
    image->text_high = extent.text_high + image->slide;
    image->end = extent.high + image->slide;
    image->arch = elf.arch;
    return extent.text_high != 0 && image->end > load;
}

/* Returns whether the mapping is the program's: an emulator's own mappings lie elsewhere. */
static bool take_mapping(const struct guest *g, const struct uspi_mapping *m, struct guest_mapping *mapping) {
    const usp_addr last = g->victim->backend->word == 4 ? UINT32_MAX : (UINT64_C(1) << 56) - 1;
    if (m->low < g->victim->base || m->low - g->victim->base > last) return false;
    *mapping = (struct guest_mapping){.low = m->low - g->victim->base,
                                      .high = m->high - g->victim->base,
                                      .has_file = m->inode != 0,
                                      .writable = m->writable,
                                      .executable = m->executable};
    return true;
}

static struct guest_mapping *read_mappings(const struct guest *g, size_t *count) {
    struct guest_mapping *all = NULL;
    size_t capacity = 0;
    struct uspi_proc_maps maps;
    struct uspi_mapping m;
    *count = 0;
    if (uspi_proc_maps_open(&maps, g->victim->pid) < 0) return NULL;
    while (uspi_proc_maps_next(&maps, &m)) {
        if (*count == capacity) {
            capacity = capacity * 2 + 64;
            all = realloc(all, capacity * sizeof *all);
            if (all == NULL) abort();
            memset(all + *count, 0, (capacity - *count) * sizeof *all);
        }
        if (take_mapping(g, &m, &all[*count])) ++*count;
    }
    uspi_proc_maps_close(&maps);
    return all;
}

/* Makes the list of images: files whose headers are in memory, with the paths in the list of mappings. */
static void list_images(struct guest *g, struct uspi_image_list *list) {
    struct uspi_proc_maps maps;
    struct uspi_mapping m;
    struct guest_mapping mapping;
    usp_addr end = 0;
    if (uspi_proc_maps_open(&maps, g->victim->pid) < 0) return;
    while (uspi_proc_maps_next(&maps, &m)) {
        struct usp_image image;
        bool is_vdso = strcmp(m.path, "[vdso]") == 0;
        if (!take_mapping(g, &m, &mapping) || mapping.low < end || m.offset != 0) continue;
        if ((!mapping.has_file && !is_vdso) || !describe_image(g, mapping.low, &image)) continue;
        image.path = m.path;
        end = image.end;
        if (uspi_image_list_add(list, &image) != USP_OK) abort();
    }
    uspi_proc_maps_close(&maps);
}

bool guest_look(struct guest *g) {
    const struct usp_memory memory = {read_guest, g};
    struct uspi_image_list list = {0};
    size_t count;
    guest_has_run(g);
    struct guest_mapping *mappings = read_mappings(g, &count);
    if (mappings == NULL || count == 0) {
        free(mappings);
        return false;
    }
    bool same = count == g->mapping_count;
    for (size_t i = 0; same && i < count; i++) {
        const struct guest_mapping *a = &mappings[i], *b = &g->mappings[i];
        same = a->low == b->low && a->high == b->high && a->has_file == b->has_file && a->writable == b->writable;
    }
    free(g->mappings);
    g->mappings = mappings;
    g->mapping_count = count;
    if (same && g->images != NULL) return true;
    for (size_t i = 0; i < GUEST_TEXT_PAGES; i++) g->text[i].from = 1;
    uspi_image_tables_free(g->tables);
    usp_images_free(g->images);
    list_images(g, &list);
    if (uspi_image_list_seal(&list, &g->images) != USP_OK) abort();
    if (uspi_image_tables_create(g->images, &memory, NULL, TABLES_MAX, &g->tables) != USP_OK) abort();
    g->generation++;
    return true;
}

bool guest_init(struct guest *g, const struct victim *victim) {
    uspi_read_all_tables();
    memset(g, 0, sizeof *g);
    g->victim = victim;
    g->text = calloc(GUEST_TEXT_PAGES, sizeof *g->text);
    g->other = calloc(GUEST_OTHER_PAGES, sizeof *g->other);
    if (g->text == NULL || g->other == NULL) abort();
    for (size_t i = 0; i < GUEST_TEXT_PAGES; i++) g->text[i].from = 1;
    for (size_t i = 0; i < GUEST_OTHER_PAGES; i++) g->other[i].from = 1;
    return guest_look(g);
}

void guest_free(struct guest *g) {
    uspi_image_tables_free(g->tables);
    usp_images_free(g->images);
    free(g->mappings);
    free(g->text);
    free(g->other);
    memset(g, 0, sizeof *g);
}

/* ---- tables and places of an address ---- */

bool guest_has_table(const struct guest *g, usp_addr pc, bool exact) {
    struct usp_unwind_tables tables = {0};
    struct usp_memory memory = {read_guest, (void *)(uintptr_t)g};
    struct uspi_dwarf_image image;
    const struct uspi_dwarf_section *section;
    struct uspi_dwarf_fde fde;
    struct uspi_table_entry entry;
    const struct uspi_source source = uspi_source_of_memory(&memory, "tables");
    if (uspi_image_tables_at(g->tables, pc, &tables) != USP_OK) return false;
    if (tables.go_functions.size != 0) {
        const struct uspi_bytes bytes = {&source, tables.go_functions.address, tables.go_functions.size};
        struct uspi_go_table table;
        bool is_top;
        if (uspi_go_table_open(&table, bytes) != USP_OK) return false;
        table.text = tables.go_text;
        enum uspi_described answer = uspi_go_describe(&table, g->victim->backend, pc, exact, &entry, &is_top);
        if (answer != USPI_NOT_DESCRIBED) return answer == USPI_DESCRIBED;
    }
    if (tables.exidx.size != 0) {
        const struct uspi_ehabi_table table = {uspi_bytes_at(&source, tables.image), tables.image, tables.exidx.address,
                                               tables.exidx.size};
        if (uspi_ehabi_find(&table, pc, &entry, NULL) == USPI_DESCRIBED) return true;
    }
    return uspi_dwarf_image_init(&image, &tables, &memory, g->victim->backend, USP_OS_LINUX) == USP_OK &&
           uspi_dwarf_find(&image, pc, &section, &fde) == USP_OK;
}

void guest_place(const struct guest *g, usp_addr pc, char *text, size_t size) {
    const struct usp_image *image = usp_images_find(g->images, pc);
    if (image != NULL) {
        snprintf(text, size, "%s+0x%" PRIx64, image->path, pc - image->slide);
    } else {
        snprintf(text, size, "0x%" PRIx64, pc);
    }
}
