/* SPDX-License-Identifier: MIT */
/* See state.h: the object files that a Mach-O image was linked from. */
#include "lib/symbolize/module_lines/state.h"

#include "lib/images/object_file.h"

/* Longer than any path that a linker writes. */
#define OBJECT_PATH_MAX 4096

/* Opens an object file of the debug map and finds its lines. Called once for each object file, with the lock held. */
static int open_object(struct uspi_lines *lines, uint32_t number) {
    const struct uspi_mapped_object *mapped = &lines->debug_map.objects[number];
    struct uspi_line_object *object = &lines->objects[number];
    struct uspi_search search = lines->places->search;
    struct uspi_error why = {0};
    struct uspi_macho macho;
    /* An object file has no UUID. */
    const struct uspi_wanted_slice wanted = {.arch = lines->image->arch, .variant = lines->image->variant};
    char path[OBJECT_PATH_MAX];
    object->was_tried = true;
    /* search.file is the image's own file. An object file may lie where the debug map says. */
    search.file = NULL;
    search.as_named = search.as_named || lines->places->process == 0;
    int status = uspi_bytes_string(lines->map_symbols.strings, mapped->path, path, sizeof path, "object file", &why);
    if (status == USP_OK) {
        const struct uspi_object_wanted one = {
            .path = path, .modified = mapped->modified, .headers = &lines->headers, .slice = wanted};
        status = uspi_object_file_open(&search, &one, &object->file, &why);
    }
    if (status == USP_OK) status = uspi_fat_pick(uspi_file_bytes(object->file), &wanted, &macho, &why);
    if (status == USP_OK) status = uspi_macho_symbols(&macho, &object->symbols, &why);
    if (status == USP_OK) {
        object->image = (struct usp_image){.arch = wanted.arch,
                                           .variant = wanted.variant,
                                           .flags = USP_IMAGE_MACHO,
                                           .path = uspi_file_path(object->file)};
        object->lines = uspi_lines_open_without_index(&object->image, lines->places, object->file, lines->cache);
        if (object->lines == NULL) status = USP_ERROR_NO_MEMORY;
    }
    /* A path can be read as a file or as a member of an archive. When one of these is found, the error of the other is
     * dropped. */
    if (status == USP_OK) why = object->lines->problem;
    if (why.status != USP_OK && lines->problem.status == USP_OK) lines->problem = why;
    return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
}

int uspi_lines_object_place(struct uspi_lines *lines, uint64_t address, struct uspi_object_address *place) {
    const struct uspi_mapped_function *function = uspi_debug_map_find(&lines->debug_map, address);
    if (function == NULL) return 0;
    struct uspi_line_object *object = &lines->objects[function->object];
    usp_addr in_object;
    uspi_lock_take(lines->lock);
    int status = object->was_tried ? USP_OK : open_object(lines, function->object);
    uspi_lock_give(lines->lock);
    if (status != USP_OK) return status;
    if (object->lines == NULL) return 0;
    status = uspi_debug_map_place(&lines->map_symbols, function, &object->symbols,
                                  uspi_macho_address_mask(lines->image->arch), &in_object);
    if (status != USP_OK) return 0;
    *place =
        (struct uspi_object_address){object->lines, address - function->start + in_object, function->start - in_object};
    return 1;
}
