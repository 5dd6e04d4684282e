/* SPDX-License-Identifier: MIT */
/* See code_map.h. */
#include "lib/symbolize/jit/code_map.h"
#include "lib/base/bisect.h"

#include "lib/base/array.h"

#define NO_CODE UINT32_MAX

int uspi_jit_map_add(struct uspi_jit_map *map, const struct uspi_jit_code *code, const char *name, size_t length) {
    if (code->size == 0 || code->start > UINT64_MAX - code->size || map->count >= USPI_JIT_CODES_MAX) return USP_OK;
    length = length > 0 ? strnlen(name, length < USPI_JIT_NAME_MAX ? length : USPI_JIT_NAME_MAX) : 0;
    if (length > USPI_JIT_TEXT_MAX - map->text_used) return USP_OK;
    if (!uspi_room_for(&map->codes, &map->capacity, map->count, 1, sizeof *map->codes) ||
        !uspi_room_for(&map->text, &map->text_capacity, map->text_used, length, 1)) {
        return USP_ERROR_NO_MEMORY;
    }
    struct uspi_jit_code *added = &map->codes[map->count++];
    *added = *code;
    added->name = map->text_used;
    added->name_length = (uint32_t)length;
    if (length > 0) memcpy(map->text + map->text_used, name, length);
    map->text_used += length;
    map->is_sorted = false;
    return USP_OK;
}

/* ---- rows ---- */

int uspi_jit_map_add_row(struct uspi_jit_map *map, struct uspi_jit_row row, const char *path, size_t length) {
    if (map->row_count >= USPI_JIT_ROWS_MAX) return USP_OK;
    if (map->files == NULL) map->files = uspi_names_create();
    if (map->files == NULL || !uspi_room_for(&map->rows, &map->row_capacity, map->row_count, 1, sizeof *map->rows)) {
        return USP_ERROR_NO_MEMORY;
    }
    if (path != NULL) {
        row.file = uspi_names_keep(map->files, path, length);
        if (row.file == NULL) return USP_ERROR_NO_MEMORY;
    }
    map->rows[map->row_count++] = row;
    return USP_OK;
}

const struct uspi_jit_row *uspi_jit_map_row(const struct uspi_jit_map *map, const struct uspi_jit_code *code,
                                            usp_addr address) {
    const struct uspi_jit_row *rows = code->row_count > 0 ? map->rows + code->first_row : NULL;
    const uint64_t offset = address - code->start + map->row_base;
    size_t i;
    USPI_FIRST(i, 0, code->row_count, rows[i].offset > offset);
    return i > 0 && rows[i - 1].line != 0 && rows[i - 1].file != NULL ? &rows[i - 1] : NULL;
}

/* ---- the parts ---- */

static int by_start(const void *a, const void *b) {
    const struct uspi_jit_part *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* A piece that has begun in a sweep over the addresses. */
struct begun {
    uint64_t order;
    usp_addr end;
    uint32_t code;
};

/* Such pieces: a binary heap with the newest on top. It has what is compared, because the pieces themselves are far
 * apart in memory. */
struct heap {
    struct begun *all;
    size_t count;
};

static bool is_newer(const struct begun *x, const struct begun *y) {
    return x->order != y->order ? x->order > y->order : x->code > y->code;
}

static void push(struct heap *heap, struct begun begun) {
    size_t at = heap->count++;
    for (; at > 0 && is_newer(&begun, &heap->all[(at - 1) / 2]); at = (at - 1) / 2) {
        heap->all[at] = heap->all[(at - 1) / 2];
    }
    heap->all[at] = begun;
}

static void pop(struct heap *heap) {
    const struct begun last = heap->all[--heap->count];
    size_t at = 0;
    for (size_t child = 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count && is_newer(&heap->all[child + 1], &heap->all[child])) child++;
        if (is_newer(&last, &heap->all[child])) break;
        heap->all[at] = heap->all[child];
        at = child;
    }
    heap->all[at] = last;
}

/* Begins a piece, unless a newer one holds all of it. */
static void begin(const struct uspi_jit_map *map, struct heap *heap, uint32_t number) {
    const struct uspi_jit_code *code = &map->codes[number];
    const struct begun begun = {code->order, code->start + code->size, number};
    const bool is_hidden = heap->count > 0 && heap->all[0].end >= begun.end && is_newer(&heap->all[0], &begun);
    if (!is_hidden) push(heap, begun);
}

/* Sweeps once over all addresses. Each piece makes at most two parts: one from its start, one from its end. */
static void sweep(struct uspi_jit_map *map, const struct uspi_jit_part *starts, struct heap *heap) {
    size_t next = 0;
    map->part_count = 0;
    while (heap->count > 0 || next < map->count) {
        usp_addr now = heap->count > 0 ? heap->all[0].end : starts[next].start;
        if (next < map->count && starts[next].start < now) now = starts[next].start;
        while (heap->count > 0 && heap->all[0].end <= now) pop(heap);
        while (next < map->count && starts[next].start == now) begin(map, heap, starts[next++].code);
        const uint32_t code = heap->count > 0 ? heap->all[0].code : NO_CODE;
        if (map->part_count > 0 && map->parts[map->part_count - 1].code == code) continue;
        map->parts[map->part_count++] = (struct uspi_jit_part){now, code};
    }
}

static int sort(struct uspi_jit_map *map) {
    struct uspi_jit_part *starts = malloc((map->count + 1) * sizeof *starts);
    struct heap heap = {malloc((map->count + 1) * sizeof *heap.all), 0};
    const bool has_room = starts != NULL && heap.all != NULL &&
                          uspi_room_for(&map->parts, &map->part_capacity, 0, 2 * map->count + 1, sizeof *map->parts);
    for (size_t i = 0; has_room && i < map->count; i++) {
        starts[i] = (struct uspi_jit_part){map->codes[i].start, (uint32_t)i};
    }
    if (has_room) {
        qsort(starts, map->count, sizeof *starts, by_start);
        sweep(map, starts, &heap);
        map->is_sorted = true;
    }
    free(starts);
    free(heap.all);
    return has_room ? USP_OK : USP_ERROR_NO_MEMORY;
}

bool uspi_jit_map_is_full(const struct uspi_jit_map *map) {
    return map->count >= USPI_JIT_CODES_MAX || map->text_used >= USPI_JIT_TEXT_MAX;
}

int uspi_jit_map_find(struct uspi_jit_map *map, usp_addr address, const struct uspi_jit_code **code) {
    if (map->count == 0) return USP_ERROR_NOT_FOUND;
    if (!map->is_sorted) {
        int status = sort(map);
        if (status != USP_OK) return status;
    }
    size_t i;
    USPI_FIRST(i, 0, map->part_count, map->parts[i].start > address);
    if (i == 0 || map->parts[i - 1].code == NO_CODE) return USP_ERROR_NOT_FOUND;
    *code = &map->codes[map->parts[i - 1].code];
    return (*code)->name_length > 0 ? USP_OK : USP_ERROR_NOT_FOUND;
}

void uspi_jit_map_clear(struct uspi_jit_map *map) {
    free(map->codes);
    free(map->text);
    free(map->parts);
    free(map->rows);
    uspi_names_free(map->files);
    memset(map, 0, sizeof *map);
}
