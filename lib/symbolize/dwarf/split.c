/* SPDX-License-Identifier: MIT */
/* See split.h. */
#include "lib/symbolize/dwarf/split.h"

#include "lib/object/dwarf_constants.h"

#include <stdio.h>
#include <stdlib.h>

static int open_sections(struct uspi_file *file, struct uspi_debug_sections *sections, struct uspi_error *error) {
    struct uspi_elf elf;
    int status = uspi_elf_open(&elf, uspi_file_bytes(file), error);
    if (status != USP_OK) return status;
    status = uspi_debug_sections_open_elf(sections, &elf, USPI_DEBUG_SPLIT, error);
    if (status == USP_ERROR_NOT_FOUND) {
        uspi_error_set(error, USP_ERROR_FORMAT, "%s: has no split debugging information", uspi_file_path(file));
        return USP_ERROR_FORMAT;
    }
    return status;
}

/* ---- the package ---- */

bool uspi_split_package_open(struct uspi_split_package *package, const char *path, const char *within) {
    const size_t capacity = strlen(path) + sizeof ".dwp";
    char *name = malloc(capacity);
    *package = (struct uspi_split_package){0};
    if (name == NULL) return false;
    snprintf(name, capacity, "%s.dwp", path);
    int status = uspi_file_open_within(name, within, &package->file, NULL);
    free(name);
    if (status == USP_OK && open_sections(package->file, &package->sections, NULL) == USP_OK) return true;
    uspi_file_close(package->file);
    *package = (struct uspi_split_package){0};
    return false;
}

void uspi_split_package_close(struct uspi_split_package *package) {
    uspi_debug_sections_close(&package->sections);
    uspi_file_close(package->file);
    *package = (struct uspi_split_package){0};
}

/* Returns the section of a column of the index. The columns' numbers changed with version 5 (DWARF 5, 7.3.5.3). */
static enum uspi_debug_section section_of(uint64_t column, bool is_five) {
    switch (column) {
    case 1: return USPI_DEBUG_INFO;
    case 3: return USPI_DEBUG_ABBREV;
    case 4: return USPI_DEBUG_LINE;
    case 6: return USPI_DEBUG_STR_OFFSETS;
    case 8: return is_five ? USPI_DEBUG_RNGLISTS : USPI_DEBUG_SECTIONS;
    default: return USPI_DEBUG_SECTIONS;
    }
}

/* Narrows the package's sections to the parts of one unit. Returns false when the package does not have the unit. */
static bool find_in_package(const struct uspi_split_package *package, uint64_t id,
                            struct uspi_debug_sections *sections) {
    const struct uspi_section_bytes *index = uspi_debug_section(&package->sections, USPI_DEBUG_CU_INDEX);
    struct uspi_cursor_at c = uspi_cursor_over(index->bytes, index->size, 0);
    const uint64_t version = uspi_cursor_number(&c, 4) & 0xffff, columns = uspi_cursor_number(&c, 4);
    const uint64_t units = uspi_cursor_number(&c, 4), slots = uspi_cursor_number(&c, 4);
    const uint64_t left = (uint64_t)(c.end - c.p);
    if (c.is_bad || (version != 2 && version != 5) || slots == 0 || (slots & (slots - 1)) != 0 || slots > left / 12)
        return false;
    const uint8_t *hashes = c.p, *rows = hashes + 8 * slots, *ids = rows + 4 * slots;
    if (columns > 64 || units > left || 12 * slots + 4 * columns * (2 * units + 1) > left) return false;
    uint64_t slot = id & (slots - 1), row = 0;
    const uint64_t step = (id >> 32 & (slots - 1)) | 1;
    for (uint64_t i = 0; i < slots && row == 0; i++, slot = (slot + step) & (slots - 1)) {
        if (uspi_le64(hashes + 8 * slot) == id) row = uspi_le32(rows + 4 * slot);
    }
    if (row == 0 || row > units) return false;
    const uint8_t *offsets = ids + 4 * columns * row, *sizes = ids + 4 * columns * (units + row);
    *sections = package->sections;
    sections->code = NULL;
    sections->code_count = 0;
    memset(sections->owned, 0, sizeof sections->owned);
    for (uint64_t i = 0; i < columns; i++) {
        const enum uspi_debug_section which = section_of(uspi_le32(ids + 4 * i), version == 5);
        const uint64_t at = uspi_le32(offsets + 4 * i), size = uspi_le32(sizes + 4 * i);
        if (which == USPI_DEBUG_SECTIONS) continue;
        /* The package unpacks the section, once for all units. */
        struct uspi_section_bytes *section = &sections->all[which];
        *section = package->sections.packed[which] != NULL ? *uspi_debug_section(&package->sections, which)
                                                           : package->sections.all[which];
        sections->packed[which] = NULL;
        if (at > section->size || size > section->size - at) return false;
        section->bytes += (size_t)at;
        section->size = (size_t)size;
        section->position += at;
    }
    return true;
}

/* ---- one file ---- */

static char *join(const char *folder, const char *name) {
    const size_t capacity = strlen(folder) + strlen(name) + 2;
    char *path = malloc(capacity);
    if (path != NULL) snprintf(path, capacity, "%s%s%s", folder, folder[0] != '\0' ? "/" : "", name);
    return path;
}

/* Joins the folder of `path` (none: the current folder) with the last part of `name`. */
static char *join_beside(const char *path, const char *name) {
    const char *slash = strrchr(path, '/'), *last = strrchr(name, '/');
    if (last != NULL) name = last + 1;
    const size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    char *joined = malloc(folder + strlen(name) + 1);
    if (joined == NULL) return NULL;
    memcpy(joined, path, folder);
    memcpy(joined + folder, name, strlen(name) + 1);
    return joined;
}

static bool has_unit(struct uspi_split_unit *split, uint64_t id) {
    for (size_t i = 0; i < split->dwarf.count; i++) {
        if (split->dwarf.units[i].split_id != id) continue;
        split->unit = split->dwarf.units[i];
        return true;
    }
    return false;
}

/* Opens the file at a path, if it has the unit. Frees the path. */
static int try_file(char *path, const char *within, uint64_t id, struct uspi_split_unit *split,
                    struct uspi_error *error) {
    if (path == NULL) return USP_ERROR_NO_MEMORY;
    int status = uspi_file_open_within(path, within, &split->file, error);
    if (status == USP_OK) status = open_sections(split->file, &split->dwarf.sections, error);
    if (status == USP_OK) status = uspi_dwarf_list_units(&split->dwarf, NULL);
    if (status == USP_OK && !has_unit(split, id)) {
        status = uspi_error_set(error, USP_ERROR_MISMATCH, "%s: another build than the program's", path);
    }
    free(path);
    if (status == USP_OK) return status;
    uspi_debug_sections_close(&split->dwarf.sections);
    uspi_file_close(split->file);
    free(split->dwarf.units);
    split->dwarf.units = NULL;
    split->dwarf.count = split->dwarf.capacity = 0;
    split->file = NULL;
    return status;
}

/* Tries the path that the skeleton gives, below the sysroot and as it is. */
static int try_named(const struct uspi_split_program *program, const char *path, uint64_t id,
                     struct uspi_split_unit *split, struct uspi_error *error) {
    int status = USP_ERROR_NOT_FOUND;
    if (path[0] == '/' && program->sysroot != NULL) {
        status = try_file(join(program->sysroot, path + 1), program->sysroot, id, split, error);
    }
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY || !program->as_named) return status;
    return try_file(join("", path), program->sysroot, id, split, error);
}

static int find_file(const struct uspi_split_program *program, const char *name, const char *folder, uint64_t id,
                     struct uspi_split_unit *split, struct uspi_error *error) {
    const bool is_relative = name[0] != '/';
    char *path = join(is_relative && folder != NULL ? folder : "", name);
    int status = path != NULL ? try_named(program, path, id, split, error) : USP_ERROR_NO_MEMORY;
    free(path);
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    int beside = try_file(join_beside(program->path, name), program->sysroot, id, split, NULL);
    return beside == USP_OK || beside == USP_ERROR_NO_MEMORY ? beside : status;
}

void uspi_split_free(struct uspi_split_unit *split) {
    if (split == NULL) return;
    if (split->file != NULL) uspi_debug_sections_close(&split->dwarf.sections);
    uspi_file_close(split->file);
    free(split->dwarf.units);
    free(split);
}

int uspi_split_open(const struct uspi_split_program *program, const struct uspi_dwarf_unit *skeleton,
                    struct uspi_split_unit **split, struct uspi_error *error) {
    const struct uspi_split_package *package = program->package;
    const char *name = uspi_text_at(program->texts, NULL, 0, skeleton->split_name);
    const char *folder = uspi_text_at(program->texts, NULL, 0, skeleton->folder);
    struct uspi_split_unit *made = calloc(1, sizeof *made);
    *split = NULL;
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->dwarf.addresses = program->dwarf;
    made->dwarf.shared = program->dwarf->shared;
    made->dwarf.str = USPI_TEXT_SPLIT_STR;
    made->dwarf.info = USPI_TEXT_SPLIT_INFO;
    made->dwarf.line_str = USPI_TEXT_LINE_STR;
    int status = USP_ERROR_NOT_FOUND;
    struct uspi_error why = {0};
    if (package->file != NULL && find_in_package(package, skeleton->split_id, &made->dwarf.sections)) {
        status = uspi_dwarf_list_units(&made->dwarf, NULL);
        if (status == USP_OK && !has_unit(made, skeleton->split_id)) status = USP_ERROR_NOT_FOUND;
    }
    if (status == USP_ERROR_NOT_FOUND && name != NULL) {
        made->dwarf.count = 0;
        status = find_file(program, name, folder, skeleton->split_id, made, &why);
    }
    if (status != USP_OK) {
        uspi_split_free(made);
        if (status == USP_ERROR_NO_MEMORY) return status;
        return uspi_error_set(error, USP_ERROR_NOT_FOUND,
                              "%s: its debugging information is split off, and was not found: %s", program->path,
                              why.status != USP_OK ? why.text
                              : name != NULL       ? name
                                                   : "it has no name");
    }
    made->unit.addr_base = skeleton->addr_base;
    made->unit.ranges_base = skeleton->ranges_base;
    made->unit.base = skeleton->base;
    made->unit.line_table = skeleton->line_table;
    made->unit.folder = skeleton->folder;
    made->texts = *program->texts;
    uspi_dwarf_set_text(&made->texts, USPI_TEXT_SPLIT_STR, &made->dwarf, USPI_DEBUG_STR);
    uspi_dwarf_set_text(&made->texts, USPI_TEXT_SPLIT_INFO, &made->dwarf, USPI_DEBUG_INFO);
    *split = made;
    return USP_OK;
}
