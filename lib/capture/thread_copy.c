/* SPDX-License-Identifier: MIT */
/* Reads memory of a stopped thread from its copy. See thread_copy.h. */
#include "lib/capture/thread_copy.h"

int uspi_read_parts(const struct uspi_thread_copy *copy, usp_addr from, void *to, size_t n) {
    bool is_hole = false;
    for (unsigned i = 0; i < USPI_PARTS; i++) {
        if (uspi_read_copied(&copy->parts[i], from, to, n)) return USP_OK;
    }
    for (unsigned i = 0; i < sizeof copy->holes / sizeof *copy->holes; i++) {
        is_hole = is_hole || (from < copy->holes[i].high && from >= copy->holes[i].low);
    }
    return is_hole ? USP_ERROR_UNREADABLE : USP_ERROR_ABSENT;
}

/* Whether an address is beyond the copied part of a stack that continues there. */
static bool is_cut_off(const struct uspi_thread_copy *copy, usp_addr from) {
    for (unsigned i = 0; i < USPI_PARTS; i++) {
        const usp_addr end = copy->parts[i].from + copy->parts[i].size;
        if (from < end || end == 0) continue;
        if (end >= copy->unsure.low && from < copy->unsure.high) return true;
        for (unsigned k = 0; k < sizeof copy->holes / sizeof *copy->holes; k++) {
            if (end >= copy->holes[k].low && from < copy->holes[k].high) return true;
        }
    }
    return false;
}

int uspi_read_stacks(struct uspi_thread_copy *copy, usp_addr from, void *to, size_t n) {
    int status = uspi_read_parts(copy, from, to, n);
    bool is_unsure = from < copy->unsure.high && from >= copy->unsure.low;
    if (status == USP_ERROR_ABSENT && is_unsure) status = USP_ERROR_UNREADABLE;
    if (status == USP_ERROR_UNREADABLE && is_cut_off(copy, from + n - 1)) {
        atomic_store_explicit(&copy->was_cut_off, true, memory_order_relaxed);
    }
    return status;
}

void uspi_note_cut(const struct uspi_thread_copy *copy, struct usp_stack *stack) {
    if (!atomic_load_explicit(&copy->was_cut_off, memory_order_relaxed)) return;
    switch (stack->stop) {
    case USP_STOP_ROOT:
    case USP_STOP_CAPACITY:
    case USP_STOP_CYCLE:
    case USP_STOP_STEP_LIMIT:
    case USP_STOP_DEADLINE: break;
    default: stack->stop = USP_STOP_NOT_COPIED; break;
    }
}
