/* SPDX-License-Identifier: MIT */
/* Writes a file of dwarf_file.h, opens it, looks up source frames, and removes it. Include it once in a program, which
 * must be linked with the library's internals. */
#ifndef TESTS_SUPPORT_DWARF_QUESTIONS_H
#define TESTS_SUPPORT_DWARF_QUESTIONS_H

#include "tests/support/dwarf_file.h"
#include "tests/support/suite.h"

#include <unspool/unspool.h>

static struct dwarf_file f;
static struct usp_images *images;
static struct usp_symbolizer *symbolizer;
static struct usp_source_frame frames[64];
static struct usp_lines lines;
static char written_file[64];

static inline void begin(void) {
    f = (struct dwarf_file){0};
    put_abbreviations(&f);
}

/* Writes bytes to a file, frees them, and opens the file. */
static inline void open_bytes(struct builder *b) {
    char error[512];
    strcpy(written_file, "/tmp/unspool-dwarf-XXXXXX");
    int descriptor = mkstemp(written_file);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(write(descriptor, b->bytes, b->size), (ssize_t)b->size);
    close(descriptor);
    builder_free(b);
    ck_assert_msg(usp_images_open(written_file, NULL, &images, error, sizeof error) == USP_OK, "%s", error);
    ck_assert_int_eq(usp_symbolizer_create(images, NULL, &symbolizer), USP_OK);
}

/* Writes the file, and opens it. */
static inline void open_file(void) {
    struct builder b = finish_dwarf_file(&f);
    open_bytes(&b);
}

static inline void close_file(void) {
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    unlink(written_file);
}

static inline uint32_t ask(usp_addr address) {
    usp_lines_init(&lines, frames, ELEMENTS(frames));
    usp_symbolize_lines(symbolizer, address, &lines);
    return lines.count;
}

/* Checks that frame i of an address has this function and line. line 0: no line of the line table or the inline
 * tree. */
static inline void expect(usp_addr address, uint32_t i, const char *function, uint32_t line) {
    const uint32_t count = ask(address);
    ck_assert_msg(i < count, "0x%x has %u frames", (unsigned)address, count);
    if (function == NULL) {
        ck_assert_msg(frames[i].function == NULL, "0x%x: %s", (unsigned)address, frames[i].function);
    } else {
        ck_assert_msg(frames[i].function != NULL && strcmp(frames[i].function, function) == 0, "0x%x: %s, not %s",
                      (unsigned)address, frames[i].function != NULL ? frames[i].function : "nothing", function);
    }
    ck_assert_msg(frames[i].line == line, "0x%x: line %u, not %u", (unsigned)address, frames[i].line, line);
}

/* The same with a directory and a file; NULL: unknown. */
static inline void expect_in(usp_addr address, uint32_t i, const char *function, const char *directory,
                             const char *file, uint32_t line) {
    expect(address, i, function, line);
    const char *const got[] = {frames[i].directory, frames[i].file}, *const wanted[] = {directory, file};
    for (unsigned k = 0; k < 2; k++) {
        const bool is_same =
            (got[k] == NULL) == (wanted[k] == NULL) && (got[k] == NULL || strcmp(got[k], wanted[k]) == 0);
        ck_assert_msg(is_same, "0x%x: \"%s\", not \"%s\"", (unsigned)address, got[k] != NULL ? got[k] : "(none)",
                      wanted[k] != NULL ? wanted[k] : "(none)");
    }
}

static inline void expect_nothing(usp_addr address) {
    ck_assert_msg(ask(address) == 0, "0x%x has %u frames", (unsigned)address, lines.count);
}

/* Checks whether the explanation of the lines contains these words. */
static inline void expect_said(const char *words, bool is_said) {
    char text[512];
    usp_symbolizer_explain_lines(symbolizer, usp_images_get(images, 0)->load_address, text, sizeof text);
    ck_assert_msg((strstr(text, words) != NULL) == is_said, "%s", text);
}

/* Puts a line table of one sequence: from `low` on a row every 16 bytes, with lines 10, 11, … */
static inline void put_plain_lines(uint64_t low, unsigned rows) {
    begin_lines(&f);
    put_address(&f, low);
    put_row(&f, 0, 9);
    for (unsigned i = 1; i < rows; i++) put_row(&f, 16, 1);
    put_end(&f, 16);
    end_lines(&f);
}

/* Puts a unit that claims a range, with one function and two lines. */
static inline void put_unit(const char *file, uint64_t low, uint64_t size, const char *name, uint64_t start,
                            uint64_t function_size) {
    begin_unit(&f, file, low, size);
    put_function(&f, FUNCTION, name, start, function_size);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(start, 2);
}

#endif
