/* SPDX-License-Identifier: MIT */
/* The files that a recording's maps name: each is opened once, if it is the build that was mapped. */
#ifndef USPI_RECORDING_PERF_FILES_H
#define USPI_RECORDING_PERF_FILES_H

#include "lib/base/pool.h"
#include "lib/images/image_sources.h"
#include "lib/object/elf.h"

struct uspi_file; /* lib/images/file.h */

struct uspi_perf_file {
    struct uspi_item item;
    char *path;                 /* without the kernel's " (deleted)" */
    struct uspi_build_id id;    /* as recorded; size 0: not known */
    bool is_deleted;            /* another file may be at its path now */
    bool was_opened;            /* it was tried */
    struct uspi_file *file;     /* NULL: it was not found, or not tried */
    struct uspi_build_id build; /* `id`, or that of the file */
    struct uspi_elf elf;        /* of the file */
    struct uspi_elf_extent extent;
};

/* All zero: empty. */
struct uspi_perf_files {
    struct uspi_pool pool; /* of struct uspi_perf_file */
    struct uspi_pool ids;  /* of paths and build ids that a recording lists apart */
    struct uspi_allowance allowance;
    struct uspi_image_sources places; /* where files are searched for */
};

/* `build_ids` as in struct usp_recording_options. Returns false when memory is exhausted. */
bool uspi_perf_files_init(struct uspi_perf_files *files, const char *sysroot, const char *build_ids);

void uspi_perf_files_clear(struct uspi_perf_files *files);

/* Keeps the build id of a path (BUILD_ID). Files that are known already get it too, unless they have one or were
 * opened. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_perf_files_keep_id(struct uspi_perf_files *files, const char *path, size_t length,
                            const struct uspi_build_id *id);

/* Returns the number of a file, and adds it if necessary; USPI_NONE when memory is exhausted. `id` may be empty. */
uint32_t uspi_perf_files_know(struct uspi_perf_files *files, const char *path, size_t length,
                              const struct uspi_build_id *id);

/* Returns a file, opened if it is there. Its address is valid until the next file is added. */
struct uspi_perf_file *uspi_perf_files_open(struct uspi_perf_files *files, uint32_t number);

/* Returns whether a file is that of the kernel with which programs ask for the time. */
static inline bool uspi_perf_is_vdso(const struct uspi_perf_file *file) { return strcmp(file->path, "[vdso]") == 0; }

static inline struct uspi_perf_file *uspi_perf_file(const struct uspi_perf_files *files, uint32_t number) {
    return uspi_pool_at(&files->pool, number);
}

#endif
