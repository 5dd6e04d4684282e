/* SPDX-License-Identifier: MIT */
/* Opens the files of an ELF image: the file it was loaded from, and the file with its debugging symbols. The build id
 * decides whether a file is accepted. Callers whose images can have another format use image_file.h. */
#ifndef USPI_IMAGES_ELF_FILE_H
#define USPI_IMAGES_ELF_FILE_H

#include "lib/images/image_sources.h"
#include "lib/object/elf.h"

/* Opens the file at the image's path. Does what uspi_image_file_open does for an ELF image, except that members of
 * archives and files of symbols are not opened. */
int uspi_elf_file_open(const struct usp_image *image, const struct uspi_image_sources *places, struct uspi_file **file,
                       struct uspi_error *error);

/* Opens the file of debugging symbols of an ELF image. Candidates:
 *   - the file with the image's build id, where Debian installs it, below search.sysroot and below / (also for a
 *     process in a container: it does not choose this path)
 *   - the file that the .gnu_debuglink section of `file` names, if it has the checksum given there: in the folder of
 *     `file`, in .debug/ below that folder, and below /usr/lib/debug
 * Returns what uspi_image_file_open returns. */
int uspi_elf_debug_open(const struct usp_image *image, const struct uspi_file *file,
                        const struct uspi_image_sources *places, struct uspi_file **debug, struct uspi_error *error);

/* Sets the build id of an ELF image whose headers in memory do not lead to it (Go since 1.24): the image's file says
 * where it is mapped, and the memory has to have the same note there. `places` has the memory. An image whose file is
 * not found, or has no build id, is left unchanged. */
void uspi_elf_find_build_id(struct usp_image *image, const struct uspi_image_sources *places);

/* ---- for image_file.c ---- */

/* An image whose file is searched for. */
struct uspi_elf_wanted {
    const struct usp_image *image;
    const struct uspi_image_sources *places;
    struct uspi_build_id found; /* the build id that the image's memory was found to have; size 0: none */
};

/* A uspi_judge: accepts an ELF file of the image's build. context: a struct uspi_elf_wanted. */
int uspi_elf_judge(void *context, struct uspi_bytes bytes, struct uspi_error *error);

/* Opens the file of an image that is not at its path: the one that a live process has mapped, which the system is asked
 * for, or the one that places->build_ids has. Returns USP_OK, or another status when there is none or it is of another
 * build. */
int uspi_elf_elsewhere_open(struct uspi_elf_wanted *wanted, struct uspi_file **file);

/* Opens what places->build_ids has of an image's build, if `judge` accepts it. perf names the files there "elf",
 * "vdso" and "kallsyms". Returns USP_OK, USP_ERROR_NOT_FOUND, what uspi_search_open returns, or USP_ERROR_NO_MEMORY. */
int uspi_kept_file_open(const struct usp_image *image, const struct uspi_image_sources *places, const char *name,
                        uspi_judge judge, void *context, struct uspi_file **file);

#endif
