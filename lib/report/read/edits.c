/* SPDX-License-Identifier: MIT */
/* Makes the changes to the text of a JSON document. See edits.h. */
#include "lib/report/read/edits.h"

#include "lib/base/array.h"
#include "lib/report/read/json_slots.h"
#include "lib/report/read/line.h"

void uspi_edits_reset(struct uspi_edits *edits) {
    edits->count = 0;
    edits->texts.size = 0;
}

void uspi_edits_clear(struct uspi_edits *edits) {
    free(edits->edits);
    uspi_gathered_clear(&edits->texts);
    *edits = (struct uspi_edits){.edits = NULL};
}

struct uspi_text *uspi_edit_begin(struct uspi_edits *edits, struct uspi_edit_text *edit) {
    edit->text = uspi_text_through(uspi_gathered_append, &edits->texts, edit->buffer, sizeof edit->buffer);
    return &edit->text;
}

int uspi_edit_end(struct uspi_edits *edits, struct uspi_edit_text *edit, size_t at, size_t removed) {
    int status = uspi_text_flush(&edit->text);
    if (status != USP_OK) return status;
    void *grown = uspi_array_reserve(edits->edits, &edits->capacity, edits->count + 1, sizeof *edits->edits);
    if (grown == NULL) return USP_ERROR_NO_MEMORY;
    edits->edits = grown;
    size_t length = (size_t)edit->text.length;
    edits->edits[edits->count++] = (struct uspi_edit){at, removed, edits->texts.size - length, length};
    return USP_OK;
}

/* How the document writes a member: `before` has the blanks and the quotation mark before a key, `between` all from the
 * quotation mark after the key to the value. */
struct style {
    struct uspi_span before, between;
};

static const struct style flat = {USPI_SPAN_INIT("\""), USPI_SPAN_INIT("\":")};

static struct style style_of(const struct uspi_json_document *document, size_t member) {
    const struct uspi_json_node *node = &document->nodes[member];
    const char *text = document->text.bytes;
    size_t quote = node->key - 1, from = quote, value = node->from - (node->kind == USPI_JSON_STRING);
    while (from > 0 && uspi_is_blank(text[from - 1])) from--;
    size_t colon = node->key + node->key_length + 1;
    return (struct style){{text + from, quote + 1 - from}, {text + colon - 1, value + 1 - colon}};
}

static void put_span(struct uspi_text *out, struct uspi_span span) { uspi_put(out, span.bytes, span.length); }

static void put_key(struct uspi_text *out, const struct style *style, struct uspi_span key) {
    put_span(out, style->before);
    put_span(out, key);
    put_span(out, style->between);
}

static void put_string(struct uspi_text *out, const char *text) {
    uspi_put_string(out, "\"");
    uspi_put_json_text(out, uspi_span_of(text));
    uspi_put_string(out, "\"");
}

static void put_number(struct uspi_text *out, const struct uspi_json_frame *frame, uint64_t number) {
    if (frame->is_string) uspi_put_string(out, "\"");
    uspi_put_decimal(out, number, 0);
    if (frame->is_string) uspi_put_string(out, "\"");
}

static void put_offset(struct uspi_text *out, const struct uspi_json_frame *frame, const struct usp_answer *answer) {
    uint64_t value = frame->shape->offset_is_start ? frame->frame.address - answer->offset : answer->offset;
    if (frame->is_hex) {
        uspi_put_string(out, "\"");
        uspi_put_hex(out, value, 1);
        uspi_put_string(out, "\"");
    } else {
        put_number(out, frame, value);
    }
}

static void put_path(struct uspi_text *out, const struct uspi_json_shape *shape,
                     const struct usp_source_frame *source) {
    const struct uspi_span file = uspi_span_of(source->file);
    uspi_put_string(out, "\"");
    if (!shape->has_bare_files && source->directory != NULL) {
        uspi_put_json_text(out, uspi_span_of(source->directory));
        uspi_put_string(out, "/");
    }
    uspi_put_json_text(out, shape->has_bare_files ? uspi_span_file_name(file) : file);
    uspi_put_string(out, "\"");
}

/* Members of a frame that were null and got a value. */
enum filled { FILLED_FILE = 1 << 0, FILLED_LINE = 1 << 1, FILLED_INLINES = 1 << 2 };

/* Writes the source file and line, unless they were `filled` in (enum filled). */
static void put_source(struct uspi_text *out, const struct style *style, const struct uspi_json_frame *frame,
                       const struct usp_source_frame *source, unsigned filled) {
    const bool is_object = frame->shape->source_key.length > 0;
    if (source->file == NULL || frame->shape->file_key.length == 0) return;
    if (is_object) {
        uspi_put_string(out, ",");
        put_key(out, style, frame->shape->source_key);
        uspi_put_string(out, "{");
        style = &flat;
    }
    if ((filled & FILLED_FILE) == 0) {
        if (!is_object) uspi_put_string(out, ",");
        put_key(out, style, frame->shape->file_key);
        put_path(out, frame->shape, source);
    }
    if (source->line > 0 && (filled & FILLED_LINE) == 0) {
        uspi_put_string(out, ",");
        put_key(out, style, frame->shape->line_key);
        put_number(out, frame, source->line);
    }
    if (source->line > 0 && source->column > 0 && is_object) {
        uspi_put_string(out, ",\"column\":");
        uspi_put_decimal(out, source->column, 0);
    }
    if (is_object) uspi_put_string(out, "}");
}

struct uspi_span uspi_inlines_key(const struct uspi_json_shape *shape) {
    return shape->inlines_key.length > 0 ? shape->inlines_key : USPI_SPAN("inlined");
}

/* Writes the inlined calls, innermost first, as an array of objects with the frame's own keys. */
static void put_calls(struct uspi_text *out, const struct uspi_json_frame *frame, const struct usp_answer *answer) {
    for (uint32_t i = 0; i + 1 < answer->count; i++) {
        uspi_put_string(out, i == 0 ? "[{" : ",{");
        put_key(out, &flat, frame->shape->name_key);
        put_string(out, answer->frames[i].function);
        put_source(out, &flat, frame, &answer->frames[i], 0);
        uspi_put_string(out, "}");
    }
    uspi_put_string(out, "]");
}

static void put_inlined(struct uspi_text *out, const struct style *style, const struct uspi_json_frame *frame,
                        const struct usp_answer *answer) {
    if (answer->count < 2 || frame->shape->inlined_key.length > 0) return;
    uspi_put_string(out, ",");
    put_key(out, style, uspi_inlines_key(frame->shape));
    put_calls(out, frame, answer);
}

static size_t begin_of_value(const struct uspi_json_document *document, size_t node) {
    return document->nodes[node].from - (document->nodes[node].kind == USPI_JSON_STRING);
}

static size_t length_of_value(const struct uspi_json_document *document, size_t node) {
    return document->nodes[node].length + (document->nodes[node].kind == USPI_JSON_STRING ? 2u : 0u);
}

static int replace_member(struct uspi_edits *edits, const struct uspi_json_document *document,
                          struct uspi_edit_text *edit, size_t member) {
    return uspi_edit_end(edits, edit, begin_of_value(document, member), length_of_value(document, member));
}

/* Appends an element to a frame that is an array. */
static int edit_array(struct uspi_edits *edits, const struct uspi_json_document *document,
                      const struct uspi_json_frame *frame, const struct usp_answer *answer) {
    const struct uspi_json_node *node = &document->nodes[frame->node];
    const struct usp_source_frame *source = &answer->frames[answer->count - 1];
    struct uspi_edit_text edit;
    struct uspi_text *out = uspi_edit_begin(edits, &edit);
    uspi_put_string(out, ",\"");
    uspi_put_json_text(out, uspi_span_of(source->function));
    uspi_put_string(out, " + ");
    uspi_put_decimal(out, answer->offset, 0);
    uspi_put_string(out, "\"");
    return uspi_edit_end(edits, &edit, node->from + node->length - 1, 0);
}

/* Adds the inlined calls as frames of their own before the frame. Copies the members that give its place. */
static int add_inlined_frames(struct uspi_edits *edits, const struct uspi_json_document *document,
                              const struct uspi_json_frame *frame, const struct usp_answer *answer) {
    const struct uspi_json_shape *shape = frame->shape;
    if (answer->count < 2 || shape->inlined_key.length == 0) return USP_OK;
    /* A frame that is the value of a member is not in an array, so other frames cannot precede it. */
    if (document->nodes[frame->node].key != 0) return USP_OK;
    const struct style style = style_of(document, frame->anchor);
    struct uspi_edit_text edit;
    struct uspi_text *out = uspi_edit_begin(edits, &edit);
    for (uint32_t i = 0; i + 1 < answer->count; i++) {
        uspi_put_string(out, "{");
        for (size_t k = 0; k < sizeof shape->place_keys / sizeof *shape->place_keys; k++) {
            const size_t member = uspi_json_member(document, frame->node, shape->place_keys[k]);
            if (member == USPI_JSON_NONE) continue;
            const size_t value = begin_of_value(document, member);
            put_key(out, &style, shape->place_keys[k]);
            put_span(out, uspi_span_part(document->text, value, value + length_of_value(document, member)));
            uspi_put_string(out, ",");
        }
        put_key(out, &style, shape->inlined_key);
        uspi_put_string(out, "true,");
        put_key(out, &style, shape->name_key);
        put_string(out, answer->frames[i].function);
        put_source(out, &style, frame, &answer->frames[i], 0);
        uspi_put_string(out, "},");
    }
    return uspi_edit_end(edits, &edit, document->nodes[frame->node].from, 0);
}

static bool is_null(const struct uspi_json_document *document, size_t node) {
    return document->nodes[node].kind == USPI_JSON_LITERAL &&
           uspi_span_is(uspi_json_text(document, node), USPI_SPAN("null"));
}

/* Whether an object has a member that is null. Hardly any has. */
static bool has_null(const struct uspi_json_document *document, size_t object) {
    const size_t end = document->nodes[object].next;
    for (size_t i = object + 1; i < end; i = document->nodes[i].next) {
        if (is_null(document, i)) return true;
    }
    return false;
}

/* Whether an object has a member that is not null. */
static bool has_value(const struct uspi_json_document *document, size_t object, struct uspi_span key) {
    const size_t member = key.length > 0 ? uspi_json_member(document, object, key) : USPI_JSON_NONE;
    return member != USPI_JSON_NONE && !is_null(document, member);
}

/* An earlier run may have added the source line, also to code without a function. */
bool uspi_json_has_source(const struct uspi_json_document *document, const struct uspi_json_frame *frame) {
    const struct uspi_json_shape *shape = frame->shape;
    const struct uspi_span key = shape->source_key.length > 0 ? shape->source_key : shape->file_key;
    return has_value(document, frame->node, key);
}

/* Replaces a frame's members that are null and for which the answer has a value. *filled: which of them. */
static int fill_nulls(struct uspi_edits *edits, const struct uspi_json_document *document,
                      const struct uspi_json_frame *frame, const struct usp_answer *answer, unsigned *filled) {
    const struct uspi_json_shape *shape = frame->shape;
    const struct usp_source_frame *source = &answer->frames[answer->count - 1];
    const bool has_file = source->file != NULL;
    *filled = 0;
    if (!has_null(document, frame->node)) return USP_OK;
    const struct {
        unsigned bit;
        bool has_value;
        struct uspi_span key;
    } members[] = {
        {FILLED_FILE, has_file, shape->file_key},
        {FILLED_LINE, has_file && source->line > 0, shape->line_key},
        {FILLED_INLINES, answer->count > 1, shape->inlines_key},
    };
    int status = USP_OK;
    for (size_t i = 0; status == USP_OK && i < sizeof members / sizeof *members; i++) {
        const struct uspi_span key = members[i].key;
        if (shape->source_key.length > 0 || key.length == 0 || !members[i].has_value) continue;
        const size_t member = uspi_json_member(document, frame->node, key);
        if (member == USPI_JSON_NONE || !is_null(document, member)) continue;
        struct uspi_edit_text edit;
        struct uspi_text *out = uspi_edit_begin(edits, &edit);
        if (members[i].bit == FILLED_FILE) put_path(out, shape, source);
        if (members[i].bit == FILLED_LINE) put_number(out, frame, source->line);
        if (members[i].bit == FILLED_INLINES) put_calls(out, frame, answer);
        status = replace_member(edits, document, &edit, member);
        *filled |= members[i].bit;
    }
    return status;
}

/* Replaces the values of a frame's members for its name and its offset. */
static int replace_name(struct uspi_edits *edits, const struct uspi_json_document *document,
                        const struct uspi_json_frame *frame, const struct usp_answer *answer) {
    struct uspi_edit_text edit;
    int status = USP_OK;
    if (frame->name_member != USPI_JSON_NONE) {
        put_string(uspi_edit_begin(edits, &edit), answer->frames[answer->count - 1].function);
        status = replace_member(edits, document, &edit, frame->name_member);
    }
    if (status == USP_OK && frame->offset_member != USPI_JSON_NONE) {
        put_offset(uspi_edit_begin(edits, &edit), frame, answer);
        status = replace_member(edits, document, &edit, frame->offset_member);
    }
    return status;
}

/* Writes the members for the name and the offset that a frame does not have. */
static void add_name(struct uspi_text *out, const struct style *style, const struct uspi_json_frame *frame,
                     const struct usp_answer *answer) {
    if (frame->name_member == USPI_JSON_NONE) {
        uspi_put_string(out, ",");
        put_key(out, style, frame->shape->name_key);
        put_string(out, answer->frames[answer->count - 1].function);
    }
    if (frame->offset_member == USPI_JSON_NONE && frame->shape->offset_key.length > 0) {
        uspi_put_string(out, ",");
        put_key(out, style, frame->shape->offset_key);
        put_offset(out, frame, answer);
    }
}

int uspi_edits_add_frame(struct uspi_edits *edits, const struct uspi_json_document *document,
                         const struct uspi_json_frame *frame, const struct usp_answer *answer) {
    const struct usp_source_frame *source = &answer->frames[answer->count - 1];
    struct uspi_edit_text edit;
    if (document->nodes[frame->node].kind == USPI_JSON_ARRAY) return edit_array(edits, document, frame, answer);
    int status = add_inlined_frames(edits, document, frame, answer);
    const bool has_line = uspi_json_has_source(document, frame);
    unsigned filled = 0;
    if (status == USP_OK && !has_line) status = fill_nulls(edits, document, frame, answer, &filled);
    if (status != USP_OK) return status;
    const bool keeps_name = (frame->frame.flags & USPI_FRAME_NAMED) != 0;
    if (!keeps_name) status = replace_name(edits, document, frame, answer);
    if (status != USP_OK) return status;
    const struct style style = style_of(document, frame->anchor);
    struct uspi_text *out = uspi_edit_begin(edits, &edit);
    if (!keeps_name) add_name(out, &style, frame, answer);
    if (!has_line) put_source(out, &style, frame, source, filled);
    const bool has_calls = answer->count > 1;
    if (has_calls && uspi_json_member(document, frame->node, uspi_inlines_key(frame->shape)) == USPI_JSON_NONE) {
        put_inlined(out, &style, frame, answer);
    }
    if (edit.text.length == 0) return USP_OK;
    size_t at = begin_of_value(document, frame->anchor) + length_of_value(document, frame->anchor);
    return uspi_edit_end(edits, &edit, at, 0);
}

int uspi_edits_add_line(struct uspi_edits *edits, const struct uspi_json_document *document,
                        const struct uspi_json_frame *frame, const struct usp_answer *answer) {
    struct uspi_edit_text edit;
    if (document->nodes[frame->node].kind == USPI_JSON_ARRAY || uspi_json_has_source(document, frame)) return USP_OK;
    const struct style style = style_of(document, frame->anchor);
    const struct usp_answer line = {.frames = answer->frames, .count = 1};
    unsigned filled;
    int status = fill_nulls(edits, document, frame, &line, &filled);
    if (status != USP_OK) return status;
    put_source(uspi_edit_begin(edits, &edit), &style, frame, &answer->frames[0], filled);
    if (edit.text.length == 0) return USP_OK;
    size_t at = begin_of_value(document, frame->anchor) + length_of_value(document, frame->anchor);
    return uspi_edit_end(edits, &edit, at, 0);
}

int uspi_edits_add_counts(struct uspi_edits *edits, const struct uspi_json_document *document,
                          const struct usp_reader_counts *before, const struct usp_reader_counts *counts,
                          size_t member) {
    const struct uspi_json_node *root = &document->nodes[0];
    struct uspi_edit_text edit;
    if (root->kind != USPI_JSON_OBJECT) return USP_OK;
    const struct {
        const char *key;
        uint64_t value;
    } values[] = {
        {"frames", counts->frames - before->frames},       {"named", counts->named - before->named},
        {"answered", counts->answered - before->answered}, {"no_symbol", counts->no_symbol - before->no_symbol},
        {"no_file", counts->no_file - before->no_file},    {"no_image", counts->no_image - before->no_image},
    };
    struct uspi_text *out = uspi_edit_begin(edits, &edit);
    if (member == USPI_JSON_NONE) uspi_put_string(out, document->count > 1 ? ",\"unspool\":" : "\"unspool\":");
    uspi_put_string(out, "{");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        uspi_put_string(out, i > 0 ? ",\"" : "\"");
        uspi_put_string(out, values[i].key);
        uspi_put_string(out, "\":");
        uspi_put_decimal(out, values[i].value, 0);
    }
    uspi_put_string(out, "}");
    if (member == USPI_JSON_NONE) return uspi_edit_end(edits, &edit, root->from + root->length - 1, 0);
    return uspi_edit_end(edits, &edit, begin_of_value(document, member), length_of_value(document, member));
}

/* Orders edits by position, those of one position by creation. Edits of one object, and of nested objects, may be made
 * in another order. */
static int compare_edits(const void *a, const void *b) {
    const struct uspi_edit *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

static bool is_sorted(const struct uspi_edit *edits, size_t count) {
    for (size_t i = 1; i < count; i++) {
        if (edits[i - 1].at > edits[i].at) return false;
    }
    return true;
}

void uspi_edits_sort(struct uspi_edits *edits) {
    if (!is_sorted(edits->edits, edits->count)) {
        qsort(edits->edits, edits->count, sizeof *edits->edits, compare_edits);
    }
}
