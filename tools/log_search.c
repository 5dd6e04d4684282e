/* SPDX-License-Identifier: MIT */
/* Implements log_search.h. */
#include "tools/log_search.h"

#include "tools/command.h"
#include "tools/layouts.h"

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
    const char *cache;      /* NULL: none */
    bool is_walked;         /* `files` is complete */
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

/* Adds the images of a file. Files that are not object files, or are damaged, are ignored. */
static int add_file(struct log_search *search, const char *path, uint64_t size) {
    struct usp_images *images;
    struct usp_image_file_options options;
    usp_image_file_options_init(&options);
    options.flags = USP_IMAGE_FILE_LINKED;
    int status = usp_images_open(path, &options, &images, NULL, 0);
    if (status == USP_ERROR_NO_MEMORY) return no_memory();
    if (status != USP_OK) return EXIT_ALL_WELL;
    bool is_added = true;
    for (size_t i = 0; is_added && i < usp_images_count(images); i++) {
        is_added = add_image(search, path, size, usp_images_get(images, i));
    }
    usp_images_free(images);
    return is_added ? EXIT_ALL_WELL : no_memory();
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
        status = add_file(search, path, (uint64_t)entry.st_size);
    }
    free(path);
    return status;
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
    if (S_ISREG(entry.st_mode)) return add_file(search, place, (uint64_t)entry.st_size);
    char *folder = strdup(place);
    if (folder == NULL || !add_folder(search, folder)) {
        free(folder);
        return no_memory();
    }
    int status = EXIT_ALL_WELL;
    while (status == EXIT_ALL_WELL && search->folder_count > 0) {
        folder = search->folders[--search->folder_count];
        status = look_through(search, folder);
        free(folder);
    }
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

/* Searches all folders. Folders that cannot be read are reported; the others are searched. */
static void walk(struct log_search *search) {
    int status = EXIT_ALL_WELL;
    if (search->is_walked) return;
    search->is_walked = true;
    for (size_t i = 0; status != EXIT_FAILED && i < search->place_count; i++) {
        status = look_at_place(search, search->places[i]);
    }
    if (sort(search)) return;
    no_memory();
    search->count = 0;
}

void log_search_free(struct log_search *search) {
    if (search == NULL) return;
    for (size_t i = 0; i < search->count; i++) free(search->files[i].path);
    for (size_t i = 0; i < search->folder_count; i++) free(search->folders[i]);
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
    size_t low = 0, high = search->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_ids(&search->files[middle], id, id_size) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (high = low; high < search->count && compare_ids(&search->files[high], id, id_size) == 0;) high++;
    *files = high > low ? &search->files[low] : NULL;
    return high - low;
}

size_t log_search_name(struct log_search *search, struct uspi_span name, const struct log_file **file) {
    walk(search);
    size_t width = name.length == LOG_IMAGE_WIDTH ? LOG_IMAGE_WIDTH : SIZE_MAX;
    size_t low = 0, high = search->count, builds = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_name(search->by_name[middle], name, width) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const struct log_file *last = NULL;
    for (; low < search->count && compare_name(search->by_name[low], name, width) == 0; low++) {
        const struct log_file *next = search->by_name[low];
        /* Without an id, two files cannot be recognized as the same build. */
        if (last != NULL && next->id_size != 0 && compare_ids(next, last->id, last->id_size) == 0) continue;
        if (builds++ == 0) *file = next;
        last = next;
    }
    return builds;
}
