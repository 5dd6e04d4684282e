/* SPDX-License-Identifier: MIT */
/* Implements log_input.h. */

/* Declares SEEK_DATA, which is new in POSIX. */
#define _GNU_SOURCE 1

#include "tools/log_input.h"

#include "lib/base/array.h"
#include "tools/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif
#include <unistd.h>

static bool fail(struct log_input *input, int error) {
    input->has_failed = true;
    input->error = error;
    return false;
}

bool log_input_open(struct log_input *input, const char *path) {
    return log_input_take(input, strcmp(path, "-") != 0 ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO);
}

bool log_input_take(struct log_input *input, int fd) {
    struct stat file, out;
    *input = (struct log_input){.fd = fd, .piece = LOG_PIECE, .spool = -1};
    if (input->fd < 0 || fstat(input->fd, &file) != 0) return false;
    input->status = file;
    if (S_ISDIR(file.st_mode)) {
        log_input_close(input);
        errno = EISDIR;
        return false;
    }
    if (!S_ISREG(file.st_mode)) return true;
    if (fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == file.st_dev && out.st_ino == file.st_ino) {
        log_input_close(input);
        errno = EINVAL;
        return false;
    }
    if (input->fd == STDIN_FILENO) input->start = lseek(input->fd, 0, SEEK_CUR);
    input->is_file = input->start >= 0;
    input->is_small = file.st_size < (off_t)LOG_PIECE;
    if (input->is_small) input->piece = (size_t)file.st_size + 1;
    return true;
}

mode_t log_input_mode(const struct log_input *input) {
#ifdef __linux__
    if (fgetxattr(input->fd, "system.posix_acl_access", NULL, 0) > 0) return input->status.st_mode & ~(mode_t)070;
#endif
    return input->status.st_mode;
}

void log_input_close(struct log_input *input) {
    if (input->fd > STDIN_FILENO) close(input->fd);
    if (input->spool >= 0) close(input->spool);
    free(input->bytes);
    free(input->replay);
    input->bytes = input->replay = NULL;
    input->fd = input->spool = -1;
}

/* ---- the spool: a temporary file ---- */

/* Moves kept bytes from memory into the spool. If that fails they stay in memory. */
static void spool(struct log_input *input) {
    size_t written = 0;
    if (input->has_no_spool) return;
    if (input->spool < 0) input->spool = temporary_open(temporary_folder("/var/tmp"));
    while (input->spool >= 0 && written < input->size) {
        const off_t at = (off_t)(input->spooled + written);
        const ssize_t n = pwrite(input->spool, input->bytes + written, input->size - written, at);
        if (n <= 0) break;
        written += (size_t)n;
    }
    input->has_no_spool = input->spool < 0 || written < input->size;
    if (input->has_no_spool) return;
    input->spooled += written;
    input->size = 0;
}

/* Reads the next piece of the spool. Returns false at its end, or if reading has failed. */
static bool read_spool(struct log_input *input, struct uspi_span *piece) {
    const size_t left = input->spooled - input->replayed;
    if (left == 0) return false;
    if (input->replay == NULL) input->replay = malloc(LOG_PIECE);
    if (input->replay == NULL) return fail(input, ENOMEM);
    const size_t wanted = left < LOG_PIECE ? left : LOG_PIECE;
    const ssize_t n = pread(input->spool, input->replay, wanted, (off_t)input->replayed);
    if (n <= 0) return fail(input, n < 0 ? errno : EIO);
    input->replayed += (size_t)n;
    *piece = (struct uspi_span){input->replay, (size_t)n};
    return true;
}

/* ---- reading ---- */

uint64_t log_skip_hole(int fd) {
#ifdef SEEK_DATA
    const off_t at = lseek(fd, 0, SEEK_CUR);
    if (at < 0) return 0;
    off_t next = lseek(fd, at, SEEK_DATA);
    if (next < 0 && errno == ENXIO) next = lseek(fd, 0, SEEK_END);
    if (next - at >= (off_t)LOG_PIECE) return (uint64_t)(next - at);
    (void)lseek(fd, at, SEEK_SET);
#else
    (void)fd;
#endif
    return 0;
}

bool log_input_rewind(struct log_input *input) {
    input->skipped = 0;
    input->is_rewound = true;
    if (!input->is_file || input->is_small) return true;
    return lseek(input->fd, (off_t)input->start, SEEK_SET) == (off_t)input->start;
}

bool log_input_is_kept(const struct log_input *input) {
    if (input->is_file && !input->is_small) return true;
    return !input->is_rewound && input->spooled + input->size < LOG_KEPT_MAX;
}

bool log_input_read(struct log_input *input, struct uspi_span *piece) {
    const bool may_keep = !input->is_file || input->is_small, keeps = may_keep && !input->is_rewound;
    if (input->has_failed) return false;
    if (keeps && input->size >= LOG_MEMORY_MAX) spool(input);
    if (input->is_rewound && may_keep && !input->is_replayed) {
        if (read_spool(input, piece)) return true;
        if (input->has_failed) return false;
        /* The kept bytes are read a second time, and are not needed after that. */
        input->is_replayed = true;
        *piece = (struct uspi_span){input->bytes, input->size};
        if (piece->length > 0) return true;
    }
    if (!keeps) input->size = 0;
    if (!keeps && input->capacity > 2 * LOG_PIECE) {
        free(input->bytes);
        input->bytes = NULL;
        input->capacity = 0;
    }
    if (input->has_ended) return false;
    const size_t needed = input->size < input->piece ? input->piece : input->size + 1;
    void *grown = uspi_array_reserve(input->bytes, &input->capacity, needed, 1);
    if (grown == NULL) return fail(input, ENOMEM);
    input->bytes = grown;
    ssize_t got;
    if (!may_keep) input->skipped += log_skip_hole(input->fd);
    do {
        got = read(input->fd, input->bytes + input->size, input->capacity - input->size);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return fail(input, errno);
    *piece = (struct uspi_span){input->bytes + input->size, (size_t)got};
    input->size += (size_t)got;
    /* All of the input is kept: the end was reached, or a small file's size was read although there was room for
     * more. */
    const bool is_whole = input->is_small && got > 0 && input->size + 1 == input->piece;
    input->has_ended = keeps && (got == 0 || is_whole);
    return got > 0;
}
