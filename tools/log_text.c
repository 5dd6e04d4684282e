/* SPDX-License-Identifier: MIT */
/* See log_text.h. */
#include "tools/log_text.h"

#include "tools/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A file of images may hold several lists of them. */
#define GIVEN_TABLES 16

void log_text_free(struct log_text *text) { log_tables_free(&text->tables); }

bool log_text_collect(struct log_text *text, uint64_t position, struct span line) {
    struct log_image_line image;
    if (log_line_image(line, &image)) return log_tables_add(&text->tables, position, &image);
    return log_tables_end(&text->tables);
}

bool log_text_rewind(struct log_text *text, uint64_t position) {
    text->collected = position;
    text->next = 0;
    return log_tables_end(&text->tables);
}

/* ---- where a frame lies ---- */

struct candidate {
    const struct log_tables *tables;
    size_t table;
};

/* The lists of images that a frame may belong to, the likeliest first: those that the caller gave; the one behind it, as in a
 * crash report; the one in front of it. Returns how many. */
static size_t candidates_of(const struct log_text *text, struct candidate candidates[GIVEN_TABLES + 2]) {
    size_t count = 0, known = log_tables_count(&text->tables);
    for (size_t i = 0; text->given != NULL && i < log_tables_count(text->given) && i < GIVEN_TABLES; i++) {
        candidates[count++] = (struct candidate){text->given, i};
    }
    if (text->next < known) candidates[count++] = (struct candidate){&text->tables, text->next};
    if (text->next > 0) candidates[count++] = (struct candidate){&text->tables, text->next - 1};
    return count;
}

static void take_image(struct log_place *place, const struct log_image *image, uint64_t offset) {
    memcpy(place->id, image->id, sizeof place->id);
    place->id_size = image->id_size;
    place->name = image->name.length > 0 ? image->name : image->ident;
    place->offset = offset;
}

static bool locate_by_address(const struct candidate *candidates, size_t count, const struct log_frame *frame,
                              struct log_place *place) {
    if ((frame->flags & LOG_FRAME_ADDRESS) == 0) return false;
    for (unsigned strict = 2; strict-- > 0;) {
        for (size_t i = 0; i < count; i++) {
            const struct log_image *image =
                log_tables_find(candidates[i].tables, candidates[i].table, frame, strict != 0);
            if (image == NULL) continue;
            take_image(place, image, frame->address - image->first);
            return true;
        }
    }
    return false;
}

/* By the name that stands in the line. The log may tell elsewhere, for another launch, which build that is. */
static bool locate_by_name(const struct log_text *text, const struct candidate *candidates, size_t count,
                           const struct log_frame *frame, struct log_place *place) {
    const struct log_file *file;
    struct span name = span_file_name(frame->image);
    if ((frame->flags & LOG_FRAME_OFFSET) == 0 || name.length == 0) return false;
    /* glibc counts from 0 what was linked for a fixed address. */
    place->is_linked = frame->notation == LOG_PARENTHESES && frame->offset == frame->address;
    for (size_t i = 0; i < count; i++) {
        const struct log_image *image = log_tables_find_name(candidates[i].tables, candidates[i].table, name);
        if (image == NULL) continue;
        take_image(place, image, frame->offset);
        return true;
    }
    place->name = name;
    place->offset = frame->offset;
    return (frame->flags & LOG_FRAME_PLAIN) == 0 || log_search_name(text->search, name, &file) > 0;
}

static bool locate(const struct log_text *text, const struct log_frame *frame, struct log_place *place) {
    struct candidate candidates[GIVEN_TABLES + 2];
    *place = (struct log_place){.id_size = frame->id_size, .offset = frame->offset};
    if (frame->id_size > 0) {
        memcpy(place->id, frame->id, sizeof place->id);
        place->name = span_file_name(frame->image);
        return true;
    }
    size_t count = candidates_of(text, candidates);
    return locate_by_address(candidates, count, frame, place) || locate_by_name(text, candidates, count, frame, place);
}

/* ---- what is written ---- */

static void put(struct span bytes) { fwrite(bytes.bytes, 1, bytes.length, stdout); }

/* Names come from files that anybody may have made, and go where a terminal may be. */
static void put_named(struct span line, const struct log_frame *frame, const struct log_name *name) {
    size_t at = (size_t)(frame->replaced.bytes - line.bytes);
    put(span_part(line, 0, at));
    put_harmless(stdout, name->name);
    if (frame->notation == LOG_SYMBOL) {
        printf(" + %" PRIu64, name->offset);
    } else {
        printf("+%s%" PRIx64, name->offset != 0 ? "0x" : "", name->offset);
    }
    put(span_part(line, at + frame->replaced.length, line.length));
}

static bool begins_report_note(struct span line) {
    return span_begins(line, SPAN("    ")) && span_trim(line).length > 0;
}

/* What stands between frames: a heading, or a note of unspool's about the stack, which does not end it. */
static void pass(struct log_text *text, struct span line) {
    text->is_below_trampoline = false;
    if (begins_report_note(line)) {
        if (span_begins(line, SPAN("    asynchronous callers"))) text->is_async = true;
        return;
    }
    text->is_below_frame = text->is_async = false;
}

/* The first frame of a stack is where the thread stood, or where it called what prints the stack: in both cases at the very
 * address. Below that addresses are where a call returns to, but for what a signal interrupted and for asynchronous callers. */
static bool is_exact(const struct log_text *text, const struct log_frame *frame) {
    bool is_first = (frame->flags & LOG_FRAME_INDEX) != 0 ? frame->index == 0 : !text->is_below_frame;
    return is_first || text->is_below_trampoline || text->is_async;
}

int log_text_write(struct log_text *text, uint64_t position, struct span line) {
    struct log_frame frame;
    struct log_place place;
    struct log_name name = {.name = NULL};
    if (position >= text->collected && !log_text_collect(text, position, line)) return USP_ERROR_NO_MEMORY;
    while (text->next < log_tables_count(&text->tables) && log_tables_position(&text->tables, text->next) < position) {
        text->next++;
    }
    if (!log_line_frame(line, &frame)) {
        put(line);
        pass(text, line);
        return USP_OK;
    }
    bool is_named = (frame.flags & LOG_FRAME_NAMED) != 0;
    if (!is_named && locate(text, &frame, &place)) {
        place.is_exact = is_exact(text, &frame);
        int status = log_names_find(text->names, &place, &name);
        if (status == USP_ERROR_NO_MEMORY) return status;
    }
    text->is_below_frame = true;
    text->is_below_trampoline = is_named ? log_is_trampoline(frame.name) : name.is_trampoline;
    if (name.name != NULL) {
        put_named(line, &frame, &name);
    } else {
        put(line);
    }
    return USP_OK;
}
