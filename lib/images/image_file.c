/* SPDX-License-Identifier: MIT */
/* See image_file.h. */
#include "lib/images/image_file.h"

#include "lib/images/dyld_image.h"
#include "lib/images/elf_file.h"
#include "lib/images/macho_file.h"
#include "lib/images/part.h"
#include "lib/images/symbol_file.h"

/* A uspi_judge: accepts an ELF file or a file of symbols of the image's build. context: a struct uspi_elf_wanted. */
static int judge_build(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    const struct uspi_elf_wanted *wanted = context;
    if (uspi_symbol_file_is(bytes)) return uspi_symbol_file_judge(wanted->image, bytes, error);
    return uspi_elf_judge(context, bytes, error);
}

/* Opens the file of an ELF image, which may also be a member of an archive or a file of symbols. */
static int open_elf(const struct usp_image *image, const struct uspi_image_sources *places,
                    const struct uspi_search *own, struct uspi_file **file, struct uspi_error *error) {
    const struct uspi_part_location place = {image->path, image->member_offset};
    struct uspi_elf_wanted wanted = {.image = image, .places = places};
    int status = uspi_part_open(own, place, judge_build, &wanted, file, error);
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    return uspi_elf_elsewhere_open(&wanted, file) == USP_OK ? USP_OK : status;
}

/* Opens the file of a Mach-O image. A file of its own is preferred to the shared cache. */
static int open_macho(const struct usp_image *image, const struct uspi_image_sources *places,
                      const struct uspi_search *own, struct uspi_file **file, struct uspi_error *error) {
    struct uspi_error of_cache = {.text = ""};
    int status = uspi_macho_file_open(image, own, file, error);
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    if (places->dyld_caches == NULL || image->build_id_size != USPI_UUID_SIZE) return status;
    const int found = uspi_dyld_image_open(places->dyld_caches, image->build_id, file, &of_cache);
    if (found == USP_OK || found == USP_ERROR_NO_MEMORY) return found;
    /* A cache that has the image and cannot give it says more than a path where nothing is. */
    return found == USP_ERROR_NOT_FOUND ? status : uspi_error_set(error, found, "%s", of_cache.text);
}

int uspi_image_file_open(const struct usp_image *image, const struct uspi_image_sources *places,
                         struct uspi_file **file, struct uspi_error *error) {
    struct uspi_search own;
    *file = NULL;
    int status = uspi_search_for_image(image, places, &own, error);
    if (status != USP_OK) {
        struct uspi_elf_wanted wanted = {.image = image, .places = places};
        const int kept = uspi_kept_file_open(image, places, "vdso", uspi_elf_judge, &wanted, file);
        return kept == USP_OK || kept == USP_ERROR_NO_MEMORY ? kept : status;
    }
    if ((image->flags & USP_IMAGE_MACHO) != 0) return open_macho(image, places, &own, file, error);
    return open_elf(image, places, &own, file, error);
}

int uspi_debug_file_open(const struct usp_image *image, const struct uspi_file *file,
                         const struct uspi_image_sources *places, struct uspi_file **debug, struct uspi_error *error) {
    struct uspi_search own;
    if ((image->flags & USP_IMAGE_MACHO) == 0) return uspi_elf_debug_open(image, file, places, debug, error);
    *debug = NULL;
    int status = uspi_search_for_image(image, places, &own, error);
    return status == USP_OK ? uspi_macho_debug_open(image, &own, debug, error) : status;
}
