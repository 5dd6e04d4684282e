/* SPDX-License-Identifier: MIT */
/* Example on the manual page usp_reader_create(3). */
#include <stdio.h>
#include <string.h>
#include <unspool/report.h>

/* Names every frame after its image. A program looks the place up instead, for
 * example with usp_symbolize_places. */
static int find(void *context, const struct usp_place *place, struct usp_answer *answer) {
    static struct usp_source_frame frame;
    static char name[64];

    (void)context;
    snprintf(name, sizeof name, "function_of_%.*s", (int)place->image_length, place->image);
    frame.function = name;
    answer->frames = &frame;
    answer->count = 1;
    answer->offset = 16;
    return USP_OK;
}

static int write_text(void *context, const char *bytes, size_t n) {
    return fwrite(bytes, 1, n, context) == n ? USP_OK : USP_ERROR_SYSTEM;
}

int main(void) {
    static const char text[] = "0   Demo   0x0000000100003f21 0x100000000 + 16161\n";
    struct usp_reader_options options;
    struct usp_reader *reader;
    char error[512];
    int status;

    usp_reader_options_init(&options);
    options.find = find;
    options.write = write_text;
    options.context = stdout;
    if (usp_reader_create(&options, &reader) != USP_OK) return 1;
    status = usp_reader_write_whole(reader, text, strlen(text), error, sizeof error);
    usp_reader_free(reader);
    return status == USP_OK ? 0 : 1;
}
