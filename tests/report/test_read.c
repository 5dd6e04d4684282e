/* SPDX-License-Identifier: MIT */
/* Tests of the readers' parts: which lines are frames and what they contain, lists of images, JSON. test_reader.c has
 * whole texts, tests/tool/log*.sh symbolication. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/read/apple.h"
#include "lib/report/read/json_slots.h"
#include "lib/report/read/line.h"
#include "lib/report/read/shapes.h"
#include "lib/report/read/tables.h"
#include "tests/support/report_texts.h"
#include "tests/support/suite.h"

#define UUID "0123ABCD-4567-89AB-CDEF-0123456789AB"

static struct uspi_span span_of(const char *text) { return uspi_span_of(text); }

#define ck_assert_span_eq(span, text)                                                                                  \
    ck_assert_msg(uspi_span_is(span, span_of(text)), "\"%.*s\"", (int)(span).length, (span).bytes)

/* ---- frames ---- */

/* Finds the first line shape that accepts the line as a frame. Tries only shapes whose required bytes and beginning the
 * line has. */
static bool find_frame(struct uspi_span line, struct uspi_frame *frame) {
    const unsigned has = uspi_line_bytes_of(line), begins = uspi_line_begins_of(line);
    for (size_t i = 0; uspi_line_shapes[i] != NULL; i++) {
        const struct uspi_line_shape *shape = uspi_line_shapes[i];
        if (shape->frame == NULL || (has & shape->frame_bytes) != shape->frame_bytes) continue;
        if (shape->frame_begins != 0 && (shape->frame_begins & begins) == 0) continue;
        memset(frame, 0, sizeof *frame);
        frame->shape = shape;
        if (shape->frame(line, 0, frame)) return true;
    }
    return false;
}

static struct uspi_frame frame_of(const char *line) {
    struct uspi_frame frame;
    ck_assert_msg(find_frame(span_of(line), &frame), "no frame: %s", line);
    return frame;
}

static struct uspi_frame unnamed(const char *line, const char *replaced) {
    struct uspi_frame frame = frame_of(line);
    ck_assert_uint_eq(frame.flags & USPI_FRAME_NAMED, 0);
    ck_assert_span_eq(frame.replaced, replaced);
    return frame;
}

static void check_index(const struct uspi_frame *frame, uint64_t index) {
    ck_assert_uint_ne(frame->flags & USPI_FRAME_INDEX, 0);
    ck_assert_uint_eq(frame->index, index);
}

static void check_place(const struct uspi_frame *frame, const char *image, uint64_t address, uint64_t offset) {
    ck_assert_uint_eq(frame->flags & (USPI_FRAME_ADDRESS | USPI_FRAME_OFFSET), USPI_FRAME_ADDRESS | USPI_FRAME_OFFSET);
    ck_assert_span_eq(frame->image, image);
    ck_assert_uint_eq(frame->address, address);
    ck_assert_uint_eq(frame->offset, offset);
}

START_TEST(call_stack_symbols) {
    struct uspi_frame frame =
        unnamed("3   App                                 0x0000000100004a10 App + 18960", "App + 18960");
    check_place(&frame, "App", 0x100004a10, 18960);
    check_index(&frame, 3);
    frame = unnamed("\t\"0   My App          0x100004a10 My App + 18960\",", "My App + 18960");
    check_place(&frame, "My App", 0x100004a10, 18960);
    check_index(&frame, 0);
    frame = unnamed("12:00 x[1:2] 7   My App          0x100004a10 My App + 18960 (a.m:3)\r\n", "My App + 18960");
    check_index(&frame, 7);
    frame = unnamed("4   App    0x100004a10 " UUID " + 18960", UUID " + 18960");
    ck_assert_uint_eq(frame.id_size, 16);
    ck_assert_uint_eq(frame.id[3], 0xcd);
    frame = unnamed("4   App    0x100004a10 <redacted> + 84", "<redacted> + 84");
    ck_assert_uint_eq(frame.flags & USPI_FRAME_OFFSET, 0);
    ck_assert_span_eq(frame.image, "App");
    frame = unnamed("4   ???    0x100004a10 0x100004a10 + 0", "0x100004a10 + 0");
    check_place(&frame, "", 0x100004a10, 0);
}
END_TEST

/* Frames of which only the address is known, in unspool's styles and in Apple's newer reports. */
START_TEST(unknown_frames) {
    static const char *const words[] = {"[unknown]", "???"};
    char line[80];
    for (unsigned i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "12:00 x[1:2] 4   ???            \t0x0000000100004a10 %s\r\n", words[i]);
        struct uspi_frame frame = unnamed(line, words[i]);
        check_index(&frame, 4);
        ck_assert_span_eq(frame.image, "");
        ck_assert_uint_eq(frame.address, 0x100004a10);
        ck_assert_uint_eq(frame.flags & (USPI_FRAME_ADDRESS | USPI_FRAME_OFFSET), USPI_FRAME_ADDRESS);
        snprintf(line, sizeof line, "???    0x42 %s", words[i]);
        frame = unnamed(line, words[i]);
        ck_assert_uint_eq(frame.address, 0x42);
        /* Lines that are not frames: another word in the column, or a further word after it. */
        struct uspi_frame none;
        snprintf(line, sizeof line, "4   what   0x100004a10 %s", words[i]);
        ck_assert(!find_frame(span_of(line), &none));
        snprintf(line, sizeof line, "4   ???   0x100004a1g %s", words[i]);
        ck_assert(!find_frame(span_of(line), &none));
        snprintf(line, sizeof line, "4   ???   0x100004a10 %s?", words[i]);
        ck_assert(!find_frame(span_of(line), &none));
    }
}
END_TEST

/* A long name is cut in its column, but may be whole after it. A number of four digits leaves no space before the
 * name. */
START_TEST(full_columns) {
    struct uspi_frame frame =
        unnamed("10  ALibraryWhoseNameDoesNotFitInTheCol 0x1010 ALibraryWhoseNameDoesNotFitInTheColumn + 16",
                "ALibraryWhoseNameDoesNotFitInTheColumn + 16");
    check_index(&frame, 10);
    frame = unnamed("1000stuck                               0x0000000000001010 stuck + 16", "stuck + 16");
    check_place(&frame, "stuck", 0x1010, 16);
    frame = unnamed("1000stuck                         \t0x0000000000001010 0x1000 + 16", "0x1000 + 16");
    check_place(&frame, "stuck", 0x1010, 16);
    check_index(&frame, 1000);
    frame = unnamed("1000feab68004a801bace979714b68892b88683fb3fb + 0x10 /x/stuck",
                    "feab68004a801bace979714b68892b88683fb3fb + 0x10");
    ck_assert_uint_eq(frame.id_size, 20);
    check_index(&frame, 1000);
    frame = unnamed("10000" UUID " + 0x10 /x/stuck", UUID " + 0x10");
    check_index(&frame, 10000);
}
END_TEST

START_TEST(crash_reports) {
    struct uspi_frame frame =
        unnamed("1   My App      \t0x0000000104c8f2a4 0x104c8c000 + 12964", "0x104c8c000 + 12964");
    check_place(&frame, "My App", 0x104c8f2a4, 12964);
    check_index(&frame, 1);
}
END_TEST

START_TEST(bs_backtraces) {
    struct uspi_frame frame =
        unnamed("App                             0x100004a10 0x100000000 + 18960", "0x100000000 + 18960");
    check_place(&frame, "App", 0x100004a10, 18960);
    ck_assert_uint_eq(frame.flags & USPI_FRAME_INDEX, 0);
    frame = unnamed("App                             0x100004a10 __mh_execute_header + 18960",
                    "__mh_execute_header + 18960");
    check_place(&frame, "App", 0x100004a10, 18960);
}
END_TEST

START_TEST(glibc) {
    struct uspi_frame frame = unnamed("/x/a (b)(+0x1139) [0x55d0c0001139]", "+0x1139");
    check_place(&frame, "/x/a (b)", 0x55d0c0001139, 0x1139);
    ck_assert_uint_eq(frame.base, USP_PLACE_LOAD);
    check_place(&frame, "/x/a (b)", 0x55d0c0001139, 0x1139);
    /* backtrace_symbols_fd writes no space. */
    frame = unnamed("/x/a(+0x1139)[0x55d0c0001139]", "+0x1139");
    frame = unnamed("./prog() [0x400606]\n", "");
    check_place(&frame, "./prog", 0x400606, 0x400606);
    ck_assert_uint_eq(frame.base, USP_PLACE_LINKED);
    ck_assert_uint_ne(frame_of("/x/a(f(int)+0x1f) [0x55d0c0001139]").flags & USPI_FRAME_NAMED, 0);
    ck_assert_uint_ne(frame_of("/x/a(main+0) [0x55d0c0001139]").flags & USPI_FRAME_NAMED, 0);
}
END_TEST

START_TEST(without_an_address) {
    struct uspi_frame frame = unnamed("0   " UUID " + 0x1139 /x/App", UUID " + 0x1139");
    ck_assert_span_eq(frame.image, "/x/App");
    ck_assert_uint_eq(frame.offset, 0x1139);
    frame = unnamed("2   ??? + 0x1139 /x/App", "??? + 0x1139");
    ck_assert_uint_eq(frame.id_size, 0);
    frame = unnamed("My App + 4409", "My App + 4409");
    ck_assert_uint_ne(frame.flags & USPI_FRAME_GUESS, 0);
    ck_assert_uint_eq(frame.offset, 4409);
}
END_TEST

START_TEST(named_frames) {
    static const char *const lines[] = {
        "0   App                                 0x0000000100004a10 -[View draw:] + 28",
        "0   App                                 0x0000000100004a10 main + 28",
        "0   App                                 0x0000000100004a10 operator+(int) + 28",
        "App                                   0x100004a10 App_main + 28",
        "0   App                           \t0x0000000100004a10 std::pair<0x5 + 3> + 28",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ck_assert_msg((frame_of(lines[i]).flags & USPI_FRAME_NAMED) != 0, "%s", lines[i]);
    }
    ck_assert(uspi_is_trampoline(frame_of("2   x    0x0000000100004a10 _sigtramp + 56").name));
}
END_TEST

START_TEST(no_frames) {
    static const char *const lines[] = {
        "",
        " + ",
        "0x",
        "1 + 1 = 2",
        "App + 12 times",
        "  rax: 0x0000000000000010  rdx: 0x20",
        "0x10 0x20 + 99999999999999999999",
        "x 0x123456789abcdef01 x + 1",
        "App 0x10 App + 17",
        "/x/a(+0x99) [0x98]",
        "??? + 0x10",
        "01234564567 + 0x7 /x",
        "App  0x104c8f2a4 0x104c8c000 + 12965",
    };
    struct uspi_frame frame;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ck_assert_msg(!find_frame(span_of(lines[i]), &frame) || (frame.flags & USPI_FRAME_GUESS) != 0, "%s", lines[i]);
    }
    /* Bytes after a NUL are read too. */
    ck_assert(find_frame(USPI_SPAN("\0 1 x 0x1010 x + 16"), &frame));
}
END_TEST

/* Maximum length of a line here. */
#define LINE_LENGTH_MAX 200

/* A span is a part of the line, or a text of the reader's own; none is longer. */
static void check_span(struct uspi_span span, struct uspi_span line) {
    bool is_wrong = span.length > LINE_LENGTH_MAX || (span.length > 0 && memchr(span.bytes, '\n', span.length) != NULL);
    if (is_wrong) ck_abort_msg("%zu bytes of \"%.*s\"", span.length, (int)line.length, line.bytes);
}

/* Checks what a shape finds in a line. */
static void check_spans(const struct uspi_line_shape *shape, struct uspi_span line) {
    struct uspi_frame frame = {.shape = shape};
    struct uspi_read_image image = {.first = 0};
    struct uspi_heading heading = {.kind = 0};
    if (shape->frame != NULL && shape->frame(line, 0, &frame)) {
        check_span(frame.replaced, line);
        check_span(frame.name, line);
        check_span(frame.image, line);
        check_span(frame.before, line);
        check_span(frame.file, line);
    }
    if (shape->image != NULL && shape->image(line, &image)) {
        check_span(image.ident, line);
        check_span(image.path, line);
    }
    if (shape->heading != NULL && shape->heading(line, &heading)) {
        check_span(heading.name, line);
        check_span(heading.queue, line);
        check_span(heading.value, line);
    }
}

/* Checks a line in which any one part is missing. */
static void check_damaged(const struct uspi_line_shape *shape, struct uspi_span line) {
    char damaged[LINE_LENGTH_MAX];
    if (line.length > sizeof damaged) line.length = sizeof damaged;
    for (size_t from = 0; from <= line.length; from++) {
        for (size_t to = from; to <= line.length; to++) {
            memcpy(damaged, line.bytes, from);
            memcpy(damaged + from, line.bytes + to, line.length - to);
            check_spans(shape, (struct uspi_span){damaged, from + line.length - to});
        }
    }
}

static void check_text(const struct text *text) {
    for (size_t i = 0; uspi_line_shapes[i] != NULL; i++) {
        if (strcmp(uspi_line_shapes[i]->name, text->format) != 0) continue;
        for (const char *line = text->in; *line != '\0';) {
            const size_t length = strcspn(line, "\n");
            check_damaged(uspi_line_shapes[i], (struct uspi_span){line, length});
            line += length + (line[length] == '\n');
        }
    }
}

/* A line of which a part is missing, as logs lose it. In a line of sample(1), the mark of the image and that of the
 * address may then share their blanks ("  (in  [0x1]"), which gave a name of -1 bytes. */
START_TEST(damaged_lines) {
    for (size_t i = 0; i < sizeof apple_texts / sizeof *apple_texts; i++) check_text(&apple_texts[i]);
    for (size_t i = 0; i < sizeof linux_texts / sizeof *linux_texts; i++) check_text(&linux_texts[i]);
    for (size_t i = 0; i < sizeof named_texts / sizeof *named_texts; i++) check_text(&named_texts[i]);
}
END_TEST

/* ---- lists of images ---- */

static bool image_of(struct uspi_span line, struct uspi_read_image *image) {
    memset(image, 0, sizeof *image);
    return uspi_apple_image(line, image);
}

START_TEST(image_lines) {
    struct uspi_read_image image;
    ck_assert(
        image_of(span_of("0x100 - 0x1ff My App arm64e  <0123456789abcdef0123456789abcdef> /x/My App\r\n"), &image));
    ck_assert_uint_eq(image.first, 0x100);
    ck_assert_uint_eq(image.last, 0x1ff);
    ck_assert_span_eq(image.ident, "My App");
    ck_assert_span_eq(image.path, "/x/My App");
    ck_assert_uint_eq(image.arch, USP_ARCH_ARM64);
    ck_assert_uint_eq(image.variant, USP_VARIANT_ARM64E);
    ck_assert_uint_eq(image.id_size, 16);
    ck_assert(image_of(span_of("   0x100 -    0x1ff +com.a.App (1.0 - 1) <" UUID "> /x/<b>/App"), &image));
    ck_assert_span_eq(image.ident, "com.a.App");
    ck_assert_uint_eq(image.arch, USP_ARCH_NONE);
    ck_assert_span_eq(image.path, "/x/<b>/App");
    ck_assert(image_of(span_of("0x0 - 0xffffffffffffffff ??? (*) <00000000-0000-0000-0000-000000000000> ???"), &image));
    ck_assert_uint_eq(image.id_size, 0);
    ck_assert(!image_of(span_of("0x200 - 0x1ff x <" UUID "> /x"), &image));
    ck_assert(!image_of(span_of("0x100 - 0x1ff x <not an id> /x"), &image));
    ck_assert(!image_of(span_of("0x100 App 0x1ff - x <" UUID "> /x"), &image));
}
END_TEST

static void add(struct uspi_text_tables *tables, uint64_t position, const char *line) {
    struct uspi_read_image image;
    ck_assert(image_of(span_of(line), &image));
    ck_assert(uspi_log_tables_add(tables, position, &image));
}

START_TEST(image_tables) {
    struct uspi_text_tables tables = {.count = 0};
    add(&tables, 10, "0x3000 - 0x3fff B arm64 <" UUID "> /x/B");
    ck_assert_uint_eq(uspi_log_tables_count(&tables), 0);
    add(&tables, 20, "0x1000 - 0x1fff A arm64 <" UUID "> /x/A");
    uspi_log_tables_end(&tables);
    ck_assert(uspi_log_tables_settle(&tables, true));
    add(&tables, 90, "0x7000 - 0x7fff A arm64 <" UUID "> /x/A");
    uspi_log_tables_end(&tables);
    ck_assert(uspi_log_tables_settle(&tables, true));
    ck_assert_uint_eq(uspi_log_tables_count(&tables), 2);
    ck_assert_uint_eq(uspi_log_tables_position(&tables, 0), 10);
    ck_assert_uint_eq(uspi_log_tables_position(&tables, 1), 90);
    ck_assert_uint_eq(uspi_log_tables_image(&tables, 0, 1)->first, 0x1000);
    ck_assert_ptr_null(uspi_log_tables_image(&tables, 0, 2));
    ck_assert_uint_eq(uspi_log_tables_find_name(&tables, 0, USPI_SPAN("B"))->first, 0x3000);
    ck_assert_ptr_null(uspi_log_tables_find_name(&tables, 1, USPI_SPAN("B")));
    struct uspi_frame frame = frame_of("1   A    0x1010 A + 16");
    ck_assert_uint_eq(uspi_log_tables_find(&tables, 0, &frame, true)->first, 0x1000);
    ck_assert_ptr_null(uspi_log_tables_find(&tables, 1, &frame, false));
    /* The offset does not match the address: the image is found if the offset may be ignored. If the name differs too,
     * it is not found. */
    frame = frame_of("1   A    0x1010 A + 32");
    ck_assert_ptr_null(uspi_log_tables_find(&tables, 0, &frame, true));
    ck_assert_ptr_nonnull(uspi_log_tables_find(&tables, 0, &frame, false));
    frame = frame_of("1   C    0x1010 C + 32");
    ck_assert_ptr_null(uspi_log_tables_find(&tables, 0, &frame, false));
    /* A return address may be the first address past the image. The address after that is in no image. */
    frame = frame_of("1   A    0x2000 A + 4096");
    ck_assert_ptr_nonnull(uspi_log_tables_find(&tables, 0, &frame, true));
    frame = frame_of("1   A    0x2001 A + 4097");
    ck_assert_ptr_null(uspi_log_tables_find(&tables, 0, &frame, false));
    uspi_log_tables_clear(&tables);
}
END_TEST

/* ---- JSON ---- */

/* Checks the nodes of all JSON documents in a text. Each node is a letter for its kind; k before it marks a member.
 * Brackets enclose the contents of an object or array. The last character is "." for the end, "!" for invalid JSON, "~"
 * for a cut text. */
static void check_json(const char *text, const char *kinds) {
    static const char letters[] = {[USPI_JSON_STRING] = 's', [USPI_JSON_NUMBER] = 'n', [USPI_JSON_LITERAL] = 'l'};
    struct uspi_json_document json = {.text = span_of(text)};
    char found[64] = "";
    size_t count = 0;
    int status;
    while ((status = uspi_json_read(&json)) == USP_OK) {
        size_t open[16], depth = 0;
        for (size_t i = 0; i <= json.count; i++) {
            while (depth > 0 && json.nodes[open[depth - 1]].next == i) {
                found[count++] = json.nodes[open[--depth]].kind == USPI_JSON_OBJECT ? '}' : ']';
            }
            if (i == json.count) break;
            const struct uspi_json_node *node = &json.nodes[i];
            if (depth > 0 && json.nodes[open[depth - 1]].kind == USPI_JSON_OBJECT) found[count++] = 'k';
            if (node->kind <= USPI_JSON_ARRAY) open[depth++] = i;
            found[count++] = node->kind == USPI_JSON_OBJECT  ? '{'
                             : node->kind == USPI_JSON_ARRAY ? '['
                                                             : letters[node->kind];
        }
    }
    found[count] = status == USP_ERROR_NOT_FOUND ? '.' : status == USP_ERROR_TRUNCATED ? '~' : '!';
    ck_assert_msg(strcmp(found, kinds) == 0, "%s: %s, not %s", text, found, kinds);
    uspi_json_clear(&json);
}

START_TEST(json_nodes) {
    check_json("", ".");
    check_json(" \n", ".");
    check_json("{\"a\": [1, -2.5e3, true, null, \"\\\"]\"], \"b\": {}}\n[]", "{k[nnlls]k{}}[].");
    check_json("{\"a\"}", "!");
    check_json("{\"a\":}", "!");
    check_json("{\"a\":1,}", "!");
    check_json("{,}", "!");
    check_json("[1 2]", "!");
    check_json("[1,]", "!");
    check_json("[,1]", "!");
    check_json("[1}", "!");
    check_json("[1", "~");
    check_json("[1,", "~");
    check_json("{\"a\":", "~");
    check_json("[\"a]", "~");
    check_json("[\"a\\\"", "~");
    check_json("[\"a\nb\"]", "!");
    check_json("[maybe]", "!");
    check_json("[1E5, -0.5e+3]", "[nn].");
    check_json("[1x]", "!");
    check_json("[e1]", "!");
    check_json("[+1]", "!");
    check_json("\n   \t \r\n          [\n            1 \n  ,\t\t  2        ]\n", "[nn].");
    check_json("tru", "~");
    check_json("]", "!");
    check_json("[1] x", "[n]!");
}
END_TEST

/* The positions of nodes and of an error. */
START_TEST(json_positions) {
    struct uspi_json_document json = {.text = USPI_SPAN(" {\"ab\" : \"c\\n\" , \"d\":[ 12 ] } x")};
    ck_assert_int_eq(uspi_json_read(&json), USP_OK);
    ck_assert_uint_eq(json.count, 4);
    ck_assert_uint_eq(json.nodes[0].from, 1);
    ck_assert_uint_eq(json.nodes[0].length, json.text.length - 3);
    ck_assert_uint_eq(json.nodes[0].next, 4);
    ck_assert_span_eq(uspi_json_key(&json, 1), "ab");
    ck_assert_span_eq(uspi_json_text(&json, 1), "c\\n");
    ck_assert_uint_eq(uspi_json_member(&json, 0, USPI_SPAN("d")), 2);
    ck_assert_uint_eq(uspi_json_member(&json, 0, USPI_SPAN("a")), USPI_JSON_NONE);
    ck_assert_uint_eq(uspi_json_member(&json, 2, USPI_SPAN("d")), USPI_JSON_NONE);
    ck_assert_span_eq(uspi_json_text(&json, 3), "12");
    ck_assert_int_eq(uspi_json_read(&json), USP_ERROR_FORMAT);
    ck_assert_uint_eq(json.at, json.text.length - 1);
    uspi_json_clear(&json);
}
END_TEST

/* A million nested arrays: there is no limit and no recursion. */
START_TEST(json_depth) {
    const size_t deep = 1000000;
    char *text = malloc(2 * deep);
    ck_assert_ptr_nonnull(text);
    memset(text, '[', deep);
    memset(text + deep, ']', deep);
    struct uspi_json_document json = {.text = {text, 2 * deep}};
    ck_assert_int_eq(uspi_json_read(&json), USP_OK);
    ck_assert_uint_eq(json.count, deep);
    ck_assert_uint_eq(json.nodes[deep / 2].length, deep);
    json = (struct uspi_json_document){.text = {text, 2 * deep - 1}, .nodes = json.nodes, .capacity = json.capacity};
    ck_assert_int_eq(uspi_json_read(&json), USP_ERROR_TRUNCATED);
    uspi_json_clear(&json);
    free(text);
}
END_TEST

START_TEST(json_text) {
    static const struct {
        const char *text, *decoded;
    } strings[] = {
        {"a\\/b\\n\\\"", "a/b\n\""},
        {"\\u0041\\u00e9\\u20AC", "A\xc3\xa9\xe2\x82\xac"},
        {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
        {"\\u12", "u12"},
        {"x\\", "x\\"},
    };
    char decoded[64];
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        struct uspi_span text = span_of(strings[i].text);
        struct uspi_span is = {decoded, uspi_json_decode(text, decoded)};
        ck_assert_uint_le(is.length, text.length);
        ck_assert_span_eq(is, strings[i].decoded);
    }
    uint64_t value;
    ck_assert(uspi_json_whole(USPI_SPAN("18446744073709551615"), &value) && value == UINT64_MAX);
    ck_assert(!uspi_json_whole(USPI_SPAN("18446744073709551616"), &value));
    ck_assert(!uspi_json_whole(USPI_SPAN("-1"), &value));
    ck_assert(!uspi_json_whole(USPI_SPAN("1.0"), &value));
    ck_assert(!uspi_json_whole(USPI_SPAN(""), &value));
}
END_TEST

/* A package's path may begin with a digit. Other lines that end with a parenthesis are not frames of Go. */
START_TEST(go_functions) {
    static const char *const others[] = {"#define PAGE size(0x1000)", "[[ x ]] || sum+=(y)", "12/(3-3)", "$(id)",
                                         "(x)"};
    ck_assert_span_eq(frame_of("9fans.net/go/acme.(*Win).Open(0xc000012345)").name, "9fans.net/go/acme.(*Win).Open");
    ck_assert_span_eq(frame_of("panic({0x4a5c60?, 0x4e6b30?})").name, "panic");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct uspi_frame none;
        ck_assert_msg(!find_frame(span_of(others[i]), &none), "%s", others[i]);
    }
}
END_TEST

/* Each key of the list is found, as a key alone and as a member; keys that differ in one character are not. */
START_TEST(json_slots) {
#define KEY(slot, key) {key, USPI_SLOT_##slot},
    static const struct {
        const char *key;
        enum uspi_slot slot;
    } keys[] = {USPI_SLOTS(KEY)};
#undef KEY
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char text[64], other[64];
        enum uspi_slot slot;
        ck_assert_msg(uspi_slot_find(span_of(keys[i].key), &slot), "%s", keys[i].key);
        ck_assert_uint_eq(slot, keys[i].slot);
        snprintf(text, sizeof text, "{\"%s\":[]}", keys[i].key);
        struct uspi_json_document json = {.text = span_of(text)};
        ck_assert_int_eq(uspi_json_read(&json), USP_OK);
        struct uspi_json_object object = {.document = &json};
        uspi_slots_read(&object);
        ck_assert_uint_eq(object.has, USPI_SLOT_BIT(keys[i].slot));
        ck_assert_uint_eq(object.slots[keys[i].slot], 1);
        uspi_json_clear(&json);
        snprintf(other, sizeof other, "%s", keys[i].key);
        other[0] = '-';
        ck_assert(!uspi_slot_find(span_of(other), &slot));
        snprintf(other, sizeof other, "%s-", keys[i].key);
        ck_assert(!uspi_slot_find(span_of(other), &slot));
    }
    enum uspi_slot none;
    ck_assert(!uspi_slot_find(span_of(""), &none));
    ck_assert(!uspi_slot_find(span_of("a key that is longer than all of them"), &none));
}
END_TEST

int main(void) {
    TCase *tcase = tcase_create("read");
    add_tests(tcase, call_stack_symbols, unknown_frames, full_columns, crash_reports, bs_backtraces, glibc,
              without_an_address, named_frames, no_frames, damaged_lines, image_lines, image_tables, json_nodes,
              json_positions, json_depth, json_text, json_slots, go_functions);
    return run_suite("read", tcase);
}
