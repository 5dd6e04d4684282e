/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a perf map, as a jitdump or as an ELF object of the GDB JIT interface, selected by the first
 * byte. A growing file is read in two parts. A piece found at an address must contain that address. Seeds:
 * tests/fuzz/jit_seeds.c. */
#include "lib/symbolize/jit/gdb_jit.h"
#include "lib/symbolize/jit/jitdump.h"
#include "lib/symbolize/jit/perf_map.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Number of pieces at whose addresses, and next to them, lookups are made. */
#define PIECES 64

static void look_at(struct uspi_jit_map *map, usp_addr address) {
    const struct uspi_jit_code *code;
    int status = uspi_jit_map_find(map, address, &code);
    if (status == USP_ERROR_NOT_FOUND) return;
    if (status != USP_OK || code->start > address || address - code->start >= code->size) abort();
    if (code->name_length == 0 || code->name_length > USPI_JIT_NAME_MAX) abort();
    if (code->name + code->name_length > map->text_used) abort();
    const struct uspi_jit_row *row = uspi_jit_map_row(map, code, address);
    if (row != NULL && (row->line == 0 || row->file == NULL || strlen(row->file) > USPI_JIT_NAME_MAX + 16)) abort();
    if (memchr(map->text + code->name, '\0', code->name_length) != NULL) abort();
}

static void look_around(struct uspi_jit_map *map) {
    look_at(map, 0);
    look_at(map, UINT64_MAX);
    for (size_t i = 0; i < map->count && i < PIECES; i++) {
        look_at(map, map->codes[i].start - 1);
        look_at(map, map->codes[i].start);
        look_at(map, map->codes[i].start + map->codes[i].size - 1);
        look_at(map, map->codes[i].start + map->codes[i].size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct uspi_jit_map map = {0};
    struct uspi_perf_map perf_map = {0};
    struct uspi_jitdump jitdump = {0};
    if (size == 0) return 0;
    const struct uspi_source source = {.name = "file", .base = data + 1};
    const struct uspi_bytes whole = {&source, 0, size - 1}, half = {&source, 0, (size - 1) / 2};
    switch (data[0] % 3) {
    case 0:
        if (uspi_perf_map_read(&perf_map, half, &map) != USP_OK) abort();
        look_around(&map);
        if (uspi_perf_map_read(&perf_map, whole, &map) != USP_OK || perf_map.offset > whole.size) abort();
        break;
    case 1:
        uspi_jitdump_read(&jitdump, half, 0, &map);
        look_around(&map);
        uspi_jitdump_read(&jitdump, whole, 0, &map);
        break;
    default: uspi_gdb_jit_read_object(whole, 1, 0, &map); break;
    }
    look_around(&map);
    uspi_jitdump_clear(&jitdump);
    uspi_jit_map_clear(&map);
    return 0;
}
