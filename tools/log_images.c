/* SPDX-License-Identifier: MIT */
/* Implements log_images.h. */
#include "tools/log_images.h"

#include "tools/command.h"
#include "tools/log_input.h"
#include "tools/log_say.h"

#include <errno.h>

int log_images_read(const char *path, struct usp_reader **reader) {
    struct log_input input;
    struct usp_reader_options options;
    struct uspi_span piece;
    usp_reader_options_init(&options);
    options.flags = USP_READER_IMAGES;
    if (!log_input_open(&input, path)) return log_fail_to_read(path, errno);
    int status = usp_reader_create(&options, reader);
    while (status == USP_OK && log_input_read(&input, &piece)) {
        status = usp_reader_learn(*reader, piece.bytes, piece.length);
    }
    if (status == USP_OK) status = usp_reader_rewind(*reader);
    int result = input.has_failed   ? log_fail_to_read(path, input.error)
                 : status != USP_OK ? log_fail(path, status)
                                    : EXIT_ALL_WELL;
    log_input_close(&input);
    if (result == EXIT_ALL_WELL && usp_reader_image_count(*reader) == 0) {
        complain("%s: lists no images", log_called(path));
        result = EXIT_NO_TARGET;
    }
    return result;
}
