/* SPDX-License-Identifier: MIT */
/* Reads profiles that unspool has written as JSON (doc/schema/profile.schema.json) into the tables of file.h. Frames keep
 * their kinds, and samples their threads, values and times. */
#include "lib/base/json_read.h"
#include "lib/profile/file.h"

static const struct uspi_file_layout layout = {.format = USP_PROFILE_FILE_UNSPOOL};

/* Version of the format that is read. */
#define VERSION 1u

struct reading {
    struct usp_profile_file *file;
    struct uspi_saved *saved;
    struct uspi_json_document document;
    bool has_failed; /* memory is exhausted */
};

/* The elements of an array. */
struct elements {
    size_t at, end;
};

static struct elements elements_of(const struct reading *r, size_t object, const char *key) {
    const size_t array = uspi_json_member(&r->document, object, uspi_span_of(key));
    if (array == USPI_JSON_NONE || r->document.nodes[array].kind != USPI_JSON_ARRAY) return (struct elements){0, 0};
    return (struct elements){array + 1, r->document.nodes[array].next};
}

static bool next_element(const struct reading *r, struct elements *elements, size_t *element) {
    if (r->has_failed || elements->at >= elements->end) return false;
    *element = elements->at;
    elements->at = r->document.nodes[elements->at].next;
    return true;
}

/* Returns a member's text if it has a kind; otherwise an empty text. */
static struct uspi_span member(const struct reading *r, size_t object, const char *key, uint32_t kind) {
    const size_t node = uspi_json_member(&r->document, object, uspi_span_of(key));
    if (node == USPI_JSON_NONE || r->document.nodes[node].kind != kind) return (struct uspi_span){"", 0};
    return uspi_json_text(&r->document, node);
}

static uint64_t number(const struct reading *r, size_t object, const char *key, uint64_t otherwise) {
    uint64_t value;
    return uspi_json_whole(member(r, object, key, USPI_JSON_NUMBER), &value) ? value : otherwise;
}

static uint64_t address(const struct reading *r, size_t object, const char *key, uint64_t otherwise) {
    const struct uspi_span text = member(r, object, key, USPI_JSON_STRING);
    uint64_t value;
    size_t at = 0;
    return uspi_scan_hex(text, &at, &value) && at == text.length ? value : otherwise;
}

static bool is_true(const struct reading *r, size_t object, const char *key) {
    return uspi_span_is(member(r, object, key, USPI_JSON_LITERAL), USPI_SPAN("true"));
}

/* Returns a copy of a string with its escapes resolved, which ends with a NUL. */
static struct uspi_span string(struct reading *r, size_t object, const char *key) {
    const struct uspi_span text = member(r, object, key, USPI_JSON_STRING);
    if (text.length == 0) return (struct uspi_span){"", 0};
    char *copy = uspi_region_take(&r->file->region, text.length + 1);
    if (copy == NULL) {
        r->has_failed = true;
        return (struct uspi_span){"", 0};
    }
    const size_t length = uspi_json_decode(text, copy);
    copy[length] = '\0';
    return (struct uspi_span){copy, length};
}

/* Adds a string to the file's and returns its number; 0: it is empty. */
static uint64_t add_string(struct reading *r, struct uspi_span text) {
    struct usp_profile_file *file = r->file;
    if (text.length == 0 && file->added_count > 0) return 0;
    if (!uspi_room_for(&file->added, &file->added_capacity, file->added_count, 1, sizeof *file->added)) {
        r->has_failed = true;
        return 0;
    }
    file->added[file->added_count] = text;
    return file->added_count++;
}

/* Notes that a reference to an item is wrong. Returns whether the number is one of `count`. */
static bool refers(struct reading *r, uint64_t item, uint64_t count) {
    if (item < count) return true;
    if (r->file->damage == USP_OK) {
        r->file->damage = r->document.is_cut ? USP_ERROR_TRUNCATED : USP_ERROR_FORMAT;
        r->file->read = r->document.at;
    }
    return false;
}

/* ---- the tables ---- */

static void read_images(struct reading *r) {
    struct elements elements = elements_of(r, 0, "images");
    for (size_t i; next_element(r, &elements, &i);) {
        struct uspi_file_mapping *mapping = uspi_file_add_item(&r->file->mappings);
        if (mapping == NULL) {
            r->has_failed = true;
            return;
        }
        struct uspi_span id = member(r, i, "build_id", USPI_JSON_STRING);
        if (id.length == 0) id = member(r, i, "uuid", USPI_JSON_STRING);
        mapping->id = r->file->mappings.count - 1;
        mapping->path = string(r, i, "path");
        mapping->start = address(r, i, "load_address", 0);
        mapping->limit = address(r, i, "end", 0);
        mapping->build_id_size = (uint32_t)uspi_scan_id(id, mapping->build_id, sizeof mapping->build_id);
    }
}

/* Functions have the numbers of the file plus 1: function 0 is none. `starts` receives where each begins in its image;
 * UINT64_MAX: not known. */
static void read_functions(struct reading *r, uint64_t **starts) {
    struct usp_profile_file *file = r->file;
    struct elements elements = elements_of(r, 0, "functions");
    size_t capacity = 0, count = 0;
    if (uspi_file_add_item(&file->functions) == NULL) r->has_failed = true;
    for (size_t i; next_element(r, &elements, &i); count++) {
        struct uspi_file_function *function = uspi_file_add_item(&file->functions);
        if (function == NULL || !uspi_room_for(starts, &capacity, count, 1, sizeof **starts)) {
            r->has_failed = true;
            return;
        }
        (*starts)[count] = address(r, i, "start", UINT64_MAX);
        function->id = file->functions.count - 1;
        if (!is_true(r, i, "named")) continue;
        function->name = add_string(r, string(r, i, "name"));
        function->system_name = add_string(r, string(r, i, "mangled"));
        if (function->system_name == 0) function->system_name = function->name;
        function->file = add_string(r, string(r, i, "file"));
        function->line = number(r, i, "line", 0);
    }
}

/* Adds the line of a place to a location, unless its function has no name. Returns the function's number. */
static uint64_t add_line(struct reading *r, struct uspi_file_location *location, size_t place) {
    struct usp_profile_file *file = r->file;
    const uint64_t function = number(r, place, "function", UINT64_MAX - 1) + 1;
    if (!refers(r, function, file->functions.count) || uspi_file_function(file, (uint32_t)function)->name == 0)
        return 0;
    if (file->line_count >= USPI_NONE ||
        !uspi_room_for(&file->lines, &file->line_capacity, file->line_count, 1, sizeof *file->lines)) {
        r->has_failed = true;
        return 0;
    }
    file->lines[file->line_count++] = (struct uspi_file_line){
        .function = function, .line = number(r, place, "line", 0), .column = number(r, place, "column", 0)};
    location->line_count++;
    return function;
}

static uint8_t kind_of(struct uspi_span name) {
    static const struct {
        struct uspi_span name;
        uint8_t kind;
    } kinds[] = {
        {USPI_SPAN_INIT("return-address"), USP_FRAME_KIND_RETURN_ADDRESS},
        {USPI_SPAN_INIT("link-register"), USP_FRAME_KIND_LINK_REGISTER},
        {USPI_SPAN_INIT("async-resume"), USP_FRAME_KIND_ASYNC_RESUME},
        {USPI_SPAN_INIT("signal"), USP_FRAME_KIND_SIGNAL},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (uspi_span_is(name, kinds[i].name)) return kinds[i].kind;
    }
    return USP_FRAME_KIND_INTERRUPTED;
}

static void read_frames(struct reading *r, const uint64_t *starts) {
    struct usp_profile_file *file = r->file;
    struct elements elements = elements_of(r, 0, "frames");
    for (size_t i; next_element(r, &elements, &i);) {
        struct uspi_file_location *location = uspi_file_add_item(&file->locations);
        if (location == NULL) {
            r->has_failed = true;
            return;
        }
        const uint64_t image = number(r, i, "image", UINT64_MAX);
        location->id = file->locations.count - 1;
        location->start = UINT64_MAX;
        location->kind = kind_of(member(r, i, "kind", USPI_JSON_STRING));
        location->is_thumb = is_true(r, i, "thumb");
        location->address = address(r, i, "address", 0);
        location->mapping = USPI_NONE;
        if (image != UINT64_MAX && refers(r, image, file->mappings.count)) location->mapping = image;
        location->first_line = (uint32_t)file->line_count;
        struct elements inlined = elements_of(r, i, "inlined");
        for (size_t k; next_element(r, &inlined, &k);) (void)add_line(r, location, k);
        const uint64_t function = add_line(r, location, i);
        if (function == 0) location->line_count = 0;
        if (function != 0 && location->mapping != USPI_NONE && starts[function - 1] != UINT64_MAX)
            location->start = uspi_file_mapping(file, (uint32_t)image)->start + starts[function - 1];
        file->named += function != 0;
    }
}

/* ---- samples ---- */

static void read_stacks(struct reading *r) {
    struct uspi_saved *saved = r->saved;
    struct elements elements = elements_of(r, 0, "stacks");
    size_t capacity = 0;
    for (size_t i; next_element(r, &elements, &i); saved->node_count++) {
        if (saved->node_count >= USPI_FILE_ITEMS_MAX ||
            !uspi_room_for(&saved->nodes, &capacity, saved->node_count, 1, sizeof *saved->nodes)) {
            r->has_failed = true;
            return;
        }
        const uint64_t caller = number(r, i, "caller", UINT64_MAX), frame = number(r, i, "frame", UINT64_MAX);
        struct uspi_saved_node *node = &saved->nodes[saved->node_count];
        *node = (struct uspi_saved_node){USPI_NONE, USPI_NONE};
        /* Callers come first, so that there are no cycles. */
        if (caller != UINT64_MAX && refers(r, caller, saved->node_count)) node->caller = (uint32_t)caller;
        if (frame != UINT64_MAX && refers(r, frame, r->file->locations.count)) node->location = (uint32_t)frame;
        /* Frames left out by frames left out are one gap: otherwise each sample would pass all of them. */
        if (node->location == USPI_NONE && node->caller != USPI_NONE &&
            saved->nodes[node->caller].location == USPI_NONE)
            node->caller = saved->nodes[node->caller].caller;
    }
}

static void read_threads(struct reading *r) {
    struct uspi_saved *saved = r->saved;
    struct elements elements = elements_of(r, 0, "threads");
    size_t capacity = 0;
    for (size_t i; next_element(r, &elements, &i); saved->thread_count++) {
        if (!uspi_room_for(&saved->threads, &capacity, saved->thread_count, 1, sizeof *saved->threads)) {
            r->has_failed = true;
            return;
        }
        saved->threads[saved->thread_count] = (struct uspi_saved_thread){.id = number(r, i, "id", 0),
                                                                         .name = string(r, i, "name"),
                                                                         .queue = string(r, i, "queue"),
                                                                         .is_main = is_true(r, i, "main")};
    }
}

static void read_totals(struct reading *r) {
    struct uspi_saved *saved = r->saved;
    struct elements elements = elements_of(r, 0, "totals");
    size_t capacity = 0;
    for (size_t i; next_element(r, &elements, &i);) {
        const uint64_t thread = number(r, i, "thread", UINT64_MAX), node = number(r, i, "stack", UINT64_MAX);
        if (!refers(r, thread, saved->thread_count) || !refers(r, node, saved->node_count)) continue;
        if (!uspi_room_for(&saved->totals, &capacity, saved->total_count, 1, sizeof *saved->totals)) {
            r->has_failed = true;
            return;
        }
        saved->totals[saved->total_count++] = (struct uspi_saved_sample){.thread = (uint32_t)thread,
                                                                         .node = (uint32_t)node,
                                                                         .count = number(r, i, "samples", 0),
                                                                         .wall = number(r, i, "wall_ns", 0),
                                                                         .cpu = number(r, i, "cpu_ns", 0)};
    }
}

/* Returns the time of day of a time; without the time of day, the time itself; 0 if it is not known. */
static uint64_t time_of_day(const struct uspi_saved *saved, uint64_t time) {
    if (saved->wall_start == 0 || time == 0) return time;
    return saved->wall_start + (time > saved->start ? time - saved->start : 0);
}

static void subtract(uint64_t *from, uint64_t amount) { *from -= amount < *from ? amount : *from; }

/* Reads the time line. What is in it is taken off the totals, whose rest has no times. */
static void read_line(struct reading *r) {
    struct uspi_saved *saved = r->saved;
    struct elements elements = elements_of(r, 0, "time_line");
    size_t capacity = 0;
    for (size_t i; next_element(r, &elements, &i);) {
        uint64_t values[5] = {0};
        struct elements row = {i + 1, r->document.nodes[i].next};
        size_t count = 0;
        for (size_t k; r->document.nodes[i].kind == USPI_JSON_ARRAY && count < 5 && next_element(r, &row, &k); count++)
            (void)uspi_json_whole(uspi_json_text(&r->document, k), &values[count]);
        if (!refers(r, count < 5 ? UINT64_MAX : values[1], saved->total_count)) continue;
        if (!uspi_room_for(&saved->line, &capacity, saved->line_count, 1, sizeof *saved->line)) {
            r->has_failed = true;
            return;
        }
        struct uspi_saved_sample *total = &saved->totals[values[1]];
        saved->line[saved->line_count++] = (struct uspi_saved_sample){.time = time_of_day(saved, values[0]),
                                                                      .thread = total->thread,
                                                                      .node = total->node,
                                                                      .count = values[2],
                                                                      .wall = values[3],
                                                                      .cpu = values[4]};
        subtract(&total->count, values[2]);
        subtract(&total->wall, values[3]);
        subtract(&total->cpu, values[4]);
    }
}

static void read_run(struct reading *r) {
    struct uspi_saved *saved = r->saved;
    const size_t run = uspi_json_member(&r->document, 0, USPI_SPAN("run"));
    char arch[16] = "";
    const struct uspi_span name = member(r, 0, "arch", USPI_JSON_STRING);
    if (name.length < sizeof arch && name.length > 0) memcpy(arch, name.bytes, name.length);
    saved->arch = usp_arch_from_string(arch);
    saved->pid = (int64_t)(number(r, 0, "pid", 0) & INT32_MAX);
    saved->program = string(r, 0, "program").bytes;
    saved->wall_start = number(r, run, "wall_start_ns", 0);
    saved->start = number(r, run, "start_ns", 0);
    saved->interval = number(r, run, "interval_ns", 0);
    const uint64_t end = number(r, run, "end_ns", 0);
    saved->length = end > saved->start ? end - saved->start : 0;
}

static void read_all(struct reading *r) {
    struct usp_profile_file *file = r->file;
    uint64_t *starts = NULL;
    file->mappings.size = sizeof(struct uspi_file_mapping);
    file->locations.size = sizeof(struct uspi_file_location);
    file->functions.size = sizeof(struct uspi_file_function);
    (void)add_string(r, (struct uspi_span){"", 0});
    read_run(r);
    read_images(r);
    read_functions(r, &starts);
    read_frames(r, starts);
    free(starts);
    read_stacks(r);
    read_threads(r);
    read_totals(r);
    read_line(r);
    file->known_functions = file->functions.count;
}

bool uspi_file_may_be_saved(struct uspi_span head) {
    size_t at = 0;
    while (at < head.length && uspi_is_blank(head.bytes[at])) at++;
    if (at == head.length || head.bytes[at++] != '{') return false;
    while (at < head.length && uspi_is_blank(head.bytes[at])) at++;
    return uspi_span_has_at(head, at, USPI_SPAN("\"version\""));
}

int uspi_file_read_saved(struct usp_profile_file *file) {
    struct reading r = {.file = file, .document = {.text = file->bytes, .takes_cut = true}};
    int status = uspi_json_read(&r.document);
    const bool is_ours = status == USP_OK && number(&r, 0, "version", 0) == VERSION &&
                         uspi_json_member(&r.document, 0, USPI_SPAN("images")) != USPI_JSON_NONE &&
                         uspi_json_member(&r.document, 0, USPI_SPAN("arch")) != USPI_JSON_NONE;
    if (status == USP_OK && !is_ours) status = USP_ERROR_FORMAT;
    if (status == USP_OK) {
        file->layout = &layout;
        file->saved = r.saved = calloc(1, sizeof *r.saved);
        file->read = file->bytes.length;
        if (r.document.is_cut) file->damage = USP_ERROR_TRUNCATED;
        if (r.saved != NULL) read_all(&r);
        if (r.saved == NULL || r.has_failed) status = USP_ERROR_NO_MEMORY;
    }
    uspi_json_clear(&r.document);
    return status == USP_OK || status == USP_ERROR_NO_MEMORY ? status : USP_ERROR_FORMAT;
}

void uspi_saved_free(struct uspi_saved *saved) {
    if (saved == NULL) return;
    free(saved->nodes);
    free(saved->threads);
    free(saved->totals);
    free(saved->line);
    free(saved);
}
