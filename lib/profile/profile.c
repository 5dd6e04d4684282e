/* SPDX-License-Identifier: MIT */
/* Fills a profile: finds a sample's path in the tree, adds to its totals and to the time line, and evicts older samples
 * to make room. */
#include "lib/profile/profile.h"

#include "lib/base/sized.h"
#include "lib/os/os.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_LEAST UINT64_C(65536)
/* Minimum and maximum numbers of images and threads in a fixed profile. */
#define IMAGES_LEAST  16u
#define IMAGES_MOST   1024u
#define THREADS_LEAST 16u
#define THREADS_MOST  4096u

void usp_profile_options_init(struct usp_profile_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->memory = UINT64_C(32) << 20;
    options->arch = usp_arch_host();
}

/* ---- making one ---- */

/* Returns how many items of a pool fit into a number of bytes. */
static uint32_t items_in(uint64_t bytes, size_t size, uint32_t least, uint32_t most) {
    uint32_t capacity = least;
    while (capacity < most && uspi_pool_bytes(size, capacity * 2) <= bytes) capacity *= 2;
    return capacity;
}

static bool reserve_line(struct uspi_time_line *line, uint64_t capacity, struct uspi_allowance *allowance) {
    uint64_t bytes = (capacity - line->capacity) * sizeof *line->samples;
    if (capacity > SIZE_MAX / sizeof *line->samples || bytes > allowance->limit - allowance->used) return false;
    struct uspi_profile_sample *grown = realloc(line->samples, (size_t)capacity * sizeof *grown);
    if (grown == NULL) return false;
    line->samples = grown;
    line->capacity = capacity;
    allowance->used += bytes;
    return true;
}

/* A fixed profile uses an eighth of its memory each for images, threads and totals, half for nodes, and the rest for
 * samples. Without a time line, threads get the rest. */
static bool make_fixed(struct usp_profile *p) {
    const uint64_t memory = p->allowance.limit, eighth = memory / 8;
    const bool has_line = (p->options.flags & USP_PROFILE_TOTALS) == 0;
    const uint32_t most = UINT32_C(1) << 26;
    uint32_t images = items_in(eighth, sizeof(struct uspi_profile_image), IMAGES_LEAST, IMAGES_MOST);
    uint32_t threads =
        items_in(has_line ? eighth : 2 * eighth, sizeof(struct uspi_profile_thread), THREADS_LEAST, THREADS_MOST);
    uint32_t totals = items_in(eighth, sizeof(struct uspi_total), 64, most);
    uint32_t nodes = items_in(memory / 2, sizeof(struct uspi_node), 64, most);
    if (!uspi_pool_init(&p->images, sizeof(struct uspi_profile_image), images, true, &p->allowance) ||
        !uspi_pool_init(&p->threads, sizeof(struct uspi_profile_thread), threads, true, &p->allowance) ||
        !uspi_pool_init(&p->totals, sizeof(struct uspi_total), totals, true, &p->allowance) ||
        !uspi_pool_init(&p->nodes, sizeof(struct uspi_node), nodes, true, &p->allowance)) {
        return false;
    }
    if (!has_line) return true;
    p->line.capacity_max = (p->allowance.limit - p->allowance.used) / sizeof *p->line.samples;
    return p->line.capacity_max > 0 && reserve_line(&p->line, p->line.capacity_max, &p->allowance);
}

static bool make_growing(struct usp_profile *p) {
    p->line.capacity_max =
        (p->options.flags & USP_PROFILE_TOTALS) != 0 ? 0 : p->allowance.limit / 2 / sizeof *p->line.samples;
    return uspi_pool_init(&p->images, sizeof(struct uspi_profile_image), IMAGES_LEAST, false, &p->allowance) &&
           uspi_pool_init(&p->threads, sizeof(struct uspi_profile_thread), THREADS_LEAST, false, &p->allowance) &&
           uspi_pool_init(&p->totals, sizeof(struct uspi_total), 64, false, &p->allowance) &&
           uspi_pool_init(&p->nodes, sizeof(struct uspi_node), 64, false, &p->allowance);
}

static bool complete(const struct usp_profile_options *given, struct usp_profile_options *options) {
    const uint32_t known = USP_PROFILE_FIXED | USP_PROFILE_ROLLING | USP_PROFILE_TOTALS;
    usp_profile_options_init(options);
    if (!USPI_COMPLETE(options, given)) return false;
    bool rolls = (options->flags & USP_PROFILE_ROLLING) != 0, is_fixed = (options->flags & USP_PROFILE_FIXED) != 0;
    if (rolls && (!is_fixed || (options->flags & USP_PROFILE_TOTALS) != 0)) return false;
    return options->memory >= MEMORY_LEAST && (options->flags & ~known) == 0;
}

int usp_profile_create(const struct usp_profile_options *options, struct usp_profile **profile) {
    struct usp_profile_options completed;
    if (profile == NULL) return USP_ERROR_ARGUMENT;
    *profile = NULL;
    if (!complete(options, &completed)) return USP_ERROR_ARGUMENT;
    struct usp_profile *p = calloc(1, sizeof *p);
    if (p == NULL) return USP_ERROR_NO_MEMORY;
    p->options = completed;
    p->marked = USPI_NONE;
    p->allowance.limit = completed.memory;
    p->lock = uspi_lock_create();
    p->program = strdup(completed.program != NULL ? completed.program : "");
    p->options.program = p->program;
    bool is_fixed = (completed.flags & USP_PROFILE_FIXED) != 0;
    if (p->lock == NULL || p->program == NULL || !(is_fixed ? make_fixed(p) : make_growing(p))) {
        usp_profile_free(p);
        return USP_ERROR_NO_MEMORY;
    }
    *profile = p;
    return USP_OK;
}

void usp_profile_free(struct usp_profile *profile) {
    if (profile == NULL) return;
    for (uint32_t i = 0; i < profile->images.begun; i++) {
        free((char *)(uintptr_t)uspi_profile_image(profile, i)->image.path);
    }
    uspi_pool_free(&profile->images);
    uspi_pool_free(&profile->threads);
    uspi_pool_free(&profile->nodes);
    uspi_pool_free(&profile->totals);
    free(profile->line.samples);
    free(profile->program);
    uspi_lock_free(profile->lock);
    free(profile);
}

/* ---- making room ---- */

void uspi_profile_remove_image(struct usp_profile *profile, uint32_t i) {
    struct usp_image *image = &uspi_profile_image(profile, i)->image;
    free((char *)(uintptr_t)image->path);
    image->path = NULL;
    uspi_pool_remove(&profile->images, i);
}

static void give_up_image(struct usp_profile *p, uint32_t i) {
    if (--uspi_profile_image(p, i)->uses == 0) uspi_profile_remove_image(p, i);
}

/* Removes one use of a node. A node without uses is removed, and so are its callers that have no other use. */
void uspi_profile_give_up_node(struct usp_profile *profile, uint32_t node) {
    while (node != USPI_NONE && --uspi_node(profile, node)->uses == 0) {
        uint32_t parent = uspi_node(profile, node)->parent, image = uspi_node(profile, node)->image;
        uspi_pool_remove(&profile->nodes, node);
        if (image != USPI_NONE) give_up_image(profile, image);
        node = parent;
    }
}

void uspi_profile_give_up_thread(struct usp_profile *profile, uint32_t i) {
    struct uspi_profile_thread *thread = uspi_profile_thread(profile, i);
    if (--thread->uses > 0) return;
    uspi_profile_give_up_node(profile, thread->last);
    uspi_pool_remove(&profile->threads, i);
}

/* Marks a thread as ended: the next thread with this id is another one, which does not inherit the last stack. */
static void end_thread(struct usp_profile *p, uint32_t i) {
    struct uspi_profile_thread *thread = uspi_profile_thread(p, i);
    uint32_t last = thread->last;
    thread->has_ended = true;
    thread->last = USPI_NONE;
    uspi_profile_give_up_node(p, last);
    uspi_profile_give_up_thread(p, i);
}

/* Removes the oldest sample from the time line, and in a rolling profile from the totals. Returns false if there is
 * none. */
static bool evict_oldest(struct usp_profile *p) {
    if (p->line.count == 0) return false;
    const struct uspi_profile_sample sample = *uspi_profile_sample(p, 0);
    p->line.first = (p->line.first + 1) % p->line.capacity;
    p->line.count--;
    p->in_line -= sample.count;
    p->evicted += sample.count;
    if ((p->options.flags & USP_PROFILE_ROLLING) == 0) return true;
    struct uspi_total *total = uspi_total(p, sample.total);
    p->samples -= sample.count;
    p->wall -= sample.wall;
    p->cpu -= sample.cpu;
    total->wall -= sample.wall;
    total->cpu -= sample.cpu;
    total->samples -= sample.count;
    if (total->samples > 0) return true;
    uint32_t thread = total->thread, node = total->node;
    uspi_pool_remove(&p->totals, sample.total);
    uspi_profile_give_up_node(p, node);
    uspi_profile_give_up_thread(p, thread);
    return true;
}

/* Threads that have not ended are kept without samples, up to `most` of them. Forgets the one with the oldest last
 * sample if there are more; returns whether there were. */
static bool forget_idle_thread(struct usp_profile *p, uint32_t most) {
    uint32_t oldest = USPI_NONE, count = 0;
    for (uint32_t i = 0; i < p->threads.begun; i++) {
        const struct uspi_profile_thread *thread = uspi_profile_thread(p, i);
        if (thread->uses != 1 || thread->has_ended) continue;
        count++;
        if (oldest == USPI_NONE || thread->seen < uspi_profile_thread(p, oldest)->seen) oldest = i;
    }
    if (count > most) end_thread(p, oldest);
    return count > most;
}

/* Like uspi_pool_add. A rolling profile makes room by removing its oldest samples, and threads without samples. */
static uint32_t add_item(struct usp_profile *p, struct uspi_pool *pool, uint32_t hash) {
    for (;;) {
        uint32_t i = uspi_pool_add(pool, hash);
        if (i != USPI_NONE || (p->options.flags & USP_PROFILE_ROLLING) == 0) return i;
        if (pool == &p->threads && forget_idle_thread(p, pool->capacity / 4)) continue;
        if (!evict_oldest(p) && !forget_idle_thread(p, 0)) return i;
    }
}

/* ---- images ---- */

bool uspi_is_same_build(const struct usp_image *a, const struct usp_image *b) {
    if (a->build_id_size != b->build_id_size) return false;
    if (a->build_id_size > 0) return memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
    return a->end - a->load_address == b->end - b->load_address && strcmp(a->path, b->path) == 0;
}

uint64_t uspi_hash_build(const struct usp_image *image) {
    if (image->build_id_size > 0) return uspi_hash_bytes((const char *)image->build_id, image->build_id_size);
    return uspi_mix(uspi_hash_bytes(image->path, strlen(image->path)), image->end - image->load_address);
}

static bool is_same_build(const void *item, const void *key) {
    return uspi_is_same_build(&((const struct uspi_profile_image *)item)->image, key);
}

uint32_t uspi_profile_know_image(struct usp_profile *profile, const struct usp_image *image) {
    const uint32_t hash = (uint32_t)uspi_hash_build(image);
    uint32_t i = uspi_pool_find(&profile->images, hash, is_same_build, image);
    if (i != USPI_NONE) return i;
    char *path = strdup(image->path != NULL ? image->path : "");
    i = path != NULL ? add_item(profile, &profile->images, hash) : USPI_NONE;
    if (i == USPI_NONE) {
        free(path);
        return i;
    }
    struct uspi_profile_image *known = uspi_profile_image(profile, i);
    known->image = *image;
    known->image.path = path;
    return i;
}

/* ---- the tree ---- */

static bool is_same_node(const void *item, const void *key) {
    const struct uspi_node *a = item, *b = key;
    return a->offset == b->offset && a->parent == b->parent && a->image == b->image && a->kind == b->kind;
}

uint32_t uspi_profile_know_node(struct usp_profile *profile, const struct uspi_node *like) {
    uint64_t mixed = uspi_mix(uspi_mix(uspi_mix(like->offset, like->parent), like->image), like->kind);
    uint32_t hash = (uint32_t)mixed;
    uint32_t i = uspi_pool_find(&profile->nodes, hash, is_same_node, like);
    if (i != USPI_NONE) return i;
    i = add_item(profile, &profile->nodes, hash);
    if (i == USPI_NONE) return i;
    struct uspi_node *node = uspi_node(profile, i);
    node->offset = like->offset;
    node->image = like->image;
    node->parent = like->parent;
    node->kind = like->kind;
    if (like->image != USPI_NONE) uspi_profile_image(profile, like->image)->uses++;
    if (like->parent != USPI_NONE) uspi_node(profile, like->parent)->uses++;
    return i;
}

/* Maximum number of frames of a thread's last sample that are compared with those of a new one. Deeper stacks are
 * looked up frame by frame. */
#define COMPARED 256u

/* A path that is being built. */
struct path {
    struct usp_profile *profile;
    const struct usp_images *images;
    uint32_t node; /* innermost frame so far; this struct has one use of it */
    /* The image of `node` as it is loaded, and its number in the profile. Callers and callees usually are in one image,
     * so it is not looked up again. `loaded` NULL: outside all images. */
    const struct usp_image *loaded;
    uint32_t image;
    /* The path of the thread's last sample, innermost frame first. The outer frames of a new stack usually are the
     * same. These nodes are close together in memory, while a lookup by hash reads two places for each frame. The last
     * sample keeps them in use. */
    uint32_t last[COMPARED];
    uint32_t last_count; /* number of nodes not compared yet; the outermost one is compared next */
};

static void take_last_path(struct path *path, uint32_t node) {
    path->last_count = 0;
    while (node != USPI_NONE && path->last_count < COMPARED) {
        path->last[path->last_count++] = node;
        node = uspi_node(path->profile, node)->parent;
    }
    if (node != USPI_NONE) path->last_count = 0;
}

/* Finds the node of a frame, or adds it. Returns USPI_NONE if there is no room. */
static uint32_t know_next(struct path *path, const struct uspi_node *like) {
    struct usp_profile *p = path->profile;
    if (path->last_count > 0) {
        uint32_t i = path->last[--path->last_count];
        if (is_same_node(uspi_node(p, i), like)) return i;
        path->last_count = 0;
    }
    return uspi_profile_know_node(p, like);
}

static bool descend(struct path *path, struct uspi_node *like) {
    struct usp_profile *p = path->profile;
    like->parent = path->node;
    uint32_t i = know_next(path, like);
    if (i == USPI_NONE) return false;
    uspi_node(p, i)->uses++;
    uspi_profile_give_up_node(p, path->node);
    path->node = i;
    return true;
}

static bool descend_to_frame(struct path *path, const struct usp_frame *frame) {
    struct usp_profile *p = path->profile;
    /* A return address can be past the end of its image: the call was the last instruction. */
    const struct usp_image *image = usp_images_find(path->images, usp_frame_call_site(p->options.arch, frame));
    struct uspi_node like = {.offset = frame->pc, .image = USPI_NONE, .kind = frame->kind & USPI_NODE_KIND};
    if ((frame->flags & USP_FRAME_THUMB) != 0) like.kind |= USPI_NODE_THUMB;
    if (image == NULL) {
        path->loaded = NULL;
        return descend(path, &like);
    }
    like.image = image == path->loaded ? path->image : uspi_profile_know_image(p, image);
    if (like.image == USPI_NONE) return false;
    path->loaded = image;
    path->image = like.image;
    like.offset = frame->pc - image->load_address;
    /* Keeps the image in use: making room for its node must not remove it. */
    uspi_profile_image(p, like.image)->uses++;
    bool is_there = descend(path, &like);
    give_up_image(p, like.image);
    return is_there;
}

static bool descend_to_omitted(struct path *path) {
    struct uspi_node like = {.image = USPI_NONE, .kind = USPI_NODE_OMITTED};
    path->loaded = NULL;
    return descend(path, &like);
}

/* Adds the frames of a stack from the outermost to the innermost. Async callers are the true callers, so they come
 * first, and the executor that resumed the function is left out. */
static bool descend_to_stack(struct path *path, const struct usp_stack *stack) {
    uint32_t inner = stack->physical;
    bool is_there = true;
    if (stack->count > stack->physical && stack->async_join < stack->physical) inner = stack->async_join + 1;
    if (stack->stop == USP_STOP_CAPACITY && stack->count == stack->physical) is_there = descend_to_omitted(path);
    for (uint32_t i = stack->count; is_there && i > stack->physical; i--) {
        is_there = descend_to_frame(path, &stack->frames[i - 1]);
    }
    for (uint32_t i = inner; is_there && i-- > 0;) {
        if (stack->omitted > 0 && stack->omitted_at == i + 1 && stack->stop != USP_STOP_CAPACITY) {
            is_there = descend_to_omitted(path);
        }
        is_there = is_there && descend_to_frame(path, &stack->frames[i]);
    }
    return is_there;
}

/* ---- threads and totals ---- */

static bool is_live_thread(const void *item, const void *key) {
    const struct uspi_profile_thread *thread = item;
    return thread->info.thread.id == *(const uint64_t *)key && !thread->has_ended;
}

static uint32_t hash_thread(uint64_t id) { return (uint32_t)uspi_mix(id, 0); }

uint32_t uspi_profile_know_thread(struct usp_profile *profile, const struct usp_thread_info *info) {
    uint64_t id = info->thread.id;
    uint32_t i = uspi_pool_find(&profile->threads, hash_thread(id), is_live_thread, &id);
    if (i == USPI_NONE) {
        i = add_item(profile, &profile->threads, hash_thread(id));
        if (i == USPI_NONE) return i;
        uspi_profile_thread(profile, i)->last = USPI_NONE;
        uspi_profile_thread(profile, i)->info = *info;
        uspi_profile_thread(profile, i)->uses = 1;
    }
    /* A thread can get its name late, and can be renamed. */
    struct usp_thread_info *known = &uspi_profile_thread(profile, i)->info;
    if (info->name[0] != '\0') memcpy(known->name, info->name, sizeof known->name);
    if (info->queue[0] != '\0') memcpy(known->queue, info->queue, sizeof known->queue);
    known->lock_owner = info->lock_owner;
    known->lock_kind = info->lock_kind;
    known->deadlock = info->deadlock;
    known->name[sizeof known->name - 1] = known->queue[sizeof known->queue - 1] = '\0';
    return i;
}

static bool is_same_total(const void *item, const void *key) {
    const struct uspi_total *a = item, *b = key;
    return a->thread == b->thread && a->node == b->node;
}

/* Appends a sample to the time line. If there is no room, the oldest sample is removed. */
static void append(struct usp_profile *p, const struct uspi_profile_sample *sample) {
    struct uspi_time_line *line = &p->line;
    if (line->capacity_max == 0) {
        p->evicted += sample->count;
        return;
    }
    if (line->count == line->capacity && line->first == 0 && line->capacity < line->capacity_max) {
        uint64_t capacity = line->capacity == 0 ? 64 : line->capacity * 2;
        (void)reserve_line(line, capacity < line->capacity_max ? capacity : line->capacity_max, &p->allowance);
    }
    if (line->count == line->capacity) (void)evict_oldest(p);
    if (line->capacity == 0) {
        p->evicted += sample->count;
        return;
    }
    line->count++;
    p->in_line += sample->count;
    *uspi_profile_sample(p, line->count - 1) = *sample;
}

int uspi_profile_count(struct usp_profile *profile, const struct uspi_total *amount,
                       const struct uspi_profile_sample *sample) {
    uint32_t hash = (uint32_t)uspi_mix(amount->thread, amount->node);
    uint32_t i = uspi_pool_find(&profile->totals, hash, is_same_total, amount);
    if (i == USPI_NONE) {
        i = add_item(profile, &profile->totals, hash);
        if (i == USPI_NONE) return USP_ERROR_FULL;
        uspi_total(profile, i)->thread = amount->thread;
        uspi_total(profile, i)->node = amount->node;
        uspi_profile_thread(profile, amount->thread)->uses++;
        uspi_node(profile, amount->node)->uses++;
    }
    struct uspi_total *total = uspi_total(profile, i);
    total->samples += amount->samples;
    total->wall += amount->wall;
    total->cpu += amount->cpu;
    profile->samples += amount->samples;
    profile->wall += amount->wall;
    profile->cpu += amount->cpu;
    if (sample == NULL) return USP_OK;
    struct uspi_profile_sample timed = *sample;
    timed.total = i;
    append(profile, &timed);
    return USP_OK;
}

/* ---- adding ---- */

/* Returns the node of a sample's stack, with one more use; or USPI_NONE, with *status set. */
static uint32_t find_path(struct usp_profile *p, uint32_t thread, const struct usp_profile_sample *sample,
                          int *status) {
    struct path path;
    uint32_t last = uspi_profile_thread(p, thread)->last;
    if (sample->stack == NULL) {
        *status = last != USPI_NONE ? USP_OK : USP_ERROR_NOT_FOUND;
        if (last != USPI_NONE) uspi_node(p, last)->uses++;
        return last;
    }
    path.profile = p;
    path.images = sample->images;
    p->files = uspi_images_stricter_files(p->files, sample->images);
    path.node = USPI_NONE;
    path.loaded = NULL;
    take_last_path(&path, last);
    if (descend_to_stack(&path, sample->stack)) return path.node;
    uspi_profile_give_up_node(p, path.node);
    *status = USP_ERROR_FULL;
    return USPI_NONE;
}

static void remember_last(struct usp_profile *p, uint32_t thread, uint32_t node, uint64_t time) {
    uint32_t before = uspi_profile_thread(p, thread)->last;
    uspi_node(p, node)->uses++;
    uspi_profile_thread(p, thread)->last = node;
    uspi_profile_thread(p, thread)->seen = time;
    uspi_profile_give_up_node(p, before);
}

static int add_sample(struct usp_profile *p, const struct usp_profile_sample *sample) {
    int status = USP_OK;
    uint32_t thread = uspi_profile_know_thread(p, sample->thread);
    if (thread == USPI_NONE) return USP_ERROR_FULL;
    uspi_profile_thread(p, thread)->uses++;
    uint32_t node = find_path(p, thread, sample, &status);
    if (status == USP_OK) {
        /* An entry of the time line has 32 bits for it. A rolling profile later subtracts that from the totals. */
        const uint32_t timed_count = sample->count > UINT32_MAX ? UINT32_MAX : (uint32_t)sample->count;
        const bool rolls = (p->options.flags & USP_PROFILE_ROLLING) != 0;
        const uint64_t count = sample->count == 0 ? 1 : rolls ? timed_count : sample->count;
        const struct uspi_total amount = {
            .thread = thread, .node = node, .samples = count, .wall = sample->wall, .cpu = sample->cpu};
        const struct uspi_profile_sample timed = {
            .time = sample->time, .wall = sample->wall, .cpu = sample->cpu, .count = timed_count > 0 ? timed_count : 1};
        status = uspi_profile_count(p, &amount, &timed);
        if (status == USP_OK) remember_last(p, thread, node, sample->time);
        uspi_profile_give_up_node(p, node);
    }
    uspi_profile_give_up_thread(p, thread);
    /* A thread that never had a sample is not kept. */
    if (status != USP_OK && uspi_profile_thread(p, thread)->last == USPI_NONE) end_thread(p, thread);
    return status;
}

int usp_profile_add(struct usp_profile *profile, const struct usp_profile_sample *sample) {
    if (profile == NULL || sample == NULL || sample->thread == NULL) return USP_ERROR_ARGUMENT;
    if (sample->stack != NULL && (sample->stack->count == 0 || sample->stack->frames == NULL))
        return USP_ERROR_ARGUMENT;
    uspi_lock_take(profile->lock);
    int status = add_sample(profile, sample);
    if (status == USP_ERROR_FULL) profile->refused++;
    uspi_lock_give(profile->lock);
    return status;
}

bool uspi_profile_add_cpu(struct usp_profile *profile, uint64_t thread, uint64_t cpu) {
    struct uspi_profile_sample *chosen = NULL;
    uspi_lock_take(profile->lock);
    const uint32_t known = uspi_pool_find(&profile->threads, hash_thread(thread), is_live_thread, &thread);
    for (uint64_t i = known != USPI_NONE ? profile->line.count : 0; i > 0; i--) {
        struct uspi_profile_sample *sample = uspi_profile_sample(profile, i - 1);
        if (uspi_total(profile, sample->total)->thread != known) continue;
        if (chosen == NULL || sample->cpu > 0) chosen = sample;
        if (sample->cpu > 0) break;
    }
    if (chosen != NULL) {
        chosen->cpu += cpu;
        uspi_total(profile, chosen->total)->cpu += cpu;
        profile->cpu += cpu;
    }
    uspi_lock_give(profile->lock);
    return chosen != NULL;
}

void usp_profile_end_thread(struct usp_profile *profile, uint64_t id) {
    if (profile == NULL) return;
    uspi_lock_take(profile->lock);
    uint32_t i = uspi_pool_find(&profile->threads, hash_thread(id), is_live_thread, &id);
    if (i != USPI_NONE) end_thread(profile, i);
    uspi_lock_give(profile->lock);
}

/* ---- information about the profile ---- */

void usp_profile_set_run(struct usp_profile *profile, const struct usp_profile_run *run) {
    if (profile == NULL || run == NULL) return;
    uspi_lock_take(profile->lock);
    profile->run = *run;
    uspi_lock_give(profile->lock);
}

void usp_profile_get_info(struct usp_profile *profile, struct usp_profile_info *info) {
    if (info == NULL) return;
    memset(info, 0, sizeof *info);
    if (profile == NULL) return;
    uspi_lock_take(profile->lock);
    info->samples = profile->samples;
    info->wall_ns = profile->wall;
    info->cpu_ns = profile->cpu;
    info->in_time_line = profile->in_line;
    if (profile->line.count > 0) {
        info->first = uspi_profile_sample(profile, 0)->time;
        info->last = uspi_profile_sample(profile, profile->line.count - 1)->time;
    }
    info->evicted = profile->evicted;
    info->refused = profile->refused;
    for (uint32_t i = 0; i < profile->threads.begun; i++) {
        const struct uspi_profile_thread *thread = uspi_profile_thread(profile, i);
        const uint32_t others = (thread->has_ended ? 0u : 1u) + (thread->no_stack != USP_OK ? 1u : 0u);
        info->threads += thread->uses > others;
    }
    info->stacks = profile->totals.count;
    info->nodes = profile->nodes.count;
    info->memory = profile->allowance.used;
    info->run = profile->run;
    uspi_lock_give(profile->lock);
}
