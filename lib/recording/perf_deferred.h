/* SPDX-License-Identifier: MIT */
/* Samples whose user part is in a later record: newer kernels read a process's stack when it returns from the kernel.
 * One such record serves all samples of a thread with the same cookie. */
#ifndef USPI_RECORDING_PERF_DEFERRED_H
#define USPI_RECORDING_PERF_DEFERRED_H

#include "lib/recording/perf_event.h"

struct uspi_perf_deferred_sample {
    uint64_t cookie, time;
    uint32_t tid;
    struct uspi_perf_record record; /* its bytes are owned */
};

/* Begin with the function and its context. */
struct uspi_perf_deferred {
    /* Handles a sample with the addresses of its user part; NULL, 0: they did not come. */
    int (*sample)(void *context, const struct uspi_perf_record *record, uint64_t time, const uint8_t *addresses,
                  uint64_t count);
    void *context;
    struct uspi_perf_deferred_sample *all;
    size_t count, capacity;
};

/* Whether a sample's user part comes later; *cookie identifies it. */
bool uspi_perf_is_deferred(const struct uspi_perf_sample *sample, uint64_t *cookie);

/* Keeps a copy of a sample. When there are too many, the first ones are handled without user part. Returns USP_OK,
 * USP_ERROR_NO_MEMORY, or what the function returned. */
int uspi_perf_deferred_keep(struct uspi_perf_deferred *deferred, const struct uspi_perf_record *record,
                            const struct uspi_perf_sample *sample, uint64_t cookie);

/* Handles the samples that a record of type USPI_PERF_DEFERRED belongs to. `body`: its size without the tail. */
int uspi_perf_deferred_complete(struct uspi_perf_deferred *deferred, const struct uspi_perf_record *record,
                                size_t body);

/* Handles the other samples. */
int uspi_perf_deferred_flush(struct uspi_perf_deferred *deferred);

void uspi_perf_deferred_clear(struct uspi_perf_deferred *deferred);

#endif
