/* SPDX-License-Identifier: MIT */
/* Finds the fields of reports in JSON. See model_fields.h. */
#include "lib/report/read/model_fields.h"

#include "lib/base/gathered.h"
#include "lib/report/read/json_slots.h"

/* ---- paths ---- */

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

static const char *name_of(enum uspi_json_means meaning, uint64_t number) {
    const size_t count = meaning == USPI_MEANS_EXCEPTION ? sizeof exceptions / sizeof *exceptions
                         : meaning == USPI_MEANS_SIGNAL  ? sizeof signals / sizeof *signals
                                                         : 0;
    if (number >= count) return NULL;
    return meaning == USPI_MEANS_EXCEPTION ? exceptions[number] : signals[number];
}

/* Writes the first line of a string or a number; for a number with a name, that name. Writes nothing when memory is
 * exhausted. */
static void put_value(struct uspi_text *out, const struct uspi_json_document *document, size_t node,
                      enum uspi_json_means meaning) {
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
        put_value(out, document, i, USPI_MEANS_ITSELF);
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
        put_value(out, document, name, USPI_MEANS_ITSELF);
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
        put_value(out, document, indicator, USPI_MEANS_ITSELF);
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

static void put_field(struct uspi_text *out, const struct uspi_json_document *document, size_t object,
                      const struct uspi_json_field *field) {
    const char *path = field->path, *more = field->more;
    const size_t value = find_value(document, object, path);
    if (path[strlen(path) - 1] == '*') {
        put_strings(out, document, value);
        return;
    }
    put_value(out, document, value, field->means);
    const size_t more_value = more != NULL && out->length > 0 ? find_value(document, object, more) : USPI_JSON_NONE;
    if (more_value == USPI_JSON_NONE || document->nodes[more_value].length == 0) return;
    uspi_put_string(out, " (");
    put_value(out, document, more_value, field->more_means);
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
        put_value(&text.out, document, values->nodes[i], field->means);
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
