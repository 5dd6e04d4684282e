/* SPDX-License-Identifier: MIT */
/* See log_ips.h. */
#include "tools/log_ips.h"

#include "tools/log_json.h"
#include "tools/text.h"

#include <unspool/format.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool log_ips_begins(struct span line) {
    static const char *const keys[] = {"\"bug_type\"", "\"incident_id\"", "\"usedImages\""};
    line = span_trim(line);
    if (line.length == 0 || line.bytes[0] != '{') return false;
    if (line.length == 1) return true;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (span_find(line, 0, (struct span){keys[i], strlen(keys[i])}) < line.length) return true;
    }
    return false;
}

/* ---- images ---- */

/* The longest processor's name is shorter, and so is a build-id with dashes. */
#define SHORT_TEXT 80

struct image_texts {
    struct span arch, uuid, name, path, base, size;
};

static void take_image_value(struct image_texts *texts, struct span key, const struct log_json_token *value) {
    const struct {
        struct span key;
        struct span *text;
        enum log_json_kind kind;
    } keys[] = {
        {SPAN("arch"), &texts->arch, LOG_JSON_STRING}, {SPAN("uuid"), &texts->uuid, LOG_JSON_STRING},
        {SPAN("name"), &texts->name, LOG_JSON_STRING}, {SPAN("path"), &texts->path, LOG_JSON_STRING},
        {SPAN("base"), &texts->base, LOG_JSON_NUMBER}, {SPAN("size"), &texts->size, LOG_JSON_NUMBER},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (value->kind == keys[i].kind && span_equals(key, keys[i].key)) *keys[i].text = value->text;
    }
}

static bool add_image(struct log_tables *tables, const struct image_texts *texts) {
    struct log_image_line image = {.first = 0};
    char arch[SHORT_TEXT] = "", uuid[SHORT_TEXT];
    uint64_t size = 0;
    char *room = malloc(texts->path.length + texts->name.length + 1);
    if (room == NULL) return false;
    if (texts->arch.length < sizeof arch) arch[log_json_decode(texts->arch, arch)] = '\0';
    image.arch = usp_arch_from_name(arch);
    if (texts->uuid.length <= sizeof uuid) {
        image.id_size = scan_id((struct span){uuid, log_json_decode(texts->uuid, uuid)}, image.id, sizeof image.id);
    }
    if (!log_json_number(texts->base, &image.first)) image.first = 0;
    if (!log_json_number(texts->size, &size)) size = 0;
    image.last = size > UINT64_MAX - image.first ? UINT64_MAX : image.first + (size > 0 ? size - 1 : 0);
    image.path = (struct span){room, log_json_decode(texts->path, room)};
    image.ident.bytes = room + image.path.length;
    image.ident.length = log_json_decode(texts->name, room + image.path.length);
    bool is_added = log_tables_add(tables, 0, &image);
    free(room);
    return is_added;
}

/* The depth of what stands in the list of images, which is the report's own. */
#define ELEMENT_DEPTH 2

int log_ips_images(struct span report, struct log_tables *tables, size_t *where) {
    struct log_json json = {.text = report};
    struct image_texts texts = {.arch = {"", 0}};
    struct span key = {"", 0};
    bool is_in_list = false, is_list_next = false;
    for (;;) {
        struct log_json_token token = log_json_next(&json);
        if (token.kind == LOG_JSON_END) return log_tables_end(tables) ? USP_OK : USP_ERROR_NO_MEMORY;
        if (token.kind == LOG_JSON_ERROR) {
            *where = (size_t)(token.text.bytes - report.bytes);
            return USP_ERROR_FORMAT;
        }
        if (token.kind == LOG_JSON_KEY) {
            key = token.text;
            is_list_next = token.depth == 1 && span_equals(key, SPAN("usedImages")) && tables->count == 0;
            continue;
        }
        if (is_list_next && token.kind == LOG_JSON_ARRAY) is_in_list = true;
        is_list_next = false;
        if (!is_in_list) continue;
        if (token.kind == LOG_JSON_ARRAY_END && token.depth == 1) is_in_list = false;
        if (token.depth == ELEMENT_DEPTH && token.kind != LOG_JSON_OBJECT_END) {
            texts = (struct image_texts){.arch = {"", 0}};
        }
        if (token.depth == ELEMENT_DEPTH + 1) take_image_value(&texts, key, &token);
        /* Frames count all elements, whatever they are. */
        bool is_element = token.depth == ELEMENT_DEPTH && token.kind != LOG_JSON_OBJECT && token.kind != LOG_JSON_ARRAY;
        if (is_element && !add_image(tables, &texts)) return USP_ERROR_NO_MEMORY;
    }
}

/* ---- frames ---- */

/* An object or array that is open. */
struct level {
    bool is_array;
    size_t elements;          /* of an array, so far */
    bool is_below_trampoline; /* of an array of frames: the last one calls signal handlers */
    bool has_parts;           /* objects or arrays stand in it */
    struct span key;
    struct span offset, index, symbol, location; /* of an object: where they stand, bytes NULL: not there */
};

struct writer {
    const struct log_tables *tables;
    struct log_names *names;
    struct span report;
    size_t written;
    struct level levels[LOG_JSON_DEPTH];
};

static void write_up_to(struct writer *writer, size_t end) {
    fwrite(writer->report.bytes + writer->written, 1, end - writer->written, stdout);
    writer->written = end;
}

static size_t begin_of(const struct writer *writer, struct span text) {
    return (size_t)(text.bytes - writer->report.bytes);
}

static void write_symbol(struct writer *writer, const struct level *frame, const struct log_name *name) {
    write_up_to(writer, begin_of(writer, frame->symbol));
    put_escaped(stdout, USP_ESCAPE_JSON, name->name);
    writer->written += frame->symbol.length;
}

static void write_location(struct writer *writer, const struct level *frame, const struct log_name *name) {
    write_up_to(writer, begin_of(writer, frame->location));
    printf("%" PRIu64, name->offset);
    writer->written += frame->location.length;
}

static void add_missing(struct writer *writer, const struct level *frame, const struct log_name *name) {
    write_up_to(writer, begin_of(writer, frame->offset) + frame->offset.length);
    if (frame->symbol.bytes == NULL) {
        fputs(",\"symbol\":\"", stdout);
        put_escaped(stdout, USP_ESCAPE_JSON, name->name);
        fputs("\"", stdout);
    }
    if (frame->location.bytes == NULL) printf(",\"symbolLocation\":%" PRIu64, name->offset);
}

/* What is there is replaced, what is not is added behind the offset; in the order in which it stands. */
static void write_named(struct writer *writer, const struct level *frame, const struct log_name *name) {
    struct {
        void (*write)(struct writer *writer, const struct level *frame, const struct log_name *name);
        const char *at;
    } edits[] = {
        {write_symbol, frame->symbol.bytes},
        {write_location, frame->location.bytes},
        {add_missing, frame->offset.bytes},
    };
    const char *last = NULL;
    for (;;) {
        size_t next = SIZE_MAX;
        for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
            if (edits[i].at == NULL || (last != NULL && edits[i].at <= last)) continue;
            if (next == SIZE_MAX || edits[i].at < edits[next].at) next = i;
        }
        if (next == SIZE_MAX) return;
        edits[next].write(writer, frame, name);
        last = edits[next].at;
    }
}

/* Whether the object is a frame, and where it lies. */
static bool locate(const struct writer *writer, const struct level *frame, struct log_place *place) {
    uint64_t index;
    *place = (struct log_place){.id_size = 0};
    if (frame->has_parts || frame->offset.bytes == NULL || frame->index.bytes == NULL) return false;
    if (!log_json_number(frame->offset, &place->offset) || !log_json_number(frame->index, &index)) return false;
    if (log_tables_count(writer->tables) == 0) return false;
    const struct log_image *image = log_tables_image(writer->tables, 0, index);
    if (image == NULL) return false;
    memcpy(place->id, image->id, sizeof place->id);
    place->id_size = image->id_size;
    place->name = image->name.length > 0 ? image->name : image->ident;
    /* An address outside of all images has an entry without a name and without a UUID. */
    return place->id_size > 0 || place->name.length > 0;
}

static int end_object(struct writer *writer, struct level *frame, struct level *array) {
    struct log_place place;
    struct log_name name = {.name = NULL};
    if (!locate(writer, frame, &place)) return USP_OK;
    bool is_named =
        frame->symbol.bytes != NULL && !log_is_placeholder(frame->symbol) && !span_equals(frame->symbol, place.name);
    /* The first frame is where the thread stood, the others are where calls return to. */
    place.is_exact = array == NULL || array->elements == 1 || array->is_below_trampoline;
    if (!is_named && log_names_find(writer->names, &place, &name) == USP_ERROR_NO_MEMORY) return USP_ERROR_NO_MEMORY;
    if (array != NULL) array->is_below_trampoline = is_named ? log_is_trampoline(frame->symbol) : name.is_trampoline;
    if (name.name != NULL) write_named(writer, frame, &name);
    return USP_OK;
}

static void take_value(struct level *in, const struct log_json_token *value) {
    const struct {
        struct span key;
        struct span *text;
        enum log_json_kind kind;
    } keys[] = {
        {SPAN("imageOffset"), &in->offset, LOG_JSON_NUMBER},
        {SPAN("imageIndex"), &in->index, LOG_JSON_NUMBER},
        {SPAN("symbol"), &in->symbol, LOG_JSON_STRING},
        {SPAN("symbolLocation"), &in->location, LOG_JSON_NUMBER},
    };
    if (in->is_array) return;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (value->kind == keys[i].kind && span_equals(in->key, keys[i].key)) *keys[i].text = value->text;
    }
}

static int take_token(struct writer *writer, const struct log_json_token *token) {
    struct level *around = token->depth > 0 ? &writer->levels[token->depth - 1] : NULL;
    bool opens = token->kind == LOG_JSON_OBJECT || token->kind == LOG_JSON_ARRAY;
    if (token->kind == LOG_JSON_ARRAY_END) return USP_OK;
    if (token->kind == LOG_JSON_OBJECT_END) {
        bool is_element = around != NULL && around->is_array;
        return end_object(writer, &writer->levels[token->depth], is_element ? around : NULL);
    }
    if (opens) writer->levels[token->depth] = (struct level){.is_array = token->kind == LOG_JSON_ARRAY};
    if (around == NULL) return USP_OK;
    if (token->kind == LOG_JSON_KEY) {
        around->key = token->text;
        return USP_OK;
    }
    if (around->is_array) around->elements++;
    if (opens) around->has_parts = true;
    take_value(around, token);
    return USP_OK;
}

int log_ips_write(struct span report, const struct log_tables *tables, struct log_names *names) {
    struct writer *writer = calloc(1, sizeof *writer);
    struct log_json json = {.text = report};
    int status = USP_OK;
    if (writer == NULL) return USP_ERROR_NO_MEMORY;
    writer->tables = tables;
    writer->names = names;
    writer->report = report;
    for (;;) {
        struct log_json_token token = log_json_next(&json);
        if (status != USP_OK || token.kind == LOG_JSON_END || token.kind == LOG_JSON_ERROR) break;
        status = take_token(writer, &token);
    }
    write_up_to(writer, report.length);
    free(writer);
    return status;
}
