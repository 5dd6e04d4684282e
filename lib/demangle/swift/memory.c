/* SPDX-License-Identifier: MIT */
/* See memory.h. */
#include "lib/demangle/swift/memory.h"

#include <stdlib.h>
#include <string.h>

/* Size of a block in bytes; most names fit into one. */
#define BLOCK_SIZE 16384u

/* How many bytes are kept for the next name. Without a limit, names with large parts of different sizes would add a
 * block each. */
#define KEPT_MAX (UINT64_C(1) << 20)

struct uspi_swift_block {
    struct uspi_swift_block *next;
    size_t size;
    union uspi_swift_unit bytes[];
};

static void begin_block(struct uspi_swift_memory *memory, struct uspi_swift_block *block) {
    memory->current = block;
    memory->next = block != NULL ? (char *)block->bytes : NULL;
    memory->room = block != NULL ? block->size : 0;
}

void uspi_swift_memory_begin(struct uspi_swift_memory *memory, size_t limit) {
    if (memory->held > KEPT_MAX) uspi_swift_memory_free(memory);
    begin_block(memory, memory->first);
    memory->left = limit;
    memory->is_exhausted = false;
}

/* Makes the next block the current one, or inserts a new block with room for `size` bytes before it. */
void *uspi_swift_take_more(struct uspi_swift_memory *memory, size_t size) {
    struct uspi_swift_block **place = memory->current != NULL ? &memory->current->next : &memory->first;
    const size_t slack = sizeof(union uspi_swift_unit);
    if (memory->left < slack || size > memory->left - slack) {
        memory->is_exhausted = true;
        return NULL;
    }
    if (*place == NULL || (*place)->size < size + slack) {
        size_t room = size + slack > BLOCK_SIZE ? size + slack : BLOCK_SIZE;
        struct uspi_swift_block *block = malloc(sizeof *block + room);
        if (block == NULL) {
            memory->is_exhausted = true;
            return NULL;
        }
        *block = (struct uspi_swift_block){.next = *place, .size = room};
        *place = block;
        memory->held += room;
    }
    begin_block(memory, *place);
    return uspi_swift_take(memory, size);
}

void uspi_swift_memory_free(struct uspi_swift_memory *memory) {
    for (struct uspi_swift_block *block = memory->first; block != NULL;) {
        struct uspi_swift_block *next = block->next;
        free(block);
        block = next;
    }
    *memory = (struct uspi_swift_memory){0};
}

bool uspi_swift_append_more(struct uspi_swift_memory *memory, struct uspi_swift_array *array, void *item) {
    size_t room = array->room == 0 ? 32 : array->room * 2;
    void **items = uspi_swift_take(memory, room * sizeof *items);
    if (items == NULL) return false;
    if (array->count > 0) memcpy(items, array->items, array->count * sizeof *items);
    array->items = items;
    array->room = room;
    array->items[array->count++] = item;
    return true;
}
