/* SPDX-License-Identifier: MIT */
/* Reports of <unspool/report.h>: read a whole text into a model, and write that as text or JSON. */
#include "lib/base/sized.h"
#include "lib/report/read/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Number of bytes that are read at once. */
#define PIECE ((size_t)64 << 10)

struct usp_report {
    struct uspi_model model;
};

static void clear_error(char *error, size_t error_size) {
    if (error != NULL && error_size > 0) error[0] = '\0';
}

static void tell(const struct usp_reader *reader, char *error, size_t error_size) {
    if (error != NULL && error_size > 0) snprintf(error, error_size, "%s", reader->error);
}

/* Completes a report whose text was read, or frees it. Frees the reader. Returns the report's status. */
static int finish(struct usp_report *made, struct usp_reader *reader, int status, struct usp_report **report,
                  char *error, size_t error_size) {
    if (status == USP_OK && !(uspi_model_fold(&made->model) && uspi_model_finish(&made->model))) {
        status = USP_ERROR_NO_MEMORY;
    }
    for (size_t i = 0; status == USP_OK && reader->is_plcrash && i < made->model.part_count; i++) {
        made->model.parts[i].format = "plcrash";
    }
    if (status == USP_OK && reader->is_cut) tell(reader, error, error_size);
    const struct usp_reader_counts none = {.frames = 0};
    bool is_readable;
    if (status == USP_OK && uspi_documents_is_cut(&reader->documents, &none, &is_readable)) {
        status = uspi_reader_end_cut(reader, reader->documents.document.at, is_readable);
        tell(reader, error, error_size);
    }
    if (status == USP_OK && made->model.frame_count == 0 && made->model.process_count == 0) {
        status = USP_ERROR_NOT_FOUND;
        if (error != NULL && error_size > 0) snprintf(error, error_size, "no frames were recognised");
    }
    if (uspi_reader_is_damage(status)) {
        if (reader->error[0] == '\0') uspi_reader_set_error(reader, status, reader->documents.document.at);
        tell(reader, error, error_size);
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

/* Reads a recording: the beginning, and the pieces that `read` gives. read NULL: the beginning is all. */
static int read_recording(struct uspi_model *model, struct usp_reader *reader, struct uspi_span begin,
                          usp_read_function read, void *context) {
    struct uspi_model_xctrace *builder = uspi_model_xctrace_begin(model, reader);
    if (builder == NULL) return USP_ERROR_NO_MEMORY;
    int status = uspi_model_xctrace_take(builder, begin, read == NULL);
    size_t n = 1;
    char *piece = read != NULL && status == USP_OK ? malloc(PIECE) : NULL;
    if (read != NULL && status == USP_OK && piece == NULL) status = USP_ERROR_NO_MEMORY;
    while (piece != NULL && status == USP_OK && n > 0) {
        status = read(context, piece, PIECE, &n);
        if (status == USP_OK) status = uspi_model_xctrace_take(builder, (struct uspi_span){piece, n}, n == 0);
    }
    free(piece);
    return uspi_model_xctrace_end(builder, status);
}

int usp_report_create(const struct usp_reader_options *options, const char *bytes, size_t n, struct usp_report **report,
                      char *error, size_t error_size) {
    struct usp_reader *reader;
    struct uspi_span text = {bytes, n};
    clear_error(error, error_size);
    if (report == NULL || (bytes == NULL && n > 0)) return USP_ERROR_ARGUMENT;
    *report = NULL;
    int status = usp_reader_create(options, &reader);
    if (status != USP_OK) return status;
    struct usp_report *made = calloc(1, sizeof *made);
    status = made != NULL ? uspi_reader_begin_whole(reader, &text) : USP_ERROR_NO_MEMORY;
    if (status == USP_OK) {
        status = reader->kind == USPI_INPUT_JSON      ? uspi_model_read_documents(&made->model, reader, text)
                 : reader->kind == USPI_INPUT_XCTRACE ? read_recording(&made->model, reader, text, NULL, NULL)
                                                      : uspi_model_read_lines(&made->model, reader, text);
    }
    return finish(made, reader, status, report, error, error_size);
}

/* Whether the bytes begin a recording. *is_decided: whether more bytes would not change the result. */
static bool is_recording(const struct uspi_gathered *head, bool is_last, bool *is_decided) {
    size_t mark;
    const struct uspi_span bytes = uspi_gathered_span(head);
    /* A byte order mark has up to three bytes. */
    *is_decided = is_last;
    if (bytes.length < 3) return false;
    const bool is_wide = uspi_encoding_of(bytes, &mark) != USPI_ENCODING_UTF8;
    if (is_wide) *is_decided = true;
    return !is_wide && uspi_is_xctrace(uspi_span_after(bytes, mark), is_last || bytes.length >= PIECE, is_decided);
}

/* Returns whether bytes are part of a hole in a sparse file, which takes no space on a disk but can have any size. */
static bool is_hole(const char *bytes, size_t n) {
    return n >= 4096 && bytes[0] == '\0' && memcmp(bytes, bytes + 1, n - 1) == 0;
}

int usp_report_read(const struct usp_reader_options *options, usp_read_function read, void *context,
                    struct usp_report **report, char *error, size_t error_size) {
    struct uspi_gathered text = {.bytes = NULL};
    bool is_streamed = false, is_decided = false;
    size_t n = 1;
    clear_error(error, error_size);
    if (report == NULL || read == NULL) return USP_ERROR_ARGUMENT;
    *report = NULL;
    int status = USP_OK;
    while (status == USP_OK && n > 0 && !is_streamed) {
        if (!uspi_gathered_reserve(&text, PIECE)) status = USP_ERROR_NO_MEMORY;
        if (status == USP_OK) status = read(context, text.bytes + text.size, text.capacity - text.size, &n);
        if (status == USP_OK && !is_hole(text.bytes + text.size, n)) text.size += n;
        if (status == USP_OK && !is_decided) is_streamed = is_recording(&text, n == 0, &is_decided);
    }
    if (status == USP_OK && !is_streamed) {
        status = usp_report_create(options, text.bytes, text.size, report, error, error_size);
    } else if (status == USP_OK) {
        struct usp_reader *reader;
        status = usp_reader_create(options, &reader);
        struct usp_report *made = status == USP_OK ? calloc(1, sizeof *made) : NULL;
        if (status == USP_OK) {
            size_t mark;
            uspi_encoding_of(uspi_gathered_span(&text), &mark);
            reader->kind = USPI_INPUT_XCTRACE;
            const struct uspi_span begin = uspi_span_after(uspi_gathered_span(&text), mark);
            status = made != NULL ? read_recording(&made->model, reader, begin, read, context) : USP_ERROR_NO_MEMORY;
            status = finish(made, reader, status, report, error, error_size);
        }
    }
    uspi_gathered_clear(&text);
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
