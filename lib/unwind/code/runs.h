/* SPDX-License-Identifier: MIT */
/* The addresses that an exploration has visited, as linear runs of code. */
#ifndef USPI_UNWIND_CODE_RUNS_H
#define USPI_UNWIND_CODE_RUNS_H

#include "arch/backend.h"

#define USPI_RUNS_MAX 128

struct uspi_code_run {
    int32_t from, to; /* relative to the origin */
};

struct uspi_runs {
    unsigned count;
    struct uspi_code_run runs[USPI_RUNS_MAX];
};

bool uspi_runs_hold(const struct uspi_runs *runs, int32_t at);

/* Returns the run for the unvisited instruction at `at`, or NULL when there is no room. */
struct uspi_code_run *uspi_runs_begin(struct uspi_runs *runs, int32_t at);

enum uspi_side { USPI_BELOW, USPI_ABOVE };

/* Returns the nearest end of a run at or below (or above) `at` that was not visited itself, or INT32_MIN. Merges adjacent
 * runs: those of uspi_runs_begin are invalid then. */
int32_t uspi_runs_nearest_end(struct uspi_runs *runs, int32_t at, enum uspi_side side);

#endif
