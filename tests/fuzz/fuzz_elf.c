/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as an ELF file and as an ELF image in memory. Seeds: tests/fuzz/object_seeds.c. */
#include "lib/object/elf.h"
#include "tests/fuzz/image_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_notes(struct uspi_bytes bytes, uint64_t align, struct uspi_error *error) {
    struct uspi_elf_notes notes = uspi_elf_notes(bytes, align);
    struct uspi_elf_note note;
    uint64_t value;
    while (uspi_elf_next_note(&notes, &note, error) > 0) uspi_bytes_load(note.desc, 0, 8, &value, "value", error);
}

static void read_all(const struct uspi_elf *elf, struct uspi_error *error) {
    struct uspi_elf_segment segment;
    struct uspi_elf_section section;
    struct uspi_elf_extent extent;
    struct uspi_build_id id;
    struct uspi_bytes bytes;
    uint64_t value;
    char name[64];
    uspi_elf_extent(elf, &extent, error);
    uspi_elf_build_id(elf, &id, error);
    uspi_elf_find_section(elf, ".text", &section, error);
    uspi_elf_machine_name(elf, name, sizeof name);
    for (uint64_t i = 0; i <= elf->segment_count && i < 256; i++) {
        if (uspi_elf_segment(elf, i, &segment, error) != USP_OK) break;
        if (uspi_elf_segment_bytes(elf, &segment, &bytes, error) != USP_OK) continue;
        read_notes(bytes, segment.align, error);
        uspi_elf_dynamic(bytes, elf->wide, USPI_DT_DEBUG, &value, error);
    }
    for (uint64_t i = 0; i <= elf->section_count && i < 256; i++) {
        if (uspi_elf_section(elf, i, &section, error) != USP_OK) break;
        if (uspi_bytes_sub(elf->bytes, section.offset, section.size, "section", &bytes, error) != USP_OK) continue;
        read_notes(bytes, section.align, error);
        uspi_bytes_string(bytes, 0, name, sizeof name, "string", error);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct image_memory m = {data, size};
    struct usp_memory memory = {read_image, &m};
    struct uspi_source file = {.name = "file", .base = data}, image = uspi_source_of_memory(&memory, "memory");
    struct uspi_error error;
    struct uspi_elf elf;
    if (uspi_elf_open(&elf, (struct uspi_bytes){&file, 0, size}, &error) == USP_OK) read_all(&elf, &error);
    if (uspi_elf_open_image(&elf, uspi_bytes_at(&image, IMAGE_LOAD), &error) == USP_OK) read_all(&elf, &error);
    return 0;
}
