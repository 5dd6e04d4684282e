/* SPDX-License-Identifier: MIT */
/* See dyld_list.h. */
#include "lib/object/dyld_list.h"

#include <inttypes.h>

/* The maximum number of images; the list is untrusted data of the process. */
#define IMAGES_MAX 20000

#define WHAT "the loader's list of images"

/* Reads the fields about the shared cache, which lists of version 15 (iOS 10, macOS 10.12) and later have. */
static void read_cache(struct uspi_dyld_list *list, struct uspi_bytes memory, uint32_t version) {
    bool wide = list->word == 8;
    uint64_t base, slide;
    list->has_cache =
        version >= 15 && uspi_bytes_load(memory, wide ? 176 : 100, list->word, &base, WHAT, NULL) == USP_OK &&
        uspi_bytes_load(memory, wide ? 152 : 80, list->word, &slide, WHAT, NULL) == USP_OK &&
        uspi_bytes_read(memory, wide ? 160 : 84, list->cache.uuid, sizeof list->cache.uuid, WHAT, NULL) == USP_OK &&
        base != 0;
    if (!list->has_cache) return;
    list->cache.base = base;
    list->cache.slide = slide;
}

int uspi_dyld_list_open(struct uspi_dyld_list *list, const struct uspi_source *source, usp_addr infos, bool wide,
                        struct uspi_error *error) {
    uint8_t raw[16];
    struct uspi_bytes memory = uspi_bytes_at(source, infos);
    *list = (struct uspi_dyld_list){.word = wide ? 8 : 4};
    int status = uspi_bytes_read(memory, 0, raw, 8 + list->word, WHAT, error);
    if (status != USP_OK) return status;
    uint32_t count = uspi_le32(raw + 4);
    usp_addr array = uspi_le(raw + 8, list->word);
    if (array == 0 || count == 0) {
        return uspi_bytes_error(error, memory, 0, USP_ERROR_BUSY, WHAT " was being changed");
    }
    if (count > IMAGES_MAX) {
        return uspi_bytes_error(error, memory, 4, USP_ERROR_FORMAT, "a loader's list of %" PRIu32 " images", count);
    }
    uint64_t loader;
    /* dyldImageLoadAddress */
    if (uspi_bytes_load(memory, wide ? 32 : 20, list->word, &loader, WHAT, NULL) == USP_OK) list->loader = loader;
    read_cache(list, memory, uspi_le32(raw));
    list->count = count;
    /* struct dyld_image_info: imageLoadAddress, imageFilePath, imageFileModDate */
    return uspi_bytes_array(uspi_bytes_at(source, array), (struct uspi_array){0, count, 3 * list->word, WHAT},
                            &list->entries, error);
}

int uspi_dyld_list_entry(const struct uspi_dyld_list *list, uint32_t i, usp_addr *load, usp_addr *path,
                         struct uspi_error *error) {
    uint8_t raw[16];
    int status = uspi_bytes_read(list->entries, (uint64_t)i * 3 * list->word, raw, 2 * (size_t)list->word, WHAT, error);
    if (status != USP_OK) return status;
    *load = uspi_le(raw, list->word);
    *path = uspi_le(raw + list->word, list->word);
    return USP_OK;
}
