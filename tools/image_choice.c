/* SPDX-License-Identifier: MIT */
/* See image_choice.h. */
#include "tools/image_choice.h"
#include "tools/command.h"

#include <stdio.h>
#include <string.h>

static int open_images(const char *path, const struct usp_image_file_options *options, struct usp_images **images) {
    char error[1024] = "";
    int status = usp_images_file(path, options, images, error, sizeof error);
    if (status == USP_OK) return EXIT_ALL_WELL;
    complain("%s", error[0] != '\0' ? error : usp_strerror(status));
    return status == USP_ERROR_NO_MEMORY ? EXIT_FAILED : EXIT_NO_TARGET;
}

static void write_build_id(char *to, size_t room, const struct usp_image *image) {
    size_t used = 0;
    to[0] = '\0';
    for (uint32_t i = 0; i < image->build_id_size && used + 3 <= room; i++) {
        used += (size_t)snprintf(to + used, room - used, "%02x", image->build_id[i]);
    }
}

/* Says what there is to choose from. */
static void complain_of_choice(const char *path, const struct usp_images *images) {
    const struct usp_image *image;
    complain("%s has several images; say which by --arch or --uuid:", path);
    for (size_t i = 0; (image = usp_images_get(images, i)) != NULL; i++) {
        char build_id[2 * USP_BUILD_ID_MAX + 1];
        write_build_id(build_id, sizeof build_id, image);
        complain("  %s %s", usp_arch_name(image->arch), build_id[0] != '\0' ? build_id : "(no UUID)");
    }
}

/* The only image for a processor; NULL when there is none, or more than one. */
static const struct usp_image *only_one(const struct usp_images *images, uint32_t arch) {
    const struct usp_image *image, *only = NULL;
    for (size_t i = 0; (image = usp_images_get(images, i)) != NULL; i++) {
        if (arch != USP_ARCH_NONE && image->arch != arch) continue;
        if (only != NULL) return NULL;
        only = image;
    }
    return only;
}

int choose_image(const struct image_choice *choice, struct usp_images **images) {
    struct usp_image_file_options options;
    usp_image_file_options_init(&options);
    options.arch = choice->arch;
    options.build_id_size = choice->build_id_size;
    memcpy(options.build_id, choice->build_id, sizeof options.build_id);
    int result = open_images(choice->path, &options, images);
    if (result != EXIT_ALL_WELL) return result;
    const struct usp_image *chosen = only_one(*images, USP_ARCH_NONE);
    if (chosen == NULL && choice->arch == USP_ARCH_NONE) chosen = only_one(*images, usp_arch_host());
    if (chosen == NULL) {
        complain_of_choice(choice->path, *images);
        usp_images_free(*images);
        return EXIT_USAGE;
    }
    if (choice->place == IMAGE_LINKED && usp_images_count(*images) == 1) return EXIT_ALL_WELL;
    options.arch = chosen->arch;
    options.build_id_size = chosen->build_id_size;
    memcpy(options.build_id, chosen->build_id, sizeof options.build_id);
    options.flags = choice->place != IMAGE_LINKED ? USP_IMAGE_FILE_LOADED : 0;
    options.load_address = choice->place == IMAGE_SLID ? chosen->load_address + choice->base : choice->base;
    usp_images_free(*images);
    return open_images(choice->path, &options, images);
}
