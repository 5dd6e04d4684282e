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
    if (!uspi_room_for(&map->codes, &map->room, map->count, 1, sizeof *map->codes) ||
        !uspi_room_for(&map->text, &map->text_room, map->text_used, length, 1)) {
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
    if (map->files == NULL || !uspi_room_for(&map->rows, &map->row_room, map->row_count, 1, sizeof *map->rows)) {
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

/* The pieces that have begun in a sweep over the addresses: a binary heap with the newest on top. */
struct heap {
    const struct uspi_jit_code *codes;
    uint32_t *numbers;
    size_t count;
};

static bool is_newer(const struct heap *heap, uint32_t a, uint32_t b) {
    const struct uspi_jit_code *x = &heap->codes[a], *y = &heap->codes[b];
    if (x->order != y->order) return x->order > y->order;
    return a > b;
}

static void push(struct heap *heap, uint32_t number) {
    size_t at = heap->count++;
    for (; at > 0 && is_newer(heap, number, heap->numbers[(at - 1) / 2]); at = (at - 1) / 2) {
        heap->numbers[at] = heap->numbers[(at - 1) / 2];
    }
    heap->numbers[at] = number;
}

static void pop(struct heap *heap) {
    const uint32_t last = heap->numbers[--heap->count];
    size_t at = 0;
    for (size_t child = 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count && is_newer(heap, heap->numbers[child + 1], heap->numbers[child])) child++;
        if (is_newer(heap, last, heap->numbers[child])) break;
        heap->numbers[at] = heap->numbers[child];
        at = child;
    }
    heap->numbers[at] = last;
}

static usp_addr end_of(const struct heap *heap, uint32_t number) {
    return heap->codes[number].start + heap->codes[number].size;
}

/* Sweeps once over all addresses. Each piece makes at most two parts: one from its start, one from its end. */
static void sweep(struct uspi_jit_map *map, const struct uspi_jit_part *begun, struct heap *heap) {
    size_t next = 0;
    map->part_count = 0;
    while (heap->count > 0 || next < map->count) {
        usp_addr now = heap->count > 0 ? end_of(heap, heap->numbers[0]) : begun[next].start;
        if (next < map->count && begun[next].start < now) now = begun[next].start;
        while (next < map->count && begun[next].start == now) push(heap, begun[next++].code);
        while (heap->count > 0 && end_of(heap, heap->numbers[0]) <= now) pop(heap);
        const uint32_t code = heap->count > 0 ? heap->numbers[0] : NO_CODE;
        if (map->part_count > 0 && map->parts[map->part_count - 1].code == code) continue;
        map->parts[map->part_count++] = (struct uspi_jit_part){now, code};
    }
}

static int sort(struct uspi_jit_map *map) {
    struct uspi_jit_part *begun = malloc((map->count + 1) * sizeof *begun);
    struct heap heap = {map->codes, malloc((map->count + 1) * sizeof *heap.numbers), 0};
    const bool has_room = begun != NULL && heap.numbers != NULL &&
                          uspi_room_for(&map->parts, &map->part_room, 0, 2 * map->count + 1, sizeof *map->parts);
    for (size_t i = 0; has_room && i < map->count; i++) {
        begun[i] = (struct uspi_jit_part){map->codes[i].start, (uint32_t)i};
    }
    if (has_room) {
        qsort(begun, map->count, sizeof *begun, by_start);
        sweep(map, begun, &heap);
        map->is_sorted = true;
    }
    free(begun);
    free(heap.numbers);
    return has_room ? USP_OK : USP_ERROR_NO_MEMORY;
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
