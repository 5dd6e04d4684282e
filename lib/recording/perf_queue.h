/* SPDX-License-Identifier: MIT */
/* Puts records into the order of their times. perf writes them in rounds; records of a round may be older than those of
 * the round before it, but not than those before that. Memory is bounded: without rounds, or with very long ones, the
 * older half of the records is handled when the queue is full. */
#ifndef USPI_RECORDING_PERF_QUEUE_H
#define USPI_RECORDING_PERF_QUEUE_H

#include "lib/recording/perf_event.h"

struct uspi_perf_block;

struct uspi_perf_queued {
    uint64_t time;
    struct uspi_perf_record record; /* its bytes are in the block */
    struct uspi_perf_block *block;
};

/* All zero but the function and its context: empty. */
struct uspi_perf_queue {
    int (*record)(void *context, const struct uspi_perf_record *record, uint64_t time);
    void *context;

    struct uspi_perf_queued *all, *spare; /* in the order of arrival, behind those that are sorted */
    size_t count, capacity, spare_capacity;
    uint64_t latest, latest_before;         /* largest times up to now, and when the last round ended */
    struct uspi_perf_block *filling, *free; /* the block that gets the next record; a list of empty blocks */
    size_t bytes;                           /* that the queued records take */
    size_t blocks;                          /* number of blocks in use */
};

/* Adds a copy of a record. Returns USP_OK, USP_ERROR_NO_MEMORY, or what the function returned. */
int uspi_perf_queue_add(struct uspi_perf_queue *queue, const struct uspi_perf_record *record, uint64_t time);

/* Ends a round. Returns what the function returned, USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_perf_queue_end_round(struct uspi_perf_queue *queue);

/* Handles all records. Returns the same. */
int uspi_perf_queue_flush(struct uspi_perf_queue *queue);

void uspi_perf_queue_clear(struct uspi_perf_queue *queue);

#endif
