/* SPDX-License-Identifier: MIT */
/* See perf_queue.h. */
#include "lib/recording/perf_queue.h"

#include "lib/base/array.h"
#include "lib/base/merge_sort.h"

#include <stdlib.h>

#include <unspool/base.h>

/* Bytes of queued records above which the older half is handled. */
#define BYTES_MAX ((size_t)24 << 20)

/* Size of a block; a record has at most 65,535 bytes. */
#define BLOCK ((size_t)256 << 10)

/* Number of blocks above which the older half is handled, too: one record that waits keeps its block. */
#define BLOCKS_MAX (2 * BYTES_MAX / BLOCK)

/* Memory for records. It is used again when all of them have been handled. */
struct uspi_perf_block {
    struct uspi_perf_block *next; /* in the list of empty blocks */
    size_t used, records;
    uint8_t bytes[BLOCK];
};

static bool is_before(const void *a, const void *b) {
    return ((const struct uspi_perf_queued *)a)->time < ((const struct uspi_perf_queued *)b)->time;
}

/* Returns a block with room for n bytes; NULL when memory is exhausted. */
static struct uspi_perf_block *block_for(struct uspi_perf_queue *queue, size_t n) {
    struct uspi_perf_block *block = queue->filling;
    if (block != NULL && BLOCK - block->used >= n) return block;
    if (block != NULL && block->records == 0) {
        block->used = 0;
        return block;
    }
    block = queue->free;
    if (block != NULL) {
        queue->free = block->next;
    } else {
        block = malloc(sizeof *block);
        if (block == NULL) return NULL;
    }
    block->next = NULL;
    block->used = block->records = 0;
    queue->filling = block;
    queue->blocks++;
    return block;
}

static void release(struct uspi_perf_queue *queue, const struct uspi_perf_queued *queued) {
    struct uspi_perf_block *block = queued->block;
    queue->bytes -= queued->record.size + sizeof *queued;
    if (--block->records > 0 || block == queue->filling) return;
    block->next = queue->free;
    queue->free = block;
    queue->blocks--;
}

/* Handles records in the order of time: those up to a time, but at most `most`. */
static int handle(struct uspi_perf_queue *queue, uint64_t up_to, size_t most) {
    int status = USP_OK;
    size_t done = 0;
    if (queue->count == 0) return USP_OK;
    if (queue->spare_capacity < queue->capacity) {
        free(queue->spare);
        queue->spare = malloc(queue->capacity * sizeof *queue->spare);
        queue->spare_capacity = queue->spare != NULL ? queue->capacity : 0;
        if (queue->spare == NULL) return USP_ERROR_NO_MEMORY;
    }
    uspi_merge_sort(queue->all, queue->spare, queue->count, sizeof *queue->all, is_before);
    for (; done < queue->count && done < most && queue->all[done].time <= up_to && status == USP_OK; done++) {
        status = queue->record(queue->context, &queue->all[done].record, queue->all[done].time);
        release(queue, &queue->all[done]);
    }
    queue->count -= done;
    memmove(queue->all, queue->all + done, queue->count * sizeof *queue->all);
    return status;
}

int uspi_perf_queue_add(struct uspi_perf_queue *queue, const struct uspi_perf_record *record, uint64_t time) {
    if (queue->bytes > BYTES_MAX || queue->blocks > BLOCKS_MAX) {
        const int status = handle(queue, UINT64_MAX, queue->count / 2 + 1);
        if (status != USP_OK) return status;
    }
    struct uspi_perf_block *block = record->size <= BLOCK ? block_for(queue, record->size) : NULL;
    if (block == NULL || !uspi_room_for(&queue->all, &queue->capacity, queue->count, 1, sizeof *queue->all))
        return USP_ERROR_NO_MEMORY;
    uint8_t *copy = block->bytes + block->used;
    if (record->size > 0) memcpy(copy, record->bytes, record->size);
    block->used += record->size;
    block->records++;
    queue->bytes += record->size + sizeof *queue->all;
    queue->all[queue->count] = (struct uspi_perf_queued){time, *record, block};
    queue->all[queue->count++].record.bytes = copy;
    if (time > queue->latest) queue->latest = time;
    return USP_OK;
}

int uspi_perf_queue_end_round(struct uspi_perf_queue *queue) {
    const int status = handle(queue, queue->latest_before, SIZE_MAX);
    queue->latest_before = queue->latest;
    return status;
}

int uspi_perf_queue_flush(struct uspi_perf_queue *queue) { return handle(queue, UINT64_MAX, SIZE_MAX); }

void uspi_perf_queue_clear(struct uspi_perf_queue *queue) {
    for (size_t i = 0; i < queue->count; i++) release(queue, &queue->all[i]);
    while (queue->free != NULL) {
        struct uspi_perf_block *next = queue->free->next;
        free(queue->free);
        queue->free = next;
    }
    free(queue->filling);
    free(queue->all);
    free(queue->spare);
    memset(queue, 0, sizeof *queue);
}
