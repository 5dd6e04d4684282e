/* SPDX-License-Identifier: MIT */
/* See file.h. POSIX files; no other file of lib/object/ makes a system call, but dsym.c, which lists a folder. */

/* Offsets beyond 2 GB on 32-bit hosts as well (glibc feature_test_macros(7)). */
#define _FILE_OFFSET_BITS 64

#include "lib/object/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A mapping may take this part of the address space at most: 64 MB where that has 32 bits, and no limit in practice where
 * it has 64. */
#define MAPPING_MAX (SIZE_MAX / 64)

struct uspi_file {
    struct uspi_source source;
    uint64_t size;
    struct uspi_bytes part; /* of the file: what counts */
    void *mapping;          /* NULL: read through `descriptor` */
    int descriptor;
    char path[];
};

/* The shape of uspi_source.read. pread keeps no position, so that threads need no lock. */
static int read_piece(void *context, uint64_t at, void *to, size_t n) {
    const struct uspi_file *file = context;
    uint8_t *p = to;
    while (n > 0) {
        ssize_t got = pread(file->descriptor, p, n, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return USP_ERROR_SYSTEM;
        if (got == 0) return USP_ERROR_TRUNCATED;
        p += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return USP_OK;
}

static int status_of_errno(int number) {
    switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG: return USP_ERROR_NOT_FOUND;
    case EACCES:
    case EPERM: return USP_ERROR_PERMISSION;
    case ENOMEM: return USP_ERROR_NO_MEMORY;
    default: return USP_ERROR_SYSTEM;
    }
}

static int refuse(const char *path, int number, struct uspi_error *error) {
    return uspi_error_set(error, status_of_errno(number), "%s: %s", path, strerror(number));
}

static int open_regular(const char *path, int *descriptor, uint64_t *size, struct uspi_error *error) {
    struct stat status;
    /* Asked before it is opened, because opening a device or a pipe can have effects or wait. */
    if (stat(path, &status) != 0) return refuse(path, errno, error);
    if (!S_ISREG(status.st_mode)) return uspi_error_set(error, USP_ERROR_FORMAT, "%s: not a regular file", path);
    int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (opened < 0) return refuse(path, errno, error);
    if (fstat(opened, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(opened);
        return uspi_error_set(error, USP_ERROR_FORMAT, "%s: not a regular file", path);
    }
    *descriptor = opened;
    *size = (uint64_t)status.st_size;
    return USP_OK;
}

int uspi_file_open(const char *path, struct uspi_file **file, struct uspi_error *error) {
    size_t length = strlen(path);
    struct uspi_file *opened = malloc(sizeof *opened + length + 1);
    *file = NULL;
    if (opened == NULL) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", path);
    memcpy(opened->path, path, length + 1);
    int status = open_regular(path, &opened->descriptor, &opened->size, error);
    if (status != USP_OK) {
        free(opened);
        return status;
    }
    opened->mapping = NULL;
    opened->source = (struct uspi_source){.name = opened->path, .read = read_piece, .context = opened};
    if (opened->size > 0 && opened->size <= MAPPING_MAX) {
        void *mapping = mmap(NULL, (size_t)opened->size, PROT_READ, MAP_PRIVATE, opened->descriptor, 0);
        if (mapping != MAP_FAILED) {
            opened->mapping = mapping;
            opened->source.mapped = mapping;
            close(opened->descriptor);
        }
    }
    opened->part = (struct uspi_bytes){&opened->source, 0, opened->size};
    *file = opened;
    return USP_OK;
}

void uspi_file_close(struct uspi_file *file) {
    if (file == NULL) return;
    if (file->mapping != NULL) {
        munmap(file->mapping, (size_t)file->size);
    } else {
        close(file->descriptor);
    }
    free(file);
}

struct uspi_bytes uspi_file_bytes(const struct uspi_file *file) { return file->part; }

void uspi_file_narrow(struct uspi_file *file, struct uspi_bytes part) { file->part = part; }

const char *uspi_file_path(const struct uspi_file *file) { return file->path; }

enum uspi_format uspi_identify(struct uspi_bytes bytes) {
    uint8_t raw[4];
    if (uspi_bytes_read(bytes, 0, raw, sizeof raw, "magic number", NULL) != USP_OK) return USPI_FORMAT_UNKNOWN;
    if (memcmp(raw, "\177ELF", sizeof raw) == 0) return USPI_FORMAT_ELF;
    if (memcmp(raw, "!<ar", sizeof raw) == 0 || memcmp(raw, "!<th", sizeof raw) == 0) return USPI_FORMAT_ARCHIVE;
    /* xnu EXTERNAL_HEADERS/mach-o/loader.h, fat.h. */
    switch (uspi_be32(raw)) {
    case 0xfeedface:
    case 0xfeedfacf:
    case 0xcefaedfe:
    case 0xcffaedfe: return USPI_FORMAT_MACHO;
    case 0xcafebabe:
    case 0xcafebabf: return USPI_FORMAT_FAT;
    default: return USPI_FORMAT_UNKNOWN;
    }
}
