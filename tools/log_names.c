/* SPDX-License-Identifier: MIT */
/* Implements log_names.h: finds the files of builds. The library keeps builds open and looks up places
 * (<unspool/places.h>). */
#include "tools/log_names.h"

#include "lib/base/source.h"
#include "tools/command.h"
#include "tools/damage.h"
#include "tools/layouts.h"
#include "tools/lines.h"
#include "tools/log_split.h"

#include <unspool/format.h>
#include <unspool/places.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct log_names {
    struct log_search *search;
    struct fetch *fetch; /* NULL: none */
    struct usp_builds *builds;
    char *index_store;                    /* owned; NULL: none */
    const struct usp_dyld_caches *caches; /* NULL: none */
    struct usp_image image;               /* image of the index that was found last */
    bool is_quiet;
    bool has_lines; /* any frame has a line */
    struct log_split split;
    /* The first image in which a function but no line was found; build_id_size and image_length 0: none. */
    struct usp_place lineless;
    char lineless_name[256];
};

/* ---- messages ---- */

#define MESSAGE_MAX 8192

/* A message about an image with an id, which may have no bytes. */
struct message {
    const struct usp_place *place;
    const uint8_t *id;
    size_t id_size;
    const char *what, *path;
};

static void put_message(char *text, size_t size, const struct message *message) {
    const struct usp_place *place = message->place;
    char name[512], id[2 * USP_BUILD_ID_MAX + 5];
    text[0] = '\0';
    if (usp_format_escaped(name, sizeof name, USP_ESCAPE_TERMINAL, place->image, place->image_length) < 0) return;
    format_build_id(message->id, message->id_size, id);
    snprintf(text, size, "%s%s%s: %s%s", name, place->image_length > 0 && message->id_size > 0 ? " " : "", id,
             message->what, message->path);
}

static void say(const struct log_names *names, const struct usp_place *place, const uint8_t *id, size_t id_size,
                const char *what, const char *path) {
    char text[MESSAGE_MAX];
    if (names->is_quiet) return;
    put_message(text, sizeof text, &(struct message){place, id, id_size, what, path});
    if (text[0] != '\0') complain("%s", text);
}

static void take_note(void *context, uint32_t note, const struct usp_place *place, const char *text) {
    const struct log_names *names = context;
    if (note == USP_BUILD_NOTE_DAMAGED && !names->is_quiet) complain("%s", text);
    if (note == USP_BUILD_NOTE_LAYOUT) {
        say(names, place, place->build_id, place->build_id_size,
            "only the file itself tells where its code lies in it, and --search lacks that", "");
    }
}

/* ---- where a build's files are ---- */

static struct uspi_span name_of(const struct usp_place *place) {
    return (struct uspi_span){place->image, place->image_length};
}

static void add_file(struct usp_build_sources *sources, const struct log_file *file) {
    if (sources->count == USP_BUILD_SOURCES) return;
    struct usp_build_source *source = &sources->of[sources->count++];
    *source = (struct usp_build_source){.path = file->path, .build_id_size = (uint32_t)file->id_size};
    memcpy(source->build_id, file->id, sizeof source->build_id);
}

/* Adds the index that has_index has found in a store. */
static void add_index(const struct log_names *names, const char *store, struct usp_build_sources *sources) {
    if (sources->count == USP_BUILD_SOURCES) return;
    struct usp_build_source *source = &sources->of[sources->count++];
    *source = (struct usp_build_source){.index_store = store, .image = &names->image};
    source->build_id_size = names->image.build_id_size;
    memcpy(source->build_id, names->image.build_id, sizeof source->build_id);
}

/* Adds debug information of Flutter, which has no build id. Returns whether it did; else it may complain. */
static bool find_split(struct log_names *names, const struct usp_place *place, struct usp_build_sources *sources) {
    size_t count;
    if (!log_split_may_have(place)) return false;
    const struct log_file *file = log_split_choose(names->search, place, &names->split, &count);
    if (file != NULL) {
        add_file(sources, file);
        say(names, place, place->build_id, place->build_id_size,
            "not found in --search; taken is the only file NAME.symbols without a build id for its processor, ",
            file->path);
    } else if (count > 1) {
        say(names, place, place->build_id, place->build_id_size,
            "--search has several files NAME.symbols without a build id for its processor", "");
    }
    return file != NULL;
}

static void find_by_name(struct log_names *names, const struct usp_place *place, struct usp_build_sources *sources) {
    const struct log_file *file = NULL;
    size_t builds = log_search_name(names->search, name_of(place), &file);
    if (builds == 0 && find_split(names, place, sources)) return;
    if (builds != 1) {
        say(names, place, NULL, 0,
            builds == 0 ? "the log does not tell its UUID, and nothing in --search has that name"
                        : "the log does not tell its UUID, and --search has several builds of that name",
            "");
        return;
    }
    const struct log_file *files = file;
    size_t count = file->id_size == 0 ? 1 : log_search_build(names->search, file->id, file->id_size, &files);
    for (size_t i = 0; i < count; i++) add_file(sources, &files[i]);
    say(names, place, file->id, file->id_size, "the log does not tell its UUID; taken is the only build of that name, ",
        file->path);
}

/* Adds the files that are at a layout's paths. Returns whether one of them has symbols. */
static bool add_laid(struct log_names *names, const struct usp_place *place, struct usp_build_sources *sources) {
    const struct log_file *files[LOG_LAID_MAX];
    bool has_symbols;
    size_t count = log_search_laid(names->search, place->build_id, place->build_id_size, files, &has_symbols);
    for (size_t i = 0; i < count; i++) add_file(sources, files[i]);
    return has_symbols;
}

static bool is_among(const struct usp_build_sources *sources, const char *path) {
    for (uint32_t i = 0; i < sources->count; i++) {
        if (sources->of[i].path != NULL && strcmp(sources->of[i].path, path) == 0) return true;
    }
    return false;
}

/* Adds the files found by searching the folders, those with most symbols first. Files that were found at a layout's
 * paths come after them: they had no symbols, or did not tell their layout. */
static void add_walked(struct log_names *names, const struct usp_place *place, struct usp_build_sources *sources) {
    const struct log_file *files;
    const struct usp_build_sources given = *sources;
    sources->flags |= USP_BUILD_COMPLETE;
    size_t count = log_search_build(names->search, place->build_id, place->build_id_size, &files);
    if (count == 0) return;
    sources->count = 0;
    for (size_t i = 0; i < count; i++) add_file(sources, &files[i]);
    for (uint32_t i = 0; i < given.count && sources->count < USP_BUILD_SOURCES; i++) {
        const bool is_file = given.of[i].path != NULL;
        if (is_file && !is_among(sources, given.of[i].path)) sources->of[sources->count++] = given.of[i];
    }
}

static bool has_index(struct log_names *names, const char *store, const struct usp_place *place) {
    return store != NULL && usp_index_image(store, place->build_id, place->build_id_size, &names->image) == USP_OK;
}

/* Returns the store that has an index of the build: that of --index first, then the folders of --search; NULL: none
 * has. */
static const char *find_store(struct log_names *names, const struct usp_place *place) {
    const char *store = names->index_store;
    for (size_t i = 0;; i++) {
        if (has_index(names, store, place)) return store;
        if (log_search_folder(names->search, i) == NULL && i > 0) return NULL;
        store = log_search_folder(names->search, i);
    }
}

static bool has_lines(const struct usp_place *place, const char *store) {
    struct usp_index_info info;
    char *path = layouts_unified(store, place->build_id, place->build_id_size, "index");
    usp_index_info_init(&info);
    bool has = path != NULL && usp_index_examine(path, 0, &info, NULL, 0) == USP_OK && info.blocks > 0;
    free(path);
    return has;
}

/* Whether a file has debug information, also in a separate file where debuggers look for it. */
static bool file_has_lines(const struct usp_build_source *source) {
    struct usp_image_file_options options;
    struct usp_symbolizer *symbolizer;
    struct usp_images *images;
    char text[16];
    usp_image_file_options_init(&options);
    options.build_id_size = source->build_id_size;
    memcpy(options.build_id, source->build_id, sizeof options.build_id);
    options.flags = USP_IMAGE_FILE_LINKED;
    if (usp_images_open(source->path, &options, &images, NULL, 0) != USP_OK) return false;
    bool has = usp_symbolizer_create(images, NULL, &symbolizer) == USP_OK;
    if (has) {
        const struct usp_image *image = usp_images_get(images, 0);
        has = usp_symbolizer_explain_lines(symbolizer, image->text_low, text, sizeof text) == USP_OK;
        usp_symbolizer_free(symbolizer);
    }
    usp_images_free(images);
    return has;
}

static bool any_has_lines(const struct usp_place *place, const struct usp_build_sources *sources) {
    for (uint32_t i = 0; i < sources->count; i++) {
        const struct usp_build_source *source = &sources->of[i];
        if (source->path != NULL ? file_has_lines(source) : has_lines(place, source->index_store)) return true;
    }
    return false;
}

/* Fetches the build if no file that was found has debug information: a stripped file must not hide a server's file.
 * Fetched files come first. Returns false if nothing was fetched; the reason was reported. */
static bool fetch_files(struct log_names *names, const struct usp_place *place, struct usp_build_sources *sources) {
    char error[FETCH_ERROR];
    if (names->fetch == NULL || any_has_lines(place, sources)) return false;
    bool is_done = fetch_run(names->fetch, place->build_id, place->build_id_size, error);
    if (error[0] != '\0') say(names, place, place->build_id, place->build_id_size, error, "");
    if (!is_done) return false;
    const char *cache = fetch_cache(names->fetch);
    struct usp_build_sources found = *sources;
    sources->count = 0;
    const bool has_laid = add_laid(names, place, sources);
    /* has_index sets names->image to the new index's image. */
    for (uint32_t i = 0; i < found.count; i++) found.of[i].image = NULL;
    if (!has_laid && has_index(names, cache, place)) add_index(names, cache, sources);
    const bool has_new = sources->count > 0;
    for (uint32_t i = 0; i < found.count && sources->count < USP_BUILD_SOURCES; i++) {
        const bool is_new = found.of[i].path == NULL || !is_among(sources, found.of[i].path);
        if (is_new) sources->of[sources->count++] = found.of[i];
    }
    return has_new;
}

/* Reports what is wrong with the files of a build: damaged names, and dSYMs that differ. */
static void check_files(const struct log_names *names, const struct usp_build_sources *sources) {
    for (uint32_t i = 0; !names->is_quiet && i < sources->count; i++) {
        const struct usp_build_source *source = &sources->of[i], *first = &sources->of[0];
        if (source->path == NULL) continue;
        complain_of_names(source->path, source->build_id, source->build_id_size, NULL);
        if (i > 0 && first->path != NULL && are_different_dsyms(first->path, source->path)) {
            complain("%s: differs from %s, which has the same UUID and is used first", source->path, first->path);
        }
    }
}

/* The most builds that a message lists. */
#define BUILDS_SAID 8

/* Complains that a build was not found, and lists the builds of the same name that were. */
static void say_not_found(const struct log_names *names, const struct usp_place *place) {
    const struct log_file *others[BUILDS_SAID];
    char text[BUILDS_SAID * (2 * USP_BUILD_ID_MAX + 8) + 256], id[2 * USP_BUILD_ID_MAX + 5];
    const bool is_empty = log_search_is_empty(names->search);
    const size_t count =
        is_empty || place->image_length == 0 ? 0 : log_search_names(names->search, name_of(place), others, BUILDS_SAID);
    char name[128];
    size_t used = 0;
    if (names->is_quiet) return;
    if (count > 0) {
        const size_t length = place->image_length < sizeof name / 4 ? place->image_length : sizeof name / 4 - 1;
        if (usp_format_escaped(name, sizeof name, USP_ESCAPE_TERMINAL, place->image, length) < 0) return;
        format_build_id(place->build_id, place->build_id_size, id);
        used = (size_t)snprintf(text, sizeof text,
                                "not found in --search; %zu other build%s of %s %s there, none is %s: ", count,
                                count > 1 ? "s" : "", name, count > 1 ? "are" : "is", id);
    }
    for (size_t i = 0; i < count && i < BUILDS_SAID; i++) {
        format_build_id(others[i]->id, others[i]->id_size, id);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? ", " : "",
                                 others[i]->id_size > 0 ? id : "one without a UUID");
    }
    if (count > BUILDS_SAID) snprintf(text + used, sizeof text - used, " and %zu more", count - BUILDS_SAID);
    say(names, place, place->build_id, place->build_id_size,
        count > 0                               ? text
        : log_search_has_folders(names->search) ? "not found in --search"
                                                : "has no index",
        "");
    log_search_say_faults(names->search);
}

/* Whether a shared cache has the image, or is the image; the library then takes its symbols from there. */
static bool is_cached(const struct log_names *names, const struct usp_place *place) {
    struct usp_dyld_cache cache;
    struct usp_image image;
    if (names->caches == NULL || place->build_id_size != 16) return false;
    if (usp_dyld_caches_find(names->caches, place->build_id, &image) == USP_OK) return true;
    for (size_t i = 0; usp_dyld_caches_get(names->caches, i, &cache) == USP_OK; i++) {
        if (memcmp(cache.uuid, place->build_id, sizeof cache.uuid) == 0) return true;
    }
    return false;
}

/* Looks for the files of a build. Files at known paths come first. Folders are searched if these have no symbols, or if
 * nothing tells the layout. Then the build is fetched if no local file has lines. */
static void look_for_files(struct log_names *names, const struct usp_place *place, struct usp_build_sources *sources) {
    if (add_laid(names, place, sources)) return;
    const char *store = find_store(names, place);
    const bool has_folders = log_search_has_folders(names->search);
    if (store != NULL && ((!has_folders && names->fetch == NULL) || has_lines(place, store))) {
        add_index(names, store, sources);
        return;
    }
    add_walked(names, place, sources);
    if (store != NULL) add_index(names, store, sources);
    /* No server has the system's own libraries. */
    if (is_cached(names, place)) return;
    if (fetch_files(names, place, sources) || sources->count > 0 || find_split(names, place, sources)) return;
    say_not_found(names, place);
}

/* Implements usp_build_function. */
static int find_files(void *context, const struct usp_place *place, struct usp_build_sources *sources) {
    struct log_names *names = context;
    if (place->build_id_size == 0) {
        sources->flags |= USP_BUILD_COMPLETE;
        find_by_name(names, place, sources);
    } else if ((sources->flags & USP_BUILD_LAYOUT) != 0) {
        add_walked(names, place, sources);
        return USP_OK;
    } else {
        look_for_files(names, place, sources);
    }
    check_files(names, sources);
    return USP_OK;
}

/* ---- the names ---- */

int log_names_create(struct log_search *search, const struct log_names_options *options, struct log_names **names) {
    struct usp_builds_options builds;
    struct log_names *made = *names = calloc(1, sizeof *made);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->index_store = find_index_store(options->lines->index_store);
    made->search = search;
    made->fetch = options->fetch;
    made->is_quiet = options->is_quiet;
    usp_builds_options_init(&builds);
    builds.demangling = options->demangling;
    builds.index_store = made->index_store;
    builds.path_maps = options->lines->path_maps;
    builds.path_map_count = options->lines->path_map_count;
    builds.dyld_caches = made->caches = options->lines->caches.set;
    builds.find = find_files;
    builds.note = made->is_quiet ? NULL : take_note;
    builds.context = made;
    int status = usp_builds_create(&builds, &made->builds);
    if (status == USP_OK) return USP_OK;
    log_names_free(made);
    *names = NULL;
    return status;
}

void log_names_free(struct log_names *names) {
    if (names == NULL) return;
    usp_builds_free(names->builds);
    free(names->index_store);
    free(names);
}

void log_names_trim(struct log_names *names) { usp_builds_trim(names->builds); }

static void look_for_lines(struct log_names *names, const struct usp_place *place, const struct usp_answer *answer) {
    struct usp_place *lineless = &names->lineless;
    if ((answer->flags & USP_ANSWER_LINE) != 0) names->has_lines = true;
    if (names->has_lines || answer->count == 0 || is_cached(names, place)) return;
    for (uint32_t i = 0; i < answer->count; i++) {
        if (uspi_has_source(&answer->frames[i])) names->has_lines = true;
    }
    if (lineless->build_id_size > 0 || lineless->image_length > 0) return;
    *lineless = *place;
    if (lineless->image_length > sizeof names->lineless_name) lineless->image_length = sizeof names->lineless_name;
    if (lineless->image_length > 0) memcpy(names->lineless_name, place->image, lineless->image_length);
    lineless->image = names->lineless_name;
}

bool log_names_have_lines(const struct log_names *names, char *text, size_t size) {
    const struct usp_place *lineless = &names->lineless;
    text[0] = '\0';
    if (names->has_lines) return true;
    if (names->is_quiet || (lineless->build_id_size == 0 && lineless->image_length == 0)) return false;
    const char *store = names->index_store;
    const struct message message = {
        .place = lineless,
        .id = lineless->build_id,
        .id_size = lineless->build_id_size,
        .what =
            store != NULL
                ? "lines need debug information (-g, a dSYM, a debug file) or an index of it: neither is in "
                  "--search or in "
                : "lines need debug information (-g, a dSYM, a debug file) or an index of it: neither is in --search",
        .path = store != NULL ? store : "",
    };
    put_message(text, size, &message);
    return false;
}

void log_names_complain_of_lines(const struct log_names *names) {
    char text[MESSAGE_MAX];
    log_names_have_lines(names, text, sizeof text);
    if (text[0] != '\0') complain("%s", text);
}

/* Looks up a place. If a file of Flutter is chosen for its build meanwhile, the place is another one there. */
static int ask(struct log_names *names, const struct usp_place *place, struct usp_answer *answer) {
    if (!log_split_is_of(&names->split, place)) {
        const int status = usp_symbolize_places(names->builds, place, answer, 1);
        if (status != USP_OK || !log_split_is_of(&names->split, place)) return status;
    }
    if (!log_split_may_have(place)) {
        answer->flags = USP_ANSWER_NO_FILE;
        return USP_OK;
    }
    const struct usp_place here = log_split_place(&names->split, place);
    return usp_symbolize_places(names->builds, &here, answer, 1);
}

int log_names_answer(void *context, const struct usp_place *place, struct usp_answer *answer) {
    struct log_names *names = context;
    const struct log_file *file;
    const bool is_guess = (place->flags & USP_PLACE_GUESS) != 0;
    /* A UUID of a guess is that of a shared cache, in whose stubs the address may be. */
    if (is_guess && (place->build_id_size == 0 ? log_search_name(names->search, name_of(place), &file) == 0
                                               : !is_cached(names, place) && find_store(names, place) == NULL)) {
        answer->flags = USP_ANSWER_NO_FILE;
        return USP_OK;
    }
    int status = ask(names, place, answer);
    if (status == USP_OK) look_for_lines(names, place, answer);
    return status;
}
