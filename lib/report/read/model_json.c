/* SPDX-License-Identifier: MIT */
/* A model of JSON documents: which object is a report of its own, where its fields stand, whose each array of frames is. */
#include "lib/report/read/model.h"

#include <stdlib.h>

struct builder {
    struct uspi_model *model;
    struct usp_reader *reader;
    size_t part_end; /* the node behind the object of the last report; 0: none has begun */
    size_t list;     /* the array of the last thread's frames */
    uint32_t depth;  /* of that array's frames, in a tree */
    bool is_tree;
    size_t table; /* the first table of images that no report has yet */
};

/* ---- fields ---- */

/* Where fields stand, from the report's object: keys with dots between them; [] is the first element of an array. */
static const struct {
    enum uspi_field field;
    const char *path;
} paths[] = {
    /* .ips */
    {USPI_FIELD_PROCESS, "procName"},
    {USPI_FIELD_PROCESS, "app_name"},
    {USPI_FIELD_PROCESS_ID, "pid"},
    {USPI_FIELD_PATH, "procPath"},
    {USPI_FIELD_IDENTIFIER, "bundleInfo.CFBundleIdentifier"},
    {USPI_FIELD_IDENTIFIER, "bundleID"},
    {USPI_FIELD_VERSION, "bundleInfo.CFBundleShortVersionString"},
    {USPI_FIELD_VERSION, "app_version"},
    {USPI_FIELD_CODE_TYPE, "cpuType"},
    {USPI_FIELD_PARENT, "parentProc"},
    {USPI_FIELD_INCIDENT, "incident"},
    {USPI_FIELD_INCIDENT, "incident_id"},
    {USPI_FIELD_HARDWARE, "modelCode"},
    {USPI_FIELD_OS_VERSION, "osVersion.train"},
    {USPI_FIELD_OS_VERSION, "os_version"},
    {USPI_FIELD_DATE, "captureTime"},
    {USPI_FIELD_DATE, "timestamp"},
    {USPI_FIELD_EXCEPTION_TYPE, "exception.type"},
    {USPI_FIELD_EXCEPTION_SUBTYPE, "exception.subtype"},
    {USPI_FIELD_EXCEPTION_CODES, "exception.codes"},
    {USPI_FIELD_EXCEPTION_REASON, "exceptionReason.composed_message"},
    {USPI_FIELD_TERMINATION, "termination.indicator"},
    {USPI_FIELD_TRIGGERED_BY, "faultingThread"},
    {USPI_FIELD_HARDWARE, "product"},
    {USPI_FIELD_EVENT, "reason"},
    /* MetricKit */
    {USPI_FIELD_IDENTIFIER, "diagnosticMetaData.bundleIdentifier"},
    {USPI_FIELD_VERSION, "diagnosticMetaData.appVersion"},
    {USPI_FIELD_CODE_TYPE, "diagnosticMetaData.platformArchitecture"},
    {USPI_FIELD_HARDWARE, "diagnosticMetaData.deviceType"},
    {USPI_FIELD_OS_VERSION, "diagnosticMetaData.osVersion"},
    {USPI_FIELD_DURATION, "diagnosticMetaData.hangDuration"},
    {USPI_FIELD_DURATION, "diagnosticMetaData.totalCPUTime"},
    {USPI_FIELD_DURATION, "diagnosticMetaData.launchDuration"},
    {USPI_FIELD_EVENT, "diagnosticMetaData.writesCaused"},
    {USPI_FIELD_EXCEPTION_TYPE, "diagnosticMetaData.exceptionType"},
    {USPI_FIELD_EXCEPTION_CODES, "diagnosticMetaData.exceptionCode"},
    {USPI_FIELD_EXCEPTION_SUBTYPE, "diagnosticMetaData.signal"},
    {USPI_FIELD_EXCEPTION_REASON, "diagnosticMetaData.objectiveCexceptionReason.composedMessage"},
    {USPI_FIELD_TERMINATION, "diagnosticMetaData.terminationReason"},
    {USPI_FIELD_FAULT_ADDRESS, "diagnosticMetaData.virtualMemoryRegionInfo"},
    /* KSCrash */
    {USPI_FIELD_PROCESS, "report.process_name"},
    {USPI_FIELD_INCIDENT, "report.id"},
    {USPI_FIELD_DATE, "report.timestamp"},
    {USPI_FIELD_EXCEPTION_TYPE, "crash.error.mach.exception_name"},
    {USPI_FIELD_EXCEPTION_SUBTYPE, "crash.error.signal.name"},
    {USPI_FIELD_EXCEPTION_REASON, "crash.error.reason"},
    {USPI_FIELD_FAULT_ADDRESS, "crash.error.address"},
    {USPI_FIELD_INFORMATION, "crash.diagnosis"},
    {USPI_FIELD_IDENTIFIER, "system.CFBundleIdentifier"},
    {USPI_FIELD_VERSION, "system.CFBundleShortVersionString"},
    {USPI_FIELD_PATH, "system.CFBundleExecutablePath"},
    {USPI_FIELD_HARDWARE, "system.machine"},
    {USPI_FIELD_OS_VERSION, "system.system_version"},
    {USPI_FIELD_CODE_TYPE, "system.cpu_arch"},
    /* Sentry */
    {USPI_FIELD_INCIDENT, "event_id"},
    {USPI_FIELD_EXCEPTION_TYPE, "exception.values[].type"},
    {USPI_FIELD_EXCEPTION_REASON, "exception.values[].value"},
    {USPI_FIELD_VERSION, "release"},
    {USPI_FIELD_HARDWARE, "contexts.device.model"},
    {USPI_FIELD_OS_VERSION, "contexts.os.version"},
    /* Swift */
    {USPI_FIELD_EXCEPTION_TYPE, "description"},
    {USPI_FIELD_FAULT_ADDRESS, "faultAddress"},
    {USPI_FIELD_OS_VERSION, "platform"},
    {USPI_FIELD_CODE_TYPE, "architecture"},
};

/* The value at a path; USPI_JSON_NONE when there is none. */
static size_t find_value(const struct uspi_json_document *document, size_t node, const char *path) {
    while (node != USPI_JSON_NONE && *path != '\0') {
        size_t length = strcspn(path, ".[");
        node = uspi_json_member(document, node, (struct uspi_span){path, length});
        path += length;
        if (path[0] == '[' && node != USPI_JSON_NONE) {
            const struct uspi_json_node *array = &document->nodes[node];
            bool has_first = array->kind == USPI_JSON_ARRAY && array->next > node + 1;
            node = has_first ? node + 1 : USPI_JSON_NONE;
            path += 2;
        }
        if (path[0] == '.') path++;
    }
    return node;
}

/* The characters of a string, the digits of a number. */
static bool copy_value(struct uspi_model *model, const struct uspi_json_document *document, size_t node,
                       struct uspi_span *copy) {
    *copy = (struct uspi_span){"", 0};
    if (node == USPI_JSON_NONE || document->nodes[node].kind <= USPI_JSON_ARRAY) return true;
    struct uspi_span text = uspi_json_text(document, node);
    if (document->nodes[node].kind == USPI_JSON_LITERAL) return true;
    if (text.length == 0 || memchr(text.bytes, '\\', text.length) == NULL) return uspi_model_copy(model, text, copy);
    char *decoded = malloc(text.length);
    if (decoded == NULL) return false;
    bool is_copied = uspi_model_copy(model, (struct uspi_span){decoded, uspi_json_decode(text, decoded)}, copy);
    free(decoded);
    return is_copied;
}

static bool take_fields(struct builder *builder, size_t object) {
    const struct uspi_json_document *document = &builder->reader->documents.document;
    struct uspi_model *model = builder->model;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct uspi_span *field = &model->parts[model->part_count - 1].fields[paths[i].field];
        if (field->length > 0) continue;
        if (!copy_value(model, document, find_value(document, object, paths[i].path), field)) return false;
    }
    return true;
}

/* ---- reports ---- */

/* What an object has that is a report of its own. */
static bool is_report(const struct uspi_json_document *document, size_t node) {
    static const struct uspi_span keys[] = {
        USPI_SPAN_INIT("callStackTree"), USPI_SPAN_INIT("usedImages"),   USPI_SPAN_INIT("binary_images"),
        USPI_SPAN_INIT("debug_meta"),    USPI_SPAN_INIT("binaryImages"),
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (uspi_json_member(document, node, keys[i]) != USPI_JSON_NONE) return true;
    }
    return false;
}

/* The innermost report around a node; the whole document when there is none. Nodes come in the order of the text, so the
 * search goes on where the last one ended. */
static size_t report_of(const struct uspi_json_document *document, size_t node) {
    size_t found = 0;
    for (size_t i = 0; i <= node;) {
        const struct uspi_json_node *n = &document->nodes[i];
        if (n->next <= node) {
            i = n->next;
            continue;
        }
        if (n->kind == USPI_JSON_OBJECT && is_report(document, i)) found = i;
        i++;
    }
    return found;
}

/* What kind of MetricKit's diagnostics a report is. */
static struct uspi_span event_of(const struct uspi_json_document *document, size_t report) {
    static const struct {
        struct uspi_span key, event;
    } kinds[] = {
        {USPI_SPAN_INIT("crashDiagnostics"), USPI_SPAN_INIT("crash")},
        {USPI_SPAN_INIT("hangDiagnostics"), USPI_SPAN_INIT("hang")},
        {USPI_SPAN_INIT("cpuExceptionDiagnostics"), USPI_SPAN_INIT("cpu usage")},
        {USPI_SPAN_INIT("diskWriteExceptionDiagnostics"), USPI_SPAN_INIT("disk writes")},
        {USPI_SPAN_INIT("appLaunchDiagnostics"), USPI_SPAN_INIT("app launch")},
    };
    for (size_t i = report; i-- > 0;) {
        if (document->nodes[i].next <= report || document->nodes[i].key_length == 0) continue;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            if (uspi_span_is(uspi_json_key(document, i), kinds[k].key)) return kinds[k].event;
        }
        break;
    }
    return (struct uspi_span){"", 0};
}

static bool begin_report(struct builder *builder, size_t node) {
    const struct uspi_documents *documents = &builder->reader->documents;
    const struct uspi_json_document *document = &documents->document;
    struct uspi_model *model = builder->model;
    if (node < builder->part_end) return true;
    size_t report = report_of(document, node);
    builder->part_end = document->nodes[report].next;
    builder->list = USPI_JSON_NONE;
    /* What stood in a document of its own in front of it, the first line of an .ips report, is of this one. */
    const struct uspi_model_part *last = model->part_count > 0 ? &model->parts[model->part_count - 1] : NULL;
    bool goes_on = last != NULL && last->thread_count == 0;
    if (!goes_on && uspi_model_add_part(model) == NULL) return false;
    if (!take_fields(builder, report)) return false;
    return uspi_model_set_field(model, USPI_FIELD_EVENT, event_of(document, report));
}

/* ---- threads ---- */

static bool has_true(const struct uspi_json_document *document, size_t object, struct uspi_span key) {
    size_t member = uspi_json_member(document, object, key);
    return member != USPI_JSON_NONE && uspi_span_is(uspi_json_text(document, member), USPI_SPAN("true"));
}

static bool copy_member(struct builder *builder, size_t object, struct uspi_span key, struct uspi_span *copy) {
    const struct uspi_json_document *document = &builder->reader->documents.document;
    if (copy->length > 0) return true;
    return copy_value(builder->model, document, uspi_json_member(document, object, key), copy);
}

static bool take_number(const struct uspi_json_document *document, size_t object, struct uspi_span key,
                        uint64_t *value) {
    size_t member = uspi_json_member(document, object, key);
    bool is_hex;
    return member != USPI_JSON_NONE && uspi_json_uint(document, member, value, &is_hex);
}

/* What frames are of that are no thread's; empty: they are a thread's. */
static struct uspi_span stack_of(const struct uspi_json_object *object) {
    static const struct {
        struct uspi_span key, stack;
    } stacks[] = {
        {USPI_SPAN_INIT("lastExceptionBacktrace"), USPI_SPAN_INIT("Last Exception Backtrace")},
        {USPI_SPAN_INIT("asiBacktraces"), USPI_SPAN_INIT("Application Specific Backtrace")},
    };
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        if (uspi_span_is(object->list_key, stacks[i].key)) return stacks[i].stack;
    }
    /* In a string. */
    bool is_text = object->node == object->list;
    return is_text ? object->list_key : (struct uspi_span){"", 0};
}

/* The thread of an array of frames: what the object says that has it, or the one around that ("backtrace": {"contents"}). */
static bool begin_thread(struct builder *builder, const struct uspi_json_object *object) {
    static const struct uspi_span crashed[] = {USPI_SPAN_INIT("triggered"), USPI_SPAN_INIT("crashed"),
                                               USPI_SPAN_INIT("threadAttributed")};
    const struct uspi_json_document *document = object->document;
    struct uspi_model *model = builder->model;
    const struct uspi_model_part *part = &model->parts[model->part_count - 1];
    size_t number = 0;
    for (size_t i = 0; i < part->thread_count; i++) number += !model->threads[part->thread + i].is_stack;
    struct uspi_model_thread *thread = uspi_model_add_thread(model);
    if (thread == NULL) return false;
    size_t holder = object->holder;
    struct uspi_span key = holder != USPI_JSON_NONE ? uspi_json_key(document, holder) : (struct uspi_span){"", 0};
    if (uspi_span_is(key, USPI_SPAN("backtrace")) || uspi_span_is(key, USPI_SPAN("stacktrace"))) {
        /* The object around it stands right in front, at a lower depth. */
        size_t around = holder;
        while (around > 0 && document->nodes[--around].next <= holder) {}
        holder = around;
    }
    builder->list = object->list;
    builder->depth = object->depth;
    thread->flags = USPI_THREAD_NUMBER;
    thread->number = number;
    struct uspi_span stack = stack_of(object);
    if (stack.length > 0) {
        thread->is_stack = true;
        return uspi_model_copy(model, stack, &thread->name);
    }
    if (holder == USPI_JSON_NONE) return true;
    for (size_t i = 0; i < sizeof crashed / sizeof *crashed; i++) {
        if (has_true(document, holder, crashed[i])) thread->flags |= USPI_THREAD_CRASHED;
    }
    take_number(document, holder, USPI_SPAN("index"), &thread->number);
    if (take_number(document, holder, USPI_SPAN("id"), &thread->id)) thread->flags |= USPI_THREAD_ID;
    return copy_member(builder, holder, USPI_SPAN("name"), &thread->name) &&
           copy_member(builder, holder, USPI_SPAN("queue"), &thread->queue) &&
           copy_member(builder, holder, USPI_SPAN("dispatch_queue"), &thread->queue) &&
           copy_member(builder, holder, USPI_SPAN("dispatch_queue_label"), &thread->queue);
}

/* ---- frames ---- */

static int take_frame(void *context, const struct uspi_json_object *object, const struct uspi_json_frame *frame,
                      const struct uspi_located *located, const struct usp_answer *answer) {
    struct builder *builder = context;
    struct uspi_located copy = *located;
    if (!begin_report(builder, object->node)) return USP_ERROR_NO_MEMORY;
    struct uspi_model_part *part = &builder->model->parts[builder->model->part_count - 1];
    if (frame->shape != NULL) {
        part->format = frame->shape->name;
    } else if (part->format[0] == '\0' && located->frame.shape != NULL) {
        part->format = located->frame.shape->name; /* lines in strings: no frame of the document's own came yet */
    }
    /* A tree goes on in its frames' own arrays. */
    bool is_below = part->thread_count > 0 && uspi_span_is(object->list_key, USPI_SPAN("subFrames"));
    if (!is_below && object->list != builder->list && !begin_thread(builder, object)) return USP_ERROR_NO_MEMORY;
    if (frame->frame.count > 0 && !object->is_in_crash) {
        struct uspi_model_thread *thread = &builder->model->threads[builder->model->thread_count - 1];
        thread->flags |= USPI_THREAD_TREE;
        copy.frame.flags |= USPI_FRAME_NODE;
        copy.frame.depth = object->depth > builder->depth ? (object->depth - builder->depth) / 2 : 0;
    }
    return uspi_model_add_frame(builder->model, &copy, answer) ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* The innermost frame comes last there. */
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

static bool take_images(struct builder *builder) {
    const struct uspi_tables *tables = &builder->reader->documents.tables;
    /* Of several reports in a document each has its own; they are shown with the last. */
    for (size_t i = 0; i < uspi_tables_count(tables); i++) {
        if (!uspi_model_add_images(builder->model, tables, i)) return false;
    }
    return true;
}

int uspi_model_read_documents(struct uspi_model *model, struct usp_reader *reader, struct uspi_span text) {
    struct builder builder = {.model = model, .reader = reader, .list = USPI_JSON_NONE};
    struct uspi_documents *documents = &reader->documents;
    documents->document.text = text;
    documents->document.at = 0;
    for (;;) {
        const size_t threads = model->thread_count;
        builder.part_end = 0;
        int status = uspi_documents_read(documents, take_frame, &builder);
        if (status == USP_ERROR_NOT_FOUND) return USP_OK;
        if (status != USP_OK) return status;
        if (builder.part_end == 0 && documents->document.nodes[0].kind == USPI_JSON_OBJECT) {
            /* A document without frames: about the one that follows. */
            if (uspi_model_add_part(model) == NULL || !take_fields(&builder, 0)) return USP_ERROR_NO_MEMORY;
        } else if (!take_images(&builder)) {
            return USP_ERROR_NO_MEMORY;
        }
        if (model->part_count > 0 && strcmp(model->parts[model->part_count - 1].format, "sentry") == 0) {
            reverse_frames(model, threads);
        }
    }
}
