/* SPDX-License-Identifier: MIT */
/* See copied_tables.h. */
#include "lib/unwind/tables/copied_tables.h"

#include "lib/images/elf_file.h"
#include "lib/images/elf_unpack.h"
#include "lib/object/elf.h"
#include "lib/unwind/tables/dwarf_find.h"

#include <stdlib.h>

/* Maximum size of a section. No image has more; a header that states more is wrong. */
#define SECTION_MAX (UINT64_C(1) << 30)
/* Address at which the readers see the sorted table. No process has memory there. */
#define SORTED_AT (UINT64_C(1) << 63)

struct kept {
    usp_addr from; /* address of the section */
    uint8_t *section, *sorted;
    size_t section_size, sorted_size;
};

static bool copy_from(usp_addr at, const uint8_t *bytes, size_t size, usp_addr from, void *to, size_t n) {
    if (from < at || from - at > size || n > size - (from - at)) return false;
    if (n > 0) memcpy(to, bytes + (from - at), n);
    return true;
}

static int read_kept(void *context, usp_addr from, void *to, size_t n) {
    const struct kept *k = context;
    if (copy_from(k->from, k->section, k->section_size, from, to, n)) return USP_OK;
    return copy_from(SORTED_AT, k->sorted, k->sorted_size, from, to, n) ? USP_OK : USP_ERROR_UNREADABLE;
}

static void free_kept(struct kept *k) {
    free(k->section);
    free(k->sorted);
    free(k);
}

/* Copies a section, and decompresses it if necessary. A section that this build cannot decompress counts as absent. */
static int copy_section(const struct uspi_elf *elf, const char *name, uint64_t slide, struct kept *k) {
    struct uspi_elf_section section;
    struct uspi_unpacked unpacked = {.bytes = NULL};
    struct uspi_bytes contents;
    int status = uspi_elf_find_section(elf, name, &section, NULL);
    if (status != USP_OK) return status;
    bool is_there = section.type != USPI_SHT_NOBITS && section.size != 0;
    if (!is_there || section.size > SECTION_MAX) return USP_ERROR_NOT_FOUND;
    status = uspi_elf_contents(elf, &section, &unpacked, &contents);
    if (status == USP_ERROR_UNSUPPORTED) return USP_ERROR_NOT_FOUND;
    if (status != USP_OK) return status;
    if (contents.size == 0 || contents.size > SECTION_MAX) {
        uspi_unpacked_free(&unpacked);
        return USP_ERROR_NOT_FOUND;
    }
    k->from = section.address + slide;
    k->section_size = (size_t)contents.size;
    k->section = unpacked.bytes != NULL ? unpacked.bytes : malloc(k->section_size);
    if (k->section == NULL) return USP_ERROR_NO_MEMORY;
    return unpacked.bytes != NULL ? USP_OK : uspi_bytes_read(contents, 0, k->section, k->section_size, name, NULL);
}

/* Makes the sorted table of the copied section. */
static int sort_kept(struct kept *k, const struct usp_unwind_tables *tables, uint32_t arch) {
    struct uspi_dwarf_image image;
    int status = uspi_dwarf_image_init(&image, tables, &tables->memory, uspi_backend_find(arch), USP_OS_LINUX);
    if (status != USP_OK) return status;
    return uspi_dwarf_make_index(image.has_eh ? &image.eh : &image.debug, &k->sorted, &k->sorted_size);
}

/* Copies .debug_frame of a file, from which the image need not be loaded. */
static int copy_debug_frame(const struct uspi_file *file, struct kept *k) {
    struct uspi_elf elf;
    int status = uspi_elf_open(&elf, uspi_file_bytes(file), NULL);
    return status == USP_OK ? copy_section(&elf, ".debug_frame", 0, k) : status;
}

/* Copies .debug_frame of the image's separate file of debugging symbols. */
static int copy_split_off(const struct usp_image *image, const struct uspi_file *file,
                          const struct uspi_image_sources *places, struct kept *k) {
    struct uspi_file *debug;
    int status = uspi_elf_debug_open(image, file, places, &debug, NULL);
    if (status != USP_OK) return status == USP_ERROR_NO_MEMORY ? status : USP_ERROR_NOT_FOUND;
    status = copy_debug_frame(debug, k);
    uspi_file_close(debug);
    return status;
}

/* Copies one section. debug_only: .eh_frame is not wanted. */
static int make(const struct usp_image *image, const struct uspi_file *file, const struct uspi_image_sources *places,
                bool debug_only, struct kept *k, struct usp_unwind_tables *tables) {
    struct uspi_elf elf;
    int status = uspi_elf_open(&elf, uspi_file_bytes(file), NULL);
    if (status != USP_OK) return status;
    status = debug_only ? USP_ERROR_NOT_FOUND : copy_section(&elf, ".eh_frame", image->slide, k);
    bool is_eh = status == USP_OK;
    if (status == USP_ERROR_NOT_FOUND) status = copy_debug_frame(file, k);
    if (status == USP_ERROR_NOT_FOUND) status = copy_split_off(image, file, places, k);
    if (status != USP_OK) return status;
    struct usp_unwind_tables made = *tables;
    *(is_eh ? &made.eh_frame : &made.debug_frame) = (struct usp_memory_range){k->from, k->section_size};
    made.memory = (struct usp_memory){read_kept, k};
    made.direct = (struct usp_memory_range){0, 0};
    made.flags |= USP_UNWIND_TABLES_AS_LINKED;
    made.slide = image->slide;
    status = sort_kept(k, &made, image->arch);
    if (status != USP_OK) return status;
    *(is_eh ? &made.eh_frame_hdr : &made.debug_frame_hdr) = (struct usp_memory_range){SORTED_AT, k->sorted_size};
    *tables = made;
    return USP_OK;
}

static int open_and_make(const struct usp_image *image, const struct uspi_image_sources *places, bool debug_only,
                         struct usp_unwind_tables *tables) {
    struct uspi_file *file;
    if (uspi_backend_find(image->arch) == NULL) return USP_ERROR_NOT_FOUND;
    int status = uspi_elf_file_open(image, places, &file, NULL);
    if (status != USP_OK) return status;
    struct kept *k = calloc(1, sizeof *k);
    status = k != NULL ? make(image, file, places, debug_only, k, tables) : USP_ERROR_NO_MEMORY;
    uspi_file_close(file);
    if (status != USP_OK && k != NULL) free_kept(k);
    return status;
}

int uspi_copied_tables_make(const struct usp_image *image, const struct uspi_image_sources *places,
                            struct usp_unwind_tables *tables) {
    return open_and_make(image, places, false, tables);
}

int uspi_copied_debug_frame_make(const struct usp_image *image, const struct uspi_image_sources *places,
                                 struct usp_unwind_tables *tables) {
    return open_and_make(image, places, true, tables);
}

uint64_t uspi_copied_tables_size(const struct usp_unwind_tables *tables) {
    if (tables->memory.read != read_kept) return 0;
    const struct kept *k = tables->memory.context;
    return sizeof *k + k->section_size + k->sorted_size;
}

void uspi_copied_tables_free(struct usp_unwind_tables *tables) {
    if (tables->memory.read == read_kept) free_kept(tables->memory.context);
}
