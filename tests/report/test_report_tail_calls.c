/* SPDX-License-Identifier: MIT */
/* Tests of inferred tail calls in each style (USP_FORMAT_LINES), byte by byte, from call sites that are made here.
 * tests/symbolize/test_tail_calls.c tests which tail calls are inferred. */
#include "tests/support/call_file.h"
#include "tests/support/suite.h"
#include "tests/support/text_fixtures.h"

#include <unspool/unspool.h>

/* c calls b, and b reaches a by tail calls through x. d calls c. */
static const struct call_program program = {.units = "dcbxa", .calls = "d>c c>b b~x x~a"};

static struct usp_images *images;
static struct usp_symbolizer *symbolizer;
static struct usp_format_options options;
static char path[64];
static struct usp_frame frames[3];

static void open_file(void) {
    char error[512];
    struct builder b = make_call_file(&program);
    strcpy(path, "/tmp/unspool-calls-XXXXXX");
    int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    save(&b, path);
    builder_free(&b);
    ck_assert_msg(usp_images_open(path, NULL, &images, error, sizeof error) == USP_OK, "%s", error);
    ck_assert_int_eq(usp_symbolizer_create(images, NULL, &symbolizer), USP_OK);
    usp_format_options_init(&options);
    options.symbolizer = symbolizer;
    options.images = images;
    options.flags = USP_FORMAT_LINES;
}

static void close_file(void) {
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    unlink(path);
}

/* Returns a stack with an interrupted pc in a, and return addresses in c and d. */
static struct usp_stack stack_of_calls(void) {
    const usp_addr pcs[] = {start_of(&program, 'a') + 0x14, end_of_call(&program, 'c', 0),
                            end_of_call(&program, 'd', 0)};
    struct usp_stack stack = make_stack(frames, pcs, 3);
    stack.arch = USP_ARCH_X86_64;
    return stack;
}

static char *text_of(uint32_t style) {
    struct gathered g = {0};
    const struct usp_stack stack = stack_of_calls();
    options.style = style;
    ck_assert_int_eq(usp_format_stack(&stack, NULL, &options, gather, &g), USP_OK);
    if (g.text == NULL) g.text = calloc(1, 1);
    return g.text;
}

/* Compares the whole text with `expected`, after removing the image's name. */
static void check(uint32_t style, const char *expected) {
    char *text = text_of(style), without[4096];
    const char *name = strrchr(path, '/') + 1;
    size_t used = 0;
    for (const char *at = text; *at != '\0';) {
        const bool is_name = strncmp(at, name, strlen(name)) == 0;
        at += is_name ? strlen(name) : 0;
        if (!is_name) without[used++] = *at++;
    }
    without[used] = '\0';
    ck_assert_str_eq(without, expected);
    free(text);
}

static void check_part(uint32_t style, const char *expected) {
    char *text = text_of(style);
    ck_assert_msg(strstr(text, expected) != NULL, "%s\nis not in\n%s", expected, text);
    free(text);
}

START_TEST(lines_of_frames) {
    open_file();
    check(USP_FORMAT_PLAIN, "a + 20 (one.c:502)\n"
                            "x + 8 [inferred tail call] (one.c:400)\n"
                            "b + 8 [inferred tail call] (one.c:300)\n"
                            "c + 8 (one.c:200)\n"
                            "d + 8 (one.c:100)\n");
    check(USP_FORMAT_CALL_STACK_SYMBOLS,
          "0                   0x0000000000001114 a + 20 (one.c:502)\n"
          "1                   0x00000000000010c8 x + 8 [inferred tail call] (one.c:400)\n"
          "1                   0x0000000000001088 b + 8 [inferred tail call] (one.c:300)\n"
          "1                   0x0000000000001048 c + 8 (one.c:200)\n"
          "2                   0x0000000000001008 d + 8 (one.c:100)\n");
    check_part(USP_FORMAT_CRASH_REPORT, "\t0x0000000000001088 b + 8 [inferred tail call] (one.c:300)\n1   ");
    check_part(USP_FORMAT_BS_BACKTRACE, " 0x00001088 b + 8 [inferred tail call] (one.c:300)\n");
    close_file();
}
END_TEST

/* Frames that were omitted before c count in the numbers, inferred frames do not. */
START_TEST(numbers_of_frames) {
    struct gathered g = {0};
    open_file();
    struct usp_stack stack = stack_of_calls();
    stack.omitted_at = 1;
    stack.omitted = 7;
    options.style = USP_FORMAT_PLAIN;
    ck_assert_int_eq(usp_format_stack(&stack, NULL, &options, gather, &g), USP_OK);
    ck_assert_str_eq(g.text,
                     "a + 20 (one.c:502)\n    ... 7 frames left out ...\nc + 8 (one.c:200)\nd + 8 (one.c:100)\n");
    free(g.text);
    close_file();
}
END_TEST

static void without_blanks(char *text) {
    char *to = text;
    for (; *text != '\0'; text++) {
        if (*text != ' ' && *text != '\n') *to++ = *text;
    }
    *to = '\0';
}

START_TEST(folded_and_json) {
    open_file();
    check(USP_FORMAT_FOLDED, "thread;d;c;b;x;a 1\n");
    char *text = text_of(USP_FORMAT_JSON);
    without_blanks(text);
    const char *calls = strstr(text, "\"tail_calls\":["), *called = strstr(text, "\"index\":1,\"address\":\"0x1048\"");
    ck_assert_ptr_nonnull(calls);
    ck_assert_ptr_nonnull(strstr(calls, "[{\"address\":\"0x10c8\",\"symbol\":\"x\",\"symbol_offset\":8,"
                                        "\"named_by\":\"symtab\",\"source_directory\":\"/src\","
                                        "\"source_file\":\"one.c\",\"source_line\":400},"
                                        "{\"address\":\"0x1088\",\"symbol\":\"b\""));
    /* The tail calls belong to the frame that called b, and to no other. */
    ck_assert_ptr_nonnull(called);
    ck_assert(called < calls && calls < strstr(text, "\"index\":2"));
    ck_assert_ptr_null(strstr(calls + 1, "\"tail_calls\""));
    free(text);
    close_file();
}
END_TEST

/* No tail calls are shown without lines, in a style without lines, and with symbols from the caller. */
START_TEST(without_lines) {
    open_file();
    options.flags = 0;
    check(USP_FORMAT_PLAIN, "a + 20\nc + 8\nd + 8\n");
    check(USP_FORMAT_FOLDED, "thread;d;c;a 1\n");
    options.flags = USP_FORMAT_LINES;
    char *text = text_of(USP_FORMAT_BACKTRACE_SYMBOLS);
    ck_assert_ptr_null(strstr(text, "(b+"));
    free(text);
    const struct usp_symbol symbols[3] = {{.name = "one"}, {.name = "two"}, {.name = "three"}};
    options.symbols = symbols;
    text = text_of(USP_FORMAT_PLAIN);
    ck_assert_ptr_null(strstr(text, "inferred"));
    free(text);
    options.symbols = NULL;
    options.symbolizer = NULL;
    text = text_of(USP_FORMAT_PLAIN);
    ck_assert_ptr_null(strstr(text, "inferred"));
    free(text);
    close_file();
}
END_TEST

/* A filter that hides an image also hides the frames inferred in it. */
START_TEST(filtered) {
    static const char *const patterns[] = {"another"};
    struct usp_filter_options hidden;
    struct usp_filter *filter;
    open_file();
    usp_filter_options_init(&hidden);
    hidden.patterns = patterns;
    hidden.pattern_count = 1;
    ck_assert_int_eq(usp_filter_create(images, &hidden, &filter), USP_OK);
    options.filter = filter;
    check(USP_FORMAT_PLAIN, "");
    usp_filter_free(filter);
    close_file();
}
END_TEST

int main(void) {
    TCase *styles = tcase_create("styles");
    add_tests(styles, lines_of_frames, numbers_of_frames, folded_and_json, without_lines, filtered);
    return run_suite("report_tail_calls", styles);
}
