/* SPDX-License-Identifier: MIT */
/* Measures the cost of a sampler for its own process, at 100 samples a second: of the main thread at work, and of 200
 * threads of which 4 or all run. Reports the kernel's processor time of the process without the sampled threads, and
 * the time for which these were stopped. */
#define _GNU_SOURCE 1
#include "tests/bench/working_threads.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define THREADS 200u
#define ROUNDS  5u
#define SECONDS 2u
/* The first ticks capture every thread, and some threads a few times more. They are not measured; nor is what comes
 * within WARM_SECONDS where ticks are rare. */
#define WARM_TICKS   20u
#define WARM_SECONDS 3.0

/* The sampled threads. `share` is the goal for 100 ticks a second, in per cent of a processor; 0: no goal, the cost is
 * only reported. On a busy machine fewer ticks come, so the cost of one tick is compared. */
struct subject_of_samples {
    const char *name;
    unsigned threads; /* threads in addition to the main one */
    unsigned running; /* how many of them run */
    unsigned depth;
    uint32_t which, budget_cpu;
    double share;
    bool is_stop_limited;
};

static const struct subject_of_samples subjects[] = {
    {"the main thread, 64 calls deep", 0, 0, 64, USP_SAMPLER_MAIN, 0, 0.5, true},
    {"200 threads, 4 of them run", THREADS, 4, 16, USP_SAMPLER_ALL, 0, 3, false},
    {"200 threads, all run", THREADS, THREADS, 16, USP_SAMPLER_ALL, 0, 0, false},
    {"the same with the default budget", THREADS, THREADS, 16, USP_SAMPLER_ALL, 10, 0, false},
};

static double seconds_of(clockid_t clock) {
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? (double)t.tv_sec + (double)t.tv_nsec / 1e9 : 0;
}

/* Returns the processor time of all threads except the sampled ones. */
static double seconds_beside(const struct working_thread *threads, unsigned count) {
    double seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - seconds_of(CLOCK_THREAD_CPUTIME_ID);
    for (unsigned i = 0; i < count; i++) {
        clockid_t clock;
        if (pthread_getcpuclockid(threads[i].pthread, &clock) == 0) seconds -= seconds_of(clock);
    }
    return seconds;
}

APART static void work_in_calls(unsigned depth, double until) {
    if (depth > 1) {
        work_in_calls(depth - 1, until);
    } else {
        while (seconds_of(CLOCK_MONOTONIC) < until) sink++;
    }
    sink++;
}

static void warm_up(const struct subject_of_samples *subject, struct usp_sampler *sampler) {
    const double began = seconds_of(CLOCK_MONOTONIC);
    struct usp_profile_run run;
    do {
        work_in_calls(subject->depth, seconds_of(CLOCK_MONOTONIC) + 0.1);
        usp_sampler_get_run(sampler, &run);
    } while (run.ticks < WARM_TICKS && seconds_of(CLOCK_MONOTONIC) < began + WARM_SECONDS);
}

static void measure(const struct subject_of_samples *subject, struct usp_sampler *sampler,
                    const struct working_thread *threads) {
    double shares[ROUNDS], stops[ROUNDS], ticks[ROUNDS], rates[ROUNDS], longest_interval = 0;
    if (usp_sampler_start(sampler) != USP_OK) exit(1);
    warm_up(subject, sampler);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct usp_profile_run before, after;
        usp_sampler_get_run(sampler, &before);
        const double cpu = seconds_beside(threads, subject->threads), began = seconds_of(CLOCK_MONOTONIC);
        work_in_calls(subject->depth, began + SECONDS);
        const double elapsed = seconds_of(CLOCK_MONOTONIC) - began;
        usp_sampler_get_run(sampler, &after);
        const double stopped = (double)(after.stopped_ns - before.stopped_ns);
        const uint64_t captures = after.captures - before.captures;
        const double count = after.ticks > before.ticks ? (double)(after.ticks - before.ticks) : 1;
        const double spent = seconds_beside(threads, subject->threads) - cpu + stopped / 1e9;
        shares[round] = 100 * spent / elapsed;
        ticks[round] = spent * 1e6 / count;
        rates[round] = (double)(after.ticks - before.ticks) / elapsed;
        stops[round] = captures > 0 ? stopped / (double)captures / 1000 : 0;
        longest_interval = (double)after.longest_interval / 1e6;
    }
    usp_sampler_stop(sampler);
    const double share = median(shares, ROUNDS), stop = median(stops, ROUNDS);
    const double tick = median(ticks, ROUNDS), at_100 = tick / 100;
    printf("%-33s %6.2f %% of a core at %.0f ticks a second, %.0f us each", subject->name, share, median(rates, ROUNDS),
           tick);
    if (subject->share > 0) {
        printf("; 100 a second: %.2f %%, to reach %.1f %%: %s", at_100, subject->share,
               verdict(at_100 <= subject->share));
    }
    printf("; stopped for %.1f us a capture", stop);
    if (subject->is_stop_limited) printf(", to reach 5 us: %s", verdict(stop <= 5));
    if (subject->budget_cpu > 0) printf("; a tick every %.0f ms at most", longest_interval);
    printf("\n");
    fflush(stdout);
}

static void run_subject(const struct subject_of_samples *subject) {
    static struct working_thread threads[THREADS];
    struct usp_sampler_options options;
    struct usp_sampler *sampler;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (!start_working_threads(threads, subject->threads, subject->depth, subject->running)) exit(1);
    usp_sampler_options_init(&options);
    options.which = subject->which;
    options.budget_cpu = subject->budget_cpu;
    if (subject->budget_cpu == 0) options.budget_stopped = 0;
    if (usp_sampler_create(&options, &sampler, NULL, 0) != USP_OK) exit(1);
    measure(subject, sampler, threads);
    usp_sampler_free(sampler);
}

int main(void) {
    printf("100 samples a second for %u s; medians of %u\n", SECONDS, ROUNDS);
    fflush(stdout);
    for (unsigned i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        int status;
        const pid_t pid = fork();
        if (pid == 0) {
            run_subject(&subjects[i]);
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) return 1;
    }
    return 0;
}
