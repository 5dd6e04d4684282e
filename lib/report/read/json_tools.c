/* SPDX-License-Identifier: MIT */
/* Reads JSON that commands write: minidump-stackwalk, and macOS's log(1).
 *
 * Sources: rust-minidump, minidump-processor/json-schema.md; `log show --style ndjson` and `--style json`. */
#include "lib/report/read/json_slots.h"
#include "lib/report/read/line.h"
#include "lib/report/read/shapes.h"

/* ---- minidump-stackwalk: numbers are strings in hexadecimal, the innermost frame comes first ---- */

static bool find_minidump_frame(const struct uspi_json_object *object, struct uspi_json_frame *frame) {
    const struct uspi_json_document *document = object->document;
    const size_t address = uspi_json_member(document, object->node, USPI_SPAN("offset"));
    const size_t offset = uspi_json_member(document, object->node, USPI_SPAN("module_offset"));
    const bool has_module = uspi_json_member(document, object->node, USPI_SPAN("module")) != USPI_JSON_NONE;
    if (address == USPI_JSON_NONE || (offset == USPI_JSON_NONE && !has_module)) return false;
    if (!uspi_json_uint(document, address, &frame->frame.address, &frame->is_hex)) return false;
    /* The address is that of the call, also in frames that were found by their return address. */
    frame->frame.flags = USPI_FRAME_ADDRESS | USPI_FRAME_CALL_SITE;
    if (uspi_member_uint(object, USPI_SPAN("module_offset"), &frame->frame.offset)) {
        frame->frame.flags |= USPI_FRAME_OFFSET;
    }
    frame->anchor = offset != USPI_JSON_NONE ? offset : address;
    frame->frame.image = uspi_member_text(object, USPI_SPAN("module"));
    uspi_take_json_members(object, frame);
    return true;
}

/* A build id, or the UUID of a Mach-O file, has at least this many digits. The identifier of a Windows file is shorter;
 * its debug_id is that of its symbols. */
#define ID_DIGITS_MIN 32

static bool find_minidump_image(const struct uspi_json_object *object, struct uspi_read_image *image) {
    const struct uspi_span code = uspi_member_text(object, USPI_SPAN("code_id"));
    struct uspi_span debug = uspi_member_text(object, USPI_SPAN("debug_id"));
    uint64_t end;
    image->path = image->ident = uspi_member_text(object, USPI_SPAN("filename"));
    if (code.length >= ID_DIGITS_MIN) image->id_size = uspi_scan_id(code, image->id, sizeof image->id);
    /* The digits after a UUID are the age, which is 0 outside of Windows. */
    if (debug.length > ID_DIGITS_MIN && memchr(debug.bytes, '-', debug.length) == NULL) debug.length = ID_DIGITS_MIN;
    if (image->id_size == 0) image->id_size = uspi_scan_id(debug, image->id, sizeof image->id);
    if (!uspi_member_uint(object, USPI_SPAN("base_addr"), &image->first)) return false;
    if (!uspi_member_uint(object, USPI_SPAN("end_addr"), &end)) return false;
    image->last = end > image->first ? end - 1 : image->first;
    return true;
}

/* The crashed thread is in the list of threads and once more by itself. */
static bool is_minidump_copy(const struct uspi_json_document *document, size_t holder) {
    if (holder == USPI_JSON_NONE || !uspi_span_is(uspi_json_key(document, holder), USPI_SPAN("crashing_thread"))) {
        return false;
    }
    const size_t threads = uspi_json_member(document, 0, USPI_SPAN("threads"));
    return threads != USPI_JSON_NONE && document->nodes[threads].kind == USPI_JSON_ARRAY &&
           document->nodes[threads].next > threads + 1;
}

static const struct uspi_json_field minidump_fields[] = {
    {.field = USPI_FIELD_PROCESS_ID, .path = "pid"},
    {.field = USPI_FIELD_EXCEPTION_TYPE, .path = "crash_info.type"},
    {.field = USPI_FIELD_EXCEPTION_REASON, .path = "crash_info.assertion"},
    {.field = USPI_FIELD_FAULT_ADDRESS, .path = "crash_info.address"},
    {.field = USPI_FIELD_TRIGGERED_BY, .path = "crash_info.crashing_thread|crashing_thread.threads_index"},
    {.field = USPI_FIELD_OS_VERSION, .path = "system_info.os", .more = "system_info.os_ver"},
    {.field = USPI_FIELD_CODE_TYPE, .path = "system_info.cpu_arch"},
    {.path = NULL},
};

const struct uspi_json_shape uspi_minidump_json = {
    .name = "minidump-json",
    .list_keys = {USPI_SPAN_INIT("frames"), USPI_SPAN_INIT("frames")},
    .fields = minidump_fields,
    .is_copy = is_minidump_copy,
    .id_key = USPI_SPAN_INIT("thread_id"),
    .thread_name_key = USPI_SPAN_INIT("thread_name"),
    .frame = find_minidump_frame,
    .name_key = USPI_SPAN_INIT("function"),
    .offset_key = USPI_SPAN_INIT("function_offset"),
    .file_key = USPI_SPAN_INIT("file"),
    .line_key = USPI_SPAN_INIT("line"),
    .inlines_key = USPI_SPAN_INIT("inlines"),
    .images_key = USPI_SPAN_INIT("modules"),
    .images_above = 1,
    .image = find_minidump_image,
};

/* ---- log(1): the backtrace of an event ---- */

/* Number of members before "backtrace" that are searched for its event, which has about 25. */
#define EVENT_MEMBERS_MAX 64

/* Returns the object around the one that has a frame's array; USPI_JSON_NONE: it is not near. */
static size_t event_around(const struct uspi_json_object *object) {
    const struct uspi_json_node *nodes = object->document->nodes;
    const size_t backtrace = object->holder;
    if (backtrace == USPI_JSON_NONE) return USPI_JSON_NONE;
    for (size_t i = backtrace; i > 0 && backtrace - i < EVENT_MEMBERS_MAX; i--) {
        if (nodes[i - 1].kind == USPI_JSON_OBJECT && nodes[i - 1].next > backtrace) return i - 1;
    }
    return USPI_JSON_NONE;
}

/* Names a frame's image by the event, which has the paths of the process and of the image that wrote the message. */
static struct uspi_span path_of(const struct uspi_json_object *object, struct uspi_span id) {
    static const struct uspi_span ids[] = {USPI_SPAN_INIT("senderImageUUID"), USPI_SPAN_INIT("processImageUUID")};
    static const struct uspi_span paths[] = {USPI_SPAN_INIT("senderImagePath"), USPI_SPAN_INIT("processImagePath")};
    struct uspi_json_object event = *object;
    event.node = event_around(object);
    for (size_t i = 0; event.node != USPI_JSON_NONE && i < 2; i++) {
        if (uspi_span_is(uspi_member_text(&event, ids[i]), id)) return uspi_member_text(&event, paths[i]);
    }
    return (struct uspi_span){"", 0};
}

static bool find_log_frame(const struct uspi_json_object *object, struct uspi_json_frame *frame) {
    const struct uspi_span id = uspi_member_text(object, USPI_SPAN("imageUUID"));
    if (id.length == 0 || !uspi_member_uint(object, USPI_SPAN("imageOffset"), &frame->frame.offset)) return false;
    uspi_member_id(object, USPI_SPAN("imageUUID"), &frame->frame);
    if (frame->frame.id_size == 0) return false;
    /* The first frame is where the call of os_log returned to. */
    frame->frame.flags = USPI_FRAME_OFFSET;
    frame->frame.image = path_of(object, id);
    frame->anchor = uspi_json_member(object->document, object->node, USPI_SPAN("imageOffset"));
    uspi_take_json_members(object, frame);
    return true;
}

static const struct uspi_json_field log_fields[] = {
    {.field = USPI_FIELD_PATH, .path = "processImagePath"},
    {.field = USPI_FIELD_PROCESS_ID, .path = "processID"},
    {.field = USPI_FIELD_EVENT, .path = "messageType"},
    {.field = USPI_FIELD_INFORMATION, .path = "eventMessage"},
    {.path = NULL},
};

const struct uspi_json_shape uspi_log_json = {
    .name = "log-show",
    .list_keys = {USPI_SPAN_INIT("frames"), USPI_SPAN_INIT("frames")},
    .report_key = USPI_SPAN_INIT("traceID"),
    .fields = log_fields,
    .id_key = USPI_SPAN_INIT("threadID"),
    .frame = find_log_frame,
    .name_key = USPI_SPAN_INIT("symbol"),
    .offset_key = USPI_SPAN_INIT("symbolLocation"),
    .file_key = USPI_SPAN_INIT("sourceFile"),
    .line_key = USPI_SPAN_INIT("sourceLine"),
};
