/* SPDX-License-Identifier: MIT */
/* Writes a model as JSON, for programs: doc/schema/report.schema.json. */
#include "lib/base/json.h"
#include "lib/report/read/model.h"

static void put_span(struct uspi_json *json, const char *key, struct uspi_span span) {
    /* Strings of a model are NUL-terminated. */
    if (span.length > 0) uspi_json_string(json, key, span.bytes);
}

static void put_source(struct uspi_json *json, const struct uspi_model_source *source) {
    put_span(json, "source_directory", source->directory);
    put_span(json, "source_file", source->file);
    if (source->line > 0) uspi_json_number(json, "source_line", source->line);
    if (source->column > 0) uspi_json_number(json, "source_column", source->column);
}

static void put_symbol(struct uspi_json *json, const struct uspi_model *model, const struct uspi_model_frame *frame) {
    const size_t count = frame->code->source_count;
    if (count == 0) {
        uspi_json_string(json, "missing",
                         !uspi_model_is_located(frame) ? "image"
                         : !frame->code->has_file      ? "file"
                                                       : "symbol");
        return;
    }
    const struct uspi_model_source *sources = &model->sources[frame->code->source];
    put_span(json, "symbol", sources[count - 1].function);
    if ((frame->flags & USPI_MODEL_HAS_OFFSET) != 0) uspi_json_number(json, "symbol_offset", frame->code->offset);
    put_source(json, &sources[count - 1]);
    if (count == 1) return;
    uspi_json_begin_array(json, "inlined");
    for (size_t i = 0; i + 1 < count; i++) {
        uspi_json_begin_object(json, NULL);
        put_span(json, "symbol", sources[i].function);
        put_source(json, &sources[i]);
        uspi_json_end_object(json);
    }
    uspi_json_end_array(json);
}

static void put_frame(struct uspi_json *json, const struct uspi_model *model, const struct uspi_model_frame *frame) {
    static const char *const bases[] = {"load", "linked", "file", "text"};
    uspi_json_begin_object(json, NULL);
    put_span(json, "image_name", frame->code->image);
    if (frame->code->id_size > 0) uspi_json_bytes(json, "image_id", frame->code->id, frame->code->id_size);
    if ((frame->flags & USPI_FRAME_ADDRESS) != 0) uspi_json_address(json, "address", frame->code->address);
    if (uspi_model_is_located(frame)) {
        uspi_json_address(json, "image_offset", frame->code->place);
        if (frame->code->base != USP_PLACE_LOAD) uspi_json_string(json, "counts_from", bases[frame->code->base]);
    }
    put_symbol(json, model, frame);
    if ((frame->flags & USPI_FRAME_NODE) != 0) {
        uspi_json_number(json, "samples", frame->count);
        uspi_json_number(json, "level", frame->depth);
        if ((frame->flags & USPI_MODEL_HEAVIEST) != 0) uspi_json_bool(json, "heaviest", true);
    }
    uspi_json_end_object(json);
}

static void put_registers(struct uspi_json *json, const struct uspi_model *model,
                          const struct uspi_model_thread *thread) {
    if (thread->register_count == 0) return;
    uspi_json_begin_array(json, "registers");
    for (size_t i = 0; i < thread->register_count; i++) {
        const struct uspi_model_register *shown = &model->registers[thread->registers + i];
        uspi_json_begin_object(json, NULL);
        put_span(json, "name", shown->name);
        uspi_json_address(json, "value", shown->value);
        put_span(json, "description", shown->words);
        uspi_json_end_object(json);
    }
    uspi_json_end_array(json);
}

static void put_frames(struct uspi_json *json, const struct uspi_model *model,
                       const struct usp_report_options *selection, const struct uspi_model_thread *thread) {
    size_t left_out = 0;
    uspi_json_begin_array(json, "frames");
    for (size_t i = 0; i < thread->frame_count; i++) {
        const struct uspi_model_frame *frame = &model->frames[thread->frame + i];
        if (uspi_shows_frame(selection, frame)) {
            put_frame(json, model, frame);
        } else {
            left_out++;
        }
    }
    uspi_json_end_array(json);
    if (left_out > 0) uspi_json_number(json, "left_out", left_out);
}

static void put_thread(struct uspi_json *json, const struct uspi_model *model,
                       const struct usp_report_options *selection, const struct uspi_model_thread *thread) {
    uspi_json_begin_object(json, NULL);
    if (thread->is_stack) {
        put_span(json, "stack", thread->name);
    } else {
        if ((thread->flags & USPI_THREAD_NUMBER) != 0) uspi_json_number(json, "number", thread->number);
        if ((thread->flags & USPI_THREAD_ID) != 0) uspi_json_number(json, "id", thread->id);
        put_span(json, "name", thread->name);
        put_span(json, "queue", thread->queue);
        if ((thread->flags & USPI_THREAD_CRASHED) != 0) uspi_json_bool(json, "crashed", true);
    }
    if ((thread->flags & USPI_THREAD_TREE) != 0) uspi_json_bool(json, "tree", true);
    put_frames(json, model, selection, thread);
    put_registers(json, model, thread);
    uspi_json_end_object(json);
}

static void put_image(struct uspi_json *json, const struct uspi_image_entry *image) {
    uspi_json_begin_object(json, NULL);
    put_span(json, "name", image->name.length > 0 ? image->name : image->ident);
    put_span(json, "path", image->path);
    if (image->arch != USP_ARCH_NONE) uspi_json_arch(json, image->arch, image->variant);
    if (image->id_size > 0) uspi_json_bytes(json, "image_id", image->id, image->id_size);
    if (image->first > 0 || image->last > 0) {
        uspi_json_address(json, "first", image->first);
        uspi_json_address(json, "last", image->last);
    }
    uspi_json_end_object(json);
}

/* Values at this depth and deeper share a line. */
#define FRAME_DEPTH 7 /* a frame */
#define IMAGE_DEPTH 5 /* an image */

static void put_processes(struct uspi_json *json, const struct uspi_model *model, const struct uspi_model_part *part) {
    if (part->page_size > 0) uspi_json_number(json, "page_size", part->page_size);
    uspi_json_begin_array(json, "processes");
    for (size_t i = part->process; i < part->process + part->process_count; i++) {
        const struct uspi_model_process *process = &model->processes[i];
        uspi_json_begin_object(json, NULL);
        put_span(json, "name", process->name);
        uspi_json_number(json, "pid", process->pid);
        uspi_json_number(json, "pages", process->pages);
        if (process->peak_pages > 0) uspi_json_number(json, "peak_pages", process->peak_pages);
        if (process->limit_pages > 0) uspi_json_number(json, "limit_pages", process->limit_pages);
        put_span(json, "states", process->states);
        put_span(json, "reason", process->reason);
        uspi_json_end_object(json);
    }
    uspi_json_end_array(json);
}

static void put_part(struct uspi_json *json, const struct uspi_model *model, const struct uspi_model_part *part,
                     const struct usp_report_options *selection) {
    uspi_json_begin_object(json, NULL);
    uspi_json_string(json, "format", part->format);
    uspi_json_begin_object(json, "fields");
    for (uint32_t i = 0; i < USPI_FIELD_COUNT; i++) {
        put_span(json, uspi_field_key((enum uspi_field)i), part->fields[i]);
    }
    uspi_json_end_object(json);
    uspi_json_begin_array(json, "threads");
    for (size_t i = 0; i < part->thread_count; i++) {
        const struct uspi_model_thread *thread = &model->threads[part->thread + i];
        if (uspi_shows_thread(selection, thread)) put_thread(json, model, selection, thread);
    }
    uspi_json_end_array(json);
    json->flat = IMAGE_DEPTH;
    uspi_json_begin_array(json, "images");
    for (size_t i = 0; i < part->image_count; i++) put_image(json, &model->images[part->image + i]);
    uspi_json_end_array(json);
    if (part->process_count > 0) put_processes(json, model, part);
    json->flat = FRAME_DEPTH;
    uspi_json_end_object(json);
}

void uspi_model_put_json(const struct uspi_model *model, const struct usp_report_options *selection,
                         struct uspi_text *out) {
    struct uspi_json json = {.out = out, .flat = FRAME_DEPTH};
    const struct usp_reader_counts *counts = &model->counts;
    uspi_json_begin_object(&json, NULL);
    uspi_json_number(&json, "version", 1);
    uspi_json_begin_array(&json, "reports");
    for (size_t i = 0; i < model->part_count; i++) {
        if (model->parts[i].thread_count > 0 || model->parts[i].process_count > 0)
            put_part(&json, model, &model->parts[i], selection);
    }
    uspi_json_end_array(&json);
    uspi_json_begin_object(&json, "counts");
    uspi_json_number(&json, "frames", counts->frames);
    uspi_json_number(&json, "named", counts->named);
    uspi_json_number(&json, "answered", counts->answered);
    uspi_json_number(&json, "no_symbol", counts->no_symbol);
    uspi_json_number(&json, "no_file", counts->no_file);
    uspi_json_number(&json, "no_image", counts->no_image);
    uspi_json_end_object(&json);
    uspi_json_end_object(&json);
}
