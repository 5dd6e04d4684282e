/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as the exports of a Mach-O file. Seeds: tests/fuzz/macho_symbols_seeds.c. */
#include "lib/object/macho_exports.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct uspi_source source = {.name = "trie", .base = data};
    struct uspi_macho_exports exports;
    struct uspi_error error;
    if (uspi_macho_exports_read(&exports, (struct uspi_bytes){&source, 0, size}, &error) != USP_OK) return 0;
    /* The input's size bounds the memory. */
    if (exports.count > size) abort();
    for (uint32_t i = 0; i < exports.count; i++) {
        struct uspi_export found;
        size_t length, again;
        uspi_macho_export(&exports, i, &found, &error);
        if (uspi_macho_export_name(&exports, i, NULL, &length, &error) != USP_OK) continue;
        if (length > size) abort();
        char *name = malloc(length + 1);
        if (name == NULL) abort();
        if (uspi_macho_export_name(&exports, i, name, &again, &error) != USP_OK || again != length) abort();
        free(name);
    }
    uspi_macho_exports_close(&exports);
    return 0;
}
