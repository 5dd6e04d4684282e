/* SPDX-License-Identifier: MIT */
/* Memory that only grows, and is taken back as a whole: for one Swift name at a time, where its limit ensures that a
 * name takes no more memory than its length permits; and for the answers of a demangler, without a limit. */
#ifndef USPI_SWIFT_MEMORY_H
#define USPI_SWIFT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uspi_swift_block;

struct uspi_swift_memory {
    struct uspi_swift_block *first, *current; /* blocks are kept for the next name, up to 1 MB */
    size_t held;                              /* size of all blocks in bytes */
    char *next;                               /* the next free bytes of the current block */
    size_t room;                              /* how many bytes are free there */
    size_t left;                              /* how many bytes may still be taken */
    bool is_exhausted;                        /* memory was refused: the name must stay mangled */
};

/* The alignment of all memory that is taken. */
union uspi_swift_unit {
    uint64_t number;
    void *pointer;
};

/* Takes all memory back. Up to `limit` bytes can be taken from now on. */
void uspi_swift_memory_begin(struct uspi_swift_memory *memory, size_t limit);

/* Does what uspi_swift_take does when the current block has no room or the limit is reached. */
void *uspi_swift_take_more(struct uspi_swift_memory *memory, size_t size);

/* Returns uninitialised memory for any type. NULL when the limit is reached or memory lacks. */
static inline void *uspi_swift_take(struct uspi_swift_memory *memory, size_t size) {
    const size_t unit = sizeof(union uspi_swift_unit), rounded = (size + unit - 1) / unit * unit;
    if (rounded < size || rounded > memory->room || rounded > memory->left) return uspi_swift_take_more(memory, size);
    char *taken = memory->next;
    memory->next += rounded;
    memory->room -= rounded;
    memory->left -= rounded;
    return taken;
}

/* Frees the blocks. */
void uspi_swift_memory_free(struct uspi_swift_memory *memory);

/* A growing array of pointers in such memory. */
struct uspi_swift_array {
    void **items;
    size_t count, room;
};

/* Does what uspi_swift_append does when the array is full. */
bool uspi_swift_append_more(struct uspi_swift_memory *memory, struct uspi_swift_array *array, void *item);

/* Appends an item. False when memory lacks. */
static inline bool uspi_swift_append(struct uspi_swift_memory *memory, struct uspi_swift_array *array, void *item) {
    if (array->count == array->room) return uspi_swift_append_more(memory, array, item);
    array->items[array->count++] = item;
    return true;
}

#endif
