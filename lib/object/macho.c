/* SPDX-License-Identifier: MIT */
/* See macho.h. */
#include "lib/object/macho.h"
#include "arch/backend.h"

#include <inttypes.h>
#include <string.h>

#define MH_MAGIC    0xfeedface
#define MH_MAGIC_64 0xfeedfacf
#define MH_CIGAM    0xcefaedfe
#define MH_CIGAM_64 0xcffaedfe

#define COMMAND      8
#define UUID_COMMAND 24
#define NOTE_COMMAND 40
#define NAME         16

uint32_t uspi_macho_arch(uint32_t cpu_type) {
    const struct uspi_backend *b = uspi_backend_of_macho(cpu_type);
    return b != NULL ? b->arch : USP_ARCH_NONE;
}

/* The cpusubtype without its capability bits; for arm64e these contain the version of its ABI. */
#define CPU_SUBTYPE_MASK 0x00ffffffu

static uint32_t variant_of(uint32_t arch, uint32_t cpu_subtype) {
    const struct uspi_backend *b = uspi_backend_find(arch);
    for (size_t i = 0; b != NULL && i < b->name_count; i++) {
        const struct uspi_arch_name *name = &b->names[i];
        if (name->variant != USP_VARIANT_NONE && name->macho_subtype == (cpu_subtype & CPU_SUBTYPE_MASK)) {
            return name->variant;
        }
    }
    return USP_VARIANT_PLAIN;
}

int uspi_macho_open(struct uspi_macho *macho, struct uspi_bytes bytes, struct uspi_error *error) {
    uint8_t raw[USPI_MACHO_SIZE_MAX];
    *macho = (struct uspi_macho){.bytes = bytes};
    int status = uspi_bytes_read(bytes, 0, raw, 4, "Mach-O header", error);
    if (status != USP_OK) return status;
    switch (uspi_le32(raw)) {
    case MH_MAGIC: break;
    case MH_MAGIC_64: macho->wide = true; break;
    case MH_CIGAM:
    case MH_CIGAM_64:
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_UNSUPPORTED, "big-endian Mach-O is not supported");
    default: return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "not a Mach-O file");
    }
    const size_t header = uspi_macho_sizes(macho->wide).header;
    status = uspi_bytes_read(bytes, 0, raw, header, "Mach-O header", error);
    if (status != USP_OK) return status;
    macho->cpu_type = uspi_le32(raw + 4);
    macho->arch = uspi_macho_arch(macho->cpu_type);
    macho->variant = variant_of(macho->arch, uspi_le32(raw + 8));
    macho->type = uspi_le32(raw + 12);
    macho->command_count = uspi_le32(raw + 16);
    macho->flags = uspi_le32(raw + 24);
    return uspi_bytes_sub(bytes, header, uspi_le32(raw + 20), "load commands", &macho->commands, error);
}

int uspi_macho_next(const struct uspi_macho *macho, struct uspi_macho_cursor *cursor,
                    struct uspi_macho_command *command, struct uspi_error *error) {
    uint8_t raw[COMMAND];
    if (cursor->index >= macho->command_count) return 0;
    int status = uspi_bytes_read(macho->commands, cursor->offset, raw, sizeof raw, "load command", error);
    if (status != USP_OK) return status;
    uint32_t size = uspi_le32(raw + 4);
    if (size < COMMAND) {
        return uspi_bytes_error(error, macho->commands, cursor->offset, USP_ERROR_FORMAT,
                                "a load command of %" PRIu32 " bytes", size);
    }
    status = uspi_bytes_sub(macho->commands, cursor->offset, size, "load command", &command->bytes, error);
    if (status != USP_OK) return status;
    command->kind = uspi_le32(raw);
    cursor->index++;
    cursor->offset += size;
    return 1;
}

static int not_found(const struct uspi_macho *macho, const char *what, struct uspi_error *error) {
    return uspi_bytes_error(error, macho->bytes, 0, USP_ERROR_NOT_FOUND, "no %s", what);
}

int uspi_macho_find(const struct uspi_macho *macho, uint32_t kind, struct uspi_macho_command *command,
                    struct uspi_error *error) {
    struct uspi_macho_cursor cursor = {0};
    int got;
    while ((got = uspi_macho_next(macho, &cursor, command, error)) > 0) {
        if (command->kind == kind) return USP_OK;
    }
    return got < 0 ? got : not_found(macho, "such load command", error);
}

static void copy_name(char to[NAME + 1], const uint8_t *raw) {
    memcpy(to, raw, NAME);
    to[NAME] = '\0';
}

int uspi_macho_segment(const struct uspi_macho_command *command, struct uspi_macho_segment *segment,
                       struct uspi_error *error) {
    uint8_t raw[USPI_MACHO_SIZE_MAX];
    const struct uspi_macho_sizes sizes = uspi_macho_sizes(command->kind == USPI_LC_SEGMENT_64);
    const unsigned word = sizes.word;
    int status = uspi_bytes_read(command->bytes, 0, raw, sizes.segment, "segment command", error);
    if (status != USP_OK) return status;
    copy_name(segment->name, raw + 8);
    segment->address = uspi_le(raw + 24, word);
    segment->memory_size = uspi_le(raw + 24 + word, word);
    segment->file_offset = uspi_le(raw + 24 + 2 * word, word);
    segment->file_size = uspi_le(raw + 24 + 3 * word, word);
    /* maxprot comes first. */
    const uint8_t *rest = raw + 24 + 4 * word;
    segment->protection = uspi_le32(rest + 4);
    segment->section_count = uspi_le32(rest + 8);
    return uspi_bytes_array(
        command->bytes, (struct uspi_array){sizes.segment, segment->section_count, sizes.section, "section headers"},
        &segment->sections, error);
}

int uspi_macho_next_segment(const struct uspi_macho *macho, struct uspi_macho_cursor *cursor,
                            struct uspi_macho_segment *segment, struct uspi_error *error) {
    struct uspi_macho_command command;
    int got;
    while ((got = uspi_macho_next(macho, cursor, &command, error)) > 0) {
        if (command.kind != (macho->wide ? USPI_LC_SEGMENT_64 : USPI_LC_SEGMENT)) continue;
        int status = uspi_macho_segment(&command, segment, error);
        return status == USP_OK ? 1 : status;
    }
    return got;
}

int uspi_macho_section(const struct uspi_macho *macho, const struct uspi_macho_segment *segment, uint32_t i,
                       struct uspi_macho_section *section, struct uspi_error *error) {
    uint8_t raw[USPI_MACHO_SIZE_MAX];
    const size_t size = uspi_macho_sizes(macho->wide).section;
    const unsigned word = uspi_macho_sizes(macho->wide).word;
    if (i >= segment->section_count) return not_found(macho, "such section", error);
    int status = uspi_bytes_read(segment->sections, (uint64_t)i * size, raw, size, "section header", error);
    if (status != USP_OK) return status;
    copy_name(section->name, raw);
    copy_name(section->segment, raw + 16);
    section->address = uspi_le(raw + 32, word);
    section->size = uspi_le(raw + 32 + word, word);
    const uint8_t *rest = raw + 32 + 2 * word;
    section->file_offset = uspi_le32(rest);
    section->flags = uspi_le32(rest + 16);
    section->reserved1 = uspi_le32(rest + 20);
    section->reserved2 = uspi_le32(rest + 24);
    return USP_OK;
}

int uspi_macho_find_section(const struct uspi_macho *macho, const char *name, struct uspi_macho_section *section,
                            struct uspi_error *error) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    int got;
    while ((got = uspi_macho_next_segment(macho, &cursor, &segment, error)) > 0) {
        for (uint32_t i = 0; i < segment.section_count; i++) {
            int status = uspi_macho_section(macho, &segment, i, section, error);
            if (status != USP_OK) return status;
            if (strcmp(section->name, name) == 0) return USP_OK;
        }
    }
    return got < 0 ? got : not_found(macho, name, error);
}

int uspi_macho_layout(const struct uspi_macho *macho, struct uspi_macho_extent *extent, struct uspi_error *error) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    bool header = false, text = false;
    usp_addr last = 0;
    int got;
    *extent = (struct uspi_macho_extent){0};
    while ((got = uspi_macho_next_segment(macho, &cursor, &segment, error)) > 0) {
        usp_addr high;
        if (!uspi_sum(segment.address, segment.memory_size, &high)) {
            return uspi_bytes_error(error, macho->bytes, 0, USP_ERROR_FORMAT,
                                    "segment %s wraps around the address space", segment.name);
        }
        /* __PAGEZERO only reserves addresses. */
        if (segment.memory_size == 0 || (segment.protection == 0 && segment.file_size == 0)) continue;
        /* A dSYM has the segments of its image without their bytes, and its own segment __DWARF. */
        const bool is_dsym = macho->type == USPI_MH_DSYM;
        if (is_dsym && strcmp(segment.name, "__DWARF") == 0) continue;
        /* In the shared cache, offsets count from the file that has the segments of many images. */
        const bool by_name = is_dsym || (macho->flags & USPI_MH_DYLIB_IN_CACHE) != 0;
        const bool holds_header =
            by_name ? strcmp(segment.name, "__TEXT") == 0 : segment.file_offset == 0 && segment.file_size != 0;
        if (!header && holds_header) {
            extent->header = segment.address;
            header = true;
        }
        if (high > last) last = high;
        if ((segment.protection & USPI_PROT_EXECUTE) == 0) continue;
        if (!text || segment.address < extent->text_low) extent->text_low = segment.address;
        if (!text || high > extent->text_high) extent->text_high = high;
        text = true;
    }
    if (got < 0) return got;
    /* An unlinked object is never loaded; its one segment begins at 0. */
    if (!header && macho->type != USPI_MH_OBJECT) return not_found(macho, "segment that holds the header", error);
    extent->high = (macho->flags & USPI_MH_DYLIB_IN_CACHE) != 0 && text ? extent->text_high : last;
    return USP_OK;
}

int uspi_macho_extent(const struct uspi_macho *macho, struct uspi_macho_extent *extent, struct uspi_error *error) {
    if (macho->type == USPI_MH_OBJECT || macho->type == USPI_MH_DSYM) {
        return not_found(macho, "segment that is loaded", error);
    }
    return uspi_macho_layout(macho, extent, error);
}

int uspi_macho_part(const struct uspi_macho *macho, uint64_t offset, uint64_t size, const char *what,
                    struct uspi_bytes *part, struct uspi_error *error) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    struct uspi_macho_extent extent;
    if (!macho->bytes.source->memory) return uspi_bytes_sub(macho->bytes, offset, size, what, part, error);
    int got = uspi_macho_extent(macho, &extent, error);
    if (got != USP_OK) return got;
    while ((got = uspi_macho_next_segment(macho, &cursor, &segment, error)) > 0) {
        if (offset < segment.file_offset || offset - segment.file_offset >= segment.file_size) continue;
        /* The range macho->bytes begins at the header's actual address. */
        uint64_t from = segment.address - extent.header + (offset - segment.file_offset);
        uint64_t left = segment.file_size - (offset - segment.file_offset);
        if (size > left) break;
        *part = (struct uspi_bytes){macho->bytes.source, macho->bytes.from + from, size};
        return USP_OK;
    }
    if (got < 0) return got;
    return uspi_bytes_error(error, macho->bytes, 0, USP_ERROR_TRUNCATED, "%s lies in no segment", what);
}

int uspi_macho_uuid(const struct uspi_macho *macho, uint8_t uuid[USPI_UUID_SIZE], struct uspi_error *error) {
    struct uspi_macho_command command;
    int status = uspi_macho_find(macho, USPI_LC_UUID, &command, error);
    if (status != USP_OK) return status;
    return uspi_bytes_read(command.bytes, COMMAND, uuid, USPI_UUID_SIZE, "UUID", error);
}

int uspi_macho_install_name(const struct uspi_macho *macho, char *to, size_t capacity, struct uspi_error *error) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_command command;
    int got;
    while ((got = uspi_macho_next(macho, &cursor, &command, error)) > 0) {
        if (command.kind != USPI_LC_ID_DYLIB && command.kind != USPI_LC_ID_DYLINKER) continue;
        uint64_t offset;
        int status = uspi_bytes_load(command.bytes, COMMAND, 4, &offset, "install name", error);
        return status == USP_OK ? uspi_bytes_string(command.bytes, offset, to, capacity, "install name", error)
                                : status;
    }
    return got < 0 ? got : not_found(macho, "install name", error);
}

static uint32_t platform_of(uint32_t kind) {
    switch (kind) {
    case USPI_LC_VERSION_MIN_MACOSX: return USPI_PLATFORM_MACOS;
    case USPI_LC_VERSION_MIN_IPHONEOS: return USPI_PLATFORM_IOS;
    case USPI_LC_VERSION_MIN_TVOS: return USPI_PLATFORM_TVOS;
    case USPI_LC_VERSION_MIN_WATCHOS: return USPI_PLATFORM_WATCHOS;
    default: return 0;
    }
}

int uspi_macho_version(const struct uspi_macho *macho, struct uspi_macho_version *version, struct uspi_error *error) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_command command;
    int got;
    while ((got = uspi_macho_next(macho, &cursor, &command, error)) > 0) {
        uint8_t raw[20];
        bool build = command.kind == USPI_LC_BUILD_VERSION;
        uint32_t platform = platform_of(command.kind);
        if (!build && platform == 0) continue;
        /* build_version_command has the platform before the two versions; version_min_command has only the versions. */
        int status = uspi_bytes_read(command.bytes, 0, raw, build ? 20 : 16, "version", error);
        if (status != USP_OK) return status;
        const uint8_t *versions = build ? raw + 12 : raw + 8;
        version->platform = build ? uspi_le32(raw + 8) : platform;
        version->minimum = uspi_le32(versions);
        version->sdk = uspi_le32(versions + 4);
        return USP_OK;
    }
    return got < 0 ? got : not_found(macho, "version", error);
}

int uspi_macho_describe(const struct uspi_macho *macho, usp_addr load, struct usp_image *image,
                        struct uspi_error *error) {
    struct uspi_macho_extent extent;
    int status = uspi_macho_extent(macho, &extent, error);
    if (status != USP_OK) return status;
    *image = (struct usp_image){.path = "",
                                .load_address = load,
                                .slide = load - extent.header,
                                .arch = macho->arch,
                                .variant = macho->variant,
                                .flags = USP_IMAGE_MACHO};
    image->text_low = extent.text_low + image->slide;
    image->text_high = extent.text_high + image->slide;
    if (extent.text_high == 0) image->text_low = image->text_high = load;
    image->end = extent.high + image->slide;
    if (macho->type == USPI_MH_EXECUTE) image->flags |= USP_IMAGE_MAIN;
    if (macho->type == USPI_MH_DYLINKER) image->flags |= USP_IMAGE_LOADER;
    if (uspi_macho_uuid(macho, image->build_id, NULL) == USP_OK) {
        image->build_id_size = USPI_UUID_SIZE;
    } else {
        memset(image->build_id, 0, sizeof image->build_id);
    }
    return USP_OK;
}

int uspi_macho_next_state(const struct uspi_macho_command *command, uint64_t *offset, struct uspi_macho_state *state,
                          struct uspi_error *error) {
    uint8_t raw[8];
    uint64_t at = *offset == 0 ? COMMAND : *offset;
    if (at >= command->bytes.size) return 0;
    int status = uspi_bytes_read(command->bytes, at, raw, sizeof raw, "thread state", error);
    if (status != USP_OK) return status;
    state->flavor = uspi_le32(raw);
    state->count = uspi_le32(raw + 4);
    status = uspi_bytes_array(command->bytes, (struct uspi_array){at + sizeof raw, state->count, 4, "thread state"},
                              &state->bytes, error);
    if (status != USP_OK) return status;
    *offset = at + sizeof raw + state->bytes.size;
    return 1;
}

int uspi_macho_note(const struct uspi_macho *macho, const struct uspi_macho_command *command,
                    struct uspi_macho_note *note, struct uspi_error *error) {
    uint8_t raw[NOTE_COMMAND];
    int status = uspi_bytes_read(command->bytes, 0, raw, sizeof raw, "note command", error);
    if (status != USP_OK) return status;
    copy_name(note->owner, raw + 8);
    return uspi_bytes_sub(macho->bytes, uspi_le64(raw + 24), uspi_le64(raw + 32), "note", &note->bytes, error);
}
