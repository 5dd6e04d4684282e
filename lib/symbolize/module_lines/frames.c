/* SPDX-License-Identifier: MIT */
/* See frames.h. */
#include "lib/symbolize/module_lines/frames.h"

#include <stdlib.h>
#include <string.h>

/* ---- paths ---- */

bool uspi_path_maps_are_whole(const struct usp_path_map *maps, uint32_t count) {
    for (uint32_t i = 0; maps != NULL && i < count; i++) {
        if (maps[i].from == NULL || maps[i].to == NULL) return false;
    }
    return true;
}

bool uspi_source_paths_init(struct uspi_source_paths *paths, const struct usp_path_map *maps, uint32_t count) {
    *paths = (struct uspi_source_paths){.inlined_limit = UINT32_MAX};
    if (maps == NULL || count == 0) return true;
    paths->maps = calloc(count, sizeof *paths->maps);
    if (paths->maps == NULL) return false;
    while (paths->count < count) {
        struct usp_path_map *map = &paths->maps[paths->count];
        map->from = strdup(maps[paths->count].from);
        map->to = strdup(maps[paths->count++].to);
        if (map->from == NULL || map->to == NULL) return false;
    }
    return true;
}

void uspi_source_paths_clear(struct uspi_source_paths *paths) {
    for (uint32_t i = 0; i < paths->count; i++) {
        free((char *)(uintptr_t)paths->maps[i].from);
        free((char *)(uintptr_t)paths->maps[i].to);
    }
    free(paths->maps);
    *paths = (struct uspi_source_paths){.maps = NULL};
}

/* Returns the length of a folder's path without trailing slashes. */
static size_t bare_length(const char *folder) {
    size_t length = strlen(folder);
    while (length > 0 && folder[length - 1] == '/') length--;
    return length;
}

const char *uspi_source_folder(const struct uspi_source_paths *paths, struct uspi_names *names, const char *folder) {
    for (uint32_t i = 0; i < paths->count; i++) {
        const struct usp_path_map *map = &paths->maps[i];
        const size_t length = bare_length(map->from);
        if (map->from[0] == '\0' || strncmp(folder, map->from, length) != 0) continue;
        if (folder[length] != '\0' && folder[length] != '/') continue;
        const size_t before = bare_length(map->to), rest = strlen(folder + length);
        char *mapped = malloc(before + rest + 1);
        if (mapped == NULL) return NULL;
        memcpy(mapped, map->to, before);
        memcpy(mapped + before, folder + length, rest + 1);
        const char *kept = before + rest > 0 ? uspi_names_keep(names, mapped, before + rest) : "";
        free(mapped);
        return kept;
    }
    return folder;
}

struct asking {
    const struct uspi_source_paths *paths;
    struct uspi_names *names;
    const struct uspi_lines_answer *answer;
};

static void set_file(const struct asking *asking, uint32_t file, struct usp_source_frame *frame) {
    uint64_t folder, name;
    if (file == 0 || uspi_block_file(asking->answer->block, file, &folder, &name) != USP_OK) return;
    frame->file = uspi_lines_text(asking->answer, name, asking->names);
    frame->directory = uspi_lines_text(asking->answer, folder, asking->names);
    if (frame->directory != NULL && asking->paths->count > 0) {
        frame->directory = uspi_source_folder(asking->paths, asking->names, frame->directory);
    }
}

/* ---- frames ---- */

/* The source place of a frame. In the innermost frame it is that of the address, in every other one that of the call to
 * the frame before. */
struct source_position {
    uint32_t file, line, column, flags, source;
};

void uspi_put_source_frame(struct usp_lines *lines, const struct usp_source_frame *frame) {
    if (lines->count < lines->capacity) lines->frames[lines->count] = *frame;
    lines->count++;
}

/* Returns the source place of the address itself. */
static struct source_position innermost_place(const struct uspi_lines_answer *answer, uint32_t wanted) {
    const struct uspi_block_entry *row = &answer->place;
    if (row->file == 0) return (struct source_position){0};
    struct source_position place = {row->file, row->line, row->column, 0, USP_LINE_TABLE};
    if (row->line == 0 && row->filled_line != 0 && (wanted & USP_LINES_FILL) != 0) {
        place = (struct source_position){row->filled_file, row->filled_line, 0, USP_SOURCE_LINE_FILLED, USP_LINE_TABLE};
    }
    return place;
}

/* Returns whether file number `file` of a block has a name. A call for which debug information gives a line and no file
 * has a file without a name (dwarf/entries.c); it is in the file of the function around it. Zig describes inlined calls
 * so. */
static bool has_file(const struct uspi_block *block, uint32_t file) {
    uint64_t folder, name;
    return file != 0 && uspi_block_file(block, file, &folder, &name) == USP_OK && (folder != 0 || name != 0);
}

int uspi_lines_frames(const struct uspi_source_paths *paths, struct uspi_names *names,
                      const struct uspi_lines_answer *answer, usp_addr address, struct usp_lines *lines) {
    const struct asking asking = {paths, names, answer};
    const struct uspi_block *block = answer->block;
    const uint32_t indexed = uspi_lines_are_indexed(answer->lines) ? USP_SOURCE_FROM_INDEX : 0;
    struct source_position place = innermost_place(answer, lines->flags);
    uint32_t node = answer->place.node, inlined = 0;
    do {
        struct usp_source_frame frame = {
            .address = address, .line_source = place.source, .flags = place.flags | indexed};
        struct uspi_block_node of = {0};
        struct uspi_block_function function = {0};
        if (node != 0 && uspi_block_node(block, node, &of) != USP_OK) return USP_ERROR_FORMAT;
        if (of.function != 0 && uspi_block_function(block, of.function, &function) != USP_OK) return USP_ERROR_FORMAT;
        if (place.source == USP_LINE_NONE && function.line != 0) {
            place = (struct source_position){function.file, function.line, 0, 0, USP_LINE_DECLARATION};
            frame.line_source = place.source;
        }
        if (place.source == USP_LINE_CALL && !has_file(block, place.file)) place.file = function.file;
        set_file(&asking, place.file, &frame);
        frame.line = place.line;
        frame.column = place.column;
        frame.function = uspi_lines_text(answer, function.name, asking.names);
        /* If a name in an index cannot be read, the index is damaged. */
        if (frame.function == NULL && function.name != 0 && indexed != 0) return USP_ERROR_FORMAT;
        frame.named_by = frame.function != NULL ? USP_STRATEGY_DEBUG_INFO : USP_STRATEGY_NONE;
        if (of.caller != 0) frame.flags |= USP_SOURCE_INLINED;
        /* Line 0 with a file marks a call that the compiler made. As with rows of line 0, the caller's place is then
         * known, without a line. */
        const bool has_place = of.call_line != 0 || of.call_file != 0;
        place = (struct source_position){of.call_file, of.call_line, of.call_column, 0,
                                         has_place ? USP_LINE_CALL : USP_LINE_NONE};
        node = of.caller;
        /* Of more inlined calls than inlined_limit, only the innermost ones are given. */
        if (node == 0 || inlined++ < asking.paths->inlined_limit) uspi_put_source_frame(lines, &frame);
    } while (node != 0);
    return USP_OK;
}
