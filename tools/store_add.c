/* SPDX-License-Identifier: MIT */
/* Implements store_add.h. */
#include "tools/store_add.h"

#include "tools/caches.h"
#include "tools/command.h"
#include "tools/damage.h"
#include "tools/signals.h"
#include "tools/text.h"
#include "tools/unpack.h"

#include <unspool/unspool.h>

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Keeps the worst result. */
static void note(struct store_adding *adding, int result) {
    if (result > adding->result) adding->result = result;
}

static bool has_ending(const char *path, const char *ending) {
    const size_t length = strlen(path), n = strlen(ending);
    return length > n && strcasecmp(path + length - n, ending) == 0;
}

/* A file that this command has indexed. */
struct store_added {
    struct store_added *next;
    uint8_t id[USP_BUILD_ID_MAX];
    uint32_t id_size;
    char path[];
};

/* Returns the list that the files of a build belong to. Ids are spread evenly. */
static struct store_added **list_of(struct store_adding *adding, const struct usp_image *image) {
    return &adding->added[(image->build_id[0] | image->build_id[1] << 8) % STORE_ADDED_LISTS];
}

static void remember(struct store_adding *adding, const struct usp_image *image) {
    struct store_added **list = list_of(adding, image);
    const size_t n = strlen(image->path) + 1;
    struct store_added *added = calloc(1, sizeof *added + n);
    if (added == NULL) return;
    memcpy(added->path, image->path, n);
    memcpy(added->id, image->build_id, image->build_id_size);
    added->id_size = image->build_id_size;
    added->next = *list;
    *list = added;
}

/* Implements usp_index_progress. */
static int tell(void *context, uint64_t done, uint64_t all) {
    struct store_adding *adding = context;
    /* Thousandths fit into any size_t. */
    if (progress_is_watched(&adding->progress)) {
        progress_say(&adding->progress, all > 0 ? (size_t)(done * 1000 / all) : 0, 1000, adding->path);
    }
    return caught_signal() != 0 ? USP_ERROR_SYSTEM : 0;
}

/* Returns the displayed name of a file. A file in an archive is named as if the archive were a folder. */
static const char *name_of(const struct store_adding *adding, const char *path, char *buffer, size_t size) {
    const size_t n = adding->archive != NULL ? strlen(adding->unpacked) : 0;
    if (n == 0 || strncmp(path, adding->unpacked, n) != 0) return path;
    snprintf(buffer, size, "%s%s", adding->archive, path + n);
    return buffer;
}

/* Whether a message names a file: at its end, or before a colon. */
static bool names_file(const char *message, const char *path) {
    const size_t length = strlen(path);
    for (const char *at = message; (at = strstr(at, path)) != NULL; at++) {
        const bool begins = at == message || at[-1] == ' ';
        if (begins && (at[length] == ':' || at[length] == '\0')) return true;
    }
    return false;
}

/* Complains of a file with the library's message, which may name the file, too, or another one in the same archive.
 * Each path stands in the message once. */
static void complain_of_index(const struct store_adding *adding, const char *path, const char *message) {
    const size_t unpacked = adding->archive != NULL ? strlen(adding->unpacked) : 0;
    const char *found = unpacked > 0 ? strstr(message, adding->unpacked) : NULL;
    char buffer[4096];
    if (found != NULL) {
        snprintf(buffer, sizeof buffer, "%.*s%s%s", (int)(found - message), message, adding->archive, found + unpacked);
        message = buffer;
    }
    if (names_file(message, path)) {
        complain("%s", message);
    } else {
        complain("%s: %s", path, message);
    }
}

static void put_build_id(const struct usp_image *image) {
    for (uint32_t i = 0; i < image->build_id_size; i++) printf("%02x", image->build_id[i]);
}

static void describe_index(const struct usp_image *image, const struct usp_index *index, const char *path,
                           const struct store_adding *adding) {
    if (adding->is_quiet) return;
    put_build_id(image);
    if (adding->is_verification) {
        printf(" %" PRIu64 " addresses are equal  ", index->compared);
    } else if (index->is_kept != 0) {
        printf(" %" PRIu64 " bytes are there  ", index->index_bytes);
    } else {
        const char *has = index->blocks == 0    ? "symbols only"
                          : index->symbols == 0 ? "lines only"
                                                : "lines and symbols";
        printf(" %" PRIu64 " bytes", index->index_bytes);
        if (index->source_bytes > 0) printf(" of %" PRIu64, index->source_bytes);
        printf(", %s  ", has);
    }
    put_harmless(stdout, path);
    putchar('\n');
}

/* Counts an index for the summary. */
static void count_index(struct store_adding *adding, const struct usp_index *index) {
    adding->kept += index->is_kept != 0;
    adding->written += index->is_kept == 0;
    if (index->is_kept != 0) return;
    adding->with_lines += index->blocks > 0;
    adding->index_bytes += index->index_bytes;
    adding->source_bytes += index->source_bytes;
}

static const char *indexes(uint64_t count) { return count == 1 ? "index" : "indexes"; }

/* Says what was made of several files. */
static void put_summary(const struct store_adding *adding) {
    if (adding->is_quiet || adding->is_verification || adding->written + adding->kept < 2) return;
    printf("%" PRIu64 " %s written", adding->written, indexes(adding->written));
    if (adding->written > 0) {
        printf(", %" PRIu64 " with lines: %" PRIu64 " bytes of %" PRIu64, adding->with_lines, adding->index_bytes,
               adding->source_bytes);
    }
    if (adding->kept > 0) {
        printf("; %" PRIu64 " %s there before", adding->kept, adding->kept == 1 ? "was" : "were");
    }
    putchar('\n');
}

/* With how many earlier files of its build a file is compared. Of n copies each would be compared with all others. */
#define COMPARED_MAX 8

/* Reports a dSYM that differs from an earlier one with the same UUID: both have one place in the store. */
static void compare_with_earlier(struct store_adding *adding, const struct usp_image *image, bool is_kept) {
    /* The files of an archive are gone when the next one is unpacked. */
    if (adding->archive != NULL || image->build_id_size == 0) return;
    unsigned compared = 0;
    for (const struct store_added *earlier = *list_of(adding, image); earlier != NULL; earlier = earlier->next) {
        const bool is_same =
            earlier->id_size == image->build_id_size && memcmp(earlier->id, image->build_id, earlier->id_size) == 0;
        if (is_same && compared++ == COMPARED_MAX) return;
        if (!is_same || !are_different_dsyms(image->path, earlier->path)) continue;
        complain("%s: differs from %s, which has the same UUID; the index is of the %s one", image->path, earlier->path,
                 is_kept ? "earlier" : "later");
        return;
    }
    remember(adding, image);
}

static void work_on(struct store_adding *adding, const struct usp_images *images, const struct usp_image *image) {
    struct usp_index index;
    char buffer[4096];
    adding->found++;
    const char *path = name_of(adding, image->path, buffer, sizeof buffer);
    usp_index_init(&index, adding->store);
    index.threads = adding->threads;
    index.flags = adding->is_forced ? 0 : USP_INDEX_KEEP;
    adding->path = path;
    progress_begin(&adding->progress, stderr);
    index.progress = tell;
    index.context = adding;
    int status =
        adding->is_verification ? usp_index_verify(images, image, &index) : usp_index_write(images, image, &index);
    progress_end(&adding->progress);
    if (caught_signal() != 0) return;
    if (status == USP_OK) {
        describe_index(image, &index, path, adding);
        count_index(adding, &index);
    }
    if (complain_of_names(image->path, image->build_id, image->build_id_size, adding->archive)) {
        note(adding, EXIT_INCOMPLETE);
    }
    if (status == USP_OK && !adding->is_verification) compare_with_earlier(adding, image, index.is_kept != 0);
    if (index.message[0] != '\0') complain_of_index(adding, path, index.message);
    if (status == USP_OK) return;
    if (status == USP_ERROR_UNSUPPORTED) {
        complain("%s: has no UUID or build-id by which its index could be found", path);
    } else if (index.message[0] == '\0') {
        complain("%s: %s", path, usp_status_string(status));
    }
    const bool is_incomplete = status == USP_ERROR_NOT_FOUND || status == USP_ERROR_UNSUPPORTED ||
                               status == USP_ERROR_MISMATCH || status == USP_ERROR_FORMAT;
    note(adding, is_incomplete ? EXIT_INCOMPLETE : status == USP_ERROR_PERMISSION ? EXIT_NO_TARGET : EXIT_FAILED);
}

static void take_file(struct store_adding *adding, const char *path) {
    struct usp_image_file_options options;
    struct usp_images *images;
    char error[512];
    usp_image_file_options_init(&options);
    options.flags = USP_IMAGE_FILE_LINKED;
    int status = usp_images_open(path, &options, &images, error, sizeof error);
    if (status != USP_OK) {
        const bool is_meant = !adding->is_searching || has_ending(path, ".dSYM");
        if (!is_meant && status != USP_ERROR_NO_MEMORY) return;
        complain("%s", error);
        note(adding, EXIT_NO_TARGET);
        return;
    }
    for (size_t i = 0; caught_signal() == 0 && i < usp_images_count(images); i++)
        work_on(adding, images, usp_images_get(images, i));
    usp_images_free(images);
}

/* ---- shared caches ---- */

/* Whether a name of n bytes is an image's path or the last part of it. */
static bool is_name_of(const char *name, size_t n, const char *path) {
    const char *slash = strrchr(path, '/'), *last = slash != NULL ? slash + 1 : path;
    return (strlen(path) == n && memcmp(name, path, n) == 0) || (strlen(last) == n && memcmp(name, last, n) == 0);
}

/* Whether a list of names, with commas between them, has an image. */
static bool is_listed(const char *list, const char *path) {
    if (list == NULL) return true;
    for (size_t n; *list != '\0'; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        if (is_name_of(list, n, path)) return true;
    }
    return false;
}

/* Complains of each name in a list that is not of an image of the cache with this path. Returns an enum exit_status. */
static int check_list(const char *list, const struct usp_images *images, const struct usp_image *stubs,
                      const char *path) {
    int result = EXIT_ALL_WELL;
    for (size_t n; list != NULL && *list != '\0'; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        bool is_found = is_name_of(list, n, stubs->path);
        for (size_t i = 0; !is_found && i < usp_images_count(images); i++) {
            is_found = is_name_of(list, n, usp_images_get(images, i)->path);
        }
        if (is_found) continue;
        complain("%s: none of its images has the name %.*s", path, (int)n, list);
        result = EXIT_INCOMPLETE;
    }
    return result;
}

/* Makes the index of an image of a shared cache, unless the store has one: an image has no source of its own that could
 * contain more, so that a command that was ended goes on where it was. */
static int index_cached(struct store_adding *adding, const struct cache_options *caches,
                        const struct usp_images *images, const struct usp_image *image) {
    struct usp_index index;
    struct usp_image found;
    usp_index_init(&index, adding->store);
    index.threads = adding->threads;
    index.dyld_caches = caches->set;
    const bool is_there =
        !adding->is_forced && usp_index_image(adding->store, image->build_id, image->build_id_size, &found) == USP_OK;
    int status = is_there ? USP_OK : usp_index_write(images, image, &index);
    if (status == USP_ERROR_NOT_FOUND) return EXIT_ALL_WELL; /* it has no code with a name */
    if (status == USP_OK) {
        if (adding->is_quiet) return EXIT_ALL_WELL;
        put_build_id(image);
        if (is_there) printf(" is there  ");
        if (!is_there) printf(" %" PRIu64 " bytes  ", index.index_bytes);
        put_harmless(stdout, image->path);
        putchar('\n');
        return EXIT_ALL_WELL;
    }
    complain("%s: %s", image->path, index.message[0] != '\0' ? index.message : usp_status_string(status));
    const bool is_ours = status == USP_ERROR_SYSTEM || status == USP_ERROR_NO_MEMORY;
    return is_ours ? EXIT_FAILED : status == USP_ERROR_PERMISSION ? EXIT_NO_TARGET : EXIT_INCOMPLETE;
}

/* Lists the images of the cache, and describes its stubs as an image with the UUID of the cache. */
static int list_cache(const struct cache_options *caches, struct usp_images **images, struct usp_image *stubs) {
    static const uint8_t no_uuid[16];
    struct usp_dyld_cache cache;
    int status = usp_dyld_caches_get(caches->set, 0, &cache);
    if (status == USP_OK) status = usp_dyld_caches_list(caches->set, 0, 0, images);
    if (status != USP_OK) {
        complain("%s", usp_status_string(status));
        return EXIT_FAILED;
    }
    *stubs = (struct usp_image){.path = "stubs",
                                .load_address = cache.base,
                                .end = cache.base + cache.size,
                                .arch = cache.arch,
                                .variant = cache.variant,
                                .flags = USP_IMAGE_MACHO};
    memcpy(stubs->build_id, cache.uuid, sizeof cache.uuid);
    stubs->build_id_size = memcmp(cache.uuid, no_uuid, sizeof no_uuid) != 0 ? sizeof cache.uuid : 0;
    return EXIT_ALL_WELL;
}

/* Makes the indexes of a shared cache's images and of its stubs. */
static void take_cache(struct store_adding *adding, const char *path) {
    struct cache_options caches = {0};
    struct usp_images *images = NULL;
    struct usp_image stubs;
    adding->found++;
    int result = add_shared_cache(&caches, path) ? open_shared_caches(&caches, false) : EXIT_FAILED;
    if (result == EXIT_ALL_WELL) result = list_cache(&caches, &images, &stubs);
    if (result == EXIT_ALL_WELL) result = check_list(adding->only, images, &stubs, path);
    progress_begin(&adding->progress, stderr);
    const size_t count = images != NULL ? usp_images_count(images) + 1 : 0;
    for (size_t i = 0; result != EXIT_FAILED && caught_signal() == 0 && i < count; i++) {
        const struct usp_image *image = i + 1 < count ? usp_images_get(images, i) : &stubs;
        if (image->build_id_size == 0 || !is_listed(adding->only, image->path)) continue;
        if (progress_is_watched(&adding->progress)) progress_say(&adding->progress, i, count, image->path);
        const int one = index_cached(adding, &caches, images, image);
        if (one > result) result = one;
    }
    progress_end(&adding->progress);
    /* Names are missing in the indexes. */
    if (result == EXIT_ALL_WELL && caches.is_incomplete) result = EXIT_INCOMPLETE;
    note(adding, result);
    usp_images_free(images);
    shared_caches_clear(&caches);
}

/* Maximum depth of nested folders: limits the recursion. */
#define DEPTH_MAX 64

static void take_path(struct store_adding *adding, const char *path, unsigned depth);

static void take_entry(struct store_adding *adding, const char *folder, const char *name, unsigned depth) {
    const size_t capacity = strlen(folder) + strlen(name) + 2;
    char *path = malloc(capacity);
    if (path == NULL) {
        complain("%s: out of memory", folder);
        note(adding, EXIT_FAILED);
        return;
    }
    snprintf(path, capacity, "%s/%s", folder, name);
    struct stat found;
    /* Links are not followed: their targets are found directly. */
    if (lstat(path, &found) == 0 && (S_ISDIR(found.st_mode) || S_ISREG(found.st_mode))) take_path(adding, path, depth);
    free(path);
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static void take_folder(struct store_adding *adding, const char *path, unsigned depth) {
    struct dirent **entries;
    const bool was_searching = adding->is_searching;
    const int count = scandir(path, &entries, NULL, by_name);
    if (count < 0) {
        complain("%s: cannot be listed", path);
        note(adding, EXIT_NO_TARGET);
        return;
    }
    adding->is_searching = true;
    for (int i = 0; i < count; i++) {
        const bool is_taken = entries[i]->d_name[0] != '.' && depth < DEPTH_MAX && caught_signal() == 0;
        if (is_taken) take_entry(adding, path, entries[i]->d_name, depth + 1);
        free(entries[i]);
    }
    free(entries);
    adding->is_searching = was_searching;
}

/* Adds the files of an archive as if it were a folder. Archives in it are not unpacked. A signal that ends the command
 * does so when the unpacked files are removed. */
static void take_archive(struct store_adding *adding, const char *path) {
    char error[512], *folder = NULL;
    catch_signals();
    int status = unpack_begin(path, &folder, error, sizeof error);
    if (status == USP_OK) {
        adding->archive = path;
        adding->unpacked = folder;
        take_folder(adding, folder, 0);
        adding->archive = NULL;
    } else if (caught_signal() == 0) {
        complain("%s: %s", path, error);
        const bool is_ours = status == USP_ERROR_SYSTEM || status == USP_ERROR_NO_MEMORY;
        note(adding, is_ours ? EXIT_FAILED : adding->is_searching ? EXIT_INCOMPLETE : EXIT_NO_TARGET);
    }
    unpack_end(folder);
    release_signals();
}

static void take_path(struct store_adding *adding, const char *path, unsigned depth) {
    struct stat found;
    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode) && !has_ending(path, ".dSYM")) {
        take_folder(adding, path, depth);
    } else if (has_ending(path, ".zip") && adding->archive == NULL) {
        take_archive(adding, path);
    } else if (!adding->is_verification && is_shared_cache(path)) {
        /* A folder has a cache's further files beside the main one. */
        const char *slash = strrchr(path, '/'), *dot = strchr(slash != NULL ? slash : path, '.');
        if (!adding->is_searching || dot == NULL || strcmp(dot, ".development") == 0) take_cache(adding, path);
    } else {
        take_file(adding, path);
    }
}

/* Takes a path of the command line. A folder without anything to index is probably the wrong one. */
static void take_argument(struct store_adding *adding, const char *path) {
    struct stat found;
    const uint64_t before = adding->found;
    const int result = adding->result;
    adding->result = EXIT_ALL_WELL;
    take_path(adding, path, 0);
    const bool is_well = adding->result == EXIT_ALL_WELL && caught_signal() == 0;
    if (is_well && adding->found == before && stat(path, &found) == 0 && S_ISDIR(found.st_mode)) {
        complain("%s: no file in this folder can be indexed", path);
        note(adding, EXIT_INCOMPLETE);
    }
    note(adding, result);
}

int store_add(struct store_adding *adding, char *const *paths, size_t count) {
    for (size_t i = 0; i < count; i++) take_argument(adding, paths[i]);
    put_summary(adding);
    for (size_t i = 0; i < STORE_ADDED_LISTS; i++) {
        while (adding->added[i] != NULL) {
            struct store_added *added = adding->added[i];
            adding->added[i] = added->next;
            free(added);
        }
    }
    return adding->result;
}
