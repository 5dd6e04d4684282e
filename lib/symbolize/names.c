/* SPDX-License-Identifier: MIT */
/* See names.h: a hash set with open addressing over strings that are allocated one by one. */
#include "lib/symbolize/names.h"

#include "lib/os.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INITIAL_SLOTS 64

struct uspi_names {
    struct uspi_lock *lock;
    char **slots;
    size_t slot_count; /* a power of two, larger than `used` */
    size_t used;
};

struct uspi_names *uspi_names_create(void) {
    struct uspi_names *names = calloc(1, sizeof *names);
    if (names == NULL) return NULL;
    names->lock = uspi_lock_create();
    names->slots = calloc(INITIAL_SLOTS, sizeof *names->slots);
    names->slot_count = names->slots != NULL ? INITIAL_SLOTS : 0;
    if (names->lock != NULL && names->slots != NULL) return names;
    uspi_names_free(names);
    return NULL;
}

void uspi_names_free(struct uspi_names *names) {
    if (names == NULL) return;
    for (size_t i = 0; i < names->slot_count; i++) free(names->slots[i]);
    free(names->slots);
    uspi_lock_free(names->lock);
    free(names);
}

/* FNV-1a, 64 bits (RFC 9923). */
static uint64_t hash_of(const char *bytes, size_t length) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++) hash = (hash ^ (uint8_t)bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* The slot that holds the string, or the empty one where it belongs. */
static char **find_slot(char **slots, size_t slot_count, const char *bytes, size_t length) {
    size_t i = (size_t)hash_of(bytes, length) & (slot_count - 1);
    while (slots[i] != NULL && (strncmp(slots[i], bytes, length) != 0 || slots[i][length] != '\0')) {
        i = (i + 1) & (slot_count - 1);
    }
    return &slots[i];
}

static int grow(struct uspi_names *names) {
    size_t slot_count = names->slot_count * 2;
    char **slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL) return -1;
    for (size_t i = 0; i < names->slot_count; i++) {
        char *kept = names->slots[i];
        if (kept != NULL) *find_slot(slots, slot_count, kept, strlen(kept)) = kept;
    }
    free(names->slots);
    names->slots = slots;
    names->slot_count = slot_count;
    return 0;
}

static const char *keep(struct uspi_names *names, const char *bytes, size_t length) {
    char **slot = find_slot(names->slots, names->slot_count, bytes, length);
    if (*slot != NULL) return *slot;
    if (names->used >= names->slot_count / 2) {
        if (grow(names) != 0) return NULL;
        slot = find_slot(names->slots, names->slot_count, bytes, length);
    }
    char *copy = malloc(length + 1);
    if (copy == NULL) return NULL;
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    *slot = copy;
    names->used++;
    return copy;
}

const char *uspi_names_keep(struct uspi_names *names, const char *bytes, size_t length) {
    uspi_lock_take(names->lock);
    const char *kept = keep(names, bytes, length);
    uspi_lock_give(names->lock);
    return kept;
}
