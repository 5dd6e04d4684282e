/* SPDX-License-Identifier: MIT */
/* Makes a list of images from the executable maps of a process. */
#ifndef USPI_RECORDING_PERF_IMAGES_H
#define USPI_RECORDING_PERF_IMAGES_H

#include "lib/recording/perf_space.h"

/* An image that is being made. */
struct uspi_perf_image {
    struct usp_image image; /* its path is the file's */
    uint32_t file;
    bool has_file;
};

/* Begin with the pointers and the processor set, and the rest zero. */
struct uspi_perf_image_builder {
    struct uspi_perf_files *files;
    struct uspi_core_memory *memory; /* gets the files' segments */
    uint32_t arch;
    struct uspi_perf_image *all;
    size_t count, capacity;
};

/* Adds the images of maps. Several maps of a file at the same slide are one image. Returns false when memory is
 * exhausted. */
bool uspi_perf_images_add(struct uspi_perf_image_builder *builder, const struct uspi_perf_mapping *maps, size_t count,
                          bool is_kernel);

/* Makes the list, and frees what the builder has. Returns false when memory is exhausted. */
bool uspi_perf_images_seal(struct uspi_perf_image_builder *builder, struct usp_images **images);

#endif
