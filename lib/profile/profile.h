/* SPDX-License-Identifier: MIT */
/* The data of a profile: images, threads, the tree's nodes, totals, and the time line of samples. profile.c fills it,
 * clone.c copies it, and the writers read copies. */
#ifndef USPI_PROFILE_PROFILE_H
#define USPI_PROFILE_PROFILE_H

#include "lib/base/hash.h"
#include "lib/base/pool.h"
#include "lib/images/image_list.h"

#include <unspool/profile.h>

struct uspi_lock; /* lib/os/os.h */

/* A build that contains frames, wherever it is loaded. In use while uses > 0. */
struct uspi_profile_image {
    struct uspi_item item;
    struct usp_image image;  /* as in the first sample; the profile owns the path */
    uint32_t uses;           /* number of nodes, plus 1 while it is kept */
    bool is_kept, is_listed; /* see uspi_profile_keep_images */
    usp_addr placed;         /* in a clone: the load address that usp_images_create_profile gives it */
};

/* A thread with samples, or one that is listed without a stack. In use while uses > 0. */
struct uspi_profile_thread {
    struct uspi_item item;
    struct usp_thread_info info; /* cpu_time is not used */
    uint32_t uses; /* number of totals, plus 1 until it has ended, while a sample is being added, and if it is listed */
    uint32_t last; /* node of its last sample; USPI_NONE: none */
    uint64_t seen; /* time of its last sample */
    bool has_ended;   /* the next thread with this id is another one */
    int32_t no_stack; /* why it is listed without a stack; USP_OK: it is not. See uspi_profile_list */
};

/* Parts of a node's kind: an enum usp_frame_kind, and bits. */
#define USPI_NODE_KIND    0xffu
#define USPI_NODE_THUMB   0x100u /* USP_FRAME_THUMB */
#define USPI_NODE_OMITTED 0x200u /* stands for frames that were left out */

/* A frame together with all of its callers. In use while uses > 0. */
struct uspi_node {
    struct uspi_item item;
    uint64_t offset; /* offset of the pc in its image; outside all images the pc itself */
    uint32_t image;  /* USPI_NONE: outside all images */
    uint32_t parent; /* its caller; USPI_NONE: this is the outermost frame */
    uint32_t kind;   /* enum usp_frame_kind and the bits above */
    uint32_t uses;   /* number of callees, totals, last samples of threads, samples being added, and the mark */
};

/* The sum of one thread's samples of one stack. In use while samples > 0. */
struct uspi_total {
    struct uspi_item item;
    uint32_t thread, node;
    uint64_t samples, wall, cpu;
};

/* An entry of the time line. */
struct uspi_profile_sample {
    uint64_t time, wall, cpu;
    uint32_t total;
    uint32_t count; /* number of samples that it stands for */
};

/* Samples in the order of their times: a ring buffer that begins at `first`. */
struct uspi_time_line {
    struct uspi_profile_sample *samples;
    uint64_t capacity, first, count;
    uint64_t capacity_max; /* maximum value of `capacity` */
};

struct usp_profile {
    struct usp_profile_options options;
    char *program;
    bool was_rolling;           /* clone of a rolling profile */
    enum uspi_files_seen files; /* the strictest of what the lists of the samples' images say */
    uint32_t marked;            /* marked node, which has one more use; see uspi_profile_mark; USPI_NONE: none */
    struct uspi_lock *lock;     /* protects the following fields */
    struct uspi_allowance allowance;
    struct uspi_pool images, threads, nodes, totals;
    struct uspi_time_line line;
    struct usp_profile_run run;
    uint64_t samples, in_line, evicted, refused; /* numbers of samples; `refused` counts calls that add one */
    uint64_t wall, cpu;                          /* sums over all totals */
};

static inline struct uspi_profile_image *uspi_profile_image(const struct usp_profile *profile, uint32_t i) {
    return uspi_pool_at(&profile->images, i);
}

static inline struct uspi_profile_thread *uspi_profile_thread(const struct usp_profile *profile, uint32_t i) {
    return uspi_pool_at(&profile->threads, i);
}

static inline struct uspi_node *uspi_node(const struct usp_profile *profile, uint32_t i) {
    return uspi_pool_at(&profile->nodes, i);
}

static inline struct uspi_total *uspi_total(const struct usp_profile *profile, uint32_t i) {
    return uspi_pool_at(&profile->totals, i);
}

/* Returns sample i; 0: the oldest. */
static inline struct uspi_profile_sample *uspi_profile_sample(const struct usp_profile *profile, uint64_t i) {
    return &profile->line.samples[(profile->line.first + i) % profile->line.capacity];
}

/* Sets *node to its caller. Returns false if it was the outermost frame. */
static inline bool uspi_node_ascend(const struct usp_profile *profile, uint32_t *node) {
    *node = uspi_node(profile, *node)->parent;
    return *node != USPI_NONE;
}

/* Copies the whole profile for one reader, who frees it. In a clone everything is in use, and callers have lower
 * numbers than their callees. Returns NULL if memory is exhausted. (clone.c) */
struct usp_profile *uspi_profile_clone(struct usp_profile *profile);

/* Returns the address of a clone's node in usp_images_create_profile's list. (clone.c) */
usp_addr uspi_node_address(const struct usp_profile *profile, const struct uspi_node *node);

/* Where a clone's image is mapped, as pprof and OTLP describe it: the pages of its code, with their offset in the file.
 * If that is not known, the whole image, with offset 0. (clone.c) */
struct uspi_profile_mapping {
    usp_addr start, limit;
    uint64_t offset;
    bool is_code;
};
struct uspi_profile_mapping uspi_profile_mapping_of(const struct uspi_profile_image *image);

/* Returns a node as a frame with that address. (clone.c) */
struct usp_frame uspi_node_frame(const struct usp_profile *profile, const struct uspi_node *node);

/* ---- for monitors (keep.c, save.c) ---- */

/* Keeps these images, and forgets images that were kept before and have no frames. Adding frames in kept images
 * allocates no memory. */
void uspi_profile_keep_images(struct usp_profile *profile, const struct usp_images *images);

/* Forgets every sample. Kept images stay. */
void uspi_profile_clear(struct usp_profile *profile);

/* Adds processor time, in ns, to the last sample on the time line in which a thread that has not ended ran; if there is
 * none, to its last sample. Returns false when the time line has no sample of the thread. */
bool uspi_profile_add_cpu(struct usp_profile *profile, uint64_t thread, uint64_t cpu);

/* Marks the stack of a thread's last sample: it stays in the profile and in copies, even if the sample is evicted. */
void uspi_profile_mark(struct usp_profile *profile, uint64_t thread);

/* Lists a thread that has no sample, and the status that says why. Whole copies and saved profiles keep it. A thread
 * that does not fit counts as refused. */
void uspi_profile_list(struct usp_profile *profile, const struct usp_thread_info *info, int32_t status);

/* Writes the profile, without its time line, to memory. *used: the number of bytes needed. Returns USP_OK or
 * USP_ERROR_FULL. Allocates nothing. */
int uspi_profile_save(struct usp_profile *profile, uint8_t *to, size_t capacity, size_t *used);

/* Reads what uspi_profile_save has written. After USP_OK the caller frees *profile. Other results: USP_ERROR_FORMAT,
 * USP_ERROR_TRUNCATED, USP_ERROR_NO_MEMORY. */
int uspi_profile_load(const uint8_t *bytes, size_t n, struct usp_profile **profile);

/* Gives the marked stack of a clone, with addresses as in struct usp_profile_entry. The caller frees stack->frames.
 * Returns USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_NO_MEMORY. (read.c) */
int uspi_profile_marked(const struct usp_profile *clone, struct usp_stack *stack);

/* Finds the node of a clone at which the heaviest stack ends, and its share in thousandths. Returns USP_OK,
 * USP_ERROR_NOT_FOUND, USP_ERROR_NO_MEMORY. (read.c) */
int uspi_profile_find_heaviest(const struct usp_profile *clone, uint64_t thread, uint32_t value, uint32_t *node,
                               uint32_t *share);

/* ---- for copies of parts (profile.c): the caller holds the lock or is the only user ---- */

/* Whether two images are the same build, wherever they are loaded. Images without a build id are compared by path and
 * size. */
bool uspi_is_same_build(const struct usp_image *a, const struct usp_image *b);

/* Returns a hash of what uspi_is_same_build compares. */
uint64_t uspi_hash_build(const struct usp_image *image);

/* Returns the number of a build in the profile, and adds its image if necessary; USPI_NONE if there is no room. Adds no
 * use. */
uint32_t uspi_profile_know_image(struct usp_profile *profile, const struct usp_image *image);

/* Returns the node under a parent with the same offset, image and kind, and adds it if necessary; USPI_NONE if there is
 * no room. */
uint32_t uspi_profile_know_node(struct usp_profile *profile, const struct uspi_node *like);

/* Adds samples of a node to the totals of a thread; `sample`: entry for the time line, NULL: none. Returns USP_OK or
 * USP_ERROR_FULL. */
int uspi_profile_count(struct usp_profile *profile, const struct uspi_total *amount,
                       const struct uspi_profile_sample *sample);

/* Removes an image that has no uses. */
void uspi_profile_remove_image(struct usp_profile *profile, uint32_t i);

/* Removes one use of a node, which may remove the node. */
void uspi_profile_give_up_node(struct usp_profile *profile, uint32_t node);

/* Returns the entry of a live thread, and adds it if necessary; USPI_NONE if there is no room. */
uint32_t uspi_profile_know_thread(struct usp_profile *profile, const struct usp_thread_info *info);

/* Removes one use of a thread, which may remove the thread. */
void uspi_profile_give_up_thread(struct usp_profile *profile, uint32_t i);

/* Marks a thread as listed without a stack. `status` is not USP_OK. */
static inline void uspi_profile_mark_listed(struct usp_profile *profile, uint32_t thread, int32_t status) {
    struct uspi_profile_thread *listed = uspi_profile_thread(profile, thread);
    if (listed->no_stack == USP_OK) listed->uses++;
    listed->no_stack = status;
}

#endif
