/* SPDX-License-Identifier: MIT */
/* Writes Sentry's event, the JSON that its servers accept. See Sentry, "Event Payloads": "Exception Interface", "Threads
 * Interface", "Stack Trace Interface", "Debug Meta Interface", and the schema of getsentry/relay (event.schema.json).
 * Relay marks an empty list of frames, an image without debug_id and a tag of another form as errors. */
#include "lib/report/report_crash.h"

#include "arch/any.h"
#include "lib/base/signal_names.h"

#define FLAT          7u   /* frames take a line each */
#define TAG_KEY_MAX   32u  /* Sentry, "Customize tags" */
#define TAG_VALUE_MAX 200u /* bytes; Sentry counts characters */

struct sentry {
    struct uspi_report *report;
    struct uspi_json json;
};

static void put_program_name(struct sentry *sentry, const char *key) {
    const char *name = uspi_report_program(sentry->report);
    if (name[0] != '\0') uspi_json_string(&sentry->json, key, name);
}

/* Writes a time as seconds since 1970-01-01 UTC. */
static void put_time(struct uspi_json *json, uint64_t ns) {
    if (ns != 0) uspi_json_fraction(json, "timestamp", ns / 1000, 6);
}

/* ---- stacks ---- */

/* Writes where a frame is, the same for a function and its inlined calls, as Sentry's symbolicator does. */
static void put_place(struct uspi_json *json, const struct uspi_shown *shown) {
    uspi_json_address(json, "instruction_addr", shown->frame->pc);
    if (shown->image == NULL) return;
    uspi_json_address(json, "image_addr", shown->image->load_address);
    if (shown->image->path[0] != '\0') uspi_json_string(json, "package", shown->image->path);
}

/* Writes the line, if it is known. */
static void put_line(struct uspi_json *json, const struct usp_source_frame *source) {
    if (source->file == NULL) return;
    uspi_json_string(json, "filename", source->file);
    if (source->directory != NULL) {
        char path[4096];
        struct uspi_text text = uspi_text_in(path, sizeof path);
        uspi_put_string(&text, source->directory);
        uspi_put(&text, "/", 1);
        uspi_put_string(&text, source->file);
        (void)uspi_text_end(&text);
        uspi_json_string(json, "abs_path", path);
    }
    if (source->line != 0) uspi_json_number(json, "lineno", source->line);
    if (source->column != 0) uspi_json_number(json, "colno", source->column);
}

/* Writes a frame: the function, then the calls that were inlined there, the innermost one last. */
static void put_shown(struct sentry *sentry, const struct uspi_shown *shown) {
    struct uspi_json *json = &sentry->json;
    const struct uspi_named *named = &shown->named;
    uspi_json_begin_object(json, NULL);
    put_place(json, shown);
    if (named->symbol.name != NULL) {
        uspi_json_string(json, "function", named->symbol.name);
        if (strcmp(named->symbol.name, shown->mangled) != 0) uspi_json_string(json, "raw_function", shown->mangled);
        uspi_json_address(json, "symbol_addr", named->symbol.start);
    }
    put_line(json, &named->source);
    uspi_json_end_object(json);
    for (uint32_t k = named->inlined_count; k-- > 0;) {
        uspi_json_begin_object(json, NULL);
        put_place(json, shown);
        uspi_json_string(json, "function", uspi_report_name(sentry->report, &named->inlined[k]));
        put_line(json, &named->inlined[k]);
        uspi_json_end_object(json);
    }
}

/* Writes a stack, the outermost frame first, and the registers, if they are given and known. */
static void put_stack(struct sentry *sentry, const struct usp_stack *stack, const struct usp_registers *registers) {
    struct uspi_json *json = &sentry->json;
    struct uspi_shown shown;
    struct usp_frame innermost = {.pc = 0};
    bool any = false;
    uspi_json_begin_object(json, "stacktrace");
    for (uint32_t i = stack->physical; i-- > 0;) {
        if (!uspi_report_frame(sentry->report, stack, i, &shown)) continue;
        if (!any) uspi_json_begin_array(json, "frames");
        any = true;
        innermost = *shown.frame;
        put_shown(sentry, &shown);
    }
    if (any) uspi_json_end_array(json);
    /* The stack of an exception, or a filtered one, begins with a return address, which Sentry takes for that of an
     * instruction otherwise. */
    if (any && usp_frame_call_site(stack->arch, &innermost) != innermost.pc)
        uspi_json_string(json, "instruction_addr_adjustment", "all");
    if (registers != NULL && registers->known != 0) {
        uspi_json_begin_object(json, "registers");
        for (unsigned i = 0; i < USP_REGISTERS_MAX; i++) {
            const char *name = usp_register_name(registers->arch, i);
            if (name != NULL && (registers->known >> i & 1) != 0) uspi_json_address(json, name, registers->value[i]);
        }
        uspi_json_end_object(json);
    }
    uspi_json_end_object(json);
}

/* ---- the cause ---- */

/* Returns the first message about the crash; NULL: none. */
static const struct usp_snapshot_note *first_message(const struct uspi_report *report) {
    const struct usp_snapshot_note *note;
    for (size_t i = 0; (note = uspi_report_note(report, i)) != NULL; i++) {
        if (note->kind == USP_NOTE_MESSAGE) return note;
    }
    return NULL;
}

static void put_mechanism(struct sentry *sentry, const struct uspi_report_cause *cause) {
    struct uspi_json *json = &sentry->json;
    const struct usp_snapshot_info *info = sentry->report->info;
    const struct uspi_signal_code *code = uspi_signal_code_of(info->os, info->signal, info->signal_code);
    uspi_json_begin_object(json, "mechanism");
    uspi_json_string(json, "type", cause->is_exception ? "mach" : "signalhandler");
    uspi_json_string(json, "description", cause->message);
    uspi_json_bool(json, "handled", false);
    uspi_json_bool(json, "synthetic", true);
    uspi_json_begin_object(json, "meta");
    if (cause->is_exception) {
        uspi_json_begin_object(json, "mach_exception");
        uspi_json_number(json, "exception", info->mach_exception);
        uspi_json_number(json, "code", cause->codes[0]);
        uspi_json_number(json, "subcode", cause->codes[1]);
        uspi_json_string(json, "name", cause->type);
        uspi_json_end_object(json);
    }
    uspi_json_begin_object(json, "signal");
    uspi_json_number(json, "number", info->signal);
    uspi_json_integer(json, "code", info->signal_code);
    uspi_json_string(json, "name", cause->signal);
    if (code != NULL) uspi_json_string(json, "code_name", code->name);
    uspi_json_end_object(json);
    uspi_json_end_object(json);
    if ((info->flags & USP_SNAPSHOT_FAULT) != 0) {
        uspi_json_begin_object(json, "data");
        uspi_json_address(json, "relevant_address", info->fault_address);
        uspi_json_end_object(json);
    }
    uspi_json_end_object(json);
}

/* Writes the exception that no code caught, with the stack that threw it, as the cause of the signal: Sentry's list
 * begins with the oldest. */
static void put_thrown(struct sentry *sentry) {
    struct uspi_json *json = &sentry->json;
    const struct usp_stack *stack = usp_snapshot_exception(sentry->report->snapshot);
    const struct usp_snapshot_note *message = first_message(sentry->report);
    if (stack == NULL) return;
    uspi_json_begin_object(json, NULL);
    uspi_json_string(json, "type", message != NULL && message->key[0] != '\0' ? message->key : "exception");
    if (message != NULL) uspi_json_string(json, "value", message->text);
    put_stack(sentry, stack, NULL);
    uspi_json_end_object(json);
}

/* Writes the exception: Mach's, or the signal, with the stack of the thread that crashed. The first message says more to people
 * than the signal's code. */
static void put_exception(struct sentry *sentry, const struct uspi_report_cause *cause) {
    struct uspi_json *json = &sentry->json;
    const struct usp_snapshot_note *message = first_message(sentry->report);
    const size_t crashed = uspi_report_crashed_number(sentry->report);
    const struct usp_snapshot_thread *thread = crashed != SIZE_MAX ? uspi_report_thread(sentry->report, crashed) : NULL;
    uspi_json_begin_object(json, "exception");
    uspi_json_begin_array(json, "values");
    put_thrown(sentry);
    uspi_json_begin_object(json, NULL);
    uspi_json_string(json, "type", cause->type);
    uspi_json_string(json, "value", message != NULL ? message->text : cause->message);
    if (thread != NULL) uspi_json_number(json, "thread_id", thread->info.thread.id);
    put_mechanism(sentry, cause);
    if (thread != NULL && thread->status == USP_OK) put_stack(sentry, &thread->stack, &thread->registers);
    uspi_json_end_object(json);
    uspi_json_end_array(json);
    uspi_json_end_object(json);
}

/* ---- threads and images ---- */

/* has_exception: the crashed thread's stack is that of the exception. */
static void put_thread(struct sentry *sentry, const struct usp_snapshot_thread *thread, bool has_exception) {
    struct uspi_json *json = &sentry->json;
    const bool is_crashed = uspi_report_is_crashed(sentry->report, thread);
    uspi_json_begin_object(json, NULL);
    uspi_json_number(json, "id", thread->info.thread.id);
    const char *name = thread->info.name[0] != '\0' ? thread->info.name : thread->info.queue;
    if (name[0] != '\0') uspi_json_string(json, "name", name);
    uspi_json_bool(json, "crashed", is_crashed);
    uspi_json_bool(json, "current", is_crashed);
    uspi_json_bool(json, "main", (thread->info.flags & USP_THREAD_MAIN) != 0);
    if (thread->status == USP_OK && !(is_crashed && has_exception)) {
        put_stack(sentry, &thread->stack, &thread->registers);
    }
    uspi_json_end_object(json);
}

static void put_threads(struct sentry *sentry, bool has_exception) {
    const struct usp_snapshot_thread *thread;
    uspi_json_begin_object(&sentry->json, "threads");
    uspi_json_begin_array(&sentry->json, "values");
    for (size_t i = 0; (thread = uspi_report_thread(sentry->report, i)) != NULL; i++) {
        put_thread(sentry, thread, has_exception);
    }
    uspi_json_end_array(&sentry->json);
    uspi_json_end_object(&sentry->json);
}

/* Writes the id of an image as Sentry looks for its files: a UUID. Of a build id it is the first 16 bytes, of which the
 * fields of a GUID are little-endian, as Breakpad takes them (getsentry/symbolic, DebugId). An image without an id has
 * the nil UUID, because an id is required. */
static void put_debug_id(struct uspi_json *json, const struct usp_image *image, bool is_macho) {
    static const uint8_t order[USPI_UUID_BYTES] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    uint8_t id[USPI_UUID_BYTES] = {0};
    char bytes[40];
    struct uspi_text text = uspi_text_in(bytes, sizeof bytes);
    for (unsigned i = 0; i < sizeof id; i++) {
        const unsigned from = is_macho ? i : order[i];
        if (from < image->build_id_size) id[i] = image->build_id[from];
    }
    uspi_put_uuid(&text, id);
    (void)uspi_text_end(&text);
    uspi_json_string(json, "debug_id", bytes);
}

static void put_image(struct sentry *sentry, const struct usp_image *image) {
    struct uspi_json *json = &sentry->json;
    const uint32_t arch = image->arch != USP_ARCH_NONE ? image->arch : sentry->report->info->arch;
    const bool is_macho = (image->flags & USP_IMAGE_MACHO) != 0;
    uspi_json_begin_object(json, NULL);
    uspi_json_string(json, "type", is_macho ? "macho" : "elf");
    put_debug_id(json, image, is_macho);
    if (image->build_id_size > 0) uspi_json_bytes(json, "code_id", image->build_id, image->build_id_size);
    uspi_json_string(json, "code_file", image->path);
    uspi_json_address(json, "image_addr", image->load_address);
    uspi_json_number(json, "image_size", image->end > image->load_address ? image->end - image->load_address : 0);
    uspi_json_string(json, "arch", usp_variant_string(arch, image->variant));
    uspi_json_end_object(json);
}

static void put_images(struct sentry *sentry) {
    const struct usp_images *images = sentry->report->images;
    uspi_json_begin_object(&sentry->json, "debug_meta");
    uspi_json_begin_array(&sentry->json, "images");
    for (size_t i = 0; i < usp_images_count(images); i++) put_image(sentry, usp_images_get(images, i));
    uspi_json_end_array(&sentry->json);
    uspi_json_end_object(&sentry->json);
}

/* ---- what the program has noted ---- */

/* Whether Sentry accepts a value as a tag. */
static bool is_tag(const struct usp_snapshot_note *note) {
    const size_t n = strlen(note->key);
    bool has_visible = false;
    if (n == 0 || n > TAG_KEY_MAX || strlen(note->text) > TAG_VALUE_MAX) return false;
    for (size_t i = 0; i < n; i++) {
        const char c = note->key[i], lower = (char)(c | 0x20);
        if ((lower < 'a' || lower > 'z') && (c < '0' || c > '9') && strchr("_.:-", c) == NULL) return false;
    }
    for (size_t i = 0; note->text[i] != '\0'; i++) {
        const unsigned char c = (unsigned char)note->text[i];
        if (c < ' ') return false;
        has_visible = has_visible || (c > ' ' && c < 0x7f);
    }
    return has_visible;
}

/* Writes the program's values: all of them as "extra", and as tags, by which Sentry finds events, those that it accepts
 * as such. */
static void put_values(struct sentry *sentry, const char *key, bool are_tags) {
    const struct usp_snapshot_note *note;
    uspi_json_begin_object(&sentry->json, key);
    for (size_t i = 0; (note = uspi_report_note(sentry->report, i)) != NULL; i++) {
        if (note->kind != USP_NOTE_VALUE || (are_tags && !is_tag(note))) continue;
        uspi_json_string(&sentry->json, note->key, note->text);
    }
    uspi_json_end_object(&sentry->json);
}

static void put_breadcrumbs(struct sentry *sentry) {
    const struct usp_snapshot_note *note;
    struct uspi_json *json = &sentry->json;
    uspi_json_begin_object(json, "breadcrumbs");
    uspi_json_begin_array(json, "values");
    for (size_t i = 0; (note = uspi_report_note(sentry->report, i)) != NULL; i++) {
        if (note->kind != USP_NOTE_BREADCRUMB) continue;
        uspi_json_begin_object(json, NULL);
        put_time(json, note->time);
        uspi_json_string(json, "message", note->text);
        uspi_json_end_object(json);
    }
    uspi_json_end_array(json);
    uspi_json_end_object(json);
}

/* Writes what is known of system, processor and process. What has no place of Sentry's is in "report". */
static void put_contexts(struct sentry *sentry) {
    struct uspi_json *json = &sentry->json;
    const struct usp_snapshot_info *info = sentry->report->info;
    const char *system = uspi_report_system(sentry->report);
    uspi_json_begin_object(json, "contexts");
    if (system[0] != '\0') {
        uspi_json_begin_object(json, "os");
        uspi_json_string(json, "name", system);
        uspi_json_end_object(json);
    }
    uspi_json_begin_object(json, "device");
    uspi_json_string(json, "arch", usp_arch_string(info->arch));
    uspi_json_end_object(json);
    uspi_json_begin_object(json, "app");
    put_program_name(sentry, "app_name");
    uspi_json_end_object(json);
    uspi_json_begin_object(json, "report");
    if (info->pid > 0) uspi_json_number(json, "pid", (uint64_t)info->pid);
    if (info->program != NULL) uspi_json_string(json, "program", info->program);
    uspi_report_put_notes(json, sentry->report, USP_NOTE_MESSAGE, "messages");
    uspi_report_put_locks(json, sentry->report);
    uspi_report_put_notes(json, sentry->report, USP_NOTE_CALLBACK, "callback");
    uspi_report_put_gaps(json, sentry->report, "gaps");
    uspi_json_end_object(json);
    uspi_json_end_object(json);
}

void uspi_report_sentry(struct uspi_report *report) {
    struct sentry sentry = {.report = report, .json = {.out = &report->text, .flat = FLAT}};
    struct uspi_json *json = &sentry.json;
    struct uspi_report_cause cause;
    const bool has_exception = uspi_report_find_cause(report, &cause);
    uint8_t id[USPI_UUID_BYTES];
    uspi_json_begin_object(json, NULL);
    uspi_report_id(report, id);
    uspi_json_bytes(json, "event_id", id, sizeof id);
    put_time(json, report->info->time);
    uspi_json_string(json, "platform", report->info->os == USP_OS_DARWIN ? "cocoa" : "native");
    uspi_json_string(json, "level", has_exception ? "fatal" : "info");
    if (has_exception) put_exception(&sentry, &cause);
    put_threads(&sentry, has_exception);
    put_contexts(&sentry);
    put_values(&sentry, "tags", true);
    put_values(&sentry, "extra", false);
    put_breadcrumbs(&sentry);
    put_images(&sentry);
    uspi_json_end_object(json);
}
