/* SPDX-License-Identifier: MIT */
/* See log_input.h. */
#include "tools/log_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool log_input_open(struct log_input *input, const char *path) {
    struct stat file;
    *input = (struct log_input){.fd = STDIN_FILENO};
    if (strcmp(path, "-") != 0) input->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (input->fd < 0 || fstat(input->fd, &file) != 0) return false;
    if (S_ISDIR(file.st_mode)) {
        errno = EISDIR;
        return false;
    }
    if (!S_ISREG(file.st_mode)) return true;
    input->start = lseek(input->fd, 0, SEEK_CUR);
    input->is_file = input->start >= 0;
    return true;
}

void log_input_close(struct log_input *input) {
    if (input->fd > STDIN_FILENO) close(input->fd);
    free(input->kept);
    input->kept = NULL;
    input->fd = -1;
}

bool log_input_rewind(struct log_input *input, bool is_last) {
    if (input->is_file) return lseek(input->fd, (off_t)input->start, SEEK_SET) == (off_t)input->start;
    input->replayed = 0;
    input->is_forgetful = is_last;
    return true;
}

bool log_input_is_kept(const struct log_input *input) {
    if (input->is_file || input->replayed < input->kept_size) return true;
    return !input->is_forgetful && input->kept_size < LOG_KEPT_MAX;
}

static size_t read_from(struct log_input *input, char *bytes, size_t n) {
    ssize_t got;
    do {
        got = read(input->fd, bytes, n);
    } while (got < 0 && errno == EINTR);
    if (got >= 0) return (size_t)got;
    input->has_failed = true;
    input->error = errno;
    return 0;
}

static bool keep(struct log_input *input, const char *bytes, size_t n) {
    if (n > input->kept_room - input->kept_size) {
        size_t room = input->kept_room * 2 > input->kept_size + n ? input->kept_room * 2 : input->kept_size + n;
        char *grown = realloc(input->kept, room);
        if (grown == NULL) return false;
        input->kept = grown;
        input->kept_room = room;
    }
    memcpy(input->kept + input->kept_size, bytes, n);
    input->kept_size += n;
    input->replayed = input->kept_size;
    return true;
}

size_t log_input_read(struct log_input *input, char *bytes, size_t n) {
    if (input->has_failed) return 0;
    if (input->is_file) return read_from(input, bytes, n);
    size_t left = input->kept_size - input->replayed;
    if (left > 0) {
        if (n > left) n = left;
        memcpy(bytes, input->kept + input->replayed, n);
        input->replayed += n;
        return n;
    }
    size_t got = read_from(input, bytes, n);
    if (got == 0 || input->is_forgetful || input->kept_size >= LOG_KEPT_MAX) return got;
    if (keep(input, bytes, got)) return got;
    input->has_failed = true;
    input->error = ENOMEM;
    return 0;
}

char *log_input_read_all(struct log_input *input, size_t *n) {
    char *bytes = NULL;
    size_t room = 0;
    *n = 0;
    do {
        if (room - *n < LOG_LINE_MAX) {
            room = room * 2 + LOG_LINE_MAX;
            char *grown = realloc(bytes, room + 1);
            if (grown == NULL) {
                free(bytes);
                return NULL;
            }
            bytes = grown;
        }
        size_t got = log_input_read(input, bytes + *n, room - *n);
        if (got == 0) return bytes;
        *n += got;
    } while (input->is_file || *n <= LOG_KEPT_MAX);
    return bytes;
}

/* ---- lines ---- */

bool log_lines_begin(struct log_lines *lines, struct log_input *input) {
    *lines = (struct log_lines){.input = input, .bytes = malloc(LOG_LINE_MAX)};
    return lines->bytes != NULL;
}

void log_lines_end(struct log_lines *lines) {
    free(lines->bytes);
    lines->bytes = NULL;
}

static void give(struct log_lines *lines, size_t length, bool ends, struct span *line, bool *is_whole) {
    *line = (struct span){lines->bytes + lines->begin, length};
    *is_whole = ends && !lines->is_piece;
    lines->given = length;
    lines->is_piece = !ends;
    lines->begin += length;
    lines->searched = lines->begin;
}

bool log_lines_is_drained(struct log_lines *lines) {
    size_t unsearched = lines->end - lines->searched;
    if (unsearched > 0 && memchr(lines->bytes + lines->searched, '\n', unsearched) != NULL) return false;
    lines->searched = lines->end;
    return true;
}

bool log_lines_next(struct log_lines *lines, struct span *line, bool *is_whole) {
    lines->position += lines->given;
    for (;;) {
        size_t unsearched = lines->end - lines->searched;
        const char *found = unsearched > 0 ? memchr(lines->bytes + lines->searched, '\n', unsearched) : NULL;
        if (found != NULL) {
            give(lines, (size_t)(found - lines->bytes) + 1 - lines->begin, true, line, is_whole);
            return true;
        }
        lines->searched = lines->end;
        if (lines->end - lines->begin == LOG_LINE_MAX) {
            give(lines, LOG_LINE_MAX, false, line, is_whole);
            return true;
        }
        if (lines->end == LOG_LINE_MAX) {
            memmove(lines->bytes, lines->bytes + lines->begin, lines->end - lines->begin);
            lines->end -= lines->begin;
            lines->begin = 0;
            lines->searched = lines->end;
        }
        size_t got = log_input_read(lines->input, lines->bytes + lines->end, LOG_LINE_MAX - lines->end);
        lines->end += got;
        if (got > 0) continue;
        if (lines->begin == lines->end) return false;
        give(lines, lines->end - lines->begin, true, line, is_whole);
        return true;
    }
}
