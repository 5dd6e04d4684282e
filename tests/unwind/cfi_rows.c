/* SPDX-License-Identifier: MIT */
/* Prints the rows that the library finds in an ELF file's call frame information, which tests/unwind/cfi.sh compares
 * with readelf's:
 *
 *     cfi_rows FILE eh|eh-indexed|debug    reads linked addresses in hexadecimal, writes "ADDRESS CFA NAME=PLACE..."
 *     for
 *                                          each, or "ADDRESS -" if the information does not cover the address
 *
 * eh looks addresses up in the linker's .eh_frame_hdr, the others in a sorted table that this program makes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/images/file.h"
#include "lib/object/elf.h"
#include "tests/unwind/cfi_builder.h"

/* The address of the sorted table made here, which is in no file: an address outside every image. */
#define MADE_AT (UINT64_MAX - (UINT64_C(1) << 40))

static struct uspi_error error;

static void check(int status, const char *what) {
    if (status >= 0) return;
    fprintf(stderr, "cfi_rows: %s: %s\n", what, error.text[0] != '\0' ? error.text : usp_status_string(status));
    exit(1);
}

/* A file as if it were loaded at its link address; sections that are not loaded lie at their file offsets. */
struct loaded {
    struct uspi_elf elf;
    bool by_offset;
    uint8_t *made;
    size_t made_size;
};

static int read_loaded(void *context, usp_addr from, void *to, size_t n) {
    const struct loaded *l = context;
    struct uspi_elf_segment s;
    if (l->made != NULL && from >= MADE_AT) {
        uint64_t at = from - MADE_AT;
        if (at > l->made_size || n > l->made_size - at) return USP_ERROR_UNREADABLE;
        memcpy(to, l->made + at, n);
        return USP_OK;
    }
    if (l->by_offset) return uspi_bytes_read(l->elf.bytes, from, to, n, "section", NULL);
    for (uint64_t i = 0; uspi_elf_segment(&l->elf, i, &s, NULL) == USP_OK; i++) {
        if (s.type != USPI_PT_LOAD || from < s.address || from - s.address >= s.file_size) continue;
        if (n > s.file_size - (from - s.address)) break;
        return uspi_bytes_read(l->elf.bytes, s.offset + (from - s.address), to, n, "segment", NULL);
    }
    return USP_ERROR_UNREADABLE;
}

static struct usp_memory_range find(const struct loaded *l, const char *name) {
    struct uspi_elf_section section;
    check(uspi_elf_find_section(&l->elf, name, &section, &error), name);
    return (struct usp_memory_range){l->by_offset ? section.offset : section.address, section.size};
}

static void make_index(struct loaded *l, const struct uspi_dwarf_section *section, struct usp_memory_range *table) {
    check(uspi_dwarf_make_index(section, &l->made, &l->made_size), "index");
    *table = (struct usp_memory_range){MADE_AT, l->made_size};
}

static int print_row(const struct uspi_dwarf_image *image, usp_addr pc) {
    const struct uspi_dwarf_section *section;
    struct uspi_dwarf_fde fde;
    struct uspi_dwarf_row row;
    char text[1024];
    int status = uspi_dwarf_find(image, pc, &section, &fde);
    if (status == USP_ERROR_NOT_FOUND) {
        printf("%" PRIx64 " -\n", pc);
        return USP_OK;
    }
    if (status == USP_OK) status = uspi_dwarf_row(section, &fde, pc, &row);
    if (status != USP_OK) return status;
    row_text(section, &fde.cie, &row, text, sizeof text);
    printf("%" PRIx64 " %s\n", pc, text);
    return USP_OK;
}

int main(int argc, char **argv) {
    struct uspi_file *file;
    struct loaded l = {.by_offset = false};
    struct usp_unwind_tables tables = {0};
    struct uspi_dwarf_image image;
    const struct usp_memory memory = {read_loaded, &l};
    usp_addr pc;
    if (argc != 3) {
        fprintf(stderr, "usage: cfi_rows FILE eh|eh-indexed|debug\n");
        return 2;
    }
    check(uspi_file_open(argv[1], &file, &error), argv[1]);
    check(uspi_elf_open(&l.elf, uspi_file_bytes(file), &error), argv[1]);
    const struct uspi_backend *b = uspi_backend_find(l.elf.arch);
    if (b == NULL) check(USP_ERROR_UNSUPPORTED, argv[1]);
    l.by_offset = strcmp(argv[2], "debug") == 0;
    if (l.by_offset) {
        tables.debug_frame = find(&l, ".debug_frame");
    } else {
        tables.eh_frame = find(&l, ".eh_frame");
        if (strcmp(argv[2], "eh") == 0) tables.eh_frame_hdr = find(&l, ".eh_frame_hdr");
    }
    check(uspi_dwarf_image_init(&image, &tables, &memory, b, USP_OS_LINUX), "tables");
    if (l.by_offset) {
        make_index(&l, &image.debug, &tables.debug_frame_hdr);
    } else if (tables.eh_frame_hdr.size == 0) {
        make_index(&l, &image.eh, &tables.eh_frame_hdr);
    }
    check(uspi_dwarf_image_init(&image, &tables, &memory, b, USP_OS_LINUX), "tables with an index");
    while (scanf("%" SCNx64, &pc) == 1) check(print_row(&image, pc), "row");
    free(l.made);
    uspi_file_close(file);
    return 0;
}
