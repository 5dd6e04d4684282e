/* SPDX-License-Identifier: MIT */
/* See perf_stream.h. Sources: Linux tools/perf/Documentation/perf.data-file-format.txt. */
#include "lib/recording/perf_stream.h"

#include "lib/base/span.h"
#include "lib/images/decompress.h"

#include <inttypes.h>
#include <stdlib.h>

#include <unspool/base.h>

#define MAGIC          "PERFILE2"
#define MAGIC_SWAPPED  "2ELIFREP"
#define MAGIC_FIRST    "PERFFILE"
#define MAGIC_SIZE     8u
#define HEADER_SIZE    104u
#define PIPE_HEADER    16u
#define RECORD_HEADER  8u
#define RECORD_MAX     65535u
#define WINDOW         ((size_t)256 << 10)
#define UNPACKED       ((size_t)256 << 10)
#define FEATURES       256u
#define FEATURE_MAX    (UINT64_C(64) << 20)
#define ATTRIBUTES_MAX (UINT64_C(16) << 20)
/* Maximum number of names in simpleperf's table; it lists the events that were recorded. */
#define NAMES_MAX 4096u

/* Types of records above this are simpleperf's, whose sizes have 32 bits. */
#define SIMPLEPERF_TYPES 32768u

bool uspi_perf_is(const uint8_t *bytes, size_t n) {
    return n >= MAGIC_SIZE && (memcmp(bytes, MAGIC, MAGIC_SIZE) == 0 || memcmp(bytes, MAGIC_SWAPPED, MAGIC_SIZE) == 0 ||
                               memcmp(bytes, MAGIC_FIRST, MAGIC_SIZE) == 0);
}

static int fail(struct uspi_perf_stream *s, int status, const char *what) {
    const uint64_t at = s->next - (s->to - s->from);
    return uspi_error_set(s->error, status, "offset 0x%" PRIx64 ": %s", at, what);
}

/* ---- bytes ---- */

/* Reads n bytes at an offset. Returns USP_OK, USP_ERROR_TRUNCATED, or the caller's status. */
static int read_exactly(struct uspi_perf_stream *s, uint64_t offset, void *to, size_t n) {
    uint8_t *at = to;
    while (n > 0) {
        const int64_t got = s->read(s->read_context, offset, at, n);
        if (got < 0) return uspi_error_set(s->error, (int)got, "%s", usp_status_string((int)got));
        if (got == 0)
            return uspi_error_set(s->error, USP_ERROR_TRUNCATED, "offset 0x%" PRIx64 ": the file ends", offset);
        at += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return USP_OK;
}

/* Brings at least n bytes into the window, or as many as there are. */
static int fill(struct uspi_perf_stream *s, size_t n) {
    if (s->to - s->from >= n) return USP_OK;
    memmove(s->window, s->window + s->from, s->to - s->from);
    s->to -= s->from;
    s->from = 0;
    while (s->to < n && s->next < s->end) {
        const uint64_t left = s->end - s->next;
        const size_t room = WINDOW - s->to, wanted = left < room ? (size_t)left : room;
        const int64_t got = s->read(s->read_context, s->next, s->window + s->to, wanted);
        if (got < 0) return uspi_error_set(s->error, (int)got, "%s", usp_status_string((int)got));
        if (got == 0) break;
        s->to += (size_t)got;
        s->next += (uint64_t)got;
    }
    return USP_OK;
}

/* Skips n bytes of the file. Only those of a pipe have to be read. */
static int skip(struct uspi_perf_stream *s, uint64_t n) {
    const size_t buffered = s->to - s->from;
    if (n > buffered && s->file_size != UINT64_MAX) {
        const uint64_t end = s->end < s->file_size ? s->end : s->file_size;
        if (s->next > end || n - buffered > end - s->next)
            return fail(s, USP_ERROR_TRUNCATED, "the file ends inside a record");
        s->next += n - buffered;
        s->from = s->to = 0;
        return USP_OK;
    }
    while (n > 0) {
        const int status = fill(s, 1);
        const size_t there = s->to - s->from, step = n < there ? (size_t)n : there;
        if (status != USP_OK) return status;
        if (step == 0) return fail(s, USP_ERROR_TRUNCATED, "the file ends inside a record");
        s->from += step;
        n -= step;
    }
    return USP_OK;
}

/* ---- records that describe the file ---- */

static int take_attribute(struct uspi_perf_stream *s, const struct uspi_perf_record *record) {
    const size_t size = uspi_perf_attribute_size(record->bytes, record->size);
    int status = uspi_perf_events_add(&s->events, record->bytes, record->size);
    if (status == USP_OK)
        status =
            uspi_perf_events_keep_ids(&s->events, s->events.count - 1, record->bytes + size, (record->size - size) / 8);
    return status == USP_OK ? USP_OK : fail(s, status, "an event is damaged");
}

/* Takes the names of events. */
static int take_event_descriptions(struct uspi_perf_stream *s, struct uspi_fields fields) {
    const uint32_t count = uspi_fields_u32(&fields), size = uspi_fields_u32(&fields);
    for (uint32_t i = 0; i < count && !fields.is_short; i++) {
        (void)uspi_fields_bytes(&fields, size);
        const uint32_t ids = uspi_fields_u32(&fields), length = uspi_fields_u32(&fields);
        struct uspi_fields name = {.at = uspi_fields_bytes(&fields, length), .left = length};
        size_t used;
        if (name.at == NULL) break;
        const char *text = uspi_fields_string(&name, &used);
        if (i < s->events.count) uspi_perf_events_name(&s->events, i, text, used);
        (void)uspi_fields_array(&fields, ids, 8);
    }
    return USP_OK;
}

const char *uspi_perf_meta_find(struct uspi_fields fields, const char *key) {
    const char *found = NULL;
    for (bool is_key = true; fields.left > 0; is_key = !is_key) {
        const char *text = (const char *)fields.at;
        const char *end = memchr(text, '\0', fields.left);
        if (end == NULL) return NULL;
        if (found != NULL) return text;
        if (is_key && strcmp(text, key) == 0) found = text;
        (void)uspi_fields_bytes(&fields, (size_t)(end - text) + 1);
    }
    return NULL;
}

/* Takes the names of events from simpleperf's table. A line is "NAME,TYPE,CONFIG". */
static void take_event_types(struct uspi_perf_stream *s, const char *lines) {
    const char *next;
    for (unsigned n = 0; n < NAMES_MAX && lines != NULL; n++, lines = next != NULL ? next + 1 : NULL) {
        const size_t length = strcspn(lines, ",\n");
        const struct uspi_span line = {lines, strcspn(lines, "\n")};
        uint64_t type, config;
        size_t at = length + 1;
        next = strchr(lines, '\n');
        if (!uspi_scan_decimal(line, &at, &type) || !uspi_skip(line, &at, USPI_SPAN(",")) ||
            !uspi_scan_decimal(line, &at, &config))
            continue;
        for (size_t i = 0; i < s->events.count; i++) {
            const struct uspi_perf_event *event = &s->events.all[i];
            const bool is_named = event->name != NULL && event->name[0] != '\0';
            if (!is_named && event->type == type && event->config == config)
                uspi_perf_events_name(&s->events, i, lines, length);
        }
    }
}

static int take_feature(struct uspi_perf_stream *s, uint64_t feature, struct uspi_fields fields) {
    if (feature == USPI_PERF_FEATURE_EVENTS) return take_event_descriptions(s, fields);
    if (feature == USPI_PERF_FEATURE_META) take_event_types(s, uspi_perf_meta_find(fields, "event_type_info"));
    return feature < FEATURES ? s->feature(s->context, (uint32_t)feature, fields) : USP_OK;
}

/* Takes an event's name in a pipe. */
static void take_update(struct uspi_perf_stream *s, const struct uspi_perf_record *record) {
    struct uspi_fields fields = {record->bytes, record->size, false};
    const uint64_t what = uspi_fields_u64(&fields);
    const size_t event = uspi_perf_events_find(&s->events, uspi_fields_u64(&fields));
    size_t length;
    const char *text = uspi_fields_string(&fields, &length);
    if (what == 2 && event < s->events.count) uspi_perf_events_name(&s->events, event, text, length);
}

static int handle(struct uspi_perf_stream *s, const struct uspi_perf_record *record) {
    struct uspi_fields fields = {record->bytes, record->size, false};
    uint64_t feature;
    switch (record->type) {
    case USPI_PERF_ATTR: return take_attribute(s, record);
    case USPI_PERF_UPDATE: take_update(s, record); return USP_OK;
    case USPI_PERF_BUILD_ID: return s->record(s->context, record);
    case USPI_PERF_FEATURE: feature = uspi_fields_u64(&fields); return take_feature(s, feature, fields);
    default: return s->record(s->context, record);
    }
}

/* ---- records ---- */

struct header {
    uint32_t type, misc;
    uint64_t size; /* with the header */
};

/* Returns false if no record can begin so. */
static bool read_header(const uint8_t *at, struct header *header) {
    header->type = uspi_le32(at);
    header->misc = uspi_le16(at + 4);
    header->size = uspi_le16(at + 6);
    if (header->type >= SIMPLEPERF_TYPES) header->size += (uint64_t)header->misc << 16;
    return header->size >= RECORD_HEADER;
}

/* Handles the whole records in memory. *used: their bytes. A record may be at most as large as `most`. */
static int handle_unpacked(struct uspi_perf_stream *s, size_t *used) {
    struct header header;
    int status = USP_OK;
    *used = 0;
    while (status == USP_OK && s->unpacked_size - *used >= RECORD_HEADER) {
        const uint8_t *at = s->unpacked + *used;
        if (!read_header(at, &header) || header.size > RECORD_MAX)
            return fail(s, USP_ERROR_FORMAT, "the compressed records are damaged");
        if (header.size > s->unpacked_size - *used) break;
        const struct uspi_perf_record record = {header.type, header.misc, at + RECORD_HEADER,
                                                (size_t)header.size - RECORD_HEADER};
        *used += (size_t)header.size;
        if (record.type != USPI_PERF_COMPRESSED && record.type != USPI_PERF_COMPRESSED2) status = handle(s, &record);
    }
    return status;
}

/* Decompresses the next part of the one stream that all compressed records make up. */
static int unpack(struct uspi_perf_stream *s, const uint8_t *from, size_t n) {
    int status = USP_OK;
    if (s->zstd == NULL) {
        s->unpacked = malloc(UNPACKED);
        status = s->unpacked != NULL ? uspi_zstd_begin(&s->zstd) : USP_ERROR_NO_MEMORY;
        if (status != USP_OK) return fail(s, status, "the records are compressed with zstd, which is not available");
        s->has_decompressed = true;
    }
    for (bool goes_on = true; goes_on;) {
        size_t used;
        const size_t room = UNPACKED - s->unpacked_size;
        struct uspi_zstd_piece piece = {from, n, s->unpacked + s->unpacked_size, room};
        status = uspi_zstd_step(s->zstd, &piece);
        if (status != USP_OK) return fail(s, status, "the compressed records are damaged");
        const bool stands = piece.n == n && piece.room == room;
        from = piece.from;
        n = piece.n;
        s->unpacked_size += room - piece.room;
        goes_on = n > 0 || piece.room == 0;
        if (goes_on && stands) return fail(s, USP_ERROR_FORMAT, "the compressed records are damaged");
        status = handle_unpacked(s, &used);
        if (status != USP_OK) return status;
        s->unpacked_size -= used;
        memmove(s->unpacked, s->unpacked + used, s->unpacked_size);
    }
    return USP_OK;
}

static int unpack_record(struct uspi_perf_stream *s, const struct uspi_perf_record *record) {
    struct uspi_fields fields = {record->bytes, record->size, false};
    uint64_t size = record->size;
    if (record->type == USPI_PERF_COMPRESSED2) size = uspi_fields_u64(&fields);
    const uint8_t *packed = uspi_fields_bytes(&fields, size);
    return packed != NULL ? unpack(s, packed, (size_t)size)
                          : fail(s, USP_ERROR_FORMAT, "a compressed record is damaged");
}

/* Returns how many bytes of tracing data follow a record. simpleperf puts them into the record. */
static uint64_t tracing_data_after(const struct uspi_perf_record *record) {
    const uint64_t size = uspi_le32(record->bytes);
    return size > record->size - 4 ? (size + 7) / 8 * 8 : 0;
}

/* Handles the record at the window's beginning, which is there as a whole. */
static int handle_record(struct uspi_perf_stream *s, const struct header *header) {
    const struct uspi_perf_record record = {header->type, header->misc, s->window + s->from + RECORD_HEADER,
                                            (size_t)header->size - RECORD_HEADER};
    uint64_t after = 0;
    int status;
    if (record.type == USPI_PERF_COMPRESSED || record.type == USPI_PERF_COMPRESSED2) {
        status = unpack_record(s, &record);
    } else {
        status = handle(s, &record);
        /* These have data outside of their size. */
        if (record.type == USPI_PERF_AUXTRACE && record.size >= 8) after = uspi_le64(record.bytes);
        if (record.type == USPI_PERF_TRACING_DATA && record.size >= 4) after = tracing_data_after(&record);
    }
    s->from += (size_t)header->size;
    return status == USP_OK && after > 0 ? skip(s, after) : status;
}

static int read_records(struct uspi_perf_stream *s) {
    for (;;) {
        struct header header;
        int status = fill(s, RECORD_HEADER);
        if (status != USP_OK) return status;
        if (s->to == s->from) return USP_OK;
        if (s->to - s->from < RECORD_HEADER) return fail(s, USP_ERROR_TRUNCATED, "the file ends inside a record");
        if (!read_header(s->window + s->from, &header)) return fail(s, USP_ERROR_FORMAT, "a record is damaged");
        if (header.size > RECORD_MAX) {
            status = skip(s, header.size);
        } else {
            status = fill(s, (size_t)header.size);
            if (status == USP_OK && s->to - s->from < header.size)
                return fail(s, USP_ERROR_TRUNCATED, "the file ends inside a record");
            if (status == USP_OK) status = handle_record(s, &header);
        }
        if (status != USP_OK) return status;
    }
}

/* ---- files ---- */

struct section {
    uint64_t offset, size;
};

static struct section section_at(const uint8_t *at) { return (struct section){uspi_le64(at), uspi_le64(at + 8)}; }

/* Reads a section into memory, which the caller frees. Returns NULL if it is not whole, larger than `most`, or there is
 * no memory. */
static uint8_t *read_section(struct uspi_perf_stream *s, struct section section, uint64_t most) {
    if (section.size > most || section.size > SIZE_MAX / 2 || section.offset > s->file_size ||
        section.size > s->file_size - section.offset) {
        return NULL;
    }
    uint8_t *bytes = malloc((size_t)section.size + 1);
    if (bytes != NULL && read_exactly(s, section.offset, bytes, (size_t)section.size) == USP_OK) return bytes;
    free(bytes);
    return NULL;
}

static int read_ids(struct uspi_perf_stream *s, struct section ids) {
    /* Each event of a damaged file could name the same large section. */
    if (ids.size / 8 > USPI_PERF_IDS_MAX - s->events.ids) return USP_OK;
    uint8_t *bytes = ids.size > 0 ? read_section(s, ids, ATTRIBUTES_MAX) : NULL;
    if (bytes == NULL) return USP_OK;
    int status = uspi_perf_events_keep_ids(&s->events, s->events.count - 1, bytes, ids.size / 8);
    free(bytes);
    return status;
}

/* Reads the table of events. Each entry is a perf_event_attr and the section of its ids. */
static int read_attributes(struct uspi_perf_stream *s, struct section table, uint64_t entry) {
    if (entry < 64 + 16 || table.size % entry != 0) return fail(s, USP_ERROR_FORMAT, "the table of events is damaged");
    uint8_t *bytes = read_section(s, table, ATTRIBUTES_MAX);
    int status = bytes != NULL ? USP_OK : fail(s, USP_ERROR_TRUNCATED, "the table of events is not there");
    for (uint64_t at = 0; status == USP_OK && at < table.size; at += entry) {
        status = uspi_perf_events_add(&s->events, bytes + at, (size_t)entry - 16);
        if (status != USP_OK) status = fail(s, status, "an event is damaged");
        if (status == USP_OK) status = read_ids(s, section_at(bytes + at + (size_t)entry - 16));
    }
    free(bytes);
    return status;
}

/* Reads the features, whose sections follow the records: one for each bit, in the order of bits. Those that are cut off
 * are left out, and *are_cut becomes true. */
static int read_features(struct uspi_perf_stream *s, const uint8_t *bits, uint64_t at, bool *are_cut) {
    int status = USP_OK;
    for (uint32_t i = 0; i < FEATURES && status == USP_OK; i++) {
        uint8_t entry[16];
        if ((bits[i / 8] >> i % 8 & 1) == 0) continue;
        if (at > s->file_size || s->file_size - at < sizeof entry ||
            read_exactly(s, at, entry, sizeof entry) != USP_OK) {
            *are_cut = true;
            break;
        }
        at += sizeof entry;
        const struct section section = section_at(entry);
        if (section.size > s->file_size || section.offset > s->file_size - section.size) *are_cut = true;
        if (i >= USPI_PERF_FEATURE_SIMPLEPERF) status = take_feature(s, i, (struct uspi_fields){NULL, 0, false});
        if (i != USPI_PERF_FEATURE_BUILD_IDS && i != USPI_PERF_FEATURE_ARCH && i != USPI_PERF_FEATURE_EVENTS &&
            i != USPI_PERF_FEATURE_META)
            continue;
        uint8_t *bytes = read_section(s, section, FEATURE_MAX);
        if (bytes == NULL) continue;
        status = take_feature(s, i, (struct uspi_fields){bytes, (size_t)section.size, false});
        free(bytes);
    }
    return status;
}

/* Reads a file with tables. */
static int read_file(struct uspi_perf_stream *s, const uint8_t *header) {
    const struct section attributes = section_at(header + 24), data = section_at(header + 40);
    if (s->file_size == UINT64_MAX)
        return fail(s, USP_ERROR_UNSUPPORTED, "this is a recording in a file, which cannot be read from a pipe");
    int status = read_attributes(s, attributes, uspi_le64(header + 16));
    const bool is_finished = data.size != 0 && data.offset <= s->file_size && data.size <= s->file_size - data.offset;
    bool are_cut = false;
    if (status == USP_OK && is_finished) status = read_features(s, header + 72, data.offset + data.size, &are_cut);
    if (status != USP_OK) return status;
    s->from = s->to = 0;
    s->next = data.offset;
    s->end = is_finished ? data.offset + data.size : s->file_size;
    status = read_records(s);
    if (status == USP_OK && are_cut)
        return fail(s, USP_ERROR_TRUNCATED, "the tables after the records are cut off, which have build ids");
    if (status != USP_OK || is_finished) return status;
    return fail(s, USP_ERROR_TRUNCATED,
                data.size == 0 ? "the recording was not finished" : "the file is shorter than its header says");
}

int uspi_perf_stream_run(struct uspi_perf_stream *s) {
    uint8_t header[HEADER_SIZE];
    s->window = malloc(WINDOW);
    if (s->window == NULL) return uspi_error_set(s->error, USP_ERROR_NO_MEMORY, "out of memory");
    s->end = UINT64_MAX;
    int status = fill(s, PIPE_HEADER);
    if (status != USP_OK) return status;
    if (!uspi_perf_is(s->window, s->to) || s->to < PIPE_HEADER)
        return fail(s, USP_ERROR_FORMAT, "not a recording of perf");
    if (memcmp(s->window, MAGIC_SWAPPED, MAGIC_SIZE) == 0)
        return fail(s, USP_ERROR_UNSUPPORTED, "a recording of a big-endian machine");
    if (memcmp(s->window, MAGIC_FIRST, MAGIC_SIZE) == 0)
        return fail(s, USP_ERROR_UNSUPPORTED, "the first version of perf's format, from before 2013");
    const uint64_t size = uspi_le64(s->window + 8);
    if (size == PIPE_HEADER) {
        s->from = PIPE_HEADER;
        return read_records(s);
    }
    if (size < HEADER_SIZE) return fail(s, USP_ERROR_FORMAT, "the header is damaged");
    status = fill(s, HEADER_SIZE);
    if (status != USP_OK) return status;
    if (s->to < HEADER_SIZE) return fail(s, USP_ERROR_TRUNCATED, "the file ends inside its header");
    memcpy(header, s->window, sizeof header);
    return read_file(s, header);
}

void uspi_perf_stream_clear(struct uspi_perf_stream *s) {
    free(s->window);
    free(s->unpacked);
    uspi_zstd_end(s->zstd);
    uspi_perf_events_clear(&s->events);
}
