/* SPDX-License-Identifier: MIT */
/* See roots.h. */
#include "lib/capture/roots.h"

#include "arch/host.h"
#include "lib/base/page_cache.h"
#include "lib/capture/state.h"
#include "lib/images/own_images.h"
#include "lib/os/os.h"
#include "lib/unwind/frame/return_address.h"

#include <stdlib.h>
#include <string.h>
#include <unspool/unwind.h>

/* ---- main root ---- */

/* Finds where the stack of a process's first thread ends: the return address in the caller of main. No symbol names
 * that place (glibc's __libc_start_call_main is local), but its code is unmistakable: it exits with main's result.
 *
 *     | argc, argv …                       |  stack_top
 *     | return into _start                 |
 *     | __libc_start_main                  |
 *     | return into __libc_start_main      |  glibc since 2.34: one function more
 *     | __libc_start_call_main             |
 *     | return into __libc_start_call_main |  the root: call *main; mov result, argument; call exit
 *     | main                               | */

/* The frames between argc and main take some 300 bytes in glibc and musl, on all processors. */
#define WINDOW 4096u
/* Instructions between the return and the call of exit: one moves the result (or two, on i386). */
#define INSTRUCTIONS 5u

static bool exits_with_result(struct uspi_code *code, const struct uspi_return_address *ra, usp_addr exit) {
    struct uspi_instruction i;
    usp_addr pc = ra->pc;
    uint32_t mode = (ra->flags & USP_FRAME_THUMB) != 0 ? USPI_MODE_THUMB : 0;
    for (unsigned n = 0; n < INSTRUCTIONS && uspi_code_decode(code, pc, mode, &i); n++) {
        if (i.flow == USPI_CALL) return i.target == exit;
        if (i.flow != USPI_NEXT || i.conditional) return false;
        pc += i.length;
        mode = i.mode;
    }
    return false;
}

/* Searches the stack below the first stack pointer for the outermost return address that
 *   - follows an indirect call (main is called through a pointer), and
 *   - from which the code runs without a branch to a direct call of exit:   exit(main(argc, argv, environ)).
 * Returning to such an address ends the process. So frames beyond it are irrelevant, and a wrong result cannot hide a
 * caller. Leftover values on the stack do not match: their calls would have ended the process.
 *   target     memory and code of the process, arch, pac_mask
 *   stack_top  where the kernel put argc (/proc/PID/stat field 28; in a core: below the vectors that precede the
 *              auxiliary vector)
 *   exit       address of libc's exit, without Thumb bit
 * Returns USP_OK and the address, without signature and Thumb bit, or USP_ERROR_NOT_FOUND. Async-signal-safe. */
static int find_main_root(const struct usp_target *target, usp_addr stack_top, usp_addr exit, usp_addr *root) {
    const struct uspi_backend *b = uspi_backend_find(target->arch);
    if (b == NULL || exit == 0 || stack_top < WINDOW) return USP_ERROR_NOT_FOUND;
    struct uspi_walk walk = {.backend = b, .target = *target, .strip_mask = UINT64_MAX};
    if (b->has_signatures && target->pac_mask != 0) walk.strip_mask = ~target->pac_mask;
    walk.target.root_count = 0;
    struct uspi_code code;
    uspi_code_init(&code, b, uspi_code_memory(&walk));
    unsigned step = b->slot;
    for (usp_addr at = (stack_top & ~(usp_addr)(step - 1)) - step; at > stack_top - WINDOW; at -= step) {
        uint64_t value;
        if (!uspi_read_slot(&walk, at, &value)) break;
        struct uspi_return_address ra = uspi_judge_return_address(&walk, &code, value);
        if (ra.credit == USPI_VERIFIED && ra.callee == 0 && exits_with_result(&code, &ra, exit)) {
            *root = ra.pc;
            return USP_OK;
        }
    }
    return USP_ERROR_NOT_FOUND;
}

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
    int status = find_main_root(&target, top, uspi_host_strip((uintptr_t)exit), &root);
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
