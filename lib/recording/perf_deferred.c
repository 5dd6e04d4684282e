/* SPDX-License-Identifier: MIT */
/* See perf_deferred.h. */
#include "lib/recording/perf_deferred.h"

#include "lib/base/array.h"

#include <unspool/base.h>

#define SAMPLES_MAX 256u

bool uspi_perf_is_deferred(const struct uspi_perf_sample *sample, uint64_t *cookie) {
    if (sample->chain_count < 2) return false;
    const uint8_t *end = sample->chain + 8 * (size_t)(sample->chain_count - 2);
    *cookie = uspi_le64(end + 8);
    return uspi_le64(end) == USPI_PERF_CONTEXT_DEFERRED;
}

/* Handles sample i and removes it. */
static int handle(struct uspi_perf_deferred *deferred, size_t i, const uint8_t *addresses, uint64_t count) {
    const struct uspi_perf_deferred_sample sample = deferred->all[i];
    deferred->count--;
    memmove(deferred->all + i, deferred->all + i + 1, (deferred->count - i) * sizeof *deferred->all);
    const int status = deferred->sample(deferred->context, &sample.record, sample.time, addresses, count);
    free((void *)(uintptr_t)sample.record.bytes);
    return status;
}

int uspi_perf_deferred_keep(struct uspi_perf_deferred *deferred, const struct uspi_perf_record *record,
                            const struct uspi_perf_sample *sample, uint64_t cookie) {
    if (deferred->count >= SAMPLES_MAX) {
        const int status = handle(deferred, 0, NULL, 0);
        if (status != USP_OK) return status;
    }
    if (!uspi_room_for(&deferred->all, &deferred->capacity, deferred->count, 1, sizeof *deferred->all))
        return USP_ERROR_NO_MEMORY;
    uint8_t *copy = malloc(record->size + 1);
    if (copy == NULL) return USP_ERROR_NO_MEMORY;
    memcpy(copy, record->bytes, record->size);
    struct uspi_perf_deferred_sample *kept = &deferred->all[deferred->count++];
    *kept = (struct uspi_perf_deferred_sample){cookie, sample->time, sample->tid, *record};
    kept->record.bytes = copy;
    return USP_OK;
}

int uspi_perf_deferred_complete(struct uspi_perf_deferred *deferred, const struct uspi_perf_record *record,
                                size_t body) {
    struct uspi_fields fields = {record->bytes, body, false};
    const uint64_t cookie = uspi_fields_u64(&fields), count = uspi_fields_u64(&fields);
    const uint8_t *addresses = uspi_fields_array(&fields, count, 8);
    /* The tail begins with the ids of process and thread. */
    struct uspi_fields tail = {record->bytes + body, record->size - body, false};
    (void)uspi_fields_u32(&tail);
    const uint32_t tid = uspi_fields_u32(&tail);
    int status = USP_OK;
    for (size_t i = 0; addresses != NULL && i < deferred->count && status == USP_OK;) {
        const struct uspi_perf_deferred_sample *sample = &deferred->all[i];
        if (sample->cookie == cookie && (tail.is_short || sample->tid == tid)) {
            status = handle(deferred, i, addresses, count);
        } else {
            i++;
        }
    }
    return status;
}

int uspi_perf_deferred_flush(struct uspi_perf_deferred *deferred) {
    int status = USP_OK;
    while (deferred->count > 0 && status == USP_OK) status = handle(deferred, 0, NULL, 0);
    return status;
}

void uspi_perf_deferred_clear(struct uspi_perf_deferred *deferred) {
    for (size_t i = 0; i < deferred->count; i++) free((void *)(uintptr_t)deferred->all[i].record.bytes);
    free(deferred->all);
}
