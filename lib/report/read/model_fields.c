/* SPDX-License-Identifier: MIT */
/* Finds the fields of reports in JSON. See model_fields.h. */
#include "lib/report/read/model_fields.h"

#include "lib/base/gathered.h"
#include "lib/report/read/json_slots.h"

/* ---- paths ---- */

/* What a number means: itself, an exception, or a signal. */
enum meaning { MEANS_ITSELF, MEANS_EXCEPTION, MEANS_SIGNAL };

/* Where fields are. A path leads from the report's object: keys separated by dots. [] means the first element of an
 * array, a * at the end all strings inside the value, at any depth. The value at `more` is written after the field's
 * value, in parentheses. */
static const struct {
    enum uspi_field field;
    const char *path, *more;
    enum meaning meaning, more_meaning;
} paths[] = {
    /* .ips */
    {.field = USPI_FIELD_PROCESS, .path = "procName"},
    {.field = USPI_FIELD_PROCESS, .path = "app_name"},
    {.field = USPI_FIELD_PROCESS_ID, .path = "pid"},
    {.field = USPI_FIELD_PATH, .path = "procPath"},
    {.field = USPI_FIELD_IDENTIFIER, .path = "bundleInfo.CFBundleIdentifier"},
    {.field = USPI_FIELD_IDENTIFIER, .path = "bundleID"},
    {.field = USPI_FIELD_VERSION,
     .path = "bundleInfo.CFBundleShortVersionString",
     .more = "bundleInfo.CFBundleVersion"},
    {.field = USPI_FIELD_VERSION, .path = "bundleInfo.CFBundleVersion"},
    {.field = USPI_FIELD_VERSION, .path = "app_version", .more = "build_version"},
    {.field = USPI_FIELD_CODE_TYPE, .path = "cpuType"},
    {.field = USPI_FIELD_PARENT, .path = "parentProc"},
    {.field = USPI_FIELD_INCIDENT, .path = "incident"},
    {.field = USPI_FIELD_INCIDENT, .path = "incident_id"},
    {.field = USPI_FIELD_HARDWARE, .path = "modelCode"},
    {.field = USPI_FIELD_OS_VERSION, .path = "osVersion.train", .more = "osVersion.build"},
    {.field = USPI_FIELD_OS_VERSION, .path = "os_version"},
    {.field = USPI_FIELD_OS_VERSION, .path = "build"},
    {.field = USPI_FIELD_DATE, .path = "captureTime"},
    {.field = USPI_FIELD_DATE, .path = "timestamp"},
    {.field = USPI_FIELD_DATE, .path = "date"},
    {.field = USPI_FIELD_EXCEPTION_TYPE, .path = "exception.type", .more = "exception.signal"},
    {.field = USPI_FIELD_EXCEPTION_SUBTYPE, .path = "exception.subtype"},
    {.field = USPI_FIELD_EXCEPTION_SUBTYPE, .path = "exception.message"},
    {.field = USPI_FIELD_EXCEPTION_TYPE, .path = "panicString"},
    {.field = USPI_FIELD_EXCEPTION_TYPE, .path = "macOSPanicString"},
    {.field = USPI_FIELD_EXCEPTION_CODES, .path = "exception.codes"},
    {.field = USPI_FIELD_EXCEPTION_REASON, .path = "exceptionReason.composed_message", .more = "exceptionReason.name"},
    {.field = USPI_FIELD_VM_REGION, .path = "vmRegionInfo"},
    {.field = USPI_FIELD_VM_REGION, .path = "vmregioninfo"},
    {.field = USPI_FIELD_TRIGGERED_BY, .path = "faultingThread"},
    {.field = USPI_FIELD_INFORMATION, .path = "asi*"},
    {.field = USPI_FIELD_HARDWARE, .path = "product"},
    {.field = USPI_FIELD_EVENT, .path = "reason"},
    /* MetricKit */
    {.field = USPI_FIELD_IDENTIFIER, .path = "diagnosticMetaData.bundleIdentifier"},
    {.field = USPI_FIELD_VERSION,
     .path = "diagnosticMetaData.appVersion",
     .more = "diagnosticMetaData.appBuildVersion"},
    {.field = USPI_FIELD_VERSION, .path = "diagnosticMetaData.appBuildVersion"},
    {.field = USPI_FIELD_CODE_TYPE, .path = "diagnosticMetaData.platformArchitecture"},
    {.field = USPI_FIELD_HARDWARE, .path = "diagnosticMetaData.deviceType"},
    {.field = USPI_FIELD_OS_VERSION, .path = "diagnosticMetaData.osVersion"},
    {.field = USPI_FIELD_PROCESS_ID, .path = "diagnosticMetaData.pid"},
    {.field = USPI_FIELD_DURATION, .path = "diagnosticMetaData.hangDuration"},
    {.field = USPI_FIELD_DURATION, .path = "diagnosticMetaData.totalCPUTime"},
    {.field = USPI_FIELD_DURATION, .path = "diagnosticMetaData.launchDuration"},
    {.field = USPI_FIELD_EVENT, .path = "diagnosticMetaData.writesCaused"},
    {.field = USPI_FIELD_EXCEPTION_TYPE,
     .path = "diagnosticMetaData.exceptionType",
     .more = "diagnosticMetaData.signal",
     .meaning = MEANS_EXCEPTION,
     .more_meaning = MEANS_SIGNAL},
    {.field = USPI_FIELD_EXCEPTION_TYPE, .path = "diagnosticMetaData.signal", .meaning = MEANS_SIGNAL},
    {.field = USPI_FIELD_EXCEPTION_CODES, .path = "diagnosticMetaData.exceptionCode"},
    {.field = USPI_FIELD_EXCEPTION_REASON,
     .path = "diagnosticMetaData.objectiveCexceptionReason.composedMessage",
     .more = "diagnosticMetaData.objectiveCexceptionReason.exceptionName"},
    {.field = USPI_FIELD_TERMINATION, .path = "diagnosticMetaData.terminationReason"},
    {.field = USPI_FIELD_VM_REGION, .path = "diagnosticMetaData.virtualMemoryRegionInfo"},
    /* KSCrash */
    {.field = USPI_FIELD_PROCESS, .path = "report.process_name"},
    {.field = USPI_FIELD_INCIDENT, .path = "report.id"},
    {.field = USPI_FIELD_DATE, .path = "report.timestamp"},
    {.field = USPI_FIELD_EXCEPTION_TYPE, .path = "crash.error.mach.exception_name", .more = "crash.error.signal.name"},
    {.field = USPI_FIELD_EXCEPTION_TYPE, .path = "crash.error.signal.name"},
    {.field = USPI_FIELD_EXCEPTION_SUBTYPE, .path = "crash.error.mach.code_name"},
    {.field = USPI_FIELD_EXCEPTION_REASON, .path = "crash.error.reason"},
    {.field = USPI_FIELD_FAULT_ADDRESS, .path = "crash.error.address"},
    {.field = USPI_FIELD_INFORMATION, .path = "crash.diagnosis"},
    {.field = USPI_FIELD_IDENTIFIER, .path = "system.CFBundleIdentifier"},
    {.field = USPI_FIELD_VERSION, .path = "system.CFBundleShortVersionString", .more = "system.CFBundleVersion"},
    {.field = USPI_FIELD_PATH, .path = "system.CFBundleExecutablePath"},
    {.field = USPI_FIELD_HARDWARE, .path = "system.machine"},
    {.field = USPI_FIELD_OS_VERSION, .path = "system.system_version", .more = "system.os_version"},
    {.field = USPI_FIELD_CODE_TYPE, .path = "system.cpu_arch"},
    /* Sentry */
    {.field = USPI_FIELD_INCIDENT, .path = "event_id"},
    {.field = USPI_FIELD_EXCEPTION_TYPE, .path = "exception.values[].type"},
    {.field = USPI_FIELD_EXCEPTION_REASON, .path = "exception.values[].value"},
    {.field = USPI_FIELD_VERSION, .path = "release"},
    {.field = USPI_FIELD_HARDWARE, .path = "contexts.device.model"},
    {.field = USPI_FIELD_OS_VERSION, .path = "contexts.os.version", .more = "contexts.os.build"},
    /* Swift */
    {.field = USPI_FIELD_EXCEPTION_TYPE, .path = "description"},
    {.field = USPI_FIELD_FAULT_ADDRESS, .path = "faultAddress"},
    {.field = USPI_FIELD_OS_VERSION, .path = "platform"},
    {.field = USPI_FIELD_CODE_TYPE, .path = "architecture"},
};

/* Returns the value at a path, up to its end or a *; USPI_JSON_NONE if there is none. */
static size_t find_value(const struct uspi_json_document *document, size_t node, const char *path) {
    while (node != USPI_JSON_NONE && *path != '\0' && *path != '*') {
        size_t length = strcspn(path, ".[*");
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

/* ---- values ---- */

/* Exceptions by their numbers: xnu osfmk/mach/exception_types.h. */
static const char *const exceptions[] = {
    NULL,           "EXC_BAD_ACCESS", "EXC_BAD_INSTRUCTION", "EXC_ARITHMETIC",    "EXC_EMULATION",
    "EXC_SOFTWARE", "EXC_BREAKPOINT", "EXC_SYSCALL",         "EXC_MACH_SYSCALL",  "EXC_RPC_ALERT",
    "EXC_CRASH",    "EXC_RESOURCE",   "EXC_GUARD",           "EXC_CORPSE_NOTIFY",
};

/* Signals by their numbers on Apple's systems: xnu bsd/sys/signal.h. */
static const char *const signals[] = {
    NULL,      "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGEMT",
    "SIGFPE",  "SIGKILL", "SIGBUS",    "SIGSEGV", "SIGSYS",   "SIGPIPE", "SIGALRM", "SIGTERM",
    "SIGURG",  "SIGSTOP", "SIGTSTP",   "SIGCONT", "SIGCHLD",  "SIGTTIN", "SIGTTOU", "SIGIO",
    "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGINFO", "SIGUSR1", "SIGUSR2",
};

static const char *name_of(enum meaning meaning, uint64_t number) {
    const size_t count = meaning == MEANS_EXCEPTION ? sizeof exceptions / sizeof *exceptions
                         : meaning == MEANS_SIGNAL  ? sizeof signals / sizeof *signals
                                                    : 0;
    if (number >= count) return NULL;
    return meaning == MEANS_EXCEPTION ? exceptions[number] : signals[number];
}

/* Writes the first line of a string or a number; for a number with a name, that name. Writes nothing when memory is
 * exhausted. */
static void put_value(struct uspi_text *out, const struct uspi_json_document *document, size_t node,
                      enum meaning meaning) {
    bool is_hex;
    uint64_t number;
    if (node == USPI_JSON_NONE || document->nodes[node].kind <= USPI_JSON_ARRAY) return;
    if (document->nodes[node].kind == USPI_JSON_LITERAL) return;
    const char *name = uspi_json_uint(document, node, &number, &is_hex) && !is_hex ? name_of(meaning, number) : NULL;
    if (name != NULL) {
        uspi_put_string(out, name);
        return;
    }
    const struct uspi_span text = uspi_json_text(document, node);
    char *decoded = text.length > 0 ? malloc(text.length) : NULL;
    if (decoded == NULL) return;
    struct uspi_span characters = uspi_span_trim((struct uspi_span){decoded, uspi_json_decode(text, decoded)});
    characters.length = uspi_span_find(characters, 0, USPI_SPAN("\n"));
    uspi_put(out, characters.bytes, characters.length);
    free(decoded);
}

/* Writes all strings in an array or object, separated by blanks. */
static void put_strings(struct uspi_text *out, const struct uspi_json_document *document, size_t node) {
    const uint64_t begin = out->length;
    for (size_t i = node; node != USPI_JSON_NONE && i < document->nodes[node].next; i++) {
        if (document->nodes[i].kind != USPI_JSON_STRING || document->nodes[i].length == 0) continue;
        if (out->length > begin) uspi_put_string(out, " ");
        put_value(out, document, i, MEANS_ITSELF);
    }
}

/* Larger codes are written in hexadecimal, as they are commonly known: 0x8badf00d. */
#define CODE_DECIMAL_MAX 0xffff

/* Writes why a process was ended, from an object such as
 *   {"namespace": "FRONTBOARD", "code": 2343432205, "indicator": "…", "reasons": ["…"]} */
static void put_termination(struct uspi_text *out, const struct uspi_json_document *document, size_t node) {
    const size_t name = find_value(document, node, "namespace"), code = find_value(document, node, "code");
    const size_t indicator = find_value(document, node, "indicator");
    bool is_hex;
    uint64_t number;
    if (name != USPI_JSON_NONE) {
        uspi_put_string(out, "Namespace ");
        put_value(out, document, name, MEANS_ITSELF);
    }
    if (name != USPI_JSON_NONE && code != USPI_JSON_NONE && uspi_json_uint(document, code, &number, &is_hex)) {
        uspi_put_string(out, ", Code ");
        if (number > CODE_DECIMAL_MAX) {
            uspi_put_hex(out, number, 1);
        } else {
            uspi_put_decimal(out, number, 0);
        }
    }
    if (indicator != USPI_JSON_NONE) {
        if (out->length > 0) uspi_put_string(out, " ");
        put_value(out, document, indicator, MEANS_ITSELF);
    }
    const size_t reasons = find_value(document, node, "reasons"), details = find_value(document, node, "details");
    if (reasons != USPI_JSON_NONE) {
        if (out->length > 0) uspi_put_string(out, ": ");
        put_strings(out, document, reasons);
    }
    if (reasons == USPI_JSON_NONE && details != USPI_JSON_NONE) {
        if (out->length > 0) uspi_put_string(out, ": ");
        put_strings(out, document, details);
    }
}

static void put_field(struct uspi_text *out, const struct uspi_json_document *document, size_t object, size_t which) {
    const char *path = paths[which].path, *more = paths[which].more;
    const size_t value = find_value(document, object, path);
    if (path[strlen(path) - 1] == '*') {
        put_strings(out, document, value);
        return;
    }
    put_value(out, document, value, paths[which].meaning);
    const size_t more_value = more != NULL && out->length > 0 ? find_value(document, object, more) : USPI_JSON_NONE;
    if (more_value == USPI_JSON_NONE || document->nodes[more_value].length == 0) return;
    uspi_put_string(out, " (");
    put_value(out, document, more_value, paths[which].more_meaning);
    uspi_put_string(out, ")");
}

/* Collects a field's text before it is copied to the model. */
struct field_text {
    struct uspi_gathered gathered;
    struct uspi_text out;
    char capacity[256];
};

static void begin_text(struct field_text *text) {
    text->gathered.size = 0;
    text->out = uspi_text_through(uspi_gathered_append, &text->gathered, text->capacity, sizeof text->capacity);
}

static bool end_text(struct field_text *text, struct uspi_model *model, enum uspi_field field) {
    return uspi_text_flush(&text->out) == USP_OK &&
           uspi_model_set_field(model, field, uspi_gathered_span(&text->gathered));
}

bool uspi_model_take_fields(struct uspi_model *model, const struct uspi_json_document *document, size_t report,
                            const struct uspi_payload_times *times) {
    struct field_text text = {.gathered = {.bytes = NULL}};
    bool is_taken = true;
    begin_text(&text);
    put_termination(&text.out, document, find_value(document, report, "termination"));
    is_taken = end_text(&text, model, USPI_FIELD_TERMINATION);
    for (size_t i = 0; is_taken && i < sizeof paths / sizeof *paths; i++) {
        if (model->parts[model->part_count - 1].fields[paths[i].field].length > 0) continue;
        begin_text(&text);
        put_field(&text.out, document, report, i);
        is_taken = end_text(&text, model, paths[i].field);
    }
    const struct {
        enum uspi_field field;
        size_t node;
    } of_payload[] = {{USPI_FIELD_DATE, times->begin}, {USPI_FIELD_END_DATE, times->end}};
    for (size_t i = 0; is_taken && i < 2; i++) {
        begin_text(&text);
        put_value(&text.out, document, of_payload[i].node, MEANS_ITSELF);
        is_taken = end_text(&text, model, of_payload[i].field);
    }
    uspi_gathered_clear(&text.gathered);
    return is_taken;
}

bool uspi_model_copy_value(struct uspi_model *model, const struct uspi_json_document *document, size_t node,
                           struct uspi_span *copy) {
    *copy = (struct uspi_span){"", 0};
    if (node == USPI_JSON_NONE || document->nodes[node].kind <= USPI_JSON_ARRAY) return true;
    if (document->nodes[node].kind == USPI_JSON_LITERAL) return true;
    return uspi_model_copy_text(model, uspi_json_text(document, node), copy);
}

bool uspi_model_copy_text(struct uspi_model *model, struct uspi_span text, struct uspi_span *copy) {
    if (text.length == 0 || memchr(text.bytes, '\\', text.length) == NULL) return uspi_model_copy(model, text, copy);
    char *decoded = malloc(text.length);
    if (decoded == NULL) return false;
    bool is_copied = uspi_model_copy(model, (struct uspi_span){decoded, uspi_json_decode(text, decoded)}, copy);
    free(decoded);
    return is_copied;
}
