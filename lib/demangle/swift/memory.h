/* SPDX-License-Identifier: MIT */
/* Memory for one Swift name at a time: it only grows while a name is demangled, is taken back as a whole, and has a limit,
 * so that no name can take more than its length allows. */
#ifndef USPI_SWIFT_MEMORY_H
#define USPI_SWIFT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uspi_swift_block;

struct uspi_swift_memory {
    struct uspi_swift_block *first, *current; /* blocks stay for the next name, up to 1 MB of them */
    size_t held;                              /* in all blocks, in bytes */
    char *next;                               /* what is taken next, in the current block */
    size_t room;                              /* behind it, in bytes */
    size_t left;                              /* what may still be taken for this name, in bytes */
    bool is_exhausted;                        /* something was refused: the name must stay mangled */
};

/* What is taken is aligned for anything that nodes hold. */
union uspi_swift_unit {
    uint64_t number;
    void *pointer;
};

/* Takes everything back; up to `limit` bytes can be allocated from here on. */
void uspi_swift_memory_begin(struct uspi_swift_memory *memory, size_t limit);

/* The same as uspi_swift_take, where the current block has no room or the limit is reached. */
void *uspi_swift_take_more(struct uspi_swift_memory *memory, size_t size);

/* Memory for any type, not initialised. NULL when the limit is reached or the system has no more. */
static inline void *uspi_swift_take(struct uspi_swift_memory *memory, size_t size) {
    const size_t unit = sizeof(union uspi_swift_unit), rounded = (size + unit - 1) / unit * unit;
    if (rounded < size || rounded > memory->room || rounded > memory->left) return uspi_swift_take_more(memory, size);
    char *taken = memory->next;
    memory->next += rounded;
    memory->room -= rounded;
    memory->left -= rounded;
    return taken;
}

/* Gives the blocks back to the system. */
void uspi_swift_memory_free(struct uspi_swift_memory *memory);

/* An array of pointers that grows in such memory. */
struct uspi_swift_array {
    void **items;
    size_t count, room;
};

/* Appends an item. False: there is no memory. */
bool uspi_swift_append(struct uspi_swift_memory *memory, struct uspi_swift_array *array, void *item);

#endif
