/* SPDX-License-Identifier: MIT */
/* See log.h. Here is what kind of log it is, and what is read when. */
#include "tools/log.h"

#include "tools/command.h"
#include "tools/log_input.h"
#include "tools/log_ips.h"
#include "tools/log_text.h"
#include "tools/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *path, int status) {
    complain("%s: %s", path, usp_strerror(status));
    return status == USP_ERROR_NO_MEMORY ? EXIT_FAILED : EXIT_NO_TARGET;
}

static int fail_to_read(const char *path, int error) {
    complain("%s: %s", path, strerror(error));
    return error == ENOMEM ? EXIT_FAILED : EXIT_NO_TARGET;
}

/* By the first line that is not empty, behind which the log stands at its beginning again. */
static int find_kind(struct log_input *input, const char *path, bool *is_ips) {
    struct log_lines lines;
    struct span line = {"", 0};
    bool is_whole;
    if (!log_lines_begin(&lines, input)) return fail(path, USP_ERROR_NO_MEMORY);
    while (log_lines_next(&lines, &line, &is_whole) && span_trim(line).length == 0) {}
    *is_ips = log_ips_begins(line);
    log_lines_end(&lines);
    if (input->has_failed) return fail_to_read(path, input->error);
    return log_input_rewind(input, false) ? EXIT_ALL_WELL : fail_to_read(path, errno);
}

/* ---- JSON ---- */

static int read_report(struct log_input *input, const char *path, char **bytes, struct span *report) {
    *bytes = NULL;
    if (!log_input_rewind(input, true)) return fail_to_read(path, errno);
    size_t n;
    *bytes = log_input_read_all(input, &n);
    if (*bytes == NULL) return fail(path, USP_ERROR_NO_MEMORY);
    *report = (struct span){*bytes, n};
    return input->has_failed ? fail_to_read(path, input->error) : EXIT_ALL_WELL;
}

static int read_report_images(struct span report, const char *path, struct log_tables *tables) {
    size_t where = 0;
    int status = log_ips_images(report, tables, &where);
    if (status != USP_ERROR_FORMAT) return status == USP_OK ? EXIT_ALL_WELL : fail(path, status);
    complain("%s: offset 0x%zx: %s", path, where,
             where < report.length ? "this is no JSON, or more than 128 objects and arrays are in each other"
                                   : "the report is cut off");
    return EXIT_NO_TARGET;
}

/* The rest of a stream that is too long to be kept. */
static void copy_rest(struct log_input *input) {
    char bytes[4096];
    for (size_t n; (n = log_input_read(input, bytes, sizeof bytes)) > 0;) fwrite(bytes, 1, n, stdout);
}

/* What is no JSON, or too long, is written as it came. */
static int write_report(struct log_input *input, const char *path, const struct log_tables *given,
                        struct log_names *names) {
    struct log_tables own = {.count = 0};
    struct span report;
    char *bytes;
    int status = read_report(input, path, &bytes, &report);
    if (status == EXIT_ALL_WELL && !input->is_file && report.length > LOG_KEPT_MAX) {
        complain("%s: a report of more than %zu MB is read from a file only", path, LOG_KEPT_MAX >> 20);
        status = EXIT_NO_TARGET;
    }
    if (status == EXIT_ALL_WELL) status = read_report_images(report, path, &own);
    if (status == EXIT_ALL_WELL) {
        const struct log_tables *tables = log_tables_count(&own) > 0 || given == NULL ? &own : given;
        int written = log_ips_write(report, tables, names);
        if (written != USP_OK) status = fail(path, written);
    } else if (bytes != NULL) {
        fwrite(report.bytes, 1, report.length, stdout);
        copy_rest(input);
    }
    log_tables_free(&own);
    free(bytes);
    return status;
}

/* ---- lines ---- */

/* Everything up to what cannot be read again. */
static int collect(struct log_text *text, struct log_lines *lines, const char *path) {
    struct span line = {"", 0};
    bool is_whole = true;
    while (log_input_is_kept(lines->input) && log_lines_next(lines, &line, &is_whole)) {
        if (is_whole && !log_text_collect(text, lines->position, line)) return fail(path, USP_ERROR_NO_MEMORY);
    }
    if (lines->input->has_failed) return fail_to_read(path, lines->input->error);
    if (!log_text_rewind(text, lines->position + lines->given)) return fail(path, USP_ERROR_NO_MEMORY);
    return EXIT_ALL_WELL;
}

static int rewrite(struct log_text *text, struct log_lines *lines, const char *path) {
    struct span line = {"", 0};
    bool is_whole = true;
    while (ferror(stdout) == 0 && log_lines_next(lines, &line, &is_whole)) {
        if (!is_whole) {
            fwrite(line.bytes, 1, line.length, stdout);
        } else {
            int status = log_text_write(text, lines->position, line);
            if (status != USP_OK) return fail(path, status);
        }
        /* Whoever follows a log as it is written sees each line when it comes. */
        if (!lines->input->is_file && log_lines_is_drained(lines)) fflush(stdout);
    }
    return lines->input->has_failed ? fail_to_read(path, lines->input->error) : EXIT_ALL_WELL;
}

/* With the images given, a stream is written as it comes; without, it is gone through for them first. */
static int write_lines(struct log_input *input, const char *path, struct log_text *text) {
    struct log_lines lines;
    int status = EXIT_ALL_WELL;
    if (!log_lines_begin(&lines, input)) return fail(path, USP_ERROR_NO_MEMORY);
    if (input->is_file || text->given == NULL) status = collect(text, &lines, path);
    log_lines_end(&lines);
    if (status != EXIT_ALL_WELL) return status;
    if (!log_input_rewind(input, true)) return fail_to_read(path, errno);
    if (!log_lines_begin(&lines, input)) return fail(path, USP_ERROR_NO_MEMORY);
    status = rewrite(text, &lines, path);
    log_lines_end(&lines);
    return status;
}

/* ---- --binary-images ---- */

static int read_images(const char *path, struct log_tables *tables) {
    struct log_input input;
    struct log_lines lines;
    bool is_ips;
    if (!log_input_open(&input, path)) return fail_to_read(path, errno);
    int status = find_kind(&input, path, &is_ips);
    if (status == EXIT_ALL_WELL && is_ips) {
        struct span report;
        char *bytes;
        status = read_report(&input, path, &bytes, &report);
        if (status == EXIT_ALL_WELL) status = read_report_images(report, path, tables);
        free(bytes);
    } else if (status == EXIT_ALL_WELL) {
        struct log_text text = {.tables = *tables};
        status = log_lines_begin(&lines, &input) ? collect(&text, &lines, path) : fail(path, USP_ERROR_NO_MEMORY);
        log_lines_end(&lines);
        *tables = text.tables;
    }
    log_input_close(&input);
    if (status == EXIT_ALL_WELL && log_tables_count(tables) == 0) {
        complain("%s: tells of no images", path);
        status = EXIT_NO_TARGET;
    }
    return status;
}

static int rewrite_log(const struct log_options *options, const struct log_search *search,
                       const struct log_tables *given) {
    struct log_input input;
    struct log_text text = {.search = search, .given = given};
    bool is_ips = false;
    int status = log_names_create(search, options->demangling, &text.names);
    if (status != USP_OK) return fail(options->log, status);
    if (!log_input_open(&input, options->log)) {
        log_names_free(text.names);
        return fail_to_read(options->log, errno);
    }
    gather_output();
    status = find_kind(&input, options->log, &is_ips);
    if (status == EXIT_ALL_WELL) {
        status =
            is_ips ? write_report(&input, options->log, given, text.names) : write_lines(&input, options->log, &text);
    }
    log_input_close(&input);
    log_text_free(&text);
    log_names_free(text.names);
    return status;
}

int symbolize_log(const struct log_options *options) {
    struct log_tables given = {.count = 0};
    struct log_search *search = NULL;
    int status = options->binary_images != NULL ? read_images(options->binary_images, &given) : EXIT_ALL_WELL;
    if (status == EXIT_ALL_WELL) status = log_search_create(options->search, options->search_count, &search);
    if (status == EXIT_ALL_WELL) {
        status = rewrite_log(options, search, options->binary_images != NULL ? &given : NULL);
    }
    log_search_free(search);
    log_tables_free(&given);
    return status;
}
