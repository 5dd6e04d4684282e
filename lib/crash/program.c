/* SPDX-License-Identifier: MIT */
/* Which program this is: runs of the same program follow each other. */
#include "lib/crash/kit.h"

void uspi_crash_find_program(struct uspi_os_run *run) {
    uint32_t ticket;
    if (run->program[0] != '\0') return;
    const struct usp_images *images = usp_images_acquire(&ticket);
    for (size_t i = 0; i < usp_images_count(images); i++) {
        const struct usp_image *image = usp_images_get(images, i);
        if ((image->flags & USP_IMAGE_MAIN) != 0) uspi_crash_copy_text(run->program, sizeof run->program, image->path);
    }
    usp_images_release(ticket);
}

void uspi_crash_name_program(char name[USPI_CRASH_PROGRAM], const char *path) {
    const char *slash = strrchr(path, '/');
    uspi_crash_copy_text(name, USPI_CRASH_PROGRAM, slash != NULL ? slash + 1 : path);
    name[strcspn(name, "\n")] = '\0';
}
