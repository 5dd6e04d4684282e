/* SPDX-License-Identifier: MIT */
/* Writes Apple's crash reports as JSON (.ips): an object on the first line that says what follows, and the report. See
 * Apple, "Interpreting the JSON format of a crash report". What only Apple's system knows is left out. Images that have
 * no UUID but a build id have that in its place. */
#include "lib/report/report_crash.h"

#include "arch/any.h"
#include "lib/base/json.h"

#define BUG_TYPE "309" /* crash */
#define FLAT     5u    /* frames and register values take a line each */
#define NO_UUID  "00000000-0000-0000-0000-000000000000"

struct ips {
    struct uspi_report *report;
    struct uspi_json json;
    bool needs_nowhere; /* a frame lies in no image */
};

static void put_text(struct uspi_json *json, const char *key, struct uspi_text *text, const char *bytes) {
    if (uspi_text_end(text) > 0) uspi_json_string(json, key, bytes);
}

/* Puts the beginning of the id as a UUID: readers refuse the whole report if it is anything else. */
static void put_uuid(struct uspi_json *json, const char *key, const struct usp_image *image) {
    char bytes[40];
    struct uspi_text text = uspi_text_in(bytes, sizeof bytes);
    uint8_t id[USPI_UUID_BYTES] = {0};
    const size_t size = image->build_id_size < sizeof id ? image->build_id_size : sizeof id;
    memcpy(id, image->build_id, size);
    uspi_put_uuid(&text, id);
    put_text(json, key, &text, bytes);
}

/* Puts an id that is not a UUID. */
static void put_build_id(struct uspi_json *json, const struct usp_image *image) {
    char bytes[2 * sizeof image->build_id + 8];
    struct uspi_text text = uspi_text_in(bytes, sizeof bytes);
    if (image->build_id_size == 0 || image->build_id_size == USPI_UUID_BYTES) return;
    uspi_put_build_id(&text, image->build_id, image->build_id_size);
    put_text(json, "build_id", &text, bytes);
}

static void put_date(struct uspi_json *json, const char *key, uint64_t ns) {
    char bytes[40];
    struct uspi_text text = uspi_text_in(bytes, sizeof bytes);
    if (ns != 0) uspi_report_put_date(&text, ns);
    put_text(json, key, &text, bytes);
}

static void put_incident(struct uspi_json *json, const char *key, const struct uspi_report *report) {
    char bytes[40];
    struct uspi_text text = uspi_text_in(bytes, sizeof bytes);
    uint8_t id[USPI_UUID_BYTES];
    uspi_report_id(report, id);
    uspi_put_uuid(&text, id);
    put_text(json, key, &text, bytes);
}

/* Writes the first line. */
static void put_header(struct uspi_report *report) {
    struct uspi_json json = {.out = &report->text, .flat = 1};
    const struct usp_snapshot_info *info = report->info;
    uspi_json_begin_object(&json, NULL);
    uspi_json_string(&json, "app_name", uspi_report_program(report));
    put_date(&json, "timestamp", info->time);
    for (size_t i = 0; i < usp_images_count(report->images); i++) {
        const struct usp_image *image = usp_images_get(report->images, i);
        if ((image->flags & USP_IMAGE_MAIN) != 0) put_uuid(&json, "slice_uuid", image);
    }
    uspi_json_string(&json, "bug_type", BUG_TYPE);
    uspi_json_string(&json, "os_version", uspi_report_system(report));
    put_incident(&json, "incident_id", report);
    uspi_json_string(&json, "name", uspi_report_program(report));
    uspi_json_end_object(&json);
}

static void put_process(struct ips *ips) {
    struct uspi_json *json = &ips->json;
    const struct usp_snapshot_info *info = ips->report->info;
    uspi_json_number(json, "version", 2);
    uspi_json_string(json, "bug_type", BUG_TYPE);
    put_incident(json, "incident", ips->report);
    put_date(json, "captureTime", info->time);
    uspi_json_number(json, "pid", info->pid > 0 ? (uint64_t)info->pid : 0);
    uspi_json_string(json, "procName", uspi_report_program(ips->report));
    uspi_json_string(json, "procPath", info->program != NULL ? info->program : "");
    uspi_json_string(json, "cpuType", uspi_report_code_type(info->arch));
    uspi_json_begin_object(json, "osVersion");
    uspi_json_string(json, "train", uspi_report_system(ips->report));
    uspi_json_end_object(json);
}

static void put_cause(struct ips *ips) {
    struct uspi_json *json = &ips->json;
    struct uspi_report_cause cause;
    const size_t crashed = uspi_report_crashed_number(ips->report);
    if (uspi_report_find_cause(ips->report, &cause)) {
        uspi_json_begin_object(json, "exception");
        uspi_json_string(json, "type", cause.type);
        if (cause.is_exception) uspi_json_string(json, "signal", cause.signal);
        if (cause.subtype[0] != '\0') uspi_json_string(json, "subtype", cause.subtype);
        uspi_json_string(json, "codes", cause.code_text);
        uspi_json_begin_array(json, "rawCodes");
        uspi_json_integer(json, NULL, (int64_t)cause.codes[0]);
        uspi_json_number(json, NULL, cause.codes[1]);
        uspi_json_end_array(json);
        uspi_json_string(json, "message", cause.message);
        uspi_json_end_object(json);
        uspi_json_begin_object(json, "termination");
        uspi_json_string(json, "namespace", "SIGNAL");
        uspi_json_number(json, "code", ips->report->info->signal);
        uspi_json_string(json, "indicator", cause.signal);
        uspi_json_end_object(json);
    }
    if (crashed != SIZE_MAX) uspi_json_number(json, "faultingThread", crashed);
}

/* ---- what the program has noted ---- */

static bool has_information(const struct ips *ips) {
    const struct usp_snapshot_thread *thread;
    size_t number;
    for (size_t i = 0; (thread = uspi_report_thread(ips->report, i)) != NULL; i++) {
        if (uspi_report_lock_owner(ips->report, thread, &number) != NULL) return true;
    }
    return uspi_report_note(ips->report, 0) != NULL;
}

/* Apple's reports list here what images say; ours lists it by its kind. */
static void put_information(struct ips *ips) {
    if (!has_information(ips)) return;
    uspi_json_begin_object(&ips->json, "asi");
    uspi_report_put_notes(&ips->json, ips->report, USP_NOTE_MESSAGE, "messages");
    uspi_report_put_locks(&ips->json, ips->report);
    uspi_report_put_notes(&ips->json, ips->report, USP_NOTE_VALUE, "values");
    uspi_report_put_notes(&ips->json, ips->report, USP_NOTE_BREADCRUMB, "breadcrumbs");
    uspi_report_put_notes(&ips->json, ips->report, USP_NOTE_CALLBACK, "callback");
    uspi_json_end_object(&ips->json);
}

/* ---- threads ---- */

/* Writes where a frame is. Addresses outside all images belong to an image at address 0, which is the last one. */
static void put_place(struct ips *ips, const struct uspi_shown *shown) {
    const struct usp_images *images = ips->report->images;
    const usp_addr pc = shown->frame->pc, base = shown->image != NULL ? shown->image->load_address : 0;
    const size_t index =
        shown->image != NULL ? (size_t)(shown->image - usp_images_get(images, 0)) : usp_images_count(images);
    if (shown->image == NULL) ips->needs_nowhere = true;
    uspi_json_number(&ips->json, "imageOffset", uspi_target_offset(shown->backend, pc, base));
    uspi_json_number(&ips->json, "imageIndex", index);
}

/* Writes the line, if it is known, of a function or of an inlined call. */
static void put_line(struct uspi_json *json, const struct usp_source_frame *source) {
    if (source->file == NULL) return;
    uspi_json_string(json, "sourceFile", uspi_image_name(source->file, SIZE_MAX).bytes);
    if (source->line != 0) uspi_json_number(json, "sourceLine", source->line);
}

static void put_shown(struct ips *ips, const struct uspi_shown *shown) {
    struct uspi_json *json = &ips->json;
    const struct uspi_named *named = &shown->named;
    for (uint32_t k = 0; k < named->inlined_count; k++) {
        uspi_json_begin_object(json, NULL);
        put_place(ips, shown);
        uspi_json_string(json, "symbol", uspi_report_name(ips->report, &named->inlined[k]));
        /* Readers expect an offset of each name. */
        uspi_json_number(json, "symbolLocation", 0);
        uspi_json_bool(json, "inline", true);
        put_line(json, &named->inlined[k]);
        uspi_json_end_object(json);
    }
    uspi_json_begin_object(json, NULL);
    put_place(ips, shown);
    if (named->symbol.name != NULL) {
        uspi_json_string(json, "symbol", named->symbol.name);
        uspi_json_number(json, "symbolLocation",
                         uspi_target_offset(shown->backend, shown->frame->pc, named->symbol.start));
    }
    put_line(json, &named->source);
    uspi_json_end_object(json);
}

static void put_frames(struct ips *ips, const struct usp_stack *stack) {
    struct uspi_shown shown;
    for (uint32_t i = 0; i < stack->physical; i++) {
        if (uspi_report_frame(ips->report, stack, i, &shown)) put_shown(ips, &shown);
    }
}

/* Writes the stack that threw the exception, if there is one. */
static void put_last_exception(struct ips *ips) {
    const struct usp_stack *stack = usp_snapshot_exception(ips->report->snapshot);
    if (stack == NULL) return;
    uspi_json_begin_array(&ips->json, "lastExceptionBacktrace");
    put_frames(ips, stack);
    uspi_json_end_array(&ips->json);
}

static void put_value(struct uspi_json *json, const char *key, uint64_t value) {
    uspi_json_begin_object(json, key);
    uspi_json_number(json, "value", value);
    uspi_json_end_object(json);
}

/* Writes x0, x1 … up to the first that is not known: a list has no holes. Returns how many. */
static unsigned put_x(struct uspi_json *json, const struct usp_registers *registers, unsigned end) {
    unsigned n = 0;
    uspi_json_begin_array(json, "x");
    for (; n < end && (registers->known >> n & 1) != 0; n++) put_value(json, NULL, registers->value[n]);
    uspi_json_end_array(json);
    return n;
}

static void put_state(struct ips *ips, const struct usp_snapshot_thread *thread) {
    const struct usp_registers *registers = &thread->registers;
    const struct uspi_backend *backend = uspi_backend_any(registers->arch);
    struct uspi_json *json = &ips->json;
    char name[16];
    if (backend == NULL || registers->known == 0) return;
    const bool is_arm = backend->lr != USPI_NO_REGISTER, is_wide = backend->slot == 8;
    uspi_json_begin_object(json, "threadState");
    uspi_json_string(json, "flavor", is_arm ? is_wide ? "ARM_THREAD_STATE64" : "ARM_THREAD_STATE" : "x86_THREAD_STATE");
    const unsigned first = is_arm && is_wide ? put_x(json, registers, backend->fp) : 0;
    for (unsigned n = first; n < backend->register_count; n++) {
        if ((registers->known >> n & 1) == 0) continue;
        struct uspi_text text = uspi_text_in(name, sizeof name);
        const struct uspi_span span = uspi_report_register_name(backend, n);
        uspi_put(&text, span.bytes, span.length);
        (void)uspi_text_end(&text);
        put_value(json, name, registers->value[n]);
    }
    const bool has_fault =
        (ips->report->info->flags & USP_SNAPSHOT_FAULT) != 0 && uspi_report_is_crashed(ips->report, thread);
    if (registers->flags != 0) put_value(json, is_arm ? "cpsr" : is_wide ? "rflags" : "eflags", registers->flags);
    if (has_fault) put_value(json, is_arm ? "far" : "cr2", ips->report->info->fault_address);
    uspi_json_end_object(json);
}

static void put_thread(struct ips *ips, const struct usp_snapshot_thread *thread) {
    struct uspi_json *json = &ips->json;
    uspi_json_begin_object(json, NULL);
    uspi_json_number(json, "id", thread->info.thread.id);
    if (thread->info.name[0] != '\0') uspi_json_string(json, "name", thread->info.name);
    if (thread->info.queue[0] != '\0') uspi_json_string(json, "queue", thread->info.queue);
    if (uspi_report_is_crashed(ips->report, thread)) uspi_json_bool(json, "triggered", true);
    put_state(ips, thread);
    uspi_json_begin_array(json, "frames");
    if (thread->status == USP_OK) put_frames(ips, &thread->stack);
    uspi_json_end_array(json);
    uspi_json_end_object(json);
}

/* ---- images ---- */

static void put_image(struct ips *ips, const struct usp_image *image) {
    struct uspi_json *json = &ips->json;
    const uint32_t arch = image->arch != USP_ARCH_NONE ? image->arch : ips->report->info->arch;
    uspi_json_begin_object(json, NULL);
    uspi_json_string(json, "source", "P");
    uspi_json_string(json, "arch", usp_variant_string(arch, image->variant));
    uspi_json_number(json, "base", image->load_address);
    uspi_json_number(json, "size", image->end > image->load_address ? image->end - image->load_address : 0);
    put_uuid(json, "uuid", image);
    put_build_id(json, image);
    uspi_json_string(json, "path", image->path);
    uspi_json_string(json, "name", uspi_image_name(image->path, SIZE_MAX).bytes);
    uspi_json_end_object(json);
}

static void put_nowhere(struct uspi_json *json) {
    uspi_json_begin_object(json, NULL);
    uspi_json_string(json, "source", "A");
    uspi_json_number(json, "base", 0);
    uspi_json_number(json, "size", 0);
    uspi_json_string(json, "uuid", NO_UUID);
    uspi_json_end_object(json);
}

static void put_images(struct ips *ips) {
    const struct usp_images *images = ips->report->images;
    uspi_json_begin_array(&ips->json, "usedImages");
    for (size_t i = 0; i < usp_images_count(images); i++) put_image(ips, usp_images_get(images, i));
    if (ips->needs_nowhere) put_nowhere(&ips->json);
    uspi_json_end_array(&ips->json);
}

void uspi_report_ips(struct uspi_report *report) {
    struct ips ips = {.report = report, .json = {.out = &report->text, .flat = FLAT}};
    const struct usp_snapshot_thread *thread;
    put_header(report);
    uspi_json_begin_object(&ips.json, NULL);
    put_process(&ips);
    put_cause(&ips);
    put_information(&ips);
    put_last_exception(&ips);
    uspi_json_begin_array(&ips.json, "threads");
    for (size_t i = 0; (thread = uspi_report_thread(report, i)) != NULL; i++) put_thread(&ips, thread);
    uspi_json_end_array(&ips.json);
    uspi_report_put_gaps(&ips.json, report, "reportNotes");
    put_images(&ips);
    uspi_json_end_object(&ips.json);
}
