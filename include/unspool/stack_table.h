/* SPDX-License-Identifier: MIT */
/* A table of stacks that stores equal stacks once, with how often and when they were seen. Meant for programs that
 * capture the same few stacks thousands of times: monitors, profilers, call auditors. */
#ifndef UNSPOOL_STACK_TABLE_H
#define UNSPOOL_STACK_TABLE_H

#include <unspool/base.h>
#include <unspool/images.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Opaque. Many threads may use one at the same time.
 *
 * Two stacks are equal when they have equal frames in the same order, with the same number omitted at the same place.
 * Frames are equal when they have the same kind and the same offset in the same build of an image, or the same address
 * outside all images. Stacks are compared frame by frame; a hash only locates candidates. The positions of frames on
 * the stack, the thread, and the stop reason are ignored.
 *
 * The table is bounded. When it is full, the least recently seen stack is evicted with its count. The statistics count
 * evicted stacks and sightings. options.evicted can save a stack first. If an evicted stack is seen again, it gets a
 * new number. Of the loaded images the table keeps those that contain frames of its stacks or of unreleased records. */
struct usp_stack_table;

#define USP_STACK_IDENTITY_SIZE 16

/* A stack of the table at the time of the call. What it points to is valid until usp_stack_table_release. */
struct usp_stack_record {
    uint64_t number; /* the stack's number in this table, from 1; never reused */
    uint64_t count;  /* how many times it was seen */
    uint64_t first;  /* time of the first sighting, as the caller gave it */
    uint64_t last;
    /* A digest of (build id or UUID, offset) pairs; images without an id count by the last component of their path. It
     * is the same for equal stacks in every launch of the same builds, on any host. It does not resist an attacker who
     * wants two stacks to have the same identity. */
    uint8_t identity[USP_STACK_IDENTITY_SIZE];
    /* One of the equal stacks. Its addresses are those of usp_stack_record_images; another library may be at them by
     * now. */
    struct usp_stack stack;
    void *opaque;
    uint64_t reserved[3];
};

struct usp_stack_table_options {
    uint32_t size;       /* size of this struct in bytes; set by usp_stack_table_options_init */
    uint32_t max_stacks; /* stacks in the table. Default 4096 */
    uint32_t max_frames; /* frames of all stacks together. Default 262144 (about 20 MB when full) */
    uint32_t reserved0;
    /* The images of the captured process. The list must outlive the table. NULL (default): this process as it is at
     * each call. */
    const struct usp_images *images;
    /* Optional: receives each stack that is evicted. Called while the table is locked: it must not call the table. The
     * record is valid during the call, and must not be released. */
    void (*evicted)(void *context, const struct usp_stack_record *record);
    void *context;
    uint64_t reserved[5];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_stack_table_options_init(struct usp_stack_table_options *options);

/* Makes a table. options NULL: the defaults. On success the caller frees *table. Returns USP_OK, USP_ERROR_ARGUMENT,
 * USP_ERROR_NO_MEMORY. Not async-signal-safe: it allocates. */
USP_API int usp_stack_table_create(const struct usp_stack_table_options *options, struct usp_stack_table **table);

/* Frees a table. All records must have been released. NULL is ignored. Not async-signal-safe: it frees memory. */
USP_API void usp_stack_table_free(struct usp_stack_table *table);

/* Counts a stack, and copies it if the table does not have it yet. Without options.images, its images are those that
 * are loaded during the call: add a stack before a library that it runs in can be unloaded.
 *   time    of the sighting, in a unit of the caller's choice, not decreasing
 *   number  receives the stack's number; may be NULL
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY; USP_ERROR_FULL when the stack alone has more than max_frames
 * frames (it is counted in statistics.refused). If there is no list of this process's images and none can be made, also
 * USP_ERROR_BUSY (try again) and USP_ERROR_SYSTEM, as usp_images_refresh says. Thread-safe, not async-signal-safe: it
 * takes the table's lock and allocates. */
USP_API int usp_stack_table_add(struct usp_stack_table *table, const struct usp_stack *stack, uint64_t time,
                                uint64_t *number);

/* Gives the stack with a number. On success the caller releases *record. Returns USP_OK, USP_ERROR_ARGUMENT, or
 * USP_ERROR_NOT_FOUND when the table does not have it, or no longer. Thread-safe, not async-signal-safe: it takes the
 * table's lock. */
USP_API int usp_stack_table_get(struct usp_stack_table *table, uint64_t number, struct usp_stack_record *record);

/* Lists the images that contain the record's frames, at the addresses where they were loaded when the stack was seen,
 * even if they have been unloaded since. Use the list
 *   - as usp_format_options.images, with any symbolizer
 *   - with usp_symbolize_image or usp_symbolizer_create
 *   - for (build id, offset) pairs that another machine symbolicates
 * Names are right even if libraries were unloaded; there is no name when the file of an unloaded library is gone or was
 * replaced. Call it before the record is released. On success the caller frees *images, which may outlive the record.
 * Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe: it allocates. */
USP_API int usp_stack_record_images(const struct usp_stack_record *record, struct usp_images **images);

/* Releases a record, even if its stack was evicted meanwhile, and clears it. Thread-safe, not async-signal-safe: it
 * takes the table's lock. */
USP_API void usp_stack_table_release(struct usp_stack_table *table, struct usp_stack_record *record);

/* Lists the numbers of all stacks, the most recently seen first.
 *   numbers, capacity  the caller's array; may be NULL with 0
 * Returns the number of stacks, even when it exceeds capacity. Thread-safe, not async-signal-safe: it takes the table's
 * lock. */
USP_API size_t usp_stack_table_numbers(struct usp_stack_table *table, uint64_t *numbers, size_t capacity);

struct usp_stack_table_statistics {
    uint64_t stacks;            /* stacks in the table now */
    uint64_t frames;            /* frames of these stacks */
    uint64_t sightings;         /* sightings that were added, including those of evicted stacks */
    uint64_t evicted_stacks;    /* stacks that were evicted */
    uint64_t evicted_sightings; /* sightings of evicted stacks */
    uint64_t refused;           /* stacks with too many frames */
    uint64_t images;            /* images that the table keeps */
    uint64_t reserved[4];
};

/* Fills *statistics. Thread-safe, not async-signal-safe: it takes the table's lock. */
USP_API void usp_stack_table_get_statistics(struct usp_stack_table *table,
                                            struct usp_stack_table_statistics *statistics);

USP_END_DECLS

#endif
