/* SPDX-License-Identifier: MIT */
/* Reads Apple's JSON: .ips reports, stackshots, MetricKit's payloads, and diagnostics of App Store Connect (Xcode's
 * Organizer).
 *
 * Sources: Apple, "Interpreting the JSON format of a crash report", MXDiagnosticPayload, App Store Connect API
 * DiagnosticLogs, DiagnosticReport (iOS 27); xnu tools/lldbmacros/core kcdata.py (stackshots); payloads in the tests of
 * ChimeHQ/Meter and getsentry/sentry-cocoa. */
#include "lib/report/read/apple.h"
#include "lib/report/read/json_slots.h"
#include "lib/report/read/line.h"
#include "lib/report/read/shapes.h"

/* ---- .ips ---- */

static bool find_ips_frame(const struct uspi_json_object *object, struct uspi_json_frame *frame) {
    if (!uspi_slot_uint(object, USPI_SLOT_IMAGE_OFFSET, &frame->frame.offset)) return false;
    if (!uspi_slot_uint(object, USPI_SLOT_IMAGE_INDEX, &frame->image_index)) return false;
    frame->has_image_index = true;
    frame->frame.flags = USPI_FRAME_OFFSET;
    /* The first frame of a thread is its program counter; the others are return addresses, as are all of an exception. */
    const bool is_exception = uspi_span_is(object->list_key, USPI_SPAN("lastExceptionBacktrace"));
    if ((object->is_first && !is_exception) || object->list_key.length == 0) frame->frame.flags |= USPI_FRAME_CALL_SITE;
    frame->anchor = object->slots[USPI_SLOT_IMAGE_OFFSET];
    uspi_take_json_name(object, USPI_SLOT_SYMBOL, USPI_SLOT_SYMBOL_LOCATION, frame);
    return true;
}

/* Makes the entry of addresses outside of all images the shared cache, in which they may be stubs. Their offsets are
 * addresses. An entry without a shared cache stays without a UUID. */
static void take_shared_cache(const struct uspi_json_document *document, struct uspi_read_image *image) {
    const size_t node = document->count > 0 ? uspi_json_member(document, 0, USPI_SPAN("sharedCache")) : USPI_JSON_NONE;
    if (node == USPI_JSON_NONE) return;
    const struct uspi_json_object cache = {.document = document, .node = node};
    uint64_t base, size;
    if (!uspi_member_uint(&cache, USPI_SPAN("base"), &base) || !uspi_member_uint(&cache, USPI_SPAN("size"), &size))
        return;
    image->id_size = uspi_scan_id(uspi_member_text(&cache, USPI_SPAN("uuid")), image->id, sizeof image->id);
    uspi_set_range(image, base, size);
    image->ident = USPI_SPAN("shared cache");
    image->counts_from_0 = true;
}

static bool find_ips_image(const struct uspi_json_object *object, struct uspi_read_image *image) {
    /* Our own reports have ids that are longer than a UUID, too. */
    const struct uspi_span whole = uspi_member_text(object, USPI_SPAN("build_id"));
    const struct uspi_span id = whole.length > 0 ? whole : uspi_member_text(object, USPI_SPAN("uuid"));
    image->path = uspi_member_text(object, USPI_SPAN("path"));
    image->ident = uspi_member_text(object, USPI_SPAN("name"));
    image->arch = uspi_scan_arch(uspi_member_text(object, USPI_SPAN("arch")), &image->variant);
    image->id_size = uspi_scan_id(id, image->id, sizeof image->id);
    uint64_t base, size;
    uspi_member_uint(object, USPI_SPAN("base"), &base);
    uspi_member_uint(object, USPI_SPAN("size"), &size);
    uspi_set_range(image, base, size);
    if (base == 0 && image->id_size == 0) take_shared_cache(object->document, image);
    return true;
}

static const struct uspi_json_field ips_fields[] = {
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
    {.field = USPI_FIELD_EXCEPTION_TYPE, .path = "panicString"},
    {.field = USPI_FIELD_EXCEPTION_TYPE, .path = "macOSPanicString"},
    {.field = USPI_FIELD_EXCEPTION_CODES, .path = "exception.codes"},
    {.field = USPI_FIELD_EXCEPTION_NOTE,
     .path = "simulatedCaller",
     .says = "SIMULATED (this is NOT a crash) requested by "},
    {.field = USPI_FIELD_EXCEPTION_NOTE, .path = "isSimulated", .says = "SIMULATED (this is NOT a crash)"},
    {.field = USPI_FIELD_EXCEPTION_NOTE, .path = "isCorpse", .says = "EXC_CORPSE_NOTIFY"},
    {.field = USPI_FIELD_EXCEPTION_NOTE, .path = "isNonFatal", .says = "NON-FATAL CONDITION (this is NOT a crash)"},
    {.field = USPI_FIELD_EXCEPTION_REASON, .path = "exceptionReason.composed_message", .more = "exceptionReason.name"},
    {.field = USPI_FIELD_EXCEPTION_REASON, .path = "exception.message"},
    {.field = USPI_FIELD_TERMINATING_PROCESS, .path = "termination.byProc", .more = "termination.byPid", .is_id = true},
    {.field = USPI_FIELD_VM_REGION, .path = "vmRegionInfo"},
    {.field = USPI_FIELD_VM_REGION, .path = "vmregioninfo"},
    {.field = USPI_FIELD_TRIGGERED_BY, .path = "faultingThread|legacyInfo.threadHighlighted"},
    {.field = USPI_FIELD_INFORMATION, .path = "asi*", .more = "reportNotes"},
    {.field = USPI_FIELD_KERNEL_TRIAGE, .path = "ktriageinfo"},
    {.field = USPI_FIELD_HARDWARE, .path = "product"},
    {.field = USPI_FIELD_EVENT, .path = "reason"},
    {.path = NULL},
};

static const struct uspi_json_label ips_stacks[] = {
    {USPI_SPAN_INIT("lastExceptionBacktrace"), USPI_SPAN_INIT("Last Exception Backtrace")},
    {USPI_SPAN_INIT("asiBacktraces"), USPI_SPAN_INIT("Application Specific Backtrace")},
    {USPI_SPAN_INIT("panicString"), USPI_SPAN_INIT("Panicked thread")},
    {USPI_SPAN_INIT("macOSPanicString"), USPI_SPAN_INIT("Panicked thread")},
    {.key = {NULL, 0}},
};

const struct uspi_json_shape uspi_ips_json = {
    .name = "ips",
    .report_key = USPI_SPAN_INIT("usedImages"),
    .marks = {USPI_SPAN_INIT("\"usedImages\""), USPI_SPAN_INIT("\"panicString\"")},
    .fields = ips_fields,
    .stacks = ips_stacks,
    .needs = USPI_SLOT_BIT(USPI_SLOT_IMAGE_OFFSET) | USPI_SLOT_BIT(USPI_SLOT_IMAGE_INDEX),
    .frame = find_ips_frame,
    .name_key = USPI_SPAN_INIT("symbol"),
    .offset_key = USPI_SPAN_INIT("symbolLocation"),
    .file_key = USPI_SPAN_INIT("sourceFile"),
    .line_key = USPI_SPAN_INIT("sourceLine"),
    .has_bare_files = true,
    .inlined_key = USPI_SPAN_INIT("inline"),
    .place_keys = {USPI_SPAN_INIT("imageOffset"), USPI_SPAN_INIT("imageIndex")},
    .images_key = USPI_SPAN_INIT("usedImages"),
    .images_above = 1,
    .image = find_ips_image,
};

/* ---- stackshots: frames are [image index, offset], images [UUID, load address, kind] ---- */

static bool find_stackshot_frame(const struct uspi_json_object *object, struct uspi_json_frame *frame) {
    const struct uspi_json_document *document = object->document;
    const size_t first = object->node + 1, end = document->nodes[object->node].next;
    bool is_hex;
    if (end < first + 2 || !uspi_json_uint(document, first, &frame->image_index, &is_hex)) return false;
    if (document->nodes[first].next != first + 1) return false;
    if (!uspi_json_uint(document, first + 1, &frame->frame.offset, &is_hex)) return false;
    frame->has_image_index = true;
    frame->frame.flags = USPI_FRAME_OFFSET;
    if (object->is_first) frame->frame.flags |= USPI_FRAME_CALL_SITE;
    if (end > first + 2) frame->frame.flags |= USPI_FRAME_NAMED;
    return true;
}

static bool find_stackshot_image(const struct uspi_json_object *object, struct uspi_read_image *image) {
    const struct uspi_json_document *document = object->document;
    const size_t first = object->node + 1, end = document->nodes[object->node].next;
    bool is_hex;
    if (document->nodes[object->node].kind != USPI_JSON_ARRAY || end < first + 2) return false;
    if (document->nodes[first].kind != USPI_JSON_STRING) return false;
    image->id_size = uspi_scan_id(uspi_json_text(document, first), image->id, sizeof image->id);
    if (!uspi_json_uint(document, first + 1, &image->first, &is_hex)) return false;
    image->last = image->first;
    return true;
}

const struct uspi_json_shape uspi_stackshot_json = {
    .name = "stackshot",
    .report_key = USPI_SPAN_INIT("binaryImages"),
    .marks = {USPI_SPAN_INIT("\"binaryImages\"")},
    .is_array = true,
    .list_keys = {USPI_SPAN_INIT("userFrames"), USPI_SPAN_INIT("kernelFrames")},
    .frame = find_stackshot_frame,
    .images_key = USPI_SPAN_INIT("binaryImages"),
    .images_above = 1,
    .image = find_stackshot_image,
    .owner_keys = {USPI_SPAN_INIT("procname"), USPI_SPAN_INIT("pid")},
    .kernel_key = USPI_SPAN_INIT("kernelFrames"),
};

/* ---- MetricKit ---- */

/* Load addresses are multiples of this. */
#define PAGE UINT64_C(0x1000)

/* Reads offsetIntoBinaryTextSegment, which has several meanings. In crashes iPhone OS 14, 15 and macOS 12 write the
 * load address instead. In trees of samples it may be the offset of the call, one less than that of the address (seen
 * in payloads of iOS 16 and 17). */
static void take_text_offset(uint64_t address, uint64_t offset, struct uspi_frame *frame) {
    bool is_load = offset > address || offset > UINT32_MAX || (offset % PAGE == 0 && (address - offset) % PAGE > 1);
    if (is_load) {
        frame->offset = address >= offset ? address - offset : 0;
        return;
    }
    bool is_call = (address - offset) % PAGE == 1;
    frame->offset = is_call ? offset + 1 : offset;
    /* In a call the address is a return address. Otherwise this is a leaf, or the first frame of a crash. */
    if (!is_call) frame->flags |= USPI_FRAME_LEAF;
}

/* Whether threads begin in a binary: its frames are the outermost ones. */
static bool is_start(struct uspi_span binary) {
    static const struct uspi_span names[] = {USPI_SPAN_INIT("dyld"), USPI_SPAN_INIT("libdyld.dylib"),
                                             USPI_SPAN_INIT("libsystem_pthread.dylib")};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (uspi_span_is(binary, names[i])) return true;
    }
    return false;
}

/* The properties of a frame that show in which order the frames are. */
struct chain_frame {
    struct uspi_span binary;
    bool is_call; /* its address and offset show that it called another frame */
    size_t below; /* the node of its subFrames; USPI_JSON_NONE: none */
};

static struct chain_frame frame_at(const struct uspi_json_document *document, size_t node) {
    const struct uspi_json_object object = {.document = document, .node = node};
    struct chain_frame frame = {.below = uspi_json_member(document, node, USPI_SPAN("subFrames"))};
    uint64_t address, offset;
    frame.binary = uspi_member_text(&object, USPI_SPAN("binaryName"));
    const bool is_known = uspi_member_uint(&object, USPI_SPAN("address"), &address) &&
                          uspi_member_uint(&object, USPI_SPAN("offsetIntoBinaryTextSegment"), &offset);
    frame.is_call = is_known && offset <= address && offset <= UINT32_MAX && (address - offset) % PAGE == 1;
    if (frame.below != USPI_JSON_NONE && document->nodes[frame.below].next == frame.below + 1) {
        frame.below = USPI_JSON_NONE;
    }
    return frame;
}

static bool has_one(const struct uspi_json_document *document, size_t list) {
    return document->nodes[list + 1].next == document->nodes[list].next;
}

bool uspi_metrickit_order(const struct uspi_json_document *document, size_t list, bool *is_chain) {
    *is_chain = true;
    if (document->nodes[list].kind != USPI_JSON_ARRAY || document->nodes[list].next == list + 1) return false;
    *is_chain = has_one(document, list);
    const struct chain_frame root = frame_at(document, list + 1);
    struct chain_frame last = root;
    bool is_told = root.is_call || root.below == USPI_JSON_NONE, is_innermost_first = false;
    for (size_t below; (below = last.below) != USPI_JSON_NONE && document->nodes[below].kind == USPI_JSON_ARRAY;) {
        *is_chain = *is_chain && has_one(document, below);
        last = frame_at(document, below + 1);
        /* Only the innermost frame of a stack is not a call. If the root is not a call, but a later frame is, the root
         * is innermost. */
        if (!is_told && last.is_call) is_told = is_innermost_first = true;
    }
    return is_told ? is_innermost_first : is_start(last.binary) && !is_start(root.binary);
}

bool uspi_metrickit_is_crash(struct uspi_span key) {
    return uspi_span_is(key, USPI_SPAN("crashDiagnostics")) || uspi_span_is(key, USPI_SPAN("crash"));
}

bool uspi_metrickit_is_root_list(struct uspi_span key) {
    return uspi_span_is(key, USPI_SPAN("callStackRootFrames")) || uspi_span_is(key, USPI_SPAN("rootFrames"));
}

/* Whether a frame has frames below it: an empty list of them counts as none. */
static bool has_below(const struct uspi_json_object *object) {
    if ((object->has & USPI_SLOT_BIT(USPI_SLOT_SUB_FRAMES)) == 0) return false;
    const size_t list = object->slots[USPI_SLOT_SUB_FRAMES];
    return object->document->nodes[list].next > list + 1;
}

/* Reads a frame. In crashes the root is the innermost frame, and the frames below it are its callers. Trees of samples
 * may have the opposite order. */
static bool find_metrickit_frame(const struct uspi_json_object *object, struct uspi_json_frame *frame) {
    uint64_t offset = 0, count;
    /* Apple describes the address as optional: CallStackFrame.address; App Store Connect's
     * DiagnosticLogCallStackNode. The latter's offset is an empty string where the address has a name. */
    const bool has_offset = uspi_slot_uint(object, USPI_SLOT_TEXT_OFFSET, &offset);
    const bool is_placed = uspi_slot_uint(object, USPI_SLOT_ADDRESS, &frame->frame.address);
    if (!has_offset && !is_placed) return false;
    frame->frame.flags = (has_offset ? USPI_FRAME_OFFSET : 0) | (is_placed ? USPI_FRAME_ADDRESS : USPI_FRAME_LEAF);
    frame->frame.offset = offset;
    if (has_offset && is_placed) take_text_offset(frame->frame.address, offset, &frame->frame);
    const bool is_plain = (frame->frame.flags & USPI_FRAME_LEAF) != 0;
    const bool is_root = uspi_metrickit_is_root_list(object->list_key);
    frame->frame.flags &= ~(unsigned)USPI_FRAME_LEAF;
    bool is_exact = object->is_innermost_first ? is_root : is_plain && !has_below(object);
    if (is_exact) frame->frame.flags |= USPI_FRAME_CALL_SITE;
    if (uspi_slot_uint(object, USPI_SLOT_SAMPLE_COUNT, &count)) frame->frame.count = count;
    frame->frame.image = uspi_slot_text(object, USPI_SLOT_BINARY_NAME);
    uspi_slot_id(object, USPI_SLOT_BINARY_UUID, &frame->frame);
    const bool has_address = (object->has & USPI_SLOT_BIT(USPI_SLOT_ADDRESS)) != 0;
    frame->anchor = object->slots[has_address ? USPI_SLOT_ADDRESS : USPI_SLOT_TEXT_OFFSET];
    /* App Store Connect writes all numbers as strings. */
    frame->is_string = object->document->nodes[object->slots[USPI_SLOT_TEXT_OFFSET]].kind == USPI_JSON_STRING;
    uspi_take_json_name(object, USPI_SLOT_SYMBOL_NAME_APPLE, USPI_SLOT_OFFSET_INTO_SYMBOL, frame);
    return true;
}

/* Reads an element of iOS 27's binaryInfo, which gives binaries their names by UUID. How Swift's Codable writes this
 * dictionary depends on the type of its keys, and Apple describes only the types. So all forms are read: an object with
 * UUIDs as keys; an array in which each UUID is followed by its value; an array of pairs; an array of values that have
 * their UUID. */
static bool find_metrickit_image(const struct uspi_json_object *object, struct uspi_read_image *image) {
    static const struct uspi_span ids[] = {USPI_SPAN_INIT("uuid"), USPI_SPAN_INIT("binaryUUID"), USPI_SPAN_INIT("key")};
    static const struct uspi_span names[] = {USPI_SPAN_INIT("binaryName"), USPI_SPAN_INIT("name")};
    const struct uspi_json_document *document = object->document;
    const struct uspi_json_node *nodes = document->nodes;
    struct uspi_json_object value = *object;
    struct uspi_span id = uspi_json_key(document, object->node);
    if (nodes[object->node].key == 0) id = (struct uspi_span){"", 0};
    if (nodes[object->node].kind == USPI_JSON_ARRAY && nodes[object->node].next > object->node + 2) {
        id = uspi_json_text(document, object->node + 1);
        value.node = nodes[object->node + 1].next;
    } else if (id.length == 0 && nodes[object->node - 1].kind == USPI_JSON_STRING) {
        id = uspi_json_text(document, object->node - 1);
    }
    if (uspi_json_member(document, value.node, USPI_SPAN("value")) != USPI_JSON_NONE) {
        id = uspi_member_text(&value, USPI_SPAN("key"));
        value.node = uspi_json_member(document, value.node, USPI_SPAN("value"));
    }
    if (value.node != object->node && nodes[value.node].kind == USPI_JSON_STRING) {
        image->ident = uspi_json_text(document, value.node);
    }
    if (nodes[object->node].key != 0 && nodes[object->node].kind == USPI_JSON_STRING) {
        image->ident = uspi_json_text(document, object->node);
    }
    for (size_t i = 0; i < 2 && image->ident.length == 0; i++) image->ident = uspi_member_text(&value, names[i]);
    image->id_size = uspi_scan_id(id, image->id, sizeof image->id);
    for (size_t i = 0; i < 3 && image->id_size == 0; i++) {
        image->id_size = uspi_scan_id(uspi_member_text(&value, ids[i]), image->id, sizeof image->id);
    }
    return image->id_size > 0 && image->ident.length > 0;
}

static const struct uspi_json_field metrickit_fields[] = {
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
    /* App Store Connect's logs say what happened; MetricKit's have one list for each kind. */
    {.field = USPI_FIELD_EVENT, .path = "diagnosticMetaData.event"},
    {.field = USPI_FIELD_EVENT, .path = "diagnosticMetaData.writesCaused"},
    {.field = USPI_FIELD_EXCEPTION_TYPE,
     .path = "diagnosticMetaData.exceptionType",
     .more = "diagnosticMetaData.signal",
     .means = USPI_MEANS_EXCEPTION,
     .more_means = USPI_MEANS_SIGNAL},
    {.field = USPI_FIELD_EXCEPTION_TYPE, .path = "diagnosticMetaData.signal", .means = USPI_MEANS_SIGNAL},
    {.field = USPI_FIELD_EXCEPTION_CODES, .path = "diagnosticMetaData.exceptionCode"},
    {.field = USPI_FIELD_EXCEPTION_REASON,
     .path = "diagnosticMetaData.objectiveCexceptionReason.composedMessage",
     .more = "diagnosticMetaData.objectiveCexceptionReason.exceptionName"},
    {.field = USPI_FIELD_TERMINATION, .path = "diagnosticMetaData.terminationReason"},
    {.field = USPI_FIELD_VM_REGION, .path = "diagnosticMetaData.virtualMemoryRegionInfo"},
    /* iOS 27: DiagnosticReport, whose diagnostic has its facts beside the tree */
    {.field = USPI_FIELD_EXCEPTION_TYPE,
     .path = "exceptionType",
     .more = "signal",
     .means = USPI_MEANS_EXCEPTION,
     .more_means = USPI_MEANS_SIGNAL},
    {.field = USPI_FIELD_EXCEPTION_TYPE, .path = "signal", .means = USPI_MEANS_SIGNAL},
    {.field = USPI_FIELD_EXCEPTION_CODES, .path = "exceptionCode"},
    {.field = USPI_FIELD_EXCEPTION_REASON,
     .path = "exceptionReason.composedMessage",
     .more = "exceptionReason.exceptionName"},
    {.field = USPI_FIELD_TERMINATION, .path = "terminationReason"},
    {.field = USPI_FIELD_TERMINATION, .path = "terminationCategory"},
    {.field = USPI_FIELD_VM_REGION, .path = "virtualMemoryRegionInfo"},
    {.field = USPI_FIELD_DURATION, .path = "hangDuration"},
    {.field = USPI_FIELD_DURATION, .path = "totalCPUTime"},
    {.field = USPI_FIELD_DURATION, .path = "launchDuration"},
    {.field = USPI_FIELD_VERSION, .path = "diagnosticMetaData.buildVersion"},
    {.path = NULL},
};

static const struct uspi_json_field payload_fields[] = {
    {.field = USPI_FIELD_DATE, .path = "timeStampBegin"},
    {.field = USPI_FIELD_END_DATE, .path = "timeStampEnd"},
    {.field = USPI_FIELD_IDENTIFIER, .path = "environment.bundleIdentifier"},
    {.field = USPI_FIELD_VERSION, .path = "environment.applicationVersion|environment.appVersion"},
    {.field = USPI_FIELD_HARDWARE, .path = "environment.deviceType"},
    {.field = USPI_FIELD_OS_VERSION, .path = "environment.osVersion"},
    {.field = USPI_FIELD_CODE_TYPE, .path = "environment.platformArchitecture"},
    {.field = USPI_FIELD_PROCESS_ID, .path = "environment.pid|environment.processIdentifier"},
    {.path = NULL},
};

static const struct uspi_json_label diagnostics[] = {
    {USPI_SPAN_INIT("crashDiagnostics"), USPI_SPAN_INIT("crash")},
    {USPI_SPAN_INIT("hangDiagnostics"), USPI_SPAN_INIT("hang")},
    {USPI_SPAN_INIT("cpuExceptionDiagnostics"), USPI_SPAN_INIT("cpu usage")},
    {USPI_SPAN_INIT("diskWriteExceptionDiagnostics"), USPI_SPAN_INIT("disk writes")},
    {USPI_SPAN_INIT("appLaunchDiagnostics"), USPI_SPAN_INIT("app launch")},
    /* iOS 27's DiagnosticResult */
    {USPI_SPAN_INIT("crash"), USPI_SPAN_INIT("crash")},
    {USPI_SPAN_INIT("hang"), USPI_SPAN_INIT("hang")},
    {USPI_SPAN_INIT("cpuException"), USPI_SPAN_INIT("cpu usage")},
    {USPI_SPAN_INIT("diskWriteException"), USPI_SPAN_INIT("disk writes")},
    {USPI_SPAN_INIT("appLaunch"), USPI_SPAN_INIT("app launch")},
    {USPI_SPAN_INIT("memoryException"), USPI_SPAN_INIT("memory limit")},
    {.key = {NULL, 0}},
};

const struct uspi_json_shape uspi_metrickit_json = {
    .name = "metrickit",
    .report_key = USPI_SPAN_INIT("callStackTree"),
    .outer_keys = {{USPI_SPAN_INIT("timeStampBegin"), USPI_SPAN_INIT("timeStampEnd")},
                   {USPI_SPAN_INIT("environment"), USPI_SPAN_INIT("result")}},
    .marks = {USPI_SPAN_INIT("\"callStackTree\"")},
    .fields = metrickit_fields,
    .outer_fields = payload_fields,
    .events = diagnostics,
    .needs = USPI_SLOT_BIT(USPI_SLOT_TEXT_OFFSET),
    .images_key = USPI_SPAN_INIT("binaryInfo"),
    .images_above = 1,
    .has_image_object = true,
    .image = find_metrickit_image,
    .frame = find_metrickit_frame,
    .name_key = USPI_SPAN_INIT("symbolName"),
    .offset_key = USPI_SPAN_INIT("offsetIntoSymbol"),
    .file_key = USPI_SPAN_INIT("fileName"),
    .line_key = USPI_SPAN_INIT("lineNumber"),
};
