/* SPDX-License-Identifier: MIT */
/* Reads JSON of crash reporters: KSCrash's reports, Sentry's, Bugsnag's and Datadog's events, crash logs of Swift's
 * runtime. Also reads the records of `unspool symbolize --records`.
 *
 * Sources: KSCrash Example-Reports, KSCrashReportFields.h and TimeProfile.Report.swift (2.6); Sentry, "Stack Trace
 * Interface" and "Debug Meta Interface"; bugsnag-cocoa BugsnagStackframe.m; dd-sdk-ios RUMDataModels.swift; Swift
 * stdlib/public/RuntimeModule CrashLog.swift, and the output of swift-backtrace. */
#include "lib/report/read/json_slots.h"
#include "lib/report/read/line.h"
#include "lib/report/read/shapes.h"

/* ---- KSCrash: addresses are numbers, the innermost frame comes first ---- */

static const struct uspi_json_label kscrash_stacks[] = {
    {USPI_SPAN_INIT("last_exception_backtrace"), USPI_SPAN_INIT("Last Exception Backtrace")},
    {.key = {NULL, 0}},
};

static bool find_kscrash_frame(const struct uspi_json_object *object, struct uspi_json_frame *frame) {
    uint64_t load;
    /* A frame outside of all images has no object_addr. */
    const bool is_own = uspi_span_is(object->list_key, USPI_SPAN("contents"));
    if (!is_own && (object->has & USPI_SLOT_BIT(USPI_SLOT_OBJECT_ADDR)) == 0) return false;
    if (!uspi_slot_uint(object, USPI_SLOT_INSTRUCTION_ADDR, &frame->frame.address)) return false;
    frame->frame.flags = USPI_FRAME_ADDRESS;
    if (uspi_slot_uint(object, USPI_SLOT_OBJECT_ADDR, &load) && load != 0 && load <= frame->frame.address) {
        frame->frame.flags |= USPI_FRAME_OFFSET;
        frame->frame.offset = frame->frame.address - load;
    }
    /* In the list of a profile's frames each address is that of an instruction (KSCrash TimeProfile.Report.swift). An
     * exception has return addresses alone. */
    const bool is_profile = uspi_span_is(object->list_key, USPI_SPAN("frames"));
    const bool is_exception = object->holder != USPI_JSON_NONE &&
                              uspi_span_is(uspi_json_key(object->document, object->holder), kscrash_stacks[0].key);
    if ((object->is_first && !is_exception) || is_profile) frame->frame.flags |= USPI_FRAME_CALL_SITE;
    frame->frame.image = uspi_slot_text(object, USPI_SLOT_OBJECT_NAME);
    uspi_slot_id(object, USPI_SLOT_OBJECT_UUID, &frame->frame);
    frame->anchor = object->slots[USPI_SLOT_INSTRUCTION_ADDR];
    uspi_take_json_name(object, USPI_SLOT_SYMBOL_NAME, USPI_SLOT_SYMBOL_ADDR, frame);
    return true;
}

static bool find_kscrash_image(const struct uspi_json_object *object, struct uspi_read_image *image) {
    uint64_t base, size;
    image->path = image->ident = uspi_member_text(object, USPI_SPAN("name"));
    image->id_size = uspi_scan_id(uspi_member_text(object, USPI_SPAN("uuid")), image->id, sizeof image->id);
    if (!uspi_member_uint(object, USPI_SPAN("image_addr"), &base)) return false;
    uspi_member_uint(object, USPI_SPAN("image_size"), &size);
    uspi_set_range(image, base, size);
    return true;
}

static const struct uspi_json_field kscrash_fields[] = {
    {.field = USPI_FIELD_PROCESS, .path = "report.process_name"},
    {.field = USPI_FIELD_PROCESS_ID, .path = "system.process_id"},
    {.field = USPI_FIELD_INCIDENT, .path = "report.id"},
    {.field = USPI_FIELD_DATE, .path = "report.timestamp", .means = USPI_MEANS_TIME},
    {.field = USPI_FIELD_EVENT, .path = "crash.error.type", .means = USPI_MEANS_KIND},
    {.field = USPI_FIELD_DURATION,
     .path = "crash.error.hang.hang_end_nanos",
     .more = "crash.error.hang.hang_start_nanos",
     .means = USPI_MEANS_NANOSECONDS},
    {.field = USPI_FIELD_DURATION, .path = "crash.error.profile.duration", .means = USPI_MEANS_NANOSECONDS},
    {.field = USPI_FIELD_EXCEPTION_TYPE,
     .path = "crash.error.mach.exception_name|crash.error.mach.exception",
     .more = "crash.error.signal.name|crash.error.signal.signal",
     .unless = "crash.error.profile",
     .means = USPI_MEANS_EXCEPTION,
     .more_means = USPI_MEANS_SIGNAL},
    {.field = USPI_FIELD_EXCEPTION_TYPE,
     .path = "crash.error.signal.name|crash.error.signal.signal",
     .unless = "crash.error.profile",
     .means = USPI_MEANS_SIGNAL},
    {.field = USPI_FIELD_EXCEPTION_TYPE,
     .path = "crash.error.nsexception.name|crash.error.cpp_exception.name|crash.error.user_reported.name"},
    {.field = USPI_FIELD_EXCEPTION_SUBTYPE, .path = "crash.error.mach.code_name", .unless = "crash.error.exit_reason"},
    {.field = USPI_FIELD_TERMINATION, .path = "crash.error.exit_reason.code", .means = USPI_MEANS_EXIT_CODE},
    {.field = USPI_FIELD_EXCEPTION_REASON,
     .path = "crash.error.reason|crash.error.nsexception.reason",
     .more = "crash.error.nsexception.name|crash.error.cpp_exception.name"},
    {.field = USPI_FIELD_FAULT_ADDRESS, .path = "crash.error.address"},
    {.field = USPI_FIELD_INFORMATION, .path = "crash.diagnosis"},
    {.field = USPI_FIELD_IDENTIFIER, .path = "system.CFBundleIdentifier"},
    {.field = USPI_FIELD_VERSION, .path = "system.CFBundleShortVersionString", .more = "system.CFBundleVersion"},
    {.field = USPI_FIELD_PATH, .path = "system.CFBundleExecutablePath"},
    {.field = USPI_FIELD_HARDWARE, .path = "system.machine"},
    {.field = USPI_FIELD_OS_VERSION, .path = "system.system_version", .more = "system.os_version"},
    {.field = USPI_FIELD_CODE_TYPE, .path = "system.cpu_arch"},
    {.path = NULL},
};

const struct uspi_json_shape uspi_kscrash_json = {
    .name = "kscrash",
    .report_key = USPI_SPAN_INIT("binary_images"),
    .marks = {USPI_SPAN_INIT("\"binary_images\"")},
    .fields = kscrash_fields,
    .stacks = kscrash_stacks,
    .samples_key = USPI_SPAN_INIT("samples"),
    .needs = USPI_SLOT_BIT(USPI_SLOT_INSTRUCTION_ADDR),
    .frame = find_kscrash_frame,
    .name_key = USPI_SPAN_INIT("symbol_name"),
    .offset_key = USPI_SPAN_INIT("symbol_addr"),
    .offset_is_start = true,
    .file_key = USPI_SPAN_INIT("source_file"),
    .line_key = USPI_SPAN_INIT("source_line"),
    .images_key = USPI_SPAN_INIT("binary_images"),
    .images_above = 1,
    .image = find_kscrash_image,
};

/* ---- Sentry: addresses are strings in hexadecimal, the innermost frame comes last ---- */

/* Whether a stack says that all its addresses are return addresses (getsentry/relay, InstructionAddrAdjustment). */
static bool are_return_addresses(const struct uspi_json_object *object) {
    if (object->holder == USPI_JSON_NONE) return false;
    const size_t member = uspi_json_member(object->document, object->holder, USPI_SPAN("instruction_addr_adjustment"));
    return member != USPI_JSON_NONE && uspi_span_is(uspi_json_text(object->document, member), USPI_SPAN("all"));
}

static bool find_sentry_frame(const struct uspi_json_object *object, struct uspi_json_frame *frame) {
    uint64_t load;
    const size_t member = object->slots[USPI_SLOT_INSTRUCTION_ADDR];
    if (!uspi_json_uint(object->document, member, &frame->frame.address, &frame->is_hex)) return false;
    frame->frame.flags = USPI_FRAME_ADDRESS;
    if (uspi_slot_uint(object, USPI_SLOT_IMAGE_ADDR, &load) && load != 0 && load <= frame->frame.address) {
        frame->frame.flags |= USPI_FRAME_OFFSET;
        frame->frame.offset = frame->frame.address - load;
    }
    if (object->is_last && !are_return_addresses(object)) frame->frame.flags |= USPI_FRAME_CALL_SITE;
    frame->frame.image = uspi_slot_text(object, USPI_SLOT_PACKAGE);
    frame->anchor = member;
    uspi_take_json_name(object, USPI_SLOT_FUNCTION, USPI_SLOT_SYMBOL_ADDR, frame);
    return true;
}

/* A frame of a script language between native ones: React Native's or Unity's. */
static bool find_sentry_script(const struct uspi_json_object *object, struct uspi_json_frame *frame) {
    if (object->holder == USPI_JSON_NONE || (object->has & USPI_SLOT_BIT(USPI_SLOT_INSTRUCTION_ADDR)) != 0)
        return false;
    if (!uspi_span_is(uspi_json_key(object->document, object->holder), USPI_SPAN("stacktrace"))) return false;
    frame->anchor = object->slots[USPI_SLOT_FUNCTION];
    uspi_take_json_name(object, USPI_SLOT_FUNCTION, USPI_SLOT_SYMBOL_ADDR, frame);
    return (frame->frame.flags & USPI_FRAME_NAMED) != 0;
}

static bool find_sentry_image(const struct uspi_json_object *object, struct uspi_read_image *image) {
    uint64_t base, size;
    static const struct uspi_span ids[] = {USPI_SPAN_INIT("debug_id"), USPI_SPAN_INIT("uuid"),
                                           USPI_SPAN_INIT("code_id")};
    image->path = uspi_member_text(object, USPI_SPAN("code_file"));
    if (image->path.length == 0) image->path = uspi_member_text(object, USPI_SPAN("name"));
    image->ident = image->path;
    /* An ELF file's debug_id is a part of its build id, which is the code_id. */
    bool is_elf = uspi_span_is(uspi_member_text(object, USPI_SPAN("type")), USPI_SPAN("elf"));
    for (size_t i = 0; i < 3 && image->id_size == 0; i++) {
        image->id_size = uspi_scan_id(uspi_member_text(object, ids[is_elf ? 2 - i : i]), image->id, sizeof image->id);
    }
    if (!uspi_member_uint(object, USPI_SPAN("image_addr"), &base)) return false;
    uspi_member_uint(object, USPI_SPAN("image_size"), &size);
    uspi_set_range(image, base, size);
    return true;
}

static const struct uspi_json_field sentry_fields[] = {
    {.field = USPI_FIELD_INCIDENT, .path = "event_id"},
    {.field = USPI_FIELD_EXCEPTION_TYPE,
     .path = "exception.values[].type",
     .more = "exception.values[].mechanism.meta.signal.name"},
    {.field = USPI_FIELD_EXCEPTION_REASON, .path = "exception.values[].value"},
    {.field = USPI_FIELD_IDENTIFIER, .path = "contexts.app.app_identifier"},
    {.field = USPI_FIELD_VERSION, .path = "release"},
    {.field = USPI_FIELD_VERSION, .path = "contexts.app.app_version", .more = "contexts.app.app_build"},
    {.field = USPI_FIELD_HARDWARE, .path = "contexts.device.model"},
    {.field = USPI_FIELD_OS_VERSION, .path = "contexts.os.version", .more = "contexts.os.build"},
    {.path = NULL},
};

const struct uspi_json_shape uspi_sentry_json = {
    .name = "sentry",
    .report_key = USPI_SPAN_INIT("debug_meta"),
    .marks = {USPI_SPAN_INIT("\"debug_meta\""), USPI_SPAN_INIT("\"instruction_addr\"")},
    .fields = sentry_fields,
    .needs = USPI_SLOT_BIT(USPI_SLOT_INSTRUCTION_ADDR),
    .frame = find_sentry_frame,
    .name_key = USPI_SPAN_INIT("function"),
    .offset_key = USPI_SPAN_INIT("symbol_addr"),
    .offset_is_start = true,
    .file_key = USPI_SPAN_INIT("filename"),
    .line_key = USPI_SPAN_INIT("lineno"),
    .images_key = USPI_SPAN_INIT("images"),
    .images_above = 2,
    .image = find_sentry_image,
};

const struct uspi_json_shape uspi_sentry_script_json = {
    .name = "sentry",
    .list_keys = {USPI_SPAN_INIT("frames"), USPI_SPAN_INIT("frames")},
    .needs = USPI_SLOT_BIT(USPI_SLOT_FUNCTION),
    .frame = find_sentry_script,
    .name_key = USPI_SPAN_INIT("function"),
    .offset_key = USPI_SPAN_INIT("symbol_addr"),
    .offset_is_start = true,
    .file_key = USPI_SPAN_INIT("filename"),
    .line_key = USPI_SPAN_INIT("lineno"),
};

/* ---- Swift ---- */

static bool find_swift_frame(const struct uspi_json_object *object, struct uspi_json_frame *frame) {
    static const struct uspi_span exact[] = {USPI_SPAN_INIT("programCounter"), USPI_SPAN_INIT("asyncResumePoint")};
    struct uspi_span kind = uspi_slot_text(object, USPI_SLOT_KIND);
    if (!uspi_slot_uint(object, USPI_SLOT_ADDRESS, &frame->frame.address)) return false;
    frame->frame.flags = USPI_FRAME_ADDRESS;
    bool is_exact = uspi_span_is(kind, exact[0]) || uspi_span_is(kind, exact[1]);
    if (!is_exact && !uspi_span_is(kind, USPI_SPAN("returnAddress"))) return false;
    if (is_exact) frame->frame.flags |= USPI_FRAME_CALL_SITE;
    frame->frame.image = uspi_slot_text(object, USPI_SLOT_IMAGE);
    frame->anchor = object->slots[USPI_SLOT_ADDRESS];
    uspi_take_json_name(object, USPI_SLOT_SYMBOL, USPI_SLOT_OFFSET, frame);
    return true;
}

static bool find_swift_image(const struct uspi_json_object *object, struct uspi_read_image *image) {
    uint64_t end;
    image->path = uspi_member_text(object, USPI_SPAN("path"));
    image->ident = uspi_member_text(object, USPI_SPAN("name"));
    image->id_size = uspi_scan_id(uspi_member_text(object, USPI_SPAN("buildId")), image->id, sizeof image->id);
    if (!uspi_member_uint(object, USPI_SPAN("baseAddress"), &image->first)) return false;
    if (!uspi_member_uint(object, USPI_SPAN("endOfText"), &end)) return false;
    image->last = end > image->first ? end - 1 : image->first;
    return true;
}

static const struct uspi_json_field swift_fields[] = {
    {.field = USPI_FIELD_EXCEPTION_TYPE, .path = "description"},
    {.field = USPI_FIELD_FAULT_ADDRESS, .path = "faultAddress"},
    {.field = USPI_FIELD_OS_VERSION, .path = "platform"},
    {.field = USPI_FIELD_CODE_TYPE, .path = "architecture"},
    {.path = NULL},
};

const struct uspi_json_shape uspi_swift_json = {
    .name = "swift-json",
    .fields = swift_fields,
    .needs = USPI_SLOT_BIT(USPI_SLOT_ADDRESS) | USPI_SLOT_BIT(USPI_SLOT_KIND),
    .frame = find_swift_frame,
    .name_key = USPI_SPAN_INIT("symbol"),
    .offset_key = USPI_SPAN_INIT("offset"),
    .source_key = USPI_SPAN_INIT("sourceLocation"),
    .file_key = USPI_SPAN_INIT("file"),
    .line_key = USPI_SPAN_INIT("line"),
    .inlined_key = USPI_SPAN_INIT("inlined"),
    .place_keys = {USPI_SPAN_INIT("kind"), USPI_SPAN_INIT("address")},
    .images_key = USPI_SPAN_INIT("images"),
    .images_above = 1,
    .image = find_swift_image,
};

/* ---- Bugsnag: numbers are strings in hexadecimal, the innermost frame comes first ---- */

static bool find_bugsnag_frame(const struct uspi_json_object *object, struct uspi_json_frame *frame) {
    uint64_t load;
    frame->anchor = uspi_json_member(object->document, object->node, USPI_SPAN("frameAddress"));
    if (frame->anchor == USPI_JSON_NONE) {
        /* A frame of JavaScript between native ones (bugsnag-js, React Native). */
        frame->anchor = uspi_json_member(object->document, object->node, USPI_SPAN("lineNumber"));
        if (frame->anchor == USPI_JSON_NONE) return false;
        uspi_take_json_members(object, frame);
        return (frame->frame.flags & USPI_FRAME_NAMED) != 0;
    }
    if (!uspi_json_uint(object->document, frame->anchor, &frame->frame.address, &frame->is_hex)) return false;
    frame->frame.flags = USPI_FRAME_ADDRESS;
    if (uspi_member_uint(object, USPI_SPAN("machoLoadAddress"), &load) && load != 0 && load <= frame->frame.address) {
        frame->frame.flags |= USPI_FRAME_OFFSET;
        frame->frame.offset = frame->frame.address - load;
    }
    /* All other addresses are return addresses, also those of a caught exception's first frame. */
    if (uspi_member_true(object->document, object->node, USPI_SPAN("isPC"))) frame->frame.flags |= USPI_FRAME_CALL_SITE;
    frame->frame.image = uspi_member_text(object, USPI_SPAN("machoFile"));
    uspi_member_id(object, USPI_SPAN("machoUUID"), &frame->frame);
    uspi_take_json_members(object, frame);
    return true;
}

static const struct uspi_json_field bugsnag_fields[] = {
    {.field = USPI_FIELD_EXCEPTION_TYPE, .path = "exceptions[].errorClass"},
    {.field = USPI_FIELD_EXCEPTION_REASON, .path = "exceptions[].message"},
    {.field = USPI_FIELD_IDENTIFIER, .path = "app.id"},
    {.field = USPI_FIELD_VERSION, .path = "app.version", .more = "app.bundleVersion"},
    {.field = USPI_FIELD_CODE_TYPE, .path = "app.binaryArch"},
    {.field = USPI_FIELD_HARDWARE, .path = "device.model"},
    {.field = USPI_FIELD_OS_VERSION, .path = "device.osVersion", .more = "device.runtimeVersions.osBuild"},
    {.field = USPI_FIELD_DATE, .path = "device.time"},
    {.field = USPI_FIELD_EVENT, .path = "severityReason.type"},
    {.path = NULL},
};

static const struct uspi_json_label bugsnag_stacks[] = {
    {USPI_SPAN_INIT("exceptions"), USPI_SPAN_INIT("Exception Backtrace")},
    {.key = {NULL, 0}},
};

const struct uspi_json_shape uspi_bugsnag_json = {
    .name = "bugsnag",
    .list_keys = {USPI_SPAN_INIT("stacktrace"), USPI_SPAN_INIT("stacktrace")},
    .marks = {USPI_SPAN_INIT("\"machoLoadAddress\"")},
    .report_key = USPI_SPAN_INIT("exceptions"),
    .fields = bugsnag_fields,
    .stacks = bugsnag_stacks,
    .crashed_key = USPI_SPAN_INIT("errorReportingThread"),
    .frame = find_bugsnag_frame,
    .name_key = USPI_SPAN_INIT("method"),
    .offset_key = USPI_SPAN_INIT("symbolAddress"),
    .offset_is_start = true,
    .file_key = USPI_SPAN_INIT("file"),
    .line_key = USPI_SPAN_INIT("lineNumber"),
};

/* ---- Datadog: stacks are strings with lines of Apple's form; the images are beside them ---- */

static bool find_datadog_image(const struct uspi_json_object *object, struct uspi_read_image *image) {
    image->path = image->ident = uspi_member_text(object, USPI_SPAN("name"));
    image->id_size = uspi_scan_id(uspi_member_text(object, USPI_SPAN("uuid")), image->id, sizeof image->id);
    image->arch = uspi_scan_arch(uspi_member_text(object, USPI_SPAN("arch")), &image->variant);
    if (!uspi_member_uint(object, USPI_SPAN("load_address"), &image->first)) return false;
    const bool has_end = uspi_member_uint(object, USPI_SPAN("max_address"), &image->last);
    if (!has_end || image->last < image->first) image->last = image->first;
    return true;
}

static const struct uspi_json_field datadog_fields[] = {
    {.field = USPI_FIELD_EXCEPTION_TYPE, .path = "error.type"},
    {.field = USPI_FIELD_EXCEPTION_CODES, .path = "error.meta.exception_codes"},
    {.field = USPI_FIELD_EXCEPTION_REASON, .path = "error.message"},
    {.field = USPI_FIELD_PROCESS, .path = "error.meta.process"},
    {.field = USPI_FIELD_PATH, .path = "error.meta.path"},
    {.field = USPI_FIELD_PARENT, .path = "error.meta.parent_process"},
    {.field = USPI_FIELD_CODE_TYPE, .path = "error.meta.code_type"},
    {.field = USPI_FIELD_INCIDENT, .path = "error.meta.incident_identifier"},
    {.path = NULL},
};

const struct uspi_json_shape uspi_datadog_json = {
    .name = "datadog",
    .marks = {USPI_SPAN_INIT("\"max_address\"")},
    .outer_keys = {{USPI_SPAN_INIT("error"), USPI_SPAN_INIT("type")}},
    .outer_fields = datadog_fields,
    .images_key = USPI_SPAN_INIT("binary_images"),
    .images_above = 1,
    .image = find_datadog_image,
};

/* ---- records: {"uuid" or "build_id", "offset" or "address" with "load_address"} ---- */

static bool find_record_frame(const struct uspi_json_object *object, struct uspi_json_frame *frame) {
    static const struct {
        struct uspi_span word;
        uint32_t base;
    } bases[] = {
        {USPI_SPAN_INIT("load"), USP_PLACE_LOAD},
        {USPI_SPAN_INIT("linked"), USP_PLACE_LINKED},
        {USPI_SPAN_INIT("file"), USP_PLACE_FILE},
        {USPI_SPAN_INIT("text"), USP_PLACE_TEXT},
    };
    uint64_t load;
    uspi_slot_id(object, USPI_SLOT_UUID, &frame->frame);
    uspi_slot_id(object, USPI_SLOT_BUILD_ID, &frame->frame);
    frame->frame.image = uspi_slot_text(object, USPI_SLOT_IMAGE);
    if (frame->frame.id_size == 0 && frame->frame.image.length == 0) return false;
    if (uspi_slot_uint(object, USPI_SLOT_OFFSET, &frame->frame.offset)) {
        frame->anchor = object->slots[USPI_SLOT_OFFSET];
    } else {
        if (!uspi_slot_uint(object, USPI_SLOT_ADDRESS, &frame->frame.address)) return false;
        if (!uspi_slot_uint(object, USPI_SLOT_LOAD_ADDRESS, &load) || load > frame->frame.address) return false;
        frame->frame.offset = frame->frame.address - load;
        frame->anchor = object->slots[USPI_SLOT_ADDRESS];
    }
    frame->frame.flags = USPI_FRAME_OFFSET;
    struct uspi_span base = uspi_slot_text(object, USPI_SLOT_BASE);
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        if (uspi_span_is(base, bases[i].word)) frame->frame.base = bases[i].base;
    }
    /* The first frame of a list is a program counter, not a return address, unless "exact" says otherwise. */
    bool is_exact = object->is_first;
    if ((object->has & USPI_SLOT_BIT(USPI_SLOT_EXACT)) != 0) {
        is_exact = uspi_span_is(uspi_json_text(object->document, object->slots[USPI_SLOT_EXACT]), USPI_SPAN("true"));
    }
    if (is_exact) frame->frame.flags |= USPI_FRAME_CALL_SITE;
    uspi_take_json_name(object, USPI_SLOT_SYMBOL, USPI_SLOT_SYMBOL_OFFSET, frame);
    return true;
}

const struct uspi_json_shape uspi_record_json = {
    .name = "record",
    .list_keys = {USPI_SPAN_INIT("frames"), USPI_SPAN_INIT("frames")},
    .frame = find_record_frame,
    .name_key = USPI_SPAN_INIT("symbol"),
    .offset_key = USPI_SPAN_INIT("symbol_offset"),
    .file_key = USPI_SPAN_INIT("source_file"),
    .line_key = USPI_SPAN_INIT("source_line"),
};
