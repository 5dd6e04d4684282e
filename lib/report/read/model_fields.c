/* SPDX-License-Identifier: MIT */
/* Finds the fields of reports in JSON. See model_fields.h. */
#include "lib/report/read/model_fields.h"

#include "lib/base/gathered.h"
#include "lib/base/signal_names.h"
#include "lib/report/read/json_slots.h"
#include "lib/report/read/lines.h"

#include <unspool/unwind.h>

/* ---- paths ---- */

/* Returns the value at a path, up to its end, a | or a *; USPI_JSON_NONE if there is none. */
static size_t follow_path(const struct uspi_json_document *document, size_t node, const char *path) {
    while (node != USPI_JSON_NONE && *path != '\0' && *path != '*' && *path != '|') {
        size_t length = strcspn(path, ".[*|");
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

/* Returns the first of a path's alternatives that exists, and is not null; otherwise USPI_JSON_NONE. */
static size_t find_value(const struct uspi_json_document *document, size_t node, const char *path) {
    for (const char *from = path; from != NULL; from = strchr(from, '|')) {
        if (*from == '|') from++;
        const size_t value = follow_path(document, node, from);
        const bool is_there =
            value != USPI_JSON_NONE && !uspi_span_is(uspi_json_text(document, value), USPI_SPAN("null"));
        if (is_there) return value;
    }
    return USPI_JSON_NONE;
}

/* ---- values ---- */

static const char *name_of(enum uspi_json_means meaning, uint64_t number) {
    if (meaning != USPI_MEANS_EXCEPTION && meaning != USPI_MEANS_SIGNAL) return NULL;
    if (number == 0) return "";
    if (number > UINT32_MAX) return NULL;
    return meaning == USPI_MEANS_SIGNAL ? uspi_signal_name(USP_OS_DARWIN, (uint32_t)number)
                                        : uspi_mach_exception_name((uint32_t)number);
}

/* Larger codes are written in hexadecimal, as they are commonly known: 0x8badf00d. */
#define CODE_DECIMAL_MAX 0xffff

/* Codes with which the system ends processes: Apple, "Understanding the exception types in a crash report". */
static const struct {
    uint64_t code;
    const char *meaning;
} exit_codes[] = {
    {0x8badf00d, "watchdog: it took too long to launch, to end, or to answer"},
    {0xc00010ff, "the device was too hot"},
    {0xdead10cc, "it held a lock on a file or a database while it was suspended"},
    {0xbaadca11, "it did not report a call after a PushKit notification"},
    {0xbad22222, "a VoIP app was resumed too often"},
    {0xc51bad01, "watch app: a background task used too much processor time"},
    {0xc51bad02, "watch app: a background task took too long"},
    {0xc51bad03, "watch app: a background task had too little processor time"},
    {0xdeadfa11, "the user forced it to quit"},
};

static void put_code(struct uspi_text *out, uint64_t code) {
    uspi_put_string(out, "Code ");
    if (code > CODE_DECIMAL_MAX) {
        uspi_put_hex(out, code, 1);
    } else {
        uspi_put_decimal(out, code, 0);
    }
}

static void put_exit_code(struct uspi_text *out, uint64_t code) {
    put_code(out, code);
    for (size_t i = 0; i < sizeof exit_codes / sizeof *exit_codes; i++) {
        if (exit_codes[i].code != code) continue;
        uspi_put_string(out, " (");
        uspi_put_string(out, exit_codes[i].meaning);
        uspi_put_string(out, ")");
    }
}

static void put_digits(struct uspi_text *out, uint64_t number, unsigned digits) {
    uint64_t unit = 1;
    for (unsigned i = 1; i < digits; i++) unit *= 10;
    for (; unit > 0; unit /= 10) uspi_put_decimal(out, number / unit % 10, 0);
}

/* Numbers from this one on are microseconds, smaller ones seconds. In seconds it is the year 5138. */
#define MICROSECONDS_MIN UINT64_C(100000000000)

/* Writes a time since 1970 as a date in UTC. The days are counted from 1 March of the year 0, so that leap days are
 * the last of a year: https://howardhinnant.github.io/date_algorithms.html. */
static void put_time(struct uspi_text *out, uint64_t number) {
    const bool has_micros = number >= MICROSECONDS_MIN;
    const uint64_t seconds = has_micros ? number / 1000000 : number;
    const uint64_t days = seconds / 86400 + 719468, era = days / 146097, day_of_era = days % 146097;
    const uint64_t year = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const uint64_t day_of_year = day_of_era - (365 * year + year / 4 - year / 100), month = (5 * day_of_year + 2) / 153;
    uspi_put_decimal(out, era * 400 + year + (month >= 10), 0);
    uspi_put_string(out, "-");
    put_digits(out, month < 10 ? month + 3 : month - 9, 2);
    uspi_put_string(out, "-");
    put_digits(out, day_of_year - (153 * month + 2) / 5 + 1, 2);
    uspi_put_string(out, " ");
    put_digits(out, seconds / 3600 % 24, 2);
    uspi_put_string(out, ":");
    put_digits(out, seconds / 60 % 60, 2);
    uspi_put_string(out, ":");
    put_digits(out, seconds % 60, 2);
    if (has_micros) {
        uspi_put_string(out, ".");
        put_digits(out, number % 1000000, 6);
    }
    uspi_put_string(out, " +0000");
}

static void put_nanoseconds(struct uspi_text *out, uint64_t nanoseconds) {
    uspi_put_decimal(out, nanoseconds / 1000000000, 0);
    uspi_put_string(out, ".");
    put_digits(out, nanoseconds / 1000000 % 1000, 3);
    uspi_put_string(out, " s");
}

bool uspi_put_meaning(struct uspi_text *out, enum uspi_json_means means, uint64_t number) {
    const char *name = name_of(means, number);
    if (name != NULL) {
        uspi_put_string(out, name);
    } else if (means == USPI_MEANS_EXIT_CODE) {
        put_exit_code(out, number);
    } else if (means == USPI_MEANS_TIME) {
        put_time(out, number);
    } else if (means == USPI_MEANS_NANOSECONDS) {
        put_nanoseconds(out, number);
    } else {
        return false;
    }
    return true;
}

/* Whether a kind of report is a crash, whose exception or signal says more. */
static bool is_crash(struct uspi_span kind) {
    static const struct uspi_span kinds[] = {USPI_SPAN_INIT("mach"), USPI_SPAN_INIT("signal"),
                                             USPI_SPAN_INIT("nsexception"), USPI_SPAN_INIT("cpp_exception")};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (uspi_span_is(kind, kinds[i])) return true;
    }
    return false;
}

/* Whether a line of a text is of a stack, or its heading. */
static bool is_of_stack(struct uspi_span line) {
    const struct uspi_line_kind kind = uspi_line_kind_of(line);
    for (size_t i = 0; uspi_line_shapes[i] != NULL; i++) {
        const struct uspi_line_shape *shape = uspi_line_shapes[i];
        struct uspi_frame frame = {.end = 0};
        struct uspi_heading heading;
        memset(&heading, 0, sizeof heading);
        const bool may_begin = shape->frame_begins == 0 || (shape->frame_begins & kind.begins) != 0;
        const bool may_be_frame =
            may_begin && shape->frame != NULL && (kind.has & shape->frame_bytes) == shape->frame_bytes;
        if (may_be_frame && shape->frame(line, 0, &frame)) return true;
        const bool is_heading = shape->heading != NULL && shape->heading(line, &heading);
        const bool is_cause = (heading.flags & USPI_FIELD_IS_LOGGED) != 0;
        if (is_heading && heading.kind != USPI_HEADING_FIELD && !is_cause) return true;
    }
    return false;
}

/* Returns a text without the stacks at its end, which the report shows as stacks. */
static struct uspi_span before_stacks(struct uspi_span text) {
    size_t end = uspi_span_find(text, 0, USPI_SPAN("\n"));
    while (end < text.length) {
        const size_t next = uspi_span_find(text, end + 1, USPI_SPAN("\n"));
        if (is_of_stack(uspi_span_part(text, end + 1, next))) break;
        end = next;
    }
    return uspi_span_trim(uspi_span_part(text, 0, end));
}

/* Writes the first line, or all lines (is_whole), of a string or a number; for a number with a name, that name. Writes
 * nothing when memory is exhausted. */
static void put_value(struct uspi_text *out, const struct uspi_json_document *document, size_t node,
                      enum uspi_json_means meaning, bool is_whole) {
    bool is_hex;
    uint64_t number;
    if (node == USPI_JSON_NONE || document->nodes[node].kind <= USPI_JSON_ARRAY) return;
    if (document->nodes[node].kind == USPI_JSON_LITERAL) return;
    const bool is_number = uspi_json_uint(document, node, &number, &is_hex) && !is_hex;
    if (is_number && uspi_put_meaning(out, meaning, number)) return;
    if (meaning == USPI_MEANS_KIND && is_crash(uspi_json_text(document, node))) return;
    const struct uspi_span text = uspi_json_text(document, node);
    char *decoded = text.length > 0 ? malloc(text.length) : NULL;
    if (decoded == NULL) return;
    struct uspi_span characters = uspi_span_trim((struct uspi_span){decoded, uspi_json_decode(text, decoded)});
    characters = is_whole ? before_stacks(characters)
                          : uspi_span_part(characters, 0, uspi_span_find(characters, 0, USPI_SPAN("\n")));
    uspi_put(out, characters.bytes, characters.length);
    free(decoded);
}

/* Writes all strings in an array or object. */
static void put_strings(struct uspi_text *out, const struct uspi_json_document *document, size_t node,
                        const char *separator) {
    const uint64_t begin = out->length;
    for (size_t i = node; node != USPI_JSON_NONE && i < document->nodes[node].next; i++) {
        if (document->nodes[i].kind != USPI_JSON_STRING || document->nodes[i].length == 0) continue;
        if (out->length > begin) uspi_put_string(out, separator);
        /* Where each string has its line, so have its own lines. */
        put_value(out, document, i, USPI_MEANS_ITSELF, separator[0] == '\n');
    }
}

/* Writes why a process was ended, from an object such as
 *   {"namespace": "FRONTBOARD", "code": 2343432205, "indicator": "…", "reasons": ["…"]} */
static void put_termination(struct uspi_text *out, const struct uspi_json_document *document, size_t node) {
    const size_t name = find_value(document, node, "namespace"), code = find_value(document, node, "code");
    const size_t indicator = find_value(document, node, "indicator");
    bool is_hex;
    uint64_t number;
    if (name != USPI_JSON_NONE) {
        uspi_put_string(out, "Namespace ");
        put_value(out, document, name, USPI_MEANS_ITSELF, false);
    }
    if (name != USPI_JSON_NONE && code != USPI_JSON_NONE && uspi_json_uint(document, code, &number, &is_hex)) {
        uspi_put_string(out, ", ");
        put_code(out, number);
    }
    if (indicator != USPI_JSON_NONE) {
        if (out->length > 0) uspi_put_string(out, " ");
        put_value(out, document, indicator, USPI_MEANS_ITSELF, false);
    }
    const size_t reasons = find_value(document, node, "reasons"), details = find_value(document, node, "details");
    if (reasons != USPI_JSON_NONE) {
        if (out->length > 0) uspi_put_string(out, ": ");
        put_strings(out, document, reasons, " ");
    }
    if (reasons == USPI_JSON_NONE && details != USPI_JSON_NONE) {
        if (out->length > 0) uspi_put_string(out, ": ");
        put_strings(out, document, details, " ");
    }
}

/* Writes the time between two numbers of nanoseconds. */
static void put_span_of_time(struct uspi_text *out, const struct uspi_json_document *document, size_t end,
                             size_t begin) {
    uint64_t from, to;
    bool is_hex;
    if (begin == USPI_JSON_NONE || end == USPI_JSON_NONE) return;
    if (!uspi_json_uint(document, begin, &from, &is_hex) || !uspi_json_uint(document, end, &to, &is_hex)) return;
    if (to >= from) put_nanoseconds(out, to - from);
}

/* Writes what a value means, and after it the value if it is a string. */
static void put_said(struct uspi_text *out, const struct uspi_json_document *document, size_t node, const char *says) {
    bool is_hex;
    uint64_t number = 0;
    if (node == USPI_JSON_NONE) return;
    const bool is_string = document->nodes[node].kind == USPI_JSON_STRING;
    const bool is_true = uspi_span_is(uspi_json_text(document, node), USPI_SPAN("true"));
    if (!is_string && !is_true && (!uspi_json_uint(document, node, &number, &is_hex) || number == 0)) return;
    uspi_put_string(out, says);
    if (is_string) put_value(out, document, node, USPI_MEANS_ITSELF, false);
}

static void put_field(struct uspi_text *out, const struct uspi_json_document *document, size_t object,
                      const struct uspi_json_field *field) {
    const char *path = field->path, *more = field->more;
    const size_t value = find_value(document, object, path);
    if (field->unless != NULL && find_value(document, object, field->unless) != USPI_JSON_NONE) return;
    if (field->says != NULL) {
        put_said(out, document, value, field->says);
        return;
    }
    if (field->means == USPI_MEANS_NANOSECONDS && more != NULL) {
        put_span_of_time(out, document, value, find_value(document, object, more));
        return;
    }
    if (path[strlen(path) - 1] == '*') {
        put_strings(out, document, value, "\n");
        const size_t rest = more != NULL ? find_value(document, object, more) : USPI_JSON_NONE;
        if (rest != USPI_JSON_NONE && out->length > 0) uspi_put_string(out, "\n");
        put_strings(out, document, rest, "\n");
        return;
    }
    put_value(out, document, value, field->means, uspi_field_has_lines(field->field));
    const size_t more_value = more != NULL && out->length > 0 ? find_value(document, object, more) : USPI_JSON_NONE;
    if (more_value == USPI_JSON_NONE || document->nodes[more_value].length == 0) return;
    const bool is_same =
        value != USPI_JSON_NONE && uspi_span_is(uspi_json_text(document, more_value), uspi_json_text(document, value));
    if (is_same) return;
    bool is_hex;
    uint64_t number;
    const bool is_none =
        field->more_means != USPI_MEANS_ITSELF && uspi_json_uint(document, more_value, &number, &is_hex) && number == 0;
    if (is_none) return;
    uspi_put_string(out, field->is_id ? " [" : " (");
    put_value(out, document, more_value, field->more_means, false);
    uspi_put_string(out, field->is_id ? "]" : ")");
}

/* Collects a field's text before it is copied to the model. */
struct field_text {
    struct uspi_gathered gathered;
    struct uspi_text out;
    char buffer[256];
};

static void begin_text(struct field_text *text) {
    text->gathered.size = 0;
    text->out = uspi_text_through(uspi_gathered_append, &text->gathered, text->buffer, sizeof text->buffer);
}

static bool end_text(struct field_text *text, struct uspi_model *model, enum uspi_field field) {
    return uspi_text_flush(&text->out) == USP_OK &&
           uspi_model_set_field(model, field, uspi_gathered_span(&text->gathered));
}

/* Sets the fields that are not set yet. */
static bool take_fields(struct field_text *text, struct uspi_model *model, const struct uspi_json_document *document,
                        size_t report, const struct uspi_json_field *fields) {
    for (; fields != NULL && fields->path != NULL; fields++) {
        if (model->parts[model->part_count - 1].fields[fields->field].length > 0) continue;
        begin_text(text);
        put_field(&text->out, document, report, fields);
        if (!end_text(text, model, fields->field)) return false;
    }
    return true;
}

bool uspi_model_take_fields(struct uspi_model *model, const struct uspi_json_document *document, size_t report,
                            const struct uspi_json_shape *format) {
    struct field_text text = {.gathered = {.bytes = NULL}};
    begin_text(&text);
    put_termination(&text.out, document, find_value(document, report, "termination"));
    bool is_taken = end_text(&text, model, USPI_FIELD_TERMINATION);
    if (is_taken && format != NULL) is_taken = take_fields(&text, model, document, report, format->fields);
    for (size_t i = 0; is_taken && uspi_json_shapes[i] != NULL; i++) {
        if (uspi_json_shapes[i] == format) continue;
        is_taken = take_fields(&text, model, document, report, uspi_json_shapes[i]->fields);
    }
    uspi_gathered_clear(&text.gathered);
    return is_taken;
}

void uspi_outer_values_find(struct uspi_outer_values *values, const struct uspi_json_document *document,
                            size_t object) {
    if (values->object == object) return;
    values->object = object;
    values->count = 0;
    for (size_t i = 0; object != USPI_JSON_NONE && uspi_json_shapes[i] != NULL; i++) {
        const struct uspi_json_field *field = uspi_json_shapes[i]->outer_fields;
        for (; field != NULL && field->path != NULL && values->count < USPI_OUTER_FIELDS_MAX; field++) {
            const size_t node = find_value(document, object, field->path);
            if (node == USPI_JSON_NONE) continue;
            values->fields[values->count] = field;
            values->nodes[values->count++] = node;
        }
    }
}

bool uspi_model_take_outer(struct uspi_model *model, const struct uspi_json_document *document,
                           const struct uspi_outer_values *values) {
    struct field_text text = {.gathered = {.bytes = NULL}};
    bool is_taken = true;
    for (size_t i = 0; is_taken && i < values->count; i++) {
        const struct uspi_json_field *field = values->fields[i];
        begin_text(&text);
        put_value(&text.out, document, values->nodes[i], field->means, uspi_field_has_lines(field->field));
        is_taken = end_text(&text, model, field->field);
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
