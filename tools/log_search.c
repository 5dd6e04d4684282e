/* SPDX-License-Identifier: MIT */
/* Implements log_search.h. */
#define _GNU_SOURCE 1 /* for realpath */
#include "tools/log_search.h"

#include "lib/base/array.h"
#include "lib/base/bisect.h"
#include "tools/command.h"
#include "tools/fetch.h"
#include "tools/layouts.h"
#include "tools/progress.h"
#include "tools/search_index.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct log_search {
    struct log_file *files; /* sorted by build */
    size_t count, capacity;
    const struct log_file **by_name;
    char **folders; /* folders still to be searched */
    size_t folder_count, folder_room;
    const char *const *places; /* as given */
    size_t place_count;
    const char *cache;          /* NULL: none */
    bool is_walked;             /* `files` is complete */
    struct search_index *index; /* of the folder that is searched now; NULL: none */
    struct progress progress;
    size_t seen;   /* files looked at */
    char **faults; /* what is wrong with symbol files: a sentence each, owned */
    size_t fault_count, fault_capacity;
    struct kept_file *kept; /* files found at a layout's paths */
};

struct kept_file {
    struct kept_file *next;
    struct log_file file;
};

/* Returns a file's name. Separate debug information has the name of its file, with an ending. */
static struct uspi_span name_of(const struct log_file *file) {
    static const struct uspi_span ending = USPI_SPAN_INIT(".debug");
    struct uspi_span name = uspi_span_file_name(uspi_span_of(file->path));
    if (uspi_span_ends(name, ending) && name.length > ending.length) name.length -= ending.length;
    return name;
}

/* ---- folders ---- */

static int no_memory(void) {
    complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
    return EXIT_FAILED;
}

static bool add_image(struct log_search *search, const char *path, uint64_t size, const struct usp_image *image) {
    if (search->count == search->capacity) {
        size_t capacity = search->capacity * 2 + 16;
        struct log_file *grown = realloc(search->files, capacity * sizeof *grown);
        if (grown == NULL) return false;
        search->files = grown;
        search->capacity = capacity;
    }
    struct log_file *file = &search->files[search->count];
    *file = (struct log_file){.path = strdup(path), .size = size, .id_size = image->build_id_size};
    if (file->path == NULL) return false;
    file->is_symbols = strstr(path, ".dSYM/") != NULL;
    memcpy(file->id, image->build_id, image->build_id_size);
    search->count++;
    return true;
}

/* Remembers what is wrong with a symbol file. It is printed only if a build is not found, and lost when memory is
 * exhausted. */
static void add_fault(struct log_search *search, const char *path, const char *what) {
    const size_t size = strlen(path) + strlen(what) + 3;
    if (!uspi_room_for(&search->faults, &search->fault_capacity, search->fault_count, 1, sizeof *search->faults))
        return;
    char *fault = malloc(size);
    if (fault == NULL) return;
    snprintf(fault, size, "%s%s%s", path, what[0] != '\0' ? ": " : "", what);
    search->faults[search->fault_count++] = fault;
}

/* Whether a file has symbols, by its path. Damage is reported only in such files. */
static bool is_symbol_file(const char *path) { return strstr(path, ".dSYM/Contents/Resources/DWARF/") != NULL; }

/* The ids of a file's images, as the index of the folder keeps them. */
struct gathered_ids {
    uint8_t bytes[64 * (1 + USP_BUILD_ID_MAX)];
    size_t size;
    bool is_complete; /* all ids have room */
};

static void gather_id(struct gathered_ids *ids, const struct usp_image *image) {
    if (ids->size + 1 + image->build_id_size > sizeof ids->bytes) {
        ids->is_complete = false;
        return;
    }
    ids->bytes[ids->size++] = (uint8_t)image->build_id_size;
    memcpy(ids->bytes + ids->size, image->build_id, image->build_id_size);
    ids->size += image->build_id_size;
}

/* Adds the images that the index has of a file. Returns false when memory is exhausted. */
static bool add_indexed(struct log_search *search, const char *path, uint64_t size, const struct search_ids *ids) {
    for (size_t at = 0; at < ids->size;) {
        struct usp_image image = {.build_id_size = ids->bytes[at++]};
        if (image.build_id_size > USP_BUILD_ID_MAX || image.build_id_size > ids->size - at) return true;
        memcpy(image.build_id, ids->bytes + at, image.build_id_size);
        at += image.build_id_size;
        if (!add_image(search, path, size, &image)) return false;
    }
    return true;
}

/* Reads the images of a file and adds them to the search and to the index. Files that are not object files, or are
 * damaged, are ignored. */
static int read_file(struct log_search *search, const char *path, const struct stat *file) {
    struct usp_images *images;
    struct usp_image_file_options options;
    struct gathered_ids ids = {.is_complete = true};
    char error[512];
    usp_image_file_options_init(&options);
    options.flags = USP_IMAGE_FILE_LINKED;
    int status = usp_images_open(path, &options, &images, error, sizeof error);
    if (status == USP_ERROR_NO_MEMORY) return no_memory();
    if (status != USP_OK && is_symbol_file(path)) {
        add_fault(search, error, "the dSYM is cut or damaged");
        return EXIT_ALL_WELL;
    }
    bool is_added = true;
    for (size_t i = 0; status == USP_OK && is_added && i < usp_images_count(images); i++) {
        is_added = add_image(search, path, (uint64_t)file->st_size, usp_images_get(images, i));
        gather_id(&ids, usp_images_get(images, i));
    }
    if (status == USP_OK) usp_images_free(images);
    if (ids.is_complete && is_added)
        search_index_add(search->index, path, file, &(struct search_ids){ids.bytes, ids.size});
    return is_added ? EXIT_ALL_WELL : no_memory();
}

static int add_file(struct log_search *search, const char *path, const struct stat *file) {
    struct search_ids ids;
    char line[64];
    search->seen++;
    if (progress_is_due(&search->progress)) {
        snprintf(line, sizeof line, "--search: %zu files", search->seen);
        progress_put(&search->progress, line);
    }
    if (!search_index_find(search->index, path, file, &ids)) return read_file(search, path, file);
    return add_indexed(search, path, (uint64_t)file->st_size, &ids) ? EXIT_ALL_WELL : no_memory();
}

static bool add_folder(struct log_search *search, char *path) {
    if (search->folder_count == search->folder_room) {
        size_t capacity = search->folder_room * 2 + 16;
        char **grown = realloc(search->folders, capacity * sizeof *grown);
        if (grown == NULL) return false;
        search->folders = grown;
        search->folder_room = capacity;
    }
    search->folders[search->folder_count++] = path;
    return true;
}

static int add_entry(struct log_search *search, const char *folder, const char *name) {
    struct stat entry;
    /* AppleDouble: metadata of a file, stored beside it on a file system that has no room for it. */
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strncmp(name, "._", 2) == 0) return EXIT_ALL_WELL;
    size_t capacity = strlen(folder) + strlen(name) + 2;
    char *path = malloc(capacity);
    if (path == NULL) return no_memory();
    snprintf(path, capacity, "%s/%s", folder, name);
    int status = EXIT_ALL_WELL;
    if (lstat(path, &entry) == 0 && S_ISDIR(entry.st_mode)) {
        if (add_folder(search, path)) return EXIT_ALL_WELL;
        status = no_memory();
    } else if (stat(path, &entry) == 0 && S_ISREG(entry.st_mode)) {
        status = add_file(search, path, &entry);
    }
    free(path);
    return status;
}

/* Remembers a dSYM bundle without its file. */
static void check_bundle(struct log_search *search, const char *folder) {
    static const char ending[] = ".dSYM", inside[] = "/Contents/Resources/DWARF";
    const size_t length = strlen(folder);
    if (length < sizeof ending || strcmp(folder + length - (sizeof ending - 1), ending) != 0) return;
    char *path = malloc(length + sizeof inside);
    if (path == NULL) return;
    memcpy(path, folder, length);
    memcpy(path + length, inside, sizeof inside);
    DIR *files = opendir(path);
    bool has_file = false;
    for (struct dirent *entry; files != NULL && !has_file && (entry = readdir(files)) != NULL;) {
        has_file = entry->d_name[0] != '.';
    }
    if (files != NULL) closedir(files);
    if (!has_file) add_fault(search, folder, "a dSYM bundle without its file (Contents/Resources/DWARF)");
    free(path);
}

static int look_through(struct log_search *search, const char *folder) {
    int status = EXIT_ALL_WELL;
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        complain("%s: %s", folder, strerror(errno));
        return EXIT_ALL_WELL;
    }
    for (struct dirent *entry; status == EXIT_ALL_WELL && (entry = readdir(entries)) != NULL;) {
        status = add_entry(search, folder, entry->d_name);
    }
    closedir(entries);
    check_bundle(search, folder);
    return status;
}

static int check_place(const char *place) {
    struct stat entry;
    if (stat(place, &entry) != 0) {
        complain("%s: %s", place, strerror(errno));
        return EXIT_NO_TARGET;
    }
    if (S_ISREG(entry.st_mode) || S_ISDIR(entry.st_mode)) return EXIT_ALL_WELL;
    complain("%s: neither a folder nor a file", place);
    return EXIT_NO_TARGET;
}

static int look_at_place(struct log_search *search, const char *place) {
    struct stat entry;
    if (stat(place, &entry) != 0) {
        complain("%s: %s", place, strerror(errno));
        return EXIT_NO_TARGET;
    }
    if (S_ISREG(entry.st_mode)) return add_file(search, place, &entry);
    char *folder = strdup(place);
    if (folder == NULL || !add_folder(search, folder)) {
        free(folder);
        return no_memory();
    }
    int status = EXIT_ALL_WELL;
    search->index = search_index_open(place);
    while (status == EXIT_ALL_WELL && search->folder_count > 0) {
        folder = search->folders[--search->folder_count];
        status = look_through(search, folder);
        free(folder);
    }
    search_index_close(search->index);
    search->index = NULL;
    return status;
}

/* ---- their order ---- */

static int compare_ids(const struct log_file *x, const uint8_t *id, size_t id_size) {
    if (x->id_size != id_size) return x->id_size < id_size ? -1 : 1;
    return memcmp(x->id, id, id_size);
}

static int compare_builds(const void *a, const void *b) {
    const struct log_file *x = a, *y = b;
    int order = compare_ids(x, y->id, y->id_size);
    if (order != 0) return order;
    if (x->is_symbols != y->is_symbols) return x->is_symbols ? -1 : 1;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* Compares like strcmp, but only the first `width` bytes of the file's name. */
static int compare_name(const struct log_file *file, struct uspi_span name, size_t width) {
    struct uspi_span own = name_of(file);
    if (own.length > width) own.length = width;
    size_t common = own.length < name.length ? own.length : name.length;
    int order = memcmp(own.bytes, name.bytes, common);
    if (order != 0) return order;
    return own.length < name.length ? -1 : own.length > name.length;
}

static int compare_names(const void *a, const void *b) {
    const struct log_file *const *x = a, *const *y = b;
    int order = compare_name(*x, name_of(*y), SIZE_MAX);
    if (order != 0) return order;
    return *x < *y ? -1 : *x > *y;
}

static bool sort(struct log_search *search) {
    if (search->count == 0) return true;
    qsort(search->files, search->count, sizeof *search->files, compare_builds);
    search->by_name = calloc(search->count, sizeof *search->by_name);
    if (search->by_name == NULL) return false;
    for (size_t i = 0; i < search->count; i++) search->by_name[i] = &search->files[i];
    qsort(search->by_name, search->count, sizeof *search->by_name, compare_names);
    return true;
}

int log_search_create(const char *const *places, size_t count, const char *cache, struct log_search **search) {
    *search = calloc(1, sizeof **search);
    if (*search == NULL) return no_memory();
    (*search)->places = places;
    (*search)->place_count = count;
    (*search)->cache = cache;
    int status = EXIT_ALL_WELL;
    for (size_t i = 0; status == EXIT_ALL_WELL && i < count; i++) status = check_place(places[i]);
    if (status == EXIT_ALL_WELL) return EXIT_ALL_WELL;
    log_search_free(*search);
    *search = NULL;
    return status;
}

/* Searches the dSYMs of an archive too, if a place is among its products: X.xcarchive/Products/Applications/App.app. */
static int look_at_archive(struct log_search *search, const char *place) {
    static const char ending[] = ".xcarchive/", products[] = "Products", symbols[] = "dSYMs";
    char *path = realpath(place, NULL), *at = path != NULL ? strstr(path, ending) : NULL;
    int status = EXIT_ALL_WELL;
    if (at != NULL) at += sizeof ending - 1;
    if (at != NULL && strncmp(at, products, sizeof products - 1) == 0) {
        struct stat folder;
        memcpy(at, symbols, sizeof symbols);
        if (stat(path, &folder) == 0) status = look_at_place(search, path);
    }
    free(path);
    return status;
}

/* Searches all folders. Folders that cannot be read are reported; the others are searched. */
static void walk(struct log_search *search) {
    int status = EXIT_ALL_WELL;
    if (search->is_walked) return;
    search->is_walked = true;
    progress_begin(&search->progress, stderr);
    for (size_t i = 0; status != EXIT_FAILED && i < search->place_count; i++) {
        status = look_at_place(search, search->places[i]);
        if (status != EXIT_FAILED) status = look_at_archive(search, search->places[i]);
    }
    progress_end(&search->progress);
    if (sort(search)) return;
    no_memory();
    search->count = 0;
}

void log_search_free(struct log_search *search) {
    if (search == NULL) return;
    for (size_t i = 0; i < search->count; i++) free(search->files[i].path);
    for (size_t i = 0; i < search->folder_count; i++) free(search->folders[i]);
    for (size_t i = 0; i < search->fault_count; i++) free(search->faults[i]);
    free(search->faults);
    free(search->files);
    while (search->kept != NULL) {
        struct kept_file *kept = search->kept;
        search->kept = kept->next;
        free(kept->file.path);
        free(kept);
    }
    free(search->by_name);
    free(search->folders);
    free(search);
}

/* ---- lookups ---- */

bool log_search_is_empty(const struct log_search *search) { return search->is_walked && search->count == 0; }

bool log_search_has_folders(const struct log_search *search) { return search->place_count > 0; }

const char *log_search_folder(const struct log_search *search, size_t i) {
    return i < search->place_count ? search->places[i] : i == search->place_count ? search->cache : NULL;
}

/* Whether a file at a layout's path is of the build: a folder can have been filled by hand. */
static bool is_of(const char *path, const uint8_t *id, size_t id_size) {
    struct usp_images *images;
    struct usp_image_file_options options;
    char error[512];
    usp_image_file_options_init(&options);
    options.build_id_size = (uint32_t)id_size;
    memcpy(options.build_id, id, id_size);
    options.flags = USP_IMAGE_FILE_LINKED;
    int status = usp_images_open(path, &options, &images, error, sizeof error);
    if (status == USP_OK) {
        usp_images_free(images);
    } else {
        complain("%s", error);
    }
    return status == USP_OK;
}

/* Keeps a file at a layout's path, and takes ownership of the path. NULL: it is not a file of this build. */
static const struct log_file *keep_file(struct log_search *search, struct layout_file *found, const uint8_t *id,
                                        size_t id_size) {
    struct kept_file *kept = is_of(found->path, id, id_size) ? calloc(1, sizeof *kept) : NULL;
    if (kept == NULL) {
        free(found->path);
        return NULL;
    }
    kept->file = (struct log_file){found->path, found->size, found->is_debug, {0}, id_size};
    memcpy(kept->file.id, id, id_size);
    kept->next = search->kept;
    search->kept = kept;
    return &kept->file;
}

size_t log_search_laid(struct log_search *search, const uint8_t *id, size_t id_size,
                       const struct log_file *files[LOG_LAID_MAX], bool *has_symbols) {
    struct layout_file found[LAYOUTS_MAX];
    const struct log_file *file;
    const char *folder;
    size_t count = 0;
    *has_symbols = false;
    for (size_t i = 0; i <= search->place_count; i++) {
        folder = log_search_folder(search, i);
        size_t n = folder != NULL ? layouts_find(folder, id, id_size, found) : 0;
        for (size_t k = 0; k < n; k++) {
            if (count == LOG_LAID_MAX) {
                free(found[k].path);
            } else if ((file = keep_file(search, &found[k], id, id_size)) != NULL) {
                files[count++] = file;
                *has_symbols = *has_symbols || file->is_symbols;
            }
        }
    }
    return count;
}

size_t log_search_build(struct log_search *search, const uint8_t *id, size_t id_size, const struct log_file **files) {
    walk(search);
    size_t low, high;
    USPI_FIRST(low, 0, search->count, compare_ids(&search->files[low], id, id_size) >= 0);
    for (high = low; high < search->count && compare_ids(&search->files[high], id, id_size) == 0;) high++;
    *files = high > low ? &search->files[low] : NULL;
    return high - low;
}

const struct log_file *log_search_get(struct log_search *search, size_t i) {
    walk(search);
    return i < search->count ? &search->files[i] : NULL;
}

size_t log_search_names(struct log_search *search, struct uspi_span name, const struct log_file **files, size_t most) {
    walk(search);
    size_t width = name.length == LOG_IMAGE_WIDTH ? LOG_IMAGE_WIDTH : SIZE_MAX;
    size_t low, builds = 0;
    USPI_FIRST(low, 0, search->count, compare_name(search->by_name[low], name, width) >= 0);
    const struct log_file *last = NULL;
    for (; low < search->count && compare_name(search->by_name[low], name, width) == 0; low++) {
        const struct log_file *next = search->by_name[low];
        /* Without an id, two files cannot be recognized as the same build. */
        if (last != NULL && next->id_size != 0 && compare_ids(next, last->id, last->id_size) == 0) continue;
        if (builds < most) files[builds] = next;
        builds++;
        last = next;
    }
    return builds;
}

size_t log_search_name(struct log_search *search, struct uspi_span name, const struct log_file **file) {
    return log_search_names(search, name, file, 1);
}

void log_search_say_faults(struct log_search *search) {
    for (size_t i = 0; i < search->fault_count; i++) {
        complain("%s", search->faults[i]);
        free(search->faults[i]);
    }
    search->fault_count = 0;
}

/* ---- the file of a bundle ---- */

/* Returns the name of a bundle's program. */
static struct uspi_span bundle_name(const char *path) {
    struct uspi_span name = uspi_span_of(path);
    while (name.length > 1 && uspi_span_ends(name, USPI_SPAN("/"))) name.length--;
    name = uspi_span_file_name(name);
    const size_t dot = uspi_span_find_last(name, USPI_SPAN("."));
    return uspi_span_part(name, 0, dot > 0 ? dot : name.length);
}

/* Whether both are images of one file: each slice of a fat file has its own id. */
static bool is_same_file(const struct log_file *a, const struct log_file *b) { return strcmp(a->path, b->path) == 0; }

#define CHOICES_MAX 16

/* Prefers the file with most symbols of each build. If all builds are slices of one file, gives that. Returns the
 * number of different files. */
static size_t choose_of(struct log_search *search, const struct log_file **files, size_t count,
                        const struct log_file **file) {
    size_t different = 0;
    for (size_t i = 0; i < count && i < CHOICES_MAX; i++) {
        if (files[i]->id_size > 0) log_search_build(search, files[i]->id, files[i]->id_size, &files[i]);
        if (i == 0 || !is_same_file(files[i], files[0])) different++;
    }
    *file = count > 0 ? files[0] : NULL;
    return count > CHOICES_MAX ? count : different;
}

/* Whether a path is that of the program of an archive's application: in Products/Applications NAME.app/NAME, or
 * NAME.app/Contents/MacOS/NAME. */
static bool is_archived_program(const char *path) {
    static const char folder[] = "/Products/Applications/", inner[] = ".app/", macos[] = "Contents/MacOS/";
    const char *bundle = strstr(path, folder), *name = strrchr(path, '/');
    if (bundle == NULL) return false;
    bundle += sizeof folder - 1;
    const size_t length = strlen(++name);
    if (strncmp(bundle, name, length) != 0 || strncmp(bundle + length, inner, sizeof inner - 1) != 0) return false;
    const char *rest = bundle + length + sizeof inner - 1;
    if (strncmp(rest, macos, sizeof macos - 1) == 0) rest += sizeof macos - 1;
    return rest == name;
}

/* Lists the first file of each build, or of each build of an archive's application. Returns the number of builds. */
static size_t list_builds(const struct log_search *search, bool of_application, const struct log_file **files) {
    const struct log_file *previous = NULL;
    size_t count = 0;
    for (size_t i = 0; i < search->count; i++) {
        const struct log_file *next = &search->files[i];
        if (of_application && !is_archived_program(next->path)) continue;
        const bool is_new =
            previous == NULL || next->id_size == 0 || compare_ids(next, previous->id, previous->id_size) != 0;
        previous = next;
        if (is_new && count++ < CHOICES_MAX) files[count - 1] = next;
    }
    return count;
}

int log_search_choose(struct log_search *search, const struct image_choice *choice, const struct log_file **file) {
    const struct log_file *files[CHOICES_MAX];
    if (choice->build_id_size > 0) {
        if (log_search_build(search, choice->build_id, choice->build_id_size, file) > 0) return EXIT_ALL_WELL;
        complain("%s: nothing in it has this UUID", choice->path);
        log_search_say_faults(search);
        return EXIT_NO_TARGET;
    }
    size_t count = log_search_names(search, bundle_name(choice->path), files, CHOICES_MAX);
    if (choose_of(search, files, count, file) == 1) return EXIT_ALL_WELL;
    if (count == 0) {
        /* A bundle that was renamed, or an archive, which Xcode names by application and time. */
        count = list_builds(search, true, files);
        if (count == 0) count = list_builds(search, false, files);
        if (choose_of(search, files, count, file) == 1) return EXIT_ALL_WELL;
    }
    complain(count == 0 ? "%s: has no object file with symbols" : "%s: has several builds; say which by --uuid:",
             choice->path);
    for (size_t i = 0; i < count && i < CHOICES_MAX; i++) {
        char id[2 * USP_BUILD_ID_MAX + 5];
        format_build_id(files[i]->id, files[i]->id_size, id);
        complain("  %s %s", id, files[i]->path);
    }
    log_search_say_faults(search);
    return count == 0 ? EXIT_NO_TARGET : EXIT_USAGE;
}
