/* SPDX-License-Identifier: MIT */
/* Implements report_raw.h. */
#define _GNU_SOURCE 1 /* for F_DUPFD_CLOEXEC */
#include "tools/report_raw.h"

#include "lib/base/array.h"
#include "tools/command.h"
#include "tools/core_input.h"
#include "tools/log_say.h"
#include "tools/stack.h"
#include "tools/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char signature[] = "\x89USPRAW\n"; /* doc/raw-format.md */

bool is_raw_report(struct log_input *input) {
    char begin[sizeof signature - 1];
    struct uspi_span piece;
    size_t n = 0;
    while (n < sizeof begin && log_input_read(input, &piece) && piece.length > 0) {
        const size_t more = piece.length < sizeof begin - n ? piece.length : sizeof begin - n;
        memcpy(begin + n, piece.bytes, more);
        n += more;
    }
    return n == sizeof begin && memcmp(begin, signature, n) == 0;
}

/* Writes the whole input to a file. Returns false with errno. */
static bool copy_to(struct log_input *input, int file) {
    struct uspi_span piece;
    while (log_input_read(input, &piece)) {
        if (usp_write_fd(&file, piece.bytes, piece.length) != USP_OK) return false;
    }
    errno = input->error;
    return !input->has_failed;
}

/* Opens the bytes of the input as a file that can be read by a path: the file itself, or a copy of a stream. Returns a
 * descriptor, or -1 with errno. */
static int open_bytes(struct log_input *input) {
    if (input->is_file && input->start == 0) return fcntl(input->fd, F_DUPFD_CLOEXEC, 3);
    int file = temporary_open(temporary_folder("/var/tmp"));
    if (file < 0 || copy_to(input, file)) return file;
    const int error = errno;
    close(file);
    errno = error;
    return -1;
}

/* A text in memory, which grows. */
struct grown {
    char *bytes;
    size_t size, capacity;
};

/* A usp_write_function. */
static int add_bytes(void *context, const char *bytes, size_t n) {
    struct grown *grown = context;
    if (!uspi_room_for(&grown->bytes, &grown->capacity, grown->size, n, 1)) return USP_ERROR_NO_MEMORY;
    memcpy(grown->bytes + grown->size, bytes, n);
    grown->size += n;
    return USP_OK;
}

/* Writes the snapshot as text. Returns an enum usp_status. */
static int write_text(const struct usp_snapshot *snapshot, const struct raw_report_options *options,
                      struct grown *text) {
    struct usp_symbolizer_options names;
    struct usp_symbolizer *symbolizer = NULL;
    struct usp_format_options format;
    usp_symbolizer_options_init(&names);
    usp_format_options_init(&format);
    char *store = use_line_options(options->lines, &names);
    int status = usp_symbolizer_create_for_snapshot(snapshot, &names, &symbolizer);
    free(store);
    if (status == USP_OK) status = usp_demangler_create(options->demangling, &format.demangler);
    format.style = USP_FORMAT_IPS;
    format.symbolizer = symbolizer;
    format.flags = USP_FORMAT_LINES;
    if (status == USP_OK) status = usp_format_snapshot(snapshot, &format, add_bytes, text);
    usp_demangler_free(format.demangler);
    usp_symbolizer_free(symbolizer);
    return status;
}

int convert_raw_report(struct log_input *input, const char *path, const struct raw_report_options *options, char **text,
                       size_t *size) {
    struct usp_snapshot_options wanted;
    struct usp_snapshot *snapshot = NULL;
    struct core_input bytes;
    struct grown grown = {.bytes = NULL};
    const char *message;
    char error[512] = "", room[1024];
    const int file = open_bytes(input);
    if (file < 0) return log_fail_to_read(path, errno);
    core_input_take(file, log_called(path), &bytes);
    usp_snapshot_options_init(&wanted);
    wanted.unwind.tail = DEFAULT_TAIL;
    int status = usp_snapshot_open_raw(bytes.path, &wanted, &snapshot, error, sizeof error);
    for (size_t i = 0; status == USP_OK && (message = usp_snapshot_message(snapshot, i)) != NULL; i++) {
        const char *shown = core_input_message(&bytes, message, room, sizeof room);
        if (shown == message) complain("%s: %s", log_called(path), message);
        if (shown != message) complain("%s", shown);
    }
    if (status == USP_OK) status = write_text(snapshot, options, &grown);
    *text = grown.bytes;
    *size = grown.size;
    usp_snapshot_free(snapshot);
    if (status != USP_OK && error[0] != '\0') complain("%s", core_input_message(&bytes, error, room, sizeof room));
    core_input_end(&bytes);
    if (status == USP_OK) return EXIT_ALL_WELL;
    return error[0] != '\0' ? EXIT_NO_TARGET : log_fail(path, status);
}
