/* SPDX-License-Identifier: MIT */
/* Builds a model of a text of lines. The lines between frames say which thread and which report the frames belong
 * to. */
#include "lib/report/read/model.h"
#include "lib/report/read/model_state.h"

/* The length of the longest line that may be the name of a thread. */
#define THREAD_NAME_MAX 200

/* The state while the lines are read. */
struct builder {
    struct uspi_model *model;
    struct usp_reader *reader;
    bool is_in_thread;
    bool is_in_state;    /* the registers of `state_thread` follow */
    size_t state_thread; /* in the model's threads */
    bool is_numbered;    /* the thread's last frame has an index */
    bool is_waiting;     /* the text of `field` follows in the next lines */
    bool is_open;        /* … up to a line that ends with a quote */
    bool is_logged;      /* the last report's exception is one that a program logged */
    enum uspi_field field;
    struct uspi_model_room rooms[USPI_FIELD_COUNT]; /* of the last report's fields that have several lines */
    bool has_name;                                  /* `name` belongs to the thread with its number, which follows */
    struct uspi_heading name;                       /* its spans are copies in the model */
    size_t table;                                   /* the first table of images that no report has yet */
    bool is_after_document;                         /* the last report is a document in a line */
    struct uspi_gathered plain;                     /* a line without the marks of a quotation */
    struct uspi_gathered above; /* the last line, if it is short and has neither a frame nor a heading */
};

static struct uspi_model_part *part_of(const struct builder *builder) {
    struct uspi_model *model = builder->model;
    return model->part_count > 0 ? &model->parts[model->part_count - 1] : NULL;
}

/* Adds the tables that begin before a position to the last report. */
static bool take_tables(struct builder *builder, uint64_t position) {
    const struct uspi_text_tables *tables = &builder->reader->lines.tables;
    while (builder->table < uspi_log_tables_count(tables) &&
           uspi_log_tables_position(tables, builder->table) < position) {
        if (!uspi_model_add_images(builder->model, tables, builder->table++)) return false;
    }
    return true;
}

/* Adds a line below a field's label to the text of the field, which an empty line ends. */
static bool take_text(struct builder *builder, struct uspi_span line) {
    struct uspi_model_part *part = part_of(builder);
    struct uspi_span text = uspi_span_trim(line);
    if (text.length == 0 || part == NULL) {
        builder->is_waiting = false;
        return true;
    }
    struct uspi_span *field = &part->fields[builder->field];
    struct uspi_model_room *room = &builder->rooms[builder->field];
    const struct uspi_span separator = uspi_field_has_lines(builder->field) ? USPI_SPAN("\n") : USPI_SPAN(" ");
    if (builder->is_open && uspi_span_ends(text, USPI_SPAN("'"))) {
        text.length--;
        builder->is_waiting = false;
        if (text.length == 0) return true;
    }
    return (field->length == 0 || uspi_model_append(builder->model, separator, field, room)) &&
           uspi_model_append(builder->model, text, field, room);
}

/* Begins a report at a field: if there is no report yet, after a document in a line, or if the last report already has
 * that field and threads. */
static bool begin_part(struct builder *builder, const struct uspi_heading *heading, uint64_t position) {
    const struct uspi_model_part *part = part_of(builder);
    bool is_first_field = heading->field == USPI_FIELD_PROCESS || heading->field == USPI_FIELD_INCIDENT ||
                          heading->field == USPI_FIELD_DATE || heading->field == USPI_FIELD_EXCEPTION_TYPE;
    const bool is_known = part != NULL && (part->fields[heading->field].length > 0 || builder->is_logged);
    bool is_next = is_known && part->thread_count > 0 && is_first_field;
    if (part != NULL && !is_next && !builder->is_after_document) return true;
    if (!builder->is_after_document && !take_tables(builder, position)) return false;
    builder->is_in_thread = builder->is_waiting = builder->is_after_document = builder->is_logged = false;
    return uspi_model_add_part(builder->model) != NULL;
}

/* Begins a report at an exception that a program logged, unless the last report has no stack yet. */
static bool begin_logged(struct builder *builder, uint64_t position) {
    const struct uspi_model_part *part = part_of(builder);
    if (part != NULL && part->thread_count == 0 && !builder->is_after_document) return true;
    if (part != NULL && !builder->is_after_document && !take_tables(builder, position)) return false;
    builder->is_in_thread = builder->is_after_document = builder->is_logged = false;
    return uspi_model_add_part(builder->model) != NULL;
}

/* Takes an exception that a program logged. */
static bool take_logged(struct builder *builder, const struct uspi_heading *heading, uint64_t position) {
    struct uspi_model *model = builder->model;
    const struct uspi_model_part *part = part_of(builder);
    const bool has_name = heading->name.length > 0, is_repeated = (heading->flags & USPI_FIELD_IS_REPEATED) != 0;
    /* "terminating due to uncaught exception of type NSException" below the exception; "what():" without one above. */
    if (is_repeated && builder->is_logged == has_name) return true;
    const bool is_known = part != NULL && (part->fields[USPI_FIELD_EXCEPTION_TYPE].length > 0 ||
                                           part->fields[USPI_FIELD_EXCEPTION_REASON].length > 0);
    if (part == NULL || builder->is_after_document || !is_repeated || (has_name && is_known)) {
        if (!begin_logged(builder, position)) return false;
        part = part_of(builder);
    }
    if (has_name && part->fields[USPI_FIELD_EXCEPTION_TYPE].length == 0) builder->is_logged = true;
    builder->is_open = (heading->flags & USPI_FIELD_IS_OPEN) != 0;
    /* Kotlin's reason may begin in the next line. */
    builder->is_waiting = builder->is_open || (heading->stack.length > 0 && heading->value.length == 0);
    builder->field = USPI_FIELD_EXCEPTION_REASON;
    if (heading->stack.length > 0) {
        struct uspi_model_thread *thread = uspi_model_add_thread(model);
        if (thread == NULL || !uspi_model_copy(model, heading->stack, &thread->name)) return false;
        thread->is_stack = builder->is_in_thread = true;
    }
    return uspi_model_set_field(model, USPI_FIELD_EXCEPTION_TYPE, heading->name) &&
           uspi_model_set_field(model, USPI_FIELD_EXCEPTION_REASON, heading->value);
}

/* Makes the name of an exception that a program logged a part of the reason, as the type that the report itself states
 * follows. */
static bool move_name(struct builder *builder) {
    struct uspi_model_part *part = part_of(builder);
    struct uspi_span *reason = &part->fields[USPI_FIELD_EXCEPTION_REASON],
                     *name = &part->fields[USPI_FIELD_EXCEPTION_TYPE];
    struct uspi_model_room *room = &builder->rooms[USPI_FIELD_EXCEPTION_REASON];
    const bool has_reason = reason->length > 0;
    const bool is_moved = (!has_reason || uspi_model_append(builder->model, USPI_SPAN(" ("), reason, room)) &&
                          uspi_model_append(builder->model, *name, reason, room) &&
                          (!has_reason || uspi_model_append(builder->model, USPI_SPAN(")"), reason, room));
    *name = USPI_SPAN("");
    builder->is_logged = false;
    return is_moved;
}

static bool take_field(struct builder *builder, const struct uspi_heading *heading, uint64_t position) {
    if ((heading->flags & USPI_FIELD_IS_LOGGED) != 0) return take_logged(builder, heading, position);
    if (!begin_part(builder, heading, position)) return false;
    if (heading->field == USPI_FIELD_EXCEPTION_TYPE && builder->is_logged && !move_name(builder)) return false;
    builder->is_open = false;
    /* A watchdog's explanation is below the reason. */
    builder->is_waiting = heading->value.length == 0 || heading->field == USPI_FIELD_TERMINATION;
    builder->field = (enum uspi_field)heading->field;
    /* "Termination Signal:" and "Termination Reason:" are both shown. */
    const bool is_more = heading->field == USPI_FIELD_TERMINATION && heading->value.length > 0 &&
                         part_of(builder)->fields[USPI_FIELD_TERMINATION].length > 0;
    if (is_more) return take_text(builder, heading->value);
    return uspi_model_set_field(builder->model, builder->field, heading->value);
}

/* Adds a thread; after a document in a line, to a new report. NULL when memory is exhausted. */
static struct uspi_model_thread *add_thread(struct builder *builder) {
    if (builder->is_after_document && uspi_model_add_part(builder->model) == NULL) return NULL;
    builder->is_after_document = false;
    return uspi_model_add_thread(builder->model);
}

static bool take_thread(struct builder *builder, const struct uspi_heading *heading) {
    struct uspi_model *model = builder->model;
    const struct uspi_heading *named = heading;
    struct uspi_model_thread *thread = add_thread(builder);
    if (thread == NULL) return false;
    thread->is_stack = heading->kind == USPI_HEADING_STACK;
    thread->flags = heading->flags;
    thread->number = heading->number;
    thread->id = heading->id;
    /* "Thread 0 name:" precedes "Thread 0:". */
    bool has_own = heading->name.length > 0 || heading->queue.length > 0;
    if (!has_own && builder->has_name && builder->name.number == heading->number) named = &builder->name;
    builder->has_name = false;
    builder->is_in_thread = true;
    if (!uspi_model_set_field(model, (enum uspi_field)heading->field, heading->value)) return false;
    if ((heading->flags & USPI_STACK_HAS_REASON) != 0) {
        builder->is_open = false;
        builder->is_waiting = part_of(builder)->fields[USPI_FIELD_EXCEPTION_REASON].length == 0;
        builder->field = USPI_FIELD_EXCEPTION_REASON;
    }
    return uspi_model_copy(model, named->name, &thread->name) && uspi_model_copy(model, named->queue, &thread->queue);
}

/* Finds the thread of the last report whose registers follow. A copied part of a report may lack it. */
static void begin_state(struct builder *builder, uint64_t number) {
    const struct uspi_model_part *part = part_of(builder);
    builder->is_in_thread = false;
    for (size_t i = part != NULL ? part->thread_count : 0; i-- > 0;) {
        const struct uspi_model_thread *thread = &builder->model->threads[part->thread + i];
        if (thread->is_stack || (thread->flags & USPI_THREAD_NUMBER) == 0 || thread->number != number) continue;
        builder->is_in_state = true;
        builder->state_thread = part->thread + i;
        return;
    }
}

static bool take_heading(struct builder *builder, const struct uspi_heading *heading, uint64_t position) {
    builder->is_waiting = builder->is_in_state = false;
    switch (heading->kind) {
    case USPI_HEADING_STATE: begin_state(builder, heading->number); return true;
    case USPI_HEADING_FIELD: return take_field(builder, heading, position);
    case USPI_HEADING_END: builder->is_in_thread = false; return true;
    case USPI_HEADING_STACK:
        /* The cause of an exception that is not the report's. */
        if ((heading->flags & USPI_FIELD_IS_LOGGED) != 0 && !builder->is_logged) return true;
        break;
    default: break;
    }
    if ((heading->flags & USPI_THREAD_NAME_ONLY) == 0) return take_thread(builder, heading);
    builder->name = *heading;
    builder->has_name = true;
    return uspi_model_copy(builder->model, heading->name, &builder->name.name) &&
           uspi_model_copy(builder->model, heading->queue, &builder->name.queue);
}

static bool find_heading(struct uspi_span line, struct uspi_heading *heading) {
    for (size_t i = 0; uspi_line_shapes[i] != NULL; i++) {
        if (uspi_line_shapes[i]->heading == NULL) continue;
        memset(heading, 0, sizeof *heading);
        if (uspi_line_shapes[i]->heading(line, heading)) return true;
    }
    return false;
}

/* Adds the thread of a frame without a heading. In Sentry's reports "Thread 0 name:" is the heading. */
static bool begin_thread(struct builder *builder, const struct uspi_line_shape *shape) {
    struct uspi_heading heading = builder->name;
    if (!builder->has_name && shape != NULL && shape->names_above && builder->above.size > 0) {
        heading = (struct uspi_heading){.kind = USPI_HEADING_THREAD, .name = uspi_gathered_span(&builder->above)};
        return take_thread(builder, &heading);
    }
    if (!builder->has_name) return add_thread(builder) != NULL;
    heading.flags &= ~(unsigned)USPI_THREAD_NAME_ONLY;
    return take_thread(builder, &heading);
}

static int take_frame(void *context, const struct uspi_located *located, const struct usp_answer *answer) {
    struct builder *builder = context;
    struct uspi_model *model = builder->model;
    const struct uspi_frame *frame = &located->frame;
    /* Skips a line that is a frame only if there is an image of that name, and got no answer. */
    if (located->is_located && (located->place.flags & USP_PLACE_GUESS) != 0 && answer->count == 0) return USP_OK;
    const struct uspi_model_thread *last = model->thread_count > 0 ? &model->threads[model->thread_count - 1] : NULL;
    /* The frame after an inlined call has the same index. */
    const bool goes_on = last != NULL && last->frame_count > 0 &&
                         (model->frames[model->frame_count - 1].flags & USPI_FRAME_INLINED) != 0;
    bool is_first = (frame->flags & USPI_FRAME_INDEX) != 0 && frame->index == 0 && !goes_on;
    const bool is_numbered = (frame->flags & (USPI_FRAME_INDEX | USPI_FRAME_LIST)) != 0;
    /* Either another stack begins, or the line is not one of the numbered frames, but a remark about them. */
    bool is_other = last != NULL && last->frame_count > 0 && (is_first || (builder->is_numbered && !is_numbered));
    if ((!builder->is_in_thread || is_other) && !begin_thread(builder, frame->shape)) return USP_ERROR_NO_MEMORY;
    builder->is_in_thread = true;
    builder->is_numbered = is_numbered;
    builder->is_waiting = false;
    if (frame->shape != NULL) part_of(builder)->format = frame->shape->name;
    return uspi_model_add_frame(model, located, answer) ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* Reads a document in a line. With frames it is a report of its own; without, it may describe the text after it. */
static int read_document(struct builder *builder, const struct uspi_line *line, struct uspi_span document) {
    struct usp_reader *reader = builder->reader;
    const struct uspi_model *model = builder->model;
    const size_t frames = model->frame_count;
    bool is_done = uspi_log_lines_pass(&reader->lines, line->position, line->raw);
    if (model->part_count > 0 && !builder->is_after_document) is_done = is_done && take_tables(builder, line->position);
    const int status = is_done ? uspi_model_read_documents(builder->model, reader, document) : USP_ERROR_NO_MEMORY;
    uspi_log_tables_clear(&reader->documents.tables);
    builder->is_in_thread = builder->is_waiting = false;
    if (model->frame_count > frames) builder->is_after_document = true;
    return status;
}

static int read_line(struct builder *builder, const struct uspi_line *line, struct uspi_line_kind kind) {
    struct usp_reader *reader = builder->reader;
    const size_t frames = builder->model->frame_count;
    struct uspi_line_document document;
    struct uspi_heading heading;
    int status = USP_OK;
    const bool has_brace = (kind.has & USPI_HAS_BRACE) != 0;
    if (has_brace && uspi_reader_find_document(reader, line->raw, &document, &status)) {
        return read_document(builder, line, document.text);
    }
    if (status != USP_OK) return status;
    const struct uspi_span text = uspi_span_trim_right(line->raw);
    if (builder->is_in_state &&
        !uspi_state_take_line(builder->model, builder->state_thread, text, &builder->is_in_state)) {
        return USP_ERROR_NO_MEMORY;
    }
    if (builder->is_in_state) {
        return uspi_log_lines_pass(&reader->lines, line->position, line->raw) ? USP_OK : USP_ERROR_NO_MEMORY;
    }
    /* What is logged inside a field's text belongs to it. */
    const bool has_heading =
        find_heading(text, &heading) && !(builder->is_waiting && (heading.flags & USPI_FIELD_IS_LOGGED) != 0);
    /* A line may be a heading and have a frame. Then the heading says what happened, or what stack follows, and is
     * taken first. */
    const bool is_first = has_heading && (heading.kind == USPI_HEADING_FIELD || heading.kind == USPI_HEADING_STACK);
    if (is_first && !take_heading(builder, &heading, line->position)) return USP_ERROR_NO_MEMORY;
    const struct uspi_line_here here = {line->position, line->raw, line->following, true, kind};
    status = uspi_log_lines_read(&reader->lines, &here, take_frame, builder);
    const struct uspi_span above = uspi_span_trim_left(text);
    builder->above.size = 0;
    if (status != USP_OK || is_first || builder->model->frame_count > frames) return status;
    if (!has_heading && above.length <= THREAD_NAME_MAX) {
        status = uspi_gathered_append(&builder->above, above.bytes, above.length);
        if (status != USP_OK) return status;
    }
    bool is_done = has_heading ? take_heading(builder, &heading, line->position)
                               : !builder->is_waiting || take_text(builder, text);
    return is_done ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* Reads a line that is not several, without the time before it and the marks of a quotation. */
static int read_plain(struct builder *builder, const struct uspi_line *line, struct uspi_line_kind kind) {
    struct uspi_line here = *line;
    here.position += kind.time;
    here.raw = uspi_line_plain(&here.raw, &kind, false, &builder->plain);
    return read_line(builder, &here, kind);
}

/* Reads a line, or the lines that are joined in it. */
static int read_quoted(struct builder *builder, const struct uspi_line *line) {
    struct uspi_span separator;
    struct uspi_line here = *line;
    int status = USP_OK;
    builder->reader->counts.passed += line->is_first_piece;
    if (line->is_piece) return USP_OK;
    const struct uspi_line_kind kind = uspi_line_kind_of(line->raw);
    if (!uspi_line_is_list(line->raw, kind)) return read_plain(builder, line, kind);
    for (size_t at = 0; status == USP_OK && uspi_quoted_next(line->raw, &at, &here.raw, &separator);) {
        here.position = line->position + (uint64_t)(here.raw.bytes - line->raw.bytes);
        here.following = uspi_span_after(line->raw, at);
        status = read_plain(builder, &here, uspi_line_kind_of(here.raw));
    }
    return status;
}

static int each_line(struct builder *builder, struct uspi_span text, bool is_learning) {
    struct usp_reader *reader = builder->reader;
    struct uspi_line line;
    size_t at = 0;
    int status = USP_OK;
    while (status == USP_OK && uspi_split_next(&reader->split, text, &at, &line, &status)) {
        if (!is_learning) {
            status = read_quoted(builder, &line);
        } else if (!line.is_piece && !uspi_log_lines_learn(&reader->lines, line.position, line.raw)) {
            status = USP_ERROR_NO_MEMORY;
        }
    }
    if (status == USP_OK && uspi_split_last(&reader->split, &line)) {
        if (!is_learning) return read_quoted(builder, &line);
        if (!uspi_log_lines_learn(&reader->lines, line.position, line.raw)) status = USP_ERROR_NO_MEMORY;
    }
    return status;
}

int uspi_model_read_lines(struct uspi_model *model, struct usp_reader *reader, struct uspi_span text) {
    struct builder builder = {.model = model, .reader = reader};
    int status = each_line(&builder, text, true);
    uint64_t end = reader->split.position;
    uspi_split_clear(&reader->split);
    if (status == USP_OK && !uspi_log_lines_rewind(&reader->lines, end)) status = USP_ERROR_NO_MEMORY;
    if (status == USP_OK) status = each_line(&builder, text, false);
    uspi_gathered_clear(&builder.plain);
    uspi_gathered_clear(&builder.above);
    const bool has_own = model->part_count > 0 && !builder.is_after_document;
    if (status == USP_OK && has_own && !take_tables(&builder, UINT64_MAX)) status = USP_ERROR_NO_MEMORY;
    return status;
}
