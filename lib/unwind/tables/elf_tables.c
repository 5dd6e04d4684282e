/* SPDX-License-Identifier: MIT */
/* Locates the unwind tables of a loaded ELF image: see formats.h. */
#include "lib/object/gopclntab_find.h"
#include "lib/unwind/tables/copied_tables.h"
#include "lib/unwind/tables/formats.h"

static struct usp_memory_range segment_table(const struct uspi_elf *elf, uint32_t type, uint64_t slide) {
    struct uspi_elf_segment segment;
    if (uspi_elf_find_segment(elf, type, &segment, NULL) != USP_OK) return (struct usp_memory_range){0, 0};
    return (struct usp_memory_range){segment.address + slide, segment.memory_size};
}

static void find_still_elf(const struct uspi_elf *elf, uint64_t slide, struct uspi_still *still) {
    struct uspi_elf_segment segment;
    for (uint64_t i = 0; uspi_elf_segment(elf, i, &segment, NULL) == USP_OK; i++) {
        bool is_still = (segment.flags & (USPI_PF_R | USPI_PF_W)) == USPI_PF_R;
        if (segment.type == USPI_PT_LOAD && is_still && segment.file_size != 0) {
            uspi_add_still(still, segment.address + slide, segment.file_size);
        }
    }
}

/* Returns false when memory is exhausted. */
static bool find_elf_tables(const struct usp_image *image, const struct uspi_elf *elf,
                            const struct uspi_image_sources *places, struct usp_unwind_tables *tables) {
    tables->image = image->load_address;
    tables->slide = image->slide;
    tables->eh_frame_hdr = segment_table(elf, USPI_PT_GNU_EH_FRAME, image->slide);
    if (elf->arch == USP_ARCH_ARMV7) tables->exidx = segment_table(elf, USPI_PT_ARM_EXIDX, image->slide);
    struct uspi_go_table go;
    if (uspi_go_find_loaded_elf(elf, image->slide, &go) == USP_OK) uspi_take_go_table(&go, tables);
    const bool has_table = tables->eh_frame_hdr.size != 0 || tables->exidx.size != 0 || tables->go_functions.size != 0;
    if (has_table || places == NULL) return true;
    /* If the files have no tables either, the image has none. */
    return uspi_copied_tables_make(image, places, tables) != USP_ERROR_NO_MEMORY;
}

bool uspi_locate_elf_tables(const struct uspi_locating *l) {
    struct uspi_elf elf;
    if (uspi_elf_open_image(&elf, l->bytes, NULL) != USP_OK) return true;
    if (l->still != NULL) find_still_elf(&elf, l->image->slide, l->still);
    return l->tables == NULL || find_elf_tables(l->image, &elf, l->places, l->tables);
}
