/* SPDX-License-Identifier: MIT */
/* See module_lines.h: finds the lines of an image in an index, in debug information, in object files, in Go's function
 * table or in a symbol file. */
#include "lib/symbolize/module_lines/state.h"

#include "lib/images/macho_file.h"
#include "lib/images/symbol_file.h"
#include "lib/symbolize/dwarf/dwarf.h"
#include "lib/symbolize/go/source.h"
#include "lib/symbolize/symfile/source.h"

#include <stdlib.h>
#include <string.h>

static void close_objects(struct uspi_lines *lines) {
    for (size_t i = 0; lines->objects != NULL && i < lines->debug_map.object_count; i++) {
        uspi_lines_close(lines->objects[i].lines);
        uspi_file_close(lines->objects[i].file);
    }
    free(lines->objects);
    uspi_debug_map_clear(&lines->debug_map);
}

void uspi_lines_close(struct uspi_lines *lines) {
    if (lines == NULL) return;
    close_objects(lines);
    struct uspi_found_code *found = atomic_load_explicit(&lines->found, memory_order_relaxed);
    if (found != NULL) free(found->bytes);
    free(found);
    uspi_lines_close(atomic_load_explicit(&lines->fallback, memory_order_relaxed));
    uspi_index_file_close(lines->index);
    if (lines->source != NULL) {
        lines->source->free_reader(lines->reader);
        lines->source->close(lines->source);
    }
    uspi_file_close(lines->file);
    uspi_lock_free(lines->lock);
    free(lines->slots);
    free(lines->map_bytes);
    free(lines->unclaimed);
    free(lines->file_path);
    free(lines);
}

/* ---- opening ---- */

static int open_dwarf(struct uspi_lines *lines, const struct usp_image *image, const struct uspi_image_sources *places,
                      const struct uspi_file *file) {
    const bool is_macho = (image->flags & USP_IMAGE_MACHO) != 0;
    const struct uspi_dwarf_options options = {.bytes = uspi_file_bytes(file),
                                               .wanted = uspi_slice_of_image(image),
                                               .path = uspi_file_path(file),
                                               .is_alone = lines->is_in_memory,
                                               .sysroot = places->search.sysroot,
                                               .as_named = uspi_search_of_names(&places->search).as_named};
    int status = uspi_dwarf_open(&options, &lines->source, &lines->problem);
    if (status != USP_OK) return status;
    free(lines->file_path);
    lines->file_path = strdup(uspi_file_path(file));
    if (is_macho) lines->moved = image->load_address - image->slide - lines->source->header;
    return lines->file_path != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* Opens the DWARF of an image. ELF: in the image's own file, otherwise in its separate debug file. Mach-O: in the dSYM,
 * otherwise in the image's own file. */
static int find_dwarf(struct uspi_lines *lines, const struct usp_image *image, const struct uspi_image_sources *places,
                      const struct uspi_file *file) {
    const bool is_macho = (image->flags & USP_IMAGE_MACHO) != 0;
    int status = USP_ERROR_NOT_FOUND;
    if (!is_macho && file != NULL) status = open_dwarf(lines, image, places, file);
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    struct uspi_error why = {0};
    if (image->section == 0 && (is_macho || file != NULL)) {
        int found = uspi_debug_file_open(image, file, places, &lines->file, &why);
        if (found == USP_ERROR_NO_MEMORY) return found;
        if (found == USP_OK) status = open_dwarf(lines, image, places, lines->file);
    }
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    if (is_macho && file != NULL) status = open_dwarf(lines, image, places, file);
    if (status == USP_ERROR_NOT_FOUND) {
        uspi_error_set(&lines->problem, status, "%s: has no debug information%s%s", image->path,
                       why.text[0] != '\0' ? "; looked for: " : "", why.text);
    }
    return status;
}

/* Opens the debug map of an image that has neither a dSYM nor debug information of its own. */
static int open_debug_map(struct uspi_lines *lines) {
    const struct usp_image *image = lines->image;
    const struct uspi_wanted_slice wanted = uspi_slice_of_image(image);
    struct uspi_macho macho;
    if ((image->flags & USP_IMAGE_MACHO) == 0 || lines->image_file == NULL) return USP_ERROR_NOT_FOUND;
    int status = uspi_fat_pick(uspi_file_bytes(lines->image_file), &wanted, &macho, NULL);
    if (status == USP_OK) status = uspi_macho_symbols(&macho, &lines->map_symbols, NULL);
    if (status == USP_OK)
        status = uspi_debug_map_read(&lines->debug_map, &lines->map_symbols, uspi_macho_address_mask(image->arch));
    if (status == USP_ERROR_NO_MEMORY) return status;
    if (status != USP_OK || lines->debug_map.function_count == 0) return USP_ERROR_NOT_FOUND;
    lines->objects = calloc(lines->debug_map.object_count, sizeof *lines->objects);
    lines->file_path = strdup(uspi_file_path(lines->image_file));
    return lines->objects != NULL && lines->file_path != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* Opens Go's function table of a program that has no debug information. */
static int open_go(struct uspi_lines *lines) {
    const struct usp_image *image = lines->image;
    const bool is_macho = (image->flags & USP_IMAGE_MACHO) != 0;
    const struct uspi_wanted_slice wanted = uspi_slice_of_image(image);
    struct uspi_go_table table;
    usp_addr header;
    if (lines->image_file == NULL || image->section != 0) return USP_ERROR_NOT_FOUND;
    int status = uspi_go_table_in(uspi_file_bytes(lines->image_file), &wanted, &table, &header);
    if (status == USP_OK) status = uspi_go_source_create(&table, header, &lines->source);
    if (status != USP_OK) return status;
    free(lines->file_path);
    lines->file_path = strdup(uspi_file_path(lines->image_file));
    if (is_macho) lines->moved = image->load_address - image->slide - header;
    return lines->file_path != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* Opens the lines of a file that has the image's symbols instead of its code. */
static int open_symbol_file(struct uspi_lines *lines, const struct uspi_file *file) {
    const struct usp_image *image = lines->image;
    int status = uspi_symfile_source_open(uspi_file_bytes(file), &lines->source);
    if (status == USP_ERROR_NOT_FOUND) {
        uspi_error_set(&lines->problem, status, "%s: has no lines", uspi_file_path(file));
    }
    if (status != USP_OK) return status;
    lines->file_path = strdup(uspi_file_path(file));
    if (lines->source->is_relative || (image->flags & USP_IMAGE_MACHO) != 0)
        lines->moved = image->load_address - image->slide - lines->source->header;
    return lines->file_path != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* Opens the first source of lines that is found, other than an index. */
static int open_source(struct uspi_lines *lines) {
    if (lines->image_file != NULL && uspi_symbol_file_is(uspi_file_bytes(lines->image_file)))
        return open_symbol_file(lines, lines->image_file);
    int status = find_dwarf(lines, lines->image, lines->places, lines->image_file);
    if (status != USP_ERROR_NOT_FOUND) return status;
    int other = open_debug_map(lines);
    if (other == USP_ERROR_NOT_FOUND) other = open_go(lines);
    if (other == USP_OK) lines->problem.status = USP_OK;
    return other;
}

/* Makes the map from code to the units that claim it, and what is needed to make their blocks. */
static int make_map(struct uspi_lines *lines) {
    struct uspi_map_range *ranges = NULL;
    size_t count, size, units = lines->source->units;
    lines->slots = calloc(units + 1, sizeof *lines->slots);
    lines->unclaimed = calloc(units + 1, sizeof *lines->unclaimed);
    lines->reader = lines->source->create_reader();
    if (lines->slots == NULL || lines->unclaimed == NULL || lines->reader == NULL) return USP_ERROR_NO_MEMORY;
    if (!lines->source->claims(lines->source, &ranges, &count, lines->unclaimed)) return USP_ERROR_NO_MEMORY;
    int status = uspi_map_write(ranges, count, &lines->map_bytes, &size);
    free(ranges);
    if (status == USP_OK) status = uspi_map_open(&lines->map, lines->map_bytes, size, NULL);
    bool has_unclaimed = false;
    for (size_t i = 0; i < units; i++) has_unclaimed = has_unclaimed || lines->unclaimed[i];
    if (!has_unclaimed) {
        free(lines->unclaimed);
        lines->unclaimed = NULL;
    }
    return status;
}

/* Opens the index of the image. Returns USP_OK, or the reason why no index is used. */
static int open_index(struct uspi_lines *lines) {
    const struct usp_image *image = lines->image;
    int status = uspi_index_file_find(lines->places->index_store, image, true, &lines->index, &lines->problem);
    if (status != USP_OK) return status;
    const struct uspi_index_file *index = lines->index;
    if (index->blocks == 0 && lines->image_file != NULL) {
        /* The index was made from a stripped file. The image's file may have lines, and has the names. */
        uspi_index_file_close(lines->index);
        lines->index = NULL;
        return USP_ERROR_NOT_FOUND;
    }
    lines->map = index->map;
    if ((index->flags & (USPI_INDEX_MACHO | USPI_INDEX_RELATIVE)) != 0)
        lines->moved = image->load_address - image->slide - index->header;
    uspi_index_keep_texts(lines->index);
    lines->file_path = strdup(uspi_file_path(index->file));
    return lines->file_path != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* Which places are searched for lines. */
enum scope { WITH_INDEX, WITHOUT_INDEX, FILE_ALONE };

static int open_any(struct uspi_lines *lines, enum scope scope) {
    if (lines->lock == NULL) return USP_ERROR_NO_MEMORY;
    if (scope == FILE_ALONE) {
        lines->is_in_memory = true;
        int status = open_dwarf(lines, lines->image, lines->places, lines->image_file);
        return status == USP_OK ? make_map(lines) : status;
    }
    if (scope == WITH_INDEX && lines->places->index_store != NULL) {
        int status = open_index(lines);
        if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
        /* A missing index is not a problem. */
        if (status == USP_ERROR_NOT_FOUND) lines->problem.status = USP_OK;
    }
    const struct uspi_error index_problem = lines->problem;
    lines->has_damaged_index = index_problem.status == USP_ERROR_FORMAT;
    int status = open_source(lines);
    if (index_problem.status != USP_OK) lines->problem = index_problem;
    return status == USP_OK && lines->objects == NULL ? make_map(lines) : status;
}

static struct uspi_lines *open_lines(const struct usp_image *image, const struct uspi_image_sources *places,
                                     const struct uspi_file *file, struct uspi_cache *cache, enum scope scope) {
    struct uspi_lines *lines = calloc(1, sizeof *lines);
    if (lines == NULL) return NULL;
    lines->cache = cache;
    lines->image = image;
    lines->places = places;
    lines->image_file = file;
    lines->lock = uspi_lock_create();
    lines->status = open_any(lines, scope);
    if (lines->status != USP_ERROR_NO_MEMORY) return lines;
    uspi_lines_close(lines);
    return NULL;
}

struct uspi_lines *uspi_lines_open(const struct usp_image *image, const struct uspi_image_sources *places,
                                   const struct uspi_file *file, struct uspi_cache *cache) {
    return open_lines(image, places, file, cache, WITH_INDEX);
}

struct uspi_lines *uspi_lines_open_without_index(const struct usp_image *image, const struct uspi_image_sources *places,
                                                 const struct uspi_file *file, struct uspi_cache *cache) {
    return open_lines(image, places, file, cache, WITHOUT_INDEX);
}

struct uspi_lines *uspi_lines_open_in_memory(const struct usp_image *image, const struct uspi_image_sources *places,
                                             const struct uspi_file *file, struct uspi_cache *cache) {
    return open_lines(image, places, file, cache, FILE_ALONE);
}

struct uspi_line_source *uspi_lines_source(const struct uspi_lines *lines) { return lines->source; }

uint32_t uspi_lines_withheld(const struct uspi_lines *lines) {
    const uint32_t withheld = uspi_file_withheld(lines->image_file) | uspi_file_withheld(lines->file);
    return withheld | (lines->source != NULL ? atomic_load(&lines->source->withheld) : 0);
}

struct uspi_index_file *uspi_lines_index(const struct uspi_lines *lines) { return lines->index; }

uint64_t uspi_lines_moved(const struct uspi_lines *lines) { return lines->moved; }

bool uspi_lines_are_indexed(const struct uspi_lines *lines) { return lines->index != NULL; }

bool uspi_lines_has_objects(const struct uspi_lines *lines) {
    const struct uspi_lines *fallback = atomic_load_explicit(&lines->fallback, memory_order_acquire);
    return lines->objects != NULL || (fallback != NULL && fallback->objects != NULL);
}
