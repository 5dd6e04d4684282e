/* SPDX-License-Identifier: MIT */
/* See linux_linked.h. */
#define _GNU_SOURCE 1
#include "lib/os/linux_linked.h"

#include <string.h>

/* elf.h; glibc's since 2.1, musl's as well. */
#ifndef DF_1_NODELETE
#define DF_1_NODELETE 8
#endif

struct dynamic {
    const ElfW(Dyn) * entries; /* to DT_NULL; NULL: none */
    const char *strings;
    const char *name; /* DT_SONAME, NULL: none */
    bool stays;       /* by its own wish */
};

void uspi_linked_init(struct uspi_linked *linked) { linked->count = 0; }

static struct dynamic read_dynamic(const struct dl_phdr_info *info) {
    struct dynamic dynamic = {0};
    uintptr_t strings = 0, lowest = UINTPTR_MAX, name = 0;
    bool has_name = false;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_DYNAMIC) dynamic.entries = (const ElfW(Dyn) *)(info->dlpi_addr + p->p_vaddr);
        if (p->p_type == PT_LOAD && p->p_vaddr < lowest) lowest = p->p_vaddr;
    }
    if (dynamic.entries == NULL) return dynamic;
    for (const ElfW(Dyn) *d = dynamic.entries; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_STRTAB) strings = d->d_un.d_ptr;
        if (d->d_tag == DT_FLAGS_1 && (d->d_un.d_val & DF_1_NODELETE) != 0) dynamic.stays = true;
        if (d->d_tag != DT_SONAME) continue;
        name = d->d_un.d_val;
        has_name = true;
    }
    /* glibc adds the load address to this entry in place, musl doesn't. */
    if (strings < info->dlpi_addr + lowest) strings += info->dlpi_addr;
    if (strings == 0) {
        dynamic.entries = NULL;
        return dynamic;
    }
    dynamic.strings = (const char *)strings;
    if (has_name) dynamic.name = dynamic.strings + name;
    return dynamic;
}

static uint32_t hash_of(const char *name) {
    uint32_t hash = 0;
    for (; *name != '\0'; name++) hash = hash * 31 + (uint8_t)*name;
    return hash;
}

/* The position of a name, added with `is_open` when it is new; USPI_LINKED_MAX when there is no room. */
static size_t enter(struct uspi_linked *linked, const char *name, bool is_open) {
    uint32_t hash = hash_of(name);
    for (size_t i = 0; i < linked->count; i++) {
        if (linked->names[i].hash == hash && strcmp(linked->names[i].name, name) == 0) return i;
    }
    if (linked->count == USPI_LINKED_MAX) return USPI_LINKED_MAX;
    linked->names[linked->count].name = name;
    linked->names[linked->count].hash = hash;
    linked->names[linked->count].is_open = is_open;
    return linked->count++;
}

/* Whether the image is the first one of a wanted name. The loader may have a second image of that name, loaded later from
 * elsewhere; and a name that was met before it was wanted is met for good. */
static bool meets_want(struct uspi_linked *linked, const char *name) {
    size_t i = enter(linked, name, false);
    if (i == USPI_LINKED_MAX) return false;
    bool is_open = linked->names[i].is_open;
    linked->names[i].is_open = false;
    return is_open;
}

bool uspi_linked_visit(struct uspi_linked *linked, const struct dl_phdr_info *info, bool is_program) {
    struct dynamic dynamic = read_dynamic(info);
    const char *path = info->dlpi_name != NULL ? info->dlpi_name : "";
    const char *slash = strrchr(path, '/');
    if (dynamic.name == NULL) dynamic.name = slash != NULL ? slash + 1 : path;
    if (!meets_want(linked, dynamic.name) && !is_program) return dynamic.stays;
    for (const ElfW(Dyn) *d = dynamic.entries; d != NULL && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_NEEDED) enter(linked, dynamic.strings + d->d_un.d_val, true);
    }
    return true;
}
