/* SPDX-License-Identifier: MIT */
/* Opens a dyld shared cache: its main file, the files that this one lists, and the file with local symbols. See
 * dyld_cache_set.h. */
#include "lib/images/dyld_cache_set.h"

#include "lib/base/array.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVELOPMENT ".development"

/* A limit for the length of an image's path. */
#define PATH_MOST 1024u

/* Limits for the load commands of one image in bytes, and of all that are read to find sizes that a list lacks. */
#define COMMANDS_MAX     ((uint64_t)1 << 20)
#define ALL_COMMANDS_MAX ((uint64_t)64 << 20)

struct opening {
    struct usp_dyld_caches *set;
    struct uspi_dyld_cache *cache;
    usp_dyld_caches_note note;
    void *context;
    struct uspi_error *error;
    bool is_there; /* the set has the cache */
};

USPI_PRINTF(2, 3) static void send_note(const struct opening *opening, const char *format, ...) {
    char text[USPI_ERROR_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (opening->note != NULL) opening->note(opening->context, text);
}

static void close_file(struct uspi_dyld_file *file) {
    if (file == NULL) return;
    uspi_file_close(file->file);
    free(file);
}

void uspi_dyld_cache_free(struct uspi_dyld_cache *cache) {
    if (cache == NULL) return;
    for (uint32_t i = 0; i < cache->file_count; i++) close_file(cache->files[i]);
    free(cache->ranges);
    free(cache->members);
    free(cache->by_uuid);
    free(cache->paths);
    free(cache->path);
    free(cache);
}

/* ---- files ---- */

static int out_of_memory(const char *path, struct uspi_error *error) {
    return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", path);
}

/* Opens a file and reads its header. */
static int open_file(struct usp_dyld_caches *set, const char *path, struct uspi_dyld_file **file,
                     struct uspi_error *error) {
    struct uspi_dyld_file *made = *file = calloc(1, sizeof *made);
    if (made == NULL) return out_of_memory(path, error);
    int status = uspi_file_open_unkept(path, &made->file, error);
    if (status == USP_OK) {
        made->pages = set->pages;
        made->number = set->file_count++;
        made->source =
            (struct uspi_source){.name = uspi_file_path(made->file), .read = uspi_dyld_read_file, .context = made};
        const struct uspi_bytes bytes = {&made->source, 0, uspi_file_bytes(made->file).size};
        status = uspi_dyld_open(&made->header, bytes, error);
    }
    if (status == USP_OK) return USP_OK;
    close_file(made);
    *file = NULL;
    return status;
}

static void put_uuid(char to[33], const uint8_t uuid[16]) {
    for (size_t i = 0; i < 16; i++) snprintf(to + 2 * i, 3, "%02X", uuid[i]);
}

/* Checks a file's UUID. The file of another build has other addresses. */
static int check_uuid(const struct uspi_dyld_file *file, const uint8_t wanted[16], struct uspi_error *error) {
    char own[33], other[33];
    if (memcmp(file->header.uuid, wanted, 16) == 0) return USP_OK;
    put_uuid(own, file->header.uuid);
    put_uuid(other, wanted);
    return uspi_error_set(error, USP_ERROR_MISMATCH, "%s: belongs to another cache: UUID %s, wanted %s",
                          uspi_file_path(file->file), own, other);
}

static bool add_range(struct uspi_dyld_cache *cache, const struct uspi_dyld_range *range) {
    if (!uspi_room_for(&cache->ranges, &cache->range_capacity, cache->range_count, 1, sizeof *cache->ranges)) {
        return false;
    }
    size_t i = cache->range_count++;
    for (; i > 0 && cache->ranges[i - 1].address > range->address; i--) cache->ranges[i] = cache->ranges[i - 1];
    cache->ranges[i] = *range;
    return true;
}

/* Returns whether a range shares addresses with one that was added. */
static bool overlaps(const struct uspi_dyld_cache *cache, const struct uspi_dyld_range *range) {
    for (size_t i = 0; i < cache->range_count; i++) {
        const struct uspi_dyld_range *other = &cache->ranges[i];
        if (range->address < other->address + other->size && other->address < range->address + range->size) return true;
    }
    return false;
}

/* Whether a mapping has bytes in its file. */
static bool has_bytes(const struct uspi_dyld_mapping *mapping) {
    return (mapping->flags & USPI_DYLD_DYNAMIC) == 0 && mapping->size > 0;
}

/* Sends one note if the file lacks bytes of its mappings. */
static void check_size(const struct opening *opening, struct uspi_dyld_file *file) {
    const uint64_t size = uspi_file_bytes(file->file).size;
    uint64_t needed = 0;
    for (uint32_t i = 0; i < file->header.mapping_count; i++) {
        const struct uspi_dyld_mapping *mapping = &file->header.mappings[i];
        const uint64_t end = mapping->file_offset + mapping->size;
        if (has_bytes(mapping) && end > needed) needed = end;
    }
    file->is_cut = needed > size;
    if (!file->is_cut) return;
    send_note(opening, "%s: cut: its mappings need %" PRIu64 " bytes, the file has %" PRIu64,
              uspi_file_path(file->file), needed, size);
}

/* Adds a file's mappings, as far as the file has their bytes. */
static int add_mappings(const struct opening *opening, struct uspi_dyld_file *file, uint32_t number) {
    const uint64_t size = uspi_file_bytes(file->file).size;
    check_size(opening, file);
    for (uint32_t i = 0; i < file->header.mapping_count; i++) {
        const struct uspi_dyld_mapping *mapping = &file->header.mappings[i];
        struct uspi_dyld_range range = {mapping->address, mapping->size, mapping->file_offset, number,
                                        (uint32_t)mapping->flags};
        struct uspi_error error = {.text = ""};
        if (!has_bytes(mapping)) continue;
        if (range.file_offset > size || range.size > size - range.file_offset) {
            range.size = range.file_offset < size ? size - range.file_offset : 0;
        }
        if (range.size == 0) continue;
        if (overlaps(opening->cache, &range)) {
            send_note(opening, "%s: its mapping %u overlaps another one and is left out", uspi_file_path(file->file),
                      (unsigned)i);
            continue;
        }
        if (!add_range(opening->cache, &range)) return USP_ERROR_NO_MEMORY;
        const int status = uspi_dyld_slide(&file->header, mapping, &file->slides[i], &error);
        if (status != USP_OK && !file->is_cut) send_note(opening, "%s", error.text);
        /* Pages are decoded while they are read, so the slide information does not come through them. */
        file->slides[i].info.source = uspi_file_bytes(file->file).source;
    }
    return USP_OK;
}

/* Returns the path of a further file; the caller frees it. `length`: how much of the main file's path it begins with. */
static char *path_of(const struct uspi_dyld_cache *cache, size_t length, const char *suffix) {
    const size_t capacity = length + strlen(suffix) + 1;
    char *path = malloc(capacity);
    if (path != NULL) snprintf(path, capacity, "%.*s%s", (int)length, cache->path, suffix);
    return path;
}

/* Tries the paths that the file with a suffix and a UUID can have. A main file for development has further files
 * without that ending; its numbered ones have it, since files of the other cache may lie beside them (dyld
 * common/ProcessAtlas.cpp). */
static int try_paths(const struct opening *opening, const char *suffix, const uint8_t uuid[16],
                     struct uspi_dyld_file **file, struct uspi_error *error) {
    const struct uspi_dyld_cache *cache = opening->cache;
    const size_t all = strlen(cache->path), ending = sizeof DEVELOPMENT - 1;
    const bool is_development = all > ending && strcmp(cache->path + all - ending, DEVELOPMENT) == 0;
    struct uspi_error later = {.text = ""};
    int status = USP_ERROR_NOT_FOUND;
    for (unsigned whole = is_development ? 0 : 1; whole < 2; whole++) {
        char *path = path_of(cache, whole != 0 ? all : all - ending, suffix);
        if (path == NULL) return out_of_memory(cache->path, error);
        /* A file of another cache says more than a path where nothing is. */
        struct uspi_error *reason = status == USP_ERROR_NOT_FOUND ? error : &later;
        const int found = open_file(opening->set, path, file, reason);
        free(path);
        if (found == USP_ERROR_NO_MEMORY) return found;
        if (found == USP_OK && check_uuid(*file, uuid, reason) == USP_OK) return USP_OK;
        if (reason == error) status = found == USP_OK ? USP_ERROR_MISMATCH : found;
        close_file(*file);
        *file = NULL;
    }
    return status;
}

/* Adds the file with a suffix and a UUID, with *number its index. One that cannot be used is left out with a note.
 * status: of finding out the suffix, with *error its message. Returns USP_OK or USP_ERROR_NO_MEMORY. */
static int add_further(const struct opening *opening, int status, const char *suffix, const uint8_t uuid[16],
                       struct uspi_error *error, int32_t *number) {
    struct uspi_dyld_cache *cache = opening->cache;
    struct uspi_dyld_file *file;
    *number = -1;
    if (status == USP_OK) status = try_paths(opening, suffix, uuid, &file, error);
    if (status == USP_ERROR_NO_MEMORY) return status;
    if (status != USP_OK) {
        send_note(opening, "%s", error->text);
        cache->missing_count++;
        return USP_OK;
    }
    *number = (int32_t)cache->file_count;
    cache->files[cache->file_count++] = file;
    return USP_OK;
}

/* Opens the files that the main one lists. */
static int open_parts(const struct opening *opening) {
    struct uspi_dyld_cache *cache = opening->cache;
    const struct uspi_dyld_header *header = &cache->files[0]->header;
    struct uspi_error error = {.text = ""};
    /* Two places are for the main file and the one with local symbols. */
    const uint64_t most = USPI_DYLD_FILES - 2, count = header->files.count < most ? header->files.count : most;
    if (count < header->files.count) {
        (void)uspi_bytes_error(&error, header->bytes, header->files.offset, USP_ERROR_FORMAT,
                               "%" PRIu64 " further files; %" PRIu64 " are used", header->files.count, count);
        send_note(opening, "%s", error.text);
    }
    for (uint64_t i = 0; i < count; i++) {
        struct uspi_dyld_part part;
        int32_t number;
        int status = uspi_dyld_part(header, i, &part, &error);
        status = add_further(opening, status, part.suffix, part.uuid, &error, &number);
        if (status == USP_OK && number >= 0) status = add_mappings(opening, cache->files[number], (uint32_t)number);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

/* Finds the local symbols: in a file of their own, which is never mapped, or in the main file. */
static int open_symbols(const struct opening *opening) {
    struct uspi_dyld_cache *cache = opening->cache;
    const struct uspi_dyld_header *header = &cache->files[0]->header;
    struct uspi_error error = {.text = ""};
    int32_t number = -1;
    int status = USP_OK;
    if (uspi_dyld_is_uuid(header->symbols_uuid)) {
        status = add_further(opening, USP_OK, ".symbols", header->symbols_uuid, &error, &number);
    }
    cache->symbols = number < 0 && header->locals_offset != 0 ? 0 : number;
    return status;
}

/* ---- images ---- */

static int by_address(const void *a, const void *b) {
    const struct uspi_dyld_member *x = a, *y = b;
    if (x->address != y->address) return x->address < y->address ? -1 : 1;
    if (x->is_stubs != y->is_stubs) return x->is_stubs ? 1 : -1;
    /* Of aliases the first in the list stays; the paths lie in the list's order. */
    return (x->path > y->path) - (x->path < y->path);
}

int uspi_dyld_open_member(const struct uspi_dyld_cache *cache, const struct uspi_dyld_member *member,
                          struct uspi_macho *macho, struct uspi_error *error) {
    const struct uspi_bytes there = uspi_bytes_at(&cache->source, member->address);
    int status = uspi_macho_open(macho, there, error);
    if (status != USP_OK || macho->commands.size <= COMMANDS_MAX) return status;
    return uspi_bytes_error(error, there, 0, USP_ERROR_FORMAT, "%" PRIu64 " bytes of load commands",
                            macho->commands.size);
}

/* Reads what the list of an old cache lacks from the image itself. *read: how many bytes of load commands were read. */
static void read_image(const struct uspi_dyld_cache *cache, struct uspi_dyld_member *member, uint64_t *read) {
    struct uspi_macho macho;
    struct uspi_macho_extent extent;
    if (*read > ALL_COMMANDS_MAX || uspi_dyld_open_member(cache, member, &macho, NULL) != USP_OK) return;
    *read += macho.commands.size;
    if (uspi_macho_uuid(&macho, member->uuid, NULL) != USP_OK) memset(member->uuid, 0, sizeof member->uuid);
    if (uspi_macho_extent(&macho, &extent, NULL) != USP_OK || extent.text_high < member->address) return;
    member->text_size = extent.text_high - member->address;
}

/* Reads entry i of the list, and its path. *used: how much of cache->paths is in use. */
static int read_member(const struct uspi_dyld_cache *cache, uint64_t i, size_t *used, struct uspi_dyld_member *member,
                       struct uspi_error *error) {
    const struct uspi_dyld_header *header = &cache->files[0]->header;
    struct uspi_dyld_image image;
    int status = uspi_dyld_image(header, i, &image, error);
    if (status != USP_OK) return status;
    char *path = cache->paths + *used;
    status = uspi_bytes_string(header->bytes, image.path, path, PATH_MOST, "path of an image", error);
    if (status != USP_OK && status != USP_ERROR_FULL) return status;
    *used += strlen(path) + 1;
    *member = (struct uspi_dyld_member){.address = image.address, .text_size = image.text_size, .path = path};
    memcpy(member->uuid, image.uuid, sizeof member->uuid);
    return USP_OK;
}

/* A limit for the number of branch pools; caches of iOS 10 have fewer than 20. */
#define POOLS_MAX 256u

/* The maximum size of a branch pool in bytes; a branch reaches 128 MB. */
#define POOL_MAX ((uint64_t)1 << 20)

/* Maximum size of all ranges of stubs, which are searched in steps of an instruction. A stub has 12 or 16 bytes, so these
 * would be 16 million. */
#define STUBS_MAX ((uint64_t)256 << 20)

/* Adds a range of stubs. Its UUID is that of its file with its number, since it has none of its own. */
static void add_stubs(struct uspi_dyld_cache *cache, usp_addr address, uint64_t size, const uint8_t uuid[16]) {
    const uint64_t left = STUBS_MAX - cache->stubs_size;
    if (size > left) size = left;
    if (size == 0) return;
    struct uspi_dyld_member *member = &cache->members[cache->member_count++];
    *member = (struct uspi_dyld_member){.address = address, .text_size = size, .path = "stubs", .is_stubs = true};
    cache->stubs_size += size;
    memcpy(member->uuid, uuid, sizeof member->uuid);
    member->uuid[15] ^= (uint8_t)++cache->stubs_count;
}

/* Adds the mappings of stubs, and pools of branch islands, which end where the next image begins. */
static void add_all_stubs(struct uspi_dyld_cache *cache) {
    const struct uspi_dyld_header *header = &cache->files[0]->header;
    for (size_t i = 0; i < cache->range_count; i++) {
        const struct uspi_dyld_range *range = &cache->ranges[i];
        if ((range->flags & USPI_DYLD_STUBS) == 0) continue;
        add_stubs(cache, range->address, range->size, cache->files[range->file]->header.uuid);
    }
    for (uint64_t i = 0; i < header->branch_pools.count && i < POOLS_MAX; i++) {
        uint64_t address;
        if (uspi_bytes_load(header->bytes, header->branch_pools.offset + 8 * i, 8, &address, "branch pool", NULL) !=
            USP_OK)
            return;
        const uint64_t size = uspi_dyld_extent(cache, address, POOL_MAX);
        if (size > 0) add_stubs(cache, address, size, header->uuid);
    }
}

/* Drops aliases, and cuts images where the next one begins. */
static void tidy(struct uspi_dyld_cache *cache) {
    uint64_t read = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < cache->member_count; i++) {
        if (kept > 0 && cache->members[kept - 1].address == cache->members[i].address) {
            cache->stubs_count -= cache->members[i].is_stubs;
            continue;
        }
        cache->members[kept++] = cache->members[i];
    }
    cache->member_count = kept;
    for (uint32_t i = 0; i < kept; i++) {
        struct uspi_dyld_member *member = &cache->members[i];
        if (member->text_size == 0) read_image(cache, member, &read);
        const uint64_t most = (i + 1 < kept ? cache->members[i + 1].address : UINT64_MAX) - member->address;
        if (member->text_size > most) member->text_size = most;
    }
}

static int read_members(const struct opening *opening) {
    struct uspi_dyld_cache *cache = opening->cache;
    const uint64_t count = uspi_dyld_image_count(&cache->files[0]->header);
    size_t used = 0;
    if (count == 0 || count > USPI_DYLD_IMAGES) {
        return uspi_error_set(opening->error, USP_ERROR_FORMAT, "%s: %s", cache->path,
                              count == 0 ? "a part of a cache, or a cache without images: give the main file"
                                         : "too many images");
    }
    const size_t all = (size_t)count + cache->range_count + POOLS_MAX;
    cache->members = calloc(all, sizeof *cache->members);
    cache->by_uuid = calloc(all, sizeof(const struct uspi_dyld_member *));
    /* Most of the room for paths is never touched. */
    cache->paths = malloc((size_t)count * PATH_MOST);
    if (cache->members == NULL || cache->by_uuid == NULL || cache->paths == NULL) {
        return out_of_memory(cache->path, opening->error);
    }
    for (uint64_t i = 0; i < count; i++) {
        int status = read_member(cache, i, &used, &cache->members[cache->member_count], opening->error);
        if (status != USP_OK) return status;
        cache->member_count++;
    }
    add_all_stubs(cache);
    qsort(cache->members, cache->member_count, sizeof *cache->members, by_address);
    tidy(cache);
    return USP_OK;
}

static int by_uuid(const void *a, const void *b) {
    const struct uspi_dyld_member *const *x = a, *const *y = b;
    return memcmp((*x)->uuid, (*y)->uuid, sizeof(*x)->uuid);
}

/* Names the file with local symbols if it lacks some. How large a symbol is, the images tell. */
static void check_symbols(const struct opening *opening) {
    const struct uspi_dyld_cache *cache = opening->cache;
    struct uspi_error error = {.text = ""};
    if (cache->symbols < 0 || cache->files[cache->symbols]->is_cut) return;
    const struct uspi_dyld_header *header = &cache->files[cache->symbols]->header;
    if (uspi_dyld_check_locals(header, cache->wide, &error) != USP_OK) send_note(opening, "%s", error.text);
}

/* The magic does not tell the processor of every cache; the images do. */
static void find_processor(struct uspi_dyld_cache *cache) {
    for (uint32_t i = 0; i < cache->member_count && cache->arch == USP_ARCH_NONE; i++) {
        struct uspi_macho macho;
        if (uspi_dyld_open_member(cache, &cache->members[i], &macho, NULL) != USP_OK) continue;
        cache->arch = macho.arch;
        cache->variant = macho.variant;
        cache->wide = macho.wide;
    }
}

/* ---- Objective-C ---- */

/* From dyld common/DyldSharedCache.h: ObjCOptimizationHeader.relativeMethodSelectorBaseAddressOffset. */
#define SELECTOR_BASE 48

/* From dyld include/objc-shared-cache.h: objc_opt_t, versions 15 and 16 (iOS 15). */
#define LIBOBJC           "/usr/lib/libobjc.A.dylib"
#define OPTIONS_SECTION   "__objc_opt_ro"
#define OLD_SELECTOR_BASE 40

/* Finds the address of objc_opt_t in an older cache's libobjc; 0: there is none. Caches of DriverKit have no libobjc. */
static usp_addr find_old_options(const struct uspi_dyld_cache *cache) {
    struct uspi_macho macho;
    struct uspi_macho_section section;
    uint8_t raw[4];
    for (uint32_t i = 0; i < cache->member_count; i++) {
        if (strcmp(cache->members[i].path, LIBOBJC) != 0) continue;
        if (uspi_dyld_open_member(cache, &cache->members[i], &macho, NULL) != USP_OK) return 0;
        if (uspi_macho_find_section(&macho, OPTIONS_SECTION, &section, NULL) != USP_OK) return 0;
        if (uspi_dyld_read((void *)(uintptr_t)cache, section.address, raw, sizeof raw) != USP_OK) return 0;
        const uint32_t version = uspi_le32(raw);
        return version == 15 || version == 16 ? section.address : 0;
    }
    return 0;
}

/* Finds the address from which names in relative method lists count. */
static void find_selectors(struct uspi_dyld_cache *cache) {
    const uint64_t options = cache->files[0]->header.objc_options;
    const usp_addr old = options == 0 ? find_old_options(cache) : 0;
    const usp_addr at = options != 0 ? cache->base + options + SELECTOR_BASE : old + OLD_SELECTOR_BASE;
    uint8_t raw[8];
    if (options == 0 && old == 0) return;
    if (uspi_dyld_read(cache, at, raw, sizeof raw) != USP_OK || uspi_le64(raw) == 0) return;
    cache->selectors = (options != 0 ? cache->base : old) + uspi_le64(raw);
}

/* ---- opening ---- */

bool uspi_dyld_is_uuid(const uint8_t uuid[16]) {
    static const uint8_t none[16];
    return memcmp(uuid, none, sizeof none) != 0;
}

const struct uspi_dyld_cache *uspi_dyld_cache_of(const struct usp_dyld_caches *caches, const uint8_t uuid[16]) {
    if (!uspi_dyld_is_uuid(uuid)) return NULL;
    for (size_t i = 0; i < caches->count; i++) {
        if (memcmp(caches->caches[i]->files[0]->header.uuid, uuid, 16) == 0) return caches->caches[i];
    }
    return NULL;
}

static int open_all(struct opening *opening) {
    struct uspi_dyld_cache *cache = opening->cache;
    int status = open_file(opening->set, cache->path, &cache->files[0], opening->error);
    if (status != USP_OK) return status;
    cache->file_count = 1;
    const struct uspi_dyld_header *header = &cache->files[0]->header;
    opening->is_there = uspi_dyld_cache_of(opening->set, header->uuid) != NULL;
    if (opening->is_there) return USP_OK;
    if (header->mapping_count == 0) {
        return uspi_error_set(opening->error, USP_ERROR_FORMAT, "%s: it maps nothing", cache->path);
    }
    cache->base = header->mappings[0].address;
    cache->source = (struct uspi_source){.name = cache->path, .read = uspi_dyld_read, .context = cache, .memory = true};
    status = add_mappings(opening, cache->files[0], 0);
    if (status == USP_OK) status = open_parts(opening);
    if (status == USP_OK) status = open_symbols(opening);
    if (status != USP_OK) return out_of_memory(cache->path, opening->error);
    for (size_t i = 0; i < cache->range_count; i++) {
        const usp_addr end = cache->ranges[i].address + cache->ranges[i].size;
        if (end > cache->end) cache->end = end;
    }
    status = read_members(opening);
    if (status != USP_OK) return status;
    for (uint32_t i = 0; i < cache->member_count; i++) cache->by_uuid[i] = &cache->members[i];
    qsort(cache->by_uuid, cache->member_count, sizeof(const struct uspi_dyld_member *), by_uuid);
    find_processor(cache);
    check_symbols(opening);
    find_selectors(cache);
    return USP_OK;
}

int uspi_dyld_cache_open(struct usp_dyld_caches *caches, const char *path, usp_dyld_caches_note note, void *context,
                         struct uspi_dyld_cache **cache, struct uspi_error *error) {
    struct opening opening = {.set = caches, .note = note, .context = context, .error = error};
    struct uspi_dyld_cache *made = opening.cache = calloc(1, sizeof *made);
    *cache = NULL;
    if (made == NULL) return out_of_memory(path, error);
    made->path = strdup(path);
    made->symbols = -1;
    int status = made->path != NULL ? open_all(&opening) : out_of_memory(path, error);
    if (status != USP_OK || opening.is_there) {
        uspi_dyld_cache_free(made);
        return status;
    }
    *cache = made;
    return USP_OK;
}
