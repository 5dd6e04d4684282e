/* SPDX-License-Identifier: MIT */
/* Selects the image of a file for a sub-command: which image of a fat file or archive, and where it was loaded. */
#ifndef TOOLS_IMAGE_CHOICE_H
#define TOOLS_IMAGE_CHOICE_H

#include <unspool/unspool.h>

/* The base of the addresses. */
enum image_place {
    IMAGE_LINKED, /* the address for which the image was linked */
    IMAGE_LOADED, /* `base` is its load address */
    IMAGE_SLID    /* `base` is its slide */
};

struct image_choice {
    const char *path;
    uint32_t arch;    /* enum usp_arch; USP_ARCH_NONE: the only one in the file, otherwise the host's */
    uint32_t variant; /* enum usp_variant; USP_VARIANT_NONE: any */
    uint8_t build_id[USP_BUILD_ID_MAX];
    uint32_t build_id_size; /* 0: any build */
    enum image_place place;
    usp_addr base;
    const char *base_text; /* `base` as it was given; NULL: it was not */
};

/* Opens a list of only that image; the caller frees *images. Complains. Returns an enum exit_status. */
int choose_image(const struct image_choice *choice, struct usp_images **images);

/* Like choose_image, but in files that are not linked, all images for one processor: the members of an archive, the
 * sections of an object. */
int choose_images(const struct image_choice *choice, struct usp_images **images);

#endif
