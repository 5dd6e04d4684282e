/* SPDX-License-Identifier: MIT */
/* See log_names.h. Builds are kept in a hash table, by build-id or, where there is none, by name. */
#include "tools/log_names.h"

#include "tools/command.h"
#include "tools/log_line.h"

#include <unspool/demangle.h>
#include <unspool/format.h>
#include <unspool/symbolize.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of the files of one build, how many are asked for a name. They have the same code, so more hardly know more. */
#define FILES_ASKED 4

struct source {
    const struct log_file *file;
    struct usp_images *images; /* NULL: not opened yet */
    struct usp_symbolizer *symbolizer;
};

struct build {
    uint8_t id[USP_BUILD_ID_MAX];
    size_t id_size;
    struct span name; /* its bytes stand behind the struct */
    struct source sources[FILES_ASKED];
    size_t source_count;
};

struct log_names {
    const struct log_search *search;
    struct usp_demangler *demangler;
    struct build **builds; /* a hash table, open addressing; `room` is a power of two */
    size_t count, room;
    uint64_t seed; /* so that nobody can prepare a log of which all builds collide */
};

int log_names_create(const struct log_search *search, uint32_t demangling, struct log_names **names) {
    *names = calloc(1, sizeof **names);
    if (*names == NULL) return USP_ERROR_NO_MEMORY;
    (*names)->search = search;
    (*names)->seed = (uint64_t)time(NULL) << 32 ^ (uint64_t)clock() ^ (uintptr_t)*names;
    int status = usp_demangler_create(demangling, &(*names)->demangler);
    if (status == USP_OK) return USP_OK;
    log_names_free(*names);
    *names = NULL;
    return status;
}

static void close_source(struct source *source) {
    usp_symbolizer_free(source->symbolizer);
    usp_images_free(source->images);
    source->symbolizer = NULL;
    source->images = NULL;
}

void log_names_free(struct log_names *names) {
    if (names == NULL) return;
    for (size_t i = 0; i < names->room; i++) {
        struct build *build = names->builds[i];
        for (size_t n = 0; build != NULL && n < build->source_count; n++) close_source(&build->sources[n]);
        free(build);
    }
    free(names->builds);
    usp_demangler_free(names->demangler);
    free(names);
}

/* ---- what is said ---- */

/* As uuid_unparse(3) writes it on Darwin, if it is as long as a UUID. */
static void format_id(const uint8_t *id, size_t size, char text[2 * USP_BUILD_ID_MAX + 5]) {
    bool is_uuid = size == 16;
    for (size_t i = 0; i < size; i++) {
        if (is_uuid && (i == 4 || i == 6 || i == 8 || i == 10)) *text++ = '-';
        text += snprintf(text, 3, is_uuid ? "%02X" : "%02x", id[i]);
    }
    *text = '\0';
}

static void say(struct span image, const uint8_t *id, size_t id_size, const char *what, const char *path) {
    char name[512], id_text[2 * USP_BUILD_ID_MAX + 5];
    if (usp_format_escaped(name, sizeof name, USP_ESCAPE_TERMINAL, image.bytes, image.length) < 0) return;
    format_id(id, id_size, id_text);
    complain("%s%s%s: %s%s", name, image.length > 0 && id_size > 0 ? " " : "", id_text, what, path);
}

/* ---- builds ---- */

static void add_source(struct build *build, const struct log_file *file) {
    if (build->source_count < FILES_ASKED) build->sources[build->source_count++].file = file;
}

static void find_by_name(struct log_names *names, struct build *build) {
    const struct log_file *file = NULL;
    size_t builds = log_search_name(names->search, build->name, &file);
    if (builds != 1) {
        say(build->name, NULL, 0,
            builds == 0 ? "the log does not tell its UUID, and nothing in --search has that name"
                        : "the log does not tell its UUID, and --search has several builds of that name",
            "");
        return;
    }
    const struct log_file *files = file;
    size_t count = file->id_size == 0 ? 1 : log_search_build(names->search, file->id, file->id_size, &files);
    for (size_t i = 0; i < count; i++) add_source(build, &files[i]);
    say(build->name, file->id, file->id_size, "the log does not tell its UUID; taken is the only build of that name, ",
        file->path);
}

static void find_files(struct log_names *names, struct build *build) {
    if (build->id_size == 0) {
        find_by_name(names, build);
        return;
    }
    const struct log_file *files;
    size_t count = log_search_build(names->search, build->id, build->id_size, &files);
    for (size_t i = 0; i < count && i < FILES_ASKED; i++) add_source(build, &files[i]);
    if (count == 0) say(build->name, build->id, build->id_size, "not found in --search", "");
}

/* FNV-1a (Fowler, Noll, Vo), over the seed first. */
static uint64_t hash_of(const struct log_names *names, const struct log_place *place) {
    const uint8_t *bytes = place->id_size > 0 ? place->id : (const uint8_t *)place->name.bytes;
    size_t n = place->id_size > 0 ? place->id_size : place->name.length;
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ names->seed;
    for (size_t i = 0; i < n; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3) ^ names->seed >> 7;
    return hash ^ hash >> 32;
}

static bool is_same(const struct build *build, const struct log_place *place) {
    if (build->id_size != place->id_size) return false;
    if (place->id_size > 0) return memcmp(build->id, place->id, place->id_size) == 0;
    return span_equals(build->name, place->name);
}

static struct build **slot_of(const struct log_names *names, const struct log_place *place) {
    size_t i = (size_t)hash_of(names, place) & (names->room - 1);
    while (names->builds[i] != NULL && !is_same(names->builds[i], place)) i = (i + 1) & (names->room - 1);
    return &names->builds[i];
}

/* Room for one more, so that at most half of the table is used. */
static bool make_room(struct log_names *names) {
    if (2 * (names->count + 1) <= names->room) return true;
    struct log_names grown = *names;
    grown.room = names->room > 0 ? 2 * names->room : 64;
    grown.builds = calloc(grown.room, sizeof *grown.builds);
    if (grown.builds == NULL) return false;
    for (size_t i = 0; i < names->room; i++) {
        const struct build *build = names->builds[i];
        if (build == NULL) continue;
        struct log_place place = {.id_size = build->id_size, .name = build->name};
        memcpy(place.id, build->id, sizeof place.id);
        *slot_of(&grown, &place) = names->builds[i];
    }
    free(names->builds);
    *names = grown;
    return true;
}

static struct build *build_of(struct log_names *names, const struct log_place *place) {
    if (!make_room(names)) return NULL;
    struct build **slot = slot_of(names, place);
    if (*slot != NULL) return *slot;
    struct build *build = calloc(1, sizeof *build + place->name.length);
    if (build == NULL) return NULL;
    build->id_size = place->id_size;
    memcpy(build->id, place->id, place->id_size);
    build->name = (struct span){(char *)(build + 1), place->name.length};
    if (place->name.length > 0) memcpy(build + 1, place->name.bytes, place->name.length);
    *slot = build;
    names->count++;
    find_files(names, build);
    return build;
}

/* ---- names ---- */

/* Opens a file at the address that it was linked for: with that an offset becomes an address and back. */
static int open_source(struct source *source) {
    struct usp_image_file_options options;
    if (source->images != NULL) return USP_OK;
    if (source->file == NULL) return USP_ERROR_NOT_FOUND;
    usp_image_file_options_init(&options);
    options.build_id_size = (uint32_t)source->file->id_size;
    memcpy(options.build_id, source->file->id, source->file->id_size);
    int status = usp_images_file(source->file->path, &options, &source->images, NULL, 0);
    if (status == USP_OK) status = usp_symbolizer_create(source->images, NULL, &source->symbolizer);
    if (status == USP_OK) return USP_OK;
    close_source(source);
    /* It was there a moment ago; once is enough to find that out. */
    source->file = NULL;
    return status == USP_ERROR_NO_MEMORY ? status : USP_ERROR_NOT_FOUND;
}

static int ask(struct source *source, const struct log_place *place, struct log_name *name) {
    struct usp_symbol symbol, here;
    int status = open_source(source);
    if (status != USP_OK) return status;
    const struct usp_image *image = usp_images_get(source->images, 0);
    uint64_t size = image->end - image->load_address;
    uint64_t offset = place->is_linked ? place->offset - image->load_address : place->offset;
    if (offset > size) return USP_ERROR_NOT_FOUND;
    struct usp_frame frame = {.pc = image->load_address + offset};
    frame.kind = place->is_exact ? USP_KIND_INTERRUPTED : USP_KIND_RETURN_ADDRESS;
    status = usp_symbolize(source->symbolizer, usp_frame_call_site(image->arch, &frame), &symbol);
    /* A handler returns to a trampoline's beginning, in front of which there was no call. */
    int status_here = place->is_exact ? USP_ERROR_NOT_FOUND : usp_symbolize(source->symbolizer, frame.pc, &here);
    name->is_trampoline = (status == USP_OK && log_is_trampoline((struct span){symbol.name, strlen(symbol.name)})) ||
                          (status_here == USP_OK && here.start == frame.pc &&
                           log_is_trampoline((struct span){here.name, strlen(here.name)}));
    if (status != USP_OK) return status;
    name->name = symbol.name;
    name->offset = frame.pc - symbol.start;
    return USP_OK;
}

int log_names_find(struct log_names *names, const struct log_place *place, struct log_name *name) {
    *name = (struct log_name){.name = NULL};
    struct build *build = build_of(names, place);
    if (build == NULL) return USP_ERROR_NO_MEMORY;
    int status = USP_ERROR_NOT_FOUND;
    for (size_t i = 0; status == USP_ERROR_NOT_FOUND && i < build->source_count; i++) {
        status = ask(&build->sources[i], place, name);
    }
    if (status == USP_OK) name->name = usp_demangle(names->demangler, name->name);
    return status;
}
