/* SPDX-License-Identifier: MIT */
/* Tests of source lines and inlined calls in each style (USP_FORMAT_LINES), byte by byte, from debug information that
 * is made here. tests/tool/lines.sh tests those of a real process. */
#include "tests/support/dwarf_file.h"
#include "tests/support/suite.h"
#include "tests/support/text_fixtures.h"

#include <unspool/unspool.h>

/* The function's code in bytes. The last row lies beyond it where it is SHORT. */
#define LONG  0x40
#define SHORT 0x30

/* Number of inlined calls for which the report has to enlarge its array. */
#define DEEP 40

static struct usp_images *images;
static struct usp_symbolizer *symbolizer;
static struct usp_format_options options;
static char path[64];
static struct usp_frame frames[3];

/* Opens a file with 64 bytes of code, which has a row for each 16 bytes: lines 10 to 13. Its function begins there and
 * has `size` bytes. The second 16 bytes have `depth` inlined calls. */
static void open_file_of(unsigned depth, uint64_t size) {
    struct dwarf_file f = {0};
    char error[512];
    put_abbreviations(&f);
    begin_unit(&f, "one.c", 0x1000, 0x40);
    const uint32_t inner = put_abstract(&f, "_RNvC4demo5inner", 5);
    put_function(&f, FUNCTION, "outer", 0x1000, size);
    for (unsigned i = 0; i < depth; i++) put_inlined(&f, inner, 0x1010, 0x10, 20 + i);
    for (unsigned i = 0; i < depth; i++) end_entry(&f);
    end_entry(&f);
    end_unit(&f);
    begin_lines(&f);
    put_address(&f, 0x1000);
    for (int i = 0; i < 4; i++) put_row(&f, i > 0 ? 16 : 0, i > 0 ? 1 : 9);
    put_end(&f, 16);
    end_lines(&f);
    struct builder b = finish_dwarf_file(&f);
    strcpy(path, "/tmp/unspool-lines-XXXXXX");
    int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(write(descriptor, b.bytes, b.size), (ssize_t)b.size);
    close(descriptor);
    builder_free(&b);
    ck_assert_msg(usp_images_open(path, NULL, &images, error, sizeof error) == USP_OK, "%s", error);
    ck_assert_int_eq(usp_symbolizer_create(images, NULL, &symbolizer), USP_OK);
    usp_format_options_init(&options);
    options.symbolizer = symbolizer;
    options.images = images;
    options.flags = USP_FORMAT_LINES;
    ck_assert_int_eq(usp_demangler_create(USP_DEMANGLE_FULL, &options.demangler), USP_OK);
}

static void open_file(unsigned depth) { open_file_of(depth, LONG); }

static void close_file(void) {
    usp_demangler_free(options.demangler);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    unlink(path);
}

/* Returns a stack with an interrupted pc in the inlined calls, a return address right after them, and one without
 * inlined calls. */
static struct usp_stack stack_in_it(void) {
    static const usp_addr pcs[] = {0x1014, 0x1020, 0x1031};
    struct usp_stack stack = make_stack(frames, pcs, 3);
    stack.arch = USP_ARCH_X86_64;
    return stack;
}

static char *text_of(uint32_t style) {
    struct gathered g = {0};
    const struct usp_stack stack = stack_in_it();
    options.style = style;
    ck_assert_int_eq(usp_format_stack(&stack, NULL, &options, gather, &g), USP_OK);
    return g.text;
}

/* Compares the text with `expected`, in which @ stands for the image's name. */
static void check(uint32_t style, const char *expected) {
    char *text = text_of(style), whole[4096];
    size_t used = 0;
    for (; *expected != '\0'; expected++) {
        ck_assert_uint_lt(used + sizeof path, sizeof whole);
        if (*expected == '@') {
            used += (size_t)snprintf(whole + used, sizeof whole - used, "%s", strrchr(path, '/') + 1);
        } else {
            whole[used++] = *expected;
        }
    }
    whole[used] = '\0';
    ck_assert_str_eq(text, whole);
    free(text);
}

START_TEST(styles_with_lines) {
    open_file(2);
    check(USP_FORMAT_CALL_STACK_SYMBOLS, "0   @                0x0000000000001014 demo::inner [inlined] (one.c:11)\n"
                                         "0   @                0x0000000000001014 demo::inner [inlined] (one.c:21)\n"
                                         "0   @                0x0000000000001014 outer + 20 (one.c:20)\n"
                                         "1   @                0x0000000000001020 demo::inner [inlined] (one.c:11)\n"
                                         "1   @                0x0000000000001020 demo::inner [inlined] (one.c:21)\n"
                                         "1   @                0x0000000000001020 outer + 32 (one.c:20)\n"
                                         "2   @                0x0000000000001031 outer + 49 (one.c:13)\n");
    check(USP_FORMAT_PLAIN,
          "demo::inner [inlined] (one.c:11)\ndemo::inner [inlined] (one.c:21)\nouter + 20 (one.c:20)\n"
          "demo::inner [inlined] (one.c:11)\ndemo::inner [inlined] (one.c:21)\nouter + 32 (one.c:20)\n"
          "outer + 49 (one.c:13)\n");
    check(USP_FORMAT_FOLDED, "thread;outer;outer;demo::inner;demo::inner;outer;demo::inner;demo::inner 1\n");
    /* Other tools read these styles and know no lines in them. */
    char *text = text_of(USP_FORMAT_BACKTRACE_SYMBOLS);
    ck_assert_ptr_null(strstr(text, "one.c"));
    ck_assert_ptr_null(strstr(text, "inner"));
    free(text);
    text = text_of(USP_FORMAT_PORTABLE);
    ck_assert_ptr_null(strstr(text, "one.c"));
    free(text);
    text = text_of(USP_FORMAT_BS_BACKTRACE);
    ck_assert_ptr_nonnull(strstr(text, " 0x00001014 demo::inner [inlined] (one.c:11)\n"));
    ck_assert_ptr_nonnull(strstr(text, " 0x00001014 outer + 20 (one.c:20)\n"));
    free(text);
    text = text_of(USP_FORMAT_CRASH_REPORT);
    ck_assert_ptr_nonnull(strstr(text, "\t0x0000000000001014 demo::inner [inlined] (one.c:11)\n"));
    ck_assert_ptr_nonnull(strstr(text, "\t0x0000000000001014 outer + 20 (one.c:20)\n"));
    free(text);
    close_file();
}
END_TEST

START_TEST(whole_paths) {
    open_file(0);
    options.flags |= USP_FORMAT_FULL_PATHS;
    check(USP_FORMAT_PLAIN, "outer + 20 (/src/one.c:11)\nouter + 32 (/src/one.c:11)\nouter + 49 (/src/one.c:13)\n");
    close_file();
}
END_TEST

START_TEST(json_with_lines) {
    open_file(1);
    char *text = text_of(USP_FORMAT_JSON);
    const char *own = strstr(text, "\"source_line\": 20"), *inlined = strstr(text, "\"inlined\": [");
    ck_assert_ptr_nonnull(own);
    ck_assert_ptr_nonnull(inlined);
    ck_assert(own < inlined);
    const char *line = strstr(inlined, "\"source_line\": 11"), *name = strstr(inlined, "\"symbol\": \"demo::inner\"");
    ck_assert_ptr_nonnull(name);
    ck_assert_ptr_nonnull(line);
    ck_assert(name < line);
    ck_assert_ptr_nonnull(strstr(text, "\"source_directory\": \"/src\""));
    free(text);
    close_file();
}
END_TEST

/* Code of no function has its line in JSON as in text: padding, and code written in assembly language. */
START_TEST(lines_without_a_function) {
    open_file_of(0, SHORT);
    char *text = text_of(USP_FORMAT_JSON);
    const char *last = strstr(text, "\"index\": 2");
    ck_assert_ptr_nonnull(last);
    ck_assert_ptr_null(strstr(last, "\"symbol\""));
    ck_assert_ptr_nonnull(strstr(last, "\"source_line\": 13"));
    free(text);
    text = text_of(USP_FORMAT_PLAIN);
    ck_assert_ptr_nonnull(strstr(text, "(one.c:13)\n"));
    free(text);
    close_file();
}
END_TEST

/* Without the flag, and with symbols from the caller, the text has no lines. */
START_TEST(not_wanted) {
    static const struct usp_symbol symbols[3] = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
    open_file(2);
    options.symbols = symbols;
    check(USP_FORMAT_PLAIN, "a + 4116\nb + 4128\nc + 4145\n");
    options.symbols = NULL;
    options.flags = 0;
    char *text = text_of(USP_FORMAT_JSON);
    ck_assert_ptr_null(strstr(text, "source_"));
    ck_assert_ptr_null(strstr(text, "inlined"));
    free(text);
    text = text_of(USP_FORMAT_CALL_STACK_SYMBOLS);
    ck_assert_ptr_null(strstr(text, "one.c"));
    free(text);
    close_file();
}
END_TEST

/* For a return address, the call is looked up; for an interrupted thread, its instruction. */
START_TEST(frames_by_their_call_sites) {
    struct usp_source_frame source[4];
    struct usp_lines lines;
    open_file(1);
    const struct usp_stack stack = stack_in_it();
    usp_lines_init(&lines, source, 4);
    ck_assert_int_eq(usp_symbolize_lines(options.symbolizer, stack.frames[1].pc, &lines), USP_OK);
    ck_assert_uint_eq(lines.count, 1);
    usp_lines_init(&lines, source, 4);
    ck_assert_int_eq(usp_symbolize_frame_lines(options.symbolizer, stack.arch, &stack.frames[1], &lines), USP_OK);
    ck_assert_uint_eq(lines.count, 2);
    ck_assert_uint_eq(source[1].line, 20);
    usp_lines_init(&lines, source, 4);
    ck_assert_int_eq(usp_symbolize_frame_lines(options.symbolizer, stack.arch, &stack.frames[0], &lines), USP_OK);
    ck_assert_uint_eq(lines.count, 2);
    close_file();
}
END_TEST

/* The outermost function is shown, however many calls were inlined into it. */
START_TEST(many_inlined_calls) {
    open_file(DEEP);
    char *text = text_of(USP_FORMAT_PLAIN);
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, "[inlined]")) != NULL; at++) count++;
    ck_assert_uint_eq(count, 2 * DEEP);
    ck_assert_ptr_nonnull(strstr(text, "(one.c:21)\nouter + 20 (one.c:20)\n"));
    free(text);
    close_file();
}
END_TEST

int main(void) {
    TCase *all = tcase_create("all");
    add_tests(all, styles_with_lines, whole_paths, json_with_lines, lines_without_a_function, not_wanted,
              frames_by_their_call_sites, many_inlined_calls);
    return run_suite("report lines", all);
}
