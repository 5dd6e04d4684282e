/* SPDX-License-Identifier: MIT */
/* Tests of readers (<unspool/report.h>): whole texts of every format, short and modelled on the source that each names.
 * Each answer contains the place that was requested. So a wrong image, a wrong offset, and a return address taken for
 * an instruction all show. tests/report/formats.sh has the output of real programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unspool/report.h>

#include "tests/support/report_texts.h"
#include "tests/support/suite.h"

/* ---- a reader whose answers contain the requested places ---- */

/* The reader's output, and what the answers contain. */
struct session {
    char *text; /* what the reader wrote */
    size_t size;
    unsigned inlined; /* number of inlined calls before each function */
    const char *file; /* the file of source lines; NULL: no lines */
    unsigned column;
    struct usp_source_frame frames[4];
    char names[4096][64]; /* the answers' names, valid until the text has ended */
    unsigned count;
};

static int gather(void *context, const char *bytes, size_t n) {
    struct session *session = context;
    session->text = realloc(session->text, session->size + n + 1);
    ck_assert_ptr_nonnull(session->text);
    memcpy(session->text + session->size, bytes, n);
    session->size += n;
    session->text[session->size] = '\0';
    return USP_OK;
}

static bool is_called(const struct usp_place *place, const char *name) {
    return place->image_length == strlen(name) && memcmp(place->image, name, place->image_length) == 0;
}

/* Answers with "IMAGE:OFFSET". A letter before the offset states a base other than the load address, "!" after it an
 * instruction. "id" stands before it if the build id is known. For "Missing" there is no file, for offset 0x666 no
 * symbol. */
static int answer_place(void *context, const struct usp_place *place, struct usp_answer *answer) {
    static const char *const bases[] = {"", "L", "F", "T"};
    struct session *session = context;
    if (is_called(place, "Missing") || (place->flags & USP_PLACE_GUESS) != 0) {
        answer->flags = USP_ANSWER_NO_FILE;
        return USP_OK;
    }
    if (place->offset == 0x666) return USP_OK;
    ck_assert_uint_lt(session->count, 4096);
    char *name = session->names[session->count++];
    snprintf(name, sizeof session->names[0], "%s%.*s:%s%llx%s", place->build_id_size > 0 ? "id." : "",
             (int)place->image_length, place->image, bases[place->base], (unsigned long long)place->offset,
             (place->flags & USP_PLACE_EXACT) != 0 ? "!" : "");
    for (unsigned i = 0; i <= session->inlined; i++) {
        session->frames[i] = (struct usp_source_frame){.function = i < session->inlined ? "inner" : name};
        session->frames[i].file = session->file;
        session->frames[i].column = session->column;
        session->frames[i].line = session->file != NULL ? 10 + i : 0;
        session->frames[i].flags = i < session->inlined ? USP_SOURCE_INLINED : 0;
    }
    answer->frames = session->frames;
    answer->count = session->inlined + 1;
    answer->offset = 7;
    return USP_OK;
}

static struct usp_reader *create(struct session *session, uint32_t flags) {
    struct usp_reader_options options;
    struct usp_reader *reader;
    usp_reader_options_init(&options);
    options.flags = flags;
    options.find = answer_place;
    options.write = gather;
    options.context = session;
    ck_assert_int_eq(usp_reader_create(&options, &reader), USP_OK);
    return reader;
}

static void forget(struct session *session) {
    free(session->text);
    session->text = NULL;
    session->size = 0;
    session->count = 0;
}

#define ck_assert_text(session, expected)                                                                              \
    ck_assert_msg(strcmp((session)->text != NULL ? (session)->text : "", expected) == 0, "is:\n%s\nnot:\n%s",          \
                  (session)->text, expected)

/* Checks the output for the whole text at once, and for pieces of any size that were learned before: it is the same.
 * `once`: see struct text. */
static void check_text(struct session *session, const char *in, const char *out, const char *once) {
    const size_t length = strlen(in);
    char error[256];
    struct usp_reader *reader = create(session, 0);
    ck_assert_int_eq(usp_reader_write_whole(reader, in, length, error, sizeof error), USP_OK);
    ck_assert_text(session, out);
    for (size_t piece = 1; piece < length + 2; piece = piece * 3 + 1) {
        forget(session);
        for (size_t at = 0; at < length; at += piece) {
            ck_assert_int_eq(usp_reader_learn(reader, in + at, length - at < piece ? length - at : piece), USP_OK);
        }
        ck_assert_int_eq(usp_reader_rewind(reader), USP_OK);
        for (size_t at = 0; at < length; at += piece) {
            ck_assert_int_eq(usp_reader_write(reader, in + at, length - at < piece ? length - at : piece), USP_OK);
        }
        ck_assert_int_eq(usp_reader_end(reader, error, sizeof error), USP_OK);
        ck_assert_text(session, out);
    }
    forget(session);
    ck_assert_int_eq(usp_reader_write(reader, in, length), USP_OK);
    ck_assert_int_eq(usp_reader_end(reader, error, sizeof error), USP_OK);
    ck_assert_text(session, once != NULL ? once : out);
    usp_reader_free(reader);
    forget(session);
}

static struct usp_reader_counts count_frames(struct session *session, const char *in) {
    struct usp_reader_counts counts;
    struct usp_reader *reader = create(session, 0);
    ck_assert_int_eq(usp_reader_write_whole(reader, in, strlen(in), NULL, 0), USP_OK);
    ck_assert_int_eq(usp_reader_get_counts(reader, &counts), USP_OK);
    ck_assert_uint_eq(counts.texts, 1);
    ck_assert_uint_eq(counts.frames,
                      counts.named + counts.answered + counts.no_symbol + counts.no_file + counts.no_image);
    usp_reader_free(reader);
    return counts;
}

/* Reads the text with inlined calls and source lines in the answers, then reads the output again. */
static void check_again(struct session *session, const struct text *text) {
    session->inlined = 1;
    session->file = "/src/a.c";
    const struct usp_reader_counts counts = count_frames(session, text->in);
    char *written = session->text;
    session->text = NULL;
    forget(session);
    const struct usp_reader_counts again = count_frames(session, written);
    ck_assert_text(session, written);
    ck_assert_uint_eq(again.answered, 0);
    const unsigned expected = text->again > 0 ? text->again : (unsigned)counts.frames;
    ck_assert_msg(again.frames == expected, "%u frames in:\n%s", (unsigned)again.frames, written);
    free(written);
    forget(session);
    session->inlined = 0;
    session->file = NULL;
}

static void check_texts(const struct text *texts, size_t count) {
    struct session *session = calloc(1, sizeof *session);
    for (size_t i = 0; i < count; i++) {
        const struct text *text = &texts[i];
        const char *out = text->out != NULL ? text->out : text->in;
        check_text(session, text->in, out, text->once);
        const struct usp_reader_counts counts = count_frames(session, text->in);
        ck_assert_msg(strcmp(counts.format, text->format) == 0, "format %s in:\n%s", counts.format, text->in);
        ck_assert_msg(counts.frames == text->frames, "%u frames in:\n%s", (unsigned)counts.frames, text->in);
        forget(session);
        /* The output is read again: nothing changes, and frames that got a name count as named. */
        const struct usp_reader_counts again = count_frames(session, out);
        ck_assert_text(session, out);
        ck_assert_uint_eq(again.answered, 0);
        const unsigned expected = text->again > 0 ? text->again : text->frames;
        ck_assert_msg(again.frames == expected, "%u frames in:\n%s", (unsigned)again.frames, out);
        forget(session);
        check_again(session, text);
    }
    free(session);
}

START_TEST(texts_of_apple) { check_texts(apple_texts, sizeof apple_texts / sizeof *apple_texts); }
END_TEST

/* An exception keeps return addresses alone, so its first address is not that of an instruction, as a thread's is. */
START_TEST(addresses_of_exceptions) {
#define LINE(name)     "0   App  0x0000000100000020 " name "\n"
#define IPS(name)      "{\"imageOffset\":16" name ",\"imageIndex\":0}"
#define IPS_NAME(name) ",\"symbol\":\"id.A:" name "\",\"symbolLocation\":7"
#define IPS_TEXT(first, of_thread)                                                                                     \
    "{\"lastExceptionBacktrace\":[" IPS(first) "],\"threads\":[{\"frames\":[" IPS(                                     \
        of_thread) "]}],"                                                                                              \
                   "\"usedImages\":[{\"uuid\":\"" UUID_A "\",\"name\":\"A\"}]}"
#define KS(name)      "{\"contents\":[{\"object_name\":\"A\",\"object_addr\":4096,\"instruction_addr\":4112" name "}]}"
#define KS_NAME(name) ",\"symbol_name\":\"A:" name "\",\"symbol_addr\":4105"
#define KS_TEXT(first, of_thread)                                                                                      \
    "{\"crash\":{\"error\":{},\"last_exception_backtrace\":" KS(first) ",\"threads\":[{\"backtrace\":" KS(             \
        of_thread) "}]},\"binary_images\":[]}"
#define SENTRY(more, name)                                                                                             \
    "{\"exception\":{\"values\":[{\"stacktrace\":{\"frames\":[{\"instruction_addr\":\"0x1010\"" name                   \
    ",\"image_addr\":\"0x1000\",\"package\":\"A\"}]" more "}}]}}"
#define SENTRY_NAME(name) ",\"function\":\"A:" name "\",\"symbol_addr\":\"0x1009\""
#define ALL               ",\"instruction_addr_adjustment\":\"all\""
    static const char *const texts[][2] = {
        {"Last Exception Backtrace:\n" LINE("App + 32") "\nThread 0 Crashed:\n" LINE("App + 32"),
         "Last Exception Backtrace:\n" LINE("App:20 + 7") "\nThread 0 Crashed:\n" LINE("App:20! + 7")},
        {"Application Specific Backtrace 1:\n" LINE("App + 32"),
         "Application Specific Backtrace 1:\n" LINE("App:20 + 7")},
        {IPS_TEXT("", ""), IPS_TEXT(IPS_NAME("10"), IPS_NAME("10!"))},
        {KS_TEXT("", ""), KS_TEXT(KS_NAME("10"), KS_NAME("10!"))},
        {SENTRY("", ""), SENTRY("", SENTRY_NAME("10!"))},
        {SENTRY(ALL, ""), SENTRY(ALL, SENTRY_NAME("10"))},
        /* Kotlin, of a function that it does not know. */
        {"    at 0   App                                 0x100000020        0x0 + 4294967328 \n",
         "    at 0   App                                 0x100000020        App:100000020 + 7 \n"},
    };
    struct session *session = calloc(1, sizeof *session);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_text(session, texts[i][0], texts[i][1], NULL);
        forget(session);
    }
    free(session);
}
END_TEST

#define MAP "AgABCRAAcAAACC9zcnYvcnVuAA=="

/* Swift's encoded backtraces that are not expanded: invalid base64, another version, an unknown instruction, members of
 * these names that are not strings or name no processor, cut base64. The last one is intact. */
START_TEST(damaged_backtraces_stay) {
    static const char *const texts[] = {
        "{\"architecture\":\"arm64\",\"backtrace\":\"AhEQ*A\",\"imageMap\":\"" MAP "\"}",
        "{\"architecture\":\"arm64\",\"backtrace\":\"BhEQAA\",\"imageMap\":\"" MAP "\"}",
        "{\"architecture\":\"arm64\",\"backtrace\":\"AhEQAJA\",\"imageMap\":\"" MAP "\"}",
        "{\"architecture\":\"arm64\",\"backtrace\":\"AhEQAA\",\"imageMap\":\"" MAP "\",\"threads\":[]}",
        "{\"architecture\":\"arm64\",\"backtrace\":[\"AhEQAA\"],\"imageMap\":\"" MAP "\"}",
        "{\"architecture\":1,\"backtrace\":\"AhEQAA\",\"imageMap\":\"" MAP "\"}",
        "{\"architecture\":\"arm64\",\"backtrace\":\"AhEQA\",\"imageMap\":\"" MAP "\"}",
        "{\"architecture\":\"arm64\",\"backtrace\":\"AhEQAA\",\"imageMap\":\"" MAP "\"}",
    };
    struct session *session = calloc(1, sizeof *session);
    struct usp_reader *reader = create(session, 0);
    struct usp_reader_counts counts;
    ck_assert_int_eq(usp_reader_write_whole(reader, texts[_i], strlen(texts[_i]), NULL, 0), USP_OK);
    ck_assert_int_eq(usp_reader_get_counts(reader, &counts), USP_OK);
    const bool is_whole = _i == 7;
    ck_assert_uint_eq(counts.answered, is_whole);
    ck_assert_int_eq(strcmp(session->text, texts[_i]) == 0, !is_whole);
    usp_reader_free(reader);
    forget(session);
    free(session);
}
END_TEST

START_TEST(texts_of_linux) { check_texts(linux_texts, sizeof linux_texts / sizeof *linux_texts); }
END_TEST

START_TEST(texts_with_names) { check_texts(named_texts, sizeof named_texts / sizeof *named_texts); }
END_TEST

START_TEST(texts_in_json) { check_texts(documents, sizeof documents / sizeof *documents); }
END_TEST

/* ---- answers of several source frames ---- */

START_TEST(inlined_calls) {
    struct session *session = calloc(1, sizeof *session);
    session->inlined = 1;
    session->file = "/src/a.c";
    session->column = 5;
    check_text(session, "0   App  0x0000000100000020 App + 32",
               "0   App  0x0000000100000020 inner [inlined] (a.c:10)\n"
               "0   App  0x0000000100000020 App:20! + 7 (a.c:11)",
               NULL);
    check_text(session, "x\n    #0 0x55ef3675de91  (/opt/san+0x10be91)\ny\n",
               "x\n    #0 0x55ef3675de91 in inner [inlined] (a.c:10) (/opt/san+0x10be91)\n"
               "    #0 0x55ef3675de91 in san:L10be91! (a.c:11) (/opt/san+0x10be91)\ny\n",
               NULL);
    check_text(
        session,
        "{\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}],\"usedImages\":[{\"uuid\":\"" UUID_A
        "\",\"name\":\"A\"}]}",
        "{\"frames\":[{\"imageOffset\":16,\"imageIndex\":0,\"inline\":true,\"symbol\":\"inner\",\"sourceFile\":\"a.c\","
        "\"sourceLine\":10},{\"imageOffset\":16,\"symbol\":\"id.A:10!\",\"symbolLocation\":7,\"sourceFile\":\"a.c\","
        "\"sourceLine\":11,\"imageIndex\":0}],\"usedImages\":[{\"uuid\":\"" UUID_A "\",\"name\":\"A\"}]}",
        NULL);
    /* A frame outside of any array. */
    check_text(session,
               "{\"frame\":{\"imageOffset\":16,\"imageIndex\":0},\"usedImages\":[{\"uuid\":\"" UUID_A
               "\",\"name\":\"A\"}]}",
               "{\"frame\":{\"imageOffset\":16,\"symbol\":\"id.A:10!\",\"symbolLocation\":7,\"sourceFile\":\"a.c\","
               "\"sourceLine\":11,\"imageIndex\":0},\"usedImages\":[{\"uuid\":\"" UUID_A "\",\"name\":\"A\"}]}",
               NULL);
    /* Swift stdlib/public/RuntimeModule CrashLog.swift: a source location is an object, an inlined call is a frame. */
    check_text(session,
               "{\"frames\":[{ \"kind\": \"returnAddress\", \"address\": \"0x1010\" }, { \"kind\": \"truncated\" }],"
               "\"images\":[{\"name\":\"A\",\"baseAddress\":\"0x1000\",\"endOfText\":\"0x2000\"}]}",
               "{\"frames\":[{ \"kind\": \"returnAddress\", \"address\": \"0x1010\", \"inlined\": true, "
               "\"symbol\": \"inner\", \"sourceLocation\": {\"file\":\"/src/a.c\",\"line\":10,\"column\":5}},"
               "{ \"kind\": \"returnAddress\", \"address\": \"0x1010\", \"symbol\": \"A:10\", \"offset\": 7, "
               "\"sourceLocation\": {\"file\":\"/src/a.c\",\"line\":11,\"column\":5} }, { \"kind\": \"truncated\" }],"
               "\"images\":[{\"name\":\"A\",\"baseAddress\":\"0x1000\",\"endOfText\":\"0x2000\"}]}",
               NULL);
    free(session);
}
END_TEST

/* ---- encodings ---- */

/* Converts ASCII to UTF-16 with a byte order mark. */
static size_t widen(const char *text, bool is_big_endian, char *to) {
    size_t length = 0;
    to[length++] = (char)(is_big_endian ? 0xfe : 0xff);
    to[length++] = (char)(is_big_endian ? 0xff : 0xfe);
    for (; *text != '\0'; text++) {
        to[length + is_big_endian] = *text;
        to[length + !is_big_endian] = '\0';
        length += 2;
    }
    return length;
}

START_TEST(utf_16) {
    static const char *const texts[][2] = {
        {"Thread 0:\r\n0   App  0x0000000100000020 App + 32\r\n1   App 0x5 main + 1\r\n",
         "Thread 0:\r\n0   App  0x0000000100000020 App:20! + 7\r\n1   App 0x5 main + 1\r\n"},
        {"    2797 ???  (in App)  load address 0x100000000 + 0x100  [0x100000100]\n"
         "      1 ???  (in App)  load address 0x100000000 + 0x200  [0x100000200]\n",
         "    2797 App:100  (in App) + 7  [0x100000100]\n      1 App:200!  (in App) + 7  [0x100000200]\n"},
        {documents[0].in, documents[0].out},
    };
    struct session *session = calloc(1, sizeof *session);
    for (int i = 0; i < 6; i++) {
        static char in[1 << 14], out[1 << 14];
        const char *const *text = texts[i / 2];
        size_t length = widen(text[0], i % 2 == 1, in), expected = widen(text[1], i % 2 == 1, out);
        for (size_t piece = 1; piece < length + 2; piece = piece * 3 + 1) {
            struct usp_reader *reader = create(session, 0);
            for (size_t at = 0; at < length; at += piece) {
                ck_assert_int_eq(usp_reader_write(reader, in + at, length - at < piece ? length - at : piece), USP_OK);
            }
            ck_assert_int_eq(usp_reader_end(reader, NULL, 0), USP_OK);
            ck_assert_uint_eq(session->size, expected);
            ck_assert_mem_eq(session->text, out, expected);
            forget(session);
            usp_reader_free(reader);
        }
    }
    free(session);
}
END_TEST

/* A lone surrogate and half a unit: the line stays as it is, the others are read. */
START_TEST(broken_utf_16) {
    static const char in[] = "\xff\xfe\0\xd8"
                             "a\0\n\0\xff";
    struct session *session = calloc(1, sizeof *session);
    struct usp_reader *reader = create(session, 0);
    struct usp_reader_counts counts;
    ck_assert_int_eq(usp_reader_write_whole(reader, in, sizeof in - 1, NULL, 0), USP_OK);
    ck_assert_uint_eq(session->size, sizeof in - 1);
    ck_assert_mem_eq(session->text, in, sizeof in - 1);
    ck_assert_int_eq(usp_reader_get_counts(reader, &counts), USP_OK);
    ck_assert_uint_eq(counts.passed, 2);
    forget(session);
    usp_reader_free(reader);
    free(session);
}
END_TEST

/* ---- damage ---- */

static const struct {
    const char *text, *error;
    int status;
} damaged[] = {
    {"{\"bug_type\":\"309\"}\n{\"frames\":[", "offset 0x1e: the JSON is cut off", USP_ERROR_TRUNCATED},
    {"{\"bug_type\":\"309\"}\n{\"frames\":[}", "offset 0x1e: this is not JSON", USP_ERROR_FORMAT},
    {"{\"callStackTree\":{]}", "offset 0x12: this is not JSON", USP_ERROR_FORMAT},
    {"{} {x", "offset 0x4: this is not JSON", USP_ERROR_FORMAT},
    {"\xff\xfe{\0\"\0x\0\"\0\0\xd8", "", USP_OK},
};

START_TEST(damage) {
    struct session *session = calloc(1, sizeof *session);
    char error[256];
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        struct usp_reader *reader = create(session, 0);
        size_t length = strlen(damaged[i].text);
        ck_assert_int_eq(usp_reader_write_whole(reader, damaged[i].text, length, error, sizeof error),
                         damaged[i].status);
        ck_assert_str_eq(error, damaged[i].error);
        ck_assert_text(session, damaged[i].text);
        forget(session);
        /* The reader is ready for the next text. */
        ck_assert_int_eq(usp_reader_write_whole(reader, "App + 3\n", 8, error, sizeof error), USP_OK);
        ck_assert_text(session, "App + 3\n");
        forget(session);
        usp_reader_free(reader);
    }
    free(session);
}
END_TEST

/* Logs that begin like JSON. */
START_TEST(nearly_json) {
    static const char *const texts[] = {"{", "[", "[12:00] x\n", "{\"a\" b}\n0   App  0x0000000100000020 App + 32\n",
                                        "[{x}]\n"};
    struct session *session = calloc(1, sizeof *session);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct usp_reader *reader = create(session, 0);
        ck_assert_int_eq(usp_reader_write_whole(reader, texts[i], strlen(texts[i]), NULL, 0), USP_OK);
        ck_assert_text(session, i == 3 ? "{\"a\" b}\n0   App  0x0000000100000020 App:20! + 7\n" : texts[i]);
        forget(session);
        usp_reader_free(reader);
    }
    free(session);
}
END_TEST

/* A line of more than 64 KB is not read as a frame, but the next line is. */
START_TEST(long_lines) {
    const size_t length = 200000;
    char *in = malloc(length + 64);
    struct session *session = calloc(1, sizeof *session);
    memset(in, 'x', length);
    strcpy(in + length, "0x1 + 0x2 + 3\n0   App  0x20 App + 32\n");
    for (size_t piece = 4096; piece <= length * 2; piece *= 4) {
        struct usp_reader *reader = create(session, 0);
        struct usp_reader_counts counts;
        for (size_t at = 0; at < strlen(in); at += piece) {
            size_t n = strlen(in) - at < piece ? strlen(in) - at : piece;
            ck_assert_int_eq(usp_reader_write(reader, in + at, n), USP_OK);
        }
        ck_assert_int_eq(usp_reader_end(reader, NULL, 0), USP_OK);
        ck_assert_int_eq(usp_reader_get_counts(reader, &counts), USP_OK);
        ck_assert_uint_eq(counts.passed, 1);
        ck_assert_uint_eq(session->size, strlen(in) + 3);
        ck_assert_mem_eq(session->text, in, length);
        ck_assert_str_eq(session->text + length, "0x1 + 0x2 + 3\n0   App  0x20 App:20! + 7\n");
        forget(session);
        usp_reader_free(reader);
    }
    free(session);
    free(in);
}
END_TEST

/* A tree of 100,000 nested frames. */
START_TEST(deep_trees) {
    const size_t deep = 100000;
    static const char open[] =
        "{\"address\":4294967312,\"binaryUUID\":\"" UUID_A "\",\"offsetIntoBinaryTextSegment\":16,\"subFrames\":[";
    const size_t capacity = deep * (sizeof open + 2) + 64;
    char *in = malloc(capacity), *at = in, *const end = in + capacity;
    struct usp_reader_options options;
    struct usp_reader *reader;
    struct usp_reader_counts counts;
    usp_reader_options_init(&options);
    ck_assert_int_eq(usp_reader_create(&options, &reader), USP_OK);
    at += snprintf(at, (size_t)(end - at), "{\"callStackRootFrames\":[");
    for (size_t i = 0; i < deep; i++) at += snprintf(at, (size_t)(end - at), "%s", open);
    for (size_t i = 0; i < deep; i++) at += snprintf(at, (size_t)(end - at), "]}");
    at += snprintf(at, (size_t)(end - at), "]}");
    ck_assert_int_eq(usp_reader_write_whole(reader, in, (size_t)(at - in), NULL, 0), USP_OK);
    ck_assert_int_eq(usp_reader_get_counts(reader, &counts), USP_OK);
    ck_assert_uint_eq(counts.frames, deep);
    usp_reader_free(reader);
    free(in);
}
END_TEST

/* ---- MetricKit ---- */

/* A frame of a hang, and the members after its address, which begin with its name. */
#define NODE(address, members)                                                                                         \
    "{\"offsetIntoBinaryTextSegment\":" #address ",\"address\":" #address members ",\"binaryName\":\"App\"}"
#define NAME(text)   ",\"symbolName\":\"App:" text "\",\"offsetIntoSymbol\":7"
#define BELOW(frame) ",\"sampleCount\":5,\"subFrames\":[" frame "]"
#define HANG(frame)                                                                                                    \
    "{\"hangDiagnostics\":[{\"callStackTree\":{\"callStacks\":[{\"callStackRootFrames\":[" frame "]}]}}]}"
#define PARENTS(first, second, leaf) HANG(NODE(4438, first BELOW(NODE(4421, second BELOW(NODE(4410, leaf))))))

/* A frame with frames below it has called them, so that its address is a return address, also when its offset is that
 * of the address itself. Only the frame at the end, which may have an empty list, is looked up as an instruction. */
START_TEST(metrickit_parents) {
    struct session *session = calloc(1, sizeof *session);
    ck_assert_ptr_nonnull(session);
    check_text(session, PARENTS("", "", ""), PARENTS(NAME("1156"), NAME("1145"), NAME("113a!")), NULL);
    check_text(session, PARENTS("", "", BELOW("")), PARENTS(NAME("1156"), NAME("1145"), NAME("113a!") BELOW("")), NULL);
    free(session);
}
END_TEST

/* ---- records, images of another text, refused arguments ---- */

START_TEST(records) {
    static const char *const texts[][2] = {
        {"{\"id\":1,\"frames\":[{\"uuid\":\"" UUID_A "\",\"offset\":16},{\"build_id\":\"" ID_A "\",\"offset\":\"0x20\","
         "\"base\":\"linked\"},{\"uuid\":\"" UUID_A "\",\"address\":4112,\"load_address\":4096,\"exact\":true},"
         "{\"image\":\"Missing\",\"offset\":1}]}",
         "{\"id\":1,\"frames\":[{\"uuid\":\"" UUID_A "\",\"offset\":16,\"symbol\":\"id.:10!\",\"symbol_offset\":7},"
         "{\"build_id\":\"" ID_A "\",\"offset\":\"0x20\",\"symbol\":\"id.:L20\",\"symbol_offset\":7,"
         "\"base\":\"linked\"},{\"uuid\":\"" UUID_A "\",\"address\":4112,\"symbol\":\"id.:10!\",\"symbol_offset\":7,"
         "\"load_address\":4096,\"exact\":true},{\"image\":\"Missing\",\"offset\":1}],"
         "\"unspool\":{\"frames\":4,\"named\":0,\"answered\":3,\"no_symbol\":0,\"no_file\":1,\"no_image\":0}}"},
        {"{\"report\":\"0   App  0x20 App + 32\\n1   App  0x30 App + 48\"}",
         "{\"report\":\"0   App  0x20 App:20! + 7\\n1   App  0x30 App:30 + 7\",\"unspool\":{\"frames\":2,\"named\":0,"
         "\"answered\":2,\"no_symbol\":0,\"no_file\":0,\"no_image\":0}}"},
        /* A record that was read before: its counts are replaced, whatever they contain. */
        {"{\"unspool\":{\"frames\":[{\"uuid\":\"" UUID_A "\",\"offset\":16}]},\"frames\":[{\"uuid\":\"" UUID_A
         "\",\"offset\":16,\"symbol\":\"known\"}]}",
         "{\"unspool\":{\"frames\":1,\"named\":1,\"answered\":0,\"no_symbol\":0,\"no_file\":0,\"no_image\":0},"
         "\"frames\":[{\"uuid\":\"" UUID_A "\",\"offset\":16,\"symbol\":\"known\"}]}"},
        {"{\"unspool\":\"text\"}", "{\"unspool\":{\"frames\":0,\"named\":0,\"answered\":0,\"no_symbol\":0,"
                                   "\"no_file\":0,\"no_image\":0}}"},
        {"{}", "{\"unspool\":{\"frames\":0,\"named\":0,\"answered\":0,\"no_symbol\":0,\"no_file\":0,\"no_image\":0}}"},
    };
    struct session *session = calloc(1, sizeof *session);
    struct usp_reader *reader = create(session, USP_READER_RECORD);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ck_assert_int_eq(usp_reader_write_whole(reader, texts[i][0], strlen(texts[i][0]), NULL, 0), USP_OK);
        ck_assert_text(session, texts[i][1]);
        forget(session);
    }
    ck_assert_int_eq(usp_reader_write_whole(reader, "{}{}", 4, NULL, 0), USP_ERROR_FORMAT);
    ck_assert_int_eq(usp_reader_write_whole(reader, "{\"a\":}", 6, NULL, 0), USP_ERROR_FORMAT);
    ck_assert_int_eq(usp_reader_write_whole(reader, "{\"a\"", 4, NULL, 0), USP_ERROR_TRUNCATED);
    forget(session);
    usp_reader_free(reader);
    free(session);
}
END_TEST

START_TEST(images_of_another_text) {
    static const char line[] = "0   App  0x100000020 App + 32\n";
    const char *const texts[] = {IMAGES, documents[0].in, "nothing\n"};
    struct session *session = calloc(1, sizeof *session);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct usp_reader *images = create(session, USP_READER_IMAGES), *reader;
        struct usp_reader_options options;
        ck_assert_int_eq(usp_reader_learn(images, texts[i], strlen(texts[i])), USP_OK);
        ck_assert_int_eq(usp_reader_rewind(images), USP_OK);
        ck_assert_uint_eq(usp_reader_image_count(images), i == 0 ? 2 : i == 1 ? 3 : 0);
        usp_reader_options_init(&options);
        options.find = answer_place;
        options.write = gather;
        options.context = session;
        options.images = images;
        ck_assert_int_eq(usp_reader_create(&options, &reader), USP_OK);
        ck_assert_int_eq(usp_reader_write(reader, line, sizeof line - 1), USP_OK);
        ck_assert_int_eq(usp_reader_end(reader, NULL, 0), USP_OK);
        ck_assert_text(session, i < 2 ? "0   App  0x100000020 id.App:20! + 7\n" : "0   App  0x100000020 App:20! + 7\n");
        forget(session);
        usp_reader_free(reader);
        usp_reader_free(images);
    }
    free(session);
}
END_TEST

static int refuse(void *context, const char *bytes, size_t n) {
    (void)context, (void)bytes, (void)n;
    return USP_ERROR_SYSTEM;
}

static int lack_memory(void *context, const struct usp_place *place, struct usp_answer *answer) {
    (void)context, (void)place, (void)answer;
    return USP_ERROR_NO_MEMORY;
}

START_TEST(what_callers_return) {
    struct usp_reader_options options;
    struct usp_reader *reader;
    struct usp_reader_counts counts;
    usp_reader_options_init(&options);
    options.write = refuse;
    ck_assert_int_eq(usp_reader_create(&options, &reader), USP_OK);
    ck_assert_int_eq(usp_reader_write(reader, "a\nb\n", 4), USP_ERROR_SYSTEM);
    usp_reader_free(reader);
    options.write = NULL;
    options.find = lack_memory;
    ck_assert_int_eq(usp_reader_create(&options, &reader), USP_OK);
    ck_assert_int_eq(usp_reader_write_whole(reader, "0 App 0x20 App + 32\n", 20, NULL, 0), USP_ERROR_NO_MEMORY);
    usp_reader_free(reader);
    options.size = 4;
    ck_assert_int_eq(usp_reader_create(&options, &reader), USP_ERROR_ARGUMENT);
    ck_assert_ptr_null(reader);
    ck_assert_int_eq(usp_reader_create(NULL, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_reader_get_counts(NULL, &counts), USP_ERROR_ARGUMENT);
    /* Without functions, the frames get no names and no text is written, but the frames are counted. */
    ck_assert_int_eq(usp_reader_create(NULL, &reader), USP_OK);
    ck_assert_int_eq(usp_reader_write_whole(reader, "0 App 0x20 App + 32\n", 20, NULL, 0), USP_OK);
    ck_assert_int_eq(usp_reader_get_counts(reader, &counts), USP_OK);
    ck_assert_uint_eq(counts.frames, 1);
    usp_reader_free(reader);
    usp_reader_free(NULL);
}
END_TEST

int main(void) {
    TCase *tcase = tcase_create("reader");
    add_tests(tcase, texts_of_apple, addresses_of_exceptions, texts_of_linux, texts_with_names, texts_in_json,
              inlined_calls, utf_16, broken_utf_16, damage, nearly_json, long_lines, deep_trees, records,
              images_of_another_text, metrickit_parents, what_callers_return);
    add_loop_tests(tcase, 0, 8, damaged_backtraces_stay);
    return run_suite("reader", tcase);
}
