/* SPDX-License-Identifier: MIT */
/* Reads the tables of a profile of pprof or OTLP. Field numbers: google/pprof's proto/profile.proto (commit b9395ee);
 * opentelemetry-proto's profiles/v1development/profiles.proto, which is the same in 1.10.0 and 1.11.0. */
#include "lib/profile/file.h"

static const struct uspi_file_layout pprof = {
    .format = USP_PROFILE_FILE_PPROF,
    .mappings = 3,
    .locations = 4,
    .functions = 5,
    .strings = 6,
    .mapping = {.id = 1, .start = 2, .limit = 3, .offset = 4, .path = 5, .build_id = 6, .has_functions = 7},
    .location = {.id = 1, .mapping = 2, .address = 3, .lines = 4},
    .function = {.id = 1, .name = 2, .system_name = 3, .file = 4, .line = 5}};

static const struct uspi_file_layout otlp = {
    .format = USP_PROFILE_FILE_OTLP,
    .dictionary = 2,
    .mappings = 1,
    .locations = 2,
    .functions = 3,
    .strings = 5,
    .attributes = 6,
    .stacks = 7,
    .mapping = {.start = 1, .limit = 2, .offset = 3, .path = 4, .attributes = 5},
    .location = {.mapping = 1, .address = 2, .lines = 3},
    .function = {.name = 1, .system_name = 2, .file = 3, .line = 4}};

/* ---- which format it is ---- */

/* Numbers of fields from here on are not known in either format. */
#define FIELDS_KNOWN 16u

/* Whether the fields of a message that are known have the encodings of `wires`, a character for each: B bytes, V a
 * number, N numbers that may be packed, ? not known. */
static bool fits(struct uspi_span message, const char *wires) {
    struct uspi_proto_field field;
    const size_t known = strlen(wires);
    for (size_t at = 0; uspi_proto_next(message, &at, &field);) {
        if (field.number == 0 || field.number > (UINT64_C(1) << 29)) return false;
        const char wire = field.number <= known ? wires[field.number - 1] : '?';
        if (wire == 'B' && field.wire != USPI_PROTO_BYTES) return false;
        if (wire == 'V' && field.wire != USPI_PROTO_VARINT) return false;
        if (wire == 'N' && field.wire != USPI_PROTO_VARINT && field.wire != USPI_PROTO_BYTES) return false;
    }
    return true;
}

static bool is_pprof(struct uspi_span bytes) {
    const struct uspi_proto_field type = uspi_proto_find(bytes, 1), string = uspi_proto_find(bytes, pprof.strings);
    if (!fits(bytes, "BBBBBBVVVVBVNVV") || string.bytes.length > 0) return false;
    /* The strings of a file that is cut off may be missing. */
    return string.number != 0 || (type.number != 0 && type.bytes.length > 0 && fits(type.bytes, "VV"));
}

static bool is_otlp(struct uspi_span bytes) {
    const struct uspi_proto_field resource = uspi_proto_find(bytes, 1),
                                  tables = uspi_proto_find(bytes, otlp.dictionary);
    struct uspi_proto_field field;
    for (size_t at = 0; uspi_proto_next(bytes, &at, &field);) {
        if (field.number > otlp.dictionary && field.number < FIELDS_KNOWN) return false;
    }
    if (!fits(bytes, "BB") || !fits(resource.bytes, "BBB") || !fits(tables.bytes, "BBBBBBB")) return false;
    const struct uspi_proto_field string = uspi_proto_find(tables.bytes, otlp.strings);
    return string.bytes.length == 0 && (string.number != 0 || resource.bytes.length > 0);
}

/* ---- tables ---- */

void *uspi_file_add_item(struct uspi_file_table *table) {
    if (table->count >= USPI_FILE_ITEMS_MAX ||
        !uspi_room_for(&table->items, &table->capacity, table->count, 1, table->size))
        return NULL;
    void *item = (char *)table->items + table->count * table->size;
    memset(item, 0, table->size);
    table->count++;
    return item;
}

static bool add_position(uint32_t **positions, size_t *count, size_t *capacity, size_t at) {
    if (!uspi_room_for(positions, capacity, *count, 1, sizeof **positions)) return false;
    (*positions)[(*count)++] = (uint32_t)at;
    return true;
}

/* Notes that a message inside the file is damaged, and how far the file was whole before. */
static void note_damage(struct usp_profile_file *file, struct uspi_span message, size_t at) {
    if (at == message.length || file->damage != USP_OK) return;
    file->damage = USP_ERROR_FORMAT;
    file->read = (size_t)(message.bytes + at - file->bytes.bytes);
}

static void take_build_id(struct uspi_file_mapping *mapping, struct uspi_span text) {
    mapping->build_id_size = (uint32_t)uspi_scan_id(text, mapping->build_id, sizeof mapping->build_id);
    mapping->is_other_id = mapping->build_id_size == 0 && text.length > 0;
}

/* The strings of pprof come after its mappings: their numbers are kept, and looked up when all tables are read. */
static bool read_mapping(struct usp_profile_file *file, struct uspi_span message) {
    const struct uspi_file_layout *layout = file->layout;
    struct uspi_file_mapping *mapping = uspi_file_add_item(&file->mappings);
    struct uspi_proto_field field;
    size_t at = 0;
    if (mapping == NULL) return false;
    mapping->id = file->mappings.count - 1;
    mapping->message = message;
    while (uspi_proto_next(message, &at, &field)) {
        if (field.number == layout->mapping.id && layout->mapping.id != 0) mapping->id = field.value;
        if (field.number == layout->mapping.start) mapping->start = field.value;
        if (field.number == layout->mapping.limit) mapping->limit = field.value;
        if (field.number == layout->mapping.offset) mapping->offset = field.value;
    }
    note_damage(file, message, at);
    return true;
}

static bool read_line(struct usp_profile_file *file, struct uspi_span message) {
    struct uspi_proto_field field;
    struct uspi_file_line line = {0, 0, 0};
    size_t at = 0;
    if (file->line_count >= USPI_NONE ||
        !uspi_room_for(&file->lines, &file->line_capacity, file->line_count, 1, sizeof *file->lines))
        return false;
    while (uspi_proto_next(message, &at, &field)) {
        if (field.number == USPI_LINE_FUNCTION) line.function = field.value;
        if (field.number == USPI_LINE_LINE) line.line = field.value;
        if (field.number == USPI_LINE_COLUMN) line.column = field.value;
    }
    note_damage(file, message, at);
    file->lines[file->line_count++] = line;
    return true;
}

static bool read_location(struct usp_profile_file *file, struct uspi_span message) {
    const struct uspi_file_layout *layout = file->layout;
    struct uspi_file_location *location = uspi_file_add_item(&file->locations);
    struct uspi_proto_field field;
    size_t at = 0;
    if (location == NULL) return false;
    location->id = file->locations.count - 1;
    location->start = UINT64_MAX;
    location->kind = USP_FRAME_KIND_INTERRUPTED;
    location->first_line = (uint32_t)file->line_count;
    while (uspi_proto_next(message, &at, &field)) {
        if (field.number == layout->location.id && layout->location.id != 0) location->id = field.value;
        if (field.number == layout->location.mapping) location->mapping = field.value;
        if (field.number == layout->location.address) location->address = field.value;
        if (field.number != layout->location.lines || field.wire != USPI_PROTO_BYTES) continue;
        if (!read_line(file, field.bytes)) return false;
        location->line_count++;
    }
    note_damage(file, message, at);
    return true;
}

static bool read_function(struct usp_profile_file *file, struct uspi_span message) {
    const struct uspi_file_layout *layout = file->layout;
    struct uspi_file_function *function = uspi_file_add_item(&file->functions);
    struct uspi_proto_field field;
    size_t at = 0;
    if (function == NULL) return false;
    function->id = file->functions.count - 1;
    while (uspi_proto_next(message, &at, &field)) {
        if (field.number == layout->function.id && layout->function.id != 0) function->id = field.value;
        if (field.number == layout->function.name) function->name = field.value;
        if (field.number == layout->function.system_name) function->system_name = field.value;
        if (field.number == layout->function.file) function->file = field.value;
        if (field.number == layout->function.line) function->line = field.value;
    }
    note_damage(file, message, at);
    if (function->id > file->last_id) file->last_id = function->id;
    return true;
}

/* Whether an item of a table has the id that pprof requires. An item without one is a damage: empty messages would take
 * far more memory than they have bytes. */
static bool has_id(struct usp_profile_file *file, struct uspi_span message, uint8_t id) {
    if (id == 0 || uspi_proto_find(message, id).value != 0) return true;
    if (file->damage == USP_OK) {
        file->damage = USP_ERROR_FORMAT;
        file->read = (size_t)(message.bytes - file->bytes.bytes);
    }
    return false;
}

/* Reads a message that has tables. Returns false when memory is exhausted. */
static bool read_tables(struct usp_profile_file *file, struct uspi_span message) {
    const struct uspi_file_layout *layout = file->layout;
    const size_t before = (size_t)(message.bytes - file->bytes.bytes);
    struct uspi_proto_field field;
    size_t at = 0, from = 0;
    bool is_done = true;
    for (; is_done && uspi_proto_next(message, &at, &field); from = at) {
        if (field.wire != USPI_PROTO_BYTES) continue;
        if (field.number == layout->mappings && has_id(file, field.bytes, layout->mapping.id))
            is_done = read_mapping(file, field.bytes);
        if (field.number == layout->locations && has_id(file, field.bytes, layout->location.id))
            is_done = read_location(file, field.bytes);
        if (field.number == layout->functions && has_id(file, field.bytes, layout->function.id))
            is_done = read_function(file, field.bytes);
        if (field.number == layout->strings)
            is_done = add_position(&file->strings, &file->string_count, &file->string_capacity, before + from);
        if (layout->stacks != 0 && field.number == layout->stacks)
            is_done = add_position(&file->stacks, &file->stack_count, &file->stack_capacity, before + from);
        if (layout->attributes != 0 && field.number == layout->attributes)
            is_done = add_position(&file->attributes, &file->attribute_count, &file->attribute_capacity, before + from);
    }
    if (layout->dictionary != 0 && is_done) note_damage(file, message, at);
    return is_done;
}

/* ---- references ---- */

static int by_id(const void *a, const void *b) {
    const struct uspi_file_id *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static uint64_t id_at(const struct uspi_file_table *table, size_t i) {
    uint64_t id;
    memcpy(&id, (const char *)table->items + i * table->size, sizeof id);
    return id;
}

/* Makes a table's items findable by their ids, which usually are their numbers. */
static bool sort_ids(struct usp_profile_file *file, struct uspi_file_table *table) {
    const uint64_t first = file->layout->mapping.id != 0 ? 1 : 0;
    size_t i = 0;
    while (i < table->count && id_at(table, i) == i + first) i++;
    if (i == table->count) return true;
    table->by_id = malloc(table->count * sizeof *table->by_id);
    if (table->by_id == NULL) return false;
    for (i = 0; i < table->count; i++) table->by_id[i] = (struct uspi_file_id){id_at(table, i), (uint32_t)i};
    qsort(table->by_id, table->count, sizeof *table->by_id, by_id);
    return true;
}

static void describe_mapping(const struct usp_profile_file *file, struct uspi_file_mapping *mapping) {
    const struct uspi_file_layout *layout = file->layout;
    struct uspi_file_numbers numbers = {.message = mapping->message, .field = layout->mapping.attributes};
    struct uspi_file_pair pair;
    uint64_t number;
    mapping->path = uspi_file_string(file, uspi_proto_find(mapping->message, layout->mapping.path).value);
    if (layout->mapping.build_id != 0) {
        const uint64_t id = uspi_proto_find(mapping->message, layout->mapping.build_id).value;
        take_build_id(mapping, uspi_file_string(file, id));
        return;
    }
    while (mapping->build_id_size == 0 && uspi_file_next_number(&numbers, &number)) {
        if (!uspi_file_attribute(file, number, &pair)) continue;
        if (uspi_span_is(pair.key, USPI_SPAN("process.executable.build_id.gnu"))) {
            take_build_id(mapping, pair.text);
        } else if (uspi_span_begins(pair.key, USPI_SPAN("process.executable.build_id."))) {
            mapping->is_other_id = true;
        }
    }
}

bool uspi_file_is_named(const struct usp_profile_file *file, const struct uspi_file_location *location) {
    if (location->line_count == 0) return false;
    const uint64_t number = file->lines[location->first_line + location->line_count - 1].function;
    if (number == USPI_NONE) return false;
    const struct uspi_file_function *function = uspi_file_function(file, (uint32_t)number);
    return uspi_file_string(file, function->name).length > 0 ||
           uspi_file_string(file, function->system_name).length > 0;
}

/* Notes that the file is cut off between two fields if something that is referred to is missing. */
static void require(struct usp_profile_file *file, bool is_there) {
    if (is_there || file->damage != USP_OK) return;
    file->damage = USP_ERROR_TRUNCATED;
    file->read = file->bytes.length;
}

static void require_strings(struct usp_profile_file *file, struct uspi_span message, uint64_t from, uint64_t to) {
    struct uspi_proto_field field;
    for (size_t at = 0; uspi_proto_next(message, &at, &field);) {
        const bool is_number = field.number >= from && field.number <= to && field.wire == USPI_PROTO_VARINT;
        if (is_number && field.value != 0) require(file, field.value < file->string_count);
    }
}

/* Requires the strings of pprof, which are the last table, that types of values, comments and tables name. */
static void require_all_strings(struct usp_profile_file *file) {
    enum { TYPE = 1, PERIOD_TYPE = 11, COMMENT = 13, DEFAULT_TYPE = 14 };
    struct uspi_proto_field field;
    for (size_t at = 0; uspi_proto_next(file->bytes, &at, &field);) {
        if (field.number == TYPE || field.number == PERIOD_TYPE) require_strings(file, field.bytes, 1, 2);
    }
    require_strings(file, file->bytes, COMMENT, DEFAULT_TYPE);
    for (size_t i = 0; i < file->mappings.count; i++) {
        require_strings(file, uspi_file_mapping(file, (uint32_t)i)->message, file->layout->mapping.path,
                        file->layout->mapping.build_id);
    }
}

/* Replaces ids by numbers. */
static bool resolve(struct usp_profile_file *file) {
    if (!sort_ids(file, &file->mappings) || !sort_ids(file, &file->locations) || !sort_ids(file, &file->functions))
        return false;
    for (size_t i = 0; i < file->mappings.count; i++) describe_mapping(file, uspi_file_mapping(file, (uint32_t)i));
    for (size_t i = 0; i < file->line_count; i++) {
        const uint64_t id = file->lines[i].function;
        file->lines[i].function = uspi_file_find(file, &file->functions, id);
        require(file, id == 0 || file->lines[i].function != USPI_NONE);
    }
    for (size_t i = 0; i < file->functions.count; i++) {
        const struct uspi_file_function *function = uspi_file_function(file, (uint32_t)i);
        const uint64_t strings[] = {function->name, function->system_name, function->file};
        for (size_t k = 0; k < 3; k++) require(file, strings[k] == 0 || strings[k] < file->string_count);
    }
    for (size_t i = 0; i < file->locations.count; i++) {
        struct uspi_file_location *location = uspi_file_location(file, (uint32_t)i);
        const uint64_t id = location->mapping;
        location->mapping = uspi_file_find(file, &file->mappings, id);
        require(file, id == 0 || location->mapping != USPI_NONE);
        if (uspi_file_is_named(file, location)) file->named++;
    }
    return true;
}

/* Returns why no field can be read at a position that is not the end: it is cut off there, or damaged. */
static int damage_at(struct uspi_span bytes, size_t at) {
    uint64_t tag;
    if (!uspi_proto_varint(bytes, &at, &tag)) return USP_ERROR_TRUNCATED;
    return (tag & 7) <= USPI_PROTO_BYTES || (tag & 7) == USPI_PROTO_FIXED32 ? USP_ERROR_TRUNCATED : USP_ERROR_FORMAT;
}

int uspi_file_read(struct usp_profile_file *file) {
    struct uspi_proto_field field;
    size_t at = 0;
    file->layout = is_otlp(file->bytes) ? &otlp : is_pprof(file->bytes) ? &pprof : NULL;
    if (file->layout == NULL) return USP_ERROR_FORMAT;
    file->mappings.size = sizeof(struct uspi_file_mapping);
    file->locations.size = sizeof(struct uspi_file_location);
    file->functions.size = sizeof(struct uspi_file_function);
    bool is_done = file->layout->dictionary != 0 || read_tables(file, file->bytes);
    while (is_done && uspi_proto_next(file->bytes, &at, &field)) {
        if (file->layout->dictionary == 0 || field.number != file->layout->dictionary) continue;
        is_done = field.wire != USPI_PROTO_BYTES || read_tables(file, field.bytes);
    }
    if (!is_done) return USP_ERROR_NO_MEMORY;
    file->known_functions = file->functions.count;
    if (file->damage == USP_OK) {
        file->read = at;
        if (at < file->bytes.length) file->damage = damage_at(file->bytes, at);
    }
    if (!resolve(file)) return USP_ERROR_NO_MEMORY;
    if (file->layout->dictionary == 0) require_all_strings(file);
    return USP_OK;
}
