/* SPDX-License-Identifier: MIT */
/* Implements log_say.h. */
#include "tools/log_say.h"

#include "tools/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *log_called(const char *path) { return strcmp(path, "-") == 0 ? "standard input" : path; }

int log_fail(const char *path, int status) {
    complain("%s: %s", log_called(path), usp_status_string(status));
    return status == USP_ERROR_NO_MEMORY || status == USP_ERROR_SYSTEM ? EXIT_FAILED : EXIT_NO_TARGET;
}

int log_fail_to_read(const char *path, int error) {
    complain("%s: %s", log_called(path), strerror(error));
    return error == ENOMEM ? EXIT_FAILED : EXIT_NO_TARGET;
}

int log_worse(int a, int b) { return a > b ? a : b; }

void log_counts_add(struct usp_reader_counts *all, const struct usp_reader_counts *counts) {
    all->texts += counts->texts;
    all->frames += counts->frames;
    all->named += counts->named;
    all->answered += counts->answered;
    all->no_symbol += counts->no_symbol;
    all->no_file += counts->no_file;
    all->no_image += counts->no_image;
    all->passed += counts->passed;
    all->renamed += counts->renamed;
    all->lined += counts->lined;
}

void log_counts_say(const char *path, const struct usp_reader_counts *counts) {
    const char *called = log_called(path);
    if (counts->passed > 0) {
        complain("%s: %" PRIu64 " lines were not looked at: longer than 64 KB, or no UTF-16", called, counts->passed);
    }
    if (counts->frames == 0) {
        complain("%s: no frames were recognised", called);
        return;
    }
    char renamed[96] = "";
    if (counts->renamed + counts->lined > 0) {
        snprintf(renamed, sizeof renamed, " (%" PRIu64 " names replaced, %" PRIu64 " kept and given a line)",
                 counts->renamed, counts->lined);
    }
    complain("%s: %" PRIu64 " frames, %" PRIu64 " symbolicated, %" PRIu64 " with a name before, %" PRIu64
             " without a symbol, %" PRIu64 " without a file, %" PRIu64 " without an image%s",
             called, counts->frames, counts->answered, counts->named, counts->no_symbol, counts->no_file,
             counts->no_image, renamed);
}
