/* SPDX-License-Identifier: MIT */
/* See image_tables.h. */
#include "lib/unwind/tables/image_tables.h"

#include "lib/base/page_cache.h"
#include "lib/images/image_list.h"
#include "lib/os/os.h"
#include "lib/unwind/tables/copied_tables.h"
#include "lib/unwind/tables/formats.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct uspi_image_tables {
    _Atomic(uint32_t) holders;
    struct usp_images *images;
    struct usp_unwind_tables *tables; /* of each image; NULL: none */
    struct uspi_still *still;         /* of each image */
    /* Another process: what is needed to locate tables later. */
    struct uspi_lock *lock;     /* held while tables are located; NULL: all were located at first */
    _Atomic(bool) *are_located; /* of each image */
    struct usp_memory memory;
    struct uspi_image_sources places;
    struct uspi_process_root root; /* of `places` */
    /* What uspi_image_tables_beside has found, of each image; NULL: it is not searched for. */
    struct usp_unwind_tables *beside;
    _Atomic(bool) *are_beside; /* of each image: it was searched for */
    struct uspi_lock *beside_lock;
    atomic_bool ran_out; /* there was no memory for one of them */
};

/* ---- memory that stays ---- */

struct usp_memory_range uspi_image_tables_still(const struct uspi_image_tables *tables, usp_addr address) {
    const struct usp_image *image = tables != NULL ? usp_images_find(tables->images, address) : NULL;
    if (image == NULL) return (struct usp_memory_range){0, 0};
    return uspi_still_at(&tables->still[image - usp_images_get(tables->images, 0)], address);
}

/* ---- tables ---- */

static const struct uspi_table_formats of_system = {
    .elf = USPI_OS_LOADS_ELF ? uspi_locate_elf_tables : NULL,
    .macho = USPI_OS_LOADS_MACHO ? uspi_locate_macho_tables : NULL,
};

__attribute__((weak)) const struct uspi_table_formats *uspi_table_formats(void) { return &of_system; }

/* Returns the address of an image's first table. */
static usp_addr place_of(const struct usp_unwind_tables *tables) {
    const struct usp_memory_range *each[] = {&tables->eh_frame_hdr, &tables->exidx, &tables->unwind_info,
                                             &tables->eh_frame, &tables->go_functions};
    unsigned i = 0;
    while (i + 1 < sizeof each / sizeof *each && each[i]->size == 0) i++;
    return each[i]->address;
}

/* Finds the tables of one image, and its memory that stays. `tables` NULL: only the memory that stays. Returns false
 * when memory is exhausted. */
static bool learn(const struct usp_image *image, const struct usp_memory *memory,
                  const struct uspi_image_sources *places, struct usp_unwind_tables *tables, struct uspi_still *still) {
    struct uspi_source source = uspi_source_of_memory(memory, "image");
    struct uspi_bytes bytes = uspi_bytes_at(&source, image->load_address);
    const bool stays = places != NULL && places->in_process && (image->flags & USP_IMAGE_PERMANENT) != 0;
    const struct uspi_table_formats *formats = uspi_table_formats();
    const uspi_locate_tables locate = (image->flags & USP_IMAGE_MACHO) != 0 ? formats->macho : formats->elf;
    const struct uspi_locating locating = {image, bytes, places, tables, stays ? still : NULL};
    const bool has_memory = locate == NULL || locate(&locating);
    if (tables != NULL && tables->memory.read == NULL) tables->direct = uspi_still_at(still, place_of(tables));
    return has_memory;
}

void uspi_image_tables_locate(const struct usp_image *image, const struct usp_memory *memory,
                              struct usp_unwind_tables *found) {
    struct uspi_still still = {0};
    memset(found, 0, sizeof *found);
    (void)learn(image, memory, NULL, found, &still);
}

static int learn_all(struct uspi_image_tables *made, const struct usp_memory *memory,
                     const struct uspi_image_sources *places, uint64_t limit) {
    size_t count = usp_images_count(made->images);
    uint64_t left = limit - count * sizeof *made->tables;
    for (size_t i = 0; i < count; i++) {
        struct usp_unwind_tables *tables = made->tables != NULL ? &made->tables[i] : NULL;
        if (!learn(usp_images_get(made->images, i), memory, places, tables, &made->still[i]))
            return USP_ERROR_NO_MEMORY;
        if (tables == NULL) continue;
        uint64_t copies = uspi_copied_tables_size(tables);
        if (copies <= left) {
            left -= copies;
        } else {
            uspi_copied_tables_free(tables);
            memset(tables, 0, sizeof *tables);
        }
    }
    return USP_OK;
}

/* Allocates the tables, still empty. NULL when memory is exhausted. */
static struct uspi_image_tables *allocate(const struct usp_images *images, uint64_t limit) {
    size_t count = usp_images_count(images);
    struct uspi_image_tables *made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    atomic_init(&made->holders, 1);
    made->images = uspi_images_keep(images);
    made->still = calloc(count + 1, sizeof *made->still);
    bool has_room = limit / sizeof *made->tables >= count;
    if (has_room) made->tables = calloc(count + 1, sizeof *made->tables);
    if (made->still != NULL && (made->tables != NULL || !has_room)) return made;
    uspi_image_tables_free(made);
    return NULL;
}

/* Prepares the search of uspi_image_tables_beside. */
static bool allocate_beside(struct uspi_image_tables *made, const struct uspi_image_sources *places) {
    const size_t count = usp_images_count(made->images) + 1;
    made->places = *places;
    made->beside_lock = uspi_lock_create();
    made->beside = calloc(count, sizeof *made->beside);
    made->are_beside = calloc(count, sizeof *made->are_beside);
    return made->beside_lock != NULL && made->beside != NULL && made->are_beside != NULL;
}

int uspi_image_tables_create(const struct usp_images *images, const struct usp_memory *memory,
                             const struct uspi_image_sources *places, uint64_t limit,
                             struct uspi_image_tables **tables) {
    struct uspi_image_tables *made = allocate(images, limit);
    *tables = NULL;
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    const bool has_beside = places != NULL && !places->in_process;
    int status = !has_beside || allocate_beside(made, places) ? USP_OK : USP_ERROR_NO_MEMORY;
    if (status == USP_OK) status = learn_all(made, memory, places, limit);
    if (status != USP_OK) {
        uspi_image_tables_free(made);
        return status;
    }
    *tables = made;
    return USP_OK;
}

int uspi_image_tables_of_process(const struct usp_images *images, const struct usp_memory *memory, int64_t process,
                                 struct uspi_image_tables **tables) {
    struct uspi_image_tables *made = *tables = allocate(images, UINT64_MAX);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->memory = *memory;
    struct uspi_image_sources places = {.process = 0};
    uspi_places_of_process(&places, images, process, &made->root);
    const bool has_beside = allocate_beside(made, &places);
    made->lock = uspi_lock_create();
    made->are_located = calloc(usp_images_count(images) + 1, sizeof *made->are_located);
    if (has_beside && made->lock != NULL && made->are_located != NULL) return USP_OK;
    uspi_image_tables_free(made);
    *tables = NULL;
    return USP_ERROR_NO_MEMORY;
}

/* Locates the tables of image i, if no thread has done so yet. Returns USP_OK or USP_ERROR_NO_MEMORY. */
static int locate(struct uspi_image_tables *tables, size_t i) {
    struct uspi_header_pages pages;
    const struct usp_memory memory = uspi_header_pages_init(&pages, tables->memory);
    bool is_located = true;
    uspi_lock_take(tables->lock);
    if (!atomic_load_explicit(&tables->are_located[i], memory_order_relaxed)) {
        is_located =
            learn(usp_images_get(tables->images, i), &memory, &tables->places, &tables->tables[i], &tables->still[i]);
        atomic_store_explicit(&tables->are_located[i], is_located, memory_order_release);
    }
    uspi_lock_give(tables->lock);
    return is_located ? USP_OK : USP_ERROR_NO_MEMORY;
}

struct uspi_image_tables *uspi_image_tables_keep(struct uspi_image_tables *tables) {
    atomic_fetch_add_explicit(&tables->holders, 1, memory_order_relaxed);
    return tables;
}

void uspi_image_tables_free(struct uspi_image_tables *tables) {
    if (tables == NULL || atomic_fetch_sub_explicit(&tables->holders, 1, memory_order_acq_rel) != 1) return;
    for (size_t i = 0; tables->tables != NULL && i < usp_images_count(tables->images); i++) {
        uspi_copied_tables_free(&tables->tables[i]);
    }
    for (size_t i = 0; tables->beside != NULL && i < usp_images_count(tables->images); i++) {
        uspi_copied_tables_free(&tables->beside[i]);
    }
    free(tables->beside);
    free((void *)tables->are_beside);
    uspi_lock_free(tables->beside_lock);
    free(tables->tables);
    free(tables->still);
    free((void *)tables->are_located);
    uspi_lock_free(tables->lock);
    usp_images_free(tables->images);
    free(tables);
}

uint64_t uspi_image_tables_size(const struct uspi_image_tables *tables) {
    uint64_t bytes = 0;
    for (size_t i = 0; tables->tables != NULL && i < usp_images_count(tables->images); i++) {
        bytes += sizeof tables->tables[i] + uspi_copied_tables_size(&tables->tables[i]);
    }
    return bytes;
}

uint64_t uspi_image_tables_still_size(const struct uspi_image_tables *tables) {
    return usp_images_count(tables->images) * sizeof *tables->still;
}

int uspi_image_tables_at(void *context, usp_addr pc, struct usp_unwind_tables *found) {
    struct uspi_image_tables *tables = context;
    const struct usp_image *image = tables->tables != NULL ? usp_images_find(tables->images, pc) : NULL;
    if (image == NULL) return USP_ERROR_NOT_FOUND;
    const size_t i = (size_t)(image - usp_images_get(tables->images, 0));
    if (tables->lock != NULL && !atomic_load_explicit(&tables->are_located[i], memory_order_acquire)) {
        int status = locate(tables, i);
        if (status != USP_OK) return status;
    }
    *found = tables->tables[i];
    return USP_OK;
}

/* Searches for .debug_frame of image i. Without memory for it, the image counts as having none, and `ran_out` is
 * set. */
static void search_beside(struct uspi_image_tables *tables, size_t i) {
    const struct usp_image *image = usp_images_get(tables->images, i);
    const struct usp_unwind_tables *first = tables->tables != NULL ? &tables->tables[i] : NULL;
    struct usp_unwind_tables *made = &tables->beside[i];
    memset(made, 0, sizeof *made);
    made->image = image->load_address;
    made->slide = image->slide;
    if (first != NULL && first->debug_frame.size != 0) return;
    if ((image->flags & USP_IMAGE_MACHO) != 0) return;
    if (uspi_copied_debug_frame_make(image, &tables->places, made) == USP_ERROR_NO_MEMORY) tables->ran_out = true;
}

bool uspi_image_tables_ran_out(const struct uspi_image_tables *tables) { return tables->ran_out; }

int uspi_image_tables_beside(struct uspi_image_tables *tables, usp_addr pc, struct usp_unwind_tables *found) {
    const struct usp_image *image = tables->beside != NULL ? usp_images_find(tables->images, pc) : NULL;
    if (image == NULL) return USP_ERROR_NOT_FOUND;
    const size_t i = (size_t)(image - usp_images_get(tables->images, 0));
    if (!atomic_load_explicit(&tables->are_beside[i], memory_order_acquire)) {
        uspi_lock_take(tables->beside_lock);
        if (!atomic_load_explicit(&tables->are_beside[i], memory_order_relaxed)) {
            search_beside(tables, i);
            atomic_store_explicit(&tables->are_beside[i], true, memory_order_release);
        }
        uspi_lock_give(tables->beside_lock);
    }
    *found = tables->beside[i];
    return found->memory.read != NULL ? USP_OK : USP_ERROR_NOT_FOUND;
}

int uspi_image_tables_region_at(void *tables, usp_addr pc, struct usp_region *region) {
    return uspi_images_region_at(((const struct uspi_image_tables *)tables)->images, pc, region);
}

void uspi_image_tables_describe(struct uspi_image_tables *tables, struct usp_target *target) {
    if (tables == NULL) return;
    target->unwind_tables_at = uspi_image_tables_at;
    target->image_at = uspi_image_tables_region_at;
    target->context = tables;
}
