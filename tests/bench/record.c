/* SPDX-License-Identifier: MIT */
/* What `unspool record` costs: a process with 200 threads, of which 4 run, at 100 samples a second; and with all 200 running. The
 * processor time is the kernel's (wait4) of the whole command, names included, and what sampling itself measured; beside `perf record
 * -g` where that is installed and works. Run in the folder of the build. */
#define _GNU_SOURCE 1
#include "tests/bench/measure.h"
#include "tests/bench/started_command.h"
#include "tests/bench/working_threads.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 200u
#define DEPTH   16u
#define SECONDS 5u
#define ROUNDS  3u

/* ---- the process ---- */

static void be_process(unsigned running, int ready) {
    static struct working_thread threads[THREADS - 1];
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (!start_working_threads(threads, THREADS - 1, DEPTH, running) || write(ready, "r", 1) != 1) _exit(1);
    stand_in_calls(DEPTH, running >= THREADS);
}

/* Returns its id, or −1. */
static pid_t start_process(unsigned running) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0) return -1;
    pid_t pid = fork();
    if (pid == 0) be_process(running, ends[1]);
    close(ends[1]);
    bool is_ready = pid > 0 && read(ends[0], &byte, 1) == 1;
    close(ends[0]);
    return is_ready ? pid : -1;
}

/* ---- recorders ---- */

struct recorder {
    const char *name;
    const char *arguments[16];
    double of_a_core[ROUNDS]; /* per cent, by the kernel */
    unsigned stacks;          /* lines of its output */
    int status;
};

static double seconds_of(const struct timeval *t) { return (double)t->tv_sec + (double)t->tv_usec / 1e6; }

static void run_recorder(struct recorder *recorder, unsigned round) {
    char *line = NULL;
    size_t room = 0;
    struct rusage usage;
    uint64_t began = usp_clock();
    struct started_command started = start_command(recorder->arguments, NULL);
    recorder->stacks = 0;
    while (getline(&line, &room, started.output) >= 0) recorder->stacks++;
    free(line);
    fclose(started.output);
    wait4(started.pid, &recorder->status, 0, &usage);
    double elapsed = (double)(usp_clock() - began) / 1e9;
    recorder->of_a_core[round] = 100 * (seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime)) / elapsed;
}

static void compare(unsigned running) {
    char id[16], length[16];
    pid_t pid = start_process(running);
    if (pid < 0) exit(1);
    snprintf(id, sizeof id, "%d", pid);
    snprintf(length, sizeof length, "%u", SECONDS);
    struct recorder recorders[] = {
        {.name = "unspool record",
         .arguments = {OUR_COMMAND, "record", "--budget", "0", "--duration", length, "--format", "folded", id}},
        {.name = "within its budget",
         .arguments = {OUR_COMMAND, "record", "--duration", length, "--format", "folded", id}},
        {.name = "perf record -g",
         .arguments = {"perf", "record", "-q", "-g", "-F", "100", "-o", "/dev/null", "-p", id, "--", "sleep", length}},
    };
    printf("%u threads of %u calls, %u of them run, 100 Hz for %u s; medians of %u\n", THREADS, DEPTH, running, SECONDS,
           ROUNDS);
    for (unsigned i = 0; i < sizeof recorders / sizeof *recorders; i++) {
        struct recorder *recorder = &recorders[i];
        if (strcmp(recorder->arguments[0], OUR_COMMAND) != 0 && !is_installed(recorder->arguments[0])) {
            printf("%-18s skipped: not installed\n", recorder->name);
            continue;
        }
        for (unsigned round = 0; round < ROUNDS; round++) run_recorder(recorder, round);
        double share = median(recorder->of_a_core, ROUNDS);
        printf("%-18s %6.2f %% of a core", recorder->name, share);
        if (recorder->status != 0) printf("  (ended with status %#x)", (unsigned)recorder->status);
        if (i == 0 && running < THREADS) printf("  to reach 5 %%: %s", verdict(share <= 5));
        if (recorder->stacks > 0) printf("  %u stacks", recorder->stacks);
        printf("\n");
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

int main(void) {
    compare(4);
    compare(THREADS);
    return 0;
}
