/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as an archive. Seeds: tests/fuzz/macho_symbols_seeds.c. */
#include "lib/object/archive.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct uspi_source source = {.name = "archive", .mapped = data};
    struct uspi_archive archive;
    struct uspi_member member;
    struct uspi_error error;
    size_t members = 0;
    if (uspi_archive_open(&archive, (struct uspi_bytes){&source, 0, size}, &error) != USP_OK) return 0;
    while (uspi_archive_next(&archive, &member, &error) > 0) {
        /* A header has 60 bytes. */
        if (++members > size / 60 || member.bytes.from + member.bytes.size > size) abort();
        if (strlen(member.name) > USPI_MEMBER_NAME_MAX) abort();
    }
    return 0;
}
