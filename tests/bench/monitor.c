/* SPDX-License-Identifier: MIT */
/* Measures the cost of a monitor for a loop that never hangs, and how long after its beginning a hang is reported. */
#include "tests/bench/measure.h"

#include <stdatomic.h>
#include <unistd.h>

#define ROUNDS 51u
#define HANGS  9u
#define HANG   UINT64_C(250000000)

/* ---- a turn ---- */

static void run_turns(void *context, unsigned times) {
    for (unsigned i = 0; i < times; i++) {
        usp_monitor_turn_begin(context);
        usp_monitor_waiting(context);
    }
}

/* ---- a hang ---- */

static _Atomic(uint64_t) reported; /* time by usp_clock */

static void began(void *context, const struct usp_hang *hang) {
    (void)context;
    (void)hang;
    atomic_store(&reported, usp_clock());
}

/* Makes a turn that lasts until it is reported as a hang. Returns how long that took, in ms. */
static double hang(struct usp_monitor *monitor) {
    atomic_store(&reported, 0);
    usp_monitor_turn_begin(monitor);
    const uint64_t begin = usp_clock();
    while (atomic_load(&reported) == 0 && usp_clock() - begin < 8 * HANG) continue;
    usp_monitor_waiting(monitor);
    usleep(50000);
    return ((double)atomic_load(&reported) - (double)begin) / 1e6;
}

int main(void) {
    struct usp_monitor_options options;
    struct usp_monitor *monitor;
    usp_monitor_options_init(&options);
    options.hang = HANG;
    options.began = began;
    if (usp_monitor_create(&options, &monitor) != USP_OK || usp_monitor_start(monitor) != USP_OK) return 1;

    struct subject turn = {.name = "a turn", .run = run_turns, .context = monitor};
    time_subjects(&turn, 1, ROUNDS);
    const double ns = median(turn.rounds, ROUNDS);
    printf("a healthy turn: %.0f ns, median of %u; to reach 100 ns: %s\n", ns, ROUNDS, verdict(ns <= 100));

    double delays[HANGS], longest = 0;
    for (unsigned i = 0; i < HANGS; i++) {
        delays[i] = hang(monitor);
        if (delays[i] > longest) longest = delays[i];
    }
    const double limit = (double)HANG / 1e6 * 1.1;
    printf("a hang of %.0f ms is reported after %.0f ms, the longest of %u after %.0f ms; to reach %.0f ms: %s\n",
           (double)HANG / 1e6, median(delays, HANGS), HANGS, longest, limit, verdict(longest <= limit));
    usp_monitor_free(monitor);
    return 0;
}
