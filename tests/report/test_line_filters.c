/* SPDX-License-Identifier: MIT */
/* Tests that no shape's filter rejects a line that the shape itself accepts. A filter is the bytes that a line must
 * have and how it may begin (struct uspi_line_shape). The lines are those of the tests' texts, of the scripts and data
 * files of tests as they stand, and of all strings of tests in C. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/report/read/line.h"
#include "lib/report/read/read.h"
#include "tests/support/report_texts.h"
#include "tests/support/suite.h"

struct counts {
    unsigned lines, frames, images;
};

static void check_line(struct counts *counts, struct uspi_span line) {
    const unsigned has = uspi_line_bytes_of(line), begins = uspi_line_begins_of(line);
    struct uspi_frame frame;
    struct uspi_read_image image;
    counts->lines++;
    for (size_t i = 0; uspi_line_shapes[i] != NULL; i++) {
        const struct uspi_line_shape *shape = uspi_line_shapes[i];
        memset(&frame, 0, sizeof frame);
        if (shape->frame != NULL && shape->frame(line, 0, &frame)) {
            bool passes = (has & shape->frame_bytes) == shape->frame_bytes &&
                          (shape->frame_begins == 0 || (shape->frame_begins & begins) != 0);
            ck_assert_msg(passes, "frame of %s: %.*s", shape->name, (int)line.length, line.bytes);
            counts->frames++;
        }
        memset(&image, 0, sizeof image);
        if (shape->image != NULL && shape->image(line, &image)) {
            bool passes = (has & shape->image_bytes) == shape->image_bytes &&
                          (shape->image_begins == 0 || (shape->image_begins & begins) != 0);
            ck_assert_msg(passes, "image of %s: %.*s", shape->name, (int)line.length, line.bytes);
            counts->images++;
        }
    }
}

static void check_lines(struct counts *counts, const char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        const size_t n = end != NULL ? (size_t)(end - text) - at : length - at;
        check_line(counts, (struct uspi_span){text + at, n});
        at += n + 1;
    }
}

/* Removes an escape: "\n" and "\t" become the characters, of others the character after the backslash stays. */
static char unescaped(char c) { return (char)(c == 'n' ? '\n' : c == 't' ? '\t' : c); }

/* Checks the lines of strings. Strings with nothing but blanks, names of macros and backslashes between them are one
 * string. */
static void check_strings(struct counts *counts, const char *text, size_t length) {
    char *joined = malloc(length + 1);
    size_t size = 0;
    bool is_inside = false;
    ck_assert_ptr_nonnull(joined);
    for (size_t at = 0; at < length; at++) {
        const char c = text[at];
        if (c == '"') {
            is_inside = !is_inside;
        } else if (is_inside) {
            joined[size++] = c == '\\' && at + 1 < length ? unescaped(text[++at]) : c;
        } else if (strchr(",;(){}[]=?:", c) != NULL && size > 0) {
            check_lines(counts, joined, size);
            size = 0;
        }
    }
    check_lines(counts, joined, size);
    free(joined);
}

static void check_file(struct counts *counts, const char *path) {
    FILE *file = fopen(path, "rb");
    struct stat status;
    ck_assert_msg(file != NULL && stat(path, &status) == 0, "%s", path);
    const size_t size = (size_t)status.st_size;
    char *text = malloc(size + 1);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(fread(text, 1, size, file), size);
    fclose(file);
    const char *end = strrchr(path, '.');
    const bool is_c = strcmp(end, ".c") == 0 || strcmp(end, ".h") == 0;
    (is_c ? check_strings : check_lines)(counts, text, size);
    free(text);
}

static void check_folder(struct counts *counts, const char *folder) {
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    ck_assert_msg(entries != NULL, "%s", folder);
    while ((entry = readdir(entries)) != NULL) {
        static const char *const ends[] = {".c", ".h", ".sh", ".py", ".txt", ".swift"};
        const char *end = strrchr(entry->d_name, '.');
        char path[4096];
        for (size_t i = 0; end != NULL && i < sizeof ends / sizeof *ends; i++) {
            if (strcmp(end, ends[i]) != 0) continue;
            ck_assert_int_lt(snprintf(path, sizeof path, "%s/%s", folder, entry->d_name), (int)sizeof path);
            check_file(counts, path);
        }
    }
    closedir(entries);
}

static void check_texts(struct counts *counts, const struct text *texts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *const each[] = {texts[i].in, texts[i].out, texts[i].once};
        for (size_t k = 0; k < 3; k++) {
            if (each[k] != NULL) check_lines(counts, each[k], strlen(each[k]));
        }
    }
}

START_TEST(filters_accept_what_shapes_accept) {
    static const char *const folders[] = {"fuzz",   "images",  "lanes", "monitor",   "report",
                                          "source", "support", "swift", "symbolize", "tool"};
    const char *source = getenv("srcdir") != NULL ? getenv("srcdir") : ".";
    struct counts counts = {0};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char folder[4096];
        ck_assert_int_lt(snprintf(folder, sizeof folder, "%s/tests/%s", source, folders[i]), (int)sizeof folder);
        check_folder(&counts, folder);
    }
    check_texts(&counts, apple_texts, sizeof apple_texts / sizeof *apple_texts);
    check_texts(&counts, linux_texts, sizeof linux_texts / sizeof *linux_texts);
    check_texts(&counts, named_texts, sizeof named_texts / sizeof *named_texts);
    check_texts(&counts, documents, sizeof documents / sizeof *documents);
    printf("%u lines, %u frames, %u images\n", counts.lines, counts.frames, counts.images);
    ck_assert_uint_gt(counts.lines, 10000);
    ck_assert_uint_gt(counts.frames, 1000);
    ck_assert_uint_gt(counts.images, 50);
}
END_TEST

int main(void) {
    TCase *tcase = tcase_create("line_filters");
    add_tests(tcase, filters_accept_what_shapes_accept);
    return run_suite("line_filters", tcase);
}
