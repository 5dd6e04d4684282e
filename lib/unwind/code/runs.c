/* SPDX-License-Identifier: MIT */
/* See runs.h. */
#include "lib/unwind/code/runs.h"

bool uspi_runs_hold(const struct uspi_runs *r, int32_t at) {
    for (unsigned i = 0; i < r->count; i++) {
        if (at >= r->runs[i].from && at < r->runs[i].to) return true;
    }
    return false;
}

static void sort(struct uspi_runs *r) {
    for (unsigned i = 1; i < r->count; i++) {
        const struct uspi_code_run run = r->runs[i];
        unsigned k = i;
        for (; k > 0 && r->runs[k - 1].from > run.from; k--) r->runs[k] = r->runs[k - 1];
        r->runs[k] = run;
    }
}

/* Merges adjacent runs. An exploration visits blocks in any order, so runs become adjacent over time. */
static void join(struct uspi_runs *r) {
    unsigned joined = 0;
    sort(r);
    for (unsigned i = 1; i < r->count; i++) {
        if (r->runs[i].from == r->runs[joined].to) {
            r->runs[joined].to = r->runs[i].to;
        } else {
            r->runs[++joined] = r->runs[i];
        }
    }
    if (r->count > 0) r->count = joined + 1;
}

struct uspi_code_run *uspi_runs_begin(struct uspi_runs *r, int32_t at) {
    for (unsigned i = 0; i < r->count; i++) {
        if (r->runs[i].to == at) return &r->runs[i];
    }
    if (r->count == USPI_RUNS_MAX) join(r);
    if (r->count == USPI_RUNS_MAX) return NULL;
    struct uspi_code_run *run = &r->runs[r->count++];
    *run = (struct uspi_code_run){at, at};
    return run;
}

/* After join, of two ends that no run holds, the one of the later run is the higher one: each end is compared once. */
int32_t uspi_runs_nearest_end(struct uspi_runs *r, int32_t at, enum uspi_side side) {
    join(r);
    for (unsigned i = 0; i < r->count; i++) {
        const int32_t end = r->runs[side == USPI_BELOW ? r->count - 1 - i : i].to;
        if ((side == USPI_BELOW ? end <= at : end >= at) && !uspi_runs_hold(r, end)) return end;
    }
    return INT32_MIN;
}
