/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a text for a reader (<unspool/report.h>). The size of the pieces in which the text comes does
 * not change the result. Without answers, the result is the input. With answers, everything else is unchanged. JSON
 * stays JSON. The text's report has no control characters and is valid JSON. Seeds: tests/fuzz/log_seeds.c. */
#include "lib/base/json_read.h"

#include <unspool/report.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Modes, from the first byte of the input. Its upper bits determine the size of the pieces. */
enum { WITH_ANSWERS = 1, WITH_IMAGES = 2, AS_RECORD = 4, WITH_INLINED = 8 };

struct output {
    unsigned mode;
    char *bytes;
    size_t size, capacity;
    struct usp_source_frame frames[2];
};

static int gather(void *context, const char *bytes, size_t n) {
    struct output *output = context;
    if (output->size + n + 1 > output->capacity) {
        output->capacity = 2 * (output->size + n + 1);
        output->bytes = realloc(output->bytes, output->capacity);
        if (output->bytes == NULL) abort();
    }
    memcpy(output->bytes + output->size, bytes, n);
    output->size += n;
    return USP_OK;
}

/* Answers with a name that contains characters that a terminal would obey, between marks that can be searched for. */
static int answer_place(void *context, const struct usp_place *place, struct usp_answer *answer) {
    struct output *output = context;
    if (place->build_id_size > USP_BUILD_ID_MAX || place->base > USP_PLACE_TEXT) abort();
    for (size_t i = 0; i < place->image_length; i++) (void)*(volatile const char *)&place->image[i];
    for (size_t i = 0; (place->flags & USP_PLACE_NAMED) != 0 && i < place->name_length; i++) {
        (void)*(volatile const char *)&place->name[i];
    }
    if ((output->mode & WITH_ANSWERS) == 0) return USP_OK;
    output->frames[0] = (struct usp_source_frame){.function = "inlined", .flags = USP_SOURCE_INLINED};
    output->frames[1] = (struct usp_source_frame){.function = "\x1b[31m\"\\\n\xff", .file = "/a/b.c", .line = 3};
    bool is_inlined = (output->mode & WITH_INLINED) != 0;
    answer->frames = is_inlined ? output->frames : output->frames + 1;
    answer->count = is_inlined ? 2 : 1;
    answer->offset = place->offset % 100;
    if (place->offset % 7 == 0) answer->flags = USP_ANSWER_TRAMPOLINE;
    if (place->offset % 3 == 0) answer->flags |= USP_ANSWER_NAME_HOLDS;
    return USP_OK;
}

static struct usp_reader *create(struct output *output, uint32_t flags, const struct usp_reader *images) {
    struct usp_reader_options options;
    struct usp_reader *reader;
    usp_reader_options_init(&options);
    options.flags = flags;
    options.find = answer_place;
    options.write = gather;
    options.context = output;
    options.images = images;
    if (usp_reader_create(&options, &reader) != USP_OK) abort();
    return reader;
}

static bool is_json(const char *text, size_t n) {
    struct uspi_json_document json = {.text = {text, n}};
    int status;
    size_t documents = 0;
    while ((status = uspi_json_read(&json)) == USP_OK) {
        documents++;
        for (size_t i = 0; i < json.count; i++) {
            const struct uspi_json_node *node = &json.nodes[i];
            if (node->from > n || node->length > n - node->from || node->next <= i || node->next > json.count) abort();
            if (node->key > n || node->key_length > n - node->key) abort();
        }
    }
    uspi_json_clear(&json);
    return status == USP_ERROR_NOT_FOUND && documents > 0;
}

static void check_counts(const struct usp_reader *reader) {
    struct usp_reader_counts counts;
    if (usp_reader_get_counts(reader, &counts) != USP_OK) abort();
    if (counts.frames != counts.named + counts.answered + counts.no_symbol + counts.no_file + counts.no_image) abort();
}

/* Learns and writes the text in pieces. */
static void write_in_pieces(struct usp_reader *reader, const char *text, size_t n, size_t piece) {
    for (size_t at = 0; at < n; at += piece) {
        if (usp_reader_learn(reader, text + at, n - at < piece ? n - at : piece) != USP_OK) abort();
    }
    if (usp_reader_rewind(reader) != USP_OK) abort();
    for (size_t at = 0; at < n; at += piece) {
        if (usp_reader_write(reader, text + at, n - at < piece ? n - at : piece) != USP_OK) abort();
    }
    usp_reader_end(reader, NULL, 0);
}

/* Makes a report of the same text: its text has no control characters, its JSON is valid, its page has no other tags
 * than those of the writer, and it does not differ from itself. */
static void check_report(const char *text, size_t n, struct output *answers) {
    struct usp_reader_options options;
    struct usp_report *report;
    struct output shown = {.mode = 0}, json = {.mode = 0}, page = {.mode = 0}, differences = {.mode = 0};
    usp_reader_options_init(&options);
    options.flags = USP_READER_NAMED;
    options.find = answer_place;
    options.context = answers;
    if (usp_report_create(&options, text, n, &report, NULL, 0) != USP_OK) return;
    if (usp_report_format(report, USP_REPORT_TEXT, gather, &shown) != USP_OK) abort();
    if (usp_report_format(report, USP_REPORT_JSON, gather, &json) != USP_OK) abort();
    if (usp_report_format(report, USP_REPORT_HTML, gather, &page) != USP_OK) abort();
    if (usp_report_compare(report, report, NULL, gather, &differences) != USP_OK) abort();
    static const char none[] = "No differences.\n";
    if (differences.size < sizeof none - 1 ||
        memcmp(differences.bytes + differences.size - (sizeof none - 1), none, sizeof none - 1) != 0) {
        abort();
    }
    for (size_t i = 0; i + 1 < page.size; i++) {
        if (page.bytes[i] == '<' && strchr("/!bdhlmprstv", page.bytes[i + 1]) == NULL) abort();
    }
    for (size_t i = 0; i < shown.size; i++) {
        const unsigned char c = (unsigned char)shown.bytes[i];
        if (c < ' ' && c != '\n' && c != '\t') abort();
    }
    if (!is_json(json.bytes, json.size)) abort();
    usp_report_free(report);
    free(shown.bytes);
    free(json.bytes);
    free(page.bytes);
    free(differences.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const unsigned mode = data[0];
    const char *text = (const char *)data + 1;
    const size_t n = size - 1;
    struct output whole = {.mode = mode}, pieces = {.mode = mode};
    struct usp_reader *images = NULL;
    char error[64];
    if ((mode & WITH_IMAGES) != 0) {
        images = create(&whole, USP_READER_IMAGES, NULL);
        if (usp_reader_learn(images, text, n) != USP_OK || usp_reader_rewind(images) != USP_OK) abort();
        usp_reader_image_count(images);
    }
    const uint32_t flags = (mode & AS_RECORD) != 0 ? USP_READER_RECORD : USP_READER_NAMED;
    struct usp_reader *reader = create(&whole, flags, images);
    int status = usp_reader_write_whole(reader, text, n, error, sizeof error);
    check_counts(reader);
    bool is_unchanged = whole.size == n && (n == 0 || memcmp(whole.bytes, text, n) == 0);
    if (flags == 0 && ((mode & WITH_ANSWERS) == 0 || n == 0) && !is_unchanged) abort();
    if (status == USP_OK && is_json(text, n) && !is_json(whole.bytes, whole.size)) abort();
    usp_reader_free(reader);
    if (flags == 0) {
        reader = create(&pieces, 0, images);
        write_in_pieces(reader, text, n, (size_t)(mode >> 4) * 37 + 1);
        if (pieces.size != whole.size || (n > 0 && memcmp(pieces.bytes, whole.bytes, whole.size) != 0)) abort();
        usp_reader_free(reader);
    }
    check_report(text, n, &whole);
    usp_reader_free(images);
    free(whole.bytes);
    free(pieces.bytes);
    return 0;
}
