/* SPDX-License-Identifier: MIT */
/* Writes a model as text, for people, in the layout of Apple's crash reports as its tools translate them: header,
 * exception, the thread that crashed, the others, images. Samples are written as their heaviest stack and a tree. */
#include "lib/report/read/model_state.h"
#include "lib/report/read/translated.h"

/* Widths of columns. */
#define LABEL_WIDTH   21
#define IMAGE_WIDTH   30
#define ADDRESS_WIDTH 18 /* in hexadecimal, with 0x */

/* A model, and what is shown of it. */
struct shown {
    const struct uspi_model *model;
    const struct uspi_model_part *part;
    const struct usp_report_options *selection;
};

static bool shows(const struct shown *shown, const struct uspi_model_frame *frame) {
    return uspi_shows_frame(shown->selection, frame);
}

static void put_harmless(struct uspi_text *out, struct uspi_span span) { uspi_put_harmless(out, span, ""); }

void uspi_translate_value(struct uspi_text *out, struct uspi_span value, const char *separator) {
    for (size_t at = 0; at < value.length;) {
        const char *end = memchr(value.bytes + at, '\n', value.length - at);
        const size_t stop = end != NULL ? (size_t)(end - value.bytes) : value.length;
        put_harmless(out, uspi_span_part(value, at, stop));
        if (stop < value.length) uspi_put_string(out, separator);
        at = stop + 1;
    }
}

/* ---- header ---- */

static void put_field(struct uspi_text *out, const struct uspi_model_part *part, enum uspi_field field) {
    const char *label = uspi_field_label(field);
    if (part->fields[field].length == 0) return;
    uspi_put_string(out, label);
    uspi_put_blanks(out, strlen(label) + 1, LABEL_WIDTH);
    uspi_put_string(out, " ");
    put_harmless(out, part->fields[field]);
    if (field == USPI_FIELD_PROCESS && part->fields[USPI_FIELD_PROCESS_ID].length > 0) {
        uspi_put_string(out, " [");
        put_harmless(out, part->fields[USPI_FIELD_PROCESS_ID]);
        uspi_put_string(out, "]");
    }
    uspi_put_string(out, "\n");
}

/* Whether a field is written below its label: a text of several lines. */
static bool is_block(const struct uspi_model_part *part, uint32_t field) {
    const struct uspi_span value = part->fields[field];
    const bool is_reason = field == USPI_FIELD_EXCEPTION_REASON;
    return uspi_field_has_lines((enum uspi_field)field) && (!is_reason || uspi_span_has(value, USPI_SPAN("\n")));
}

/* Writes fields `from` … `to` − 1, and an empty line after them if there are any. */
static void put_fields(struct uspi_text *out, const struct uspi_model_part *part, uint32_t from, uint32_t to) {
    const uint64_t before = out->length;
    for (uint32_t field = from; field < to; field++) {
        bool is_joined = field == USPI_FIELD_PROCESS_ID && part->fields[USPI_FIELD_PROCESS].length > 0;
        if (!is_joined && !is_block(part, field)) put_field(out, part, (enum uspi_field)field);
    }
    if (out->length > before) uspi_put_string(out, "\n");
}

void uspi_translate_header(struct uspi_text *out, const struct uspi_model_part *part) {
    put_fields(out, part, 0, USPI_FIELD_EXCEPTION_TYPE);
    put_fields(out, part, USPI_FIELD_EXCEPTION_TYPE, USPI_FIELD_COUNT);
    for (uint32_t field = 0; field < USPI_FIELD_COUNT; field++) {
        if (part->fields[field].length == 0 || !is_block(part, field)) continue;
        uspi_put_string(out, uspi_field_label((enum uspi_field)field));
        uspi_put_string(out, "\n");
        /* A text may read like a heading of the report, which begins its line. */
        uspi_put_string(out, "  ");
        uspi_translate_value(out, part->fields[field], "\n  ");
        uspi_put_string(out, "\n\n");
    }
}

/* ---- frames ---- */

static void put_offset(struct uspi_text *out, const struct uspi_model_frame *frame) {
    if ((frame->flags & USPI_MODEL_HAS_OFFSET) == 0) return;
    uspi_put_string(out, " + ");
    uspi_put_decimal(out, frame->code->offset, 0);
}

static void put_name(struct uspi_text *out, const struct uspi_model *model, const struct uspi_model_frame *frame,
                     size_t which) {
    const struct uspi_model_source *source = &model->sources[frame->code->source + which];
    put_harmless(out, source->function);
    if ((source->flags & USP_SOURCE_INLINED) != 0) uspi_put_string(out, " [inlined]");
    if (which + 1 == frame->code->source_count) put_offset(out, frame);
}

void uspi_translate_line(struct uspi_text *out, const struct uspi_model_source *source) {
    put_harmless(out, uspi_span_file_name(source->file));
    if (source->line == 0) return;
    uspi_put_string(out, ":");
    uspi_put_decimal(out, source->line, 0);
}

/* Writes what replaces a name: the load address and the offset; or an address as the file was linked, or an offset in
 * the file or in its code. */
static void put_place(struct uspi_text *out, const struct uspi_model_frame *frame) {
    bool has_address = (frame->flags & USPI_FRAME_ADDRESS) != 0;
    if (uspi_model_is_located(frame) && has_address && frame->code->base == USP_PLACE_LOAD &&
        frame->code->place <= frame->code->address) {
        uspi_put_hex(out, frame->code->address - frame->code->place, 1);
        uspi_put_string(out, " + ");
        uspi_put_decimal(out, frame->code->place, 0);
    } else {
        uspi_put_string(out, "???");
        if (!uspi_model_is_located(frame) || frame->code->base == USP_PLACE_LOAD) return;
        uspi_put_string(out, frame->code->base == USP_PLACE_LINKED ? " (linked at "
                             : frame->code->base == USP_PLACE_TEXT ? " (in the code at "
                                                                   : " (in the file at ");
        uspi_put_hex(out, frame->code->place, 1);
        uspi_put_string(out, ")");
    }
}

void uspi_translate_function(struct uspi_text *out, const struct uspi_model *model,
                             const struct uspi_model_frame *frame, size_t which) {
    if (frame->code->source_count > 0) {
        put_name(out, model, frame, which);
    } else {
        put_place(out, frame);
    }
}

static void put_label(struct uspi_text *out, const struct uspi_model *model, const struct uspi_model_frame *frame,
                      size_t which) {
    uspi_translate_function(out, model, frame, which);
    if (frame->code->source_count == 0 || model->sources[frame->code->source + which].file.length == 0) return;
    uspi_put_string(out, " (");
    uspi_translate_line(out, &model->sources[frame->code->source + which]);
    uspi_put_string(out, ")");
}

void uspi_translate_address(struct uspi_text *out, const struct uspi_model_frame *frame) {
    if ((frame->flags & USPI_FRAME_ADDRESS) != 0) {
        uspi_put_hex(out, frame->code->address, 16);
        return;
    }
    if (!uspi_model_is_located(frame) && (frame->flags & USPI_FRAME_OFFSET) == 0) {
        uspi_put_blanks(out, 0, ADDRESS_WIDTH);
        return;
    }
    /* Only an offset in the image is known. */
    const uint64_t begin = out->length;
    uspi_put_string(out, "+");
    uspi_put_hex(out, frame->code->place, 1);
    uspi_put_blanks(out, out->length - begin, ADDRESS_WIDTH);
}

/* Writes how many frames were left out, and begins to count anew. */
static void put_left_out(struct uspi_text *out, size_t *count) {
    if (*count == 0) return;
    uspi_put_string(out, "    (");
    uspi_put_decimal(out, *count, 0);
    uspi_put_string(out, *count == 1 ? " frame of the system)\n" : " frames of the system)\n");
    *count = 0;
}

static void put_frames(struct uspi_text *out, const struct shown *shown, const struct uspi_model_thread *thread) {
    const struct uspi_model *model = shown->model;
    size_t left_out = 0;
    for (size_t i = 0; i < thread->frame_count; i++) {
        const struct uspi_model_frame *frame = &model->frames[thread->frame + i];
        if (!shows(shown, frame)) {
            left_out++;
            continue;
        }
        put_left_out(out, &left_out);
        const size_t lines = frame->code->source_count > 0 ? frame->code->source_count : 1;
        for (size_t which = 0; which < lines; which++) {
            const uint64_t begin = out->length + 4;
            uspi_put_decimal(out, i, 4);
            if (frame->code->image.length > 0) {
                put_harmless(out, frame->code->image);
            } else {
                uspi_put_string(out, "???");
            }
            uspi_put_blanks(out, out->length - begin, IMAGE_WIDTH);
            uspi_put_string(out, "\t");
            uspi_translate_address(out, frame);
            uspi_put_string(out, " ");
            put_label(out, model, frame, which);
            uspi_put_string(out, "\n");
        }
    }
    put_left_out(out, &left_out);
}

/* ---- samples ---- */

static void put_node(struct uspi_text *out, const struct uspi_model *model, const struct uspi_model_frame *frame,
                     uint32_t level) {
    const size_t last = frame->code->source_count > 0 ? frame->code->source_count - 1 : 0;
    uspi_put_blanks(out, 0, 2 + 2 * (uint64_t)(level < USPI_LEVELS_SHOWN ? level : USPI_LEVELS_SHOWN));
    uspi_put_decimal(out, frame->count, 4);
    uspi_put_string(out, " ");
    put_label(out, model, frame, last);
    const bool is_place =
        frame->code->source_count == 0 && uspi_model_is_located(frame) && (frame->flags & USPI_FRAME_ADDRESS) == 0;
    if (frame->code->image.length > 0) {
        uspi_put_string(out, is_place ? " (" : " (in ");
        put_harmless(out, frame->code->image);
        if (is_place) {
            uspi_put_string(out, " + ");
            uspi_put_decimal(out, frame->code->place, 0);
        }
        uspi_put_string(out, ")");
    }
    if ((frame->flags & USPI_FRAME_ADDRESS) != 0) {
        uspi_put_string(out, " [");
        uspi_put_hex(out, frame->code->address, 1);
        uspi_put_string(out, "]");
    }
    uspi_put_string(out, "\n");
}

static void put_tree(struct uspi_text *out, const struct shown *shown, const struct uspi_model_thread *thread) {
    const struct uspi_model *model = shown->model;
    if (thread->is_stack) {
        /* The stack was chosen from a tree, so it has no tree of its own. */
        for (size_t i = 0; i < thread->frame_count; i++) {
            const struct uspi_model_frame *frame = &model->frames[thread->frame + i];
            if (shows(shown, frame)) put_node(out, model, frame, 0);
        }
        return;
    }
    uspi_put_string(out, "Heaviest stack:\n");
    for (size_t i = 0; i < thread->frame_count; i++) {
        const struct uspi_model_frame *frame = &model->frames[thread->frame + i];
        if ((frame->flags & USPI_MODEL_HEAVIEST) != 0 && shows(shown, frame)) put_node(out, model, frame, 0);
    }
    uspi_put_string(out, "Call tree:\n");
    for (size_t i = 0; i < thread->frame_count; i++) {
        const struct uspi_model_frame *frame = &model->frames[thread->frame + i];
        if (shows(shown, frame)) put_node(out, model, frame, frame->depth);
    }
}

/* ---- threads ---- */

static void put_number(struct uspi_text *out, const struct uspi_model_thread *thread) {
    if ((thread->flags & (USPI_THREAD_NUMBER | USPI_THREAD_ID)) == 0) {
        uspi_put_string(out, thread->name.length > 0 ? "Thread" : "Stack");
        return;
    }
    uspi_put_string(out, "Thread ");
    uspi_put_decimal(out, (thread->flags & USPI_THREAD_NUMBER) != 0 ? thread->number : thread->id, 0);
}

static bool has_crashed(const struct uspi_model_thread *thread) { return (thread->flags & USPI_THREAD_CRASHED) != 0; }

bool uspi_translate_name(struct uspi_text *out, const struct uspi_model_thread *thread) {
    if (thread->is_stack || (thread->name.length == 0 && thread->queue.length == 0)) return false;
    put_harmless(out, thread->name);
    if (thread->queue.length > 0) {
        uspi_put_string(out, thread->name.length > 0 ? "  Dispatch queue: " : "Dispatch queue: ");
        put_harmless(out, thread->queue);
    }
    return true;
}

void uspi_translate_title(struct uspi_text *out, const struct uspi_model_thread *thread) {
    if (thread->is_stack) {
        put_harmless(out, thread->name);
        return;
    }
    put_number(out, thread);
    if (has_crashed(thread)) uspi_put_string(out, " Crashed");
}

static void put_thread(struct uspi_text *out, const struct shown *shown, const struct uspi_model_thread *thread) {
    if (!uspi_shows_thread(shown->selection, thread)) return;
    if (!thread->is_stack && (thread->name.length > 0 || thread->queue.length > 0)) {
        put_number(out, thread);
        uspi_put_string(out, " name:  ");
        uspi_translate_name(out, thread);
        uspi_put_string(out, "\n");
    }
    uspi_translate_title(out, thread);
    uspi_put_string(out, ":\n");
    if ((thread->flags & USPI_THREAD_TREE) != 0) {
        put_tree(out, shown, thread);
    } else {
        put_frames(out, shown, thread);
    }
    uspi_put_string(out, "\n");
}

unsigned uspi_translate_rank(const struct uspi_model_thread *thread) {
    return thread->is_stack ? 0 : has_crashed(thread) ? 1 : 2;
}

/* Writes stacks that are not threads first, as an exception's backtrace in Apple's reports, then the thread that
 * crashed, then the others in their order; then the registers of the thread that crashed. */
static void put_threads(struct uspi_text *out, const struct shown *shown) {
    const struct uspi_model *model = shown->model;
    const struct uspi_model_part *part = shown->part;
    for (unsigned rank = 0; rank < USPI_RANKS; rank++) {
        for (size_t i = 0; i < part->thread_count; i++) {
            const struct uspi_model_thread *thread = &model->threads[part->thread + i];
            if (uspi_translate_rank(thread) == rank) put_thread(out, shown, thread);
        }
    }
    for (size_t i = 0; i < part->thread_count; i++) {
        const struct uspi_model_thread *thread = &model->threads[part->thread + i];
        if (has_crashed(thread) && uspi_shows_thread(shown->selection, thread)) uspi_state_put(out, model, thread);
    }
}

/* ---- images ---- */

void uspi_translate_image(struct uspi_text *out, const struct uspi_image_entry *image) {
    uspi_put_hex(out, image->first, 1);
    uspi_put_string(out, " - ");
    if (image->last > image->first) {
        uspi_put_hex(out, image->last, 1);
    } else {
        uspi_put_string(out, "???");
    }
    uspi_put_string(out, " ");
    put_harmless(out, image->name.length > 0 ? image->name : image->ident);
    if (image->arch != USP_ARCH_NONE) {
        uspi_put_string(out, " ");
        uspi_put_string(out, usp_variant_string(image->arch, image->variant));
    }
    if (image->id_size > 0) {
        uspi_put_string(out, " <");
        uspi_put_bytes(out, image->id, image->id_size);
        uspi_put_string(out, ">");
    }
    if (image->path.length > 0) uspi_put_string(out, " ");
    put_harmless(out, image->path);
    uspi_put_string(out, "\n");
}

static void put_images(struct uspi_text *out, const struct uspi_model *model, const struct uspi_model_part *part) {
    const uint64_t before = out->length;
    for (size_t i = 0; i < part->image_count; i++) {
        const struct uspi_image_entry *image = &model->images[part->image + i];
        if (image->first == 0 && image->last == 0) continue;
        if (out->length == before) uspi_put_string(out, "Binary Images:\n");
        uspi_translate_image(out, image);
    }
    if (out->length > before) uspi_put_string(out, "\n");
}

void uspi_model_put_text(const struct uspi_model *model, const struct usp_report_options *selection,
                         struct uspi_text *out) {
    for (size_t i = 0; i < model->part_count; i++) {
        const struct uspi_model_part *part = &model->parts[i];
        if (part->thread_count == 0 && part->process_count == 0) continue;
        if (out->length > 0) uspi_put_string(out, "----\n\n");
        uspi_translate_header(out, part);
        uspi_model_put_processes(model, part, out);
        put_threads(out, &(struct shown){model, part, selection});
        put_images(out, model, part);
    }
}
