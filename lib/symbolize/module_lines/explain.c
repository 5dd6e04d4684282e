/* SPDX-License-Identifier: MIT */
/* See module_lines.h: uspi_lines_explain, which says where lines are from or why there are none. */
#include "lib/symbolize/module_lines/state.h"

#include <inttypes.h>
#include <stdio.h>

/* Returns whether object files were tried, and none could be used. The caller holds the lock. */
static bool lacks_objects(const struct uspi_lines *lines) {
    bool any_tried = false;
    for (size_t i = 0; lines->objects != NULL && i < lines->debug_map.object_count; i++) {
        if (lines->objects[i].lines != NULL) return false;
        any_tried = any_tried || lines->objects[i].was_tried;
    }
    return any_tried;
}

int uspi_lines_explain(const struct uspi_lines *lines, char *text, size_t size) {
    const struct uspi_lines *fallback = atomic_load_explicit(&lines->fallback, memory_order_acquire);
    if (fallback != NULL) {
        char rest[USPI_ERROR_TEXT];
        char where[32] = "";
        uint64_t offset;
        (void)uspi_lines_explain(fallback, rest, sizeof rest);
        if (uspi_checked_damage(&lines->index->checked, &offset)) {
            snprintf(where, sizeof where, " at offset 0x%" PRIx64, offset);
        }
        snprintf(text, size, "%s: the index is damaged%s; %s", lines->file_path, where, rest);
        return USP_ERROR_FORMAT;
    }
    uspi_lock_take(lines->lock);
    int status = lines->has_damaged_index ? USP_ERROR_FORMAT : lines->status;
    if (lines->status != USP_OK) {
        snprintf(text, size, "%s", lines->problem.text);
    } else if (lacks_objects(lines)) {
        snprintf(text, size, "%s: has no dSYM, and its object files cannot be used: %s", lines->file_path,
                 lines->problem.text);
        status = USP_ERROR_NOT_FOUND;
    } else if (lines->problem.status != USP_OK) {
        snprintf(text, size, "%s: %s", lines->file_path, lines->problem.text);
    } else {
        const char *what = lines->index != NULL     ? "index"
                           : lines->objects != NULL ? "debug information of the object files of"
                                                    : lines->source->what;
        const bool needs_of = lines->index == NULL && lines->objects == NULL;
        snprintf(text, size, "%s%s %s", what, needs_of ? " of" : "", lines->file_path);
    }
    uspi_lock_give(lines->lock);
    return status;
}
