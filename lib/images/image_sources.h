/* SPDX-License-Identifier: MIT */
/* Where the files and the memory of images are searched for. */
#ifndef USPI_IMAGES_IMAGE_SOURCES_H
#define USPI_IMAGES_IMAGE_SOURCES_H

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
    const char *build_ids;                     /* a folder of files by build id, as perf keeps one; NULL: none */
    struct usp_image kernel;                   /* of a recording, without its path; all zero: none */
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

/* Makes *search how to search for the image's own file: places->search, whose `file` is used for the main program's
 * image only. Returns USP_OK, or USP_ERROR_NOT_FOUND for an image of the kernel's, which has no file. */
int uspi_search_for_image(const struct usp_image *image, const struct uspi_image_sources *places,
                          struct uspi_search *search, struct uspi_error *error);

/* The memory that holds an image. The caller closes it with uspi_image_memory_close. */
struct uspi_image_memory {
    struct usp_memory memory;
    bool is_opened; /* uspi_image_memory_open has opened it, and uspi_image_memory_close closes it */
};

/* Returns USP_OK, USP_ERROR_NOT_FOUND when `places` has no memory, or what opening failed with. */
int uspi_image_memory_open(const struct uspi_image_sources *places, struct uspi_image_memory *memory);

void uspi_image_memory_close(struct uspi_image_memory *memory);

#endif
