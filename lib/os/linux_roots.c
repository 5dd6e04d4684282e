/* SPDX-License-Identifier: MIT */
/* Where stacks of this process end: in the caller of main, and in what calls a thread's start routine. Learned by trying
 * (threads) and by looking (main); also for another process that runs the same libc. */
#define _GNU_SOURCE 1
#include "lib/main_root.h"
#include "lib/os/linux.h"
#include "lib/os/linux_proc.h"
#include "lib/page_cache.h"

#include "arch/host.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#ifndef __STDC_NO_THREADS__
#include <threads.h>
#endif

/* main's, a POSIX thread's, a C11 thread's: the last two are different calls in glibc's start_thread. */
#define ROOTS 3u

static usp_addr own_roots[ROOTS];
/* The same as seen from the image that holds them, which another process may have as well. */
static struct {
    uint64_t offset;
    uint8_t build_id[USP_BUILD_ID_MAX];
    uint32_t build_id_size; /* 0: of no use elsewhere */
} portable_roots[ROOTS];
static _Atomic(uint32_t) root_count;
/* Who comes while another thread is learning goes on without: a lock could stay locked in a child that is forked now. */
static atomic_flag learning = ATOMIC_FLAG_INIT;

static void add_root(const struct usp_images *images, usp_addr root) {
    uint32_t n = atomic_load(&root_count);
    for (uint32_t i = 0; i < n; i++) {
        if (own_roots[i] == root) return;
    }
    if (root == 0 || n == ROOTS) return;
    const struct usp_image *image = usp_images_find(images, root);
    if (image != NULL) {
        portable_roots[n].offset = root - image->load_address;
        memcpy(portable_roots[n].build_id, image->build_id, sizeof image->build_id);
        portable_roots[n].build_id_size = image->build_id_size;
    }
    own_roots[n] = root;
    atomic_store(&root_count, n + 1);
}

/* ---- threads ---- */

USPI_TEMPLATE uintptr_t caller(void) {
    return uspi_host_strip((uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)));
}

static __attribute__((noinline)) void *record_caller(void *to) {
    *(uintptr_t *)to = caller();
    return NULL;
}

#ifndef __STDC_NO_THREADS__
static __attribute__((noinline)) int record_c11_caller(void *to) {
    *(uintptr_t *)to = caller();
    return 0;
}
#endif

/* Threads that are on their way to tell; starting them takes longer than what they do. */
struct messengers {
    bool has_posix, has_c11;
    pthread_t posix;
    uintptr_t posix_root, c11_root;
#ifndef __STDC_NO_THREADS__
    thrd_t c11;
#endif
};

static void send_threads(struct messengers *sent, bool with_posix) {
    sigset_t all, mask;
    memset(sent, 0, sizeof *sent);
    /* None of the program's handlers should meet a thread that it does not know. */
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &mask) != 0) return;
    sent->has_posix = with_posix && pthread_create(&sent->posix, NULL, record_caller, &sent->posix_root) == 0;
#ifndef __STDC_NO_THREADS__
    sent->has_c11 = thrd_create(&sent->c11, record_c11_caller, &sent->c11_root) == thrd_success;
#endif
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

static void hear_threads(const struct messengers *sent, const struct usp_images *images) {
    if (sent->has_posix && pthread_join(sent->posix, NULL) == 0) add_root(images, sent->posix_root);
#ifndef __STDC_NO_THREADS__
    if (sent->has_c11 && thrd_join(sent->c11, NULL) == thrd_success) add_root(images, sent->c11_root);
#endif
}

/* ---- main ---- */

/* usp_target.image_at: most words on the stack lie in no image, and need not be looked up in memory. */
static int find_region(void *images, usp_addr pc, struct usp_region *region) {
    const struct usp_image *image = usp_images_find(images, pc);
    if (image == NULL) return USP_ERROR_NOT_FOUND;
    memset(region, 0, sizeof *region);
    region->text_low = image->text_low;
    region->text_high = image->text_high;
    return USP_OK;
}

static bool learn_main_root(struct usp_images *images) {
    struct uspi_proc_stat stat;
    struct usp_target target;
    usp_addr root;
    if (uspi_proc_stat(0, 0, &stat) < 0 || stat.stack_top == 0) return false;
    usp_target_init(&target, USPI_HOST_ARCH);
    uspi_os_describe_self(&target);
    target.memory.read = uspi_os_read;
    /* Word by word. */
    struct uspi_page_cache *pages = uspi_page_cache_before(&target.memory);
    if (images != NULL) {
        target.image_at = find_region;
        target.context = images;
    }
    uintptr_t exit_address = uspi_host_strip((uintptr_t)exit);
    int status = uspi_find_main_root(&target, stat.stack_top, exit_address, &root);
    free(pages);
    if (status != USP_OK) return false;
    add_root(images, root);
    return true;
}

/* Of whoever is learning. */
static struct messengers sent;
static bool threads_known, main_known;
static _Atomic(uintptr_t) told;

bool uspi_linux_begin_roots(bool is_told) {
    if (atomic_flag_test_and_set(&learning)) return false;
    if (!threads_known) send_threads(&sent, !is_told);
    return true;
}

void uspi_linux_tell_root(uintptr_t root) { atomic_store(&told, root); }

void uspi_linux_finish_roots(bool is_told) {
    if (!threads_known || !main_known) {
        struct usp_images *images = NULL;
        usp_images_self(&images);
        /* In a constructor main has not been called yet: later, then. */
        if (!main_known) main_known = learn_main_root(images);
        if (!threads_known) {
            hear_threads(&sent, images);
            while (is_told && atomic_load(&told) == 0) sched_yield();
            add_root(images, atomic_load(&told));
            threads_known = is_told || sent.has_posix;
        }
        usp_images_free(images);
    }
    atomic_flag_clear(&learning);
}

void uspi_linux_learn_roots(void) {
    if (uspi_linux_begin_roots(false)) uspi_linux_finish_roots(false);
}

void uspi_os_describe_self(struct usp_target *target) {
    target->os = USP_OS_LINUX;
    target->roots = own_roots;
    target->root_count = atomic_load(&root_count);
    target->pac_mask = uspi_host_signature_bits();
}

uint32_t uspi_os_roots_in(const struct usp_images *images, usp_addr *roots, uint32_t capacity) {
    uint32_t n = 0, known = atomic_load(&root_count);
    for (size_t i = 0; i < usp_images_count(images); i++) {
        const struct usp_image *image = usp_images_get(images, i);
        for (uint32_t k = 0; k < known && n < capacity; k++) {
            if (portable_roots[k].build_id_size != 0 && portable_roots[k].build_id_size == image->build_id_size &&
                memcmp(portable_roots[k].build_id, image->build_id, sizeof image->build_id) == 0) {
                roots[n++] = image->load_address + portable_roots[k].offset;
            }
        }
    }
    return n;
}
