/* SPDX-License-Identifier: MIT */
/* Opens the file that an image was loaded from, the file with its split debugging symbols, and the memory that it lies
 * in. A file of another build is refused, because its names would be wrong. */
#ifndef USPI_IMAGES_IMAGE_FILE_H
#define USPI_IMAGES_IMAGE_FILE_H

#include "lib/images/image_list.h"
#include "lib/images/pointers.h"
#include "lib/images/search.h"

#include <unspool/dyld_caches.h>
#include <unspool/images.h>
#include <unspool/unwind.h>

/* Where a symbolizer looks for the files and the memory of its images. */
struct uspi_image_sources {
    struct uspi_search search;
    bool in_process;                           /* the images are this process's */
    int64_t process;                           /* the live process that has loaded them; 0: none, or this one */
    const struct usp_memory *memory;           /* the target's memory; NULL: not given */
    struct uspi_pointers pointers;             /* how to read pointers in that memory */
    const struct usp_dyld_caches *dyld_caches; /* for Mach-O images without a file; NULL: none */
    const char *index_store;                   /* a folder of index files (lib/symbolize/store/); NULL: none */
};

/* The root of another process. */
struct uspi_process_root {
    char path[40];     /* /proc/PID/root */
    char inside[1024]; /* what the paths of its images begin with */
};

/* Makes *places those of a process's images (process 0: this one, or none). The files of a process in a container are
 * searched for below its root only: its paths may name other files outside. *root receives that root, and must stay as
 * long as *places; a sysroot that is set in *places takes its place. */
void uspi_places_of_process(struct uspi_image_sources *places, const struct usp_images *images, int64_t process,
                            struct uspi_process_root *root);

/* Opens the file at the image's path or, without one, makes it from a shared cache that has the image. search.file is
 * used for the main program's image only. An image without a build id accepts a file whose id is in the image's memory,
 * and one without an id, unless the image's own file is known to have been replaced. If no file fits, asks the system
 * for the file that a live process has mapped. On success the caller closes *file. Returns USP_OK, USP_ERROR_NOT_FOUND,
 * USP_ERROR_MISMATCH (only files of other builds were found), USP_ERROR_NO_MEMORY, or what opening failed with. */
int uspi_image_file_open(const struct usp_image *image, const struct uspi_image_sources *places,
                         struct uspi_file **file, struct uspi_error *error);

/* Sets the build id of an ELF image whose headers in memory do not lead to it (Go since 1.24): the image's file says
 * where it is mapped, and the memory has to have the same note there. `places` has the memory. An image whose file is
 * not found, or has no build id, is left unchanged. */
void uspi_image_find_build_id(struct usp_image *image, const struct uspi_image_sources *places);

/* Opens the file of debugging symbols of an image. Candidates of an ELF image:
 *   - the file with the image's build id, where Debian installs it, below search.sysroot and below / (also for a
 *     process in a container: it does not choose this path)
 *   - the file that the .gnu_debuglink section of `file` names, if it has the checksum given there: in the folder of
 *     `file`, in .debug/ below that folder, and below /usr/lib/debug
 * Returns what uspi_image_file_open returns. */
int uspi_debug_file_open(const struct usp_image *image, const struct uspi_file *file,
                         const struct uspi_image_sources *places, struct uspi_file **debug, struct uspi_error *error);

/* The memory that holds an image. The caller closes it with uspi_image_memory_close. */
struct uspi_image_memory {
    struct usp_memory memory;
    bool is_opened; /* uspi_image_memory_open has opened it, and uspi_image_memory_close closes it */
};

/* Returns USP_OK, USP_ERROR_NOT_FOUND when `places` has no memory, or what opening failed with. */
int uspi_image_memory_open(const struct uspi_image_sources *places, struct uspi_image_memory *memory);

void uspi_image_memory_close(struct uspi_image_memory *memory);

#endif
