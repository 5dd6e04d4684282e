/* SPDX-License-Identifier: MIT */
/* See image_tables.h. */
#include "lib/image_tables.h"

#include "lib/image_list.h"
#include "lib/kept_tables.h"
#include "lib/object/elf.h"
#include "lib/object/macho_symbols.h"

#include <stdlib.h>
#include <string.h>

static struct usp_table segment_table(const struct uspi_elf *elf, uint32_t type, uint64_t slide) {
    struct uspi_elf_segment segment;
    if (uspi_elf_find_segment(elf, type, &segment, NULL) != USP_OK) return (struct usp_table){0, 0};
    return (struct usp_table){segment.address + slide, segment.memory_size};
}

static struct usp_table section_table(const struct uspi_macho *macho, const char *name, uint64_t slide) {
    struct uspi_macho_section section;
    if (uspi_macho_find_section(macho, name, &section, NULL) != USP_OK) return (struct usp_table){0, 0};
    return (struct usp_table){section.address + slide, section.size};
}

static struct usp_table function_starts(const struct uspi_macho *macho) {
    struct uspi_macho_starts starts;
    if (uspi_macho_starts(macho, &starts, NULL) != USP_OK) return (struct usp_table){0, 0};
    return (struct usp_table){starts.bytes.from, starts.bytes.size};
}

static void find_macho_tables(const struct usp_image *image, const struct uspi_source *source,
                              struct usp_unwind_tables *tables) {
    struct uspi_macho macho;
    if (uspi_macho_open(&macho, uspi_bytes_at(source, image->load_address), NULL) != USP_OK) return;
    tables->image = image->load_address;
    tables->slide = image->slide;
    tables->unwind_info = section_table(&macho, "__unwind_info", image->slide);
    tables->eh_frame = section_table(&macho, "__eh_frame", image->slide);
    tables->function_starts = function_starts(&macho);
}

/* False when memory lacks. */
static bool find_tables(const struct usp_image *image, const struct usp_memory *memory,
                        const struct uspi_places *places, struct usp_unwind_tables *tables) {
    struct uspi_source source = uspi_source_of_memory(memory, "image");
    struct uspi_elf elf;
    if ((image->flags & USP_IMAGE_MACHO) != 0) {
        find_macho_tables(image, &source, tables);
        return true;
    }
    if (uspi_elf_open_image(&elf, uspi_bytes_at(&source, image->load_address), NULL) != USP_OK) return true;
    tables->image = image->load_address;
    tables->slide = image->slide;
    tables->eh_frame_hdr = segment_table(&elf, USPI_PT_GNU_EH_FRAME, image->slide);
    if (elf.arch == USP_ARCH_ARMV7) tables->exidx = segment_table(&elf, USPI_PT_ARM_EXIDX, image->slide);
    if (tables->eh_frame_hdr.size != 0 || tables->exidx.size != 0 || places == NULL) return true;
    /* What the files lack as well, nothing else has. */
    return uspi_kept_tables_make(image, places, tables) != USP_ERROR_NO_MEMORY;
}

int uspi_images_learn_tables(struct usp_images *images, const struct usp_memory *memory,
                             const struct uspi_places *places, uint64_t limit) {
    size_t count = usp_images_count(images);
    if (count == 0 || limit / sizeof(struct usp_unwind_tables) < count) return USP_OK;
    uint64_t left = limit - count * sizeof(struct usp_unwind_tables);
    struct usp_unwind_tables *tables = calloc(count, sizeof *tables);
    if (tables == NULL) return USP_ERROR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (!find_tables(usp_images_get(images, i), memory, places, &tables[i])) {
            uspi_image_tables_free(tables, count);
            return USP_ERROR_NO_MEMORY;
        }
        uint64_t copies = uspi_kept_tables_size(&tables[i]);
        if (copies <= left) {
            left -= copies;
        } else {
            uspi_kept_tables_free(&tables[i]);
            memset(&tables[i], 0, sizeof tables[i]);
        }
    }
    uspi_images_give_tables(images, tables);
    return USP_OK;
}

void uspi_image_tables_free(struct usp_unwind_tables *tables, size_t count) {
    for (size_t i = 0; tables != NULL && i < count; i++) uspi_kept_tables_free(&tables[i]);
    free(tables);
}

uint64_t uspi_images_tables_size(const struct usp_images *images) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < usp_images_count(images); i++) {
        const struct usp_unwind_tables *tables = uspi_images_tables(images, usp_images_get(images, i));
        if (tables != NULL) bytes += sizeof *tables + uspi_kept_tables_size(tables);
    }
    return bytes;
}

int uspi_images_tables_at(void *images, usp_addr pc, struct usp_unwind_tables *tables) {
    const struct usp_image *image = usp_images_find(images, pc);
    const struct usp_unwind_tables *learnt = image != NULL ? uspi_images_tables(images, image) : NULL;
    if (learnt == NULL) return USP_ERROR_NOT_FOUND;
    *tables = *learnt;
    return USP_OK;
}

void uspi_images_describe_tables(const struct usp_images *images, struct usp_target *target) {
    if (images == NULL) return;
    target->unwind_tables_at = uspi_images_tables_at;
    /* A callback's context is not const; the list behind it is never written. */
    target->context = (void *)(uintptr_t)images;
}
