/* SPDX-License-Identifier: MIT */
/* See names.h: a hash set with open addressing over strings in chunks of memory. A known string is found without the
 * lock. A table that was replaced by a larger one is kept for threads that still search it. */
#include "lib/demangle/names.h"

#include "lib/base/hash.h"
#include "lib/os/os.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INITIAL_SLOTS 64

/* The bytes of a chunk. A string that takes more than a quarter of that has a chunk of its own. */
#define CHUNK_BYTES 16384u

struct chunk {
    struct chunk *older;
    char bytes[];
};

struct table {
    struct table *older;
    size_t slot_count; /* a power of two, larger than the number of strings */
    _Atomic(char *) slots[];
};

struct uspi_names {
    struct uspi_lock *lock; /* held while adding a string */
    _Atomic(struct table *) table;
    size_t used; /* number of strings in the table */
    struct chunk *chunks;
    char *room;  /* in a chunk: where the next string goes */
    size_t left; /* bytes there */
};

static struct table *create_table(size_t slot_count, struct table *older) {
    struct table *table = malloc(sizeof *table + slot_count * sizeof table->slots[0]);
    if (table == NULL) return NULL;
    table->older = older;
    table->slot_count = slot_count;
    for (size_t i = 0; i < slot_count; i++) atomic_init(&table->slots[i], NULL);
    return table;
}

struct uspi_names *uspi_names_create(void) {
    struct uspi_names *names = calloc(1, sizeof *names);
    if (names == NULL) return NULL;
    names->lock = uspi_lock_create();
    atomic_init(&names->table, create_table(INITIAL_SLOTS, NULL));
    if (names->lock != NULL && atomic_load_explicit(&names->table, memory_order_relaxed) != NULL) return names;
    uspi_names_free(names);
    return NULL;
}

/* Frees all tables but the newest one. */
static void free_older(struct table *table) {
    for (struct table *older = table->older; older != NULL;) {
        struct table *next = older->older;
        free(older);
        older = next;
    }
    table->older = NULL;
}

static void free_strings(struct uspi_names *names) {
    while (names->chunks != NULL) {
        struct chunk *chunk = names->chunks;
        names->chunks = chunk->older;
        free(chunk);
    }
    names->left = 0;
}

void uspi_names_clear(struct uspi_names *names) {
    struct table *table = atomic_load_explicit(&names->table, memory_order_relaxed);
    free_older(table);
    for (size_t i = 0; i < table->slot_count; i++) {
        atomic_store_explicit(&table->slots[i], NULL, memory_order_relaxed);
    }
    free_strings(names);
    names->used = 0;
}

void uspi_names_free(struct uspi_names *names) {
    if (names == NULL) return;
    struct table *table = atomic_load_explicit(&names->table, memory_order_relaxed);
    if (table != NULL) free_older(table);
    free(table);
    free_strings(names);
    uspi_lock_free(names->lock);
    free(names);
}

/* Returns the slot that has the string, or the empty one where it belongs; *kept becomes the string or NULL. */
static _Atomic(char *) *find_slot(struct table *table, const char *bytes, size_t length, char **kept) {
    size_t i = (size_t)uspi_hash_bytes(bytes, length) & (table->slot_count - 1);
    while ((*kept = atomic_load_explicit(&table->slots[i], memory_order_acquire)) != NULL) {
        if (strncmp(*kept, bytes, length) == 0 && (*kept)[length] == '\0') break;
        i = (i + 1) & (table->slot_count - 1);
    }
    return &table->slots[i];
}

static struct table *grow(struct uspi_names *names, struct table *old) {
    struct table *table = create_table(old->slot_count * 2, old);
    if (table == NULL) return NULL;
    for (size_t i = 0; i < old->slot_count; i++) {
        char *kept = atomic_load_explicit(&old->slots[i], memory_order_relaxed), *none;
        if (kept == NULL) continue;
        atomic_store_explicit(find_slot(table, kept, strlen(kept), &none), kept, memory_order_relaxed);
    }
    atomic_store_explicit(&names->table, table, memory_order_release);
    return table;
}

/* Copies a string into a chunk. The caller holds the lock. */
static char *copy_string(struct uspi_names *names, const char *bytes, size_t length) {
    const bool is_alone = length >= CHUNK_BYTES / 4;
    char *copy = names->room;
    if (is_alone || length >= names->left) {
        if (length > SIZE_MAX - sizeof(struct chunk) - 1) return NULL;
        const size_t size = is_alone ? length + 1 : CHUNK_BYTES;
        struct chunk *chunk = malloc(sizeof *chunk + size);
        if (chunk == NULL) return NULL;
        chunk->older = names->chunks;
        names->chunks = chunk;
        copy = chunk->bytes;
        if (!is_alone) names->left = size;
    }
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    if (is_alone) return copy;
    names->room = copy + length + 1;
    names->left -= length + 1;
    return copy;
}

static const char *add(struct uspi_names *names, const char *bytes, size_t length) {
    struct table *table = atomic_load_explicit(&names->table, memory_order_relaxed);
    char *kept;
    _Atomic(char *) *slot = find_slot(table, bytes, length, &kept);
    if (kept != NULL) return kept;
    if (names->used >= table->slot_count / 2) {
        table = grow(names, table);
        if (table == NULL) return NULL;
        slot = find_slot(table, bytes, length, &kept);
    }
    char *copy = copy_string(names, bytes, length);
    if (copy == NULL) return NULL;
    atomic_store_explicit(slot, copy, memory_order_release);
    names->used++;
    return copy;
}

const char *uspi_names_keep(struct uspi_names *names, const char *bytes, size_t length) {
    char *kept;
    find_slot(atomic_load_explicit(&names->table, memory_order_acquire), bytes, length, &kept);
    if (kept != NULL) return kept;
    uspi_lock_take(names->lock);
    const char *added = add(names, bytes, length);
    uspi_lock_give(names->lock);
    return added;
}

const char *uspi_names_append(struct uspi_names *names, const char *bytes, size_t length) {
    uspi_lock_take(names->lock);
    const char *copy = copy_string(names, bytes, length);
    uspi_lock_give(names->lock);
    return copy;
}
