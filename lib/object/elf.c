/* SPDX-License-Identifier: MIT */
/* See elf.h. */
#include "lib/object/elf.h"

#include "arch/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* e_ident, gABI chapter 4. */
#define EI_CLASS    4
#define EI_DATA     5
#define EI_NIDENT   16
#define ELFCLASS32  1
#define ELFCLASS64  2
#define ELFDATA2LSB 1
#define ELFDATA2MSB 2

#define HEADER_32  52
#define HEADER_64  64
#define SEGMENT_32 32
#define SEGMENT_64 56
#define SECTION_32 40
#define SECTION_64 64

/* The value for a number that does not fit into the header; it is in section header 0 (gABI: e_shstrndx). */
#define SHN_XINDEX 0xffff

/* The maximum size of an image's program headers in bytes: the kernel loads no program with more (Linux
 * fs/binfmt_elf.c, load_elf_phdrs). */
#define IMAGE_HEADERS_MAX 65536

#define NOTE_HEADER     12
#define NT_GNU_BUILD_ID 3

/* Returns the enum usp_arch of an e_machine (the gABI's registry) and class. unspool does not support x32 and AArch64's
 * ILP32, which have another class. */
static uint32_t arch_of(uint16_t machine, bool wide) {
    const struct uspi_backend *b = uspi_backend_of_elf(machine, wide ? 8 : 4);
    return b != NULL ? b->arch : USP_ARCH_NONE;
}

void uspi_elf_machine_name(const struct uspi_elf *elf, char *to, size_t capacity) {
    snprintf(to, capacity, "machine %u with %s-bit addresses", (unsigned)elf->machine, elf->wide ? "64" : "32");
}

static int read_header(struct uspi_elf *elf, struct uspi_error *error) {
    uint8_t raw[HEADER_64];
    int status = uspi_bytes_read(elf->bytes, 0, raw, EI_NIDENT, "ELF header", error);
    if (status != USP_OK) return status;
    if (memcmp(raw, "\177ELF", 4) != 0) {
        return uspi_bytes_error(error, elf->bytes, 0, USP_ERROR_FORMAT, "not an ELF file");
    }
    if (raw[EI_CLASS] != ELFCLASS32 && raw[EI_CLASS] != ELFCLASS64) {
        return uspi_bytes_error(error, elf->bytes, EI_CLASS, USP_ERROR_FORMAT, "unknown ELF class %u", raw[EI_CLASS]);
    }
    if (raw[EI_DATA] == ELFDATA2MSB) {
        return uspi_bytes_error(error, elf->bytes, EI_DATA, USP_ERROR_UNSUPPORTED, "big-endian ELF is not supported");
    }
    if (raw[EI_DATA] != ELFDATA2LSB) {
        return uspi_bytes_error(error, elf->bytes, EI_DATA, USP_ERROR_FORMAT, "unknown byte order %u", raw[EI_DATA]);
    }
    elf->wide = raw[EI_CLASS] == ELFCLASS64;
    status = uspi_bytes_read(elf->bytes, 0, raw, elf->wide ? HEADER_64 : HEADER_32, "ELF header", error);
    if (status != USP_OK) return status;
    unsigned word = elf->wide ? 8 : 4;
    elf->type = uspi_le16(raw + 16);
    elf->machine = uspi_le16(raw + 18);
    elf->arch = arch_of(elf->machine, elf->wide);
    elf->entry = uspi_le(raw + 24, word);
    elf->segment_offset = uspi_le(raw + 24 + word, word);
    elf->section_offset = uspi_le(raw + 24 + 2 * word, word);
    /* e_flags and e_ehsize come first. */
    const uint8_t *sizes = raw + 24 + 3 * word + 6;
    elf->segment_size = uspi_le16(sizes);
    elf->segment_count = uspi_le16(sizes + 2);
    elf->section_size = uspi_le16(sizes + 4);
    elf->section_count = uspi_le16(sizes + 6);
    elf->name_section = uspi_le16(sizes + 8);
    return USP_OK;
}

static int read_section(const struct uspi_elf *elf, uint64_t offset, struct uspi_elf_section *section,
                        struct uspi_error *error) {
    struct uspi_piece piece;
    int status =
        uspi_bytes_piece(elf->bytes, offset, elf->wide ? SECTION_64 : SECTION_32, &piece, "section header", error);
    if (status != USP_OK) return status;
    const uint8_t *raw = piece.at;
    section->name = uspi_le32(raw);
    section->type = uspi_le32(raw + 4);
    if (elf->wide) {
        section->flags = uspi_le64(raw + 8);
        section->address = uspi_le64(raw + 16);
        section->offset = uspi_le64(raw + 24);
        section->size = uspi_le64(raw + 32);
        section->link = uspi_le32(raw + 40);
        section->info = uspi_le32(raw + 44);
        section->align = uspi_le64(raw + 48);
        section->entry_size = uspi_le64(raw + 56);
    } else {
        section->flags = uspi_le32(raw + 8);
        section->address = uspi_le32(raw + 12);
        section->offset = uspi_le32(raw + 16);
        section->size = uspi_le32(raw + 20);
        section->link = uspi_le32(raw + 24);
        section->info = uspi_le32(raw + 28);
        section->align = uspi_le32(raw + 32);
        section->entry_size = uspi_le32(raw + 36);
    }
    return USP_OK;
}

/* Returns the number of program headers of a core whose section header 0 is missing: the kernel writes it last, so a
 * pipe's reader does not have it, nor a core that is cut off. Its notes follow its program headers, and come first
 * (Linux fs/binfmt_elf.c, elf_core_dump). 0: not known. */
static uint64_t count_in_core(const struct uspi_elf *elf) {
    struct uspi_elf_segment first;
    if (elf->type != USPI_ET_CORE || elf->segment_size == 0 || uspi_elf_segment(elf, 0, &first, NULL) != USP_OK)
        return 0;
    if (first.type != USPI_PT_NOTE || first.offset < elf->segment_offset) return 0;
    const uint64_t size = first.offset - elf->segment_offset, count = size / elf->segment_size;
    return size % elf->segment_size == 0 && count >= USPI_PN_XNUM ? count : 0;
}

/* Reads counts that do not fit into the ELF header from section header 0. */
static int resolve_counts(struct uspi_elf *elf, struct uspi_error *error) {
    bool segments = elf->segment_count == USPI_PN_XNUM;
    bool sections = elf->section_offset != 0 && elf->section_count == 0;
    bool names = elf->name_section == SHN_XINDEX;
    if (!segments && !sections && !names) return USP_OK;
    struct uspi_elf_section first;
    if (segments && elf->section_offset == 0) {
        return uspi_bytes_error(error, elf->bytes, 0, USP_ERROR_FORMAT,
                                "the number of program headers is to be in a section header, and there is none");
    }
    int status = read_section(elf, elf->section_offset, &first, segments ? error : NULL);
    if (status != USP_OK) {
        /* Go on without sections if only they are lost; without the program headers nothing works. */
        elf->section_count = elf->name_section = 0;
        const uint64_t count = segments ? count_in_core(elf) : 0;
        if (count > 0) elf->segment_count = count;
        return segments && count == 0 ? status : USP_OK;
    }
    if (segments) elf->segment_count = first.info;
    if (sections) elf->section_count = first.size;
    if (names) elf->name_section = first.link;
    return USP_OK;
}

static int check_segments(const struct uspi_elf *elf, struct uspi_error *error) {
    if (elf->segment_count == 0) return USP_OK;
    if (elf->segment_size < (elf->wide ? SEGMENT_64 : SEGMENT_32)) {
        return uspi_bytes_error(error, elf->bytes, 0, USP_ERROR_FORMAT, "program headers of %u bytes are too small",
                                (unsigned)elf->segment_size);
    }
    struct uspi_bytes headers;
    return uspi_bytes_array(
        elf->bytes, (struct uspi_array){elf->segment_offset, elf->segment_count, elf->segment_size, "program headers"},
        &headers, error);
}

/* Finds the address that the first byte was linked for, from the PT_LOAD that contains it, or from the first
 * PT_LOAD. In firmware no segment contains it, and code may begin at address 0: then the first PT_LOAD's address stands
 * for it. */
static int find_header_address(struct uspi_elf *elf, struct uspi_error *error) {
    struct uspi_elf_segment segment;
    bool found = false;
    for (uint64_t i = 0; i < elf->segment_count; i++) {
        int status = uspi_elf_segment(elf, i, &segment, error);
        if (status != USP_OK) return status;
        if (segment.type != USPI_PT_LOAD || (found && segment.offset != 0)) continue;
        elf->header_address = segment.address - (segment.offset <= segment.address ? segment.offset : 0);
        found = true;
        if (segment.offset == 0) break;
    }
    return USP_OK;
}

int uspi_elf_open(struct uspi_elf *elf, struct uspi_bytes bytes, struct uspi_error *error) {
    *elf = (struct uspi_elf){.bytes = bytes};
    int status = read_header(elf, error);
    if (status == USP_OK) status = resolve_counts(elf, error);
    if (status == USP_OK) status = check_segments(elf, error);
    if (status == USP_OK && elf->type != USPI_ET_CORE) status = find_header_address(elf, error);
    return status;
}

int uspi_elf_open_image(struct uspi_elf *elf, struct uspi_bytes bytes, struct uspi_error *error) {
    *elf = (struct uspi_elf){.bytes = bytes, .in_memory = true};
    int status = read_header(elf, error);
    if (status != USP_OK) return status;
    elf->section_offset = elf->section_count = elf->name_section = 0;
    if (elf->segment_count * elf->segment_size > IMAGE_HEADERS_MAX) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "%" PRIu64 " program headers are too many",
                                elf->segment_count);
    }
    status = check_segments(elf, error);
    return status == USP_OK ? find_header_address(elf, error) : status;
}

int uspi_elf_segment(const struct uspi_elf *elf, uint64_t i, struct uspi_elf_segment *segment,
                     struct uspi_error *error) {
    struct uspi_piece piece;
    if (i >= elf->segment_count) {
        return uspi_bytes_error(error, elf->bytes, 0, USP_ERROR_NOT_FOUND, "no program header %" PRIu64, i);
    }
    int status = uspi_bytes_piece(elf->bytes, elf->segment_offset + i * elf->segment_size,
                                  elf->wide ? SEGMENT_64 : SEGMENT_32, &piece, "program header", error);
    if (status != USP_OK) return status;
    const uint8_t *raw = piece.at;
    segment->type = uspi_le32(raw);
    if (elf->wide) {
        segment->flags = uspi_le32(raw + 4);
        segment->offset = uspi_le64(raw + 8);
        segment->address = uspi_le64(raw + 16);
        segment->file_size = uspi_le64(raw + 32);
        segment->memory_size = uspi_le64(raw + 40);
        segment->align = uspi_le64(raw + 48);
    } else {
        segment->offset = uspi_le32(raw + 4);
        segment->address = uspi_le32(raw + 8);
        segment->file_size = uspi_le32(raw + 16);
        segment->memory_size = uspi_le32(raw + 20);
        segment->flags = uspi_le32(raw + 24);
        segment->align = uspi_le32(raw + 28);
    }
    return USP_OK;
}

int uspi_elf_find_segment(const struct uspi_elf *elf, uint32_t type, struct uspi_elf_segment *segment,
                          struct uspi_error *error) {
    for (uint64_t i = 0; i < elf->segment_count; i++) {
        int status = uspi_elf_segment(elf, i, segment, error);
        if (status != USP_OK || segment->type == type) return status;
    }
    return uspi_bytes_error(error, elf->bytes, 0, USP_ERROR_NOT_FOUND, "no program header of type 0x%" PRIx32, type);
}

int uspi_elf_segment_bytes(const struct uspi_elf *elf, const struct uspi_elf_segment *segment, struct uspi_bytes *bytes,
                           struct uspi_error *error) {
    uint64_t offset = elf->in_memory ? segment->address - elf->header_address : segment->offset;
    return uspi_bytes_sub(elf->bytes, offset, segment->file_size, "segment", bytes, error);
}

/* Records the hole between extent->high, where the segments so far end, and the next segment, if it is the largest so
 * far. */
static void note_hole(const struct uspi_elf *elf, usp_addr next, struct uspi_elf_extent *extent) {
    const usp_addr page = USPI_LEAST_PAGE, low = (extent->high + page - 1) / page * page, high = next / page * page;
    if (low < extent->high || low < elf->header_address || high <= low) return;
    const uint64_t offset = low - elf->header_address, size = high - low;
    if (size <= extent->hole_size || offset > UINT32_MAX || size > UINT32_MAX) return;
    extent->hole_offset = (uint32_t)offset;
    extent->hole_size = (uint32_t)size;
}

int uspi_elf_extent(const struct uspi_elf *elf, struct uspi_elf_extent *extent, struct uspi_error *error) {
    struct uspi_elf_segment segment;
    bool any = false, text = false;
    *extent = (struct uspi_elf_extent){0};
    for (uint64_t i = 0; i < elf->segment_count; i++) {
        int status = uspi_elf_segment(elf, i, &segment, error);
        if (status != USP_OK) return status;
        if (segment.type != USPI_PT_LOAD || segment.memory_size == 0) continue;
        usp_addr high;
        if (!uspi_sum(segment.address, segment.memory_size, &high)) {
            return uspi_bytes_error(error, elf->bytes, elf->segment_offset + i * elf->segment_size, USP_ERROR_FORMAT,
                                    "the segment wraps around the address space");
        }
        /* Segments stand in ascending order (System V ABI, "Program Header"). */
        if (any) note_hole(elf, segment.address, extent);
        if (!any || segment.address < extent->low) extent->low = segment.address;
        if (!any || high > extent->high) extent->high = high;
        any = true;
        if ((segment.flags & USPI_PF_X) == 0) continue;
        if (!text || segment.address < extent->text_low) {
            extent->text_low = segment.address;
            extent->has_text = segment.file_size > 0;
            extent->text_offset = segment.offset;
        }
        if (!text || high > extent->text_high) extent->text_high = high;
        text = true;
    }
    if (any) return USP_OK;
    return uspi_bytes_error(error, elf->bytes, 0, USP_ERROR_NOT_FOUND, "nothing is loaded of this file");
}

int uspi_elf_section(const struct uspi_elf *elf, uint64_t i, struct uspi_elf_section *section,
                     struct uspi_error *error) {
    uint64_t distance, offset;
    if (i >= elf->section_count) {
        return uspi_bytes_error(error, elf->bytes, 0, USP_ERROR_NOT_FOUND, "no section header %" PRIu64, i);
    }
    if (elf->section_size < (elf->wide ? SECTION_64 : SECTION_32)) {
        return uspi_bytes_error(error, elf->bytes, 0, USP_ERROR_FORMAT, "section headers of %u bytes are too small",
                                (unsigned)elf->section_size);
    }
    if (!uspi_product(i, elf->section_size, &distance) || !uspi_sum(elf->section_offset, distance, &offset)) {
        offset = UINT64_MAX;
    }
    return read_section(elf, offset, section, error);
}

int uspi_elf_section_names(const struct uspi_elf *elf, struct uspi_bytes *strings, struct uspi_error *error) {
    struct uspi_elf_section names;
    if (elf->name_section == 0) {
        return uspi_bytes_error(error, elf->bytes, 0, USP_ERROR_NOT_FOUND, "no section names");
    }
    int status = uspi_elf_section(elf, elf->name_section, &names, error);
    if (status != USP_OK) return status;
    return uspi_bytes_sub(elf->bytes, names.offset, names.size, "section of names", strings, error);
}

int uspi_elf_find_section(const struct uspi_elf *elf, const char *name, struct uspi_elf_section *section,
                          struct uspi_error *error) {
    struct uspi_bytes strings;
    char found[64];
    int status = uspi_elf_section_names(elf, &strings, error);
    for (uint64_t i = 1; status == USP_OK && i < elf->section_count; i++) {
        status = uspi_elf_section(elf, i, section, error);
        if (status != USP_OK) break;
        const char *in_place = uspi_bytes_string_in_place(strings, section->name);
        /* A name that is unreadable or too long for `found` is not the wanted one. */
        if (in_place == NULL &&
            uspi_bytes_string(strings, section->name, found, sizeof found, "section name", NULL) != USP_OK) {
            continue;
        }
        if (strcmp(in_place != NULL ? in_place : found, name) == 0) return USP_OK;
    }
    if (status != USP_OK) return status;
    return uspi_bytes_error(error, elf->bytes, 0, USP_ERROR_NOT_FOUND, "no section %s", name);
}

struct uspi_elf_notes uspi_elf_notes(struct uspi_bytes bytes, uint64_t align) {
    return (struct uspi_elf_notes){.bytes = bytes, .align = align == 8 ? 8 : 4};
}

static uint64_t round_up(uint64_t value, unsigned align) { return (value + align - 1) & ~(uint64_t)(align - 1); }

int uspi_elf_next_note(struct uspi_elf_notes *notes, struct uspi_elf_note *note, struct uspi_error *error) {
    uint8_t raw[NOTE_HEADER];
    struct uspi_bytes name;
    /* Fewer bytes than the alignment are padding after the last note. */
    if (notes->next >= notes->bytes.size || notes->bytes.size - notes->next < notes->align) return 0;
    int status = uspi_bytes_read(notes->bytes, notes->next, raw, sizeof raw, "note", error);
    if (status != USP_OK) return status;
    uint64_t name_size = uspi_le32(raw), desc_size = uspi_le32(raw + 4);
    uint64_t desc_at = round_up(notes->next + NOTE_HEADER + name_size, notes->align);
    status = uspi_bytes_sub(notes->bytes, notes->next + NOTE_HEADER, name_size, "note's name", &name, error);
    if (status != USP_OK) return status;
    status = uspi_bytes_sub(notes->bytes, desc_at, desc_size, "note's descriptor", &note->desc, error);
    if (status != USP_OK) return status;
    memset(note->owner, 0, sizeof note->owner);
    size_t shown = name_size < sizeof note->owner - 1 ? (size_t)name_size : sizeof note->owner - 1;
    status = uspi_bytes_read(name, 0, note->owner, shown, "note's name", error);
    if (status != USP_OK) return status;
    note->type = uspi_le32(raw + 8);
    notes->next = round_up(desc_at + desc_size, notes->align);
    return 1;
}

/* Looks for the build id among notes. Returns 1, 0 when it is not among them, or a negative status. */
static int build_id_among(struct uspi_bytes bytes, uint64_t align, struct uspi_bytes *id, struct uspi_error *error) {
    struct uspi_elf_notes notes = uspi_elf_notes(bytes, align);
    struct uspi_elf_note note;
    int got;
    while ((got = uspi_elf_next_note(&notes, &note, error)) > 0) {
        if (note.type != NT_GNU_BUILD_ID || strcmp(note.owner, "GNU") != 0 || note.desc.size == 0) continue;
        struct uspi_build_id readable;
        *id = note.desc;
        if (id->size > sizeof readable.bytes) id->size = sizeof readable.bytes;
        int status = uspi_bytes_read(*id, 0, readable.bytes, (size_t)id->size, "build-id", error);
        return status == USP_OK ? 1 : status;
    }
    return got;
}

int uspi_elf_build_id_bytes(const struct uspi_elf *elf, struct uspi_bytes *id, struct uspi_error *error) {
    struct uspi_bytes bytes;
    struct uspi_elf_segment segment;
    struct uspi_elf_section section;
    /* Damaged or missing notes do not end the search. If the build id is not found, the last failure is returned. */
    int reason = uspi_bytes_error(error, elf->bytes, 0, USP_ERROR_NOT_FOUND, "no build-id");
    for (uint64_t i = 0; i < elf->segment_count; i++) {
        int status = uspi_elf_segment(elf, i, &segment, error);
        if (status == USP_OK && segment.type != USPI_PT_NOTE) continue;
        if (status == USP_OK) status = uspi_elf_segment_bytes(elf, &segment, &bytes, error);
        if (status == USP_OK) status = build_id_among(bytes, segment.align, id, error);
        if (status > 0) return USP_OK;
        if (status < 0) reason = status;
    }
    for (uint64_t i = 0; i < elf->section_count; i++) {
        int status = uspi_elf_section(elf, i, &section, error);
        if (status != USP_OK) return status;
        if (section.type != USPI_SHT_NOTE) continue;
        status = uspi_bytes_sub(elf->bytes, section.offset, section.size, "section", &bytes, error);
        if (status == USP_OK) status = build_id_among(bytes, section.align, id, error);
        if (status > 0) return USP_OK;
        if (status < 0) reason = status;
    }
    return reason;
}

int uspi_elf_build_id(const struct uspi_elf *elf, struct uspi_build_id *id, struct uspi_error *error) {
    struct uspi_bytes bytes;
    memset(id, 0, sizeof *id);
    int status = uspi_elf_build_id_bytes(elf, &bytes, error);
    if (status == USP_OK) status = uspi_bytes_read(bytes, 0, id->bytes, (size_t)bytes.size, "build-id", error);
    if (status == USP_OK) id->size = (uint32_t)bytes.size;
    return status;
}

/* Size of the note's header and of its owner, "GNU" and NUL, which directly precede the id. */
#define NOTE_BEFORE_ID (NOTE_HEADER + 4)

/* Finds where bytes of a file are mapped, as their distance from the file's first byte. */
static bool find_mapped(const struct uspi_elf *file, uint64_t offset, uint64_t size, uint64_t *distance) {
    struct uspi_elf_segment segment;
    for (uint64_t i = 0; i < file->segment_count; i++) {
        if (uspi_elf_segment(file, i, &segment, NULL) != USP_OK) return false;
        if (segment.type != USPI_PT_LOAD || offset < segment.offset) continue;
        const uint64_t within = offset - segment.offset;
        if (within > segment.file_size || size > segment.file_size - within) continue;
        *distance = segment.address - file->header_address + within;
        return true;
    }
    return false;
}

int uspi_elf_mapped_build_id(const struct uspi_elf *file, struct uspi_bytes image, struct uspi_build_id *id) {
    uint8_t own[NOTE_BEFORE_ID + sizeof id->bytes], mapped[sizeof own];
    struct uspi_bytes bytes;
    uint64_t distance;
    id->size = 0;
    int status = uspi_elf_build_id_bytes(file, &bytes, NULL);
    if (status != USP_OK) return status;
    const uint64_t offset = bytes.from - file->bytes.from;
    const size_t size = NOTE_BEFORE_ID + (size_t)bytes.size;
    if (offset < NOTE_BEFORE_ID || !find_mapped(file, offset - NOTE_BEFORE_ID, size, &distance)) {
        return USP_ERROR_NOT_FOUND;
    }
    status = uspi_bytes_read(file->bytes, offset - NOTE_BEFORE_ID, own, size, "note", NULL);
    if (status == USP_OK) status = uspi_bytes_read(image, distance, mapped, size, "note", NULL);
    if (status != USP_OK) return status;
    if (memcmp(own, mapped, size) != 0) return USP_ERROR_MISMATCH;
    id->size = (uint32_t)bytes.size;
    memset(id->bytes, 0, sizeof id->bytes);
    memcpy(id->bytes, own + NOTE_BEFORE_ID, id->size);
    return USP_OK;
}

int uspi_elf_dynamic(struct uspi_bytes section, bool wide, uint64_t tag, uint64_t *value, struct uspi_error *error) {
    unsigned word = wide ? 8 : 4;
    for (uint64_t at = 0; section.size - at >= 2 * word; at += 2 * word) {
        uint8_t raw[16];
        int status = uspi_bytes_read(section, at, raw, 2 * word, "dynamic section", error);
        if (status != USP_OK) return status;
        uint64_t found = uspi_le(raw, word);
        if (found == USPI_DT_NULL) break;
        if (found != tag) continue;
        *value = uspi_le(raw + word, word);
        return USP_OK;
    }
    return uspi_bytes_error(error, section, 0, USP_ERROR_NOT_FOUND, "no entry %" PRIu64 " in the dynamic section", tag);
}
