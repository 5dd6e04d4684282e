/* SPDX-License-Identifier: MIT */
/* The list of this process's images that signal handlers read, and the rules that captures keep of their code. Handlers take
 * no lock; those who register do. */
#include "lib/registered_images.h"
#include "lib/image_list.h"
#include "lib/image_tables.h"
#include "lib/os.h"
#include "lib/readers.h"

#include <stdlib.h>
#include <string.h>

struct registered {
    struct uspi_retired retired;
    struct usp_images *images;
    uint64_t generation;
    uint64_t table_limit; /* that it was made under */
};

struct kept_rules {
    struct uspi_retired retired;
    struct uspi_rule_cache *cache;
    uint32_t asked_for;
    size_t bytes;
};

static struct uspi_readers readers;
static _Atomic(struct registered *) current;
static _Atomic(struct kept_rules *) current_rules;
static _Atomic(struct uspi_lock *) lock;
static uint64_t table_limit = USPI_TABLE_LIMIT; /* under the lock */

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
    if (old != NULL && old->generation == generation && old->table_limit == table_limit) return USP_OK;
    struct registered *next = malloc(sizeof *next);
    if (next == NULL) return USP_ERROR_NO_MEMORY;
    const struct usp_memory memory = {uspi_os_read, NULL};
    const struct uspi_places places = {.search = {.as_named = true}, .in_process = true};
    int status = usp_images_self(&next->images);
    if (status == USP_OK) {
        status = uspi_images_learn_tables(next->images, &memory, &places, table_limit);
        if (status != USP_OK) usp_images_free(next->images);
    }
    if (status != USP_OK) {
        free(next);
        return status;
    }
    next->generation = generation;
    next->table_limit = table_limit;
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

uint32_t uspi_registered_acquire(struct uspi_registered *to) {
    uint32_t ticket = uspi_readers_enter(&readers);
    const struct registered *registered = atomic_load_explicit(&current, memory_order_seq_cst);
    const struct kept_rules *rules = atomic_load_explicit(&current_rules, memory_order_seq_cst);
    to->images = registered != NULL ? registered->images : NULL;
    to->generation = registered != NULL ? registered->generation : 0;
    to->rules = rules != NULL ? rules->cache : NULL;
    return ticket;
}

const struct usp_images *usp_images_acquire(uint32_t *ticket) {
    struct uspi_registered registered;
    *ticket = uspi_registered_acquire(&registered);
    return registered.images;
}

void usp_images_release(uint32_t ticket) { uspi_readers_leave(&readers, ticket % (2 * USPI_READERS_PLACES)); }

static int find_registered(usp_addr address, struct usp_image *image, char *path, size_t path_size) {
    uint32_t ticket;
    const struct usp_images *images = usp_images_acquire(&ticket);
    const struct usp_image *found = images != NULL ? usp_images_find(images, address) : NULL;
    if (found != NULL) {
        *image = *found;
        uspi_image_move_path(image, path, path_size);
    }
    usp_images_release(ticket);
    return found != NULL ? USP_OK : USP_ERROR_NOT_FOUND;
}

int usp_image_at(usp_addr address, struct usp_image *image, char *path, size_t path_size) {
    if (image == NULL || path == NULL || path_size == 0) return USP_ERROR_ARGUMENT;
    int status = uspi_os_image_at(address, image, path, path_size);
    if (status == USP_OK || status == USP_ERROR_NOT_FOUND) return status;
    int registered = find_registered(address, image, path, path_size);
    return registered != USP_OK && status == USP_ERROR_BUSY ? USP_ERROR_BUSY : registered;
}

static void free_rules(struct uspi_retired *retired) {
    struct kept_rules *kept = (struct kept_rules *)retired;
    free(kept->cache);
    free(kept);
}

/* *kept becomes NULL for no rules. */
static int make_rules(uint32_t rules, struct kept_rules **kept) {
    *kept = NULL;
    if (rules == 0) return USP_OK;
    struct kept_rules *made = calloc(1, sizeof *made);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->asked_for = rules;
    made->cache = uspi_rule_cache_create(rules, false, &made->bytes);
    if (made->cache == NULL) {
        free(made);
        return USP_ERROR_NO_MEMORY;
    }
    *kept = made;
    return USP_OK;
}

int uspi_registered_keep_rules(uint32_t rules) {
    struct uspi_lock *held = get_lock();
    struct kept_rules *made;
    int status = USP_OK;
    if (held == NULL) return USP_ERROR_NO_MEMORY;
    uspi_lock_take(held);
    uspi_readers_collect(&readers);
    struct kept_rules *old = atomic_load_explicit(&current_rules, memory_order_relaxed);
    if ((old != NULL ? old->asked_for : 0) != rules) {
        status = make_rules(rules, &made);
        atomic_store_explicit(&current_rules, made, memory_order_seq_cst);
        if (old != NULL) uspi_readers_retire(&readers, &old->retired, free_rules);
    }
    uspi_lock_give(held);
    return status;
}

int uspi_registered_limit_tables(uint64_t limit) {
    struct uspi_lock *held = get_lock();
    if (held == NULL) return USP_ERROR_NO_MEMORY;
    uspi_lock_take(held);
    table_limit = limit;
    int status = atomic_load_explicit(&current, memory_order_relaxed) != NULL ? replace() : USP_OK;
    uspi_lock_give(held);
    return status;
}

void uspi_registered_describe(struct usp_capture_usage *usage) {
    struct uspi_lock *held = get_lock();
    if (held == NULL) return;
    uspi_lock_take(held);
    const struct registered *registered = atomic_load_explicit(&current, memory_order_relaxed);
    const struct kept_rules *rules = atomic_load_explicit(&current_rules, memory_order_relaxed);
    if (rules != NULL) usage->rules = rules->bytes;
    if (registered != NULL) {
        usage->images = uspi_images_size(registered->images);
        usage->tables = uspi_images_tables_size(registered->images);
    }
    uspi_lock_give(held);
}
