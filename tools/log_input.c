/* SPDX-License-Identifier: MIT */
/* See log_input.h. */
#include "tools/log_input.h"

#include "lib/base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

bool log_input_open(struct log_input *input, const char *path) {
    struct stat file, out;
    *input = (struct log_input){.fd = STDIN_FILENO};
    if (strcmp(path, "-") != 0) input->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (input->fd < 0 || fstat(input->fd, &file) != 0) return false;
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
    input->start = lseek(input->fd, 0, SEEK_CUR);
    input->is_file = input->start >= 0;
    return true;
}

void log_input_close(struct log_input *input) {
    if (input->fd > STDIN_FILENO) close(input->fd);
    free(input->bytes);
    input->bytes = NULL;
    input->fd = -1;
}

bool log_input_rewind(struct log_input *input) {
    input->is_rewound = true;
    return !input->is_file || lseek(input->fd, (off_t)input->start, SEEK_SET) == (off_t)input->start;
}

bool log_input_is_kept(const struct log_input *input) {
    return input->is_file || (!input->is_rewound && input->size < LOG_KEPT_MAX);
}

static bool fail(struct log_input *input, int error) {
    input->has_failed = true;
    input->error = error;
    return false;
}

bool log_input_read(struct log_input *input, struct uspi_span *piece) {
    bool keeps = !input->is_file && !input->is_rewound;
    if (input->has_failed) return false;
    if (input->is_rewound && !input->is_file && !input->is_replayed) {
        /* What was kept of a stream comes a second time, and is not needed after that. */
        input->is_replayed = true;
        *piece = (struct uspi_span){input->bytes, input->size};
        if (piece->length > 0) return true;
    }
    if (!keeps) input->size = 0;
    if (!keeps && input->room > 2 * LOG_PIECE) {
        free(input->bytes);
        input->bytes = NULL;
        input->room = 0;
    }
    void *grown = uspi_array_reserve(input->bytes, &input->room, input->size + LOG_PIECE, 1);
    if (grown == NULL) return fail(input, ENOMEM);
    input->bytes = grown;
    ssize_t got;
    do {
        got = read(input->fd, input->bytes + input->size, LOG_PIECE);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return fail(input, errno);
    *piece = (struct uspi_span){input->bytes + input->size, (size_t)got};
    input->size += (size_t)got;
    return got > 0;
}
