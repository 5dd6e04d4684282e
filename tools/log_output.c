/* SPDX-License-Identifier: MIT */
/* Implements log_output.h. */
#include "tools/log_output.h"

#include "tools/command.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A process of --jobs writes to standard output when it has this many bytes. */
#define PIECE (((size_t)128) << 10)

/* Whether a log may be replaced. Complains. */
static bool may_replace(const struct log_options *options, const char *path, const struct stat *source) {
    if (options->follows || source->st_uid == geteuid()) return true;
    complain("%s: belongs to another user; --follow replaces it nevertheless", path);
    return false;
}

int log_output_open(struct log_output *output, struct log_standard *standard, const struct log_options *options,
                    const struct log_file_name *name, struct log_folder *place, const struct log_input *input) {
    struct stat source = input->status;
    const int folder = place->folder;
    const char *copy;
    char *path;
    *output = (struct log_output){.file = standard->file, .standard = standard, .written.folder = -1};
    if (options->output == NULL && !options->is_in_place) return EXIT_ALL_WELL;
    output->standard = NULL;
    source.st_mode = log_input_mode(input);
    if (options->is_in_place) {
        if (!may_replace(options, name->path, &source)) return EXIT_NO_TARGET;
        place->folder = -1;
        if (!output_open_in(&output->written, folder, place->name, name->path, OUTPUT_REPLACEMENT, &source)) {
            return EXIT_FAILED;
        }
    } else {
        const int opened = log_files_open_in(options->output, name, &path, &copy);
        if (opened < 0) return EXIT_FAILED;
        source.st_mode &= ~(mode_t)0777 | place->reach;
        const bool is_open = output_open_in(&output->written, opened, copy, path, OUTPUT_COPY, &source);
        free(path);
        if (!is_open) return EXIT_FAILED;
    }
    output->file = output->written.file;
    return EXIT_ALL_WELL;
}

/* Writes to standard output, and returns how many bytes were written. A signal for output that cannot be written must
 * not end the process: it is to end the command. */
static size_t write_standard(const char *bytes, size_t n) {
    const int signals[] = {SIGPIPE, SIGXFSZ};
    struct sigaction ignored, former[2];
    size_t written = 0;
    memset(&ignored, 0, sizeof ignored);
    sigemptyset(&ignored.sa_mask);
    ignored.sa_handler = SIG_IGN;
    for (int i = 0; i < 2; i++) sigaction(signals[i], &ignored, &former[i]);
    while (written < n) {
        const ssize_t put = write(STDOUT_FILENO, bytes + written, n - written);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) break;
        written += (size_t)put;
    }
    for (int i = 0; i < 2; i++) sigaction(signals[i], &former[i], NULL);
    return written;
}

void log_standard_show(struct log_standard *standard) {
    if (standard->turn == NULL || standard->is_kept || atomic_load(standard->turn) != standard->log) return;
    const size_t written = write_standard(standard->memory, standard->used);
    standard->is_kept = written < standard->used;
    standard->used -= written;
    memmove(standard->memory, standard->memory + written, standard->used);
}

bool log_output_write(struct log_output *output, const char *bytes, size_t n) {
    struct log_standard *standard = output->standard;
    while (n > 0 && standard != NULL && standard->used < standard->room) {
        const size_t left = standard->room - standard->used, kept = n < left ? n : left;
        memcpy(standard->memory + standard->used, bytes, kept);
        standard->used += kept;
        bytes += kept;
        n -= kept;
        if (standard->used >= PIECE || standard->used == standard->room) log_standard_show(standard);
    }
    if (n > 0 && standard != NULL) standard->is_kept = true;
    const bool is_written =
        output->standard == NULL ? output_write(&output->written, bytes, n) : fwrite(bytes, 1, n, output->file) == n;
    if (!is_written) output->has_failed = true;
    return !output->has_failed;
}

void log_output_flush(struct log_output *output) {
    if (output->standard != NULL) log_standard_show(output->standard);
    if (fflush(output->file) != 0) output->has_failed = true;
}

bool log_output_has_failed(const struct log_output *output) { return output->has_failed || ferror(output->file) != 0; }

int log_output_fail(const struct log_output *output) {
    /* main reports errors of standard output, and log_jobs.c those of temporary files. */
    char reason[256];
    if (output->standard == NULL) {
        complain("%s: could not be written%s", output->written.path,
                 output_reason(output->written.error, reason, sizeof reason));
    }
    return EXIT_FAILED;
}

int log_output_close(struct log_output *output, bool is_whole) {
    const bool is_written = output_close(&output->written, is_whole);
    *output = (struct log_output){.file = stdout, .written.folder = -1};
    return is_written ? EXIT_ALL_WELL : EXIT_FAILED;
}
