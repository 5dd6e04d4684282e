/* SPDX-License-Identifier: MIT */
/* Finds the names, lines and inlined calls of a profile's locations. See file.h. */
#include "lib/profile/file.h"

#include "lib/base/hash.h"

/* Locations that are looked up at once. */
#define BATCH 256u

/* A string or function of the file or a new one, to find it again. */
struct numbered {
    struct uspi_item item;
    uint64_t number;
};

/* The function of a source frame that was seen before. Equal strings of one build usually are at the same place. */
struct seen {
    const char *function, *directory, *file; /* function NULL: none */
    uint64_t number;
};

#define SEEN 512u

/* A location, by its place. */
struct ordered {
    uint64_t mapping, address;
    uint32_t number;
};

struct naming {
    struct usp_profile_file *file;
    struct usp_demangler *demangler;
    bool wants_lines;
    struct seen seen[SEEN];
    struct ordered *order; /* locations that are looked up, in the order of their places */
    size_t count;
    struct uspi_allowance allowance;
    struct uspi_pool strings, functions; /* of struct numbered */
    struct uspi_gathered path;           /* the path that is being put together */
};

/* ---- strings ---- */

struct string_key {
    const struct usp_profile_file *file;
    struct uspi_span text;
};

static bool is_string(const void *item, const void *key) {
    const struct string_key *wanted = key;
    return uspi_span_is(uspi_file_string(wanted->file, ((const struct numbered *)item)->number), wanted->text);
}

static uint32_t hash_text(struct uspi_span text) { return (uint32_t)uspi_hash_bytes(text.bytes, text.length); }

static bool add_number(struct uspi_pool *pool, uint32_t hash, uint64_t number) {
    const uint32_t i = uspi_pool_add(pool, hash);
    if (i == USPI_NONE) return false;
    ((struct numbered *)uspi_pool_at(pool, i))->number = number;
    return true;
}

/* Sets *number to that of a string, which is added if necessary. Returns false when memory is exhausted. */
static bool know_string(struct naming *naming, struct uspi_span text, uint64_t *number) {
    struct usp_profile_file *file = naming->file;
    const struct string_key key = {file, text};
    const uint32_t hash = hash_text(text), known = uspi_pool_find(&naming->strings, hash, is_string, &key);
    *number = 0;
    if (text.length == 0) return true;
    if (known != USPI_NONE) {
        *number = ((struct numbered *)uspi_pool_at(&naming->strings, known))->number;
        return true;
    }
    char *copy = uspi_region_take(&file->region, text.length);
    if (copy == NULL || !uspi_room_for(&file->added, &file->added_capacity, file->added_count, 1, sizeof *file->added))
        return false;
    memcpy(copy, text.bytes, text.length);
    file->added[file->added_count++] = (struct uspi_span){copy, text.length};
    *number = file->string_count + file->added_count - 1;
    return add_number(&naming->strings, hash, *number);
}

/* ---- functions ---- */

struct function_key {
    const struct usp_profile_file *file;
    const struct uspi_file_function *function;
};

static bool is_function(const void *item, const void *key) {
    const struct function_key *wanted = key;
    const struct uspi_file_function *a = uspi_file_function(wanted->file,
                                                            (uint32_t)((const struct numbered *)item)->number),
                                    *b = wanted->function;
    return a->name == b->name && a->system_name == b->system_name && a->file == b->file;
}

static uint32_t hash_function(const struct uspi_file_function *function) {
    return (uint32_t)uspi_mix(uspi_mix(function->name, function->system_name), function->file);
}

/* Sets *number to that of a function with these numbers of strings, which is added if necessary. Returns false when
 * memory is exhausted. */
static bool know_function(struct naming *naming, const struct uspi_file_function *like, uint64_t *number) {
    struct usp_profile_file *file = naming->file;
    const struct function_key key = {file, like};
    const uint32_t hash = hash_function(like), known = uspi_pool_find(&naming->functions, hash, is_function, &key);
    if (known != USPI_NONE) {
        *number = ((struct numbered *)uspi_pool_at(&naming->functions, known))->number;
        return true;
    }
    struct uspi_file_table *functions = &file->functions;
    if (functions->count >= USPI_NONE ||
        !uspi_room_for(&functions->items, &functions->capacity, functions->count, 1, functions->size))
        return false;
    *number = functions->count++;
    *uspi_file_function(file, (uint32_t)*number) = *like;
    return add_number(&naming->functions, hash, *number);
}

/* Indexes what the file has, so that it is used again. */
static bool begin(struct naming *naming) {
    struct usp_profile_file *file = naming->file;
    naming->allowance.limit = UINT64_MAX;
    if (!uspi_pool_init(&naming->strings, sizeof(struct numbered), 256, false, &naming->allowance) ||
        !uspi_pool_init(&naming->functions, sizeof(struct numbered), 256, false, &naming->allowance))
        return false;
    const uint64_t strings = file->string_count + file->added_count;
    for (uint64_t i = 0; i < strings && i < USPI_NONE; i++) {
        if (!add_number(&naming->strings, hash_text(uspi_file_string(file, i)), i)) return false;
    }
    /* Function 0 of OTLP is none, and is there. */
    const struct uspi_file_function none = {0};
    const size_t first = file->layout->function.id == 0 ? 1 : 0;
    if (first > file->functions.count) {
        struct uspi_file_table *functions = &file->functions;
        if (!uspi_room_for(&functions->items, &functions->capacity, 0, 1, functions->size)) return false;
        functions->count = 1;
        *uspi_file_function(file, 0) = none;
    }
    for (size_t i = first; i < file->functions.count; i++) {
        if (!add_number(&naming->functions, hash_function(uspi_file_function(file, (uint32_t)i)), i)) return false;
    }
    return true;
}

/* ---- answers ---- */

/* Sets the strings of a function from a source frame. `kept` (may be NULL): the function whose names stay. */
static bool describe(struct naming *naming, const struct usp_source_frame *frame, const struct uspi_file_function *kept,
                     struct uspi_file_function *function) {
    struct uspi_gathered *path = &naming->path;
    *function = kept != NULL ? *kept : (struct uspi_file_function){0};
    if (kept == NULL &&
        (!know_string(naming, uspi_span_of(usp_demangle(naming->demangler, frame->function)), &function->name) ||
         !know_string(naming, uspi_span_of(frame->function), &function->system_name)))
        return false;
    if (!naming->wants_lines || frame->file == NULL) return true;
    path->size = 0;
    const bool has_folder = frame->directory != NULL && frame->directory[0] != '\0';
    if (has_folder && (uspi_gathered_append(path, frame->directory, strlen(frame->directory)) != USP_OK ||
                       uspi_gathered_append(path, "/", 1) != USP_OK))
        return false;
    return uspi_gathered_append(path, frame->file, strlen(frame->file)) == USP_OK &&
           know_string(naming, uspi_gathered_span(path), &function->file);
}

/* Sets *number to that of the function of a source frame, which is added if necessary. Returns false when memory is
 * exhausted. */
static bool number_function(struct naming *naming, const struct usp_source_frame *frame,
                            const struct uspi_file_function *kept, uint64_t *number) {
    struct uspi_file_function function;
    const uint64_t mixed = uspi_mix((uintptr_t)frame->function, (uintptr_t)frame->file);
    struct seen *seen = &naming->seen[mixed % SEEN];
    const bool is_seen = kept == NULL && seen->function == frame->function && seen->directory == frame->directory &&
                         seen->file == frame->file;
    if (is_seen) *number = seen->number;
    if (is_seen) return true;
    if (!describe(naming, frame, kept, &function) || !know_function(naming, &function, number)) return false;
    if (kept == NULL) *seen = (struct seen){frame->function, frame->directory, frame->file, *number};
    return true;
}

static bool add_line(struct naming *naming, const struct usp_source_frame *frame,
                     const struct uspi_file_function *kept) {
    struct usp_profile_file *file = naming->file;
    uint64_t number;
    if (!number_function(naming, frame, kept, &number) || file->line_count >= USPI_NONE ||
        !uspi_room_for(&file->lines, &file->line_capacity, file->line_count, 1, sizeof *file->lines))
        return false;
    file->lines[file->line_count++] = (struct uspi_file_line){.function = number,
                                                              .line = naming->wants_lines ? frame->line : 0,
                                                              .column = naming->wants_lines ? frame->column : 0};
    return true;
}

static bool has_lines(const struct usp_profile_file *file, const struct uspi_file_location *location) {
    for (uint32_t i = 0; i < location->line_count; i++) {
        if (file->lines[location->first_line + i].line != 0) return true;
    }
    return false;
}

/* Whether what was found is better than what the file has. */
static bool is_better(const struct naming *naming, const struct uspi_file_location *location,
                      const struct usp_answer *answer) {
    if (answer->status != USP_OK || answer->count == 0) return false;
    if (!uspi_file_is_named(naming->file, location) || (answer->flags & USP_ANSWER_NAME_HOLDS) == 0) return true;
    const bool adds_lines = naming->wants_lines && (answer->count > 1 || answer->frames[0].line != 0);
    return adds_lines && !has_lines(naming->file, location);
}

/* Gives a location the lines of an answer. Returns false when memory is exhausted. */
static bool take_answer(struct naming *naming, struct uspi_file_location *location, const struct usp_answer *answer) {
    struct usp_profile_file *file = naming->file;
    struct uspi_file_mapping *mapping = uspi_file_mapping(file, (uint32_t)location->mapping);
    const bool holds = (answer->flags & USP_ANSWER_NAME_HOLDS) != 0;
    /* A copy, since functions move when one is added. */
    struct uspi_file_function given = {0};
    if (holds) {
        const struct uspi_file_line *last = &file->lines[location->first_line + location->line_count - 1];
        given = *uspi_file_function(file, (uint32_t)last->function);
    }
    const uint32_t first = naming->wants_lines ? 0 : answer->count - 1;
    const size_t first_line = file->line_count;
    for (uint32_t i = first; i < answer->count; i++) {
        const bool is_kept = holds && i + 1 == answer->count;
        if (!add_line(naming, &answer->frames[i], is_kept ? &given : NULL)) return false;
    }
    location->first_line = (uint32_t)first_line;
    location->line_count = answer->count - first;
    location->is_found = true;
    location->start = answer->offset <= location->address ? location->address - answer->offset : UINT64_MAX;
    mapping->has_names = true;
    mapping->has_lines = mapping->has_lines || has_lines(file, location);
    mapping->has_inlined = mapping->has_inlined || location->line_count > 1;
    file->found++;
    return true;
}

/* ---- places ---- */

/* Describes a location with an address and a mapping. Returns false if nothing is known of its file. */
static bool find_place(const struct usp_profile_file *file, const struct uspi_file_location *location,
                       struct usp_place *place) {
    const struct uspi_file_mapping *mapping = uspi_file_mapping(file, (uint32_t)location->mapping);
    const bool is_inside = mapping->start <= location->address && location->address < mapping->limit;
    *place = (struct usp_place){.image = "", .build_id_size = mapping->build_id_size};
    if (!mapping->is_other_id) {
        place->image = mapping->path.bytes;
        place->image_length = mapping->path.length;
    }
    memcpy(place->build_id, mapping->build_id, mapping->build_id_size);
    if (place->image_length == 0 && place->build_id_size == 0) return false;
    place->flags = USP_PLACE_EXACT | USP_PLACE_FILL;
    place->base = is_inside ? USP_PLACE_FILE : USP_PLACE_LINKED;
    place->offset = is_inside ? location->address - mapping->start + mapping->offset : location->address;
    if (is_inside) place->file_end = mapping->limit - mapping->start + mapping->offset;
    if (file->saved != NULL) {
        /* Our own profiles have images, not parts of files; callers are return addresses. */
        if (!is_inside) return false;
        place->base = USP_PLACE_LOAD;
        place->file_end = 0;
        place->offset = location->address - mapping->start;
        if (location->kind == USP_FRAME_KIND_RETURN_ADDRESS || location->kind == USP_FRAME_KIND_LINK_REGISTER)
            place->flags &= ~(uint32_t)USP_PLACE_EXACT;
    }
    if (!uspi_file_is_named(file, location)) return true;
    const struct uspi_file_line *last = &file->lines[location->first_line + location->line_count - 1];
    const struct uspi_file_function *function = uspi_file_function(file, (uint32_t)last->function);
    struct uspi_span name = uspi_file_string(file, function->system_name);
    if (name.length == 0) name = uspi_file_string(file, function->name);
    place->name = name.bytes;
    place->name_length = name.length;
    place->flags |= USP_PLACE_NAMED;
    return true;
}

static int by_place(const void *a, const void *b) {
    const struct ordered *x = a, *y = b;
    if (x->mapping != y->mapping) return x->mapping < y->mapping ? -1 : 1;
    if (x->address != y->address) return x->address < y->address ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Lists the locations in the order of their places: neighbours are in the same parts of an index. Returns false when
 * memory is exhausted. */
static bool order_locations(struct naming *naming) {
    const struct usp_profile_file *file = naming->file;
    naming->order = malloc((file->locations.count + 1) * sizeof *naming->order);
    if (naming->order == NULL) return false;
    for (size_t i = 0; i < file->locations.count; i++) {
        const struct uspi_file_location *location = uspi_file_location(file, (uint32_t)i);
        if (location->mapping == USPI_NONE || location->address == 0) continue;
        naming->order[naming->count++] = (struct ordered){location->mapping, location->address, (uint32_t)i};
    }
    if (naming->count > 0) qsort(naming->order, naming->count, sizeof *naming->order, by_place);
    return true;
}

/* Looks up a batch of locations that begins at *i. Returns USP_OK or USP_ERROR_NO_MEMORY. */
static int name_batch(struct naming *naming, struct usp_builds *builds, size_t *i) {
    struct usp_profile_file *file = naming->file;
    struct usp_place places[BATCH] = {{.image = ""}};
    struct usp_answer answers[BATCH];
    uint32_t numbers[BATCH], count = 0;
    for (; *i < naming->count && count < BATCH; ++*i) {
        const uint32_t number = naming->order[*i].number;
        if (find_place(file, uspi_file_location(file, number), &places[count])) numbers[count++] = number;
    }
    int status = usp_symbolize_places(builds, places, answers, count);
    for (uint32_t k = 0; status == USP_OK && k < count; k++) {
        struct uspi_file_location *location = uspi_file_location(file, numbers[k]);
        if (is_better(naming, location, &answers[k]) && !take_answer(naming, location, &answers[k]))
            status = USP_ERROR_NO_MEMORY;
    }
    return status;
}

int usp_profile_file_symbolicate(struct usp_profile_file *file, struct usp_builds *builds,
                                 struct usp_demangler *demangler, uint32_t flags) {
    if (file == NULL || builds == NULL || (flags & ~(uint32_t)USP_PROFILE_LINES) != 0) return USP_ERROR_ARGUMENT;
    /* Without strings the file is cut off: numbers of new ones would be those of the missing ones. */
    if (file->string_count == 0 && file->saved == NULL) return USP_OK;
    struct naming naming = {.file = file, .demangler = demangler, .wants_lines = (flags & USP_PROFILE_LINES) != 0};
    int status = begin(&naming) && order_locations(&naming) ? USP_OK : USP_ERROR_NO_MEMORY;
    for (size_t i = 0; status == USP_OK && i < naming.count;) status = name_batch(&naming, builds, &i);
    free(naming.order);
    uspi_pool_free(&naming.strings);
    uspi_pool_free(&naming.functions);
    uspi_gathered_clear(&naming.path);
    return status;
}
