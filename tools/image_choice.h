/* SPDX-License-Identifier: MIT */
/* The image of a file that a sub-command is about: which of a fat file's or an archive's, and where it was loaded. */
#ifndef TOOL_IMAGE_CHOICE_H
#define TOOL_IMAGE_CHOICE_H

#include <unspool/unspool.h>

/* What the addresses count from. */
enum image_place {
    IMAGE_LINKED, /* where the image was linked for */
    IMAGE_LOADED, /* `base` is its load address */
    IMAGE_SLID    /* `base` is its slide */
};

struct image_choice {
    const char *path;
    uint32_t arch;    /* enum usp_arch; USP_ARCH_NONE: the only one there is, or else the host's */
    uint32_t variant; /* enum usp_variant; USP_VARIANT_NONE: any */
    uint8_t build_id[USP_BUILD_ID_MAX];
    uint32_t build_id_size; /* 0: any build */
    enum image_place place;
    usp_addr base;
};

/* A list of that image alone; *images is the caller's to free. Complains. Returns an enum exit_status. */
int choose_image(const struct image_choice *choice, struct usp_images **images);

/* The same, but of what is not linked all images for one processor: the members of an archive, the sections of an object. */
int choose_images(const struct image_choice *choice, struct usp_images **images);

#endif
