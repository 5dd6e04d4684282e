/* SPDX-License-Identifier: MIT */
/* See objc_stubs.h. */
#include "lib/symbolize/macho/objc_stubs.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX "objc_msgSend$"

/* Longer than any selector that is written or generated. A longer one counts as not known. */
#define SELECTOR_ROOM 4096

/* The prefix of the imports that are kept. No import has it: the selectors that stubs load are the file's own. */
#define NO_IMPORTS "_" PREFIX

static int find_section(struct uspi_objc_stubs *stubs, const struct uspi_macho *macho) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    struct uspi_macho_section section;
    int got;
    while ((got = uspi_macho_next_segment(macho, &cursor, &segment, NULL)) > 0) {
        for (uint32_t i = 0; i < segment.section_count; i++) {
            int status = uspi_macho_section(macho, &segment, i, &section, NULL);
            if (status != USP_OK) return status;
            if (strcmp(section.name, "__objc_stubs") != 0) continue;
            stubs->address = section.address;
            return uspi_macho_part(macho, section.file_offset, section.size, "__objc_stubs", &stubs->code, NULL);
        }
    }
    return got;
}

int uspi_objc_stubs_open(struct uspi_objc_stubs *stubs, const struct uspi_macho *macho) {
    *stubs = (struct uspi_objc_stubs){.arch = macho->arch};
    if (macho->bytes.source->memory || macho->type == USPI_MH_DSYM) return USP_OK;
    int status = find_section(stubs, macho);
    if (status != USP_OK || stubs->code.size == 0) return status;
    stubs->space = calloc(1, sizeof *stubs->space);
    stubs->fixups = calloc(1, sizeof *stubs->fixups);
    if (stubs->space == NULL || stubs->fixups == NULL) return USP_ERROR_NO_MEMORY;
    status = uspi_macho_space_open(stubs->space, macho, NULL);
    return status == USP_OK ? uspi_fixups_open(stubs->fixups, stubs->space, NO_IMPORTS, NULL) : status;
}

void uspi_objc_stubs_close(struct uspi_objc_stubs *stubs) {
    if (stubs->fixups != NULL) uspi_fixups_close(stubs->fixups);
    if (stubs->space != NULL) uspi_macho_space_close(stubs->space);
    free(stubs->fixups);
    free(stubs->space);
    *stubs = (struct uspi_objc_stubs){0};
}

/* adrp x1, PAGE; ldr x1, [x1, #OFFSET] (arm64_32: w1). */
static bool decode_arm64(const uint8_t raw[8], usp_addr at, bool is_wide, usp_addr *reference) {
    const uint32_t adrp = uspi_le32(raw), ldr = uspi_le32(raw + 4);
    if ((adrp & 0x9f00001f) != 0x90000001) return false;
    if ((ldr & 0xffc003ff) != (is_wide ? 0xf9400021u : 0xb9400021u)) return false;
    /* 21 bits in two parts, signed, in pages of 4 KB. */
    uint64_t pages = (adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
    pages = (pages ^ UINT64_C(0x100000)) - UINT64_C(0x100000);
    *reference = (at & ~UINT64_C(0xfff)) + (pages << 12) + ((uint64_t)(ldr >> 10 & 0xfff) << (is_wide ? 3 : 2));
    if (!is_wide) *reference &= UINT32_MAX;
    return true;
}

/* movq REFERENCE(%rip), %rsi; jmpq *…(%rip) */
static bool decode_x86_64(const uint8_t raw[9], usp_addr at, usp_addr *reference) {
    if (memcmp(raw, "\x48\x8b\x35", 3) != 0 || memcmp(raw + 7, "\xff\x25", 2) != 0) return false;
    *reference = at + 7 + ((uspi_le32(raw + 3) ^ UINT64_C(0x80000000)) - UINT64_C(0x80000000));
    return true;
}

/* Finds the selector reference that the stub at an offset loads. Returns false when no stub lies there. */
static bool decode(const struct uspi_objc_stubs *stubs, uint64_t offset, usp_addr *reference) {
    uint8_t raw[9];
    const usp_addr at = stubs->address + offset;
    const bool is_x86 = stubs->arch == USP_ARCH_X86_64;
    if (uspi_bytes_read(stubs->code, offset, raw, is_x86 ? 9 : 8, "stub", NULL) != USP_OK) return false;
    switch (stubs->arch) {
    case USP_ARCH_X86_64: return decode_x86_64(raw, at, reference);
    case USP_ARCH_ARM64: return decode_arm64(raw, at, true, reference);
    case USP_ARCH_ARM64_32: return decode_arm64(raw, at, false, reference);
    default: return false;
    }
}

bool uspi_objc_stubs_next(const struct uspi_objc_stubs *stubs, uint64_t *offset) {
    const uint64_t step = stubs->arch == USP_ARCH_X86_64 ? 1 : 4;
    usp_addr reference;
    for (*offset += -*offset % step; *offset < stubs->code.size; *offset += step) {
        if (decode(stubs, *offset, &reference)) return true;
    }
    return false;
}

int uspi_objc_stub_name(const struct uspi_objc_stubs *stubs, uint64_t offset, struct uspi_names *names,
                        const char **name) {
    char text[sizeof PREFIX - 1 + SELECTOR_ROOM] = PREFIX;
    char *selector = text + sizeof PREFIX - 1;
    usp_addr reference;
    struct uspi_pointer pointer;
    struct uspi_bytes bytes;
    if (!decode(stubs, offset, &reference)) return USP_ERROR_NOT_FOUND;
    int status = uspi_fixups_pointer(stubs->fixups, reference, &pointer, NULL);
    if (status == USP_OK && (pointer.is_import || pointer.target == 0)) status = USP_ERROR_NOT_FOUND;
    if (status == USP_OK) status = uspi_macho_space_at(stubs->space, pointer.target, "selector", &bytes, NULL);
    if (status == USP_OK) status = uspi_bytes_string(bytes, 0, selector, SELECTOR_ROOM, "selector", NULL);
    if (status == USP_OK && selector[0] == '\0') status = USP_ERROR_NOT_FOUND;
    if (status != USP_OK) return status;
    *name = uspi_names_keep(names, text, strlen(text));
    return *name != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}
