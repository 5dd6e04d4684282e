/* SPDX-License-Identifier: MIT */
/* Stacks that were seen before: equal ones are kept once, with how often and when, and named once.
 * For whoever captures the same few stacks thousands of times: monitors, profilers, auditors of calls. */
#ifndef UNSPOOL_STACK_TABLE_H
#define UNSPOOL_STACK_TABLE_H

#include <unspool/base.h>
#include <unspool/images.h>
#include <unspool/symbolize.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Opaque. Many threads may use one at a time.
 *
 * Two stacks are equal when they have the same frames in the same order (the same offset in the same build of an image, or
 * the same address outside all images; the same kind), with the same number left out at the same place. A hash only says
 * where to look: what is found is compared frame by frame. Where frames lie on the stack, which thread it was and why the
 * walk ended play no part.
 *
 * The table is bounded. When it is full, the stack that was seen longest ago makes room, with all its count: the statistics
 * tell how many stacks and how many sightings were lost so, options.evicted can save them first, and a stack that comes
 * back after that is a new one with a new number. */
struct usp_stack_table;

#define USP_STACK_IDENTITY_SIZE 16

/* A stack of the table, as it was when it was asked for. What it points to is valid until usp_stack_table_release. */
struct usp_stack_record {
    uint64_t number; /* of the stack in this table, from 1 on; never used again */
    uint64_t count;  /* how often it was seen */
    uint64_t first;  /* the times of the first and the last sighting, as given */
    uint64_t last;
    /* The same for equal stacks in every launch of the same builds, on any host: a digest of (build-id or UUID, offset)
     * pairs, images without one by the last part of their path. Not proof against somebody who wants two stacks to have
     * the same. */
    uint8_t identity[USP_STACK_IDENTITY_SIZE];
    struct usp_stack stack; /* one that was seen so */
    const struct usp_symbol
        *symbols; /* one for each frame, for its call site; NULL without a symbolizer, and in `evicted`
                                         unless the stack was named before */
    void *opaque;
    uint64_t reserved[2];
};

struct usp_stack_table_options {
    uint32_t size;       /* of this struct in bytes; set by usp_stack_table_options_init */
    uint32_t max_stacks; /* Default 4096 */
    uint32_t max_frames; /* of all stacks together. Default 262144 (about 20 MB when full and named) */
    uint32_t reserved0;
    const struct usp_images
        *images; /* which must outlive the table; NULL: of this process as it is at each call. Default
                                        NULL */
    struct usp_symbolizer *symbolizer; /* for the same images, must outlive the table; NULL: nothing is named. Default
                                          NULL */
    /* Optional: is told of each stack that makes room for another one. Called under the table's lock: it must not call the
     * table. The record is valid during the call, and is not to be released. */
    void (*evicted)(void *context, const struct usp_stack_record *record);
    void *context;
    uint64_t reserved[4];
};

USP_API void usp_stack_table_options_init(struct usp_stack_table_options *options);

/* options NULL: the defaults. On success *table is the caller's to free. Returns USP_OK, USP_ERROR_ARGUMENT,
 * USP_ERROR_NO_MEMORY. Not signal-safe. */
USP_API int usp_stack_table_create(const struct usp_stack_table_options *options, struct usp_stack_table **table);

/* All records must have been released. NULL is ignored. */
USP_API void usp_stack_table_free(struct usp_stack_table *table);

/* Counts a stack; one that is not known yet is copied.
 *   time    of the sighting, in whatever unit the caller likes, not decreasing
 *   number  may be NULL; becomes the stack's
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_FULL when the stack alone has more than max_frames frames (it is counted in
 * statistics.refused), USP_ERROR_NO_MEMORY. Thread-safe, not signal-safe. */
USP_API int usp_stack_table_add(struct usp_stack_table *table, const struct usp_stack *stack, uint64_t time,
                                uint64_t *number);

/* The stack with a number. Names it when that was not done yet: once for all sightings. On success *record must be released.
 * Returns USP_OK, USP_ERROR_NOT_FOUND when there is none (any more), USP_ERROR_NO_MEMORY. Thread-safe, not signal-safe. */
USP_API int usp_stack_table_get(struct usp_stack_table *table, uint64_t number, struct usp_stack_record *record);

/* Gives back what a record points to, which may have been evicted meanwhile, and clears it. Thread-safe. */
USP_API void usp_stack_table_release(struct usp_stack_table *table, struct usp_stack_record *record);

/* The numbers of all stacks, the one that was seen last first.
 *   numbers, capacity  the caller's array; may be NULL with 0
 * Returns how many there are, also when that is more than capacity. Thread-safe. */
USP_API size_t usp_stack_table_numbers(struct usp_stack_table *table, uint64_t *numbers, size_t capacity);

struct usp_stack_table_statistics {
    uint64_t stacks;            /* in the table now */
    uint64_t frames;            /* of these */
    uint64_t sightings;         /* that were added, lost ones included */
    uint64_t evicted_stacks;    /* that made room for others */
    uint64_t evicted_sightings; /* of these */
    uint64_t refused;           /* stacks that were too long */
    uint64_t namings;           /* stacks that were given to the symbolizer */
    uint64_t reserved[4];
};

/* Thread-safe. */
USP_API void usp_stack_table_get_statistics(struct usp_stack_table *table,
                                            struct usp_stack_table_statistics *statistics);

USP_END_DECLS

#endif
