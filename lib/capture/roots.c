/* SPDX-License-Identifier: MIT */
/* See roots.h. */
#include "lib/capture/roots.h"

#include "arch/host.h"
#include "lib/base/page_cache.h"
#include "lib/capture/main_root.h"
#include "lib/capture/state.h"
#include "lib/images/own_images.h"
#include "lib/os/os.h"

#include <stdlib.h>
#include <string.h>

static struct uspi_known_roots *const known = &uspi_capture_state.roots;

static void add(const struct usp_images *images, usp_addr root) {
    uint32_t n = atomic_load(&known->count);
    for (uint32_t i = 0; i < n; i++) {
        if (known->addresses[i] == root) return;
    }
    if (root == 0 || n == USPI_ROOTS) return;
    const struct usp_image *image = usp_images_find(images, root);
    struct uspi_portable_root portable = {.build_id_size = 0};
    if (image != NULL) {
        portable.offset = root - image->load_address;
        memcpy(portable.build_id, image->build_id, sizeof image->build_id);
        portable.build_id_size = image->build_id_size;
    }
    known->addresses[n] = root;
    known->portable[n] = portable;
    atomic_store(&known->count, n + 1);
}

/* Implements usp_target.image_at. Most words on the stack are in no image, and need no lookup in memory. */
static int find_region(void *images, usp_addr pc, struct usp_region *region) {
    const struct usp_image *image = usp_images_find(images, pc);
    if (image == NULL) return USP_ERROR_NOT_FOUND;
    memset(region, 0, sizeof *region);
    region->text_low = image->text_low;
    region->text_high = image->text_high;
    return USP_OK;
}

/* Learns the root of main. Returns false when it was not found, as in a constructor, before main is called: a later
 * call tries again. */
static bool learn_main_root(struct usp_images *images) {
    struct usp_target target;
    usp_addr root;
    usp_addr top = uspi_os_first_stack_top();
    if (top == 0) return false;
    usp_target_init(&target, USPI_HOST_ARCH);
    uspi_os_describe_self(&target);
    target.memory.read = uspi_os_read;
    /* The stack is read word by word, so a cache saves system calls. */
    struct uspi_page_cache *pages = uspi_page_cache_before(&target.memory);
    if (images != NULL) {
        target.image_at = find_region;
        target.context = images;
    }
    int status = uspi_find_main_root(&target, top, uspi_host_strip((uintptr_t)exit), &root);
    free(pages);
    if (status == USP_OK) add(images, root);
    return status == USP_OK;
}

void uspi_roots_learn(void) {
    if (uspi_lock_take_within(&known->lock, 0) == USPI_LOCK_HELD) return;
    if (!known->threads_known || !known->main_known) {
        struct usp_images *images = NULL;
        uint64_t generation;
        (void)uspi_own_images_get(&images, &generation);
        if (!known->main_known) known->main_known = learn_main_root(images);
        if (!known->threads_known) {
            usp_addr roots[USPI_THREAD_ROOTS];
            uint32_t n = uspi_os_thread_roots(roots);
            for (uint32_t i = 0; i < n; i++) add(images, roots[i]);
            known->threads_known = n > 0;
        }
        usp_images_free(images);
    }
    uspi_lock_give(&known->lock);
}

void uspi_roots_forget(void) {
    uspi_lock_take(&known->lock);
    atomic_store(&known->count, 0);
    known->main_known = known->threads_known = false;
    uspi_lock_give(&known->lock);
}

void uspi_roots_describe(struct usp_target *target) {
    target->roots = known->addresses;
    target->root_count = atomic_load(&known->count);
}

uint32_t uspi_roots_own(usp_addr *roots, uint32_t capacity) {
    uint32_t count = atomic_load(&known->count), n = 0;
    for (; n < count && n < capacity; n++) roots[n] = known->addresses[n];
    return n;
}

uint32_t uspi_roots_in(const struct usp_images *images, usp_addr *roots, uint32_t capacity) {
    uint32_t n = 0, count = atomic_load(&known->count);
    for (size_t i = 0; i < usp_images_count(images); i++) {
        const struct usp_image *image = usp_images_get(images, i);
        for (uint32_t k = 0; k < count && n < capacity; k++) {
            if (known->portable[k].build_id_size != 0 && known->portable[k].build_id_size == image->build_id_size &&
                memcmp(known->portable[k].build_id, image->build_id, sizeof image->build_id) == 0) {
                roots[n++] = image->load_address + known->portable[k].offset;
            }
        }
    }
    return n;
}
