/* SPDX-License-Identifier: MIT */
/* The list of this process's images that signal handlers read. Handlers take no lock; those who register do. */
#include "lib/os.h"
#include "lib/readers.h"

#include <stdlib.h>

struct registered {
    struct uspi_retired retired;
    struct usp_images *images;
    uint64_t generation;
};

static struct uspi_readers readers;
static _Atomic(struct registered *) current;
static _Atomic(struct uspi_lock *) lock;

/* Made by whoever is first. NULL when memory lacks. */
static struct uspi_lock *get_lock(void) {
    struct uspi_lock *got = atomic_load_explicit(&lock, memory_order_acquire);
    if (got != NULL) return got;
    struct uspi_lock *made = uspi_lock_create();
    if (made == NULL) return NULL;
    if (atomic_compare_exchange_strong(&lock, &got, made)) return made;
    uspi_lock_free(made);
    return got;
}

static void free_registered(struct uspi_retired *retired) {
    struct registered *registered = (struct registered *)retired;
    usp_images_free(registered->images);
    free(registered);
}

static int replace(void) {
    struct registered *old = atomic_load_explicit(&current, memory_order_relaxed);
    uint64_t generation = uspi_os_images_generation();
    if (old != NULL && old->generation == generation) return USP_OK;
    struct registered *next = malloc(sizeof *next);
    if (next == NULL) return USP_ERROR_NO_MEMORY;
    int status = usp_images_self(&next->images);
    if (status != USP_OK) {
        free(next);
        return status;
    }
    next->generation = generation;
    atomic_store_explicit(&current, next, memory_order_seq_cst);
    if (old != NULL) uspi_readers_retire(&readers, &old->retired, free_registered);
    return USP_OK;
}

uint64_t usp_images_generation(void) { return uspi_os_images_generation(); }

int usp_images_register(void) {
    struct uspi_lock *held = get_lock();
    if (held == NULL) return USP_ERROR_NO_MEMORY;
    uspi_lock_take(held);
    uspi_readers_collect(&readers);
    int status = replace();
    uspi_lock_give(held);
    return status;
}

const struct usp_images *usp_images_acquire(uint32_t *ticket) {
    *ticket = uspi_readers_enter(&readers);
    const struct registered *registered = atomic_load_explicit(&current, memory_order_seq_cst);
    return registered != NULL ? registered->images : NULL;
}

void usp_images_release(uint32_t ticket) { uspi_readers_leave(&readers, ticket % (2 * USPI_READERS_PLACES)); }
