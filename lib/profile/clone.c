/* SPDX-License-Identifier: MIT */
/* Copies profiles while samples are added: a part, as a profile of its own, or the whole for one reader. The arrays are
 * first copied unchanged, in one piece, so that a thread that adds samples waits only for that. */
#include "lib/profile/profile.h"

#include "lib/base/array.h"
#include "lib/base/merge_sort.h"
#include "lib/os/os.h"

#include <stdlib.h>
#include <string.h>

/* ---- copying the arrays ---- */

static bool take_paths(struct usp_profile *taken) {
    bool ok = true;
    for (uint32_t i = 0; i < taken->images.begun; i++) {
        struct uspi_profile_image *image = uspi_profile_image(taken, i);
        if (image->image.path == NULL) continue;
        /* Every path becomes the copy's own, or NULL. */
        image->image.path = ok ? strdup(image->image.path) : NULL;
        ok = image->image.path != NULL;
    }
    return ok;
}

static bool take_line(const struct usp_profile *profile, struct usp_profile *taken) {
    const struct uspi_time_line *line = &profile->line;
    taken->line = (struct uspi_time_line){.capacity = line->count > 0 ? line->count : 1, .count = line->count};
    taken->line.samples = malloc((size_t)taken->line.capacity * sizeof *line->samples);
    if (taken->line.samples == NULL) return false;
    for (uint64_t i = 0; i < line->count; i++) taken->line.samples[i] = *uspi_profile_sample(profile, i);
    return true;
}

static bool is_earlier(const void *x, const void *y) {
    return ((const struct uspi_profile_sample *)x)->time < ((const struct uspi_profile_sample *)y)->time;
}

/* Sorts the samples of a copy by their times. Files of other tools have them in any order. Returns false if memory is
 * exhausted. */
static bool sort_line(struct uspi_time_line *line) {
    const size_t count = (size_t)line->count;
    size_t i = 1;
    while (i < count && !is_earlier(&line->samples[i], &line->samples[i - 1])) i++;
    if (i >= count) return true;
    struct uspi_profile_sample *spare = malloc(count * sizeof *spare);
    if (spare == NULL) return false;
    uspi_merge_sort(line->samples, spare, count, sizeof *spare, is_earlier);
    free(spare);
    return true;
}

/* Copies all parts. The caller holds the profile's lock. */
static bool take_parts(const struct usp_profile *profile, struct usp_profile *taken) {
    taken->options = profile->options;
    taken->run = profile->run;
    taken->files = profile->files;
    taken->marked = profile->marked;
    taken->samples = profile->samples;
    taken->evicted = profile->evicted;
    taken->refused = profile->refused;
    taken->wall = profile->wall;
    taken->cpu = profile->cpu;
    taken->allowance = profile->allowance;
    return uspi_pool_clone(&profile->images, &taken->images) && take_paths(taken) &&
           uspi_pool_clone(&profile->threads, &taken->threads) && uspi_pool_clone(&profile->nodes, &taken->nodes) &&
           uspi_pool_clone(&profile->totals, &taken->totals) && take_line(profile, taken);
}

/* Copies all parts with their numbers, including unused items. Nothing can be added to the copy. Returns NULL if memory
 * is exhausted. */
static struct usp_profile *take(struct usp_profile *profile) {
    struct usp_profile *taken = calloc(1, sizeof *taken);
    if (taken == NULL) return NULL;
    uspi_lock_take(profile->lock);
    bool ok = take_parts(profile, taken);
    uspi_lock_give(profile->lock);
    if (ok && sort_line(&taken->line)) return taken;
    usp_profile_free(taken);
    return NULL;
}

/* ---- from the copied arrays to a profile ---- */

/* A copy in progress. */
struct copying {
    const struct usp_profile *from; /* the copied arrays */
    struct usp_profile *to;
    uint32_t *nodes;   /* for each node its number in `to`, plus 1; 0: not copied yet */
    uint32_t *threads; /* for each thread its number in `to`, plus 1; 0: not copied yet */
    uint32_t *path;    /* scratch: nodes of one stack */
    size_t capacity;
};

static int copy_one(struct copying *copying, uint32_t i, uint32_t parent) {
    const struct uspi_node *node = uspi_node(copying->from, i);
    struct uspi_node like = {.offset = node->offset, .image = node->image, .parent = parent, .kind = node->kind};
    if (node->image != USPI_NONE) {
        like.image = uspi_profile_know_image(copying->to, &uspi_profile_image(copying->from, node->image)->image);
        if (like.image == USPI_NONE) return USP_ERROR_NO_MEMORY;
    }
    uint32_t copied = uspi_profile_know_node(copying->to, &like);
    if (copied == USPI_NONE) return USP_ERROR_NO_MEMORY;
    copying->nodes[i] = copied + 1;
    return USP_OK;
}

/* Copies a node and its callers, the outermost frame first. *copied: the node's number in `to`. */
static int copy_path(struct copying *copying, uint32_t node, uint32_t *copied) {
    size_t depth = 0;
    for (uint32_t i = node; i != USPI_NONE && copying->nodes[i] == 0; i = uspi_node(copying->from, i)->parent) {
        uint32_t *grown = uspi_array_reserve(copying->path, &copying->capacity, depth + 1, sizeof *grown);
        if (grown == NULL) return USP_ERROR_NO_MEMORY;
        copying->path = grown;
        grown[depth++] = i;
    }
    while (depth-- > 0) {
        uint32_t i = copying->path[depth], parent = uspi_node(copying->from, i)->parent;
        int status = copy_one(copying, i, parent != USPI_NONE ? copying->nodes[parent] - 1 : USPI_NONE);
        if (status != USP_OK) return status;
    }
    *copied = copying->nodes[node] - 1;
    return USP_OK;
}

/* Copies a thread. Threads that had the same id remain separate. */
static uint32_t copy_thread(struct copying *copying, uint32_t i) {
    if (copying->threads[i] == 0) {
        const struct uspi_profile_thread *thread = uspi_profile_thread(copying->from, i);
        usp_profile_end_thread(copying->to, thread->info.thread.id);
        uint32_t copied = uspi_profile_know_thread(copying->to, &thread->info);
        if (copied == USPI_NONE) return USPI_NONE;
        copying->threads[i] = copied + 1;
    }
    return copying->threads[i] - 1;
}

static int copy_amount(struct copying *copying, const struct uspi_total *total,
                       const struct uspi_profile_sample *sample) {
    struct uspi_total amount = *total;
    int status = copy_path(copying, total->node, &amount.node);
    if (status != USP_OK) return status;
    amount.thread = copy_thread(copying, total->thread);
    return amount.thread != USPI_NONE ? uspi_profile_count(copying->to, &amount, sample) : USP_ERROR_NO_MEMORY;
}

/* The samples to copy: a time span, and a thread's id (0: all threads). */
struct wanted {
    uint64_t from, to, thread;
};

static bool is_wanted(const struct copying *copying, const struct wanted *wanted, const struct uspi_total *total) {
    const struct uspi_profile_thread *thread = uspi_profile_thread(copying->from, total->thread);
    return wanted->thread == 0 || thread->info.thread.id == wanted->thread;
}

static int copy_samples(struct copying *copying, const struct wanted *wanted) {
    const struct usp_profile *from = copying->from;
    int status = USP_OK;
    for (uint64_t i = 0; status == USP_OK && i < from->line.count; i++) {
        const struct uspi_profile_sample *sample = uspi_profile_sample(from, i);
        const struct uspi_total *total = uspi_total(from, sample->total);
        if (sample->time < wanted->from || sample->time >= wanted->to || !is_wanted(copying, wanted, total)) continue;
        const struct uspi_total amount = {.thread = total->thread,
                                          .node = total->node,
                                          .samples = sample->count,
                                          .wall = sample->wall,
                                          .cpu = sample->cpu};
        status = copy_amount(copying, &amount, sample);
    }
    return status;
}

/* Copies the part of the totals whose samples are no longer on the time line. */
static int copy_rest(struct copying *copying, const struct wanted *wanted) {
    const struct usp_profile *from = copying->from;
    int status = USP_OK;
    struct uspi_total *rest = malloc(((size_t)from->totals.begun + 1) * sizeof *rest);
    if (rest == NULL) return USP_ERROR_NO_MEMORY;
    if (from->totals.begun > 0) memcpy(rest, from->totals.items, from->totals.begun * sizeof *rest);
    for (uint64_t i = 0; i < from->line.count; i++) {
        const struct uspi_profile_sample *sample = uspi_profile_sample(from, i);
        struct uspi_total *total = &rest[sample->total];
        total->samples -= sample->count;
        total->wall -= sample->wall;
        total->cpu -= sample->cpu;
    }
    for (uint32_t i = 0; status == USP_OK && i < from->totals.begun; i++) {
        if (uspi_total(from, i)->samples == 0 || rest[i].samples == 0 || !is_wanted(copying, wanted, &rest[i]))
            continue;
        status = copy_amount(copying, &rest[i], NULL);
        copying->to->evicted += rest[i].samples;
    }
    free(rest);
    return status;
}

/* Copies the threads that are listed without a stack. */
static int copy_listed(struct copying *copying, const struct wanted *wanted) {
    for (uint32_t i = 0; i < copying->from->threads.begun; i++) {
        const struct uspi_profile_thread *thread = uspi_profile_thread(copying->from, i);
        if (thread->uses == 0 || thread->no_stack == USP_OK) continue;
        if (wanted->thread != 0 && thread->info.thread.id != wanted->thread) continue;
        const uint32_t copied = copy_thread(copying, i);
        if (copied == USPI_NONE) return USP_ERROR_NO_MEMORY;
        uspi_profile_mark_listed(copying->to, copied, thread->no_stack);
    }
    return USP_OK;
}

static int copy_mark(struct copying *copying) {
    int status = copy_path(copying, copying->from->marked, &copying->to->marked);
    if (status == USP_OK) uspi_node(copying->to, copying->to->marked)->uses++;
    return status;
}

static int copy_part(const struct usp_profile *taken, const struct wanted *wanted, struct usp_profile *to) {
    struct copying copying = {.from = taken, .to = to};
    copying.nodes = calloc((size_t)taken->nodes.begun + 1, sizeof *copying.nodes);
    copying.threads = calloc((size_t)taken->threads.begun + 1, sizeof *copying.threads);
    int status = USP_ERROR_NO_MEMORY;
    if (copying.nodes != NULL && copying.threads != NULL) {
        bool is_whole = wanted->from == 0 && wanted->to == UINT64_MAX;
        status = is_whole ? copy_rest(&copying, wanted) : USP_OK;
        if (status == USP_OK) status = copy_samples(&copying, wanted);
        if (status == USP_OK && is_whole) status = copy_listed(&copying, wanted);
        if (status == USP_OK && taken->marked != USPI_NONE) status = copy_mark(&copying);
        to->run = taken->run;
        to->refused = taken->refused;
        to->files = taken->files;
        if ((taken->options.flags & USP_PROFILE_ROLLING) != 0) to->evicted = taken->evicted;
    }
    free(copying.nodes);
    free(copying.threads);
    free(copying.path);
    return status;
}

static int copy_wanted(struct usp_profile *profile, const struct wanted *wanted, struct usp_profile **copy) {
    struct usp_profile_options options = profile->options;
    struct usp_profile *taken = take(profile);
    *copy = NULL;
    if (taken == NULL) return USP_ERROR_NO_MEMORY;
    /* Pools that grow may allocate twice the room that they need. */
    options.memory = options.memory < UINT64_MAX / 4 ? options.memory * 4 : UINT64_MAX;
    options.flags &= ~(uint32_t)(USP_PROFILE_ROLLING | USP_PROFILE_FIXED);
    int status = usp_profile_create(&options, copy);
    if (status == USP_OK) status = copy_part(taken, wanted, *copy);
    usp_profile_free(taken);
    if (status == USP_OK) return USP_OK;
    usp_profile_free(*copy);
    *copy = NULL;
    return status == USP_ERROR_FULL ? USP_ERROR_NO_MEMORY : status;
}

int usp_profile_copy(struct usp_profile *profile, uint64_t from, uint64_t to, uint64_t thread,
                     struct usp_profile **copy) {
    const struct wanted wanted = {from, to, thread};
    return profile != NULL && copy != NULL ? copy_wanted(profile, &wanted, copy) : USP_ERROR_ARGUMENT;
}

/* ---- clones for readers ---- */

static int by_load(const void *a, const void *b) {
    const struct uspi_profile_image *x = *(struct uspi_profile_image *const *)a,
                                    *y = *(struct uspi_profile_image *const *)b;
    usp_addr load = x->image.load_address, other = y->image.load_address;
    return (load > other) - (load < other);
}

/* Returns where the largest range without an image begins. `sorted` is in the order of addresses. */
static usp_addr find_room(struct uspi_profile_image *const *sorted, uint32_t count) {
    usp_addr begin = 0, end = 0;
    uint64_t size = 0;
    for (uint32_t i = 0; i <= count; i++) {
        const usp_addr next = i < count ? sorted[i]->image.load_address : UINT64_MAX;
        if (next > end && next - end > size) {
            size = next - end;
            begin = end;
        }
        if (i < count && sorted[i]->image.end > end) end = sorted[i]->image.end;
    }
    return begin;
}

/* Gives each image a load address at which it does not overlap another one: its own, or one in the largest range
 * without images. That range is above all images of processes, and below those of a kernel. */
static bool place_images(struct usp_profile *clone) {
    const uint32_t count = clone->images.count;
    struct uspi_profile_image **sorted = malloc(((size_t)count + 1) * sizeof(struct uspi_profile_image *));
    usp_addr end = 0;
    uint32_t n = 0;
    if (sorted == NULL) return false;
    for (uint32_t i = 0; i < clone->images.begun; i++) {
        sorted[n++] = uspi_profile_image(clone, i);
    }
    qsort(sorted, n, sizeof *sorted, by_load);
    usp_addr room = find_room(sorted, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct usp_image *image = &sorted[i]->image;
        if (image->load_address >= end) {
            sorted[i]->placed = image->load_address;
            end = image->end;
        } else {
            room = (room + 0xffff) & ~UINT64_C(0xffff);
            sorted[i]->placed = room;
            room += image->end - image->load_address;
        }
    }
    free(sorted);
    return true;
}

struct usp_profile *uspi_profile_clone(struct usp_profile *profile) {
    const struct wanted all = {0, UINT64_MAX, 0};
    struct usp_profile *clone;
    if (copy_wanted(profile, &all, &clone) != USP_OK) return NULL;
    clone->was_rolling = (profile->options.flags & USP_PROFILE_ROLLING) != 0;
    if (place_images(clone)) return clone;
    usp_profile_free(clone);
    return NULL;
}

usp_addr uspi_node_address(const struct usp_profile *profile, const struct uspi_node *node) {
    return node->image != USPI_NONE ? uspi_profile_image(profile, node->image)->placed + node->offset : node->offset;
}

#define PAGE_MASK UINT64_C(0xfff)

struct uspi_profile_mapping uspi_profile_mapping_of(const struct uspi_profile_image *image) {
    const struct usp_image *of = &image->image;
    const uint64_t moved = image->placed - of->load_address, extra = of->text_offset & PAGE_MASK;
    const struct uspi_profile_mapping whole = {.start = image->placed, .limit = of->end + moved};
    if ((of->flags & USP_IMAGE_TEXT_OFFSET) == 0 || of->text_low >= of->text_high ||
        (of->text_low & PAGE_MASK) != extra || of->text_high > UINT64_MAX - PAGE_MASK)
        return whole;
    return (struct uspi_profile_mapping){.start = of->text_low - extra + moved,
                                         .limit = ((of->text_high + PAGE_MASK) & ~PAGE_MASK) + moved,
                                         .offset = of->text_offset - extra,
                                         .is_code = true};
}

struct usp_frame uspi_node_frame(const struct usp_profile *profile, const struct uspi_node *node) {
    return (struct usp_frame){.pc = uspi_node_address(profile, node),
                              .kind = node->kind & USPI_NODE_KIND,
                              .flags = (node->kind & USPI_NODE_THUMB) != 0 ? (uint32_t)USP_FRAME_THUMB : 0};
}

int usp_images_create_profile(struct usp_profile *profile, struct usp_images **images) {
    if (profile == NULL || images == NULL) return USP_ERROR_ARGUMENT;
    *images = NULL;
    struct usp_profile *clone = uspi_profile_clone(profile);
    struct usp_image *entries = clone != NULL ? calloc((size_t)clone->images.count + 1, sizeof *entries) : NULL;
    size_t n = 0;
    int status = USP_ERROR_NO_MEMORY;
    if (entries != NULL) {
        for (uint32_t i = 0; i < clone->images.begun; i++) {
            const struct uspi_profile_image *known = uspi_profile_image(clone, i);
            const uint64_t moved = known->placed - known->image.load_address;
            struct usp_image *entry = &entries[n++];
            *entry = known->image;
            entry->load_address += moved;
            entry->end += moved;
            if (entry->text_high != 0) {
                entry->text_low += moved;
                entry->text_high += moved;
            }
            entry->slide += moved;
        }
        status = usp_images_create(entries, n, images);
        if (status == USP_OK) uspi_images_set_files(*images, clone->files);
    }
    free(entries);
    usp_profile_free(clone);
    return status;
}
