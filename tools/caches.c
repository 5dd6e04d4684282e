/* SPDX-License-Identifier: MIT */
/* Implements caches.h. */
#include "tools/caches.h"

#include "tools/command.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool add_shared_cache(struct cache_options *caches, const char *path) {
    const char **paths = realloc(caches->paths, (caches->count + 1) * sizeof *paths);
    if (paths == NULL) {
        complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
        return false;
    }
    paths[caches->count++] = path;
    caches->paths = paths;
    return true;
}

struct noted {
    struct cache_options *caches;
    bool is_quiet;
};

/* Implements usp_dyld_caches_note. */
static void say_note(void *context, const char *text) {
    const struct noted *noted = context;
    noted->caches->is_incomplete = true;
    if (!noted->is_quiet) complain("%s", text);
}

int open_shared_caches(struct cache_options *caches, bool is_quiet) {
    char error[1024];
    struct noted noted = {caches, is_quiet};
    if (caches->count == 0 || caches->set != NULL) return EXIT_ALL_WELL;
    int status = usp_dyld_caches_create(&caches->set);
    if (status != USP_OK) {
        complain("%s", usp_status_string(status));
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < caches->count; i++) {
        status = usp_dyld_caches_add(caches->set, caches->paths[i], say_note, &noted, error, sizeof error);
        if (status == USP_OK) continue;
        complain("%s", error[0] != '\0' ? error : usp_status_string(status));
        return status == USP_ERROR_NO_MEMORY ? EXIT_FAILED : EXIT_NO_TARGET;
    }
    return EXIT_ALL_WELL;
}

bool is_shared_cache(const char *path) {
    static const char magic[] = "dyld_v1";
    char found[sizeof magic - 1] = "";
    struct stat file;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return false;
    const bool is_whole =
        fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && read(fd, found, sizeof found) == (ssize_t)sizeof found;
    close(fd);
    return is_whole && memcmp(found, magic, sizeof found) == 0;
}

/* ---- images of a cache ---- */

static bool is_chosen(const struct cached_choice *choice, const struct usp_image *image) {
    if (choice->arch != USP_ARCH_NONE && choice->arch != image->arch) return false;
    if (choice->variant != USP_VARIANT_NONE && choice->variant != image->variant) return false;
    const bool has_uuid =
        choice->uuid == NULL || (image->build_id_size == 16 && memcmp(image->build_id, choice->uuid, 16) == 0);
    if (!has_uuid || choice->name == NULL) return has_uuid;
    const char *slash = strrchr(image->path, '/');
    return strcmp(image->path, choice->name) == 0 || (slash != NULL && strcmp(slash + 1, choice->name) == 0);
}

/* The images that were chosen, of one cache. */
struct chosen {
    struct usp_image *images; /* owned */
    size_t count;
    const char *path; /* of the cache; NULL: nothing was chosen */
    bool is_ambiguous;
};

/* Adds the chosen images of a cache. Returns an enum usp_status. */
static int add_chosen(const struct cached_choice *choice, const struct usp_images *images, const char *path,
                      uint64_t slide, struct chosen *chosen) {
    const struct usp_image *image;
    for (size_t i = 0; (image = usp_images_get(images, i)) != NULL; i++) {
        if (!is_chosen(choice, image)) continue;
        if (chosen->path != NULL && chosen->path != path) {
            chosen->is_ambiguous = true;
            return USP_OK;
        }
        struct usp_image *grown = realloc(chosen->images, (chosen->count + 1) * sizeof *grown);
        if (grown == NULL) return USP_ERROR_NO_MEMORY;
        chosen->images = grown;
        chosen->path = path;
        struct usp_image moved = *image;
        moved.load_address += slide;
        moved.text_low += slide;
        moved.text_high += slide;
        moved.end += slide;
        moved.slide = slide;
        grown[chosen->count++] = moved;
    }
    return USP_OK;
}

/* Complains that an image is missing, or that the choice is not clear. */
static int complain_of_chosen(const struct cached_choice *choice, const struct chosen *chosen) {
    const char *name = choice->name != NULL ? choice->name : "image";
    if (chosen->count == 0) {
        complain("%s: no shared cache that was given has it", name);
        return EXIT_NO_TARGET;
    }
    if (chosen->is_ambiguous) {
        complain("%s: several shared caches have it; give one of them, or --arch or --uuid", name);
    } else {
        complain("%s has several images; say which by --image PATH or --uuid:", chosen->path);
        for (size_t i = 0; i < chosen->count && i < 16; i++) complain("  %s", chosen->images[i].path);
        if (chosen->count > 16) complain("  and %zu more", chosen->count - 16);
    }
    return EXIT_USAGE;
}

int choose_cached_images(const struct cache_options *caches, const struct cached_choice *choice, uint64_t slide,
                         bool is_one, struct usp_images **images) {
    struct chosen chosen = {0};
    struct usp_dyld_cache cache;
    const size_t count = usp_dyld_caches_count(caches->set);
    struct usp_images **lists = calloc(count + 1, sizeof *lists);
    int status = lists != NULL ? USP_OK : USP_ERROR_NO_MEMORY, result = EXIT_ALL_WELL;
    for (size_t i = 0; status == USP_OK && i < count; i++) {
        usp_dyld_caches_get(caches->set, i, &cache);
        status = usp_dyld_caches_list(caches->set, i, is_one ? 0 : USP_DYLD_STUBS, &lists[i]);
        if (status == USP_OK) status = add_chosen(choice, lists[i], cache.path, slide, &chosen);
    }
    if (status == USP_OK && (chosen.count == 0 || chosen.is_ambiguous || (is_one && chosen.count > 1))) {
        result = complain_of_chosen(choice, &chosen);
    } else if (status == USP_OK) {
        status = usp_images_create(chosen.images, chosen.count, images);
    }
    for (size_t i = 0; lists != NULL && i < count; i++) usp_images_free(lists[i]);
    free(lists);
    free(chosen.images);
    if (status == USP_OK) return result;
    complain("%s", usp_status_string(status));
    return EXIT_FAILED;
}

void shared_caches_clear(struct cache_options *caches) {
    usp_dyld_caches_free(caches->set);
    free(caches->paths);
    *caches = (struct cache_options){0};
}
