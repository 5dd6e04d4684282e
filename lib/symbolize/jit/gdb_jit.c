/* SPDX-License-Identifier: MIT */
/* See gdb_jit.h: finds the variables and reads the lists. gdb_jit_object.c reads the objects. */
#include "lib/symbolize/jit/gdb_jit.h"

#include "arch/backend.h"
#include "lib/base/page_cache.h"
#include "lib/images/variables.h"
#include "lib/object/bytes.h"

#include <stdlib.h>
#include <string.h>

static const char variable[] = "__jit_debug_descriptor";

/* Limits for damaged lists: the number of entries, the bytes of one object, and the bytes of all objects. */
#define ENTRIES_MAX 65536u
#define OBJECT_MAX  (UINT64_C(64) << 20)
#define OBJECTS_MAX (UINT64_C(512) << 20)

/* Returns the size of struct jit_descriptor, whose pointers have `word` bytes: two numbers of 32 bits, two pointers. */
static size_t descriptor_size(unsigned word) { return 8 + 2u * word; }

/* ---- the variables ---- */

static void keep(struct uspi_gdb_jit *jit, usp_addr address, uint32_t arch) {
    for (uint32_t i = 0; i < jit->count; i++) {
        if (jit->descriptors[i].address == address) return;
    }
    if (jit->count == USPI_JIT_DESCRIPTORS) return;
    jit->descriptors[jit->count++] = (struct uspi_jit_descriptor){.address = address, .arch = arch};
}

static void look_in_image(struct uspi_gdb_jit *jit, const struct usp_image *image,
                          const struct uspi_image_sources *places, const struct usp_memory *memory) {
    const struct uspi_backend *backend = uspi_backend_find(image->arch);
    if (backend == NULL) return;
    struct uspi_variable wanted = {.name = variable, .size = descriptor_size(backend->word)};
    if (uspi_variables_find(image, places, memory, &wanted, 1) == 1) keep(jit, wanted.address, image->arch);
}

void uspi_gdb_jit_look(struct uspi_gdb_jit *jit, const struct usp_images *images,
                       const struct uspi_image_sources *places, const struct usp_memory *memory) {
    struct usp_memory pages = *memory;
    struct uspi_page_cache *cache = uspi_page_cache_before(&pages);
    *jit = (struct uspi_gdb_jit){.objects = jit->objects};
    for (size_t i = 0; i < usp_images_count(images); i++) {
        const struct usp_image *image = usp_images_get(images, i);
        if ((image->flags & (USP_IMAGE_MACHO | USP_IMAGE_KERNEL)) == 0) look_in_image(jit, image, places, &pages);
    }
    free(cache);
}

/* ---- the lists ---- */

/* struct jit_code_entry. */
struct entry {
    usp_addr next, object;
    uint64_t size;
};

/* Reads a list's entry. i386 aligns a number of 64 bits in a struct to 4 bytes, ARM to 8 (their psABIs). */
static bool read_entry(const struct usp_memory *memory, uint32_t arch, usp_addr at, uint8_t raw[32],
                       struct entry *entry) {
    const struct uspi_backend *b = uspi_backend_find(arch);
    const unsigned word = b->word;
    const size_t size_at = (3 * (size_t)word + b->wide_align - 1) / b->wide_align * b->wide_align;
    memset(raw, 0, 32);
    if (memory->read(memory->context, at, raw, size_at + 8) != USP_OK) return false;
    *entry = (struct entry){uspi_le(raw, word), uspi_le(raw + 2 * (size_t)word, word), uspi_le(raw + size_at, 8)};
    return true;
}

static usp_addr first_entry(const struct uspi_jit_descriptor *d) {
    const unsigned word = uspi_backend_find(d->arch)->word;
    return uspi_le(d->seen.descriptor + 8 + word, word);
}

/* Reads a descriptor and its first entry. Returns whether they have changed. */
static bool read_head(struct uspi_jit_descriptor *d, const struct usp_memory *memory) {
    struct uspi_jit_head before = d->seen;
    struct entry entry;
    const size_t size = descriptor_size(uspi_backend_find(d->arch)->word);
    memset(&d->seen, 0, sizeof d->seen);
    if (memory->read(memory->context, d->address, d->seen.descriptor, size) != USP_OK) {
        memset(&d->seen, 0, sizeof d->seen);
    } else if (first_entry(d) != 0 && !read_entry(memory, d->arch, first_entry(d), d->seen.first, &entry)) {
        memset(d->seen.first, 0, sizeof d->seen.first);
    }
    return memcmp(&before, &d->seen, sizeof before) != 0;
}

/* Reads a copy of the object's bytes, because a live process may change them at any time. */
static int read_entry_object(const struct usp_memory *memory, const struct entry *entry, uint64_t order,
                             uint32_t number, struct uspi_jit_map *map) {
    uint8_t *copy = malloc((size_t)entry->size);
    if (copy == NULL) return USP_ERROR_NO_MEMORY;
    int status = memory->read(memory->context, entry->object, copy, (size_t)entry->size);
    if (status == USP_OK) {
        const struct uspi_source source = {.name = "JIT object", .base = copy};
        status = uspi_gdb_jit_read_object((struct uspi_bytes){&source, 0, entry->size}, order, number, map);
    }
    free(copy);
    return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
}

/* Reads a list. Runtimes insert new entries at its start, so entries nearer to the start are newer. */
static int read_list(const struct uspi_jit_descriptor *d, const struct usp_memory *memory,
                     struct uspi_jit_objects *objects, struct uspi_jit_map *map) {
    uint64_t left = OBJECTS_MAX;
    usp_addr at = first_entry(d);
    int status = USP_OK;
    for (uint32_t i = 0; status == USP_OK && at != 0 && i < ENTRIES_MAX; i++) {
        struct entry entry;
        uint8_t raw[32];
        if (!read_entry(memory, d->arch, at, raw, &entry)) break;
        if (entry.size > 0 && entry.size <= OBJECT_MAX) {
            if (entry.size > left) break;
            left -= entry.size;
            uint32_t number = 0;
            if (objects != NULL) status = uspi_jit_objects_add(objects, d->arch, entry.object, entry.size, &number);
            if (status == USP_OK) status = read_entry_object(memory, &entry, UINT64_MAX - i, number, map);
        }
        at = entry.next;
    }
    return status;
}

int uspi_gdb_jit_read(struct uspi_gdb_jit *jit, const struct usp_memory *memory, struct uspi_jit_map *map) {
    bool has_changed = !jit->was_read;
    int status = USP_OK;
    for (uint32_t i = 0; i < jit->count; i++) {
        if (read_head(&jit->descriptors[i], memory)) has_changed = true;
    }
    if (!has_changed) return USP_OK;
    uspi_jit_map_clear(map);
    if (jit->objects != NULL) uspi_jit_objects_forget(jit->objects);
    for (uint32_t i = 0; status == USP_OK && i < jit->count; i++) {
        status = read_list(&jit->descriptors[i], memory, jit->objects, map);
    }
    jit->was_read = status == USP_OK;
    return status;
}
