/* SPDX-License-Identifier: MIT */
/* See perf_files.h. */
#include "lib/recording/perf_files.h"

#include "lib/base/hash.h"
#include "lib/images/image_file.h"

#include <stdlib.h>

#define DELETED " (deleted)"

/* A path and its build id. */
struct listed_id {
    struct uspi_item item;
    char *path;
    struct uspi_build_id id;
};

bool uspi_perf_files_init(struct uspi_perf_files *files, const char *sysroot, const char *build_ids) {
    *files = (struct uspi_perf_files){
        .allowance = {.limit = UINT64_MAX},
        .places = {.search = {.sysroot = sysroot, .as_named = true}, .build_ids = build_ids},
    };
    return uspi_pool_init(&files->pool, sizeof(struct uspi_perf_file), 64, false, &files->allowance) &&
           uspi_pool_init(&files->ids, sizeof(struct listed_id), 64, false, &files->allowance);
}

void uspi_perf_files_clear(struct uspi_perf_files *files) {
    for (uint32_t i = 0; i < files->pool.begun; i++) {
        uspi_file_close(uspi_perf_file(files, i)->file);
        free(uspi_perf_file(files, i)->path);
    }
    for (uint32_t i = 0; i < files->ids.begun; i++) free(((struct listed_id *)uspi_pool_at(&files->ids, i))->path);
    uspi_pool_free(&files->pool);
    uspi_pool_free(&files->ids);
}

static uint32_t hash_path(const char *path, size_t length) {
    const uint64_t hash = uspi_hash_bytes(path, length);
    return (uint32_t)(hash ^ hash >> 32);
}

/* What a file is found by. */
struct key {
    const char *path;
    size_t length;
    const struct uspi_build_id *id;
    bool is_deleted;
};

static bool is_path(const char *path, const struct key *key) {
    return strncmp(path, key->path, key->length) == 0 && path[key->length] == '\0';
}

static bool is_listed(const void *item, const void *key) {
    return is_path(((const struct listed_id *)item)->path, key);
}

static bool is_file(const void *item, const void *key) {
    const struct uspi_perf_file *file = item;
    const struct key *wanted = key;
    return file->is_deleted == wanted->is_deleted && file->id.size == wanted->id->size &&
           memcmp(file->id.bytes, wanted->id->bytes, wanted->id->size) == 0 && is_path(file->path, wanted);
}

static char *copy_path(const char *path, size_t length) {
    char *copy = malloc(length + 1);
    if (copy == NULL) return NULL;
    memcpy(copy, path, length);
    copy[length] = '\0';
    return copy;
}

int uspi_perf_files_keep_id(struct uspi_perf_files *files, const char *path, size_t length,
                            const struct uspi_build_id *id) {
    const uint32_t hash = hash_path(path, length);
    const struct key key = {path, length, id, false};
    uint32_t i = uspi_pool_find(&files->ids, hash, is_listed, &key);
    if (i == USPI_NONE) {
        char *copy = copy_path(path, length);
        i = copy != NULL ? uspi_pool_add(&files->ids, hash) : USPI_NONE;
        if (i == USPI_NONE) {
            free(copy);
            return USP_ERROR_NO_MEMORY;
        }
        ((struct listed_id *)uspi_pool_at(&files->ids, i))->path = copy;
    }
    ((struct listed_id *)uspi_pool_at(&files->ids, i))->id = *id;
    static const struct uspi_build_id none = {0};
    const struct key nameless = {path, length, &none, false};
    const uint32_t known = uspi_pool_find(&files->pool, hash, is_file, &nameless);
    if (known != USPI_NONE && !uspi_perf_file(files, known)->was_opened) uspi_perf_file(files, known)->id = *id;
    return USP_OK;
}

uint32_t uspi_perf_files_know(struct uspi_perf_files *files, const char *path, size_t length,
                              const struct uspi_build_id *id) {
    struct key key = {path, length, id, false};
    const size_t suffix = sizeof DELETED - 1;
    if (length > suffix && memcmp(path + length - suffix, DELETED, suffix) == 0) {
        key.length -= suffix;
        key.is_deleted = true;
    }
    const uint32_t hash = hash_path(path, key.length);
    if (id->size == 0 && !key.is_deleted) {
        const uint32_t listed = uspi_pool_find(&files->ids, hash, is_listed, &key);
        if (listed != USPI_NONE) key.id = &((struct listed_id *)uspi_pool_at(&files->ids, listed))->id;
    }
    const struct uspi_build_id wanted = *key.id;
    key.id = &wanted;
    uint32_t i = uspi_pool_find(&files->pool, hash, is_file, &key);
    if (i != USPI_NONE) return i;
    char *copy = copy_path(path, key.length);
    i = copy != NULL ? uspi_pool_add(&files->pool, hash) : USPI_NONE;
    if (i == USPI_NONE) {
        free(copy);
        return i;
    }
    struct uspi_perf_file *file = uspi_perf_file(files, i);
    file->path = copy;
    file->id = wanted;
    file->is_deleted = key.is_deleted;
    return i;
}

/* ---- opening ---- */

/* A uspi_judge: accepts any linked ELF file, when no build id is known. */
static int judge_any(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    struct uspi_elf elf;
    (void)context;
    int status = uspi_elf_open(&elf, bytes, error);
    if (status == USP_OK && elf.type != USPI_ET_EXEC && elf.type != USPI_ET_DYN) status = USP_ERROR_MISMATCH;
    return status;
}

static struct uspi_file *find_file(const struct uspi_perf_files *files, const struct uspi_perf_file *wanted) {
    struct uspi_file *file = NULL;
    if (wanted->id.size > 0) {
        struct usp_image image = {.path = wanted->path, .build_id_size = wanted->id.size};
        memcpy(image.build_id, wanted->id.bytes, wanted->id.size);
        if (uspi_perf_is_vdso(wanted)) image.flags = USP_IMAGE_KERNEL;
        (void)uspi_image_file_open(&image, &files->places, &file, NULL);
    } else if (!wanted->is_deleted && !uspi_perf_is_vdso(wanted)) {
        (void)uspi_search_open(&files->places.search, wanted->path, judge_any, NULL, &file, NULL);
    }
    return file;
}

struct uspi_perf_file *uspi_perf_files_open(struct uspi_perf_files *files, uint32_t number) {
    struct uspi_perf_file *file = uspi_perf_file(files, number);
    if (file->was_opened) return file;
    file->was_opened = true;
    file->build = file->id;
    if (file->path[0] != '/' && !uspi_perf_is_vdso(file)) return file;
    file->file = find_file(files, file);
    if (file->file == NULL) return file;
    if (uspi_elf_open(&file->elf, uspi_file_bytes(file->file), NULL) != USP_OK ||
        uspi_elf_extent(&file->elf, &file->extent, NULL) != USP_OK) {
        uspi_file_close(file->file);
        file->file = NULL;
        return file;
    }
    if (file->build.size == 0 && uspi_elf_build_id(&file->elf, &file->build, NULL) != USP_OK) file->build.size = 0;
    return file;
}
