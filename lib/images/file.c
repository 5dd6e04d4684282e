/* SPDX-License-Identifier: MIT */
/* See file.h. */
#include "lib/images/file.h"

#include "lib/os/os.h"

#include <stdlib.h>
#include <string.h>

struct uspi_file {
    struct uspi_os_file file;
    struct uspi_source source;
    uint8_t *taken;         /* the heap block, if the file was made of one; otherwise NULL */
    struct uspi_bytes part; /* all bytes of the file, or the part that it was narrowed to */
    char path[];
};

/* The `read` function of struct uspi_source. */
static int read_piece(void *context, uint64_t at, void *to, size_t n) {
    const struct uspi_file *file = context;
    return uspi_os_file_read(&file->file, at, to, n);
}

/* The `release` function of struct uspi_source. */
static void release_pages(void *context, uint64_t at, uint64_t n) {
    const struct uspi_file *file = context;
    uspi_os_file_release(&file->file, at, n);
}

/* The `open_again` function of struct uspi_source. */
static int open_again(void *context) {
    const struct uspi_file *file = context;
    return uspi_os_file_open_again(&file->file, file->path);
}

static struct uspi_file *create(const char *path) {
    const size_t length = strlen(path);
    struct uspi_file *made = malloc(sizeof *made + length + 1);
    if (made == NULL) return NULL;
    made->taken = NULL;
    memcpy(made->path, path, length + 1);
    return made;
}

int uspi_file_of_bytes(const char *path, uint8_t *bytes, size_t size, struct uspi_file **file) {
    struct uspi_file *made = *file = create(path);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->file = (struct uspi_os_file){.mapped = bytes, .size = size, .descriptor = -1};
    made->taken = bytes;
    made->source = (struct uspi_source){.name = made->path, .mapped = bytes};
    made->part = (struct uspi_bytes){&made->source, 0, size};
    return USP_OK;
}

int uspi_file_open(const char *path, struct uspi_file **file, struct uspi_error *error) {
    struct uspi_file *opened = create(path);
    *file = NULL;
    if (opened == NULL) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", path);
    int status = uspi_os_file_open(path, &opened->file, error);
    if (status != USP_OK) {
        free(opened);
        return status;
    }
    opened->source = (struct uspi_source){.name = opened->path,
                                          .mapped = opened->file.mapped,
                                          .read = read_piece,
                                          .release = release_pages,
                                          .open_again = open_again,
                                          .context = opened};
    opened->part = (struct uspi_bytes){&opened->source, 0, opened->file.size};
    *file = opened;
    return USP_OK;
}

void uspi_file_close(struct uspi_file *file) {
    if (file == NULL) return;
    if (file->taken == NULL) uspi_os_file_close(&file->file);
    free(file->taken);
    free(file);
}

struct uspi_bytes uspi_file_bytes(const struct uspi_file *file) { return file->part; }

void uspi_file_narrow(struct uspi_file *file, struct uspi_bytes part) { file->part = part; }

const char *uspi_file_path(const struct uspi_file *file) { return file->path; }

uint64_t uspi_file_modified(const struct uspi_file *file) { return file->file.modified; }
