/* SPDX-License-Identifier: MIT */
/* See elf_versions.h. */
#include "lib/object/elf_versions.h"

#include "lib/base/array.h"

#include <stdlib.h>
#include <string.h>

/* Linux elf.h. */
#define SHT_GNU_VERDEF  0x6ffffffdu
#define SHT_GNU_VERNEED 0x6ffffffeu

/* Longer names are those of no version. */
#define VERSION_MAX 256u

/* More entries than linkers write: glibc has 60 versions. */
#define ENTRIES_MAX 10000u

/* Where a field of 4 bytes is in an entry of one of the two sections, and in the entries that it leads to. */
struct layout {
    uint32_t type;        /* of the section */
    unsigned count;       /* number of the entries below it: 2 bytes */
    unsigned below;       /* distance to the first of them */
    unsigned next;        /* distance to the next entry; 0: it is the last one */
    unsigned name, after; /* of an entry below: its name, the distance to the next one */
};

/* Elf64_Verdef and Elf64_Verdaux, Elf64_Verneed and Elf64_Vernaux; the 32-bit ones are equal. */
static const struct layout layouts[] = {{SHT_GNU_VERDEF, 6, 12, 16, 0, 4}, {SHT_GNU_VERNEED, 2, 8, 12, 8, 12}};

static uint64_t load(struct uspi_bytes bytes, uint64_t at, unsigned width) {
    uint64_t value;
    return uspi_bytes_load(bytes, at, width, &value, "version", NULL) == USP_OK ? value : 0;
}

static int add_name(struct uspi_elf_versions *versions, struct uspi_bytes strings, uint64_t offset) {
    char name[VERSION_MAX];
    if (uspi_bytes_string(strings, offset, name, sizeof name, "version", NULL) != USP_OK || name[0] == '\0') {
        return USP_OK;
    }
    if (!uspi_room_for(&versions->names, &versions->capacity, versions->count, 1, sizeof *versions->names)) {
        return USP_ERROR_NO_MEMORY;
    }
    char *copy = strdup(name);
    if (copy == NULL) return USP_ERROR_NO_MEMORY;
    versions->names[versions->count++] = copy;
    return USP_OK;
}

/* Adds the versions of one section. */
static int add_section(struct uspi_elf_versions *versions, const struct layout *layout, struct uspi_bytes bytes,
                       struct uspi_bytes strings) {
    uint32_t left = ENTRIES_MAX;
    int status = USP_OK;
    for (uint64_t at = 0, next = 1; next != 0 && left > 0 && at < bytes.size; at += next) {
        uint64_t below = at + load(bytes, at + layout->below, 4);
        uint64_t count = load(bytes, at + layout->count, 2);
        for (left--; count > 0 && left > 0 && below < bytes.size && status == USP_OK; count--, left--) {
            status = add_name(versions, strings, load(bytes, below + layout->name, 4));
            below += load(bytes, below + layout->after, 4);
        }
        if (status != USP_OK) return status;
        next = load(bytes, at + layout->next, 4);
    }
    return USP_OK;
}

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int uspi_elf_versions_add(const struct uspi_elf *elf, struct uspi_elf_versions *versions) {
    int status = USP_OK;
    for (uint64_t i = 0; i < elf->section_count && status == USP_OK; i++) {
        struct uspi_elf_section section, linked;
        struct uspi_bytes bytes, strings;
        if (uspi_elf_section(elf, i, &section, NULL) != USP_OK) break;
        for (unsigned k = 0; k < 2 && status == USP_OK; k++) {
            if (section.type != layouts[k].type) continue;
            if (uspi_elf_section(elf, section.link, &linked, NULL) != USP_OK) continue;
            if (uspi_bytes_sub(elf->bytes, section.offset, section.size, "versions", &bytes, NULL) != USP_OK) continue;
            if (uspi_bytes_sub(elf->bytes, linked.offset, linked.size, "names", &strings, NULL) != USP_OK) continue;
            status = add_section(versions, &layouts[k], bytes, strings);
        }
    }
    if (versions->count > 1) qsort(versions->names, versions->count, sizeof *versions->names, compare);
    return status;
}

size_t uspi_elf_length_without_version(const struct uspi_elf_versions *versions, const char *name) {
    const char *at = versions->count > 0 ? strrchr(name, '@') : NULL;
    if (at == NULL || at == name) return strlen(name);
    const char *version = at + 1;
    if (bsearch(&version, versions->names, versions->count, sizeof *versions->names, compare) == NULL) {
        return strlen(name);
    }
    if (at - 1 > name && at[-1] == '@') at--;
    return (size_t)(at - name);
}

void uspi_elf_versions_clear(struct uspi_elf_versions *versions) {
    for (size_t i = 0; i < versions->count; i++) free(versions->names[i]);
    free(versions->names);
    *versions = (struct uspi_elf_versions){.names = NULL};
}
