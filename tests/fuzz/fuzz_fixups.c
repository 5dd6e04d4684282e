/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a Mach-O file. Each word in its segments is resolved as a pointer: chained fixups of every
 * format, and bind opcodes. Seeds: tests/fuzz/objc_seeds.c. */
#include <stdlib.h>
#include <string.h>

#include "lib/object/bind_opcodes.h"
#include "lib/object/fixups.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Maximum number of words: more than a seed has, and few enough for many inputs a second. */
#define WORDS_MAX 4096

static int check_bind(void *context, usp_addr location, uint64_t name, struct uspi_error *error) {
    const struct uspi_macho_space *space = context;
    (void)error;
    if (uspi_macho_space_find(space, location) == NULL && space->sorted_count < 2) abort();
    if (name >= space->macho.bytes.size) abort();
    return USP_OK;
}

static void resolve_all(const struct uspi_fixups *fixups) {
    const struct uspi_macho_space *space = fixups->space;
    unsigned words = 0;
    for (uint32_t i = 0; i < space->sorted_count; i++) {
        const struct uspi_macho_range *range = &space->sorted[i];
        for (usp_addr at = range->low; at < range->high && range->high - at >= 4 && words < WORDS_MAX;
             at += 4, words++) {
            struct uspi_pointer pointer;
            char name[64];
            if (uspi_fixups_pointer(fixups, at, &pointer, NULL) != USP_OK || !pointer.is_import) continue;
            if (pointer.target != 0) abort();
            uspi_bytes_string(space->macho.bytes, pointer.name, name, sizeof name, "name", NULL);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct uspi_source file = {.name = "file", .base = data};
    struct uspi_macho_space space;
    struct uspi_fixups fixups;
    struct uspi_macho macho;
    if (uspi_macho_open(&macho, (struct uspi_bytes){&file, 0, size}, NULL) != USP_OK) return 0;
    if (uspi_macho_space_open(&space, &macho, NULL) != USP_OK) return 0;
    uspi_bind_opcodes_walk(&space, check_bind, &space, NULL);
    if (uspi_fixups_open(&fixups, &space, "", NULL) == USP_OK) {
        resolve_all(&fixups);
        uspi_fixups_close(&fixups);
    }
    uspi_macho_space_close(&space);
    return 0;
}
