/* SPDX-License-Identifier: MIT */
/* Reports of <unspool/report.h>: read a whole text into a model, and write that as text or JSON. */
#include "lib/base/sized.h"
#include "lib/report/read/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct usp_report {
    struct uspi_model model;
};

int usp_report_create(const struct usp_reader_options *options, const char *bytes, size_t n, struct usp_report **report,
                      char *error, size_t error_size) {
    struct usp_reader *reader;
    struct uspi_span text = {bytes, n};
    if (error != NULL && error_size > 0) error[0] = '\0';
    if (report == NULL || (bytes == NULL && n > 0)) return USP_ERROR_ARGUMENT;
    *report = NULL;
    int status = usp_reader_create(options, &reader);
    if (status != USP_OK) return status;
    struct usp_report *made = calloc(1, sizeof *made);
    status = made != NULL ? uspi_reader_begin_whole(reader, &text) : USP_ERROR_NO_MEMORY;
    if (status == USP_OK) {
        status = reader->kind == USPI_INPUT_JSON      ? uspi_model_read_documents(&made->model, reader, text)
                 : reader->kind == USPI_INPUT_XCTRACE ? uspi_model_read_xctrace(&made->model, reader, text)
                                                      : uspi_model_read_lines(&made->model, reader, text);
    }
    if (status == USP_OK && !(uspi_model_fold(&made->model) && uspi_model_finish(&made->model))) {
        status = USP_ERROR_NO_MEMORY;
    }
    for (size_t i = 0; status == USP_OK && reader->is_plcrash && i < made->model.part_count; i++) {
        made->model.parts[i].format = "plcrash";
    }
    if (status == USP_OK && reader->is_cut && error != NULL && error_size > 0) {
        snprintf(error, error_size, "%s", reader->error);
    }
    const struct usp_reader_counts none = {.frames = 0};
    bool is_readable;
    if (status == USP_OK && uspi_documents_is_cut(&reader->documents, &none, &is_readable)) {
        status = uspi_reader_end_cut(reader, reader->documents.document.at, is_readable);
        if (error != NULL && error_size > 0) snprintf(error, error_size, "%s", reader->error);
    }
    if (status == USP_OK && made->model.frame_count == 0 && made->model.process_count == 0) {
        status = USP_ERROR_NOT_FOUND;
    }
    if (uspi_reader_is_damage(status)) {
        if (reader->error[0] == '\0') uspi_reader_set_error(reader, status, reader->documents.document.at);
        if (error != NULL && error_size > 0) snprintf(error, error_size, "%s", reader->error);
    }
    if (made != NULL) made->model.counts = reader->counts;
    usp_reader_free(reader);
    if (status == USP_OK) {
        *report = made;
    } else {
        usp_report_free(made);
    }
    return status;
}

void usp_report_free(struct usp_report *report) {
    if (report == NULL) return;
    uspi_model_clear(&report->model);
    free(report);
}

void usp_report_options_init(struct usp_report_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->style = USP_REPORT_TEXT;
}

/* Whether options select threads of which the report has none. */
static bool lacks_threads(const struct uspi_model *model, const struct usp_report_options *selection) {
    if ((selection->flags & (USP_REPORT_CRASHED | USP_REPORT_THREAD)) == 0) return false;
    for (size_t i = 0; i < model->thread_count; i++) {
        if (uspi_shows_thread(selection, &model->threads[i])) return false;
    }
    return true;
}

/* Completes options of the caller. Returns false if they are invalid. */
static bool complete(struct usp_report_options *selection, const struct usp_report_options *options) {
    const uint32_t known = USP_REPORT_CRASHED | USP_REPORT_THREAD | USP_REPORT_APP;
    usp_report_options_init(selection);
    return USPI_COMPLETE(selection, options) && (selection->flags & ~known) == 0;
}

int usp_report_write(const struct usp_report *report, const struct usp_report_options *options,
                     usp_write_function write, void *context) {
    struct usp_report_options selection;
    char buffer[4096];
    if (report == NULL || write == NULL || !complete(&selection, options)) return USP_ERROR_ARGUMENT;
    if (lacks_threads(&report->model, &selection)) return USP_ERROR_NOT_FOUND;
    struct uspi_text out = uspi_text_through(write, context, buffer, sizeof buffer);
    switch (selection.style) {
    case USP_REPORT_TEXT: uspi_model_put_text(&report->model, &selection, &out); break;
    case USP_REPORT_JSON: uspi_model_put_json(&report->model, &selection, &out); break;
    case USP_REPORT_HTML: uspi_model_put_html(&report->model, &selection, &out); break;
    default: return USP_ERROR_ARGUMENT;
    }
    return uspi_text_flush(&out);
}

int usp_report_compare(const struct usp_report *a, const struct usp_report *b, const struct usp_report_options *options,
                       usp_write_function write, void *context) {
    struct usp_report_options selection;
    char buffer[4096];
    if (a == NULL || b == NULL || write == NULL || !complete(&selection, options)) return USP_ERROR_ARGUMENT;
    if (selection.style != USP_REPORT_TEXT) return USP_ERROR_ARGUMENT;
    if (lacks_threads(&a->model, &selection) && lacks_threads(&b->model, &selection)) return USP_ERROR_NOT_FOUND;
    struct uspi_text out = uspi_text_through(write, context, buffer, sizeof buffer);
    const bool is_done = uspi_model_compare(&a->model, &b->model, &selection, &out);
    const int status = uspi_text_flush(&out);
    return is_done ? status : USP_ERROR_NO_MEMORY;
}

int usp_report_format(const struct usp_report *report, uint32_t style, usp_write_function write, void *context) {
    struct usp_report_options options;
    usp_report_options_init(&options);
    options.style = style;
    return usp_report_write(report, &options, write, context);
}

int usp_report_get_counts(const struct usp_report *report, struct usp_reader_counts *counts) {
    if (report == NULL || counts == NULL) return USP_ERROR_ARGUMENT;
    *counts = report->model.counts;
    return USP_OK;
}
