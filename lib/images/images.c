/* SPDX-License-Identifier: MIT */
/* Makes lists of images for the caller: of another process, or from recorded entries. own_images.c lists this process's
 * images, images_file.c those in a file. */
#include "arch/backend.h"
#include "lib/images/elf_file.h"
#include "lib/images/image_list.h"
#include "lib/os/os.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int add(void *list, const struct usp_image *image) { return uspi_image_list_add(list, image); }

static int add_data(void *list, usp_addr low, usp_addr high) { return uspi_image_list_add_data(list, low, high); }

void uspi_images_receive(struct uspi_images_found *found, struct uspi_image_list *list) {
    *list = (struct uspi_image_list){0};
    *found = (struct uspi_images_found){.add = add, .add_data = add_data, .context = list};
}

int uspi_images_seal_received(const struct uspi_images_found *found, int status, struct usp_images **images) {
    struct uspi_image_list *list = found->context;
    *images = NULL;
    if (status != USP_OK) {
        uspi_image_list_clear(list);
        return status;
    }
    list->has_cache = found->has_cache;
    list->cache = found->cache;
    list->files = found->files;
    return uspi_image_list_seal(list, images);
}

int uspi_images_seal_found(int (*find)(void *context, struct uspi_images_found *found), void *context,
                           struct usp_images **images) {
    struct uspi_image_list list;
    struct uspi_images_found found;
    uspi_images_receive(&found, &list);
    return uspi_images_seal_received(&found, find(context, &found), images);
}

/* Arguments of uspi_os_images_process. */
struct process {
    int64_t pid;
    char *error;
    size_t error_size;
};

void uspi_image_list_find_build_ids(struct uspi_image_list *list, int64_t pid) {
    const struct uspi_image_sources places = {.search = {.as_named = true}, .process = pid};
    for (size_t i = 0; i < list->count; i++) uspi_elf_find_build_id(&list->images[i], &places);
}

static int find_of_process(void *context, struct uspi_images_found *found) {
    const struct process *process = context;
    int status = uspi_os_images_process(process->pid, found, process->error, process->error_size);
    if (status == USP_OK) uspi_image_list_find_build_ids(found->context, process->pid);
    return status;
}

int usp_images_create_process(int64_t pid, struct usp_images **images, char *error, size_t error_size) {
    struct process process = {pid, error, error != NULL ? error_size : 0};
    if (process.error_size > 0) error[0] = '\0';
    if (images == NULL) return USP_ERROR_ARGUMENT;
    int status = uspi_images_seal_found(find_of_process, &process, images);
    if (status != USP_OK && process.error_size > 0 && error[0] == '\0') {
        snprintf(error, process.error_size, "process %" PRId64 ": %s", pid, usp_status_string(status));
    }
    return status;
}

#define KNOWN_FLAGS                                                                                                    \
    (USP_IMAGE_MAIN | USP_IMAGE_KERNEL | USP_IMAGE_DELETED | USP_IMAGE_MACHO | USP_IMAGE_LOADER |                      \
     USP_IMAGE_PERMANENT | USP_IMAGE_TEXT_OFFSET)

/* Returns whether a recorded entry is a possible image: ranges in order, known processor, variant and flags. */
static bool makes_sense(const struct usp_image *image) {
    bool has_text = image->text_low != 0 || image->text_high != 0;
    if (image->end < image->load_address || image->build_id_size > USP_BUILD_ID_MAX) return false;
    if (!uspi_arch_is_known(image->arch) || !uspi_variant_is_known(image->variant)) return false;
    if ((image->flags & ~(uint32_t)KNOWN_FLAGS) != 0) return false;
    if ((uint64_t)image->hole_offset + image->hole_size > image->end - image->load_address) return false;
    if (!has_text) return true;
    return image->text_low >= image->load_address && image->text_low <= image->text_high &&
           image->text_high <= image->end;
}

static int add_recorded(const struct usp_image *entry, struct uspi_image_list *list) {
    struct usp_image image = *entry;
    if (!makes_sense(entry)) return USP_ERROR_ARGUMENT;
    if (image.text_high == 0) image.text_low = image.text_high = image.load_address;
    memset(image.build_id + image.build_id_size, 0, sizeof image.build_id - image.build_id_size);
    return uspi_image_list_add(list, &image);
}

static bool overlap(const struct usp_images *images) {
    for (size_t i = 1; i < usp_images_count(images); i++) {
        if (usp_images_get(images, i - 1)->end > usp_images_get(images, i)->load_address) return true;
    }
    return false;
}

int usp_images_create(const struct usp_image *entries, size_t count, struct usp_images **images) {
    struct uspi_image_list list = {0};
    int status = USP_OK;
    if (images == NULL) return USP_ERROR_ARGUMENT;
    *images = NULL;
    if (entries == NULL && count > 0) return USP_ERROR_ARGUMENT;
    for (size_t i = 0; status == USP_OK && i < count; i++) status = add_recorded(&entries[i], &list);
    if (status != USP_OK) {
        uspi_image_list_clear(&list);
        return status;
    }
    status = uspi_image_list_seal(&list, images);
    if (status != USP_OK || !overlap(*images)) return status;
    usp_images_free(*images);
    *images = NULL;
    return USP_ERROR_ARGUMENT;
}
