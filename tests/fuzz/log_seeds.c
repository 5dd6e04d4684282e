/* SPDX-License-Identifier: MIT */
/* log_seeds FOLDER: writes the seeds of fuzz_log into FOLDER/fuzz_log: texts of every format, in several modes.
 * log_seeds FOLDER --plain: writes the unchanged texts into FOLDER, for tests/tool/report.sh. */
#include "tests/support/report_texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const unsigned char modes[] = {0x00, 0x01, 0x13, 0x5d, 0x05};

static void write_file(const char *path, const unsigned char *mode, const char *text) {
    FILE *file = fopen(path, "wb");
    if (file == NULL || (mode != NULL && fputc(*mode, file) == EOF)) exit(EXIT_FAILURE);
    if (fputs(text, file) == EOF || fclose(file) != 0) exit(EXIT_FAILURE);
}

static void write_texts(const char *folder, int are_plain, const char *group, const struct text *texts, size_t count) {
    char path[4096];
    for (size_t i = 0; i < count; i++) {
        if (are_plain) {
            snprintf(path, sizeof path, "%s/%s.%s%zu", folder, texts[i].format, group, i);
            write_file(path, NULL, texts[i].in);
            continue;
        }
        for (size_t mode = 0; mode < sizeof modes; mode++) {
            snprintf(path, sizeof path, "%s/fuzz_log/%s.%s%zu.%zu", folder, texts[i].format, group, i, mode);
            write_file(path, &modes[mode], texts[i].in);
        }
    }
}

/* PLCrashReporter's bytes: a thread with a frame, and its image. */
static const char plcrash[] = "plcrash\001"
                              "\x1a\x09\x08\x01\x12\x05\x18\x90\x82\x80\x08"
                              "\x22\x20\x08\x80\x80\x80\x08\x10\x80\x80\x04\x1a\x03"
                              "App"
                              "\x22\x10"
                              "0123456789abcdef";

int main(int argc, char **argv) {
    char path[4096];
    const int are_plain = argc == 3 && strcmp(argv[2], "--plain") == 0;
    if (argc != 2 && !are_plain) return EXIT_FAILURE;
    snprintf(path, sizeof path, "%s/fuzz_log", argv[1]);
    if (!are_plain) mkdir(path, 0777);
    write_texts(argv[1], are_plain, "", apple_texts, sizeof apple_texts / sizeof *apple_texts);
    write_texts(argv[1], are_plain, "", linux_texts, sizeof linux_texts / sizeof *linux_texts);
    write_texts(argv[1], are_plain, "", documents, sizeof documents / sizeof *documents);
    write_texts(argv[1], are_plain, "named", named_texts, sizeof named_texts / sizeof *named_texts);
    for (size_t mode = 0; !are_plain && mode < sizeof modes; mode++) {
        snprintf(path, sizeof path, "%s/fuzz_log/plcrash.%zu", argv[1], mode);
        write_file(path, &modes[mode], plcrash);
    }
    return EXIT_SUCCESS;
}
