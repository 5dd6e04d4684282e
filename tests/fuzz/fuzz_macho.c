/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a thin or fat Mach-O file and as an image in memory. Seeds: tests/fuzz/object_seeds.c. */
#include "lib/object/fat.h"
#include "tests/fuzz/image_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_segment(const struct uspi_macho *macho, const struct uspi_macho_command *command,
                         struct uspi_error *error) {
    struct uspi_macho_segment segment;
    struct uspi_macho_section section;
    if (uspi_macho_segment(command, &segment, error) != USP_OK) return;
    for (uint32_t i = 0; i <= segment.section_count && i < 256; i++) {
        if (uspi_macho_section(macho, &segment, i, &section, error) != USP_OK) break;
    }
}

static void read_thread(const struct uspi_macho_command *command, struct uspi_error *error) {
    struct uspi_macho_state state;
    uint64_t offset = 0, value;
    while (uspi_macho_next_state(command, &offset, &state, error) > 0) {
        uspi_bytes_load(state.bytes, 0, 8, &value, "value", error);
    }
}

static void read_all(const struct uspi_macho *macho, struct uspi_error *error) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_command command;
    struct uspi_macho_extent extent;
    struct uspi_macho_version version;
    struct uspi_macho_note note;
    uint8_t uuid[USPI_UUID_SIZE];
    char name[64];
    uspi_macho_extent(macho, &extent, error);
    uspi_macho_uuid(macho, uuid, error);
    uspi_macho_version(macho, &version, error);
    uspi_macho_install_name(macho, name, sizeof name, error);
    while (uspi_macho_next(macho, &cursor, &command, error) > 0) {
        switch (command.kind) {
        case USPI_LC_SEGMENT:
        case USPI_LC_SEGMENT_64: read_segment(macho, &command, error); break;
        case USPI_LC_THREAD:
        case USPI_LC_UNIXTHREAD: read_thread(&command, error); break;
        case USPI_LC_NOTE: uspi_macho_note(macho, &command, &note, error); break;
        default: break;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct image_memory m = {data, size};
    struct usp_memory memory = {read_image, &m};
    struct uspi_source file = {.name = "file", .base = data}, image = uspi_source_of_memory(&memory, "memory");
    struct uspi_bytes bytes = {&file, 0, size};
    struct uspi_error error;
    struct uspi_macho macho;
    uint8_t uuid[USPI_UUID_SIZE] = {0};
    if (size >= sizeof uuid) memcpy(uuid, data + size - sizeof uuid, sizeof uuid);
    for (uint32_t arch = USP_ARCH_NONE; arch <= USP_ARCH_I386; arch++) {
        const struct uspi_wanted_slice wanted = {.arch = arch};
        if (uspi_fat_pick(bytes, &wanted, &macho, &error) == USP_OK) read_all(&macho, &error);
    }
    const struct uspi_wanted_slice by_uuid = {.uuid = uuid};
    if (uspi_fat_pick(bytes, &by_uuid, &macho, &error) == USP_OK) read_all(&macho, &error);
    if (uspi_macho_open(&macho, uspi_bytes_at(&image, IMAGE_LOAD), &error) == USP_OK) read_all(&macho, &error);
    return 0;
}
