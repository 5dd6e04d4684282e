/* SPDX-License-Identifier: MIT */
/* Implements glue.h. It is a part of the C file that cffi writes. */
#include "glue.h"

#include <stdlib.h>
#include <string.h>

int uspy_write(void *context, const char *bytes, size_t n) {
    struct uspy_text *text = context;
    if (n == 0) return USP_OK;
    if (n > text->capacity - text->size) {
        if (n > SIZE_MAX / 4 - text->size) return USP_ERROR_NO_MEMORY;
        const size_t capacity = 2 * (text->size + n) + 256;
        char *grown = realloc(text->bytes, capacity);
        if (grown == NULL) return USP_ERROR_NO_MEMORY;
        text->bytes = grown;
        text->capacity = capacity;
    }
    memcpy(text->bytes + text->size, bytes, n);
    text->size += n;
    return USP_OK;
}

void uspy_text_clear(struct uspy_text *text) {
    free(text->bytes);
    *text = (struct uspy_text){.bytes = NULL};
}

/* ---- where a build's symbols are ---- */

/* Whether a file has the name of a place's image, which may have folders. */
static bool has_name(const struct uspy_file *file, const struct usp_place *place) {
    const size_t length = strlen(file->name);
    if (place->image_length < length || length == 0) return false;
    const char *name = place->image + place->image_length - length;
    return memcmp(name, file->name, length) == 0 && (name == place->image || name[-1] == '/');
}

static bool is_of(const struct uspy_file *file, const struct usp_place *place) {
    if (place->build_id_size == 0) return has_name(file, place);
    return file->build_id_size == place->build_id_size &&
           memcmp(file->build_id, place->build_id, place->build_id_size) == 0;
}

static bool is_same_build(const struct usp_build_source *source, const struct uspy_file *file) {
    return source->build_id_size == file->build_id_size &&
           memcmp(source->build_id, file->build_id, file->build_id_size) == 0;
}

int uspy_find_build(void *context, const struct usp_place *place, struct usp_build_sources *sources) {
    const struct uspy_store *store = context;
    sources->count = 0;
    sources->flags |= USP_BUILD_COMPLETE;
    for (size_t i = 0; i < store->file_count && sources->count < USP_BUILD_SOURCES; i++) {
        const struct uspy_file *file = &store->files[i];
        if (!is_of(file, place)) continue;
        if (sources->count > 0 && !is_same_build(&sources->of[0], file)) {
            /* Two builds have the name, and nothing says which one is meant. */
            sources->count = 0;
            return USP_OK;
        }
        struct usp_build_source *source = &sources->of[sources->count++];
        *source = (struct usp_build_source){.path = file->path, .build_id_size = file->build_id_size};
        memcpy(source->build_id, file->build_id, sizeof source->build_id);
    }
    if (store->folder != NULL && place->build_id_size > 0 && sources->count < USP_BUILD_SOURCES) {
        struct usp_build_source *source = &sources->of[sources->count++];
        *source = (struct usp_build_source){.index_store = store->folder, .build_id_size = place->build_id_size};
        memcpy(source->build_id, place->build_id, sizeof source->build_id);
    }
    return USP_OK;
}

int uspy_find_place(void *context, const struct usp_place *place, struct usp_answer *answer) {
    const struct uspy_store *store = context;
    return usp_symbolize_places(store->builds, place, answer, 1);
}

/* ---- signatures ---- */

/* A record that is read. */
struct record {
    struct uspy_store *store;
    uint32_t names, depth; /* number of names so far, and at most */
    uint64_t hash;
    uint64_t frames;  /* found */
    bool is_one_list; /* only the first frame is an instruction, so they are one list */
};

static void mix(uint64_t *hash, uint64_t word) {
    *hash = (*hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    *hash ^= *hash >> 32;
}

static void mix_bytes(uint64_t *hash, const void *bytes, size_t n) {
    const uint8_t *at = bytes;
    mix(hash, n);
    while (n > 0) {
        uint64_t word = 0;
        const size_t part = n < 8 ? n : 8;
        for (size_t i = 0; i < part; i++) word |= (uint64_t)at[i] << (8 * i);
        mix(hash, word);
        at += part;
        n -= part;
    }
}

static int put_name(struct record *record, const char *name, size_t length) {
    if (record->names == record->depth) return USP_OK;
    int status = record->names++ > 0 ? uspy_write(&record->store->text, "", 1) : USP_OK;
    return status == USP_OK ? uspy_write(&record->store->text, name, length) : status;
}

/* A usp_place_function, whose context is a struct record. */
static int note_place(void *context, const struct usp_place *place, struct usp_answer *answer) {
    struct record *record = context;
    record->is_one_list = record->is_one_list && (record->frames == 0) == ((place->flags & USP_PLACE_EXACT) != 0);
    record->frames++;
    mix_bytes(&record->hash, place->build_id, place->build_id_size);
    if (place->build_id_size == 0) mix_bytes(&record->hash, place->image, place->image_length);
    mix(&record->hash, place->base);
    mix(&record->hash, place->offset);
    if (record->names == record->depth) return USP_OK;
    int status = usp_symbolize_places(record->store->builds, place, answer, 1);
    for (uint32_t i = 0; status == USP_OK && i < answer->count; i++) {
        const char *name = answer->frames[i].function;
        if (name != NULL) status = put_name(record, name, strlen(name));
    }
    if (status != USP_OK || answer->count > 0) return status;
    return place->image_length > 0 ? put_name(record, place->image, place->image_length) : put_name(record, "?", 1);
}

static bool is_object(const char *bytes, size_t n) {
    while (n > 0 && (*bytes == ' ' || (*bytes >= '\t' && *bytes <= '\r'))) bytes++, n--;
    return n > 0 && *bytes == '{';
}

/* Reads a record. Returns its enum uspy_record_kind, or a negative status. */
static int read_record(struct usp_reader *reader, struct record *record, const char *bytes, size_t n) {
    struct usp_reader_counts before, after;
    if (!is_object(bytes, n)) return USPY_RECORD_UNREADABLE;
    usp_reader_get_counts(reader, &before);
    int status = usp_reader_write_whole(reader, bytes, n, NULL, 0);
    usp_builds_trim(record->store->builds);
    if (status == USP_ERROR_NO_MEMORY) return status;
    if (status != USP_OK) return USPY_RECORD_UNREADABLE;
    usp_reader_get_counts(reader, &after);
    const bool has_all = record->frames > 0 && after.frames - before.frames == record->frames;
    return has_all && record->is_one_list && strcmp(after.format, "record") == 0 ? USPY_RECORD_STACK
                                                                                 : USPY_RECORD_OTHER;
}

static int find_signature(struct usp_reader *reader, struct record *record, struct uspy_signatures *out, size_t i) {
    struct uspy_text *names = &record->store->text;
    const size_t begin = names->size;
    const int32_t from = out->offsets[i], to = out->offsets[i + 1];
    if (from < 0 || to < from || (size_t)to > out->size) return USP_ERROR_ARGUMENT;
    *record = (struct record){.store = record->store, .depth = out->depth, .is_one_list = true};
    int kind = read_record(reader, record, out->records + from, (size_t)(to - from));
    if (kind < 0) return kind;
    if (kind != USPY_RECORD_STACK) names->size = begin;
    if (names->size > INT32_MAX) return USP_ERROR_FULL;
    out->name_offsets[i + 1] = (int32_t)names->size;
    out->stacks[i] = kind == USPY_RECORD_STACK ? (int64_t)record->hash : 0;
    out->kinds[i] = (uint8_t)kind;
    return USP_OK;
}

int uspy_find_signatures(struct uspy_store *store, struct uspy_signatures *signatures) {
    struct record record = {.store = store};
    struct usp_reader_options options;
    struct usp_reader *reader;
    usp_reader_options_init(&options);
    options.flags = USP_READER_RECORD;
    options.find = note_place;
    options.context = &record;
    int status = usp_reader_create(&options, &reader);
    if (status != USP_OK) return status;
    store->text.size = 0;
    signatures->name_offsets[0] = 0;
    for (size_t i = 0; status == USP_OK && i < signatures->count; i++) {
        status = find_signature(reader, &record, signatures, i);
    }
    usp_reader_free(reader);
    return status;
}
