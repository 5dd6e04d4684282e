/* SPDX-License-Identifier: MIT */
/* See module_lines.h. */
#include "lib/symbolize/module_lines.h"

#include "lib/images/macho_file.h"
#include "lib/images/object_file.h"
#include "lib/images/symbol_file.h"
#include "lib/object/fat.h"
#include "lib/os/os.h"
#include "lib/symbolize/dwarf/dwarf.h"
#include "lib/symbolize/go/source.h"
#include "lib/symbolize/macho/debug_map.h"
#include "lib/symbolize/store/index_file.h"
#include "lib/symbolize/symfile/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A block of debug information that is cached. */
struct cached_block {
    struct uspi_cached cached;
    struct uspi_block block; /* entries 0: the unit says nothing of any address */
    uint8_t bytes[];
};

/* The code of units that claim none, which is known when their blocks have been made. */
struct found_code {
    struct uspi_map map;
    uint8_t *bytes;
};

/* An object file of a debug map. */
struct object {
    bool was_tried;           /* under the lock of the lines */
    struct uspi_lines *lines; /* NULL: it could not be used */
    struct uspi_file *file;
    struct usp_image image; /* the object as an image of its own, which is not moved */
    struct uspi_macho_symbols symbols;
};

struct uspi_lines {
    struct uspi_cache *cache;
    struct uspi_lock *lock; /* held while blocks are made */
    uint64_t moved;         /* address as linked in the image − address in the debug information */
    struct uspi_file *file; /* of the debug information; NULL: it is the image's own, or there is none */
    struct uspi_line_source *source;
    void *reader;                  /* of the source */
    struct uspi_cache_slot *slots; /* by unit */
    struct uspi_map map;
    uint8_t *map_bytes;
    bool *unclaimed; /* units that claim no code, by number; NULL: there are none */
    _Atomic(struct found_code *) found;
    struct uspi_index_file *index;         /* what follows is of debug information when there is none */
    _Atomic(const char *) *kept;           /* of an index: strings that were asked for, by number */
    _Atomic(struct uspi_lines *) fallback; /* instead of an index that is damaged */
    struct uspi_debug_map debug_map; /* instead: of a Mach-O image, where its object files have the debug information */
    struct uspi_macho_symbols map_symbols; /* which it is made of */
    struct object *objects;                /* by number */
    const struct usp_image *image;         /* for that */
    const struct uspi_places *places;
    const struct uspi_file *image_file;
    bool has_damaged_index;    /* found when it was opened */
    int status;                /* of the search: USP_OK when there are lines */
    char *file_path;           /* where they are */
    struct uspi_error problem; /* what was wrong with them, or why there are none */
};

static void close_objects(struct uspi_lines *lines) {
    for (size_t i = 0; lines->objects != NULL && i < lines->debug_map.object_count; i++) {
        uspi_lines_close(lines->objects[i].lines);
        uspi_file_close(lines->objects[i].file);
    }
    free(lines->objects);
    uspi_debug_map_clear(&lines->debug_map);
}

void uspi_lines_close(struct uspi_lines *lines) {
    if (lines == NULL) return;
    close_objects(lines);
    struct found_code *found = atomic_load_explicit(&lines->found, memory_order_relaxed);
    if (found != NULL) free(found->bytes);
    free(found);
    uspi_lines_close(atomic_load_explicit(&lines->fallback, memory_order_relaxed));
    uspi_index_file_close(lines->index);
    free(lines->kept);
    if (lines->source != NULL) {
        lines->source->free_reader(lines->reader);
        lines->source->close(lines->source);
    }
    uspi_file_close(lines->file);
    uspi_lock_free(lines->lock);
    free(lines->slots);
    free(lines->map_bytes);
    free(lines->unclaimed);
    free(lines->file_path);
    free(lines);
}

/* ---- opening ---- */

static int open_dwarf(struct uspi_lines *lines, const struct usp_image *image, const struct uspi_places *places,
                      const struct uspi_file *file) {
    const bool is_macho = (image->flags & USP_IMAGE_MACHO) != 0;
    const struct uspi_dwarf_options options = {.bytes = uspi_file_bytes(file),
                                               .uuid = is_macho ? uspi_macho_image_uuid(image) : NULL,
                                               .arch = image->arch,
                                               .path = uspi_file_path(file),
                                               .sysroot = places->search.sysroot};
    int status = uspi_dwarf_open(&options, &lines->source, &lines->problem);
    if (status != USP_OK) return status;
    free(lines->file_path);
    lines->file_path = strdup(uspi_file_path(file));
    if (is_macho) lines->moved = image->load_address - image->slide - lines->source->header;
    return lines->file_path != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* The image's own file, or the one that its debugging information was split off to. */
static int find_dwarf(struct uspi_lines *lines, const struct usp_image *image, const struct uspi_places *places,
                      const struct uspi_file *file) {
    const bool is_macho = (image->flags & USP_IMAGE_MACHO) != 0;
    int status = USP_ERROR_NOT_FOUND;
    if (!is_macho && file != NULL) status = open_dwarf(lines, image, places, file);
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    struct uspi_error why = {0};
    if (image->section == 0 && (is_macho || file != NULL)) {
        int found = uspi_debug_file_open(image, file, places, &lines->file, &why);
        if (found == USP_ERROR_NO_MEMORY) return found;
        if (found == USP_OK) status = open_dwarf(lines, image, places, lines->file);
    }
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    if (is_macho && file != NULL) status = open_dwarf(lines, image, places, file);
    if (status == USP_ERROR_NOT_FOUND) {
        uspi_error_set(&lines->problem, status, "%s: has no debug information%s%s", image->path,
                       why.text[0] != '\0' ? "; looked for beside it: " : "", why.text);
    }
    return status;
}

/* The debug map of an image that has neither a dSYM nor debug information of its own. */
static int open_debug_map(struct uspi_lines *lines) {
    const struct usp_image *image = lines->image;
    struct uspi_macho macho;
    if ((image->flags & USP_IMAGE_MACHO) == 0 || lines->image_file == NULL) return USP_ERROR_NOT_FOUND;
    int status =
        uspi_fat_pick(uspi_file_bytes(lines->image_file), uspi_macho_image_uuid(image), image->arch, &macho, NULL);
    if (status == USP_OK) status = uspi_macho_symbols(&macho, &lines->map_symbols, NULL);
    if (status == USP_OK)
        status = uspi_debug_map_read(&lines->debug_map, &lines->map_symbols, uspi_macho_address_mask(image->arch));
    if (status == USP_ERROR_NO_MEMORY) return status;
    if (status != USP_OK || lines->debug_map.function_count == 0) return USP_ERROR_NOT_FOUND;
    lines->objects = calloc(lines->debug_map.object_count, sizeof *lines->objects);
    lines->file_path = strdup(uspi_file_path(lines->image_file));
    return lines->objects != NULL && lines->file_path != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* Go's function table, of a program that has no debug information. */
static int open_go(struct uspi_lines *lines) {
    const struct usp_image *image = lines->image;
    const bool is_macho = (image->flags & USP_IMAGE_MACHO) != 0;
    struct uspi_go_table table;
    usp_addr header;
    if (lines->image_file == NULL || image->section != 0) return USP_ERROR_NOT_FOUND;
    int status = uspi_go_table_in(uspi_file_bytes(lines->image_file), is_macho ? uspi_macho_image_uuid(image) : NULL,
                                  image->arch, &table, &header);
    if (status == USP_OK) status = uspi_go_source_create(&table, header, &lines->source);
    if (status != USP_OK) return status;
    free(lines->file_path);
    lines->file_path = strdup(uspi_file_path(lines->image_file));
    if (is_macho) lines->moved = image->load_address - image->slide - header;
    return lines->file_path != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* A file that has the image's symbols instead of its code. */
static int open_symbol_file(struct uspi_lines *lines, const struct uspi_file *file) {
    const struct usp_image *image = lines->image;
    int status = uspi_symfile_source_open(uspi_file_bytes(file), &lines->source);
    if (status == USP_ERROR_NOT_FOUND) {
        uspi_error_set(&lines->problem, status, "%s: has no lines", uspi_file_path(file));
    }
    if (status != USP_OK) return status;
    lines->file_path = strdup(uspi_file_path(file));
    if (lines->source->is_relative || (image->flags & USP_IMAGE_MACHO) != 0)
        lines->moved = image->load_address - image->slide - lines->source->header;
    return lines->file_path != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

/* What is not an index. */
static int open_source(struct uspi_lines *lines) {
    if (lines->image_file != NULL && uspi_symbol_file_is(uspi_file_bytes(lines->image_file)))
        return open_symbol_file(lines, lines->image_file);
    int status = find_dwarf(lines, lines->image, lines->places, lines->image_file);
    if (status != USP_ERROR_NOT_FOUND) return status;
    int other = open_debug_map(lines);
    if (other == USP_ERROR_NOT_FOUND) other = open_go(lines);
    if (other == USP_OK) lines->problem.status = USP_OK;
    return other;
}

/* Which unit claims which code. */
static int make_map(struct uspi_lines *lines) {
    struct uspi_map_range *ranges = NULL;
    size_t count, size, units = lines->source->units;
    lines->slots = calloc(units + 1, sizeof *lines->slots);
    lines->unclaimed = calloc(units + 1, sizeof *lines->unclaimed);
    lines->reader = lines->source->create_reader();
    if (lines->slots == NULL || lines->unclaimed == NULL || lines->reader == NULL) return USP_ERROR_NO_MEMORY;
    if (!lines->source->claims(lines->source, &ranges, &count, lines->unclaimed)) return USP_ERROR_NO_MEMORY;
    int status = uspi_map_write(ranges, count, &lines->map_bytes, &size);
    free(ranges);
    if (status == USP_OK) status = uspi_map_open(&lines->map, lines->map_bytes, size, NULL);
    bool has_unclaimed = false;
    for (size_t i = 0; i < units; i++) has_unclaimed = has_unclaimed || lines->unclaimed[i];
    if (!has_unclaimed) {
        free(lines->unclaimed);
        lines->unclaimed = NULL;
    }
    return status;
}

/* The index of the image, if there is one. USP_OK, or why it is not used. */
static int open_index(struct uspi_lines *lines) {
    const struct usp_image *image = lines->image;
    int status = uspi_index_file_find(lines->places->index_store, image, &lines->index, &lines->problem);
    if (status != USP_OK) return status;
    const struct uspi_index_file *index = lines->index;
    if (index->blocks == 0 && lines->image_file != NULL) {
        /* It was made of a stripped file; what is at hand may have lines, and has the names. */
        uspi_index_file_close(lines->index);
        lines->index = NULL;
        return USP_ERROR_NOT_FOUND;
    }
    lines->map = index->map;
    if ((index->flags & (USPI_INDEX_MACHO | USPI_INDEX_RELATIVE)) != 0)
        lines->moved = image->load_address - image->slide - index->header;
    /* Pages that are never touched cost nothing. */
    if (index->strings.count < SIZE_MAX / sizeof *lines->kept) {
        lines->kept = calloc((size_t)index->strings.count + 1, sizeof *lines->kept);
    }
    lines->file_path = strdup(uspi_file_path(index->file));
    return lines->kept != NULL && lines->file_path != NULL ? USP_OK : USP_ERROR_NO_MEMORY;
}

static int open_any(struct uspi_lines *lines, bool may_be_indexed) {
    if (lines->lock == NULL) return USP_ERROR_NO_MEMORY;
    if (may_be_indexed && lines->places->index_store != NULL) {
        int status = open_index(lines);
        if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
        /* An index that is not there is nothing to complain about. */
        if (status == USP_ERROR_NOT_FOUND) lines->problem.status = USP_OK;
    }
    const struct uspi_error index_problem = lines->problem;
    lines->has_damaged_index = index_problem.status == USP_ERROR_FORMAT;
    int status = open_source(lines);
    if (index_problem.status != USP_OK) lines->problem = index_problem;
    return status == USP_OK && lines->objects == NULL ? make_map(lines) : status;
}

static struct uspi_lines *open_lines(const struct usp_image *image, const struct uspi_places *places,
                                     const struct uspi_file *file, struct uspi_cache *cache, bool may_be_indexed) {
    struct uspi_lines *lines = calloc(1, sizeof *lines);
    if (lines == NULL) return NULL;
    lines->cache = cache;
    lines->image = image;
    lines->places = places;
    lines->image_file = file;
    lines->lock = uspi_lock_create();
    lines->status = open_any(lines, may_be_indexed);
    if (lines->status != USP_ERROR_NO_MEMORY) return lines;
    uspi_lines_close(lines);
    return NULL;
}

struct uspi_lines *uspi_lines_open(const struct usp_image *image, const struct uspi_places *places,
                                   const struct uspi_file *file, struct uspi_cache *cache) {
    return open_lines(image, places, file, cache, true);
}

struct uspi_lines *uspi_lines_open_without_index(const struct usp_image *image, const struct uspi_places *places,
                                                 const struct uspi_file *file, struct uspi_cache *cache) {
    return open_lines(image, places, file, cache, false);
}

struct uspi_line_source *uspi_lines_source(const struct uspi_lines *lines) { return lines->source; }

const struct uspi_index_file *uspi_lines_index(const struct uspi_lines *lines) { return lines->index; }

uint64_t uspi_lines_moved(const struct uspi_lines *lines) { return lines->moved; }

bool uspi_lines_are_indexed(const struct uspi_lines *lines) { return lines->index != NULL; }

/* Whether object files were looked for, and none was found. Under the lock. */
static bool lacks_objects(const struct uspi_lines *lines) {
    bool any_tried = false;
    for (size_t i = 0; lines->objects != NULL && i < lines->debug_map.object_count; i++) {
        if (lines->objects[i].lines != NULL) return false;
        any_tried = any_tried || lines->objects[i].was_tried;
    }
    return any_tried;
}

int uspi_lines_explain(const struct uspi_lines *lines, char *text, size_t size) {
    const struct uspi_lines *fallback = atomic_load_explicit(&lines->fallback, memory_order_acquire);
    if (fallback != NULL) {
        char rest[USPI_ERROR_TEXT];
        (void)uspi_lines_explain(fallback, rest, sizeof rest);
        snprintf(text, size, "%s: the index is damaged; %s", lines->file_path, rest);
        return USP_ERROR_FORMAT;
    }
    uspi_lock_take(lines->lock);
    int status = lines->has_damaged_index ? USP_ERROR_FORMAT : lines->status;
    if (lines->status != USP_OK) {
        snprintf(text, size, "%s", lines->problem.text);
    } else if (lacks_objects(lines)) {
        snprintf(text, size, "%s: has no dSYM, and its object files cannot be used: %s", lines->file_path,
                 lines->problem.text);
        status = USP_ERROR_NOT_FOUND;
    } else if (lines->problem.status != USP_OK) {
        snprintf(text, size, "%s: %s", lines->file_path, lines->problem.text);
    } else {
        const char *what = lines->index != NULL     ? "index"
                           : lines->objects != NULL ? "debug information of the object files of"
                                                    : lines->source->what;
        const bool needs_of = lines->index == NULL && lines->objects == NULL;
        snprintf(text, size, "%s%s %s", what, needs_of ? " of" : "", lines->file_path);
    }
    uspi_lock_give(lines->lock);
    return status;
}

/* ---- blocks ---- */

static void destroy_block(struct uspi_cached *cached) { free(cached); }

/* Makes a unit's block. NULL when memory lacks. The lock is held. */
static struct cached_block *make_block(struct uspi_lines *lines, size_t unit) {
    const uint8_t *bytes;
    size_t size;
    struct uspi_error why = {0};
    int status = lines->source->build(lines->source, lines->reader, unit, &bytes, &size, &why);
    if (status == USP_ERROR_NO_MEMORY) return NULL;
    if (status != USP_OK) size = 0;
    if (why.status != USP_OK && lines->problem.status == USP_OK) lines->problem = why;
    struct cached_block *made = malloc(sizeof *made + size);
    if (made == NULL) return NULL;
    memset(made, 0, sizeof *made);
    made->cached = (struct uspi_cached){.destroy = destroy_block, .memory = sizeof *made + size, .is_part = true};
    if (size > 0) {
        memcpy(made->bytes, bytes, size);
        if (uspi_block_open(&made->block, made->bytes, size, NULL) != USP_OK) made->block.entries = 0;
    }
    return made;
}

/* A unit's block, which stays until the caller signs out. NULL when memory lacks. */
static const struct cached_block *get_block(struct uspi_lines *lines, size_t unit, bool is_locked) {
    struct uspi_cache_slot *slot = &lines->slots[unit];
    struct cached_block *block = (struct cached_block *)uspi_cache_get(lines->cache, slot);
    if (block != NULL) return block;
    if (!is_locked) uspi_lock_take(lines->lock);
    block = (struct cached_block *)uspi_cache_get(lines->cache, slot);
    if (block == NULL) {
        block = make_block(lines, unit);
        if (block != NULL) uspi_cache_put(lines->cache, slot, &block->cached);
    }
    if (!is_locked) uspi_lock_give(lines->lock);
    return block;
}

struct adding {
    struct uspi_map_range *ranges;
    size_t count, room;
    uint32_t unit;
};

/* The shape of uspi_block_visitor: what a block knows something of. */
static int add_range(void *context, const struct uspi_block_place *place) {
    struct adding *adding = context;
    if (place->node == 0 && place->file == 0) return 0;
    if (adding->count > 0 && adding->ranges[adding->count - 1].block == adding->unit &&
        adding->ranges[adding->count - 1].high == place->start) {
        adding->ranges[adding->count - 1].high = place->end;
        return 0;
    }
    if (!uspi_room_for(&adding->ranges, &adding->room, adding->count, 1, sizeof *adding->ranges)) return 1;
    adding->ranges[adding->count++] = (struct uspi_map_range){place->start, place->end, adding->unit};
    return 0;
}

/* The code of the units that claim none: their blocks are made once. NULL when memory lacks. */
static const struct found_code *find_unclaimed(struct uspi_lines *lines) {
    struct found_code *found = atomic_load_explicit(&lines->found, memory_order_acquire);
    if (found != NULL) return found;
    uspi_lock_take(lines->lock);
    found = atomic_load_explicit(&lines->found, memory_order_relaxed);
    if (found == NULL) {
        struct adding adding = {0};
        bool is_whole = true;
        const size_t units = lines->source->units;
        for (size_t i = 0; i < units && is_whole; i++) {
            if (!lines->unclaimed[i]) continue;
            const struct cached_block *block = get_block(lines, i, true);
            adding.unit = (uint32_t)i;
            is_whole = block != NULL && uspi_block_visit(&block->block, add_range, &adding) != 1;
        }
        size_t size;
        found = is_whole ? calloc(1, sizeof *found) : NULL;
        if (found != NULL && (uspi_map_write(adding.ranges, adding.count, &found->bytes, &size) != USP_OK ||
                              uspi_map_open(&found->map, found->bytes, size, NULL) != USP_OK)) {
            free(found);
            found = NULL;
        }
        free(adding.ranges);
        atomic_store_explicit(&lines->found, found, memory_order_release);
    }
    uspi_lock_give(lines->lock);
    return found;
}

/* ---- answers ---- */

/* Whether an answer is the better one: of a function rather than of rows alone; of the smaller range; of the lower number. */
static bool is_better(const struct uspi_lines_answer *a, const struct uspi_lines_answer *b) {
    if ((a->place.node != 0) != (b->place.node != 0)) return a->place.node != 0;
    if (a->place.node != 0 && a->part.size != b->part.size) return a->part.size < b->part.size;
    return a->number < b->number;
}

/* What one block says. 1, 0 when it says nothing, or a status. */
static int ask_block(const struct uspi_lines *lines, const struct uspi_block *block, uint32_t number, uint64_t address,
                     struct uspi_lines_answer *answer) {
    if (block->entries == 0) return 0;
    answer->lines = lines;
    answer->moved = lines->moved;
    answer->block = *block;
    answer->number = number;
    int status = uspi_block_find(block, address, &answer->place);
    if (status == USP_ERROR_NOT_FOUND) return 0;
    if (status != USP_OK) return status;
    if (answer->place.node == 0 && answer->place.file == 0) return 0;
    answer->part.size = 0;
    if (answer->place.node == 0) return 1;
    status = uspi_block_find_part(block, address, &answer->part);
    if (status == USP_ERROR_NOT_FOUND) answer->part.size = 0;
    return status == USP_OK || status == USP_ERROR_NOT_FOUND ? 1 : status;
}

static int ask_blocks(struct uspi_lines *lines, const struct uspi_map *map, uint64_t address,
                      struct uspi_lines_answer answers[USPI_MAP_BLOCKS]) {
    uint32_t numbers[USPI_MAP_BLOCKS];
    int count = 0, found = uspi_map_find(map, address, numbers);
    if (found < 0) return found;
    for (int i = 0; i < found; i++) {
        struct uspi_block indexed;
        const struct uspi_block *asked = &indexed;
        if (lines->index != NULL) {
            int status = uspi_index_block(lines->index, numbers[i], &indexed);
            if (status != USP_OK) return status;
        } else {
            const struct cached_block *block = get_block(lines, numbers[i], false);
            if (block == NULL) return USP_ERROR_NO_MEMORY;
            asked = &block->block;
        }
        int answered = ask_block(lines, asked, numbers[i], address, &answers[count]);
        if (answered < 0) return answered;
        count += answered;
    }
    return count;
}

/* Leaves the best in front, and behind it those whose function has the very same code. */
static int choose(struct uspi_lines_answer *answers, int count) {
    int best = 0, kept = 1;
    for (int i = 1; i < count; i++) {
        if (is_better(&answers[i], &answers[best])) best = i;
    }
    if (best != 0) {
        const struct uspi_lines_answer first = answers[0];
        answers[0] = answers[best];
        answers[best] = first;
    }
    for (int i = 1; i < count; i++) {
        const bool is_same = answers[i].part.size != 0 && answers[i].part.start == answers[0].part.start &&
                             answers[i].part.size == answers[0].part.size;
        if (is_same) answers[kept++] = answers[i];
    }
    return kept;
}

/* ---- object files ---- */

/* Longer than any path that a linker writes. */
#define OBJECT_PATH_MAX 4096

/* Opens an object file of the debug map and finds its lines. Under the lock; called once for each. */
static int open_object(struct uspi_lines *lines, uint32_t number) {
    const struct uspi_mapped_object *mapped = &lines->debug_map.objects[number];
    struct object *object = &lines->objects[number];
    struct uspi_search search = lines->places->search;
    struct uspi_error why = {0};
    struct uspi_macho macho;
    char path[OBJECT_PATH_MAX];
    object->was_tried = true;
    /* These are the image's own, and no object's. */
    search.file = NULL;
    search.as_named = true;
    int status = uspi_bytes_string(lines->map_symbols.strings, mapped->path, path, sizeof path, "object file", &why);
    if (status == USP_OK) {
        status = uspi_object_file_open(&search, path, mapped->modified, lines->image->arch, &object->file, &why);
    }
    if (status == USP_OK) {
        status = uspi_fat_pick(uspi_file_bytes(object->file), NULL, lines->image->arch, &macho, &why);
    }
    if (status == USP_OK) status = uspi_macho_symbols(&macho, &object->symbols, &why);
    if (status == USP_OK) {
        object->image = (struct usp_image){
            .arch = lines->image->arch, .flags = USP_IMAGE_MACHO, .path = uspi_file_path(object->file)};
        object->lines = uspi_lines_open_without_index(&object->image, lines->places, object->file, lines->cache);
        if (object->lines == NULL) status = USP_ERROR_NO_MEMORY;
    }
    /* A path that was read in several ways was not found in the first. */
    if (status == USP_OK) why = object->lines->problem;
    if (why.status != USP_OK && lines->problem.status == USP_OK) lines->problem = why;
    return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
}

/* By the debug map: asks the object file that the function around the address came from. */
static int find_in_object(struct uspi_lines *lines, uint64_t address,
                          struct uspi_lines_answer answers[USPI_MAP_BLOCKS]) {
    const struct uspi_mapped_function *function = uspi_debug_map_find(&lines->debug_map, address);
    if (function == NULL) return 0;
    struct object *object = &lines->objects[function->object];
    usp_addr in_object;
    uspi_lock_take(lines->lock);
    int status = object->was_tried ? USP_OK : open_object(lines, function->object);
    uspi_lock_give(lines->lock);
    if (status != USP_OK) return status;
    if (object->lines == NULL) return 0;
    status = uspi_debug_map_place(&lines->map_symbols, function, &object->symbols,
                                  uspi_macho_address_mask(lines->image->arch), &in_object);
    if (status != USP_OK) return 0;
    int count = uspi_lines_find(object->lines, address - function->start + in_object, answers);
    for (int i = 0; i < count; i++) answers[i].moved += function->start - in_object;
    return count;
}

int uspi_lines_find(struct uspi_lines *lines, uint64_t address, struct uspi_lines_answer answers[USPI_MAP_BLOCKS]) {
    if (lines->status != USP_OK) return 0;
    if (lines->objects != NULL) return find_in_object(lines, address, answers);
    if (atomic_load_explicit(&lines->fallback, memory_order_acquire) != NULL)
        return uspi_lines_fall_back(lines, address, answers);
    const uint64_t moved = address - lines->moved;
    int count = ask_blocks(lines, &lines->map, moved, answers);
    if (count == USP_ERROR_FORMAT && lines->index != NULL) return uspi_lines_fall_back(lines, address, answers);
    if (count == 0 && lines->unclaimed != NULL) {
        const struct found_code *found = find_unclaimed(lines);
        if (found == NULL) return USP_ERROR_NO_MEMORY;
        count = ask_blocks(lines, &found->map, moved, answers);
    }
    return count > 1 ? choose(answers, count) : count;
}

int uspi_lines_fall_back(struct uspi_lines *lines, uint64_t address,
                         struct uspi_lines_answer answers[USPI_MAP_BLOCKS]) {
    if (lines->index == NULL) return 0;
    struct uspi_lines *fallback = atomic_load_explicit(&lines->fallback, memory_order_acquire);
    if (fallback == NULL) {
        uspi_lock_take(lines->lock);
        fallback = atomic_load_explicit(&lines->fallback, memory_order_relaxed);
        if (fallback == NULL) {
            fallback = uspi_lines_open_without_index(lines->image, lines->places, lines->image_file, lines->cache);
            atomic_store_explicit(&lines->fallback, fallback, memory_order_release);
        }
        uspi_lock_give(lines->lock);
    }
    return fallback != NULL ? uspi_lines_find(fallback, address, answers) : USP_ERROR_NO_MEMORY;
}

/* A string of an index, which is put together when it is first asked for. */
static const char *indexed_text(const struct uspi_lines *lines, uint64_t number, struct uspi_names *names) {
    if (number == 0 || number > lines->index->strings.count) return NULL;
    const char *kept = atomic_load_explicit(&lines->kept[number], memory_order_acquire);
    if (kept != NULL) return kept;
    kept = uspi_string_pool_get(&lines->index->strings, number, names);
    if (kept != NULL) atomic_store_explicit(&lines->kept[number], kept, memory_order_release);
    return kept;
}

const char *uspi_lines_text(const struct uspi_lines_answer *answer, uint64_t text, struct uspi_names *names) {
    const struct uspi_block *block = &answer->block;
    if (text == 0) return NULL;
    if (answer->lines->index != NULL) return indexed_text(answer->lines, text, names);
    const struct uspi_line_source *source = answer->lines->source;
    const struct uspi_texts *texts = source->texts(source, answer->number);
    const char *found = uspi_text_at(texts, block->bytes + block->at_text, block->text_bytes, text);
    /* What stands in the block goes with it. */
    const bool is_own = (text & ((1u << USPI_TEXT_KIND_BITS) - 1)) == USPI_TEXT_BLOCK;
    return found != NULL && is_own ? uspi_names_keep(names, found, strlen(found)) : found;
}

struct visiting {
    const struct uspi_lines *lines;
    int (*visit)(void *context, uint64_t address);
    void *context;
};

/* The shape of uspi_block_visitor. */
static int visit_place(void *context, const struct uspi_block_place *place) {
    const struct visiting *v = context;
    return v->visit(v->context, place->start + v->lines->moved);
}

int uspi_lines_visit(struct uspi_lines *lines, int (*visit)(void *context, uint64_t address), void *context) {
    struct visiting v = {lines, visit, context};
    int answer = 0;
    const uint64_t count = lines->index != NULL    ? lines->index->blocks
                           : lines->source != NULL ? lines->source->units
                                                   : 0;
    for (uint64_t i = 0; i < count && answer == 0; i++) {
        struct uspi_block indexed;
        const struct uspi_block *block = &indexed;
        const uint32_t ticket = uspi_epoch_enter(&lines->cache->readers);
        if (lines->index != NULL) {
            answer = uspi_index_block(lines->index, i, &indexed);
        } else {
            const struct cached_block *made = get_block(lines, (size_t)i, false);
            if (made == NULL) answer = USP_ERROR_NO_MEMORY;
            if (made != NULL) block = &made->block;
        }
        if (answer == 0) answer = uspi_block_visit(block, visit_place, &v);
        uspi_epoch_leave(&lines->cache->readers, ticket);
    }
    return answer;
}
