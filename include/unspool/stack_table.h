/* SPDX-License-Identifier: MIT */
/* Stacks that were seen before: equal ones are kept once, with how often and when they were seen. For programs that capture
 * the same few stacks thousands of times: monitors, profilers, auditors of calls. */
#ifndef UNSPOOL_STACK_TABLE_H
#define UNSPOOL_STACK_TABLE_H

#include <unspool/base.h>
#include <unspool/images.h>
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
 * back after that is a new one with a new number. Of the images that were loaded it remembers those that its stacks, and
 * records that were not released, lie in. */
struct usp_stack_table;

#define USP_STACK_IDENTITY_SIZE 16

/* A stack of the table, as it was when it was asked for. What it points to is valid until usp_stack_table_release. */
struct usp_stack_record {
    uint64_t number; /* of the stack in this table, from 1 on; never used again */
    uint64_t count;  /* how often it was seen */
    uint64_t first;  /* the times of the first and the last sighting, as given */
    uint64_t last;
    /* The same for equal stacks in every launch of the same builds, on any host: a digest of (build-id or UUID, offset)
     * pairs, images without one by the last part of their path. It does not withstand an attacker who wants two stacks to
     * have the same identity. */
    uint8_t identity[USP_STACK_IDENTITY_SIZE];
    struct usp_stack stack; /* one that was seen so. Its addresses are those of usp_stack_record_images: another library
                               may lie there by now */
    void *opaque;
    uint64_t reserved[3];
};

struct usp_stack_table_options {
    uint32_t size;       /* of this struct in bytes; set by usp_stack_table_options_init */
    uint32_t max_stacks; /* Default 4096 */
    uint32_t max_frames; /* of all stacks together. Default 262144 (about 20 MB when full) */
    uint32_t reserved0;
    /* Of what is captured; the list must outlive the table. NULL: this process as it is at each call. Default NULL. */
    const struct usp_images *images;
    /* Optional: receives each stack that makes room for another one. Called under the table's lock: it must not call the
     * table. The record is valid during the call, and must not be released. */
    void (*evicted)(void *context, const struct usp_stack_record *record);
    void *context;
    uint64_t reserved[5];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_stack_table_options_init(struct usp_stack_table_options *options);

/* options NULL: the defaults. On success *table is the caller's to free. Returns USP_OK, USP_ERROR_ARGUMENT,
 * USP_ERROR_NO_MEMORY. Not async-signal-safe. */
USP_API int usp_stack_table_create(const struct usp_stack_table_options *options, struct usp_stack_table **table);

/* All records must have been released. NULL is ignored. No other call may use it any more. Not async-signal-safe. */
USP_API void usp_stack_table_free(struct usp_stack_table *table);

/* Counts a stack; one that is not known yet is copied. Without options.images its images are those that are loaded during
 * the call: a stack should be added before a library that it runs in can be unloaded.
 *   time    of the sighting, in whatever unit the caller likes, not decreasing
 *   number  may be NULL; becomes the stack's
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_FULL when the stack alone has more than max_frames frames (it is counted in
 * statistics.refused), USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe. */
USP_API int usp_stack_table_add(struct usp_stack_table *table, const struct usp_stack *stack, uint64_t time,
                                uint64_t *number);

/* The stack with a number. On success *record must be released. Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NOT_FOUND when
 * there is none (any more). Thread-safe, not async-signal-safe. */
USP_API int usp_stack_table_get(struct usp_stack_table *table, uint64_t number, struct usp_stack_record *record);

/* The images that the record's frames lie in, with the addresses at which they were loaded when the stack was seen there,
 * whatever was unloaded since. For usp_format_options.images, with any symbolizer; for usp_symbolize_image; for
 * usp_symbolizer_create; and for (build-id, offset) pairs that another machine names. To be called before the record is
 * released; on success *images is the caller's to free, and may live longer. Returns USP_OK, USP_ERROR_ARGUMENT,
 * USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe. */
USP_API int usp_stack_record_images(const struct usp_stack_record *record, struct usp_images **images);

/* Gives back what a record points to, which may have been evicted meanwhile, and clears it. Thread-safe, not
 * async-signal-safe. */
USP_API void usp_stack_table_release(struct usp_stack_table *table, struct usp_stack_record *record);

/* The numbers of all stacks, the one that was seen last first.
 *   numbers, capacity  the caller's array; may be NULL with 0
 * Returns how many there are, also when that is more than capacity. Thread-safe, not async-signal-safe. */
USP_API size_t usp_stack_table_numbers(struct usp_stack_table *table, uint64_t *numbers, size_t capacity);

struct usp_stack_table_statistics {
    uint64_t stacks;            /* in the table now */
    uint64_t frames;            /* of these */
    uint64_t sightings;         /* that were added, lost ones included */
    uint64_t evicted_stacks;    /* that made room for others */
    uint64_t evicted_sightings; /* of these */
    uint64_t refused;           /* stacks that were too long */
    uint64_t images;            /* that are remembered */
    uint64_t reserved[4];
};

/* Thread-safe, not async-signal-safe. */
USP_API void usp_stack_table_get_statistics(struct usp_stack_table *table,
                                            struct usp_stack_table_statistics *statistics);

USP_END_DECLS

#endif
