/* SPDX-License-Identifier: MIT */
/* Writes Firefox Profiler's processed profile format, version 66 (its src/types/profile.ts and
 * docs-developer/CHANGELOG-formats.md, commit df31314). Newer viewers convert an older profile when they load it. A
 * table is an object of arrays of the same length, one for each column. Times are in milliseconds. */
#include "lib/base/json.h"
#include "lib/profile/by_thread.h"
#include "lib/profile/writers.h"

#include <stdlib.h>
#include <string.h>

#define VERSION 66

struct firefox {
    struct uspi_writing *writing;
    struct uspi_json json;
    struct uspi_by_thread sorted;
    uint64_t start;        /* start of the run, by usp_clock: time 0 */
    uint32_t *stack_after; /* for each node the number of its last stack, the innermost inlined call, plus 1 */
};

static void put_time(struct firefox *firefox, const char *key, uint64_t time) {
    uspi_json_fraction(&firefox->json, key, time > firefox->start ? time - firefox->start : 0, 6);
}

/* ---- columns ---- */

static void put_column(struct firefox *firefox, const char *key, uint64_t length,
                       void (*put)(struct firefox *firefox, uint64_t i)) {
    uspi_json_begin_array(&firefox->json, key);
    for (uint64_t i = 0; i < length; i++) put(firefox, i);
    uspi_json_end_array(&firefox->json);
}

static void put_null(struct firefox *firefox, uint64_t i) {
    (void)i;
    uspi_json_null(&firefox->json, NULL);
}

static void put_zero(struct firefox *firefox, uint64_t i) {
    (void)i;
    uspi_json_number(&firefox->json, NULL, 0);
}

static void put_one(struct firefox *firefox, uint64_t i) {
    (void)i;
    uspi_json_number(&firefox->json, NULL, 1);
}

static void put_false(struct firefox *firefox, uint64_t i) {
    (void)i;
    uspi_json_bool(&firefox->json, NULL, false);
}

static void put_itself(struct firefox *firefox, uint64_t i) { uspi_json_number(&firefox->json, NULL, i); }

static void begin_table(struct firefox *firefox, const char *key, uint64_t length) {
    uspi_json_begin_object(&firefox->json, key);
    uspi_json_number(&firefox->json, "length", length);
}

/* ---- strings: names of functions, names of images, a text for frames left out, source files ---- */

static uint32_t function_count(const struct firefox *firefox) { return firefox->writing->names.functions.begun; }

static uint32_t image_count(const struct firefox *firefox) { return firefox->writing->profile->images.begun; }

static const struct uspi_function *function_at(const struct firefox *firefox, uint64_t i) {
    return uspi_function(&firefox->writing->names, (uint32_t)i);
}

static void put_strings(struct firefox *firefox) {
    struct uspi_json *json = &firefox->json;
    uspi_json_begin_array(json, "stringArray");
    for (uint32_t i = 0; i < function_count(firefox); i++) uspi_json_string(json, NULL, function_at(firefox, i)->text);
    for (uint32_t i = 0; i < image_count(firefox); i++) {
        uspi_json_string(json, NULL, uspi_profile_image_name(firefox->writing->profile, i));
    }
    uspi_json_string(json, NULL, "[frames left out]");
    /* Each function has its own source; most are empty. */
    for (uint32_t i = 0; i < function_count(firefox); i++) {
        const char *file = function_at(firefox, i)->file;
        uspi_json_string(json, NULL, file != NULL ? file : "");
    }
    uspi_json_end_array(json);
}

/* ---- functions, resources, sources ---- */

static void put_function_resource(struct firefox *firefox, uint64_t i) {
    uint32_t image = i < function_count(firefox) ? function_at(firefox, i)->image : USPI_NONE;
    uspi_json_integer(&firefox->json, NULL, image != USPI_NONE ? (int64_t)image : -1);
}

static void put_function_name(struct firefox *firefox, uint64_t i) {
    bool is_function = i < function_count(firefox);
    uspi_json_number(&firefox->json, NULL, is_function ? i : (uint64_t)function_count(firefox) + image_count(firefox));
}

static void put_function_source(struct firefox *firefox, uint64_t i) {
    if (i < function_count(firefox) && function_at(firefox, i)->file != NULL) {
        uspi_json_number(&firefox->json, NULL, i);
    } else {
        uspi_json_null(&firefox->json, NULL);
    }
}

static void put_number_or_null(struct firefox *firefox, uint32_t number) {
    if (number > 0) {
        uspi_json_number(&firefox->json, NULL, number);
    } else {
        uspi_json_null(&firefox->json, NULL);
    }
}

static void put_function_line(struct firefox *firefox, uint64_t i) {
    put_number_or_null(firefox, i < function_count(firefox) ? function_at(firefox, i)->line : 0);
}

static void put_source_name(struct firefox *firefox, uint64_t i) {
    uspi_json_number(&firefox->json, NULL, (uint64_t)function_count(firefox) + image_count(firefox) + 1 + i);
}

static void put_resource_name(struct firefox *firefox, uint64_t i) {
    uspi_json_number(&firefox->json, NULL, function_count(firefox) + i);
}

static void put_functions(struct firefox *firefox) {
    const uint64_t length = (uint64_t)function_count(firefox) + 1;
    begin_table(firefox, "funcTable", length);
    put_column(firefox, "name", length, put_function_name);
    put_column(firefox, "isJS", length, put_false);
    put_column(firefox, "relevantForJS", length, put_false);
    put_column(firefox, "resource", length, put_function_resource);
    put_column(firefox, "source", length, put_function_source);
    put_column(firefox, "lineNumber", length, put_function_line);
    put_column(firefox, "columnNumber", length, put_null);
    put_column(firefox, "originalLocation", length, put_null);
    uspi_json_end_object(&firefox->json);
    begin_table(firefox, "resourceTable", image_count(firefox));
    put_column(firefox, "lib", image_count(firefox), put_itself);
    put_column(firefox, "name", image_count(firefox), put_resource_name);
    put_column(firefox, "host", image_count(firefox), put_null);
    put_column(firefox, "type", image_count(firefox), put_one); /* 1: a library */
    uspi_json_end_object(&firefox->json);
    begin_table(firefox, "sources", function_count(firefox));
    put_column(firefox, "id", function_count(firefox), put_null);
    put_column(firefox, "filename", function_count(firefox), put_source_name);
    put_column(firefox, "startLine", function_count(firefox), put_one);
    put_column(firefox, "startColumn", function_count(firefox), put_one);
    put_column(firefox, "sourceMapURL", function_count(firefox), put_null);
    put_column(firefox, "content", function_count(firefox), put_null);
    uspi_json_end_object(&firefox->json);
    begin_table(firefox, "sourceLocationTable", 0);
    put_column(firefox, "source", 0, put_null);
    put_column(firefox, "line", 0, put_null);
    put_column(firefox, "column", 0, put_null);
    uspi_json_end_object(&firefox->json);
}

/* Whether a function has a symbol in an image: the viewer shows offsets relative to it. */
static bool has_symbol(const struct firefox *firefox, uint64_t i) {
    const struct uspi_function *function = function_at(firefox, i);
    return function->symbol != NULL && !function->is_inlined && !function->is_given && function->image != USPI_NONE;
}

static void put_symbol_image(struct firefox *firefox, uint64_t i) {
    uspi_json_number(&firefox->json, NULL, has_symbol(firefox, i) ? function_at(firefox, i)->image : 0);
}

static void put_symbol_start(struct firefox *firefox, uint64_t i) {
    uspi_json_number(&firefox->json, NULL, function_at(firefox, i)->start);
}

static void put_symbol_size(struct firefox *firefox, uint64_t i) {
    if (function_at(firefox, i)->extent > 0) {
        uspi_json_number(&firefox->json, NULL, function_at(firefox, i)->extent);
    } else {
        uspi_json_null(&firefox->json, NULL);
    }
}

static void put_symbols(struct firefox *firefox) {
    begin_table(firefox, "nativeSymbols", function_count(firefox));
    put_column(firefox, "libIndex", function_count(firefox), put_symbol_image);
    put_column(firefox, "address", function_count(firefox), put_symbol_start);
    put_column(firefox, "name", function_count(firefox), put_itself);
    put_column(firefox, "functionSize", function_count(firefox), put_symbol_size);
    uspi_json_end_object(&firefox->json);
}

/* ---- frames and stacks ---- */

static uint64_t place_count(const struct firefox *firefox) { return firefox->writing->names.place_count; }

static const struct uspi_located_function *place_at(const struct firefox *firefox, uint64_t i) {
    return &firefox->writing->names.places[i];
}

static const struct uspi_site *site_of(const struct firefox *firefox, uint64_t i) {
    return uspi_site(&firefox->writing->names, place_at(firefox, i)->site);
}

/* Puts the call's offset in its image; -1 outside all images, for which the format has no address. */
static void put_frame_address(struct firefox *firefox, uint64_t i) {
    const struct usp_profile *profile = firefox->writing->profile;
    int64_t offset = -1;
    if (i < place_count(firefox) && site_of(firefox, i)->image != USPI_NONE) {
        const struct uspi_site *site = site_of(firefox, i);
        const struct uspi_node like = {.offset = site->offset, .image = site->image, .kind = site->kind};
        struct usp_frame frame = uspi_node_frame(profile, &like);
        usp_addr call = usp_frame_call_site(profile->options.arch, &frame);
        offset = (int64_t)(call - uspi_profile_image(profile, site->image)->placed);
    }
    uspi_json_integer(&firefox->json, NULL, offset);
}

/* Puts the inline depth; 0: the function that was not inlined. */
static void put_frame_depth(struct firefox *firefox, uint64_t i) {
    uint64_t depth = 0;
    if (i < place_count(firefox)) depth = (uint64_t)site_of(firefox, i)->first + site_of(firefox, i)->count - 1 - i;
    uspi_json_number(&firefox->json, NULL, depth);
}

static void put_frame_function(struct firefox *firefox, uint64_t i) {
    bool is_place = i < place_count(firefox);
    uspi_json_number(&firefox->json, NULL, is_place ? place_at(firefox, i)->function : function_count(firefox));
}

/* Puts a frame's symbol. An inlined call has the symbol of the function that contains it. */
static void put_frame_symbol(struct firefox *firefox, uint64_t i) {
    if (i < place_count(firefox) && has_symbol(firefox, site_of(firefox, i)->function)) {
        uspi_json_number(&firefox->json, NULL, site_of(firefox, i)->function);
    } else {
        uspi_json_null(&firefox->json, NULL);
    }
}

static void put_frame_line(struct firefox *firefox, uint64_t i) {
    put_number_or_null(firefox, i < place_count(firefox) ? place_at(firefox, i)->line : 0);
}

static void put_frame_column(struct firefox *firefox, uint64_t i) {
    put_number_or_null(firefox, i < place_count(firefox) ? place_at(firefox, i)->column : 0);
}

/* Puts the frames: one for each place, and a last one that stands for frames that were left out. */
static void put_frames(struct firefox *firefox) {
    const uint64_t length = place_count(firefox) + 1;
    begin_table(firefox, "frameTable", length);
    put_column(firefox, "address", length, put_frame_address);
    put_column(firefox, "inlineDepth", length, put_frame_depth);
    put_column(firefox, "category", length, put_zero);
    put_column(firefox, "subcategory", length, put_zero);
    put_column(firefox, "func", length, put_frame_function);
    put_column(firefox, "nativeSymbol", length, put_frame_symbol);
    put_column(firefox, "innerWindowID", length, put_zero);
    put_column(firefox, "line", length, put_frame_line);
    put_column(firefox, "column", length, put_frame_column);
    put_column(firefox, "originalLocation", length, put_null);
    uspi_json_end_object(&firefox->json);
}

/* Returns the site of a node; NULL: it stands for frames that were left out. */
static const struct uspi_site *node_site(const struct firefox *firefox, uint32_t node) {
    const struct uspi_profile_names *names = &firefox->writing->names;
    return names->site_of[node] != USPI_NONE ? uspi_site(names, names->site_of[node]) : NULL;
}

static bool number_stacks(struct firefox *firefox) {
    const uint32_t count = firefox->writing->profile->nodes.begun;
    uint64_t stacks = 0;
    firefox->stack_after = malloc(((size_t)count + 1) * sizeof *firefox->stack_after);
    for (uint32_t i = 0; firefox->stack_after != NULL && i < count; i++) {
        const struct uspi_site *site = node_site(firefox, i);
        stacks += site != NULL ? site->count : 1;
        if (stacks > UINT32_MAX) return false;
        firefox->stack_after[i] = (uint32_t)stacks;
    }
    return firefox->stack_after != NULL;
}

/* Puts the stacks. A node becomes one stack for each of its places, from the function that was not inlined to the
 * innermost inlined call. The table requires callers before their callees, which is the order in a clone. */
static void put_stacks(struct firefox *firefox) {
    struct uspi_json *json = &firefox->json;
    const struct usp_profile *profile = firefox->writing->profile;
    const uint32_t count = profile->nodes.begun;
    begin_table(firefox, "stackTable", count > 0 ? firefox->stack_after[count - 1] : 0);
    uspi_json_begin_array(json, "frame");
    for (uint32_t i = 0; i < count; i++) {
        const struct uspi_site *site = node_site(firefox, i);
        if (site == NULL) uspi_json_number(json, NULL, place_count(firefox));
        for (uint32_t k = site != NULL ? site->count : 0; k-- > 0;) uspi_json_number(json, NULL, site->first + k);
    }
    uspi_json_end_array(json);
    uspi_json_begin_array(json, "prefixOffset");
    for (uint32_t i = 0, stack = 0; i < count; i++) {
        uint32_t parent = uspi_node(profile, i)->parent;
        uspi_json_number(json, NULL, parent != USPI_NONE ? stack + 1 - firefox->stack_after[parent] : 0);
        while (++stack < firefox->stack_after[i]) uspi_json_number(json, NULL, 1);
    }
    uspi_json_end_array(json);
    uspi_json_end_object(json);
}

static void put_shared(struct firefox *firefox) {
    uspi_json_begin_object(&firefox->json, "shared");
    put_strings(firefox);
    put_stacks(firefox);
    put_frames(firefox);
    put_functions(firefox);
    put_symbols(firefox);
    uspi_json_end_object(&firefox->json);
}

/* ---- metadata ---- */

static void put_run_line(void *context, const char *line) { uspi_json_string(context, NULL, line); }

static void put_meta(struct firefox *firefox) {
    struct uspi_json *json = &firefox->json;
    const struct usp_profile *profile = firefox->writing->profile;
    uspi_json_begin_object(json, "meta");
    uspi_json_fraction(json, "interval", profile->run.interval, 6);
    uspi_json_fraction(json, "startTime", profile->run.wall_start, 6);
    uspi_json_number(json, "processType", 0);
    uspi_json_string(json, "product", uspi_profile_title(firefox->writing));
    uspi_json_number(json, "stackwalk", 1);
    uspi_json_number(json, "version", 31);
    uspi_json_number(json, "preprocessedProfileVersion", VERSION);
    uspi_json_bool(json, "symbolicated", firefox->writing->options.symbolizer != NULL);
    uspi_json_bool(json, "symbolicationNotSupported", false);
    uspi_json_string(json, "importedFrom", "unspool");
    uspi_json_begin_array(json, "categories");
    uspi_json_begin_object(json, NULL);
    uspi_json_string(json, "name", "Other");
    uspi_json_string(json, "color", "grey");
    uspi_json_begin_array(json, "subcategories");
    uspi_json_string(json, NULL, "Other");
    uspi_json_end_array(json);
    uspi_json_end_object(json);
    uspi_json_end_array(json);
    uspi_json_begin_array(json, "markerSchema");
    uspi_json_end_array(json);
    uspi_json_begin_object(json, "sampleUnits");
    uspi_json_string(json, "time", "ms");
    uspi_json_string(json, "eventDelay", "ms");
    uspi_json_string(json, "threadCPUDelta", "ns");
    uspi_json_end_object(json);
    /* Firefox Profiler does not show this; other readers of the file can. */
    uspi_json_begin_array(json, "unspoolRun");
    uspi_profile_describe_run(profile, put_run_line, json);
    uspi_json_end_array(json);
    uspi_json_end_object(json);
}

/* Puts Breakpad's id of a build: the UUID, or the first 16 bytes of the build id, as a GUID, then the age 0. The first
 * three numbers of the GUID are little-endian in an ELF build id (google/breakpad src/common/linux/file_id.cc). */
static void put_breakpad_id(struct uspi_json *json, const struct usp_image *image) {
    static const uint8_t swapped[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    static const char digits[] = "0123456789ABCDEF";
    char id[sizeof swapped * 2 + 2];
    for (size_t i = 0; i < sizeof swapped; i++) {
        uint8_t byte = image->build_id[(image->flags & USP_IMAGE_MACHO) != 0 ? i : swapped[i]];
        id[i * 2] = digits[byte >> 4];
        id[i * 2 + 1] = digits[byte & 15];
    }
    memcpy(id + sizeof swapped * 2, "0", 2);
    uspi_json_string(json, "breakpadId", image->build_id_size > 0 ? id : "");
}

static void put_images(struct firefox *firefox) {
    struct uspi_json *json = &firefox->json;
    uspi_json_begin_array(json, "libs");
    for (uint32_t i = 0; i < image_count(firefox); i++) {
        const struct uspi_profile_image *known = uspi_profile_image(firefox->writing->profile, i);
        const struct usp_image *image = &known->image;
        const char *name = uspi_profile_image_name(firefox->writing->profile, i);
        uspi_json_begin_object(json, NULL);
        uspi_json_string(json, "arch", usp_arch_string(firefox->writing->profile->options.arch));
        uspi_json_string(json, "name", name);
        uspi_json_string(json, "path", image->path);
        uspi_json_string(json, "debugName", name);
        uspi_json_string(json, "debugPath", image->path);
        put_breakpad_id(json, image);
        if (image->build_id_size > 0) {
            uspi_json_bytes(json, "codeId", image->build_id, image->build_id_size);
        } else {
            uspi_json_null(json, "codeId");
        }
        uspi_json_end_object(json);
    }
    uspi_json_end_array(json);
}

/* ---- threads ---- */

static void put_empty_markers(struct firefox *firefox) {
    static const char *const columns[] = {"data", "name", "startTime", "endTime", "phase", "category"};
    begin_table(firefox, "markers", 0);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) put_column(firefox, columns[i], 0, put_null);
    uspi_json_end_object(&firefox->json);
}

static void put_samples(struct firefox *firefox, uint32_t thread) {
    struct uspi_json *json = &firefox->json;
    const uint64_t first = firefox->sorted.starts[thread], end = firefox->sorted.starts[thread + 1];
    begin_table(firefox, "samples", end - first);
    uspi_json_begin_array(json, "stack");
    for (uint64_t i = first; i < end; i++) {
        uspi_json_number(json, NULL, firefox->stack_after[firefox->sorted.samples[i].node] - 1);
    }
    uspi_json_end_array(json);
    uspi_json_begin_array(json, "time");
    for (uint64_t i = first; i < end; i++) put_time(firefox, NULL, firefox->sorted.samples[i].time);
    uspi_json_end_array(json);
    /* At a lowered rate a sample stands for more than one interval. */
    uspi_json_begin_array(json, "weight");
    for (uint64_t i = first; i < end; i++) uspi_json_fraction(json, NULL, firefox->sorted.samples[i].wall, 6);
    uspi_json_end_array(json);
    uspi_json_string(json, "weightType", "tracing-ms");
    uspi_json_begin_array(json, "threadCPUDelta");
    for (uint64_t i = first; i < end; i++) uspi_json_number(json, NULL, firefox->sorted.samples[i].cpu);
    uspi_json_end_array(json);
    uspi_json_end_object(json);
}

static void put_thread(struct firefox *firefox, uint32_t thread) {
    struct uspi_json *json = &firefox->json;
    const struct usp_profile *profile = firefox->writing->profile;
    const struct usp_thread_info *info = &uspi_profile_thread(profile, thread)->info;
    char text[256];
    struct uspi_text name = uspi_text_in(text, sizeof text);
    uspi_put_profile_thread(&name, info, false);
    uspi_text_end(&name);
    uspi_json_begin_object(json, NULL);
    uspi_json_string(json, "processType", "default");
    uspi_json_string(json, "processName", uspi_profile_title(firefox->writing));
    uspi_json_number(json, "processStartupTime", 0);
    uspi_json_null(json, "processShutdownTime");
    put_time(firefox, "registerTime", firefox->sorted.samples[firefox->sorted.starts[thread]].time);
    uspi_json_null(json, "unregisterTime");
    uspi_json_begin_array(json, "pausedRanges");
    uspi_json_end_array(json);
    uspi_json_string(json, "name", text);
    uspi_json_bool(json, "isMainThread", (info->flags & USP_THREAD_MAIN) != 0);
    struct uspi_text pid = uspi_text_in(text, sizeof text);
    uspi_put_decimal(&pid, (uint64_t)profile->options.pid, 0);
    uspi_text_end(&pid);
    uspi_json_string(json, "pid", text);
    uspi_json_number(json, "tid", info->thread.id);
    put_samples(firefox, thread);
    put_empty_markers(firefox);
    uspi_json_end_object(json);
}

int uspi_profile_write_firefox(struct uspi_writing *writing) {
    const struct usp_profile *profile = writing->profile;
    struct firefox firefox = {.writing = writing, .json = {.out = &writing->text, .flat = 3}};
    firefox.start = profile->run.start;
    if (firefox.start == 0 && profile->line.count > 0) firefox.start = uspi_profile_sample(profile, 0)->time;
    int status = uspi_by_thread_sort(&firefox.sorted, profile);
    if (status == USP_OK && !number_stacks(&firefox)) status = USP_ERROR_NO_MEMORY;
    if (status == USP_OK) {
        /* Without a time line the totals' times begin at 0. */
        if (profile->line.count == 0) firefox.start = 0;
        uspi_json_begin_object(&firefox.json, NULL);
        put_meta(&firefox);
        put_images(&firefox);
        put_shared(&firefox);
        uspi_json_begin_array(&firefox.json, "threads");
        for (uint32_t i = 0; i < profile->threads.begun; i++) {
            if (firefox.sorted.starts[i + 1] > firefox.sorted.starts[i]) put_thread(&firefox, i);
        }
        uspi_json_end_array(&firefox.json);
        uspi_json_end_object(&firefox.json);
    }
    free(firefox.stack_after);
    uspi_by_thread_free(&firefox.sorted);
    return status;
}
