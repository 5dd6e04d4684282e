/* SPDX-License-Identifier: MIT */
/* See roots.h. */
#include "lib/capture/roots.h"

#include "arch/host.h"
#include "lib/base/page_cache.h"
#include "lib/capture/main_root.h"
#include "lib/images/own_images.h"
#include "lib/os/os.h"

#include <stdlib.h>
#include <string.h>

/* A root's position in the image that contains it, which may also be loaded in another process. */
struct portable_root {
    usp_addr address; /* its address in this process */
    uint64_t offset;
    uint8_t build_id[USP_BUILD_ID_MAX];
    uint32_t build_id_size; /* 0: unknown, so the root is of no use in other processes */
};
static struct portable_root known[USPI_ROOTS];
static _Atomic(uint32_t) known_count;
/* Held by the thread that learns the roots. */
static struct uspi_lock learning;

static void add(const struct usp_images *images, usp_addr root) {
    uint32_t n = atomic_load(&known_count);
    for (uint32_t i = 0; i < n; i++) {
        if (known[i].address == root) return;
    }
    if (root == 0 || n == USPI_ROOTS) return;
    const struct usp_image *image = usp_images_find(images, root);
    known[n].address = root;
    if (image != NULL) {
        known[n].offset = root - image->load_address;
        memcpy(known[n].build_id, image->build_id, sizeof image->build_id);
        known[n].build_id_size = image->build_id_size;
    }
    atomic_store(&known_count, n + 1);
    uspi_os_keep_root(root);
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
    static bool threads_known, main_known; /* used by the thread that holds the lock */
    if (uspi_lock_take_within(&learning, 0) == USPI_LOCK_HELD) return;
    if (!threads_known || !main_known) {
        struct usp_images *images = NULL;
        uint64_t generation;
        (void)uspi_own_images_get(&images, &generation);
        if (!main_known) main_known = learn_main_root(images);
        if (!threads_known) {
            usp_addr roots[USPI_THREAD_ROOTS];
            uint32_t n = uspi_os_thread_roots(roots);
            for (uint32_t i = 0; i < n; i++) add(images, roots[i]);
            threads_known = n > 0;
        }
        usp_images_free(images);
    }
    uspi_lock_give(&learning);
}

uint32_t uspi_roots_in(const struct usp_images *images, usp_addr *roots, uint32_t capacity) {
    uint32_t n = 0, count = atomic_load(&known_count);
    for (size_t i = 0; i < usp_images_count(images); i++) {
        const struct usp_image *image = usp_images_get(images, i);
        for (uint32_t k = 0; k < count && n < capacity; k++) {
            if (known[k].build_id_size != 0 && known[k].build_id_size == image->build_id_size &&
                memcmp(known[k].build_id, image->build_id, sizeof image->build_id) == 0) {
                roots[n++] = image->load_address + known[k].offset;
            }
        }
    }
    return n;
}
