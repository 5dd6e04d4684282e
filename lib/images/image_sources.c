/* SPDX-License-Identifier: MIT */
/* See image_sources.h. */
#include "lib/images/image_sources.h"

#include "lib/os/os.h"

#include <inttypes.h>
#include <stdio.h>

void uspi_places_of_process(struct uspi_image_sources *places, const struct usp_images *images, int64_t process,
                            struct uspi_process_root *root) {
    const enum uspi_files_seen files = process == 0 ? USPI_FILES_SAME : uspi_images_files_seen(images, process);
    places->process = process;
    places->search.inside = NULL;
    places->search.as_named = files == USPI_FILES_SAME;
    if (files == USPI_FILES_SAME) return;
    if (uspi_os_root_path(process, root->inside, sizeof root->inside)) {
        places->search.inside = root->inside;
        places->search.as_named = files == USPI_FILES_JAILED;
    }
    if (places->search.sysroot != NULL) return;
    snprintf(root->path, sizeof root->path, "/proc/%" PRId64 "/root", process);
    places->search.sysroot = root->path;
}

int uspi_search_for_image(const struct usp_image *image, const struct uspi_image_sources *places,
                          struct uspi_search *search, struct uspi_error *error) {
    *search = places->search;
    if ((image->flags & USP_IMAGE_MAIN) == 0) search->file = NULL;
    if ((image->flags & USP_IMAGE_KERNEL) == 0) return USP_OK;
    return uspi_error_set(error, USP_ERROR_NOT_FOUND, "%s: the kernel's, without a file", image->path);
}

int uspi_image_memory_open(const struct uspi_image_sources *places, struct uspi_image_memory *memory) {
    memory->is_opened = false;
    if (places->memory != NULL) {
        memory->memory = *places->memory;
        return USP_OK;
    }
    if (places->in_process) {
        memory->memory = (struct usp_memory){uspi_os_read, NULL};
        return USP_OK;
    }
    if (places->process == 0) return USP_ERROR_NOT_FOUND;
    int status = uspi_os_process_memory_open(places->process, &memory->memory);
    memory->is_opened = status == USP_OK;
    return status;
}

void uspi_image_memory_close(struct uspi_image_memory *memory) {
    if (memory->is_opened) uspi_os_process_memory_close(&memory->memory);
}
