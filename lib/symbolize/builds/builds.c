/* SPDX-License-Identifier: MIT */
/* See <unspool/places.h>. Builds are kept in a hash table, by build id or, without one, by name. */
#include <unspool/demangle.h>
#include <unspool/places.h>

#include "lib/base/array.h"
#include "lib/base/sized.h"
#include "lib/base/span.h"
#include "lib/base/trampoline.h"
#include "lib/symbolize/builds/answers.h"
#include "lib/symbolize/builds/given_names.h"
#include "lib/symbolize/module_lines/frames.h"
#include "lib/symbolize/symbolizer.h"

#include <stdlib.h>
#include <string.h>
#include <unspool/symbolize.h>

/* ---- source ---- */

/* One source of a build: an object file, an index or an image of a shared cache. It is opened when it is first asked. */
struct uspi_build_source {
    struct usp_build_source where; /* its strings are owned; `image` is NULL */
    struct usp_image image;        /* for an index; arch 0: not known yet */
    struct usp_images *images;     /* NULL: not open */
    struct usp_symbolizer *symbolizer;
    const struct usp_builds_options *options;
    bool is_whole_cache;
    bool is_cached;    /* it is an image of options->dyld_caches; `where` has only the build id */
    usp_addr asked;    /* the address that was last asked for; 0: none */
    usp_addr code_end; /* of an index: past its last function; 0: not determined yet */
    bool is_unusable;  /* it could not be opened, and is not tried again */
};

/* Copies a string; NULL stays NULL. Returns false when memory is exhausted. */
static bool copy_string(const char *string, const char **copy) {
    *copy = string != NULL ? strdup(string) : NULL;
    return string == NULL || *copy != NULL;
}

static void close_source(struct uspi_build_source *source) {
    usp_symbolizer_free(source->symbolizer);
    usp_images_free(source->images);
    source->symbolizer = NULL;
    source->images = NULL;
}

/* Closes the source and frees its strings. */
static void build_source_clear(struct uspi_build_source *source) {
    close_source(source);
    free((char *)(uintptr_t)source->where.path);
    free((char *)(uintptr_t)source->where.index_store);
    *source = (struct uspi_build_source){.is_unusable = true};
}

/* Initializes a source from the caller's description, which is copied. The options must outlive it; their store is used
 * if the description names none. Returns false when memory is exhausted. */
static bool build_source_init(struct uspi_build_source *source, const struct usp_build_source *where,
                              const struct usp_builds_options *options) {
    const char *store = options->index_store;
    *source = (struct uspi_build_source){.where = *where, .options = options};
    if (where->image != NULL) source->image = *where->image;
    source->where.image = NULL;
    source->image.path = "";
    const bool has_path = copy_string(where->path, &source->where.path);
    const bool has_store =
        copy_string(where->index_store != NULL ? where->index_store : store, &source->where.index_store);
    if (has_path && has_store) return true;
    build_source_clear(source);
    return false;
}

/* Returns whether the source has damaged lines, and describes them in `text`, which has `size` bytes. Only for a source
 * that was asked before. */
static bool build_source_is_damaged(const struct uspi_build_source *source, char *text, size_t size) {
    return source->asked != 0 &&
           usp_symbolizer_explain_lines(source->symbolizer, source->asked, text, size) == USP_ERROR_FORMAT;
}

/* Opens a file at the address for which it was linked, so that offsets and addresses can be converted. */
static int open_file(struct uspi_build_source *source) {
    struct usp_image_file_options options;
    usp_image_file_options_init(&options);
    options.build_id_size = source->where.build_id_size;
    memcpy(options.build_id, source->where.build_id, sizeof options.build_id);
    options.flags = USP_IMAGE_FILE_LINKED;
    return usp_images_open(source->where.path, &options, &source->images, NULL, 0);
}

static int open_index(struct uspi_build_source *source) {
    int status = USP_OK;
    if (source->where.index_store == NULL) return USP_ERROR_NOT_FOUND;
    if (source->image.arch == USP_ARCH_NONE) {
        status = usp_index_image(source->where.index_store, source->where.build_id, source->where.build_id_size,
                                 &source->image);
    }
    return status == USP_OK ? usp_images_create(&source->image, 1, &source->images) : status;
}

/* Finds a shared cache by its own UUID. Returns its number, or SIZE_MAX. */
static size_t find_cache(const struct usp_dyld_caches *caches, const uint8_t uuid[16], struct usp_dyld_cache *cache) {
    for (size_t i = 0; usp_dyld_caches_get(caches, i, cache) == USP_OK; i++) {
        if (memcmp(cache->uuid, uuid, sizeof cache->uuid) == 0) return i;
    }
    return SIZE_MAX;
}

/* Opens an image of a shared cache, or a whole cache with its stubs, at the addresses for which it was linked. */
static int open_cached(struct uspi_build_source *source) {
    const struct usp_dyld_caches *caches = source->options->dyld_caches;
    struct usp_dyld_cache cache;
    int status = usp_dyld_caches_find(caches, source->where.build_id, &source->image);
    if (status == USP_OK) return usp_images_create(&source->image, 1, &source->images);
    const size_t i = find_cache(caches, source->where.build_id, &cache);
    if (i == SIZE_MAX) return USP_ERROR_NOT_FOUND;
    source->is_whole_cache = true;
    source->image =
        (struct usp_image){.path = "", .load_address = cache.base, .end = cache.base + cache.size, .arch = cache.arch};
    return usp_dyld_caches_list(caches, i, USP_DYLD_STUBS, &source->images);
}

/* Returns the image from which offsets count. The source is open. */
static const struct usp_image *image_of(const struct uspi_build_source *source) {
    return source->is_whole_cache ? &source->image : usp_images_get(source->images, 0);
}

static int open_source(struct uspi_build_source *source) {
    struct usp_symbolizer_options lookup;
    if (source->images != NULL) return USP_OK;
    if (source->is_unusable) return USP_ERROR_NOT_FOUND;
    int status = source->where.path != NULL ? open_file(source)
                 : source->is_cached        ? open_cached(source)
                                            : open_index(source);
    if (status == USP_OK) {
        usp_symbolizer_options_init(&lookup);
        lookup.index_store = source->is_cached ? NULL : source->where.index_store;
        lookup.dyld_caches = source->options->dyld_caches;
        lookup.path_maps = source->options->path_maps;
        lookup.path_map_count = source->options->path_map_count;
        status = usp_symbolizer_create(source->images, &lookup, &source->symbolizer);
    }
    if (status == USP_OK) return USP_OK;
    close_source(source);
    if (status == USP_ERROR_NO_MEMORY) return status;
    source->is_unusable = true;
    return USP_ERROR_NOT_FOUND;
}

/* Selects the offset in a page. Kernels map files by pages of 4 KB. */
#define PAGE_MASK UINT64_C(0xfff)

/* A usp_symbol_visitor: finds where the last function ends. */
static int find_end(void *context, const struct usp_symbol *symbol) {
    usp_addr *end = context;
    const usp_addr last = symbol->start + (symbol->extent > 0 ? symbol->extent : 1);
    if (last > *end) *end = last;
    return 0;
}

/* Changes an offset in the file into one from the load address, by an index, which does not know the file's layout. The
 * two are equal if the code ends in the last page of its mapping. Linkers that do not place code so (lld) move it by
 * pages. Returns false if they are not equal. */
static bool link_by_index(struct uspi_build_source *source, struct usp_place *place) {
    if (place->base != USP_PLACE_FILE || place->file_end == 0 || open_source(source) != USP_OK) return false;
    const struct usp_image *image = usp_images_get(source->images, 0);
    if (source->code_end == 0) {
        source->code_end = image->load_address;
        (void)usp_symbolizer_visit(source->symbolizer, image->load_address, find_end, &source->code_end);
    }
    const uint64_t size = source->code_end - image->load_address;
    if (size == 0 || size > place->file_end || place->file_end - size > PAGE_MASK) return false;
    place->base = USP_PLACE_LOAD;
    return true;
}

/* Changes an offset in the file, or from where its code is mapped, into an address as the image was linked, or an offset
 * from the load address. Returns false when the source cannot be opened or does not know the layout. A separate debug
 * file does not know it. */
static bool build_source_link(struct uspi_build_source *source, struct usp_place *place) {
    if (source->where.path == NULL && !source->is_cached) return link_by_index(source, place);
    if (source->where.path == NULL || open_source(source) != USP_OK) return false;
    const struct usp_image *image = usp_images_get(source->images, 0);
    if (place->base == USP_PLACE_TEXT) {
        place->offset += image->text_low & ~PAGE_MASK;
    } else if ((image->flags & USP_IMAGE_TEXT_OFFSET) != 0) {
        place->offset += image->text_low - image->text_offset;
    } else {
        return false;
    }
    place->base = USP_PLACE_LINKED;
    return true;
}

/* Returns the start of the function that holds the code: the last frame's. If only debug information knows the
 * function, there is no symbol, or it is another function's. */
static usp_addr start_of(const struct usp_lines *lines) {
    const bool has_last = lines->count > 0 && lines->count <= lines->capacity;
    const usp_addr start = has_last ? lines->frames[lines->count - 1].start : 0;
    return start != 0 ? start : lines->symbol.start;
}

/* Returns the frame of a place that is an offset from the load address or an address as linked. */
static struct usp_frame frame_of(const struct usp_image *image, const struct usp_place *place) {
    const bool is_exact = (place->flags & USP_PLACE_EXACT) != 0;
    struct usp_frame frame = {.kind = is_exact ? USP_FRAME_KIND_INTERRUPTED : USP_FRAME_KIND_RETURN_ADDRESS};
    frame.pc = place->base == USP_PLACE_LINKED ? place->offset : image->load_address + place->offset;
    return frame;
}

/* Fills in *lines, and the answer's offset and flags, for a place that is an offset from the load address or an address
 * as linked. Returns as usp_symbolize_lines does. */
static int build_source_ask(struct uspi_build_source *source, const struct usp_place *place, struct usp_lines *lines,
                            struct usp_answer *answer) {
    const struct usp_symbol *symbol = &lines->symbol;
    struct usp_symbol here;
    int status = open_source(source);
    if (status != USP_OK) return status;
    const struct usp_image *image = image_of(source);
    const bool is_exact = (place->flags & USP_PLACE_EXACT) != 0;
    const struct usp_frame frame = frame_of(image, place);
    if (frame.pc - image->load_address > image->end - image->load_address) return USP_ERROR_NOT_FOUND;
    if (!is_exact || (place->flags & USP_PLACE_FILL) != 0) lines->flags |= USP_LINES_FILL;
    source->asked = usp_frame_call_site(image->arch, &frame);
    status = usp_symbolize_lines(source->symbolizer, source->asked, lines);
    bool is_inside = status == USP_OK && frame.pc - symbol->start < symbol->extent;
    if (status == USP_OK && uspi_is_trampoline(uspi_span_of(symbol->name))) answer->flags |= USP_ANSWER_TRAMPOLINE;
    /* A handler returns to the start of a trampoline, before which there is no call. */
    if (!is_exact && !is_inside && usp_symbolize(source->symbolizer, frame.pc, &here) == USP_OK &&
        here.start == frame.pc && uspi_is_trampoline(uspi_span_of(here.name))) {
        answer->flags |= USP_ANSWER_TRAMPOLINE;
    }
    const usp_addr start = start_of(lines);
    answer->offset = status == USP_OK && start <= frame.pc ? frame.pc - start : 0;
    return status;
}

#define BUILDS_KEPT 256u

/* The number of frames of a batch for which memory is kept after it. */
#define FRAMES_KEPT ((size_t)4096)

struct build {
    uint8_t id[USP_BUILD_ID_MAX];
    size_t id_size;
    struct uspi_span name; /* its bytes follow the struct */
    struct uspi_build_source sources[USP_BUILD_SOURCES];
    uint32_t source_count;
    struct uspi_build_source replaced[USP_BUILD_SOURCES]; /* the sources before; names from them stay valid */
    uint32_t replaced_count;
    int32_t status;                  /* what `find` returned */
    struct usp_demangler *demangler; /* NULL: not needed so far */
    struct uspi_given_names given;   /* names that texts give to its frames */
    uint64_t number;                 /* unique to this build with its present sources */
    uint64_t used;                   /* when it was last used, by builds->clock */
    bool is_complete;                /* `find` has no more sources */
    uint64_t asked;                  /* number of places that its sources were asked for */
    bool is_noted;                   /* USP_BUILD_NOTE_LAYOUT was sent */
};

struct usp_builds {
    struct usp_builds_options options; /* index_store is owned; path_maps is owned by `paths` */
    struct uspi_source_paths paths;
    struct build **builds; /* a hash table with open addressing; `capacity` is a power of two */
    size_t count, capacity;
    struct build *last;              /* the build that was last used */
    size_t measured;                 /* number of builds when their memory was last measured */
    uint32_t trims;                  /* number of calls of usp_builds_trim since then */
    uint64_t clock;                  /* counts lookups */
    uint64_t numbers;                /* counts numbers of builds */
    uint64_t seed;                   /* of the hash, so that no input can be prepared whose builds all collide */
    struct usp_source_frame *frames; /* of the last batch */
    size_t frame_count, frame_capacity;
    struct uspi_answers answers;
};

void usp_builds_options_init(struct usp_builds_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->demangling = USP_DEMANGLE_NO;
}

int usp_builds_create(const struct usp_builds_options *options, struct usp_builds **builds) {
    struct usp_builds_options completed;
    if (builds == NULL) return USP_ERROR_ARGUMENT;
    *builds = NULL;
    usp_builds_options_init(&completed);
    if (!USPI_COMPLETE(&completed, options)) return USP_ERROR_ARGUMENT;
    if (!uspi_path_maps_are_whole(completed.path_maps, completed.path_map_count)) return USP_ERROR_ARGUMENT;
    struct usp_demangler *demangler;
    int status = usp_demangler_create(completed.demangling, &demangler);
    if (status != USP_OK) return status;
    usp_demangler_free(demangler);
    struct usp_builds *made = calloc(1, sizeof *made);
    char *store = completed.index_store != NULL ? strdup(completed.index_store) : NULL;
    if (made == NULL || (store == NULL && completed.index_store != NULL)) {
        free(made);
        free(store);
        return USP_ERROR_NO_MEMORY;
    }
    made->options = completed;
    made->options.index_store = store;
    if (!uspi_source_paths_init(&made->paths, completed.path_maps, completed.path_map_count)) {
        usp_builds_free(made);
        return USP_ERROR_NO_MEMORY;
    }
    made->options.path_maps = made->paths.maps;
    made->options.path_map_count = made->paths.count;
    if (made->options.builds_kept == 0) made->options.builds_kept = BUILDS_KEPT;
    made->seed = usp_clock() << 20 ^ (uintptr_t)made;
    *builds = made;
    return USP_OK;
}

/* ---- sources ---- */

static void close_sources(const struct usp_builds *builds, struct uspi_build_source *sources, uint32_t count) {
    char text[1024];
    for (uint32_t i = 0; i < count; i++) {
        /* A damaged index is only noticed when the damage is read. */
        if (builds->options.note != NULL && build_source_is_damaged(&sources[i], text, sizeof text)) {
            builds->options.note(builds->options.context, USP_BUILD_NOTE_DAMAGED, NULL, text);
        }
        build_source_clear(&sources[i]);
    }
}

/* Fills in the sources without `find`: the index of the build id. */
static void find_index(const struct build *build, struct usp_build_sources *sources) {
    sources->flags |= USP_BUILD_COMPLETE;
    if (build->id_size == 0) return;
    struct usp_build_source *source = &sources->of[sources->count++];
    source->build_id_size = (uint32_t)build->id_size;
    memcpy(source->build_id, build->id, sizeof source->build_id);
}

/* Adds the shared cache that has the build to `count` sources. Returns how many there are then. */
static uint32_t add_cached(const struct usp_builds *builds, const struct build *build,
                           struct uspi_build_source found[USP_BUILD_SOURCES], uint32_t count) {
    struct usp_build_source where = {.build_id_size = 16};
    struct usp_dyld_cache cache;
    struct usp_image image;
    if (builds->options.dyld_caches == NULL || count == USP_BUILD_SOURCES || build->id_size != 16) return count;
    const bool has_image = usp_dyld_caches_find(builds->options.dyld_caches, build->id, &image) == USP_OK;
    if (!has_image && find_cache(builds->options.dyld_caches, build->id, &cache) == SIZE_MAX) return count;
    memcpy(where.build_id, build->id, sizeof where.build_id);
    found[count] = (struct uspi_build_source){.where = where, .options = &builds->options, .is_cached = true};
    return count + 1;
}

/* Finds where the build's symbols are, and replaces its sources by what was found. After the first time, this happens
 * at most once, for their layout. Returns USP_OK, or USP_ERROR_NO_MEMORY with the build unchanged. */
static int find_sources(struct usp_builds *builds, struct build *build, const struct usp_place *place, uint32_t flags) {
    struct usp_build_sources sources = {.flags = flags};
    struct uspi_build_source found[USP_BUILD_SOURCES];
    uint32_t count = 0;
    int status = USP_OK;
    for (uint32_t i = 0; i < build->source_count; i++) {
        if (!build->sources[i].is_cached) sources.of[sources.count++] = build->sources[i].where;
    }
    if (builds->options.find == NULL) {
        find_index(build, &sources);
    } else {
        status = builds->options.find(builds->options.context, place, &sources);
    }
    if (status == USP_ERROR_NO_MEMORY) return status;
    if (status != USP_OK) sources.count = 0;
    for (; count < sources.count && count < USP_BUILD_SOURCES; count++) {
        struct usp_build_source *where = &sources.of[count];
        if (where->build_id_size > USP_BUILD_ID_MAX) where->build_id_size = 0;
        if (build_source_init(&found[count], where, &builds->options)) continue;
        while (count > 0) build_source_clear(&found[--count]);
        return USP_ERROR_NO_MEMORY;
    }
    count = add_cached(builds, build, found, count);
    memcpy(build->replaced, build->sources, sizeof build->replaced);
    build->replaced_count = build->source_count;
    memcpy(build->sources, found, count * sizeof *found);
    build->source_count = count;
    build->status = status;
    build->is_complete = flags != 0 || (sources.flags & USP_BUILD_COMPLETE) != 0;
    build->number = ++builds->numbers;
    uspi_given_names_reset(&build->given);
    return USP_OK;
}

/* ---- the table of builds ---- */

static void free_build(const struct usp_builds *builds, struct build *build) {
    close_sources(builds, build->sources, build->source_count);
    close_sources(builds, build->replaced, build->replaced_count);
    usp_demangler_free(build->demangler);
    uspi_given_names_clear(&build->given);
    free(build);
}

void usp_builds_free(struct usp_builds *builds) {
    if (builds == NULL) return;
    for (size_t i = 0; i < builds->capacity; i++) {
        if (builds->builds[i] != NULL) free_build(builds, builds->builds[i]);
    }
    uspi_answers_clear(&builds->answers);
    free(builds->builds);
    free(builds->frames);
    free((char *)(uintptr_t)builds->options.index_store);
    uspi_source_paths_clear(&builds->paths);
    free(builds);
}

static struct uspi_span name_of(const struct usp_place *place) {
    return (struct uspi_span){place->image, place->image_length};
}

/* The FNV-1a hash (Fowler, Noll, Vo), which begins with the seed. */
static uint64_t hash_of(const struct usp_builds *builds, const uint8_t *id, size_t id_size, struct uspi_span name) {
    const uint8_t *bytes = id_size > 0 ? id : (const uint8_t *)name.bytes;
    size_t n = id_size > 0 ? id_size : name.length;
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ builds->seed;
    for (size_t i = 0; i < n; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3) ^ builds->seed >> 7;
    return hash ^ hash >> 32;
}

static bool is_same(const struct build *build, const uint8_t *id, size_t id_size, struct uspi_span name) {
    if (build->id_size != id_size) return false;
    return id_size > 0 ? memcmp(build->id, id, id_size) == 0 : uspi_span_is(build->name, name);
}

static struct build **slot_of(const struct usp_builds *builds, const uint8_t *id, size_t id_size,
                              struct uspi_span name) {
    size_t i = (size_t)hash_of(builds, id, id_size, name) & (builds->capacity - 1);
    while (builds->builds[i] != NULL && !is_same(builds->builds[i], id, id_size, name))
        i = (i + 1) & (builds->capacity - 1);
    return &builds->builds[i];
}

/* Moves all builds into a table of another size. Returns false when memory is exhausted. */
static bool rebuild(struct usp_builds *builds, size_t capacity) {
    struct usp_builds made = *builds;
    made.capacity = capacity;
    made.builds = calloc(capacity, sizeof *made.builds);
    if (made.builds == NULL) return false;
    for (size_t i = 0; i < builds->capacity; i++) {
        struct build *build = builds->builds[i];
        if (build != NULL) *slot_of(&made, build->id, build->id_size, build->name) = build;
    }
    free(builds->builds);
    *builds = made;
    return true;
}

/* Returns the build of a place, and adds it if it is new; NULL when memory is exhausted. */
static struct build *build_of(struct usp_builds *builds, const struct usp_place *place) {
    const struct uspi_span name = name_of(place);
    struct build *last = builds->last;
    if (last != NULL && is_same(last, place->build_id, place->build_id_size, name)) return last;
    /* Use at most half of the table. */
    if (2 * (builds->count + 1) > builds->capacity &&
        !rebuild(builds, builds->capacity > 0 ? 2 * builds->capacity : 64))
        return NULL;
    struct build **slot = slot_of(builds, place->build_id, place->build_id_size, name);
    if (*slot != NULL) return *slot;
    struct build *build = calloc(1, sizeof *build + name.length);
    if (build == NULL) return NULL;
    build->id_size = place->build_id_size;
    memcpy(build->id, place->build_id, place->build_id_size);
    build->name = (struct uspi_span){(char *)(build + 1), name.length};
    if (name.length > 0) memcpy(build + 1, name.bytes, name.length);
    if (find_sources(builds, build, place, 0) != USP_OK) {
        free_build(builds, build);
        return NULL;
    }
    *slot = build;
    builds->count++;
    return build;
}

static int compare_uses(const void *a, const void *b) {
    const struct build *const *x = a, *const *y = b;
    return (*x)->used > (*y)->used ? -1 : (*x)->used < (*y)->used;
}

/* An index takes less memory than a file with debug information, so that more of them stay open: it is counted in
 * parts of a build, each of PART bytes. */
#define BUILD_PARTS 16u
#define PART        ((uint64_t)64 << 10)

/* About how many bytes a source takes, and the name that an answer keeps. */
#define SOURCE_BYTES UINT64_C(16384)
#define NAME_BYTES   UINT64_C(128)

/* Returns how many parts of a build it counts. A build without a file counts as a whole one: a server that is asked for
 * ever more of them would keep thousands, and each is quickly found to be missing again. */
static size_t parts_of(const struct build *build) {
    uint64_t bytes = build->asked * NAME_BYTES;
    bool has_file = false;
    for (uint32_t i = 0; i < build->source_count; i++) {
        const struct uspi_build_source *source = &build->sources[i];
        struct usp_symbolizer_usage usage;
        if (source->images == NULL) continue;
        if (source->where.path != NULL || source->is_cached) return BUILD_PARTS;
        usp_symbolizer_get_usage(source->symbolizer, &usage);
        has_file = true;
        bytes += SOURCE_BYTES + uspi_symbolizer_index_bytes(source->symbolizer) + usage.memory;
    }
    return has_file && bytes < (BUILD_PARTS - 1) * PART ? 1 + (size_t)(bytes / PART) : BUILD_PARTS;
}

/* How many calls pass before the memory of the open builds is measured again, unless there are a quarter more builds. */
#define TRIMS_BETWEEN 256u

/* Whether the builds are more than twice those that stay open. */
static bool are_too_many(struct usp_builds *builds) {
    const size_t kept = builds->options.builds_kept;
    size_t parts = 0;
    if (builds->count / 2 <= kept) return false;
    if (builds->count < builds->measured + builds->measured / 4 && ++builds->trims < TRIMS_BETWEEN) return false;
    builds->measured = builds->count;
    builds->trims = 0;
    for (size_t i = 0; i < builds->capacity; i++) {
        if (builds->builds[i] != NULL) parts += parts_of(builds->builds[i]);
    }
    return parts / 2 / BUILD_PARTS > kept;
}

/* Closes all builds except those that were used last. Closes none if memory for that is exhausted. */
static void close_builds(struct usp_builds *builds) {
    struct build **all = calloc(builds->count, sizeof *all);
    size_t count = 0, kept = 0, parts = 0;
    if (all == NULL) return;
    for (size_t i = 0; i < builds->capacity; i++) {
        if (builds->builds[i] != NULL) all[count++] = builds->builds[i];
        builds->builds[i] = NULL;
    }
    qsort(all, count, sizeof *all, compare_uses);
    for (size_t i = 0; i < count; i++) {
        parts += parts_of(all[i]);
        if (parts / BUILD_PARTS <= builds->options.builds_kept) {
            *slot_of(builds, all[i]->id, all[i]->id_size, all[i]->name) = all[i];
            kept++;
        } else {
            free_build(builds, all[i]);
        }
    }
    builds->count = builds->measured = kept;
    builds->last = NULL;
    free(all);
    size_t capacity = 64;
    while (capacity < 4 * kept) capacity *= 2;
    /* If memory for a smaller table is exhausted, the large one stays. */
    if (capacity < builds->capacity) rebuild(builds, capacity);
}

void usp_builds_trim(struct usp_builds *builds) {
    if (builds == NULL) return;
    if (builds->frame_capacity > FRAMES_KEPT) {
        free(builds->frames);
        builds->frames = NULL;
        builds->frame_count = builds->frame_capacity = 0;
    }
    if (are_too_many(builds)) close_builds(builds);
}

/* ---- answers ---- */

static bool link_by(struct build *build, struct usp_place *place) {
    for (uint32_t i = 0; i < build->source_count; i++) {
        if (build_source_link(&build->sources[i], place)) return true;
    }
    return false;
}

/* Changes a place that counts from the file, or from where its code is mapped, into an address as the image was linked.
 * Returns USP_OK, USP_ERROR_NOT_FOUND when no source knows it, USP_ERROR_NO_MEMORY, or what `find` returned. */
static int link_place(struct usp_builds *builds, struct build *build, struct usp_place *place) {
    if (place->base != USP_PLACE_FILE && place->base != USP_PLACE_TEXT) return USP_OK;
    if (link_by(build, place)) return USP_OK;
    if (!build->is_complete) {
        int status = find_sources(builds, build, place, USP_BUILD_LAYOUT);
        if (status != USP_OK) return status;
        if (link_by(build, place)) return USP_OK;
    }
    if (build->source_count > 0 && !build->is_noted && builds->options.note != NULL) {
        builds->options.note(builds->options.context, USP_BUILD_NOTE_LAYOUT, place, "");
    }
    build->is_noted = true;
    return build->status != USP_OK ? build->status : USP_ERROR_NOT_FOUND;
}

/* Demangles the names of frames, and drops frames without a name: inlined calls that debug information does not
 * name. */
static uint32_t keep_named(struct usp_source_frame *frames, uint32_t count, struct usp_demangler *demangler) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (frames[i].function == NULL) continue;
        frames[kept] = frames[i];
        frames[kept++].function = usp_demangle(demangler, frames[i].function);
    }
    return kept;
}

/* Asks the build's sources. The caller has made room for the frames. */
static int ask_build(struct usp_builds *builds, struct build *build, const struct usp_place *place,
                     struct usp_answer *answer) {
    struct usp_source_frame *frames = builds->frames + builds->frame_count;
    struct usp_place linked = *place;
    struct usp_lines lines;
    bool has_file = false;
    int status = link_place(builds, build, &linked);
    if (status != USP_OK) {
        answer->flags = USP_ANSWER_NO_FILE;
        return status;
    }
    status = USP_ERROR_NOT_FOUND;
    for (uint32_t i = 0; status == USP_ERROR_NOT_FOUND && i < build->source_count; i++) {
        usp_lines_init(&lines, frames, USP_ANSWER_FRAMES);
        status = build_source_ask(&build->sources[i], &linked, &lines, answer);
        build->asked++;
        has_file = has_file || build->sources[i].images != NULL;
    }
    if (!has_file) answer->flags |= USP_ANSWER_NO_FILE;
    if (status != USP_OK) return status == USP_ERROR_NO_MEMORY ? status : USP_ERROR_NOT_FOUND;
    if (build->demangler == NULL) status = usp_demangler_create(builds->options.demangling, &build->demangler);
    if (status != USP_OK) return status;
    const uint32_t count = lines.count < USP_ANSWER_FRAMES ? lines.count : USP_ANSWER_FRAMES;
    answer->count = keep_named(frames, count, build->demangler);
    answer->frames = frames;
    if (answer->count > 0) return USP_OK;
    if (count > 0 && frames[count - 1].file != NULL && frames[count - 1].line > 0) {
        frames[0] = frames[count - 1];
        answer->flags |= USP_ANSWER_LINE;
    }
    return USP_ERROR_NOT_FOUND;
}

static bool is_place(const struct usp_place *place) {
    return place->build_id_size <= USP_BUILD_ID_MAX && place->base <= USP_PLACE_TEXT &&
           (place->image != NULL || place->image_length == 0) &&
           (place->name != NULL || (place->flags & USP_PLACE_NAMED) == 0);
}

/* Sets *holds: whether the text's name of a frame is right, by the first source that has a symbol there. Returns USP_OK
 * or USP_ERROR_NO_MEMORY. */
static int ask_about_name(struct build *build, const struct usp_place *linked, const struct usp_answer *answer,
                          bool *holds) {
    struct usp_symbol symbol;
    for (uint32_t i = 0; i < build->source_count; i++) {
        struct uspi_build_source *source = &build->sources[i];
        if (source->images == NULL) continue;
        const struct usp_image *image = image_of(source);
        const struct usp_frame frame = frame_of(image, linked);
        const usp_addr call_site = usp_frame_call_site(image->arch, &frame);
        const int status = usp_symbolize(source->symbolizer, call_site, &symbol);
        if (status == USP_ERROR_NO_MEMORY) return status;
        if (status != USP_OK && i + 1 < build->source_count) continue;
        const struct uspi_given_place given = {.symbolizer = source->symbolizer,
                                               .symbol = status == USP_OK ? &symbol : NULL,
                                               .name = {linked->name, linked->name_length},
                                               .pc = frame.pc,
                                               .call_site = call_site,
                                               .start = frame.pc - answer->offset,
                                               .offset = linked->name_offset,
                                               .has_offset = (linked->flags & USP_PLACE_NAME_OFFSET) != 0};
        return uspi_given_name_holds(&build->given, &given, holds);
    }
    return USP_OK;
}

/* Sets USP_ANSWER_NAME_HOLDS of an answer with frames. Returns USP_OK or USP_ERROR_NO_MEMORY. */
static int check_name(struct usp_builds *builds, struct build *build, const struct usp_place *place,
                      struct usp_answer *answer) {
    struct usp_place linked = *place;
    bool holds = true;
    int status = link_place(builds, build, &linked);
    if (status == USP_OK) status = ask_about_name(build, &linked, answer, &holds);
    if (status == USP_ERROR_NO_MEMORY) return status;
    if (holds) answer->flags |= USP_ANSWER_NAME_HOLDS;
    return USP_OK;
}

/* Whether all sources of a build were tried and none can be used, as for most images of a report. */
static bool is_without_file(const struct build *build, const struct usp_place *place) {
    const bool may_find_more = !build->is_complete && (place->base == USP_PLACE_FILE || place->base == USP_PLACE_TEXT);
    if (may_find_more) return false;
    for (uint32_t i = 0; i < build->source_count; i++) {
        if (!build->sources[i].is_unusable) return false;
    }
    return true;
}

/* Answers a place. Its frames are added after those of the places before. */
static void answer_place(struct usp_builds *builds, const struct usp_place *place, struct usp_answer *answer) {
    *answer = (struct usp_answer){.status = USP_ERROR_ARGUMENT};
    if (!is_place(place)) return;
    answer->status = USP_ERROR_NO_MEMORY;
    if (!uspi_room_for(&builds->frames, &builds->frame_capacity, builds->frame_count, USP_ANSWER_FRAMES,
                       sizeof *builds->frames))
        return;
    struct build *build = builds->last = build_of(builds, place);
    if (build == NULL) return;
    build->used = ++builds->clock;
    answer->status = build->status;
    if (build->status != USP_OK) return;
    if (is_without_file(build, place)) {
        answer->status = USP_ERROR_NOT_FOUND;
        answer->flags = USP_ANSWER_NO_FILE;
        return;
    }
    const struct uspi_answer_key key = {build->number, place->offset, place->base,
                                        place->flags & (USP_PLACE_EXACT | USP_PLACE_FILL)};
    const struct uspi_kept_answer *kept = uspi_answers_find(&builds->answers, &key);
    if (kept != NULL) {
        *answer = kept->answer;
        memcpy(builds->frames + builds->frame_count, kept->frames, uspi_answer_frames(answer) * sizeof *kept->frames);
    } else {
        answer->status = ask_build(builds, build, place, answer);
        const bool is_final = answer->status == USP_OK || answer->status == USP_ERROR_NOT_FOUND;
        if (is_final) uspi_answers_keep(&builds->answers, &key, answer);
    }
    if ((place->flags & USP_PLACE_NAMED) != 0 && answer->count > 0 &&
        check_name(builds, build, place, answer) != USP_OK) {
        *answer = (struct usp_answer){.status = USP_ERROR_NO_MEMORY};
    }
    builds->frame_count += uspi_answer_frames(answer);
}

int usp_symbolize_places(struct usp_builds *builds, const struct usp_place *places, struct usp_answer *answers,
                         size_t count) {
    int status = USP_OK;
    if (builds == NULL || (count > 0 && (places == NULL || answers == NULL))) return USP_ERROR_ARGUMENT;
    builds->frame_count = 0;
    for (size_t i = 0; i < count; i++) {
        answer_place(builds, &places[i], &answers[i]);
        if (answers[i].status == USP_ERROR_NO_MEMORY) status = USP_ERROR_NO_MEMORY;
    }
    /* From now on the frames do not move. */
    const struct usp_source_frame *frames = builds->frames;
    for (size_t i = 0; i < count; i++) {
        const uint32_t own = uspi_answer_frames(&answers[i]);
        answers[i].frames = own > 0 ? frames : NULL;
        if (own > 0) frames += own;
    }
    return status;
}
