/* SPDX-License-Identifier: MIT */
/* What a profile consists of: images, threads, the tree's nodes, totals, and the time line of samples. profile.c fills it,
 * clone.c copies it, the writers read copies. */
#ifndef USPI_PROFILE_H
#define USPI_PROFILE_H

#include "lib/base/hash.h"
#include "lib/base/pool.h"

#include <unspool/profile.h>

struct uspi_lock; /* lib/os/os.h */

/* A build that frames lie in, wherever it is loaded. In use while uses > 0. */
struct uspi_profile_image {
    struct uspi_item item;
    struct usp_image image;  /* as it was met first; the path is the profile's */
    uint32_t uses;           /* nodes, and 1 while it is kept */
    bool is_kept, is_listed; /* see uspi_profile_keep_images */
    usp_addr placed;         /* in a clone: the load address that usp_images_create_profile gives it */
};

/* In use while uses > 0. */
struct uspi_profile_thread {
    struct uspi_item item;
    struct usp_thread_info info; /* cpu_time is not used */
    uint32_t uses;               /* totals, 1 until it has ended, and 1 while a sample is being added */
    uint32_t last;               /* node of its last sample, USPI_NONE; */
    uint64_t seen;               /* and when that was */
    bool has_ended;              /* the next thread with this id is another one */
};

/* What a node's kind holds beside its enum usp_frame_kind. */
#define USPI_NODE_KIND    0xffu
#define USPI_NODE_THUMB   0x100u /* USP_FRAME_THUMB */
#define USPI_NODE_OMITTED 0x200u /* stands for frames that were left out */

/* A frame with all of its callers. In use while uses > 0. */
struct uspi_node {
    struct uspi_item item;
    uint64_t offset; /* of the pc in its image; outside of all images the pc */
    uint32_t image;  /* USPI_NONE: outside of all */
    uint32_t parent; /* its caller, USPI_NONE: the outermost frame */
    uint32_t kind;   /* enum usp_frame_kind and the bits above */
    uint32_t uses;   /* callees, totals, threads whose last sample it is, and 1 while a sample is being added */
};

/* What one thread's samples of one stack amount to. In use while samples > 0. */
struct uspi_total {
    struct uspi_item item;
    uint32_t thread, node;
    uint64_t samples, wall, cpu;
};

struct uspi_profile_sample {
    uint64_t time, wall, cpu;
    uint32_t total;
    uint32_t count; /* samples with this stack that it is */
};

/* Samples in the order of their times: a ring that begins at `first`. */
struct uspi_time_line {
    struct uspi_profile_sample *samples;
    uint64_t room, first, count;
    uint64_t room_max; /* as far as it may grow */
};

struct usp_profile {
    struct usp_profile_options options;
    char *program;
    bool was_rolling;       /* it is the clone of a rolling profile */
    uint32_t marked;        /* a node with a use of its own, see uspi_profile_mark; USPI_NONE: none */
    struct uspi_lock *lock; /* for all that follows */
    struct uspi_allowance allowance;
    struct uspi_pool images, threads, nodes, totals;
    struct uspi_time_line line;
    struct usp_profile_run run;
    uint64_t samples, in_line, evicted, refused; /* each counted as often as it was */
    uint64_t wall, cpu;                          /* of all totals */
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

/* Sample i, 0: the oldest. */
static inline struct uspi_profile_sample *uspi_profile_sample(const struct usp_profile *profile, uint64_t i) {
    return &profile->line.samples[(profile->line.first + i) % profile->line.room];
}

/* The path of a node from the innermost frame on; *node becomes the caller. False behind the outermost one. */
static inline bool uspi_node_ascend(const struct usp_profile *profile, uint32_t *node) {
    *node = uspi_node(profile, *node)->parent;
    return *node != USPI_NONE;
}

/* A copy of all for one reader, to be freed. Everything in it is in use, and callers have lower numbers than their callees. NULL
 * when memory lacks. (clone.c) */
struct usp_profile *uspi_profile_clone(struct usp_profile *profile);

/* A node's address in usp_images_create_profile's list; for a clone. (clone.c) */
usp_addr uspi_node_address(const struct usp_profile *profile, const struct uspi_node *node);

/* A node as a frame with that address. (clone.c) */
struct usp_frame uspi_node_frame(const struct usp_profile *profile, const struct uspi_node *node);

/* ---- for monitors (keep.c, save.c) ---- */

/* Remembers these images, and forgets those that were remembered before and have no frames: no memory is allocated when frames
 * are added that lie in them. */
void uspi_profile_keep_images(struct usp_profile *profile, const struct usp_images *images);

/* Forgets every sample. Remembered images stay. */
void uspi_profile_clear(struct usp_profile *profile);

/* Marks the stack of the last sample of a thread: it stays in the profile, and in copies, whatever becomes of the sample. */
void uspi_profile_mark(struct usp_profile *profile, uint64_t thread);

/* Writes the profile, without its time line, to memory: USP_OK, with the number of bytes, or USP_ERROR_FULL. Allocates nothing. */
int uspi_profile_save(struct usp_profile *profile, uint8_t *to, size_t room, size_t *used);

/* Reads what was saved. On USP_OK *profile is the caller's to free; otherwise USP_ERROR_FORMAT, USP_ERROR_TRUNCATED,
 * USP_ERROR_NO_MEMORY. */
int uspi_profile_load(const uint8_t *bytes, size_t n, struct usp_profile **profile);

/* The marked stack of a clone, in frames that are malloc'ed and the caller's to free, with addresses as in struct
 * usp_profile_entry. USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_NO_MEMORY. (read.c) */
int uspi_profile_marked(const struct usp_profile *clone, struct usp_stack *stack);

/* The node of a clone in which the heaviest stack ends, and its share in thousandths. USP_OK, USP_ERROR_NOT_FOUND,
 * USP_ERROR_NO_MEMORY. (read.c) */
int uspi_profile_find_heaviest(const struct usp_profile *clone, uint64_t thread, uint32_t value, uint32_t *node,
                               uint32_t *share);

/* ---- for copies of parts (profile.c); the lock is held, or there is only one user ---- */

/* Whether two images are the same build, wherever they are loaded. Without a build-id the path and the size stand for it. */
bool uspi_is_same_build(const struct usp_image *a, const struct usp_image *b);

/* The number of a build in the profile, or of the image that is added for it; USPI_NONE when there is no room. Takes no use. */
uint32_t uspi_profile_know_image(struct usp_profile *profile, const struct usp_image *image);

/* The node under a parent with the same offset, image and kind, which is added if there is none. USPI_NONE when there is no
 * room. */
uint32_t uspi_profile_know_node(struct usp_profile *profile, const struct uspi_node *like);

/* Adds samples of a node to the totals of a thread, and one of them to the time line unless it is NULL. USP_OK or
 * USP_ERROR_FULL. */
int uspi_profile_count(struct usp_profile *profile, const struct uspi_total *amount,
                       const struct uspi_profile_sample *sample);

/* An image without uses goes. */
void uspi_profile_remove_image(struct usp_profile *profile, uint32_t i);

/* One use of a node less. */
void uspi_profile_give_up_node(struct usp_profile *profile, uint32_t node);

/* The entry of a live thread, which is added if there is none; USPI_NONE when there is no room. */
uint32_t uspi_profile_know_thread(struct usp_profile *profile, const struct usp_thread_info *info);

#endif
