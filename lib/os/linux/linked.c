/* SPDX-License-Identifier: MIT */
/* See linked.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/linked.h"

#include "lib/base/path.h"

#include <string.h>

/* System V gABI chapter 5 "Dynamic Section"; DT_FLAGS_1: glibc elf.h. */
#define DT_NEEDED     1
#define DT_STRTAB     5
#define DT_SONAME     14
#define DT_FLAGS_1    UINT64_C(0x6ffffffb)
#define DF_1_NODELETE 8u

/* Longer than any file's name (Linux include/uapi/linux/limits.h, NAME_MAX). */
#define NAME_ROOM 256

struct dynamic {
    struct uspi_bytes entries; /* size 0: none */
    struct uspi_bytes strings;
    bool wide;
};

void uspi_linked_init(struct uspi_linked *linked) { linked->count = 0; }

/* Reads the i-th entry. Returns false after the last one. */
static bool read_entry(const struct dynamic *dynamic, uint64_t i, uint64_t *tag, uint64_t *value) {
    const unsigned word = dynamic->wide ? 8 : 4;
    uint8_t raw[16];
    if (uspi_bytes_read(dynamic->entries, i * 2 * word, raw, 2 * word, "dynamic section", NULL) != USP_OK) return false;
    *tag = uspi_le(raw, word);
    *value = uspi_le(raw + word, word);
    return *tag != USPI_DT_NULL;
}

static struct dynamic read_dynamic(const struct uspi_elf *elf) {
    struct dynamic dynamic = {.wide = elf->wide};
    struct uspi_elf_segment segment;
    struct uspi_elf_extent extent;
    uint64_t strings;
    if (uspi_elf_find_segment(elf, USPI_PT_DYNAMIC, &segment, NULL) != USP_OK ||
        uspi_elf_segment_bytes(elf, &segment, &dynamic.entries, NULL) != USP_OK ||
        uspi_elf_dynamic(dynamic.entries, elf->wide, DT_STRTAB, &strings, NULL) != USP_OK ||
        uspi_elf_extent(elf, &extent, NULL) != USP_OK) {
        dynamic.entries.size = 0;
        return dynamic;
    }
    /* glibc adds the load address to this entry in place, musl doesn't. */
    const usp_addr slide = elf->bytes.from - elf->header_address;
    bool is_linked = strings >= extent.low && strings < extent.high;
    dynamic.strings = uspi_bytes_at(elf->bytes.source, is_linked ? strings + slide : strings);
    return dynamic;
}

/* FNV-1a, 64 bits (RFC 9923). */
static uint64_t hash_of(const char *name) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; name++) hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    return hash;
}

/* Returns a name's position. A new name is added with `is_open`. Returns USPI_LINKED_MAX when there is no room. */
static size_t enter(struct uspi_linked *linked, const char *name, bool is_open) {
    uint64_t hash = hash_of(name);
    for (size_t i = 0; i < linked->count; i++) {
        if (linked->names[i].hash == hash) return i;
    }
    if (linked->count == USPI_LINKED_MAX) return USPI_LINKED_MAX;
    linked->names[linked->count].hash = hash;
    linked->names[linked->count].is_open = is_open;
    return linked->count++;
}

/* Whether the image is the first one with a name that a staying image needs. The loader may load another image of that
 * name later, from elsewhere. A name whose image came before any image needed it stays closed. */
static bool meets_want(struct uspi_linked *linked, const char *name) {
    size_t i = enter(linked, name, false);
    if (i == USPI_LINKED_MAX) return false;
    bool is_open = linked->names[i].is_open;
    linked->names[i].is_open = false;
    return is_open;
}

static bool read_name(const struct dynamic *dynamic, uint64_t at, char name[NAME_ROOM]) {
    return uspi_bytes_string(dynamic->strings, at, name, NAME_ROOM, "name", NULL) == USP_OK;
}

bool uspi_linked_visit(struct uspi_linked *linked, const struct uspi_elf *elf, const char *path, bool is_program) {
    struct dynamic dynamic = read_dynamic(elf);
    char name[NAME_ROOM], own[NAME_ROOM] = "";
    uint64_t tag, value;
    bool stays = false, has_name = false;
    for (uint64_t i = 0; dynamic.entries.size != 0 && read_entry(&dynamic, i, &tag, &value); i++) {
        if (tag == DT_FLAGS_1 && (value & DF_1_NODELETE) != 0) stays = true;
        if (tag == DT_SONAME) has_name = read_name(&dynamic, value, own);
    }
    if (!meets_want(linked, has_name || path == NULL ? own : uspi_last_component(path)) && !is_program) return stays;
    for (uint64_t i = 0; dynamic.entries.size != 0 && read_entry(&dynamic, i, &tag, &value); i++) {
        if (tag == DT_NEEDED && read_name(&dynamic, value, name)) enter(linked, name, true);
    }
    return true;
}

#endif
