/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a raw capture, which is read, formatted and written again. Checksums are corrected first, so
 * that the data they protect is reached. Seeds: tests/fuzz/raw_seeds.c. */
#include "lib/snapshot/raw.h"

#include <unspool/format.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void repair(uint8_t *bytes, size_t size) {
    size_t at = USPI_RAW_HEADER_SIZE;
    while (size >= at + USPI_RAW_RECORD_HEADER + USPI_RAW_CHECKSUM_SIZE) {
        size_t n = uspi_le32(bytes + at + 4), left = size - at - USPI_RAW_RECORD_HEADER - USPI_RAW_CHECKSUM_SIZE;
        if (n > left) return;
        n += USPI_RAW_RECORD_HEADER;
        uint32_t crc = ~uspi_crc32(UINT32_MAX, bytes + at, n);
        for (unsigned i = 0; i < 4; i++) bytes[at + n + i] = (uint8_t)(crc >> 8 * i);
        at += n + USPI_RAW_CHECKSUM_SIZE;
    }
}

/* The shape of usp_write_function. */
static int count(void *context, const char *bytes, size_t n) {
    uint64_t *sum = context;
    for (size_t i = 0; i < n; i++) *sum += (uint8_t)bytes[i];
    return USP_OK;
}

static void use(const struct usp_snapshot *snapshot) {
    struct usp_format_options options;
    uint64_t sum = 0;
    usp_format_options_init(&options);
    for (options.style = USP_FORMAT_CALL_STACK_SYMBOLS; options.style <= USP_FORMAT_SENTRY; options.style++) {
        if (usp_format_snapshot(snapshot, &options, count, &sum) != USP_OK) abort();
    }
    struct usp_raw_capture raw;
    usp_raw_capture_init(&raw);
    raw.snapshot = snapshot;
    usp_raw_write(-1, &raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct usp_snapshot_options options;
    struct uspi_error error;
    usp_snapshot_options_init(&options);
    uint8_t *bytes = malloc(size + 1);
    if (bytes == NULL) return 0;
    memcpy(bytes, data, size);
    for (unsigned round = 0; round < 2; round++) {
        const struct uspi_source source = {.name = "file", .base = bytes};
        struct usp_snapshot *snapshot;
        if (uspi_raw_read((struct uspi_bytes){&source, 0, size}, &options, &snapshot, &error) == USP_OK) {
            use(snapshot);
            usp_snapshot_free(snapshot);
        }
        repair(bytes, size);
    }
    free(bytes);
    return 0;
}
