/* SPDX-License-Identifier: MIT */
/* Implements by_thread.h: sorts a profile's samples by thread. */
#include "lib/profile/by_thread.h"

#include <stdlib.h>
#include <string.h>

static uint64_t count_of(const struct usp_profile *clone) {
    return clone->line.count > 0 ? clone->line.count : clone->totals.begun;
}

static struct uspi_timed sample_at(const struct usp_profile *clone, uint64_t i) {
    if (clone->line.count == 0) {
        const struct uspi_total *total = uspi_total(clone, (uint32_t)i);
        return (struct uspi_timed){0, total->wall, total->cpu, total->node, total->thread};
    }
    const struct uspi_profile_sample *sample = uspi_profile_sample(clone, i);
    const struct uspi_total *total = uspi_total(clone, sample->total);
    return (struct uspi_timed){sample->time, sample->wall, sample->cpu, total->node, total->thread};
}

/* Totals have no times: each one gets the time at which it ends if it begins where the one before it ends. */
static void lay_end_to_end(struct uspi_by_thread *sorted, uint32_t threads) {
    for (uint32_t i = 0; i < threads; i++) {
        uint64_t time = 0;
        for (uint64_t k = sorted->starts[i]; k < sorted->starts[i + 1]; k++) {
            time += sorted->samples[k].wall;
            sorted->samples[k].time = time;
        }
    }
}

int uspi_by_thread_sort(struct uspi_by_thread *sorted, const struct usp_profile *clone) {
    const uint64_t count = count_of(clone);
    const uint32_t threads = clone->threads.begun;
    sorted->samples =
        count < SIZE_MAX / sizeof *sorted->samples ? malloc(((size_t)count + 1) * sizeof *sorted->samples) : NULL;
    sorted->starts = calloc((size_t)threads + 2, sizeof *sorted->starts);
    if (sorted->samples == NULL || sorted->starts == NULL) return USP_ERROR_NO_MEMORY;
    /* Thread i is counted at i + 2, so that starts[i + 1] is its start at first. Placing its samples moves that to the
     * start of thread i + 1. */
    uint64_t *starts = sorted->starts;
    for (uint64_t i = 0; i < count; i++) starts[sample_at(clone, i).thread + 2]++;
    for (uint32_t i = 1; i < threads + 2; i++) starts[i] += starts[i - 1];
    for (uint64_t i = 0; i < count; i++) {
        struct uspi_timed sample = sample_at(clone, i);
        sorted->samples[starts[sample.thread + 1]++] = sample;
    }
    if (clone->line.count == 0) lay_end_to_end(sorted, threads);
    return USP_OK;
}

void uspi_by_thread_free(struct uspi_by_thread *sorted) {
    free(sorted->samples);
    free(sorted->starts);
    memset(sorted, 0, sizeof *sorted);
}
