/* SPDX-License-Identifier: MIT */
/* Implements log_output.h. */
#define _GNU_SOURCE 1
#include "tools/log_output.h"

#include "tools/command.h"

#include <unspool/base.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const char *path) {
    complain("%s: %s", path, strerror(errno));
    return EXIT_FAILED;
}

/* Opens a temporary file in the folder of the file that it replaces, so that it can be renamed. */
static int open_temporary(struct log_output *output) {
    static const char suffix[] = ".unspool-XXXXXX";
    struct stat old;
    size_t length = strlen(output->path);
    output->temporary = malloc(length + sizeof suffix);
    if (output->temporary == NULL) {
        complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
        return EXIT_FAILED;
    }
    memcpy(output->temporary, output->path, length);
    memcpy(output->temporary + length, suffix, sizeof suffix);
    int fd = mkstemp(output->temporary);
    if (fd < 0) {
        int status = fail(output->path);
        free(output->temporary);
        output->temporary = NULL;
        return status;
    }
    /* The mode of the replaced file, or of a file that the shell makes. */
    mode_t mask = umask(0);
    umask(mask);
    mode_t mode = stat(output->path, &old) == 0 ? old.st_mode & 07777 : 0666 & ~mask;
    output->file = fchmod(fd, mode) == 0 ? fdopen(fd, "wb") : NULL;
    if (output->file != NULL) return EXIT_ALL_WELL;
    int status = fail(output->path);
    close(fd);
    return status;
}

int log_output_open(struct log_output *output, const struct log_options *options, const struct log_file_name *name) {
    *output = (struct log_output){.file = stdout};
    if (options->output == NULL && !options->is_in_place) return EXIT_ALL_WELL;
    if (options->is_in_place && strcmp(name->path, "-") == 0) {
        complain("standard input has no place that could be written");
        return EXIT_USAGE;
    }
    output->file = NULL;
    output->path = options->is_in_place ? strdup(name->path) : log_files_in(options->output, name);
    if (output->path == NULL) return EXIT_FAILED;
    int status = open_temporary(output);
    if (status != EXIT_ALL_WELL) log_output_close(output, false);
    return status;
}

bool log_output_write(struct log_output *output, const char *bytes, size_t n) {
    if (fwrite(bytes, 1, n, output->file) != n) output->has_failed = true;
    return !output->has_failed;
}

void log_output_flush(struct log_output *output) {
    if (fflush(output->file) != 0) output->has_failed = true;
}

bool log_output_has_failed(const struct log_output *output) { return output->has_failed || ferror(output->file) != 0; }

int log_output_fail(const struct log_output *output) {
    /* main reports errors of standard output. */
    if (output->path != NULL) complain("%s: could not be written", output->path);
    return EXIT_FAILED;
}

int log_output_close(struct log_output *output, bool is_whole) {
    int status = EXIT_ALL_WELL;
    if (output->path == NULL) return EXIT_ALL_WELL;
    if (output->file != NULL) {
        bool is_written = !log_output_has_failed(output);
        is_written = fclose(output->file) == 0 && is_written;
        if (is_whole && is_written && rename(output->temporary, output->path) != 0) {
            status = fail(output->path);
            is_whole = false;
        }
        if (is_whole && !is_written) status = log_output_fail(output);
        is_whole = is_whole && is_written;
    }
    if (!is_whole && output->temporary != NULL) unlink(output->temporary);
    free(output->temporary);
    free(output->path);
    *output = (struct log_output){.file = stdout};
    return status;
}
