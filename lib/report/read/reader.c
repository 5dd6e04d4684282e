/* SPDX-License-Identifier: MIT */
/* Readers of <unspool/report.h>: decide which kind of text they read, and how long they keep it. lines.c handles lines,
 * documents.c JSON documents.
 *
 *   text      lines, each written when it is complete; frames of a JSON document in a line get names, too
 *   JSON      one or several documents, kept until the end of the text; documents of unknown kinds stay unchanged
 *   XML       of xctrace, written element by element (xctrace.c)
 *   an old .ips report, or one of a resource limit: a line of JSON, then text */
#include "lib/report/read/reader.h"

#include "lib/base/array.h"
#include "lib/base/sized.h"
#include "lib/base/span.h"
#include "lib/base/text.h"
#include "lib/report/read/plcrash.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- UTF-16: RFC 2781, RFC 3629 ---- */

/* Converts between UTF-16 and UTF-8, for texts that tools on Windows and some editors write. */

static uint32_t load_unit(const char *from, bool is_big_endian) {
    const unsigned char *bytes = (const unsigned char *)from;
    return is_big_endian ? (uint32_t)bytes[0] << 8 | bytes[1] : (uint32_t)bytes[1] << 8 | bytes[0];
}

static size_t store_unit(uint32_t unit, bool is_big_endian, char *to) {
    to[is_big_endian ? 0 : 1] = (char)(unit >> 8);
    to[is_big_endian ? 1 : 0] = (char)(unit & 0xff);
    return 2;
}

/* Converts `units` UTF-16 code units to UTF-8. `to` must have room for 3 bytes for each unit. Returns the length in
 * bytes, or SIZE_MAX when there is a surrogate without its other half. */
static size_t utf16_decode(const char *from, size_t units, bool is_big_endian, char *to) {
    size_t length = 0;
    for (size_t i = 0; i < units; i++) {
        uint32_t unit = load_unit(from + 2 * i, is_big_endian);
        if (unit >> 11 == 0xd800 >> 11) {
            uint32_t low = i + 1 < units ? load_unit(from + 2 * (i + 1), is_big_endian) : 0;
            if (unit >> 10 != 0xd800 >> 10 || low >> 10 != 0xdc00 >> 10) return SIZE_MAX;
            unit = 0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff));
            i++;
        }
        length += uspi_utf8_encode(unit, to + length);
    }
    return length;
}

/* Converts UTF-8 to UTF-16. `to` must have room for 2 bytes for each byte. Returns the length in bytes; invalid UTF-8
 * becomes U+FFFD. */
static size_t utf16_encode(struct uspi_span from, bool is_big_endian, char *to) {
    size_t length = 0;
    for (size_t at = 0; at < from.length;) {
        uint32_t character = 0xfffd;
        size_t n = uspi_utf8_decode(from.bytes + at, from.length - at, &character);
        if (n == 0) character = 0xfffd;
        at += n > 0 ? n : 1;
        if (character >= 0x10000) {
            character -= 0x10000;
            length += store_unit(0xd800 | character >> 10, is_big_endian, to + length);
            character = 0xdc00 | (character & 0x3ff);
        }
        length += store_unit(character, is_big_endian, to + length);
    }
    return length;
}

void usp_reader_options_init(struct usp_reader_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

int usp_reader_create(const struct usp_reader_options *options, struct usp_reader **reader) {
    struct usp_reader_options completed;
    if (reader == NULL) return USP_ERROR_ARGUMENT;
    *reader = NULL;
    usp_reader_options_init(&completed);
    const uint32_t known = USP_READER_RECORD | USP_READER_IMAGES | USP_READER_NAMED;
    if (!USPI_COMPLETE(&completed, options) || (completed.flags & ~known) != 0) return USP_ERROR_ARGUMENT;
    struct usp_reader *made = calloc(1, sizeof *made);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->options = completed;
    made->counts.format = "";
    made->lines =
        (struct uspi_line_reader){.find = completed.find, .context = completed.context, .counts = &made->counts};
    made->lines.asks_named = (completed.flags & USP_READER_NAMED) != 0;
    made->lines.given_table = USPI_ALL_TABLES;
    made->lines.choice = &made->choice;
    made->lines.buffers = &made->buffers;
    uspi_line_choice_init(&made->choice);
    if (completed.images != NULL) made->lines.given = uspi_reader_tables(completed.images);
    made->documents.lines = &made->lines;
    made->documents.is_record = (completed.flags & USP_READER_RECORD) != 0;
    made->out = uspi_text_through(completed.write, completed.context, made->out_buffer, sizeof made->out_buffer);
    *reader = made;
    return USP_OK;
}

const struct uspi_text_tables *uspi_reader_tables(const struct usp_reader *reader) {
    return reader->documents.tables.count > 0 ? &reader->documents.tables : &reader->lines.tables;
}

static void forget_text(struct usp_reader *reader) {
    uspi_split_clear(&reader->split);
    uspi_xctrace_clear(&reader->xctrace);
    reader->kind = USPI_INPUT_UNDECIDED;
    reader->kept_size = 0;
    reader->held_size = 0;
    reader->mark_length = 0;
    reader->is_rewound = false;
    reader->is_cut = false;
}

void usp_reader_free(struct usp_reader *reader) {
    if (reader == NULL) return;
    forget_text(reader);
    uspi_log_lines_clear(&reader->lines);
    for (size_t i = 0; i < 2; i++) uspi_gathered_clear(&reader->buffers.plain[i]);
    uspi_gathered_clear(&reader->buffers.joined);
    uspi_documents_clear(&reader->documents);
    free(reader->kept);
    free(reader->held);
    free(reader->decoded);
    uspi_gathered_clear(&reader->gathered);
    uspi_gathered_clear(&reader->translated);
    uspi_expanded_clear(&reader->expanded);
    free(reader);
}

size_t usp_reader_image_count(const struct usp_reader *reader) {
    const struct uspi_text_tables *tables = uspi_reader_tables(reader);
    size_t count = 0;
    for (size_t i = 0; i < uspi_log_tables_count(tables); i++) count += uspi_log_tables_image_count(tables, i);
    return count;
}

int usp_reader_get_counts(const struct usp_reader *reader, struct usp_reader_counts *counts) {
    if (reader == NULL || counts == NULL) return USP_ERROR_ARGUMENT;
    *counts = reader->counts;
    return USP_OK;
}

/* ---- output ---- */

static void put_raw(struct usp_reader *reader, struct uspi_span bytes) {
    if (reader->options.write != NULL) uspi_put(&reader->out, bytes.bytes, bytes.length);
}

static bool reserve(char **buffer, size_t *capacity, size_t size) {
    void *grown = uspi_array_reserve(*buffer, capacity, size + 1, 1);
    if (grown == NULL) return false;
    *buffer = grown;
    return true;
}

/* Writes UTF-8 text as UTF-16. The text begins and ends with whole characters. */
static void put_wide(struct usp_reader *reader, struct uspi_span text) {
    char units[2048];
    while (text.length > 0) {
        size_t part = text.length < sizeof units / 2 ? text.length : sizeof units / 2;
        while (part < text.length && part > 1 && ((unsigned char)text.bytes[part] & 0xc0) == 0x80) part--;
        bool is_big_endian = reader->split.encoding == USPI_ENCODING_UTF16_BIG;
        size_t length = utf16_encode(uspi_span_part(text, 0, part), is_big_endian, units);
        put_raw(reader, (struct uspi_span){units, length});
        text = uspi_span_after(text, part);
    }
}

/* Number of bytes at the beginning of a text that are examined. */
#define HEAD_MAX ((size_t)64 << 10)

static bool has_any(struct uspi_span text, const struct uspi_span *marks, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (marks[i].length > 0 && uspi_span_has(text, marks[i])) return true;
    }
    return false;
}

/* Whether a text has one of the keys that reports have. Without them, text that is not valid JSON is read as lines. */
static bool looks_like_report(struct uspi_span text) {
    static const struct uspi_span common[] = {USPI_SPAN_INIT("\"bug_type\""), USPI_SPAN_INIT("\"incident_id\""),
                                              USPI_SPAN_INIT("\"backtrace"), USPI_SPAN_INIT("\"frames\"")};
    if (text.length > HEAD_MAX) text.length = HEAD_MAX;
    if (has_any(text, common, sizeof common / sizeof *common)) return true;
    for (size_t i = 0; uspi_json_shapes[i] != NULL; i++) {
        const struct uspi_span *marks = uspi_json_shapes[i]->marks;
        if (has_any(text, marks, sizeof uspi_json_shapes[i]->marks / sizeof *marks)) return true;
    }
    return false;
}

/* ---- documents ---- */

void uspi_reader_set_error(struct usp_reader *reader, int status, size_t at) {
    const char *what = status == USP_ERROR_TRUNCATED     ? "the JSON is cut off"
                       : status == USP_ERROR_UNSUPPORTED ? "JSON of 4 GB and more is not read"
                                                         : "this is not JSON";
    snprintf(reader->error, sizeof reader->error, "offset 0x%" PRIx64 ": %s", (uint64_t)at, what);
}

int uspi_reader_end_cut(struct usp_reader *reader, size_t at, bool is_readable) {
    uspi_reader_set_error(reader, USP_ERROR_TRUNCATED, at);
    if (!is_readable) return USP_ERROR_TRUNCATED;
    reader->is_cut = true;
    const size_t length = strlen(reader->error);
    snprintf(reader->error + length, sizeof reader->error - length, "; what is whole was read");
    return USP_OK;
}

void uspi_reader_cut_trees(struct usp_reader *reader) {
    reader->is_cut = true;
    snprintf(reader->error, sizeof reader->error,
             "samples are left out, because they refer to the same stacks too often");
}

bool uspi_reader_is_damage(int status) {
    return status == USP_ERROR_FORMAT || status == USP_ERROR_TRUNCATED || status == USP_ERROR_UNSUPPORTED;
}

typedef void (*put_function)(struct usp_reader *reader, struct uspi_span bytes);

/* Fails, because a record is a single object. */
static int fail_record(struct usp_reader *reader, const struct uspi_documents *documents) {
    snprintf(reader->error, sizeof reader->error, "offset 0x%" PRIx32 ": more than one value in a record",
             documents->document.nodes[0].from);
    return USP_ERROR_FORMAT;
}

/* If a text has encoded Swift backtraces, replaces it by one in which they are expanded to frames. That text is valid
 * until the next call. */
static int expand(struct usp_reader *reader, struct uspi_span *text) {
    int status = uspi_expand_backtraces(*text, &reader->expanded);
    if (reader->expanded.count > 0) *text = uspi_gathered_span(&reader->expanded.text);
    return status;
}

/* Writes bytes `from` … `to` − 1 of a text, in which nothing was edited. Omits the expanded backtraces in this range,
 * because their frames got no names. *next is the first expansion that was not passed yet. */
static void put_unchanged(struct usp_reader *reader, struct uspi_span text, size_t from, size_t to, size_t *next,
                          put_function put) {
    const struct uspi_expanded *expanded = &reader->expanded;
    while (*next < expanded->count && expanded->additions[*next].from < to) {
        const struct uspi_addition *addition = &expanded->additions[*next];
        if (addition->to > to) break;
        ++*next;
        if (addition->from < from) continue;
        put(reader, uspi_span_part(text, from, addition->from));
        from = addition->to;
    }
    put(reader, uspi_span_part(text, from, to));
}

/* Writes all documents of a text. A damaged one, and the text after it, stay unchanged. */
static int write_documents(struct usp_reader *reader, struct uspi_span text, put_function put) {
    struct uspi_documents *documents = &reader->documents;
    size_t written = 0, addition = 0;
    const struct usp_reader_counts before = reader->counts;
    int status;
    bool is_readable;
    documents->document.text = text;
    documents->document.at = 0;
    documents->document.is_cut = false;
    while ((status = uspi_documents_read(documents, NULL, NULL)) == USP_OK && reader->out.status == USP_OK) {
        if (documents->is_record && written > 0) return fail_record(reader, documents);
        for (size_t i = 0; i < documents->edits.count; i++) {
            const struct uspi_edit *edit = &documents->edits.edits[i];
            put_unchanged(reader, text, written, edit->at, &addition, put);
            put(reader, (struct uspi_span){documents->edits.texts.bytes + edit->from, edit->length});
            written = edit->at + edit->removed;
        }
    }
    if (uspi_reader_is_damage(status)) uspi_reader_set_error(reader, status, documents->document.at);
    if (status == USP_ERROR_NOT_FOUND) status = USP_OK;
    if (status == USP_OK && uspi_documents_is_cut(documents, &before, &is_readable)) {
        status = uspi_reader_end_cut(reader, text.length, is_readable);
    }
    if (status == USP_OK || uspi_reader_is_damage(status)) {
        put_unchanged(reader, text, written, text.length, &addition, put);
    }
    return status == USP_OK ? reader->out.status : status;
}

bool uspi_reader_find_document(struct usp_reader *reader, struct uspi_span line, struct uspi_line_document *found,
                               int *status) {
    const char *brace = line.length > 0 ? memchr(line.bytes, '{', line.length) : NULL;
    *status = USP_OK;
    if (brace == NULL || reader->documents.is_record) return false;
    const size_t begin = (size_t)(brace - line.bytes);
    struct uspi_json_document probe = {.text = uspi_span_after(line, begin)};
    if (!looks_like_report(probe.text)) return false;
    *status = uspi_json_read(&probe);
    uspi_json_clear(&probe);
    if (*status != USP_OK) {
        /* A damaged or truncated document is ordinary text. */
        if (*status != USP_ERROR_NO_MEMORY) *status = USP_OK;
        return false;
    }
    found->before = uspi_span_part(line, 0, begin);
    found->text = uspi_span_part(line, begin, begin + probe.at);
    found->after = uspi_span_after(line, begin + probe.at);
    *status = expand(reader, &found->text);
    return *status == USP_OK;
}

/* ---- lines ---- */

/* Gives the characters of a line in UTF-8: the line itself, or in `decoded`, after the first `decoded_size` bytes.
 * Returns false with USP_OK if they are not UTF-16. */
static bool characters_of(struct usp_reader *reader, struct uspi_span raw, struct uspi_span *text, int *status) {
    *status = USP_OK;
    *text = raw;
    if (reader->split.encoding == USPI_ENCODING_UTF8) return true;
    if (raw.length % 2 != 0) return false;
    if (!reserve(&reader->decoded, &reader->decoded_capacity, reader->decoded_size + raw.length / 2 * 3)) {
        *status = USP_ERROR_NO_MEMORY;
        return false;
    }
    char *to = reader->decoded + reader->decoded_size;
    size_t length = utf16_decode(raw.bytes, raw.length / 2, reader->split.encoding == USPI_ENCODING_UTF16_BIG, to);
    if (length == SIZE_MAX) return false;
    *text = (struct uspi_span){to, length};
    return true;
}

/* Returns the text after a line in UTF-8. Of a UTF-16 text it converts only the next line, which is enough. */
static struct uspi_span following_of(struct usp_reader *reader, struct uspi_span rest) {
    struct uspi_span text;
    int status;
    if (reader->split.encoding == USPI_ENCODING_UTF8) return rest;
    const char *end = rest.length > 0 ? memchr(rest.bytes, '\n', rest.length) : NULL;
    size_t length = end != NULL ? (size_t)(end - rest.bytes) + 2 : rest.length;
    if (length > rest.length) length = rest.length;
    length &= ~(size_t)1;
    return characters_of(reader, uspi_span_part(rest, 0, length), &text, &status) ? text : (struct uspi_span){"", 0};
}

static int hold(struct usp_reader *reader, const struct uspi_line *line) {
    if (!reserve(&reader->held, &reader->held_capacity, line->raw.length)) return USP_ERROR_NO_MEMORY;
    memcpy(reader->held, line->raw.bytes, line->raw.length);
    reader->held_size = line->raw.length;
    reader->held_position = line->position;
    return USP_OK;
}

/* Writes a line that contains a document. */
static int write_line_of_document(struct usp_reader *reader, const struct uspi_line *line, struct uspi_span text,
                                  const struct uspi_line_document *document) {
    const put_function put = reader->split.encoding != USPI_ENCODING_UTF8 ? put_wide : put_raw;
    if (!uspi_log_lines_pass(&reader->lines, line->position, text)) return USP_ERROR_NO_MEMORY;
    put(reader, document->before);
    const int status = write_documents(reader, document->text, put);
    put(reader, document->after);
    /* Its images are valid only in this document. */
    uspi_log_tables_clear(&reader->documents.tables);
    return status == USP_OK ? reader->out.status : status;
}

/* Writes a line, or holds it until the next one has arrived. */
static int write_line(struct usp_reader *reader, const struct uspi_line *line, bool is_last) {
    struct uspi_line_document document;
    struct uspi_span text, following;
    enum uspi_line_is is = USPI_LINE_NO_FRAME;
    const bool is_wide = reader->split.encoding != USPI_ENCODING_UTF8;
    int status = USP_OK;
    reader->decoded_size = 0;
    if (line->is_piece || !characters_of(reader, line->raw, &text, &status)) {
        reader->counts.passed += !line->is_piece || line->is_first_piece;
        put_raw(reader, line->raw);
        return status;
    }
    const struct uspi_line_kind kind = uspi_line_kind_of(text);
    const bool has_brace = (kind.has & USPI_HAS_BRACE) != 0;
    if (has_brace && uspi_reader_find_document(reader, text, &document, &status)) {
        return write_line_of_document(reader, line, text, &document);
    }
    if (status != USP_OK) return status;
    if (is_wide) {
        /* Both texts are in `decoded`, which following_of may move. */
        reader->decoded_size = text.length;
        following = following_of(reader, line->following);
        text.bytes = reader->decoded;
        reader->decoded_size += following.length;
    } else {
        following = line->following;
    }
    char buffer[512];
    struct uspi_text gathered = uspi_text_through(uspi_gathered_append, &reader->gathered, buffer, sizeof buffer);
    struct uspi_text *out = is_wide ? &gathered : &reader->out;
    reader->gathered.size = 0;
    const struct uspi_line_here here = {line->position, text, following, is_last, kind};
    status = uspi_log_lines_write(&reader->lines, &here, out, &is);
    if (is_wide && status == USP_OK) status = uspi_text_flush(&gathered);
    if (status != USP_OK) return status;
    if (is == USPI_LINE_WAITS) return hold(reader, line);
    if (is != USPI_LINE_WRITTEN) put_raw(reader, line->raw);
    if (is == USPI_LINE_WRITTEN && is_wide) {
        put_wide(reader, uspi_gathered_span(&reader->gathered));
    }
    return reader->out.status;
}

/* Writes the held line, now that the line after it has arrived. */
static int write_held(struct usp_reader *reader, struct uspi_span following, bool is_last) {
    if (reader->held_size == 0) return USP_OK;
    struct uspi_line line = {
        .position = reader->held_position, .raw = {reader->held, reader->held_size}, .following = following};
    reader->held_size = 0;
    return write_line(reader, &line, is_last);
}

static int take_line(struct usp_reader *reader, const struct uspi_line *line, bool is_learning) {
    struct uspi_span text;
    int status;
    if (!is_learning) {
        status = write_held(reader, line->raw, true);
        return status == USP_OK ? write_line(reader, line, false) : status;
    }
    reader->decoded_size = 0;
    if (line->is_piece || !characters_of(reader, line->raw, &text, &status)) return line->is_piece ? USP_OK : status;
    return uspi_log_lines_learn(&reader->lines, line->position, text) ? USP_OK : USP_ERROR_NO_MEMORY;
}

static int take_lines(struct usp_reader *reader, struct uspi_span bytes, bool is_learning) {
    struct uspi_line line;
    size_t at = 0;
    int status;
    while (uspi_split_next(&reader->split, bytes, &at, &line, &status)) {
        status = take_line(reader, &line, is_learning);
        if (status != USP_OK) return status;
    }
    return status;
}

/* Handles the held line, and the last line, which has no end. */
static int end_lines(struct usp_reader *reader, bool is_learning) {
    struct uspi_line line;
    int status = USP_OK;
    if (uspi_split_last(&reader->split, &line)) {
        if (is_learning) return take_line(reader, &line, true);
        status = write_held(reader, line.raw, true);
        if (status == USP_OK) status = write_line(reader, &line, true);
    } else if (!is_learning) {
        status = write_held(reader, (struct uspi_span){"", 0}, true);
    }
    return status;
}

/* ---- which kind of text it is ---- */

static size_t skip_blank(struct uspi_span text, size_t at) {
    while (at < text.length && uspi_is_blank(text.bytes[at])) at++;
    return at;
}

/* Decides by the beginning of a text; USPI_INPUT_UNDECIDED while that is too short. */
static enum uspi_input_kind decide(struct uspi_span text, bool is_last) {
    struct uspi_json_document first = {.text = {"", 0}};
    const enum uspi_input_kind unknown = is_last ? USPI_INPUT_LINES : USPI_INPUT_UNDECIDED;
    bool is_decided;
    if (uspi_is_xctrace(text, is_last || text.length >= HEAD_MAX, &is_decided)) return USPI_INPUT_XCTRACE;
    if (!is_decided) return unknown;
    size_t begin = skip_blank(text, 0), next = skip_blank(text, begin + 1);
    if (begin == text.length) return unknown;
    if (text.bytes[begin] != '{' && text.bytes[begin] != '[') return USPI_INPUT_LINES;
    if (next >= text.length) return unknown;
    if (strchr(text.bytes[begin] == '{' ? "\"}" : "{[\"]", text.bytes[next]) == NULL) return USPI_INPUT_LINES;
    size_t end = uspi_span_find(text, begin, USPI_SPAN("\n"));
    if (end == text.length) return is_last || text.length >= HEAD_MAX ? USPI_INPUT_JSON : USPI_INPUT_UNDECIDED;
    /* A complete document in the first line may be one of several, or be followed by a report in text. */
    first.text = uspi_span_part(text, begin, end);
    int status = uspi_json_read(&first);
    uspi_json_clear(&first);
    if (status != USP_OK) return USPI_INPUT_JSON;
    /* "[        ]" before each line of a log is an empty array, too. */
    const size_t rest = skip_blank(first.text, first.at);
    if (rest < first.text.length && first.text.bytes[rest] != '{' && first.text.bytes[rest] != '[') {
        return USPI_INPUT_LINES;
    }
    size_t after = skip_blank(text, end);
    if (after == text.length) return is_last || text.length >= HEAD_MAX ? USPI_INPUT_JSON : USPI_INPUT_UNDECIDED;
    return text.bytes[after] == '{' || text.bytes[after] == '[' ? USPI_INPUT_JSON : USPI_INPUT_LINES;
}

static int decide_by_head(struct usp_reader *reader, struct uspi_span bytes, bool is_last) {
    struct uspi_span text = bytes;
    int status = USP_OK;
    size_t mark;
    /* A byte order mark may have three bytes. */
    if (bytes.length < 3 && !is_last) return USP_OK;
    reader->split.encoding = uspi_encoding_of(bytes, &mark);
    reader->mark_length = mark;
    text = uspi_span_after(text, mark);
    if (text.length > HEAD_MAX) text.length = HEAD_MAX;
    if (reader->split.encoding != USPI_ENCODING_UTF8) {
        text.length &= ~(size_t)1;
        reader->decoded_size = 0;
        if (!characters_of(reader, text, &text, &status)) {
            reader->kind = USPI_INPUT_LINES;
            return status;
        }
    }
    reader->kind = decide(text, is_last);
    /* xctrace writes UTF-8. */
    const bool is_wide = reader->split.encoding != USPI_ENCODING_UTF8;
    if (reader->kind == USPI_INPUT_XCTRACE && is_wide) reader->kind = USPI_INPUT_LINES;
    return USP_OK;
}

static int keep(struct usp_reader *reader, struct uspi_span bytes) {
    if (!reserve(&reader->kept, &reader->kept_capacity, reader->kept_size + bytes.length)) return USP_ERROR_NO_MEMORY;
    if (bytes.length > 0) memcpy(reader->kept + reader->kept_size, bytes.bytes, bytes.length);
    reader->kept_size += bytes.length;
    return USP_OK;
}

/* Writes the byte order mark at the beginning of a text, unless the text is being learned. Returns the text after
 * it. */
static struct uspi_span take_mark(struct usp_reader *reader, struct uspi_span bytes, bool is_learning) {
    struct uspi_span mark = uspi_span_part(bytes, 0, reader->mark_length);
    if (!is_learning) put_raw(reader, mark);
    reader->split.position += mark.length;
    return uspi_span_after(bytes, mark.length);
}

/* ---- texts that are documents ---- */

/* Learns the images of the first document or, if that has none, of the second one. */
static int learn_documents(struct usp_reader *reader, struct uspi_span text) {
    struct uspi_documents *documents = &reader->documents;
    int status = expand(reader, &text);
    if (status != USP_OK) return status;
    documents->document.text = text;
    documents->document.at = 0;
    documents->document.is_cut = false;
    usp_place_function find = reader->lines.find;
    reader->lines.find = NULL;
    status = uspi_documents_read(documents, NULL, NULL);
    /* The first document of an .ips report describes the report, which follows. */
    if (status == USP_OK && documents->tables.count == 0) status = uspi_documents_read(documents, NULL, NULL);
    if (status == USP_OK && documents->document.is_cut) status = USP_ERROR_TRUNCATED;
    if (uspi_reader_is_damage(status)) uspi_reader_set_error(reader, status, documents->document.at);
    reader->lines.find = find;
    return status == USP_ERROR_NOT_FOUND ? USP_OK : status;
}

/* Writes a whole text as lines: learns it, then writes it. */
static int write_as_lines(struct usp_reader *reader, struct uspi_span text) {
    reader->kind = USPI_INPUT_LINES;
    int status = take_lines(reader, text, true);
    if (status == USP_OK) status = end_lines(reader, true);
    uint64_t end = reader->split.position;
    enum uspi_encoding encoding = reader->split.encoding;
    uspi_split_clear(&reader->split);
    reader->split.encoding = encoding;
    if (status == USP_OK && !uspi_log_lines_rewind(&reader->lines, end)) status = USP_ERROR_NO_MEMORY;
    if (status == USP_OK) status = take_lines(reader, text, false);
    return status == USP_OK ? end_lines(reader, false) : status;
}

static int write_json(struct usp_reader *reader, struct uspi_span text) {
    struct uspi_json_document probe = {.text = text};
    const bool is_wide = reader->split.encoding != USPI_ENCODING_UTF8;
    struct uspi_span raw = text;
    int status = USP_OK;
    reader->decoded_size = 0;
    if (is_wide && !characters_of(reader, raw, &text, &status)) {
        if (status != USP_OK) return status;
        snprintf(reader->error, sizeof reader->error, "this is not UTF-16");
        put_raw(reader, raw);
        return USP_ERROR_FORMAT;
    }
    if (!is_wide && !reader->documents.is_record && !looks_like_report(text)) {
        status = uspi_json_read(&probe);
        uspi_json_clear(&probe);
        if (uspi_reader_is_damage(status)) return write_as_lines(reader, raw);
        if (status == USP_ERROR_NO_MEMORY) return status;
    }
    status = expand(reader, &text);
    return status == USP_OK ? write_documents(reader, text, is_wide ? put_wide : put_raw) : status;
}

/* ---- public functions ---- */

/* Writes the next bytes of a recording. Its images are in the text before the frames, so it need not be learned. */
static int take_xctrace(struct usp_reader *reader, struct uspi_span bytes, bool is_last, bool is_learning) {
    if (is_learning) return USP_OK;
    return uspi_xctrace_write(&reader->xctrace, &reader->lines, bytes, is_last, &reader->out);
}

static int take_bytes(struct usp_reader *reader, struct uspi_span bytes, bool is_learning) {
    const bool keeps_json = !is_learning || (reader->options.flags & USP_READER_IMAGES) != 0;
    int status = USP_OK;
    if (reader->kind == USPI_INPUT_LINES) return take_lines(reader, bytes, is_learning);
    if (reader->kind == USPI_INPUT_XCTRACE) return take_xctrace(reader, bytes, false, is_learning);
    if (reader->kind == USPI_INPUT_JSON && !keeps_json) return USP_OK;
    status = keep(reader, bytes);
    if (status != USP_OK || reader->kind == USPI_INPUT_JSON) return status;
    status = decide_by_head(reader, (struct uspi_span){reader->kept, reader->kept_size}, false);
    const bool is_streamed = reader->kind == USPI_INPUT_LINES || reader->kind == USPI_INPUT_XCTRACE;
    if (status != USP_OK || !is_streamed) return status;
    struct uspi_span text = take_mark(reader, (struct uspi_span){reader->kept, reader->kept_size}, is_learning);
    reader->kept_size = 0;
    if (reader->kind == USPI_INPUT_XCTRACE) return take_xctrace(reader, text, false, is_learning);
    return take_lines(reader, text, is_learning);
}

static int end_bytes(struct usp_reader *reader, bool is_learning) {
    struct uspi_span kept = {reader->kept, reader->kept_size};
    int status = USP_OK;
    if (reader->kind == USPI_INPUT_UNDECIDED) status = decide_by_head(reader, kept, true);
    if (status != USP_OK) return status;
    if (reader->kept_size > 0) kept = take_mark(reader, kept, is_learning);
    if (reader->kind == USPI_INPUT_XCTRACE) return take_xctrace(reader, kept, true, is_learning);
    if (reader->kind == USPI_INPUT_JSON) {
        if (!is_learning) return write_json(reader, kept);
        return (reader->options.flags & USP_READER_IMAGES) != 0 ? learn_documents(reader, kept) : USP_OK;
    }
    if (reader->kept_size > 0) status = take_lines(reader, kept, is_learning);
    return status == USP_OK ? end_lines(reader, is_learning) : status;
}

int usp_reader_learn(struct usp_reader *reader, const char *bytes, size_t n) {
    if (reader == NULL) return USP_ERROR_ARGUMENT;
    return take_bytes(reader, (struct uspi_span){bytes, n}, true);
}

int usp_reader_rewind(struct usp_reader *reader) {
    if (reader == NULL) return USP_ERROR_ARGUMENT;
    const struct usp_reader_counts counts = reader->counts;
    int status = end_bytes(reader, true);
    reader->counts = counts;
    /* A damaged text is not an error here: it has no images, which usp_reader_image_count shows. */
    if (uspi_reader_is_damage(status)) status = USP_OK;
    uint64_t end = reader->split.position;
    forget_text(reader);
    if (status == USP_OK && !uspi_log_lines_rewind(&reader->lines, end)) status = USP_ERROR_NO_MEMORY;
    reader->is_rewound = true;
    return status;
}

int usp_reader_write(struct usp_reader *reader, const char *bytes, size_t n) {
    if (reader == NULL) return USP_ERROR_ARGUMENT;
    int status = take_bytes(reader, (struct uspi_span){bytes, n}, false);
    if (status == USP_OK && reader->options.write != NULL) status = uspi_text_flush(&reader->out);
    return status;
}

static int finish(struct usp_reader *reader, int status, char *error, size_t error_size) {
    if (reader->options.write != NULL) {
        int flushed = uspi_text_flush(&reader->out);
        if (status == USP_OK) status = flushed;
        reader->out.status = USP_OK;
        reader->out.used = 0;
    }
    if (error != NULL && error_size > 0)
        snprintf(error, error_size, "%s", uspi_reader_is_damage(status) || reader->is_cut ? reader->error : "");
    forget_text(reader);
    uspi_log_lines_reset(&reader->lines);
    reader->counts.texts++;
    return status;
}

int usp_reader_end(struct usp_reader *reader, char *error, size_t error_size) {
    if (reader == NULL) return USP_ERROR_ARGUMENT;
    return finish(reader, end_bytes(reader, false), error, error_size);
}

/* Replaces a binary report by its text. */
static int translate(struct usp_reader *reader, struct uspi_span *text) {
    const int status = uspi_plcrash_to_text(*text, &reader->translated);
    reader->kind = USPI_INPUT_LINES;
    reader->is_plcrash = true;
    reader->is_cut = status == USP_ERROR_TRUNCATED;
    if (reader->is_cut)
        snprintf(reader->error, sizeof reader->error, "it is damaged or cut off; what is whole was read");
    if (status == USP_ERROR_UNSUPPORTED) {
        snprintf(reader->error, sizeof reader->error, "a version of PLCrashReporter's format that is not known");
    }
    *text = uspi_gathered_span(&reader->translated);
    return reader->is_cut ? USP_OK : status;
}

int uspi_reader_begin_whole(struct usp_reader *reader, struct uspi_span *text) {
    if (uspi_is_plcrash(*text)) return translate(reader, text);
    int status = decide_by_head(reader, *text, true);
    if (status != USP_OK) return status;
    *text = take_mark(reader, *text, true);
    struct uspi_span raw = *text;
    if (reader->split.encoding != USPI_ENCODING_UTF8) {
        /* Converts the whole text, so that nothing after this handles UTF-16. */
        reader->decoded_size = 0;
        if (!characters_of(reader, raw, text, &status)) return status == USP_OK ? USP_ERROR_FORMAT : status;
        reader->split.encoding = USPI_ENCODING_UTF8;
    }
    bool is_json = reader->kind == USPI_INPUT_JSON;
    if (is_json && !looks_like_report(*text)) {
        struct uspi_json_document probe = {.text = *text};
        status = uspi_json_read(&probe);
        uspi_json_clear(&probe);
        if (uspi_reader_is_damage(status)) reader->kind = USPI_INPUT_LINES;
        if (status == USP_ERROR_NO_MEMORY) return status;
    }
    return reader->kind == USPI_INPUT_JSON ? expand(reader, text) : USP_OK;
}

int usp_reader_write_whole(struct usp_reader *reader, const char *bytes, size_t n, char *error, size_t error_size) {
    if (reader == NULL || (bytes == NULL && n > 0)) return USP_ERROR_ARGUMENT;
    struct uspi_span text = {bytes, n};
    forget_text(reader);
    int status = decide_by_head(reader, text, true);
    if (reader->documents.is_record) reader->kind = USPI_INPUT_JSON;
    if (status == USP_OK) text = take_mark(reader, text, false);
    if (status == USP_OK && reader->kind == USPI_INPUT_JSON) {
        status = write_json(reader, text);
    } else if (status == USP_OK && reader->kind == USPI_INPUT_XCTRACE) {
        status = take_xctrace(reader, text, true, false);
    } else if (status == USP_OK) {
        status = write_as_lines(reader, text);
    }
    return finish(reader, status, error, error_size);
}
