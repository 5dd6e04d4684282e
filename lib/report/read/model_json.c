/* SPDX-License-Identifier: MIT */
/* Builds a model of JSON documents: decides which object is a report, which thread an array of frames belongs to, and
 * which images a report has. model_fields.c finds the fields. */
#include "lib/report/read/model.h"
#include "lib/report/read/model_fields.h"
#include "lib/report/read/model_state.h"

#include "lib/base/array.h"
#include "lib/report/read/line.h"

#include <stdlib.h>

/* What the object that contains a thread's frames says about the thread. */
struct thread_facts {
    size_t holder; /* the object; USPI_JSON_NONE: none was read */
    uint32_t flags;
    uint64_t number, id; /* valid with USPI_THREAD_NUMBER and USPI_THREAD_ID */
    struct uspi_span name, queue;
};

struct builder {
    struct uspi_model *model;
    struct usp_reader *reader;
    size_t part_end; /* the first node after the object of the last report; 0: none has begun */
    size_t list;     /* the array of the last thread's frames */
    uint32_t depth;  /* of the elements of that array */
    size_t threads;  /* threads of the last report so far; the number of the next thread, if it has none itself */
    struct thread_facts facts;      /* of the last thread; kept because one object may contain many arrays */
    bool is_crash;                  /* the last report is MetricKit's diagnostic of a crash */
    struct uspi_outer_values outer; /* of the object around the last report */
    size_t samples; /* the array of samples whose frames the last thread has; USPI_JSON_NONE: it has those of a stack */
    size_t *shown;  /* for each table of images, the last report that got its images, counted from 1 */
    size_t shown_capacity, shown_count;
};

/* ---- reports ---- */

static bool is_kept(const struct uspi_json_document *document, size_t node, enum uspi_json_kind kind) {
    return node != USPI_JSON_NONE && document->nodes[node].kind == kind;
}

/* Returns the node of level `depth` around the frame, counted from 1; USPI_JSON_NONE for 0. */
static size_t node_at(const struct uspi_documents *documents, size_t depth) {
    return depth > 0 ? documents->levels[depth - 1].node : USPI_JSON_NONE;
}

/* Number of keys around a report, and around an array of frames, that may say what it is. */
#define KEYS_AROUND 3

/* Returns what the nearest key around a level means to a shape; empty: nothing. */
static struct uspi_span label_of(const struct uspi_documents *documents, size_t depth,
                                 const struct uspi_json_label *labels) {
    for (size_t i = 0; i < KEYS_AROUND && i < depth; i++) {
        const struct uspi_span key = uspi_json_key(&documents->document, node_at(documents, depth - i));
        for (size_t k = 0; key.length > 0 && labels != NULL && labels[k].key.length > 0; k++) {
            if (uspi_span_is(key, labels[k].key)) return labels[k].label;
        }
    }
    return (struct uspi_span){"", 0};
}

static struct uspi_span event_of(const struct uspi_documents *documents, size_t report_depth) {
    struct uspi_span event = {"", 0};
    for (size_t i = 0; event.length == 0 && uspi_json_shapes[i] != NULL; i++) {
        event = label_of(documents, report_depth, uspi_json_shapes[i]->events);
    }
    return event;
}

/* Whether a report is MetricKit's diagnostic of a crash, by the key around it. A diagnostic that was written alone has
 * no such key; only a crash has an exception, a signal or a reason of its termination. */
static bool is_crash(const struct uspi_json_document *document, size_t report, struct uspi_span event) {
    static const struct uspi_span facts[] = {USPI_SPAN_INIT("exceptionType"), USPI_SPAN_INIT("signal"),
                                             USPI_SPAN_INIT("terminationReason")};
    if (event.length > 0) return uspi_span_is(event, USPI_SPAN("crash"));
    size_t data = uspi_json_member(document, report, USPI_SPAN("diagnosticMetaData"));
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (uspi_json_member(document, data, facts[i]) != USPI_JSON_NONE) return true;
    }
    return false;
}

/* Begins the report of a frame, unless it has begun. `depth` is the depth of the frame, `format` its shape; NULL: not
 * known. */
static bool begin_report(struct builder *builder, size_t node, uint32_t depth, const struct uspi_json_shape *format) {
    struct uspi_documents *documents = &builder->reader->documents;
    const struct uspi_json_document *document = &documents->document;
    struct uspi_model *model = builder->model;
    if (node < builder->part_end) return true;
    /* The innermost report around the frame; the whole document when there is none. */
    size_t report_depth, outer_depth;
    uspi_documents_find_report(documents, depth, &report_depth, &outer_depth);
    const size_t report = report_depth > 0 ? node_at(documents, report_depth) : 0;
    builder->part_end = document->nodes[report].next;
    builder->list = USPI_JSON_NONE;
    builder->threads = 0;
    /* A preceding document without frames, such as the first line of an .ips report, belongs to this report. */
    const struct uspi_model_part *last = model->part_count > 0 ? &model->parts[model->part_count - 1] : NULL;
    bool goes_on = last != NULL && last->thread_count == 0 && last->process_count == 0;
    if (!goes_on && uspi_model_add_part(model) == NULL) return false;
    uspi_outer_values_find(&builder->outer, document, node_at(documents, outer_depth));
    if (!uspi_model_take_fields(model, document, report, format)) return false;
    if (!uspi_model_take_outer(model, document, &builder->outer)) return false;
    const struct uspi_span event = event_of(documents, report_depth);
    builder->is_crash = is_crash(document, report, event);
    return uspi_model_set_field(model, USPI_FIELD_EVENT, event);
}

/* Adds the images of a table to the last report, once. */
static bool take_images(struct builder *builder, size_t table) {
    const struct uspi_text_tables *tables = &builder->reader->documents.tables;
    if (table == SIZE_MAX) return true;
    const size_t count = uspi_log_tables_count(tables), part = builder->model->part_count;
    if (builder->shown_count < count) {
        if (!uspi_room_for(&builder->shown, &builder->shown_capacity, 0, count, sizeof *builder->shown)) return false;
        for (; builder->shown_count < count; builder->shown_count++) builder->shown[builder->shown_count] = 0;
    }
    if (builder->shown[table] == part) return true;
    builder->shown[table] = part;
    return uspi_model_add_images(builder->model, tables, table);
}

/* ---- threads ---- */

static bool copy_member(struct builder *builder, size_t object, struct uspi_span key, struct uspi_span *copy) {
    const struct uspi_json_document *document = &builder->reader->documents.document;
    if (copy->length > 0) return true;
    return uspi_model_copy_value(builder->model, document, uspi_json_member(document, object, key), copy);
}

static bool take_number(const struct uspi_json_document *document, size_t object, struct uspi_span key,
                        uint64_t *value) {
    size_t member = uspi_json_member(document, object, key);
    bool is_hex;
    return member != USPI_JSON_NONE && uspi_json_uint(document, member, value, &is_hex);
}

/* Whether an object describes the thread that crashed. MetricKit marks the thread that every kind of diagnostic is
 * about; only that of a crash has crashed. Sentry says of an exception whether the program has handled it. */
static bool describes_crashed(const struct builder *builder, size_t holder) {
    const struct uspi_json_document *document = &builder->reader->documents.document;
    const size_t mechanism = uspi_json_member(document, holder, USPI_SPAN("mechanism"));
    const size_t handled =
        mechanism != USPI_JSON_NONE ? uspi_json_member(document, mechanism, USPI_SPAN("handled")) : USPI_JSON_NONE;
    if (handled != USPI_JSON_NONE && uspi_span_is(uspi_json_text(document, handled), USPI_SPAN("false"))) return true;
    return uspi_member_true(document, holder, USPI_SPAN("triggered")) ||
           uspi_member_true(document, holder, USPI_SPAN("crashed")) ||
           (builder->is_crash && uspi_member_true(document, holder, USPI_SPAN("threadAttributed")));
}

static bool read_facts(struct builder *builder, size_t holder) {
    const struct uspi_json_document *document = &builder->reader->documents.document;
    struct thread_facts *facts = &builder->facts;
    if (holder != USPI_JSON_NONE && facts->holder == holder) return true;
    *facts = (struct thread_facts){.holder = holder};
    if (holder == USPI_JSON_NONE) return true;
    if (describes_crashed(builder, holder)) facts->flags |= USPI_THREAD_CRASHED;
    if (take_number(document, holder, USPI_SPAN("index"), &facts->number)) facts->flags |= USPI_THREAD_NUMBER;
    if (take_number(document, holder, USPI_SPAN("id"), &facts->id)) facts->flags |= USPI_THREAD_ID;
    return copy_member(builder, holder, USPI_SPAN("name"), &facts->name) &&
           copy_member(builder, holder, USPI_SPAN("queue"), &facts->queue) &&
           copy_member(builder, holder, USPI_SPAN("dispatch_queue"), &facts->queue) &&
           copy_member(builder, holder, USPI_SPAN("dispatch_queue_label"), &facts->queue);
}

/* Adds what the keys of the frames' shape say. */
static bool read_shape_facts(struct builder *builder, size_t holder, const struct uspi_json_shape *shape) {
    const struct uspi_json_document *document = &builder->reader->documents.document;
    struct thread_facts *facts = &builder->facts;
    if (holder == USPI_JSON_NONE || shape == NULL) return true;
    if (shape->crashed_key.length > 0 && uspi_member_true(document, holder, shape->crashed_key)) {
        facts->flags |= USPI_THREAD_CRASHED;
    }
    if (shape->id_key.length > 0 && take_number(document, holder, shape->id_key, &facts->id)) {
        facts->flags |= USPI_THREAD_ID;
    }
    return shape->thread_name_key.length == 0 || copy_member(builder, holder, shape->thread_name_key, &facts->name);
}

/* Returns the name of the stack if frames are not those of a thread; otherwise an empty span. is_text: they are lines in
 * strings. */
static struct uspi_span stack_of(const struct builder *builder, const struct uspi_json_object *object, bool is_text) {
    struct uspi_span stack = {"", 0};
    /* Datadog: an object with a stack in a string says whether the thread has crashed. */
    const bool is_thread = is_text && object->holder != USPI_JSON_NONE &&
                           uspi_json_member(object->document, object->holder, USPI_SPAN("crashed")) != USPI_JSON_NONE;
    if (is_thread) return stack;
    for (size_t i = 0; stack.length == 0 && uspi_json_shapes[i] != NULL; i++) {
        const struct uspi_json_label *labels = uspi_json_shapes[i]->stacks;
        for (size_t k = 0; labels != NULL && labels[k].key.length > 0; k++) {
            if (uspi_span_is(object->list_key, labels[k].key)) return labels[k].label;
        }
        if (!is_text) stack = label_of(&builder->reader->documents, object->depth, labels);
    }
    /* Frames in a string: the key of the string names their stack. */
    return is_text && stack.length == 0 ? object->list_key : stack;
}

/* Takes the registers that an object around a thread's frames has. To be called once for each object, because it may
 * contain many arrays. */
static bool take_state(struct builder *builder, size_t holder) {
    static const struct uspi_span keys[] = {USPI_SPAN_INIT("threadState"), USPI_SPAN_INIT("registers")};
    const struct uspi_json_document *document = &builder->reader->documents.document;
    bool is_taken = true;
    for (size_t i = 0; is_taken && holder != USPI_JSON_NONE && i < sizeof keys / sizeof *keys; i++) {
        const size_t object = uspi_json_member(document, holder, keys[i]);
        is_taken = uspi_state_take_object(builder->model, builder->model->thread_count - 1, document, object);
    }
    return is_taken;
}

/* Names a thread by its process and by its own name: "App [417]: worker (kernel)". Its number becomes its id. */
static bool name_owner(struct builder *builder, const struct uspi_json_object *object,
                       const struct uspi_json_shape *shape, struct uspi_model_thread *thread) {
    const struct uspi_json_document *document = object->document;
    struct uspi_model *model = builder->model;
    struct uspi_model_room room = {.bytes = NULL};
    struct uspi_span name, own = thread->name;
    if (shape == NULL || shape->owner_keys[0].length == 0 || object->depth <= 3) return true;
    const size_t owner = node_at(&builder->reader->documents, object->depth - 3);
    if (!uspi_model_copy_value(model, document, uspi_json_member(document, owner, shape->owner_keys[0]), &name)) {
        return false;
    }
    if ((thread->flags & USPI_THREAD_ID) != 0) thread->number = thread->id;
    const size_t id = uspi_json_member(document, owner, shape->owner_keys[1]);
    if (name.length == 0 || id == USPI_JSON_NONE) return true;
    thread->name = name;
    const struct uspi_span parts[] = {
        USPI_SPAN(" ["),
        uspi_json_text(document, id),
        own.length > 0 ? USPI_SPAN("]: ") : USPI_SPAN("]"),
        own,
        uspi_span_is(object->list_key, shape->kernel_key) ? USPI_SPAN(" (kernel)") : USPI_SPAN(""),
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].length > 0 && !uspi_model_append(model, parts[i], &thread->name, &room)) return false;
    }
    return true;
}

/* Begins the thread of an array of frames. The object that contains the array describes it, or the object around that
 * ("backtrace": {"contents"}). */
static bool begin_thread(struct builder *builder, const struct uspi_json_object *object,
                         const struct uspi_json_shape *shape) {
    const struct uspi_documents *documents = &builder->reader->documents;
    struct uspi_model *model = builder->model;
    struct uspi_model_thread *thread = uspi_model_add_thread(model);
    if (thread == NULL) return false;
    builder->list = object->list;
    builder->depth = object->depth;
    const struct uspi_span stack = stack_of(builder, object, shape == NULL);
    if (stack.length > 0) {
        thread->is_stack = true;
        return uspi_model_copy(model, stack, &thread->name);
    }
    size_t holder = object->holder;
    const struct uspi_span key =
        holder != USPI_JSON_NONE ? uspi_json_key(object->document, holder) : (struct uspi_span){"", 0};
    if (object->depth > 2 &&
        (uspi_span_is(key, USPI_SPAN("backtrace")) || uspi_span_is(key, USPI_SPAN("stacktrace")))) {
        holder = node_at(documents, object->depth - 2);
    }
    const bool is_new = builder->facts.holder != holder;
    if (!read_facts(builder, holder) || !read_shape_facts(builder, holder, shape)) return false;
    const struct thread_facts *facts = &builder->facts;
    thread->flags = facts->flags | USPI_THREAD_NUMBER;
    thread->number = (facts->flags & USPI_THREAD_NUMBER) != 0 ? facts->number : builder->threads;
    thread->id = facts->id;
    thread->name = facts->name;
    thread->queue = facts->queue;
    builder->threads++;
    if (!name_owner(builder, object, shape, thread)) return false;
    if (!is_new) return true;
    return take_state(builder, object->holder) && (holder == object->holder || take_state(builder, holder));
}

/* ---- frames ---- */

/* Reads the source file and line of a frame with a name, by the keys that answers use for them. */
static void take_source(const struct uspi_json_document *document, const struct uspi_json_shape *shape, size_t object,
                        struct uspi_frame *frame) {
    if (shape->source_key.length > 0) object = uspi_json_member(document, object, shape->source_key);
    if (!is_kept(document, object, USPI_JSON_OBJECT)) return;
    const size_t file = uspi_json_member(document, object, shape->file_key);
    uint64_t line, column;
    if (!is_kept(document, file, USPI_JSON_STRING)) return;
    frame->file = uspi_json_text(document, file);
    if (take_number(document, object, shape->line_key, &line)) frame->line = line < UINT32_MAX ? (uint32_t)line : 0;
    if (take_number(document, object, USPI_SPAN("column"), &column) && column < UINT32_MAX) {
        frame->column = (uint32_t)column;
    }
}

/* Adds the inlined calls of a frame with a name, before the frame. They are in the member that edits.c writes. */
static bool add_inlined(struct builder *builder, const struct uspi_json_frame *frame,
                        const struct uspi_located *located) {
    const struct uspi_json_document *document = &builder->reader->documents.document;
    const size_t calls = uspi_json_member(document, frame->node, uspi_inlines_key(frame->shape));
    const struct usp_answer none = {.frames = NULL};
    if (!is_kept(document, calls, USPI_JSON_ARRAY)) return true;
    for (size_t i = calls + 1; i < document->nodes[calls].next; i = document->nodes[i].next) {
        struct uspi_located call = *located;
        const size_t name = uspi_json_member(document, i, frame->shape->name_key);
        if (!is_kept(document, name, USPI_JSON_STRING)) continue;
        call.frame.flags |= USPI_FRAME_INLINED;
        call.frame.file = (struct uspi_span){"", 0};
        call.frame.line = call.frame.column = 0;
        take_source(document, frame->shape, i, &call.frame);
        if (!uspi_model_copy_value(builder->model, document, name, &call.frame.name)) return false;
        if (!uspi_model_add_frame(builder->model, &call, &none)) return false;
    }
    return true;
}

/* ---- samples ---- */

/* Most frames of all samples of a list, because a number of two bytes in the text becomes a frame. */
#define SAMPLE_FRAMES_MAX ((size_t)1 << 20)

/* Remembers the samples that refer to the frames of the thread that begins. */
static void find_samples(struct builder *builder, const struct uspi_json_object *object,
                         const struct uspi_json_shape *shape) {
    builder->samples = USPI_JSON_NONE;
    if (shape == NULL || shape->samples_key.length == 0) return;
    const size_t samples = uspi_json_member(object->document, object->holder, shape->samples_key);
    if (is_kept(object->document, samples, USPI_JSON_ARRAY)) builder->samples = samples;
}

static bool add_sample(struct builder *builder, size_t sample, const struct uspi_model_thread *listed) {
    const struct uspi_json_document *document = &builder->reader->documents.document;
    const size_t frames = uspi_json_member(document, sample, USPI_SPAN("frames"));
    uint64_t number;
    bool is_hex;
    if (!is_kept(document, frames, USPI_JSON_ARRAY)) return true;
    struct uspi_model_thread *thread = uspi_model_add_thread(builder->model);
    if (thread == NULL) return false;
    thread->flags = listed->flags | USPI_THREAD_SAMPLE;
    thread->number = listed->number;
    thread->name = listed->name;
    for (size_t i = frames + 1; i < document->nodes[frames].next; i = document->nodes[i].next) {
        if (!uspi_json_uint(document, i, &number, &is_hex) || number >= listed->frame_count) continue;
        if (!uspi_model_repeat_frame(builder->model, listed->frame + (size_t)number)) return false;
    }
    return true;
}

/* Replaces the last thread, which has the frames of a list, by the samples that refer to them. */
static bool end_samples(struct builder *builder) {
    const struct uspi_json_document *document = &builder->reader->documents.document;
    const size_t samples = builder->samples;
    builder->samples = USPI_JSON_NONE;
    if (samples == USPI_JSON_NONE) return true;
    struct uspi_model *model = builder->model;
    const size_t last = model->thread_count - 1, before = model->frame_count;
    const struct uspi_model_thread listed = model->threads[last];
    for (size_t i = samples + 1; i < document->nodes[samples].next; i = document->nodes[i].next) {
        if (model->frame_count - before > SAMPLE_FRAMES_MAX) break;
        if (!add_sample(builder, i, &listed)) return false;
    }
    if (model->frame_count > before) model->threads[last].frame_count = 0;
    return true;
}

static int take_frame(void *context, const struct uspi_json_object *object, const struct uspi_json_frame *frame,
                      const struct uspi_located *located, const struct usp_answer *answer) {
    struct builder *builder = context;
    struct uspi_model *model = builder->model;
    struct uspi_located copy = *located;
    if (frame->shape != NULL && frame->shape->is_copy != NULL &&
        frame->shape->is_copy(object->document, object->holder)) {
        return USP_OK;
    }
    if (object->list != builder->list && !end_samples(builder)) return USP_ERROR_NO_MEMORY;
    if (!begin_report(builder, object->node, object->depth, frame->shape) || !take_images(builder, object->table))
        return USP_ERROR_NO_MEMORY;
    struct uspi_model_part *part = &model->parts[model->part_count - 1];
    if (frame->shape != NULL) {
        part->format = frame->shape->name;
    } else if (part->format[0] == '\0' && located->frame.shape != NULL) {
        part->format = located->frame.shape->name; /* a line in a string, before any frame of the document's own */
    }
    /* The children of a node are in arrays of their own, and belong to the same tree. */
    bool is_below = part->thread_count > 0 && uspi_span_is(object->list_key, USPI_SPAN("subFrames"));
    /* Frames in no array are of one thread, which the first of them begins. */
    bool begins = part->thread_count == 0 || (!is_below && object->list != builder->list);
    if (begins && !begin_thread(builder, object, frame->shape)) return USP_ERROR_NO_MEMORY;
    if (begins) find_samples(builder, object, frame->shape);
    if (frame->shape != NULL && frame->frame.count > 0 && !object->is_stack) {
        copy.frame.flags |= USPI_FRAME_NODE;
        copy.frame.depth = object->depth > builder->depth ? (object->depth - builder->depth) / 2 : 0;
    }
    if ((copy.frame.flags & USPI_FRAME_NODE) != 0) {
        struct uspi_model_thread *thread = &model->threads[model->thread_count - 1];
        const bool is_upside_down = object->is_innermost_first && !is_below && thread->name.length == 0;
        thread->flags |= USPI_THREAD_TREE;
        if (is_upside_down) thread->name = USPI_SPAN("callers stand below what they call");
    }
    if (frame->shape != NULL && (copy.frame.flags & USPI_FRAME_NAMED) != 0) {
        const struct uspi_json_document *document = &builder->reader->documents.document;
        if (frame->shape->file_key.length > 0) take_source(document, frame->shape, frame->node, &copy.frame);
        if (!uspi_model_copy_text(model, copy.frame.name, &copy.frame.name) ||
            !uspi_model_copy_text(model, copy.frame.file, &copy.frame.file) || !add_inlined(builder, frame, &copy)) {
            return USP_ERROR_NO_MEMORY;
        }
    }
    if (!uspi_model_add_frame(model, &copy, answer)) return USP_ERROR_NO_MEMORY;
    /* Samples refer to the elements of the list, so they can be read only if each of these is a frame. */
    if (model->threads[model->thread_count - 1].frame_count != object->number) builder->samples = USPI_JSON_NONE;
    return USP_OK;
}

/* Reverses the frames of threads from `from_thread` on. In Sentry's events the innermost frame comes last. */
static void reverse_frames(struct uspi_model *model, size_t from_thread) {
    for (size_t i = from_thread; i < model->thread_count; i++) {
        const struct uspi_model_thread *thread = &model->threads[i];
        for (size_t a = 0; 2 * a + 1 < thread->frame_count; a++) {
            struct uspi_model_frame *x = &model->frames[thread->frame + a];
            struct uspi_model_frame *y = &model->frames[thread->frame + thread->frame_count - 1 - a], kept = *x;
            *x = *y;
            *y = kept;
        }
    }
}

static int read_documents(struct builder *builder) {
    struct uspi_model *model = builder->model;
    struct uspi_documents *documents = &builder->reader->documents;
    for (;;) {
        const size_t threads = model->thread_count;
        builder->part_end = 0;
        builder->facts.holder = builder->outer.object = builder->samples = USPI_JSON_NONE;
        builder->outer.count = 0;
        builder->shown_count = 0;
        int status = uspi_documents_read(documents, take_frame, builder);
        if (status == USP_OK && !end_samples(builder)) status = USP_ERROR_NO_MEMORY;
        if (status == USP_ERROR_NOT_FOUND) return USP_OK;
        if (status != USP_OK) return status;
        if (builder->part_end == 0 && documents->document.nodes[0].kind == USPI_JSON_OBJECT) {
            /* A document without frames describes the one that follows, or is a list of processes. */
            const struct uspi_model_part *last = model->part_count > 0 ? &model->parts[model->part_count - 1] : NULL;
            const bool goes_on = last != NULL && last->thread_count == 0 && last->process_count == 0;
            const bool is_added = (goes_on || uspi_model_add_part(model) != NULL) &&
                                  uspi_model_take_fields(model, &documents->document, 0, NULL) &&
                                  uspi_model_take_processes(model, &documents->document);
            if (!is_added) return USP_ERROR_NO_MEMORY;
        }
        if (model->part_count > 0 && strcmp(model->parts[model->part_count - 1].format, "sentry") == 0) {
            reverse_frames(model, threads);
        }
    }
}

int uspi_model_read_documents(struct uspi_model *model, struct usp_reader *reader, struct uspi_span text) {
    struct builder builder = {.model = model, .reader = reader, .list = USPI_JSON_NONE, .samples = USPI_JSON_NONE};
    reader->documents.document.text = text;
    reader->documents.document.at = 0;
    reader->documents.document.is_cut = false;
    const int status = read_documents(&builder);
    free(builder.shown);
    return status;
}
