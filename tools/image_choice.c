/* SPDX-License-Identifier: MIT */
/* Implements image_choice.h. */
#include "tools/image_choice.h"
#include "tools/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int open_images(const char *path, const struct usp_image_file_options *options, struct usp_images **images) {
    char error[1024] = "";
    int status = usp_images_open(path, options, images, error, sizeof error);
    if (status == USP_OK) return EXIT_ALL_WELL;
    complain("%s", error[0] != '\0' ? error : usp_status_string(status));
    return status == USP_ERROR_NO_MEMORY ? EXIT_FAILED : EXIT_NO_TARGET;
}

static void write_build_id(char *to, size_t capacity, const struct usp_image *image) {
    size_t used = 0;
    to[0] = '\0';
    for (uint32_t i = 0; i < image->build_id_size && used + 3 <= capacity; i++) {
        used += (size_t)snprintf(to + used, capacity - used, "%02x", image->build_id[i]);
    }
}

static bool is_part(const struct usp_image *image) { return image->member_offset != 0 || image->section != 0; }

/* Returns the length of the part of a path that names the object, without a section. */
static size_t object_length(const struct usp_image *image) {
    const char *section = image->section != 0 ? strstr(image->path, "):(") : NULL;
    return section != NULL ? (size_t)(section - image->path) + 1 : strlen(image->path);
}

/* Whether another member of an archive has the same name. */
static bool is_name_shared(const struct usp_images *images, const struct usp_image *image) {
    const size_t length = object_length(image);
    const struct usp_image *other;
    for (size_t i = 0; (other = usp_images_get(images, i)) != NULL; i++) {
        if (other->member_offset == image->member_offset || object_length(other) != length) continue;
        if (memcmp(other->path, image->path, length) == 0) return true;
    }
    return false;
}

/* Prints a path that selects the image, or its member if there are several members. */
static void complain_of_part(const struct usp_images *images, const struct usp_image *image, bool is_member) {
    const char *arch = usp_variant_string(image->arch, image->variant);
    const size_t length = object_length(image);
    const char *section = is_member ? "" : image->path + length;
    if (is_member && is_name_shared(images, image)) {
        complain("  %s %.*s at %" PRIu64 ")%s", arch, (int)length - 1, image->path, image->member_offset, section);
    } else {
        complain("  %s %.*s%s", arch, (int)length, image->path, section);
    }
}

#define CHOICES_MAX 16

/* Prints what there is to choose from: images, or members if there are several. */
static void complain_of_choice(const char *path, const struct usp_images *images) {
    const struct usp_image *image = usp_images_get(images, 0), *last = NULL;
    size_t count = 0;
    const size_t all = usp_images_count(images);
    const bool are_members = usp_images_get(images, all - 1)->member_offset != image->member_offset;
    complain("%s has several images; say which by %s:", path, is_part(image) ? "its path" : "--arch or --uuid");
    for (size_t i = 0; i < all; i++) {
        char build_id[2 * USP_BUILD_ID_MAX + 1];
        image = usp_images_get(images, i);
        if (are_members && last != NULL && last->member_offset == image->member_offset) continue;
        last = image;
        if (++count > CHOICES_MAX) continue;
        write_build_id(build_id, sizeof build_id, image);
        if (is_part(image)) {
            complain_of_part(images, image, are_members);
        } else {
            complain("  %s %s", usp_variant_string(image->arch, image->variant),
                     build_id[0] != '\0' ? build_id : "(no UUID)");
        }
    }
    if (count > CHOICES_MAX) complain("  and %zu more", count - CHOICES_MAX);
}

/* Returns the processor to choose if the images are for several: this machine's, if one is for it. Otherwise
 * USP_ARCH_NONE. */
static uint32_t processor_of(const struct usp_images *images) {
    const struct usp_image *image;
    bool differ = false, has_own = false;
    for (size_t i = 0; (image = usp_images_get(images, i)) != NULL; i++) {
        if (image->arch != usp_images_get(images, 0)->arch) differ = true;
        if (image->arch == usp_arch_host()) has_own = true;
    }
    return differ && has_own ? usp_arch_host() : USP_ARCH_NONE;
}

/* Opens all images that match the choice. */
static int open_chosen(const struct image_choice *choice, struct usp_images **images) {
    struct usp_image_file_options options;
    usp_image_file_options_init(&options);
    /* Reports an error if there are no names, because the user asks for names. */
    options.flags = USP_IMAGE_FILE_NAMED;
    options.arch = choice->arch;
    options.variant = choice->variant;
    options.build_id_size = choice->build_id_size;
    memcpy(options.build_id, choice->build_id, sizeof options.build_id);
    int result = open_images(choice->path, &options, images);
    if (result != EXIT_ALL_WELL || choice->arch != USP_ARCH_NONE) return result;
    options.arch = processor_of(*images);
    if (options.arch == USP_ARCH_NONE || choice->build_id_size != 0) return EXIT_ALL_WELL;
    usp_images_free(*images);
    return open_images(choice->path, &options, images);
}

/* Moves the only image of a list to the load address that the choice gives. */
static int place_image(const struct image_choice *choice, struct usp_images **images) {
    struct usp_image image = *usp_images_get(*images, 0);
    struct usp_images *placed;
    const usp_addr load = choice->place == IMAGE_SLID ? image.load_address + choice->base : choice->base;
    const uint64_t size = image.end - image.load_address, moved = load - image.load_address;
    if (size > UINT64_MAX - load) {
        complain("%s: the image is too large for the load address that was given", image.path);
        return EXIT_NO_TARGET;
    }
    image.load_address = load;
    image.end = load + size;
    image.text_low += moved;
    image.text_high += moved;
    image.slide += moved;
    int status = usp_images_create(&image, 1, &placed);
    if (status != USP_OK) {
        complain("%s: %s", image.path, usp_status_string(status));
        return EXIT_FAILED;
    }
    usp_images_free(*images);
    *images = placed;
    return EXIT_ALL_WELL;
}

int choose_images(const struct image_choice *choice, struct usp_images **images) {
    int result = open_chosen(choice, images);
    if (result != EXIT_ALL_WELL) return result;
    const size_t count = usp_images_count(*images);
    uint32_t arch = usp_images_get(*images, 0)->arch;
    bool are_parts = true;
    for (size_t i = 0; i < count; i++) {
        const struct usp_image *image = usp_images_get(*images, i);
        are_parts = are_parts && is_part(image) && image->arch == arch;
    }
    if (count == 1 || are_parts) return EXIT_ALL_WELL;
    complain_of_choice(choice->path, *images);
    usp_images_free(*images);
    return EXIT_USAGE;
}

int choose_image(const struct image_choice *choice, struct usp_images **images) {
    int result = open_chosen(choice, images);
    if (result != EXIT_ALL_WELL) return result;
    if (usp_images_count(*images) != 1) {
        complain_of_choice(choice->path, *images);
        result = EXIT_USAGE;
    } else if (choice->place != IMAGE_LINKED) {
        result = place_image(choice, images);
    }
    if (result != EXIT_ALL_WELL) usp_images_free(*images);
    return result;
}
