/* SPDX-License-Identifier: MIT */
/* Finds, locates and names the frames in lines of text. See lines.h. */
#include "lib/report/read/lines.h"

#include "lib/base/clear.h"
#include "lib/base/source.h"
#include "lib/report/read/line.h"

#include <stdlib.h>

void uspi_log_lines_clear(struct uspi_line_reader *lines) { uspi_log_tables_clear(&lines->tables); }

void uspi_log_lines_reset(struct uspi_line_reader *lines) {
    uspi_log_tables_clear(&lines->tables);
    lines->collected = 0;
    lines->next = 0;
    lines->is_below_frame = lines->is_below_trampoline = lines->is_async = false;
    lines->is_in_thread = lines->is_in_exception = false;
    lines->above = NULL;
}

void uspi_line_choice_init(struct uspi_line_choice *choice) {
    for (unsigned kind = 0; kind <= USPI_HAS_ALL; kind++) {
        uint8_t *frames = choice->frames[kind], *images = choice->images[kind];
        for (uint8_t i = 0; uspi_line_shapes[i] != NULL; i++) {
            const struct uspi_line_shape *shape = uspi_line_shapes[i];
            bool may_begin = shape->image_begins == 0 || (shape->image_begins & kind) != 0;
            if (shape->frame != NULL && (kind & shape->frame_bytes) == shape->frame_bytes) *frames++ = i;
            if (shape->image != NULL && may_begin) *images++ = i;
        }
        *frames = *images = USPI_NO_SHAPE;
    }
}

/* Sets how a line begins, and the length of the time before it. */
static void set_beginning(struct uspi_span line, struct uspi_line_kind *kind) {
    kind->begins = uspi_line_begins_of(line);
    const bool may_have_time = (kind->begins & (USPI_BEGINS_DIGIT | USPI_BEGINS_BRACKET)) != 0;
    kind->time = may_have_time ? uspi_length_of_time(line) : 0;
    if (kind->time > 0) kind->begins = uspi_line_begins_of(uspi_span_after(line, kind->time));
}

struct uspi_line_kind uspi_line_kind_of(struct uspi_span line) {
    struct uspi_line_kind kind = {.has = uspi_line_bytes_of(line)};
    set_beginning(line, &kind);
    return kind;
}

/* Whether a line without a time before it may be quoted, or be several lines that are joined. */
static bool may_be_quoted(struct uspi_span line, struct uspi_line_kind kind) {
    if ((kind.has & USPI_HAS_QUOTE) != 0) return true;
    const bool has_angle = (kind.has & USPI_HAS_ANGLE) != 0;
    return (has_angle || kind.begins == USPI_BEGINS_OTHER) && uspi_may_be_quoted(line, has_angle);
}

struct uspi_span uspi_line_plain(struct uspi_span *line, struct uspi_line_kind *kind, bool keeps_places,
                                 struct uspi_gathered *copy) {
    *line = uspi_span_after(*line, kind->time);
    kind->time = 0;
    if (!may_be_quoted(*line, *kind)) return *line;
    const struct uspi_span plain = uspi_without_quotes(*line, keeps_places, copy);
    kind->has = uspi_line_bytes_of(plain);
    kind->begins = uspi_line_begins_of(plain);
    return plain;
}

bool uspi_line_is_list(struct uspi_span line, struct uspi_line_kind kind) {
    return (kind.has & (USPI_HAS_QUOTE | USPI_HAS_ANGLE)) != 0 && uspi_is_quoted_list(line);
}

/* ---- images ---- */

static bool find_image(const struct uspi_line_reader *lines, struct uspi_span line, struct uspi_line_kind kind,
                       struct uspi_read_image *image) {
    for (const uint8_t *i = lines->choice->images[kind.begins]; *i != USPI_NO_SHAPE; i++) {
        const struct uspi_line_shape *shape = uspi_line_shapes[*i];
        if ((kind.has & shape->image_bytes) != shape->image_bytes) continue;
        uspi_clear(image, sizeof *image);
        if (shape->image(line, image)) return true;
    }
    return false;
}

static bool learn(struct uspi_line_reader *lines, uint64_t position, struct uspi_span line,
                  struct uspi_line_kind kind) {
    struct uspi_read_image image;
    if (find_image(lines, line, kind, &image)) return uspi_log_tables_add(&lines->tables, position, &image);
    uspi_log_tables_end(&lines->tables);
    return true;
}

/* An image's line that is joined with another line is not shorter. */
#define JOINED_MIN 96

/* Learns a line that may be quoted, or the lines that are joined in it. */
static bool learn_quoted(struct uspi_line_reader *lines, uint64_t position, struct uspi_span line) {
    struct uspi_span part, separator;
    const bool is_list = uspi_is_quoted_list(line);
    for (size_t at = 0, begin = 0; uspi_quoted_next(line, &at, &part, &separator); begin = at) {
        if (!is_list) part = line;
        struct uspi_line_kind kind = uspi_line_kind_of(part);
        const struct uspi_span plain = uspi_line_plain(&part, &kind, true, &lines->buffers->plain[0]);
        if (!learn(lines, position + begin, plain, kind)) return false;
        if (!is_list) break;
    }
    return true;
}

bool uspi_log_lines_learn(struct uspi_line_reader *lines, uint64_t position, struct uspi_span line) {
    /* If the beginning of a line is specific enough, its bytes are not scanned. */
    const unsigned telling =
        USPI_BEGINS_0X | USPI_BEGINS_DIGIT | USPI_BEGINS_LETTER | USPI_BEGINS_MARK | USPI_BEGINS_HASH;
    struct uspi_line_kind kind = {.has = USPI_HAS_ALL};
    set_beginning(line, &kind);
    const struct uspi_span text = uspi_span_after(line, kind.time);
    if ((kind.begins & telling) == 0) {
        kind.has = uspi_line_bytes_of(text);
        if (may_be_quoted(text, kind)) return learn_quoted(lines, position, line);
    } else if ((text.length > JOINED_MIN && memchr(text.bytes, '\\', text.length) != NULL) ||
               (kind.begins == USPI_BEGINS_0X && memchr(text.bytes, '&', text.length) != NULL)) {
        return learn_quoted(lines, position, line);
    }
    return learn(lines, position, text, kind);
}

bool uspi_log_lines_rewind(struct uspi_line_reader *lines, uint64_t position) {
    lines->collected = position;
    lines->next = 0;
    uspi_log_tables_end(&lines->tables);
    return uspi_log_tables_settle(&lines->tables, true);
}

/* ---- locating frames ---- */

struct candidate {
    const struct uspi_text_tables *tables;
    size_t table;
};

static size_t given_candidates(const struct uspi_text_tables *given, size_t only, struct candidate *candidates) {
    size_t count = 0;
    if (given != NULL && only != USPI_ALL_TABLES) {
        candidates[count++] = (struct candidate){given, only};
        return count;
    }
    for (size_t i = 0; given != NULL && i < uspi_log_tables_count(given) && i < USPI_GIVEN_TABLES; i++) {
        candidates[count++] = (struct candidate){given, i};
    }
    return count;
}

/* Finds the tables of images that a frame may belong to, the likeliest first: those that the caller gave; the next one
 * in the text, as in a crash report; the previous one. Returns how many there are. */
static size_t candidates_of(const struct uspi_line_reader *lines, struct candidate candidates[USPI_GIVEN_TABLES + 2]) {
    size_t count = given_candidates(lines->given, lines->given_table, candidates),
           known = uspi_log_tables_count(&lines->tables);
    /* A table with frames between its lines begins before these frames, so the next one is not theirs. */
    bool has_next =
        lines->next < known && !(lines->next > 0 && uspi_log_tables_is_scattered(&lines->tables, lines->next));
    if (has_next) candidates[count++] = (struct candidate){&lines->tables, lines->next};
    if (lines->next > 0) candidates[count++] = (struct candidate){&lines->tables, lines->next - 1};
    return count;
}

static void take_image(struct usp_place *place, const struct uspi_image_entry *image) {
    struct uspi_span name = image->name.length > 0 ? image->name : image->ident;
    memcpy(place->build_id, image->id, sizeof place->build_id);
    place->build_id_size = (uint32_t)image->id_size;
    place->image = name.bytes;
    place->image_length = name.length;
    place->arch = image->arch;
}

void uspi_place_in_image(struct usp_place *place, const struct uspi_image_entry *image, uint64_t address) {
    take_image(place, image);
    place->base = image->base;
    place->offset = address - image->first + image->base_offset;
}

static bool locate_by_address(const struct candidate *candidates, size_t count, const struct uspi_frame *frame,
                              struct usp_place *place) {
    if ((frame->flags & USPI_FRAME_ADDRESS) == 0) return false;
    for (unsigned strict = 2; strict-- > 0;) {
        for (size_t i = 0; i < count; i++) {
            const struct uspi_image_entry *image =
                uspi_log_tables_find(candidates[i].tables, candidates[i].table, frame, strict != 0);
            if (image == NULL) continue;
            uspi_place_in_image(place, image, frame->address);
            /* A table entry without id and name says less than the frame itself. */
            if (place->build_id_size > 0 || place->image_length > 0) return true;
        }
    }
    return false;
}

/* Locates a frame by the name of the image in its line. The table of another launch may have the build of that
 * image. */
static bool locate_by_name(const struct candidate *candidates, size_t count, const struct uspi_frame *frame,
                           struct usp_place *place) {
    struct uspi_span name = uspi_span_file_name(frame->image);
    if ((frame->flags & USPI_FRAME_OFFSET) == 0 || name.length == 0) return false;
    place->base = frame->base;
    place->offset = frame->offset;
    for (size_t i = 0; i < count; i++) {
        const struct uspi_image_entry *image =
            uspi_log_tables_find_name(candidates[i].tables, candidates[i].table, name);
        if (image == NULL) continue;
        take_image(place, image);
        return true;
    }
    place->image = name.bytes;
    place->image_length = name.length;
    place->arch = frame->arch;
    if ((frame->flags & USPI_FRAME_GUESS) != 0) place->flags |= USP_PLACE_GUESS;
    return true;
}

static bool locate(const struct candidate *candidates, size_t count, const struct uspi_frame *frame,
                   struct usp_place *place) {
    uspi_clear(place, sizeof *place);
    place->base = frame->base;
    place->offset = frame->offset;
    if ((frame->flags & USPI_FRAME_CALL_SITE) != 0) place->flags |= USP_PLACE_EXACT;
    if (frame->id_size > 0 && (frame->flags & USPI_FRAME_OFFSET) != 0) {
        struct uspi_span name = uspi_span_file_name(frame->image);
        memcpy(place->build_id, frame->id, sizeof place->build_id);
        place->build_id_size = (uint32_t)frame->id_size;
        place->image = name.bytes;
        place->image_length = name.length;
        return true;
    }
    return locate_by_address(candidates, count, frame, place) || locate_by_name(candidates, count, frame, place);
}

bool uspi_locate(const struct uspi_text_tables *given, const struct uspi_frame *frame, struct usp_place *place) {
    struct candidate candidates[USPI_GIVEN_TABLES];
    return locate(candidates, given_candidates(given, USPI_ALL_TABLES, candidates), frame, place);
}

/* ---- names ---- */

/* Whether `find` is called for a frame that has a name: its build must be known, and its source line missing. */
static bool asks_about_name(const struct uspi_line_reader *lines, const struct uspi_located *located) {
    return lines->asks_named && lines->find != NULL && located->is_located && located->place.build_id_size > 0 &&
           (located->frame.flags & (USPI_FRAME_LINED | USPI_FRAME_NOWHERE)) == 0;
}

/* Looks up a frame that has a name. */
static int ask_named(struct uspi_line_reader *lines, struct uspi_located *located, struct usp_answer *answer) {
    struct usp_reader_counts *counts = lines->counts;
    struct uspi_frame *frame = &located->frame;
    struct usp_place *place = &located->place;
    counts->frames++;
    counts->named++;
    if (!asks_about_name(lines, located)) return USP_OK;
    place->flags |= USP_PLACE_NAMED;
    place->name = frame->name.bytes;
    place->name_length = frame->name.length;
    place->name_offset = frame->name_offset;
    if ((frame->flags & USPI_FRAME_NAME_OFFSET) != 0) place->flags |= USP_PLACE_NAME_OFFSET;
    const int status = lines->find(lines->context, place, answer);
    const bool holds = (answer->flags & USP_ANSWER_NAME_HOLDS) != 0;
    /* A line without a function, or only for inlined calls, would be added again by each run. */
    const bool is_useful =
        status == USP_OK && answer->count > 0 && (!holds || uspi_has_source(&answer->frames[answer->count - 1]));
    if (!is_useful) {
        *answer = (struct usp_answer){.frames = NULL};
    } else if (holds) {
        counts->lined++;
    } else {
        counts->renamed++;
        frame->flags &= ~(unsigned)(USPI_FRAME_NAMED | USPI_FRAME_NAME_OFFSET);
    }
    return status;
}

/* Looks up a frame that has no name. */
static int ask_nameless(struct uspi_line_reader *lines, struct uspi_located *located, bool is_guess,
                        struct usp_answer *answer) {
    struct usp_reader_counts *counts = lines->counts;
    int status = USP_OK;
    if ((located->frame.flags & USPI_FRAME_FROM_SYMBOL) != 0) {
        located->place.flags |= USP_PLACE_NAME_OFFSET;
        located->place.name = located->frame.name.bytes;
        located->place.name_length = located->frame.name.length;
        located->place.name_offset = located->frame.name_offset;
    }
    if (lines->find != NULL) {
        status = lines->find(lines->context, &located->place, answer);
    } else {
        answer->flags = USP_ANSWER_NO_FILE;
    }
    if (status != USP_OK) return status;
    bool has_file = (answer->flags & USP_ANSWER_NO_FILE) == 0;
    if (answer->count == 0 && is_guess && !has_file) return USP_OK;
    counts->frames++;
    counts->answered += answer->count > 0;
    counts->no_symbol += answer->count == 0 && has_file;
    counts->no_file += answer->count == 0 && !has_file;
    return USP_OK;
}

int uspi_log_lines_ask(struct uspi_line_reader *lines, struct uspi_located *located, struct usp_answer *answer) {
    struct usp_reader_counts *counts = lines->counts;
    const bool is_guess = located->is_located && (located->place.flags & USP_PLACE_GUESS) != 0;
    int status = USP_OK;
    *answer = (struct usp_answer){.frames = NULL};
    if ((located->frame.flags & USPI_FRAME_INLINED) != 0) {
        /* It is counted with the function that it was inlined into, which follows. */
    } else if ((located->frame.flags & USPI_FRAME_NAMED) != 0) {
        status = ask_named(lines, located, answer);
    } else if (!located->is_located) {
        counts->frames++;
        counts->no_image++;
    } else {
        status = ask_nameless(lines, located, is_guess, answer);
        if (status == USP_OK && answer->count == 0 && is_guess && (answer->flags & USP_ANSWER_NO_FILE) != 0) {
            /* In JSON it is a frame outside of all images. */
            counts->frames += located->frame.shape == NULL;
            counts->no_image += located->frame.shape == NULL;
            return status;
        }
    }
    if (status != USP_OK) return status;
    if (located->frame.shape != NULL && !is_guess) counts->format = located->frame.shape->name;
    return USP_OK;
}

/* ---- frames of a line ---- */

static bool find_in_shape(const struct uspi_line_shape *shape, struct uspi_span line, size_t from,
                          struct uspi_frame *frame) {
    uspi_clear(frame, sizeof *frame);
    if (!shape->frame(line, from, frame)) return false;
    frame->shape = shape;
    if ((frame->flags & USPI_FRAME_NAMED) != 0) uspi_take_source(line, frame);
    if (frame->file.length > 0) frame->flags |= USPI_FRAME_LINED;
    if ((frame->flags & USPI_FRAME_ONE_LINE) != 0) frame->flags &= ~(unsigned)USPI_FRAME_INLINED;
    return true;
}

/* Gives the next line. Returns false if its end has not arrived. */
static bool find_next_line(struct uspi_line_reader *lines, const struct uspi_line_here *here, struct uspi_span *line) {
    const struct uspi_span following = here->following;
    const char *end = following.length > 0 ? memchr(following.bytes, '\n', following.length) : NULL;
    if (end == NULL && !here->is_last) return false;
    *line = end != NULL ? uspi_span_part(following, 0, (size_t)(end - following.bytes)) : following;
    struct uspi_line_kind kind = uspi_line_kind_of(*line);
    *line = uspi_line_plain(line, &kind, true, &lines->buffers->plain[1]);
    return true;
}

/* Whether a node has no children, according to the next line. */
static bool is_leaf(const struct uspi_frame *frame, struct uspi_span next_line) {
    struct uspi_frame next;
    if (!find_in_shape(frame->shape, next_line, 0, &next)) return true;
    return next.depth < frame->depth || (next.depth == frame->depth && (frame->flags & USPI_FRAME_FLAT) == 0);
}

enum found {
    FOUND_NONE,
    FOUND_FRAME,
    FOUND_WAITS /* the next line decides, but has not arrived */
};

/* Checks in the next line whether an uncertain frame is one, whether a node has children, and whether a frame with a
 * name has a source line. */
static enum found ask_next_line(struct uspi_line_reader *lines, const struct uspi_line_here *here,
                                struct uspi_frame *frame) {
    const bool is_node = (frame->flags & USPI_FRAME_NODE) != 0;
    const bool is_unsure = (frame->flags & USPI_FRAME_UNSURE) != 0 && lines->above != frame->shape;
    /* The source line of a frame with a name may be in the next line. */
    const bool may_have_line = lines->asks_named && frame->shape->source != NULL &&
                               (frame->flags & (USPI_FRAME_NAMED | USPI_FRAME_LINED)) == USPI_FRAME_NAMED;
    struct uspi_span next;
    struct uspi_frame source;
    if (!is_node && !is_unsure && !may_have_line) return FOUND_FRAME;
    if (!find_next_line(lines, here, &next)) return FOUND_WAITS;
    if (may_have_line && frame->shape->source(next, &source)) frame->flags |= USPI_FRAME_LINED;
    if (is_unsure && !frame->shape->source(next, &source)) return FOUND_NONE;
    if (is_node && is_leaf(frame, next)) frame->flags |= USPI_FRAME_LEAF;
    return FOUND_FRAME;
}

/* Finds the first frame of a line, by the first shape that recognizes one. */
static enum found find_first(struct uspi_line_reader *lines, const struct uspi_line_here *here,
                             struct uspi_frame *frame) {
    const struct uspi_line_kind kind = here->kind;
    for (const uint8_t *i = lines->choice->frames[kind.has & USPI_HAS_ALL]; *i != USPI_NO_SHAPE; i++) {
        const struct uspi_line_shape *shape = uspi_line_shapes[*i];
        if ((shape->frame_begins & kind.begins) == 0 && shape->frame_begins != 0) continue;
        if (!find_in_shape(shape, here->text, 0, frame)) continue;
        const enum found found = ask_next_line(lines, here, frame);
        if (found != FOUND_NONE) return found;
    }
    return FOUND_NONE;
}

/* Whether a frame's address is that of an instruction. This is so for the first frame of a stack: the thread was there,
 * or called the function that prints the stack there. Other addresses are return addresses, as are all that an exception
 * or callStackSymbols keeps, except those of frames that a signal interrupted, and of asynchronous callers. In a tree of
 * samples only leaves are instructions. */
static bool is_exact(const struct uspi_line_reader *lines, const struct uspi_frame *frame) {
    if ((frame->flags & USPI_FRAME_CALL_SITE) != 0) return true;
    if ((frame->flags & USPI_FRAME_RETURN) != 0) return lines->is_below_trampoline;
    if ((frame->flags & USPI_FRAME_NODE) != 0) return (frame->flags & USPI_FRAME_LEAF) != 0;
    if (lines->is_in_exception || ((frame->flags & USPI_FRAME_CALL_STACK) != 0 && !lines->is_in_thread)) {
        return lines->is_below_trampoline || lines->is_async;
    }
    bool is_first = (frame->flags & USPI_FRAME_INDEX) != 0 ? frame->index == 0 : !lines->is_below_frame;
    return is_first || lines->is_below_trampoline || lines->is_async;
}

/* Whether an answer has a place in a line with a named frame: the text that it replaces must include the name. With
 * several source frames the line is repeated, so a line that has several frames stays as it is. */
static bool can_be_renamed(const struct uspi_frame *frame) {
    const struct uspi_span name = frame->name, replaced = frame->replaced;
    if (frame->end > 0 || (frame->flags & USPI_FRAME_LIST) != 0 || replaced.length == 0 || name.length == 0)
        return false;
    return name.bytes >= replaced.bytes && name.bytes + name.length <= replaced.bytes + replaced.length;
}

static void locate_line(struct uspi_line_reader *lines, struct uspi_located *located) {
    struct candidate candidates[USPI_GIVEN_TABLES + 2];
    const bool is_named = (located->frame.flags & USPI_FRAME_NAMED) != 0;
    const bool is_asked = !is_named || (lines->asks_named && can_be_renamed(&located->frame));
    located->is_located = is_asked && (located->frame.flags & USPI_FRAME_NOWHERE) == 0 &&
                          locate(candidates, candidates_of(lines, candidates), &located->frame, &located->place);
    if (located->is_located && is_exact(lines, &located->frame)) located->place.flags |= USP_PLACE_EXACT;
}

static void remember(struct uspi_line_reader *lines, const struct uspi_frame *frame, const struct usp_answer *answer) {
    lines->above = frame->shape;
    if ((frame->flags & USPI_FRAME_INLINED) != 0) return;
    lines->is_below_frame = true;
    lines->is_below_trampoline = (frame->flags & USPI_FRAME_NAMED) != 0 ? uspi_is_trampoline(frame->name)
                                                                        : (answer->flags & USP_ANSWER_TRAMPOLINE) != 0;
}

/* Handles a line between frames: the source line of the frame above, a heading, or one of unspool's own notes about a
 * stack, which do not end the stack. */
static void pass(struct uspi_line_reader *lines, struct uspi_span line) {
    struct uspi_frame source;
    if (lines->above != NULL && lines->above->source != NULL && lines->above->source(line, &source)) return;
    lines->above = NULL;
    lines->is_below_trampoline = false;
    if (uspi_span_begins(line, USPI_SPAN("    ")) && uspi_span_trim(line).length > 0) {
        if (uspi_span_begins(line, USPI_SPAN("    asynchronous callers"))) lines->is_async = true;
        return;
    }
    lines->is_below_frame = lines->is_async = false;
    lines->is_in_thread = uspi_span_begins(line, USPI_SPAN("Thread "));
    lines->is_in_exception = uspi_span_begins(line, USPI_SPAN("Last Exception Backtrace:")) ||
                             uspi_span_begins(line, USPI_SPAN("Application Specific Backtrace "));
}

/* Learns the line if the text was not learned before, and finds the tables around it. */
static bool come_to(struct uspi_line_reader *lines, uint64_t position, struct uspi_span line,
                    struct uspi_line_kind kind) {
    if (position >= lines->collected &&
        (!learn(lines, position, line, kind) || !uspi_log_tables_settle(&lines->tables, false))) {
        return false;
    }
    while (lines->next < uspi_log_tables_count(&lines->tables) &&
           uspi_log_tables_position(&lines->tables, lines->next) < position) {
        lines->next++;
    }
    return true;
}

bool uspi_log_lines_pass(struct uspi_line_reader *lines, uint64_t position, struct uspi_span line) {
    if (!come_to(lines, position, line, uspi_line_kind_of(line))) return false;
    pass(lines, line);
    return true;
}

/* ---- writing ---- */

/* A frame of a line with several frames, and a copy of its answer. */
struct piece {
    struct uspi_frame frame;
    struct usp_place place;
    struct usp_answer answer;
    struct usp_source_frame *sources;
};

static bool copy_sources(struct piece *piece) {
    const size_t size = piece->answer.count * sizeof *piece->sources;
    if (size == 0) return true;
    piece->sources = malloc(size);
    if (piece->sources == NULL) return false;
    memcpy(piece->sources, piece->answer.frames, size);
    piece->answer.frames = piece->sources;
    return true;
}

static void put_answer(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                       uint32_t which) {
    if (frame->shape != NULL && frame->shape->put != NULL) {
        frame->shape->put(out, frame, answer, which);
    } else {
        uspi_put_symbol(out, frame, answer, which);
    }
}

static void put_span(struct uspi_text *out, struct uspi_span span) { uspi_put(out, span.bytes, span.length); }

/* A line that is written: the time before it, the text that is read, and the same text as it is, with the same
 * positions. */
struct written {
    struct uspi_span time, line, shown, separator;
};

/* Writes a line up to position `to`. */
static void put_until(struct uspi_text *out, const struct written *written, size_t to) {
    put_span(out, written->time);
    put_span(out, uspi_span_part(written->shown, 0, to));
}

/* Writes a line with one frame that keeps its name: its source line, and before it a line for each inlined call. */
static void put_kept(struct uspi_text *out, const struct written *written, const struct uspi_frame *frame,
                     const struct usp_answer *answer) {
    const struct uspi_span shown = written->shown;
    const size_t at = (size_t)(frame->replaced.bytes - written->line.bytes), end = at + frame->replaced.length;
    const bool is_one_line = (frame->flags & USPI_FRAME_ONE_LINE) != 0;
    for (uint32_t i = is_one_line ? answer->count - 1 : 0; i < answer->count; i++) {
        const bool is_kept = i + 1 == answer->count;
        put_until(out, written, is_kept ? end : at);
        if (is_kept) {
            uspi_put_source_line(out, answer, i);
        } else {
            put_answer(out, frame, answer, i);
        }
        put_span(out, uspi_span_after(shown, end));
        if (!is_kept && !uspi_span_ends(shown, USPI_SPAN("\n"))) put_span(out, written->separator);
    }
}

/* Writes a line with one frame, once for each source frame of the answer. */
static void put_line(struct uspi_text *out, const struct written *written, const struct uspi_frame *frame,
                     const struct usp_answer *answer) {
    const struct uspi_span line = written->line, shown = written->shown;
    size_t at = (size_t)(frame->replaced.bytes - line.bytes), end = at + frame->replaced.length;
    /* The line of code that had no name before. */
    if (uspi_has_source(&answer->frames[answer->count - 1])) end = uspi_end_of_source(line, end);
    const uint32_t count = (frame->flags & USPI_FRAME_ONE_LINE) != 0 ? 1 : answer->count;
    for (uint32_t i = 0; i < count; i++) {
        put_until(out, written, at);
        put_answer(out, frame, answer, i);
        put_span(out, uspi_span_after(shown, end));
        if (i + 1 < count && !uspi_span_ends(shown, USPI_SPAN("\n"))) put_span(out, written->separator);
    }
}

/* Writes a line with one frame that has no name, and after its place the source line. Returns false if the source line
 * is there, or has no place in such a line. */
static bool put_nameless(struct uspi_text *out, const struct written *written, const struct uspi_frame *frame,
                         const struct usp_answer *answer) {
    const struct uspi_span line = written->line;
    const size_t end = (size_t)(frame->replaced.bytes - line.bytes) + frame->replaced.length;
    if (!frame->shape->takes_line || uspi_end_of_source(line, end) != end) return false;
    put_until(out, written, end);
    uspi_put_source_line(out, answer, 0);
    put_span(out, uspi_span_after(written->shown, end));
    return true;
}

/* Writes an address of a list on lines of its own, one for each source frame, as in crash reports. */
static void put_listed(struct uspi_text *out, size_t index, const struct uspi_frame *frame,
                       const struct usp_place *place, const struct usp_answer *answer) {
    const uint32_t lines = answer->count > 0 ? answer->count : 1;
    for (uint32_t i = 0; i < lines; i++) {
        struct uspi_span image = {"???", 3};
        if (place->image_length > 0) image = (struct uspi_span){place->image, place->image_length};
        if (index > 0 || i > 0) uspi_put_string(out, "\n");
        uspi_put_decimal(out, index, 4);
        uspi_put_padded(out, image, 30);
        uspi_put_string(out, "\t");
        uspi_put_hex(out, frame->address, 16);
        uspi_put_string(out, " ");
        if (answer->count > 0) {
            uspi_put_symbol(out, frame, answer, i);
        } else if (place->image_length > 0 && place->base == USP_PLACE_LOAD && place->offset <= frame->address) {
            uspi_put_hex(out, frame->address - place->offset, 1);
            uspi_put_string(out, " + ");
            uspi_put_decimal(out, place->offset, 0);
        } else {
            uspi_put_string(out, "???");
        }
    }
}

/* Writes a line with several frames, after all of them were looked up. */
static int write_several(struct uspi_line_reader *lines, const struct written *whole, struct uspi_located *located,
                         struct uspi_text *out, enum uspi_line_is *is) {
    const struct uspi_span line = whole->line, shown = whole->shown;
    struct piece *pieces = calloc(USPI_FRAMES_MAX, sizeof *pieces);
    size_t count = 0, answered = 0, written = 0;
    int status = pieces != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
    const struct uspi_line_shape *shape = located->frame.shape;
    for (bool has_more = true; status == USP_OK && has_more && count < USPI_FRAMES_MAX; count++) {
        locate_line(lines, located);
        pieces[count].frame = located->frame;
        pieces[count].place = located->place;
        status = uspi_log_lines_ask(lines, located, &pieces[count].answer);
        if (status == USP_OK && !copy_sources(&pieces[count])) status = USP_ERROR_NO_MEMORY;
        answered += pieces[count].answer.count > 0;
        remember(lines, &located->frame, &pieces[count].answer);
        size_t end = located->frame.end;
        has_more = end > 0 && find_in_shape(shape, line, end, &located->frame);
    }
    if (status == USP_OK && answered > 0) put_span(out, whole->time);
    for (size_t i = 0; status == USP_OK && answered > 0 && i < count; i++) {
        const struct uspi_frame *frame = &pieces[i].frame;
        const struct usp_answer *answer = &pieces[i].answer;
        size_t at = (size_t)(frame->replaced.bytes - line.bytes);
        bool is_listed = (frame->flags & USPI_FRAME_LIST) != 0;
        /* A name that is kept gets no line here. */
        const bool is_kept = answer->count == 0 || (frame->flags & USPI_FRAME_NAMED) != 0;
        if (!is_listed && is_kept) continue;
        const struct uspi_span columns = uspi_span_part(shown, i > 0 ? pieces[i - 1].frame.end : 0, at);
        put_span(out, uspi_span_part(shown, written, at));
        written = at + frame->replaced.length;
        if (is_listed) put_listed(out, i, frame, &pieces[i].place, answer);
        for (uint32_t k = 0; !is_listed && k < answer->count; k++) {
            if (k > 0 && (frame->flags & USPI_FRAME_INDEX) != 0) uspi_put_string(out, "\n");
            if (k > 0 && (frame->flags & USPI_FRAME_REPEATED) != 0) put_span(out, columns);
            put_answer(out, frame, answer, k);
        }
    }
    if (status == USP_OK) *is = answered > 0 ? USPI_LINE_WRITTEN : USPI_LINE_FRAMES;
    if (*is == USPI_LINE_WRITTEN) put_span(out, uspi_span_after(shown, written));
    for (size_t i = 0; pieces != NULL && i < count; i++) free(pieces[i].sources);
    free(pieces);
    return status;
}

/* Writes one line: `time`, and the line's text, whose characters are `shown`. */
static int write_one(struct uspi_line_reader *lines, const struct uspi_line_here *line, struct uspi_span time,
                     struct uspi_span shown, struct uspi_text *out, enum uspi_line_is *is) {
    const struct uspi_span end = lines->separator.length > 0 ? lines->separator : USPI_SPAN("\n");
    const struct written written = {time, line->text, shown, end};
    struct uspi_located located;
    struct usp_answer answer;
    const enum found found = find_first(lines, line, &located.frame);
    *is = found == FOUND_WAITS ? USPI_LINE_WAITS : found == FOUND_NONE ? USPI_LINE_NO_FRAME : USPI_LINE_FRAMES;
    if (found == FOUND_WAITS) return USP_OK;
    if (!come_to(lines, line->position, line->text, line->kind)) return USP_ERROR_NO_MEMORY;
    if (found == FOUND_NONE) {
        pass(lines, line->text);
        return USP_OK;
    }
    if (located.frame.end > 0 || (located.frame.flags & USPI_FRAME_LIST) != 0) {
        return write_several(lines, &written, &located, out, is);
    }
    locate_line(lines, &located);
    int status = uspi_log_lines_ask(lines, &located, &answer);
    if (status != USP_OK) return status;
    remember(lines, &located.frame, &answer);
    if (answer.count > 0 && (located.frame.flags & USPI_FRAME_NAMED) != 0) {
        put_kept(out, &written, &located.frame, &answer);
        *is = USPI_LINE_WRITTEN;
    } else if (answer.count > 0) {
        put_line(out, &written, &located.frame, &answer);
        *is = USPI_LINE_WRITTEN;
    } else if ((answer.flags & USP_ANSWER_LINE) != 0 && put_nameless(out, &written, &located.frame, &answer)) {
        *is = USPI_LINE_WRITTEN;
    }
    return USP_OK;
}

/* Writes a line that is not several, and has a time before it or may be quoted. */
static int write_plain(struct uspi_line_reader *lines, const struct uspi_line_here *line, struct uspi_text *out,
                       enum uspi_line_is *is) {
    struct uspi_line_here here = *line;
    struct uspi_span shown = line->text;
    const struct uspi_span time = uspi_span_part(shown, 0, here.kind.time);
    here.text = uspi_line_plain(&shown, &here.kind, true, &lines->buffers->plain[0]);
    return write_one(lines, &here, time, shown, out, is);
}

/* Writes the lines that are joined in a line. The line is written if one of them is. */
static int write_joined(struct uspi_line_reader *lines, const struct uspi_line_here *line, struct uspi_text *out,
                        enum uspi_line_is *is) {
    struct uspi_span part, separator;
    struct uspi_line_here here = *line;
    char room[512];
    int status = USP_OK;
    *is = USPI_LINE_NO_FRAME;
    lines->buffers->joined.size = 0;
    for (size_t at = 0; status == USP_OK && uspi_quoted_next(line->text, &at, &part, &separator);) {
        struct uspi_text joined = uspi_text_through(uspi_gathered_append, &lines->buffers->joined, room, sizeof room);
        enum uspi_line_is part_is;
        if (separator.length > 0) lines->separator = separator;
        here.position = line->position + (uint64_t)(part.bytes - line->text.bytes);
        here.text = part;
        here.following = uspi_span_after(line->text, at);
        here.is_last = true;
        here.kind = uspi_line_kind_of(here.text);
        status = write_plain(lines, &here, &joined, &part_is);
        if (part_is != USPI_LINE_WRITTEN) put_span(&joined, part);
        put_span(&joined, separator);
        if (status == USP_OK) status = uspi_text_flush(&joined);
        if (*is != USPI_LINE_WRITTEN && part_is != USPI_LINE_NO_FRAME) *is = part_is;
    }
    lines->separator = (struct uspi_span){"", 0};
    if (status == USP_OK && *is == USPI_LINE_WRITTEN) put_span(out, uspi_gathered_span(&lines->buffers->joined));
    return status;
}

int uspi_log_lines_write(struct uspi_line_reader *lines, const struct uspi_line_here *line, struct uspi_text *out,
                         enum uspi_line_is *is) {
    const bool is_plain = line->kind.time == 0 && !may_be_quoted(line->text, line->kind);
    if (is_plain) return write_one(lines, line, (struct uspi_span){"", 0}, line->text, out, is);
    if (uspi_line_is_list(line->text, line->kind)) return write_joined(lines, line, out, is);
    return write_plain(lines, line, out, is);
}

static int read_one(struct uspi_line_reader *lines, const struct uspi_line_here *line, uspi_take_frame take,
                    void *context) {
    struct uspi_located located;
    struct usp_answer answer;
    struct uspi_span next;
    const bool is_frame = find_first(lines, line, &located.frame) == FOUND_FRAME;
    if (!come_to(lines, line->position, line->text, line->kind)) return USP_ERROR_NO_MEMORY;
    if (!is_frame) {
        pass(lines, line->text);
        return USP_OK;
    }
    const struct uspi_line_shape *shape = located.frame.shape;
    if (shape->source != NULL && find_next_line(lines, line, &next)) shape->source(next, &located.frame);
    for (size_t count = 0; count < USPI_FRAMES_MAX; count++) {
        size_t end = located.frame.end;
        locate_line(lines, &located);
        int status = uspi_log_lines_ask(lines, &located, &answer);
        if (status == USP_OK) status = take(context, &located, &answer);
        if (status != USP_OK) return status;
        remember(lines, &located.frame, &answer);
        if (end == 0 || !find_in_shape(shape, line->text, end, &located.frame)) break;
    }
    return USP_OK;
}

/* Reads a line that is not several, and has a time before it or may be quoted. */
static int read_plain(struct uspi_line_reader *lines, const struct uspi_line_here *line, uspi_take_frame take,
                      void *context) {
    struct uspi_line_here here = *line;
    struct uspi_span shown = line->text;
    here.text = uspi_line_plain(&shown, &here.kind, false, &lines->buffers->plain[0]);
    return read_one(lines, &here, take, context);
}

int uspi_log_lines_read(struct uspi_line_reader *lines, const struct uspi_line_here *line, uspi_take_frame take,
                        void *context) {
    if (line->kind.time == 0 && !may_be_quoted(line->text, line->kind)) return read_one(lines, line, take, context);
    if (!uspi_line_is_list(line->text, line->kind)) return read_plain(lines, line, take, context);
    struct uspi_span separator;
    struct uspi_line_here here = *line;
    int status = USP_OK;
    for (size_t at = 0; status == USP_OK && uspi_quoted_next(line->text, &at, &here.text, &separator);) {
        here.position = line->position + (uint64_t)(here.text.bytes - line->text.bytes);
        here.following = uspi_span_after(line->text, at);
        here.kind = uspi_line_kind_of(here.text);
        status = read_plain(lines, &here, take, context);
    }
    return status;
}
