/* SPDX-License-Identifier: MIT */
/* The images of a process that crashes, from its mappings. The loader is not asked: another thread may hold its lock, and
 * nothing has to be known beforehand. To have the crashed thread's stack in the file soon, only the images of its frames
 * are searched for at first; all are listed after that. */
#include "lib/crash/kit.h"

#include "lib/base/bisect.h"

void uspi_crash_forget_images(struct uspi_crash_kit *kit) {
    memset(kit->has_tables, 0, kit->image_count * sizeof *kit->has_tables);
    kit->image_count = kit->paths_used = 0;
    kit->adds_images = true;
}

/* Returns the number of the first image above an address. */
static size_t first_above(const struct uspi_crash_kit *kit, usp_addr address) {
    size_t i;
    USPI_FIRST(i, 0, kit->image_count, kit->images[i].load_address > address);
    return i;
}

/* Copies an image's path, and returns its length. On Linux it stays as it is: the file is found by it. */
static size_t copy_path(char *to, size_t size, const char *path) {
    if (uspi_os_kind() == USP_OS_DARWIN) return uspi_crash_hide_homes(to, size, path);
    const size_t length = strlen(path);
    if (length < size) memcpy(to, path, length + 1);
    return length;
}

/* Sorts the images by address (shell sort): loaders that announce images do so in any order. */
static void sort_images(struct uspi_crash_kit *kit) {
    struct usp_image *const images = kit->images;
    for (size_t gap = kit->image_count / 2; gap > 0; gap /= 2) {
        for (size_t i = gap; i < kit->image_count; i++) {
            size_t j = i;
            if (images[j - gap].load_address <= images[i].load_address) continue;
            const struct usp_image moved = images[i];
            for (; j >= gap && images[j - gap].load_address > moved.load_address; j -= gap) images[j] = images[j - gap];
            images[j] = moved;
        }
    }
}

/* Adds an image at the end. */
static int append_image(void *context, const struct usp_image *image) {
    struct uspi_crash_kit *kit = context;
    const size_t at = kit->image_count, room = USPI_CRASH_PATHS - kit->paths_used;
    char *path = kit->paths + kit->paths_used;
    if (at == USPI_CRASH_IMAGES || room == 0) return USP_ERROR_FULL;
    const size_t length = copy_path(path, room, image->path);
    if (length >= room) return USP_ERROR_FULL;
    kit->images[at] = *image;
    kit->images[at].path = path;
    kit->has_tables[at] = false;
    kit->image_count++;
    kit->paths_used += length + 1;
    return USP_OK;
}

/* Adds an image to those that are known. */
static int insert_image(void *context, const struct usp_image *image) {
    struct uspi_crash_kit *kit = context;
    const size_t at = first_above(kit, image->load_address), above = kit->image_count - at;
    const int status = append_image(kit, image);
    if (status != USP_OK) return status;
    const struct usp_image added = kit->images[kit->image_count - 1];
    memmove(&kit->images[at + 1], &kit->images[at], above * sizeof *kit->images);
    memmove(&kit->tables[at + 1], &kit->tables[at], above * sizeof *kit->tables);
    memmove(&kit->has_tables[at + 1], &kit->has_tables[at], above * sizeof *kit->has_tables);
    kit->images[at] = added;
    kit->has_tables[at] = false;
    return USP_OK;
}

int uspi_crash_find_images(struct uspi_crash_kit *kit, struct uspi_os_place *place) {
    struct uspi_images_found found = {.add = append_image, .context = kit};
    uspi_crash_forget_images(kit);
    kit->adds_images = false;
    const int status = uspi_os_images_mapped(kit->room.bytes, &found, place);
    sort_images(kit);
    return status;
}

static const struct usp_image *listed_at(const struct uspi_crash_kit *kit, usp_addr address) {
    const size_t above = first_above(kit, address);
    return above > 0 && address < kit->images[above - 1].end ? &kit->images[above - 1] : NULL;
}

const struct usp_image *uspi_crash_image_at(struct uspi_crash_kit *kit, usp_addr address) {
    const struct usp_image *image = listed_at(kit, address);
    struct uspi_images_found found = {.add = insert_image, .context = kit};
    struct uspi_os_place place = {.address = 0};
    if (image != NULL || !kit->adds_images) return image;
    if (uspi_os_image_mapped(kit->room.bytes, address, &found) == USP_ERROR_UNSUPPORTED) {
        (void)uspi_crash_find_images(kit, &place);
    }
    return listed_at(kit, address);
}
