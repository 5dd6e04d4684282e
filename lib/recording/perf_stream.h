/* SPDX-License-Identifier: MIT */
/* The container of perf.data: its header, tables of events and features, and the stream of records, which may be
 * compressed. Memory does not grow with the file. */
#ifndef USPI_RECORDING_PERF_STREAM_H
#define USPI_RECORDING_PERF_STREAM_H

#include "lib/object/bytes.h"
#include "lib/recording/perf_event.h"

struct uspi_zstd_stream; /* lib/images/decompress.h */

enum uspi_perf_feature {
    USPI_PERF_FEATURE_BUILD_IDS = 2,
    USPI_PERF_FEATURE_ARCH = 6,
    USPI_PERF_FEATURE_EVENTS = 12,
    USPI_PERF_FEATURE_SIMPLEPERF = 128, /* this and later ones are simpleperf's; only META comes with bytes */
    USPI_PERF_FEATURE_META = 129        /* keys and values, each of which ends in NUL */
};

/* Returns the value of a key in META, which ends in NUL; NULL: there is none. */
const char *uspi_perf_meta_find(struct uspi_fields fields, const char *key);

struct uspi_perf_stream {
    /* Set by the caller: as in struct usp_recording_options, and functions that get what is found. */
    int64_t (*read)(void *context, uint64_t offset, void *to, size_t n);
    void *read_context;
    uint64_t file_size; /* UINT64_MAX: a pipe */
    int (*record)(void *context, const struct uspi_perf_record *record);
    int (*feature)(void *context, uint32_t feature, struct uspi_fields fields);
    void *context;
    struct uspi_error *error;

    struct uspi_perf_events events;
    bool has_decompressed; /* some records were compressed */

    /* Private. */
    uint8_t *window; /* bytes of the file that are read and not handled yet */
    size_t from, to;
    uint64_t next, end; /* offset of the next byte to read; where the records end */
    struct uspi_zstd_stream *zstd;
    uint8_t *unpacked; /* decompressed bytes that are not handled yet */
    size_t unpacked_size;
};

/* Returns whether a file begins so. */
bool uspi_perf_is(const uint8_t *bytes, size_t n);

/* Reads the whole file. Returns USP_OK, what a function of the caller returned, or another status with stream->error
 * written. The caller calls uspi_perf_stream_clear in any case. */
int uspi_perf_stream_run(struct uspi_perf_stream *stream);

void uspi_perf_stream_clear(struct uspi_perf_stream *stream);

#endif
