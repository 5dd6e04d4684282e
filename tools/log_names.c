/* SPDX-License-Identifier: MIT */
/* See log_names.h. Builds are kept in a hash table, by build id or, where there is none, by name. */
#include "tools/log_names.h"

#include "lib/base/trampoline.h"
#include "tools/command.h"
#include "tools/layouts.h"
#include "tools/lines.h"

#include <unspool/demangle.h>
#include <unspool/format.h>
#include <unspool/lines.h>
#include <unspool/symbolize.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of the files of one build, how many are asked for a name. They have the same code, so more hardly know more. */
#define FILES_ASKED 4
/* Source frames of an address; of more inlined calls the outermost are cut. */
#define FRAMES 64

/* How many builds stay open from one text to the next. */
#define BUILDS_KEPT 256

struct source {
    const struct log_file *file;
    const struct usp_image *indexed; /* instead: what its index says of a build whose files are not there */
    const char *store;               /* that has the index; NULL: that of --index */
    struct usp_images *images;       /* NULL: not opened yet */
    struct usp_symbolizer *symbolizer;
    struct looked_up looked_up;
};

struct build {
    uint8_t id[USP_BUILD_ID_MAX];
    size_t id_size;
    struct uspi_span name; /* its bytes stand behind the struct */
    struct source sources[FILES_ASKED];
    size_t source_count;
    struct usp_image indexed;        /* of the source that is an index */
    struct usp_demangler *demangler; /* NULL: not needed yet */
    uint64_t used;                   /* when it was asked last */
    bool is_walked;                  /* the folders were gone through for it */
    bool is_told_of_layout;          /* it was said that its own file is missing */
};

struct log_names {
    struct log_search *search;
    struct fetch *fetch; /* NULL: none */
    uint32_t demangling;
    bool is_quiet;
    char *index_store;     /* owned; NULL: none */
    struct build **builds; /* a hash table, open addressing; `room` is a power of two */
    size_t count, room;
    struct build *last;                     /* that was asked */
    uint64_t clock;                         /* counts questions */
    uint64_t seed;                          /* so that a log cannot be prepared of which all builds collide */
    struct usp_source_frame frames[FRAMES]; /* of the last answer */
};

int log_names_create(struct log_search *search, const struct log_names_options *options, struct log_names **names) {
    *names = calloc(1, sizeof **names);
    if (*names == NULL) return USP_ERROR_NO_MEMORY;
    (*names)->index_store = find_index_store(options->index_store);
    (*names)->search = search;
    (*names)->fetch = options->fetch;
    (*names)->demangling = options->demangling;
    (*names)->is_quiet = options->is_quiet;
    (*names)->seed = (uint64_t)time(NULL) << 32 ^ (uintptr_t)*names;
    return USP_OK;
}

static void close_source(const struct log_names *names, struct source *source) {
    /* A damaged index is noticed when what is damaged is read. */
    if (source->symbolizer != NULL && !names->is_quiet)
        complain_of_lines(&source->looked_up, source->symbolizer, false);
    if (source->images != NULL) looked_up_clear(&source->looked_up);
    usp_symbolizer_free(source->symbolizer);
    usp_images_free(source->images);
    source->symbolizer = NULL;
    source->images = NULL;
}

static void free_build(const struct log_names *names, struct build *build) {
    for (size_t n = 0; n < build->source_count; n++) close_source(names, &build->sources[n]);
    usp_demangler_free(build->demangler);
    free(build);
}

void log_names_free(struct log_names *names) {
    if (names == NULL) return;
    for (size_t i = 0; i < names->room; i++) {
        if (names->builds[i] != NULL) free_build(names, names->builds[i]);
    }
    free(names->builds);
    free(names->index_store);
    free(names);
}

/* ---- what is said ---- */

/* Of an image with an identity, which may have no bytes. */
static void say(const struct log_names *names, const struct build *build, const uint8_t *id, size_t id_size,
                const char *what, const char *path) {
    char name[512], id_text[2 * USP_BUILD_ID_MAX + 5];
    if (names->is_quiet) return;
    if (usp_format_escaped(name, sizeof name, USP_ESCAPE_TERMINAL, build->name.bytes, build->name.length) < 0) return;
    format_build_id(id, id_size, id_text);
    complain("%s%s%s: %s%s", name, build->name.length > 0 && id_size > 0 ? " " : "", id_text, what, path);
}

/* ---- builds ---- */

static void add_source(struct build *build, const struct log_file *file) {
    if (build->source_count < FILES_ASKED) build->sources[build->source_count++].file = file;
}

static void find_by_name(struct log_names *names, struct build *build) {
    const struct log_file *file = NULL;
    size_t builds = log_search_name(names->search, build->name, &file);
    if (builds != 1) {
        say(names, build, NULL, 0,
            builds == 0 ? "the log does not tell its UUID, and nothing in --search has that name"
                        : "the log does not tell its UUID, and --search has several builds of that name",
            "");
        return;
    }
    const struct log_file *files = file;
    size_t count = file->id_size == 0 ? 1 : log_search_build(names->search, file->id, file->id_size, &files);
    for (size_t i = 0; i < count; i++) add_source(build, &files[i]);
    say(names, build, file->id, file->id_size, "the log does not tell its UUID; taken is the only build of that name, ",
        file->path);
}

/* The files that lie where a layout has them. Returns whether symbols are among them. */
static bool add_laid(struct log_names *names, struct build *build) {
    const struct log_file *files[LOG_LAID_MAX];
    bool has_symbols;
    size_t count = log_search_laid(names->search, build->id, build->id_size, files, &has_symbols);
    for (size_t i = 0; i < count; i++) add_source(build, files[i]);
    return has_symbols;
}

static bool is_named(const struct log_file *const *files, size_t count, const struct log_file *file) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(files[i]->path, file->path) == 0) return true;
    }
    return false;
}

/* The files in folders that have to be gone through, the richest first, and behind them those that were found by their paths:
 * these had no symbols. */
static void add_walked(struct log_names *names, struct build *build) {
    const struct log_file *files, *laid[FILES_ASKED];
    size_t laid_count = 0;
    if (build->is_walked) return;
    build->is_walked = true;
    size_t count = log_search_build(names->search, build->id, build->id_size, &files);
    if (count == 0) return;
    for (size_t i = 0; i < build->source_count; i++) {
        if (build->sources[i].file != NULL) laid[laid_count++] = build->sources[i].file;
        close_source(names, &build->sources[i]);
        build->sources[i] = (struct source){.file = NULL};
    }
    build->source_count = 0;
    const struct log_file *walked[FILES_ASKED];
    size_t walked_count = 0;
    for (size_t i = 0; i < count && i < FILES_ASKED; i++) {
        walked[walked_count++] = &files[i];
        add_source(build, &files[i]);
    }
    for (size_t i = 0; i < laid_count; i++) {
        if (!is_named(walked, walked_count, laid[i])) add_source(build, laid[i]);
    }
}

/* The store that has an index of the build, that of --index first, then the folders of --search; NULL: none has. */
static const char *find_store(const struct log_names *names, struct build *build) {
    const char *store = names->index_store;
    for (size_t i = 0;; i++) {
        const uint32_t size = (uint32_t)build->id_size;
        if (store != NULL && usp_index_image(store, build->id, size, &build->indexed) == USP_OK) return store;
        if (log_search_folder(names->search, i) == NULL && i > 0) return NULL;
        store = log_search_folder(names->search, i);
    }
}

static bool has_lines(const struct build *build, const char *store) {
    struct usp_index_info info;
    char *path = layouts_unified(store, build->id, build->id_size, "index");
    usp_index_info_init(&info);
    bool has = path != NULL && usp_index_examine(path, 0, &info, NULL, 0) == USP_OK && info.blocks > 0;
    free(path);
    return has;
}

static void add_index(struct build *build, const char *store) {
    if (build->source_count == FILES_ASKED) return;
    struct source *source = &build->sources[build->source_count++];
    source->indexed = &build->indexed;
    source->store = store;
}

/* False: what came of the command was said, or there is none. */
static bool fetch_files(struct log_names *names, struct build *build) {
    char error[FETCH_ERROR];
    if (names->fetch == NULL) return false;
    bool is_done = fetch_run(names->fetch, build->id, build->id_size, error);
    if (error[0] != '\0') say(names, build, build->id, build->id_size, error, "");
    if (!is_done) return false;
    const char *cache = fetch_cache(names->fetch);
    const bool has_laid = add_laid(names, build);
    if (!has_laid && usp_index_image(cache, build->id, (uint32_t)build->id_size, &build->indexed) == USP_OK) {
        add_index(build, cache);
    }
    return build->source_count > 0;
}

/* What is found by its path comes first. Folders are gone through when nothing with symbols is. */
static void find_files(struct log_names *names, struct build *build) {
    if (build->id_size == 0) {
        build->is_walked = true;
        find_by_name(names, build);
        return;
    }
    if (add_laid(names, build)) return;
    const char *store = find_store(names, build);
    const bool has_folders = log_search_has_folders(names->search);
    if (store != NULL && (!has_folders || has_lines(build, store))) {
        add_index(build, store);
        return;
    }
    add_walked(names, build);
    if (build->source_count > 0) return;
    if (store != NULL) {
        add_index(build, store);
    } else if (!fetch_files(names, build)) {
        say(names, build, build->id, build->id_size,
            log_search_is_empty(names->search) ? "has no index" : "not found in --search", "");
    }
}

static struct uspi_span name_of(const struct usp_place *place) {
    return (struct uspi_span){place->image, place->image_length};
}

/* FNV-1a (Fowler, Noll, Vo), over the seed first. */
static uint64_t hash_of(const struct log_names *names, const uint8_t *id, size_t id_size, struct uspi_span name) {
    const uint8_t *bytes = id_size > 0 ? id : (const uint8_t *)name.bytes;
    size_t n = id_size > 0 ? id_size : name.length;
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ names->seed;
    for (size_t i = 0; i < n; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3) ^ names->seed >> 7;
    return hash ^ hash >> 32;
}

static bool is_same(const struct build *build, const uint8_t *id, size_t id_size, struct uspi_span name) {
    if (build->id_size != id_size) return false;
    return id_size > 0 ? memcmp(build->id, id, id_size) == 0 : uspi_span_is(build->name, name);
}

static struct build **slot_of(const struct log_names *names, const uint8_t *id, size_t id_size, struct uspi_span name) {
    size_t i = (size_t)hash_of(names, id, id_size, name) & (names->room - 1);
    while (names->builds[i] != NULL && !is_same(names->builds[i], id, id_size, name)) i = (i + 1) & (names->room - 1);
    return &names->builds[i];
}

/* A table of another size with the builds of this one. */
static bool rebuild(struct log_names *names, size_t room) {
    struct log_names made = *names;
    made.room = room;
    made.builds = calloc(room, sizeof *made.builds);
    if (made.builds == NULL) return false;
    for (size_t i = 0; i < names->room; i++) {
        struct build *build = names->builds[i];
        if (build != NULL) *slot_of(&made, build->id, build->id_size, build->name) = build;
    }
    free(names->builds);
    *names = made;
    return true;
}

static struct build *build_of(struct log_names *names, const struct usp_place *place) {
    struct uspi_span name = name_of(place);
    /* At most half of the table is used. */
    if (2 * (names->count + 1) > names->room && !rebuild(names, names->room > 0 ? 2 * names->room : 64)) return NULL;
    struct build **slot = slot_of(names, place->build_id, place->build_id_size, name);
    if (*slot != NULL) return *slot;
    struct build *build = calloc(1, sizeof *build + name.length);
    if (build == NULL) return NULL;
    build->id_size = place->build_id_size;
    memcpy(build->id, place->build_id, place->build_id_size);
    build->name = (struct uspi_span){(char *)(build + 1), name.length};
    if (name.length > 0) memcpy(build + 1, name.bytes, name.length);
    *slot = build;
    names->count++;
    find_files(names, build);
    return build;
}

static int compare_uses(const void *a, const void *b) {
    const struct build *const *x = a, *const *y = b;
    return (*x)->used > (*y)->used ? -1 : (*x)->used < (*y)->used;
}

void log_names_trim(struct log_names *names) {
    struct build **builds;
    if (names->count <= 2 * BUILDS_KEPT || (builds = calloc(names->count, sizeof *builds)) == NULL) return;
    size_t count = 0;
    for (size_t i = 0; i < names->room; i++) {
        if (names->builds[i] != NULL) builds[count++] = names->builds[i];
        names->builds[i] = NULL;
    }
    qsort(builds, count, sizeof *builds, compare_uses);
    for (size_t i = 0; i < count; i++) {
        if (i < BUILDS_KEPT) {
            *slot_of(names, builds[i]->id, builds[i]->id_size, builds[i]->name) = builds[i];
        } else {
            free_build(names, builds[i]);
        }
    }
    names->count = BUILDS_KEPT;
    names->last = NULL;
    free(builds);
    /* Without memory for a smaller table the large one stays. */
    rebuild(names, 4 * BUILDS_KEPT);
}

/* ---- answers ---- */

/* A file at the address that it was linked for: with that an offset becomes an address and back. */
static int open_file(struct source *source) {
    struct usp_image_file_options options;
    usp_image_file_options_init(&options);
    options.build_id_size = (uint32_t)source->file->id_size;
    memcpy(options.build_id, source->file->id, source->file->id_size);
    options.flags = USP_IMAGE_FILE_LINKED;
    return usp_images_open(source->file->path, &options, &source->images, NULL, 0);
}

static int open_source(const struct log_names *names, struct source *source) {
    struct usp_symbolizer_options lookup;
    if (source->images != NULL) return USP_OK;
    if (source->file == NULL && source->indexed == NULL) return USP_ERROR_NOT_FOUND;
    int status = source->file != NULL ? open_file(source) : usp_images_create(source->indexed, 1, &source->images);
    if (status == USP_OK) {
        looked_up_create(&source->looked_up, source->images);
        usp_symbolizer_options_init(&lookup);
        lookup.index_store = source->store != NULL ? source->store : names->index_store;
        status = usp_symbolizer_create(source->images, &lookup, &source->symbolizer);
    }
    if (status == USP_OK) return USP_OK;
    close_source(names, source);
    /* It was there a moment ago; once is enough to find that out. */
    source->file = NULL;
    source->indexed = NULL;
    return status == USP_ERROR_NO_MEMORY ? status : USP_ERROR_NOT_FOUND;
}

/* What kernels map files by. */
#define PAGE_MASK UINT64_C(0xfff)

/* The first source that tells where a file had its code. */
static bool link_by(const struct log_names *names, struct build *build, struct usp_place *place) {
    for (size_t i = 0; i < build->source_count; i++) {
        if (build->sources[i].indexed != NULL || open_source(names, &build->sources[i]) != USP_OK) continue;
        const struct usp_image *image = usp_images_get(build->sources[i].images, 0);
        if (place->base == USP_PLACE_TEXT) {
            place->offset += image->text_low & ~PAGE_MASK;
        } else if ((image->flags & USP_IMAGE_TEXT_OFFSET) != 0) {
            place->offset += image->text_low - image->text_offset;
        } else {
            continue;
        }
        place->base = USP_PLACE_LINKED;
        return true;
    }
    return false;
}

/* Turns a place that counts from the file, or from where its code is mapped, into an address as the image was linked. What was
 * split off from a file, and an index, do not tell where the file had its code: it is looked for in the folders then. */
static bool link_place(struct log_names *names, struct build *build, struct usp_place *place) {
    if (place->base != USP_PLACE_FILE && place->base != USP_PLACE_TEXT) return true;
    if (link_by(names, build, place)) return true;
    if (build->is_walked) return false;
    add_walked(names, build);
    return link_by(names, build, place);
}

/* Fills in *lines; its strings live as long as the source is open. */
static int ask_source(const struct log_names *names, struct source *source, const struct usp_place *place,
                      struct usp_lines *lines, struct usp_answer *answer) {
    const struct usp_symbol *symbol = &lines->symbol;
    struct usp_symbol here;
    int status = open_source(names, source);
    if (status != USP_OK) return status;
    const struct usp_image *image = usp_images_get(source->images, 0);
    const bool is_exact = (place->flags & USP_PLACE_EXACT) != 0;
    struct usp_frame frame = {.kind = is_exact ? USP_FRAME_KIND_INTERRUPTED : USP_FRAME_KIND_RETURN_ADDRESS};
    frame.pc = place->base == USP_PLACE_LINKED ? place->offset : image->load_address + place->offset;
    if (frame.pc - image->load_address > image->end - image->load_address) return USP_ERROR_NOT_FOUND;
    if (!is_exact) lines->flags |= USP_LINES_FILL;
    const usp_addr site = usp_frame_call_site(image->arch, &frame);
    looked_up_add(&source->looked_up, site);
    status = usp_symbolize_lines(source->symbolizer, site, lines);
    bool is_inside = status == USP_OK && frame.pc - symbol->start < symbol->extent;
    if (status == USP_OK && uspi_is_trampoline(uspi_span_of(symbol->name))) answer->flags |= USP_ANSWER_TRAMPOLINE;
    /* A handler returns to a trampoline's beginning, in front of which there was no call. */
    if (!is_exact && !is_inside && usp_symbolize(source->symbolizer, frame.pc, &here) == USP_OK &&
        here.start == frame.pc && uspi_is_trampoline(uspi_span_of(here.name))) {
        answer->flags |= USP_ANSWER_TRAMPOLINE;
    }
    answer->offset = status == USP_OK ? frame.pc - symbol->start : 0;
    return status;
}

static struct build *find_build(struct log_names *names, const struct usp_place *place) {
    struct build *last = names->last;
    if (last != NULL && is_same(last, place->build_id, place->build_id_size, name_of(place))) return last;
    return build_of(names, place);
}

/* Demangles the frames' names, and leaves out inlined calls of which debug information has no name. */
static uint32_t keep_named(struct usp_source_frame *frames, uint32_t count, struct usp_demangler *demangler) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (frames[i].function == NULL) continue;
        frames[kept] = frames[i];
        frames[kept++].function = usp_demangle(demangler, frames[i].function);
    }
    return kept;
}

int log_names_answer(void *context, const struct usp_place *place, struct usp_answer *answer) {
    struct log_names *names = context;
    struct usp_lines lines;
    const struct log_file *file;
    bool is_guess = (place->flags & USP_PLACE_GUESS) != 0 && place->build_id_size == 0;
    if (is_guess && log_search_name(names->search, name_of(place), &file) == 0) {
        answer->flags = USP_ANSWER_NO_FILE;
        return USP_OK;
    }
    struct build *build = names->last = find_build(names, place);
    if (build == NULL) return USP_ERROR_NO_MEMORY;
    build->used = ++names->clock;
    struct usp_place linked = *place;
    int status = USP_ERROR_NOT_FOUND;
    bool has_file = false;
    if (!link_place(names, build, &linked)) {
        if (build->source_count > 0 && !build->is_told_of_layout) {
            say(names, build, build->id, build->id_size,
                "only the file itself tells where its code lies in it, and --search lacks that", "");
        }
        build->is_told_of_layout = true;
        answer->flags = USP_ANSWER_NO_FILE;
        return USP_OK;
    }
    for (size_t i = 0; status == USP_ERROR_NOT_FOUND && i < build->source_count; i++) {
        usp_lines_init(&lines, names->frames, FRAMES);
        status = ask_source(names, &build->sources[i], &linked, &lines, answer);
        has_file = has_file || build->sources[i].images != NULL;
    }
    if (!has_file) answer->flags |= USP_ANSWER_NO_FILE;
    if (status == USP_ERROR_NO_MEMORY) return status;
    if (status != USP_OK) return USP_OK;
    if (build->demangler == NULL) status = usp_demangler_create(names->demangling, &build->demangler);
    if (status != USP_OK) return status;
    answer->frames = names->frames;
    answer->count = keep_named(names->frames, lines.count < FRAMES ? lines.count : FRAMES, build->demangler);
    return USP_OK;
}
