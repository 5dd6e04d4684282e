/* SPDX-License-Identifier: MIT */
/* See object_lines.h. */
#include "lib/symbolize/jit/object_lines.h"

#include "lib/base/array.h"

#include <stdlib.h>

/* The maximum number of bytes of open objects, and of their blocks. When it is reached, all objects are closed, and
 * opened again when needed. One object may be as large as gdb_jit.c allows. */
#define COPIED_MAX (UINT64_C(64) << 20)
#define BLOCKS_MAX ((size_t)16 << 20)

struct uspi_open_object {
    struct usp_image image;
    struct uspi_file *file; /* a copy of the object's bytes; NULL: they could not be read */
    struct uspi_lines *lines;
};

int uspi_jit_objects_add(struct uspi_jit_objects *objects, uint32_t arch, usp_addr address, uint64_t size,
                         uint32_t *number) {
    if (!uspi_room_for(&objects->all, &objects->capacity, objects->count, 1, sizeof *objects->all))
        return USP_ERROR_NO_MEMORY;
    objects->all[objects->count++] = (struct uspi_jit_object){.address = address, .size = size, .arch = arch};
    *number = (uint32_t)objects->count;
    return USP_OK;
}

static void close_object(struct uspi_open_object *open) {
    if (open == NULL) return;
    uspi_lines_close(open->lines);
    uspi_file_close(open->file);
    free(open);
}

/* Closes all open objects. */
static void close_all(struct uspi_jit_objects *objects) {
    if (objects->has_cache) uspi_cache_empty(&objects->cache);
    for (size_t i = 0; i < objects->count; i++) {
        close_object(objects->all[i].open);
        objects->all[i].open = NULL;
    }
    objects->copied = 0;
}

void uspi_jit_objects_forget(struct uspi_jit_objects *objects) {
    close_all(objects);
    objects->count = 0;
}

void uspi_jit_objects_clear(struct uspi_jit_objects *objects) {
    uspi_jit_objects_forget(objects);
    if (objects->has_cache) uspi_cache_clear(&objects->cache);
    free(objects->all);
    *objects = (struct uspi_jit_objects){0};
}

/* Copies an object's bytes. Returns USP_OK even if they cannot be read. */
static int copy_object(const struct uspi_jit_object *object, const struct usp_memory *memory,
                       struct uspi_open_object *open) {
    const size_t size = (size_t)object->size;
    uint8_t *copy = malloc(size);
    if (copy == NULL) return USP_ERROR_NO_MEMORY;
    int status = memory->read(memory->context, object->address, copy, size);
    if (status == USP_OK) status = uspi_file_of_bytes(open->image.path, copy, size, &open->file);
    if (status != USP_OK) free(copy);
    return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
}

static int open_object(struct uspi_jit_objects *objects, struct uspi_jit_object *object,
                       const struct uspi_jit_frames *wanted) {
    if (!objects->has_cache) objects->has_cache = uspi_cache_init(&objects->cache, BLOCKS_MAX);
    if (!objects->has_cache) return USP_ERROR_NO_MEMORY;
    if (objects->copied > 0 && object->size > COPIED_MAX - objects->copied) close_all(objects);
    struct uspi_open_object *open = calloc(1, sizeof *open);
    if (open == NULL) return USP_ERROR_NO_MEMORY;
    open->image = (struct usp_image){.arch = object->arch, .path = "JIT object"};
    int status = copy_object(object, wanted->memory, open);
    if (status == USP_OK && open->file != NULL) {
        open->lines = uspi_lines_open_in_memory(&open->image, wanted->places, open->file, &objects->cache);
        if (open->lines == NULL) status = USP_ERROR_NO_MEMORY;
    }
    if (status != USP_OK) {
        close_object(open);
        return status;
    }
    object->open = open;
    objects->copied += object->size < COPIED_MAX - objects->copied ? object->size : COPIED_MAX - objects->copied;
    return USP_OK;
}

int uspi_jit_object_frames(struct uspi_jit_objects *objects, uint32_t number, usp_addr address,
                           const struct uspi_jit_frames *wanted) {
    struct uspi_lines_answer answers[USPI_MAP_BLOCKS];
    if (number == 0 || number > objects->count) return USP_OK;
    struct uspi_jit_object *object = &objects->all[number - 1];
    int status = object->open != NULL ? USP_OK : open_object(objects, object, wanted);
    if (status != USP_OK || object->open->lines == NULL) return status;
    const uint32_t ticket = uspi_epoch_enter(&objects->cache.readers);
    int count = uspi_lines_find(object->open->lines, address, answers);
    if (count > 0 && uspi_lines_frames(wanted->paths, wanted->names, answers, address, wanted->lines) != USP_OK)
        wanted->lines->count = 0;
    uspi_epoch_leave(&objects->cache.readers, ticket);
    return count == USP_ERROR_NO_MEMORY ? count : USP_OK;
}
