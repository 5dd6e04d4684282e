/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a log for `unspool symbolize --log`, from a file or a pipe, with this program as the one that its
 * frames may be in, or with none, in which case every byte must come out as it went in. Seeds: tests/fuzz/log_seeds.c. */
#define _GNU_SOURCE /* memfd_create */
#include "tools/command.h"
#include "tools/log.h"
#include "tools/log_ips.h"
#include "tools/log_json.h"

#include <unspool/demangle.h>

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says what is done with the others. */
enum { WITH_PROGRAM = 1, GIVEN_IMAGES = 2, BY_PIPE = 4 };

/* What Linux lets a pipe hold before somebody reads it (pipe(7)). */
#define PIPE_SIZE 65536

void complain(const char *format, ...) {
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
}

static int make_file(const uint8_t *data, size_t size) {
    int fd = memfd_create("log", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    return fd;
}

static int make_pipe(const uint8_t *data, size_t size) {
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], data, size) != (ssize_t)size) abort();
    close(ends[1]);
    return ends[0];
}

/* Whether it is JSON from one end to the other. */
static bool is_json(struct span text) {
    struct log_json json = {.text = text};
    for (;;) {
        struct log_json_token token = log_json_next(&json);
        if (token.text.bytes < text.bytes || token.text.bytes + token.text.length > text.bytes + text.length) abort();
        if (token.kind == LOG_JSON_ERROR) return false;
        if (token.kind == LOG_JSON_END) return true;
    }
}

static void check_lines(struct span log) {
    for (size_t at = 0; at < log.length;) {
        size_t end = span_find(log, at, SPAN("\n"));
        struct span line = span_part(log, at, end);
        struct log_frame frame;
        if (log_line_frame(line, &frame) && (frame.flags & LOG_FRAME_NAMED) == 0) {
            if (frame.replaced.bytes < line.bytes) abort();
            if (frame.replaced.bytes + frame.replaced.length > line.bytes + line.length) abort();
            if ((frame.flags & LOG_FRAME_ADDRESS) != 0 && frame.offset > frame.address) abort();
        }
        at = end + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char program[4096];
    char *written = NULL, path[64], given[64];
    size_t written_size = 0;
    if (program[0] == '\0' && readlink("/proc/self/exe", program, sizeof program - 1) <= 0) abort();
    if (size == 0) return 0;
    unsigned mode = data[0];
    struct span log = {(const char *)data + 1, size - 1};
    int fd = (mode & BY_PIPE) != 0 && size <= PIPE_SIZE ? make_pipe(data + 1, size - 1) : make_file(data + 1, size - 1);
    int given_fd = make_file(data + 1, size - 1);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    snprintf(given, sizeof given, "/proc/self/fd/%d", given_fd);
    /* A file that is no object. */
    const char *search = (mode & WITH_PROGRAM) != 0 ? program : "/proc/self/cmdline";
    struct log_options options = {.log = path, .search = &search, .search_count = 1, .demangling = USP_DEMANGLE_FULL};
    if ((mode & GIVEN_IMAGES) != 0) options.binary_images = given;
    FILE *standard = stdout;
    stdout = open_memstream(&written, &written_size);
    if (stdout == NULL) abort();
    int status = symbolize_log(&options);
    fclose(stdout);
    stdout = standard;
    struct span output = {written, written_size};
    if (status == EXIT_ALL_WELL && (mode & WITH_PROGRAM) == 0 && !span_equals(output, log)) abort();
    if (status == EXIT_ALL_WELL && is_json(log) && !is_json(output)) abort();
    check_lines(log);
    free(written);
    close(fd);
    close(given_fd);
    return 0;
}
