/* SPDX-License-Identifier: MIT */
/* See own_images.h. If two threads notice a change at the same moment, both make a list, without a lock. So no thread
 * waits for another thread's allocations or file accesses. */
#include "lib/images/own_images.h"

#include "lib/base/thread_place.h"
#include "lib/images/image_list.h"
#include "lib/os/os.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* ---- versions ---- */

/* A shared object that is replaced from time to time and read without a lock, also in signal handlers. Each version of
 * it counts its own readers and is freed when it has none. A reader may never leave: it keeps a ticket, its handler was
 * left by longjmp, or its thread does not exist in a forked child. Such a reader keeps only one version alive, so
 * memory is bounded. lib/base/epoch.h is for many objects whose readers all leave soon.
 *
 * Entering and leaving are two atomic additions on one of several cache lines. A reader counts itself as a reader of a
 * version, then checks whether that version is still the current one. The publisher makes another version the current
 * one, then checks for readers. Both sequences are sequentially consistent. So either the reader sees the new version
 * and takes that, or the publisher sees the reader and does not free the old version. */

/* The maximum number of versions at one time, with the current one. It is large because a child counts the readers of
 * its parent's other threads: in a chain of forks, each process can keep one version that no thread reads. */
#define USPI_VERSIONS 64u
/* The number of groups of counters. Threads are spread over them, so that few threads write to the same cache line. */
#define USPI_VERSIONS_PLACES 16u

/* All zero: no object, no readers. */
struct uspi_versions {
    _Atomic(uint32_t) current; /* index in `objects` of the version that readers get */
    void *_Atomic objects[USPI_VERSIONS];
    struct {
        _Atomic(uint32_t) readers[USPI_VERSIONS];
    } places[USPI_VERSIONS_PLACES];
};

/* Begins reading: sets *object to the current version, NULL when there is none. It stays valid until
 * versions_leave gets the returned number. Async-signal-safe. */
static uint32_t versions_enter(struct uspi_versions *versions, void **object) {
    uint32_t place = uspi_thread_place(USPI_VERSIONS_PLACES);
    for (;;) {
        uint32_t version = atomic_load(&versions->current);
        atomic_fetch_add(&versions->places[place].readers[version], 1);
        if (atomic_load(&versions->current) == version) {
            *object = atomic_load(&versions->objects[version]);
            return place * USPI_VERSIONS + version;
        }
        atomic_fetch_sub(&versions->places[place].readers[version], 1);
    }
}

/* Ends reading; any thread may call it. Async-signal-safe. */
static void versions_leave(struct uspi_versions *versions, uint32_t number) {
    uint32_t place = number / USPI_VERSIONS % USPI_VERSIONS_PLACES;
    atomic_fetch_sub_explicit(&versions->places[place].readers[number % USPI_VERSIONS], 1, memory_order_release);
}

static bool has_readers(struct uspi_versions *versions, uint32_t version) {
    for (uint32_t i = 0; i < USPI_VERSIONS_PLACES; i++) {
        if (atomic_load(&versions->places[i].readers[version]) != 0) return true;
    }
    return false;
}

/* Returns a version that is not current and has no readers; USPI_VERSIONS when there is none. */
static uint32_t find_free(struct uspi_versions *versions) {
    uint32_t current = atomic_load(&versions->current), i = 0;
    while (i < USPI_VERSIONS && (i == current || has_readers(versions, i))) i++;
    return i;
}

/* Returns whether another version can be published: some old version has no readers. Callers must serialize this
 * function and versions_publish with a lock. */
static bool versions_have_room(struct uspi_versions *versions) { return find_free(versions) < USPI_VERSIONS; }

/* Makes an object (NULL: none) the current version, and frees with `destroy` all other versions without readers.
 * Returns false and changes nothing when there is no room. */
static bool versions_publish(struct uspi_versions *versions, void *object, void (*destroy)(void *object)) {
    uint32_t next = find_free(versions);
    if (next == USPI_VERSIONS) return false;
    void *old = atomic_exchange(&versions->objects[next], object);
    if (old != NULL) destroy(old);
    atomic_store(&versions->current, next);
    for (uint32_t i = 0; i < USPI_VERSIONS; i++) {
        if (i == next || has_readers(versions, i)) continue;
        old = atomic_exchange(&versions->objects[i], NULL);
        if (old != NULL) destroy(old);
    }
    return true;
}

/* How often a list is made if the loader's list changes each time before it can be published. */
#define TRIES 8u

struct version {
    struct uspi_own_images own;
    struct usp_images *images; /* own.images */
    struct uspi_os_loaded *loaded;
    const struct uspi_images_extra *maker;
    uint32_t wanted; /* value of extra_wanted when this version was made */
};

/* The state of this layer, the only one. A child after a fork inherits it. It counts the readers of the parent's other
 * threads too, which keep a version each; the lock knows that its holder was not copied (os.h). */
static struct {
    /* The published list. Any thread reads it, also in a signal handler; the lock's holder publishes.
     * uspi_own_images_withdraw, and so usp_shutdown, frees all versions that no thread reads. */
    struct uspi_versions versions;
    struct uspi_lock lock;
    /* How many lists were begun; atomic. A list's generation is its number among them, so it also tells which list is
     * older. Never reset, because callers keep generations. */
    _Atomic(uint64_t) begun_lists;
    /* The higher layer's functions for data about lists; atomic; NULL: none. Withdrawing resets it. */
    const struct uspi_images_extra *_Atomic extra_maker;
    /* How often extra_maker was changed; atomic, never reset. */
    _Atomic(uint32_t) extra_wanted;
} state;

/* ---- reading ---- */

static uint32_t enter(const struct version **version) {
    void *object;
    uint32_t ticket = versions_enter(&state.versions, &object);
    *version = object;
    return ticket;
}

uint32_t uspi_own_images_enter(struct uspi_own_images *own) {
    static const struct uspi_own_images none = {NULL, 0, NULL};
    const struct version *version;
    uint32_t ticket = enter(&version);
    *own = version != NULL ? version->own : none;
    return ticket;
}

const struct usp_images *usp_images_acquire(uint32_t *ticket) {
    struct uspi_own_images own;
    *ticket = uspi_own_images_enter(&own);
    return own.images;
}

void usp_images_release(uint32_t ticket) { versions_leave(&state.versions, ticket); }

bool uspi_own_images_are_current(uint64_t generation) {
    const struct version *version;
    uint32_t ticket = enter(&version);
    bool are_current =
        version != NULL && version->own.generation == generation && uspi_os_loaded_is_current(version->loaded);
    usp_images_release(ticket);
    return are_current;
}

bool uspi_own_images_have(uint64_t generation, const struct usp_image *image) {
    const struct version *version;
    if ((image->flags & USP_IMAGE_PERMANENT) != 0) return true;
    uint32_t ticket = enter(&version);
    bool have = version != NULL && version->own.generation == generation && uspi_os_loaded_has(version->loaded, image);
    usp_images_release(ticket);
    return have;
}

static int find_published(usp_addr address, struct usp_image *image, char *path, size_t path_size) {
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
    int published = find_published(address, image, path, path_size);
    return published != USP_OK && status == USP_ERROR_BUSY ? USP_ERROR_BUSY : published;
}

/* ---- making ---- */

static void free_version(void *object) {
    struct version *version = object;
    if (version->own.extra != NULL) version->maker->free(version->own.extra);
    usp_images_free(version->images);
    uspi_os_loaded_free(version->loaded);
    free(version);
}

/* Arguments and results of uspi_os_images_self. */
struct search {
    uint64_t deadline;
    struct uspi_os_loaded *loaded;
};

static int find_own(void *context, struct uspi_images_found *found) {
    struct search *search = context;
    return uspi_os_images_self(found, search->deadline, &search->loaded);
}

/* Lists the images that are loaded now. An empty list is USP_ERROR_SYSTEM: every process has images, so the system lets
 * none be read. */
static int list_images(uint64_t deadline, struct uspi_os_loaded **loaded, struct usp_images **images) {
    struct search search = {.deadline = deadline};
    int status = uspi_images_seal_found(find_own, &search, images);
    *loaded = search.loaded;
    return status == USP_OK && usp_images_count(*images) == 0 ? USP_ERROR_SYSTEM : status;
}

static int make_version(uint64_t deadline, struct version **version) {
    struct version *made = calloc(1, sizeof *made);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->own.generation = atomic_fetch_add(&state.begun_lists, 1) + 1;
    made->wanted = atomic_load(&state.extra_wanted);
    made->maker = atomic_load(&state.extra_maker);
    int status = list_images(deadline, &made->loaded, &made->images);
    made->own.images = made->images;
    if (status == USP_OK && made->maker != NULL) status = made->maker->make(made->images, &made->own.extra);
    if (status != USP_OK) {
        free_version(made);
        return status;
    }
    *version = made;
    return USP_OK;
}

/* ---- publishing ---- */

static bool is_current(const struct version *version) {
    return version != NULL && version->wanted == atomic_load(&state.extra_wanted) &&
           uspi_os_loaded_is_current(version->loaded);
}

/* Returns whether the published list is current, or was begun after the list with this generation (UINT64_MAX: only
 * whether it is current). A list that was begun later contains all that was loaded before the older one was begun. It
 * may also contain a library that the older one lacks and whose thread captures next, so the older list must not
 * replace it. */
static bool is_superseded(uint64_t generation) {
    const struct version *published;
    uint32_t ticket = enter(&published);
    bool is_newer = published != NULL && published->own.generation > generation,
         result = is_newer || is_current(published);
    usp_images_release(ticket);
    return result;
}

static bool has_room(void) {
    uspi_lock_take(&state.lock);
    bool has_room = versions_have_room(&state.versions);
    uspi_lock_give(&state.lock);
    return has_room;
}

/* Publishes a version if it is current or this is the last try; frees it otherwise. Returns USP_OK also if a published
 * list supersedes it. USP_ERROR_BUSY: it is no longer current, or too many versions are held. */
static int publish(struct version *version, bool is_last_try) {
    int status = USP_ERROR_BUSY;
    uspi_lock_take(&state.lock);
    bool is_useless = is_superseded(version->own.generation);
    if (!is_useless && (is_last_try || is_current(version))) {
        if (versions_publish(&state.versions, version, free_version)) status = USP_OK;
    }
    uspi_lock_give(&state.lock);
    if (status != USP_OK) free_version(version);
    return is_useless ? USP_OK : status;
}

int uspi_own_images_refresh(uint64_t deadline) {
    struct version *version;
    int status = USP_OK;
    if (is_superseded(UINT64_MAX)) return USP_OK;
    for (unsigned i = 0; i < TRIES; i++) {
        /* Makes no list if there is no room to publish it. */
        status = has_room() ? make_version(deadline, &version) : USP_ERROR_BUSY;
        if (status != USP_OK) return status;
        const bool is_last_try = i + 1 == TRIES || uspi_os_clock() >= deadline;
        status = publish(version, is_last_try);
        if (status == USP_OK || is_last_try) break;
    }
    return status;
}

/* Returns a new reference to the list that was published last; NULL: there is none. */
static struct usp_images *keep_published(uint64_t *generation) {
    const struct version *version;
    uint32_t ticket = enter(&version);
    struct usp_images *images = version != NULL ? uspi_images_keep(version->images) : NULL;
    *generation = version != NULL ? version->own.generation : 0;
    usp_images_release(ticket);
    return images;
}

int uspi_own_images_get(struct usp_images **images, uint64_t *generation) {
    int status = uspi_own_images_refresh(UINT64_MAX);
    *images = keep_published(generation);
    if (*images != NULL) return USP_OK;
    return status != USP_OK ? status : USP_ERROR_BUSY;
}

uint64_t usp_images_generation(void) {
    struct uspi_own_images own;
    const struct version *published;
    uint32_t ticket = enter(&published);
    /* The usual case, which callers check at each look-up. */
    const uint64_t generation = is_current(published) ? published->own.generation : 0;
    usp_images_release(ticket);
    if (generation != 0) return generation;
    (void)uspi_own_images_refresh(UINT64_MAX);
    usp_images_release(uspi_own_images_enter(&own));
    return own.generation;
}

int usp_images_create_self(struct usp_images **images) {
    uint64_t generation;
    if (images == NULL) return USP_ERROR_ARGUMENT;
    *images = NULL;
    int status = uspi_own_images_refresh(UINT64_MAX);
    if (status == USP_OK) *images = keep_published(&generation);
    if (*images != NULL || (status != USP_OK && status != USP_ERROR_BUSY)) return status;
    /* Too many published lists are held: give the caller a list that is not published. */
    struct uspi_os_loaded *loaded;
    status = list_images(UINT64_MAX, &loaded, images);
    uspi_os_loaded_free(loaded);
    if (status == USP_OK) return USP_OK;
    usp_images_free(*images);
    *images = NULL;
    return status;
}

int uspi_own_images_extend(const struct uspi_images_extra *extra) {
    atomic_store(&state.extra_maker, extra);
    atomic_fetch_add(&state.extra_wanted, 1);
    return uspi_own_images_refresh(UINT64_MAX);
}

void uspi_own_images_withdraw(void) {
    atomic_store(&state.extra_maker, NULL);
    atomic_fetch_add(&state.extra_wanted, 1);
    uspi_lock_take(&state.lock);
    versions_publish(&state.versions, NULL, free_version);
    uspi_lock_give(&state.lock);
}
