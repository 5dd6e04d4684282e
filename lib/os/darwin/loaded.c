/* SPDX-License-Identifier: MIT */
/* The images of this process as the loader announces them, in slots that are read without a lock. images.c describes
 * them. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/capturing.h"

#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <stdlib.h>

/* Maximum number of attempts to read a slot that changes meanwhile. */
#define TRIES 4u

static struct uspi_darwin_announced *const announced = &uspi_darwin_capturing.announced;

static struct uspi_darwin_slot *find_slot(uintptr_t load, bool more) {
    for (struct uspi_darwin_chunk *c = &announced->first;;) {
        for (unsigned i = 0; i < USPI_DARWIN_SLOTS; i++) {
            if (atomic_load(&c->slots[i].load) == load) return &c->slots[i];
        }
        struct uspi_darwin_chunk *next = atomic_load(&c->next);
        if (next == NULL && more) {
            next = calloc(1, sizeof *next);
            atomic_store(&c->next, next);
        }
        if (next == NULL) return NULL;
        c = next;
    }
}

static void add(const struct mach_header *header, intptr_t slide) {
    Dl_info info;
    (void)slide;
    struct uspi_darwin_slot *slot = find_slot(0, true);
    if (slot == NULL) {
        atomic_store(&announced->incomplete, true);
    } else {
        const char *path = dladdr(header, &info) != 0 ? info.dli_fname : NULL;
        atomic_store(&slot->path, (uintptr_t)path);
        atomic_store(&slot->load, (uintptr_t)header);
    }
    atomic_fetch_add(&announced->generation, 1);
}

static void withdraw(const struct mach_header *header, intptr_t slide) {
    (void)slide;
    struct uspi_darwin_slot *slot = find_slot((uintptr_t)header, false);
    if (slot != NULL) atomic_store(&slot->load, 0);
    atomic_fetch_add(&announced->generation, 1);
}

static void watch(void) {
    _dyld_register_func_for_remove_image(withdraw);
    _dyld_register_func_for_add_image(add);
}

void uspi_darwin_watch_images(void) { pthread_once(&announced->once, watch); }

/* Reads a slot. The path belongs to the image if the load address is the same before and after the path was read. */
static bool read_slot(const struct uspi_darwin_slot *slot, struct uspi_darwin_loaded *loaded) {
    for (unsigned i = 0; i < TRIES; i++) {
        loaded->load = atomic_load(&slot->load);
        loaded->path = atomic_load(&slot->path);
        if (atomic_load(&slot->load) == loaded->load) return loaded->load != 0;
    }
    return false;
}

bool uspi_darwin_next_loaded(size_t *at, struct uspi_darwin_loaded *loaded) {
    struct uspi_darwin_chunk *c = &announced->first;
    for (size_t skip = *at / USPI_DARWIN_SLOTS; skip > 0 && c != NULL; skip--) c = atomic_load(&c->next);
    while (c != NULL) {
        if (read_slot(&c->slots[(*at)++ % USPI_DARWIN_SLOTS], loaded)) return true;
        if (*at % USPI_DARWIN_SLOTS == 0) c = atomic_load(&c->next);
    }
    return false;
}

bool uspi_darwin_is_loaded(uintptr_t load) { return find_slot(load, false) != NULL; }

uint64_t uspi_darwin_loaded_generation(bool *complete) {
    *complete = !atomic_load(&announced->incomplete);
    return atomic_load(&announced->generation);
}

#endif
