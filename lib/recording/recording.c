/* SPDX-License-Identifier: MIT */
/* Implements recording.h: chooses the reader by the first bytes. A further format is an entry in `formats`. */
#include "lib/base/sized.h"
#include "lib/recording/perf.h"
#include "lib/recording/perf_stream.h"

#include <stdio.h>

#define HEAD 16u

static const struct format {
    bool (*is)(const uint8_t *bytes, size_t n);
    int (*read)(const struct usp_recording_options *options, struct usp_recording_info *info, struct uspi_error *error);
} formats[] = {
    {uspi_perf_is, uspi_perf_read},
};

static const struct format *find_format(const void *bytes, size_t n) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (formats[i].is(bytes, n)) return &formats[i];
    }
    return NULL;
}

void usp_recording_options_init(struct usp_recording_options *options) {
    *options = (struct usp_recording_options){
        .size = sizeof *options, .max_frames = 512, .to = UINT64_MAX, .file_size = UINT64_MAX};
}

int usp_recording_is(const void *bytes, size_t n) { return bytes != NULL && find_format(bytes, n) != NULL; }

/* The caller's function, and the beginning of the file that was read already. A pipe cannot be read again. */
struct begun {
    const struct usp_recording_options *options;
    uint8_t head[HEAD];
    size_t size;
};

static int64_t read_begun(void *context, uint64_t offset, void *to, size_t n) {
    const struct begun *begun = context;
    if (offset >= begun->size) return begun->options->read(begun->options->context, offset, to, n);
    if (n > begun->size - (size_t)offset) n = begun->size - (size_t)offset;
    memcpy(to, begun->head + offset, n);
    return (int64_t)n;
}

/* Reads the head, of which a pipe may give less at once. Returns USP_OK or the caller's status. */
static int read_head(struct begun *begun) {
    while (begun->size < HEAD) {
        const int64_t got =
            begun->options->read(begun->options->context, begun->size, begun->head + begun->size, HEAD - begun->size);
        if (got < 0) return (int)got;
        if (got == 0) break;
        begun->size += (size_t)got;
    }
    return USP_OK;
}

/* Passes the callbacks of a reader on to the caller, with the caller's context. */
static int pass_sample(void *context, const struct usp_recording_sample *sample) {
    const struct begun *begun = context;
    return begun->options->sample(begun->options->context, sample);
}

static void pass_end(void *context, uint64_t id) {
    const struct begun *begun = context;
    if (begun->options->end_thread != NULL) begun->options->end_thread(begun->options->context, id);
}

int usp_recording_read(const struct usp_recording_options *options, struct usp_recording_info *info, char *error,
                       size_t error_size) {
    struct usp_recording_options complete;
    struct usp_recording_info own;
    struct uspi_error why = {.text = ""};
    usp_recording_options_init(&complete);
    if (error != NULL && error_size > 0) error[0] = '\0';
    if (info == NULL) info = &own;
    memset(info, 0, sizeof *info);
    if (options == NULL || !USPI_COMPLETE(&complete, options) || complete.read == NULL || complete.sample == NULL ||
        complete.max_frames < 4) {
        return USP_ERROR_ARGUMENT;
    }
    const struct usp_recording_options given = complete;
    struct begun begun = {.options = &given};
    int status = read_head(&begun);
    if (status != USP_OK) uspi_error_set(&why, status, "%s", usp_status_string(status));
    if (status == USP_OK) {
        const struct format *format = find_format(begun.head, begun.size);
        complete.read = read_begun;
        complete.sample = pass_sample;
        complete.end_thread = pass_end;
        complete.context = &begun;
        status = format != NULL ? format->read(&complete, info, &why)
                                : uspi_error_set(&why, USP_ERROR_FORMAT, "not a recording in a format that is known");
    }
    if (status != USP_OK && error != NULL && error_size > 0) snprintf(error, error_size, "%s", why.text);
    return status;
}
