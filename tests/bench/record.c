/* SPDX-License-Identifier: MIT */
/* Measures the cost of `unspool record` at 100 samples a second: of a process with 200 threads, of which 4 run, then
 * all 200. The processor time is the kernel's (wait4) for the whole command, including symbolication. The time for
 * which threads are stopped is what the command reports. Compared with `perf record -g`, and with one look of gdb at
 * all threads, where these are installed and work. Run in the build folder. */
#define _GNU_SOURCE 1
#include "tests/bench/measure.h"
#include "tests/bench/started_command.h"
#include "tests/bench/working_threads.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 200u
#define DEPTH   16u
#define SECONDS 5u
#define ROUNDS  3u
#define GDB     "gdb"

/* ---- the process ---- */

static void be_process(unsigned running, int ready) {
    static struct working_thread threads[THREADS - 1];
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (!start_working_threads(threads, THREADS - 1, DEPTH, running) || write(ready, "r", 1) != 1) _exit(1);
    stand_in_calls(DEPTH, running >= THREADS);
}

/* Starts the process. Returns its id, or −1. */
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
    double of_a_core[ROUNDS]; /* in per cent, from the kernel */
    double elapsed;           /* in seconds, of the last run */
    unsigned lines;           /* of the last output */
    int status;
    /* What our command reports: ticks, and for how many ms all threads together and one thread at once were stopped. */
    double ticks, stopped, longest;
};

static double seconds_of(const struct timeval *t) { return (double)t->tv_sec + (double)t->tv_usec / 1e6; }

/* Reads a line of the tree that says how the samples were taken. */
static void read_line(struct recorder *recorder, const char *line) {
    const char *stopped = strstr(line, "stopped threads for ");
    if (strstr(line, " ticks in ") != NULL) recorder->ticks = strtod(line, NULL);
    if (stopped != NULL)
        sscanf(stopped, "stopped threads for %lf ms altogether, at most %lf", &recorder->stopped, &recorder->longest);
}

static void run_recorder(struct recorder *recorder, unsigned round) {
    char *line = NULL;
    size_t capacity = 0;
    struct rusage usage;
    uint64_t began = usp_clock();
    struct started_command started = start_command(recorder->arguments, NULL);
    recorder->lines = 0;
    while (getline(&line, &capacity, started.output) >= 0) {
        recorder->lines++;
        read_line(recorder, line);
    }
    free(line);
    fclose(started.output);
    wait4(started.pid, &recorder->status, 0, &usage);
    recorder->elapsed = (double)(usp_clock() - began) / 1e9;
    recorder->of_a_core[round] = 100 * (seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime)) / recorder->elapsed;
}

static void compare(unsigned running) {
    char id[16], length[16];
    pid_t pid = start_process(running);
    if (pid < 0) exit(1);
    snprintf(id, sizeof id, "%d", pid);
    snprintf(length, sizeof length, "%u", SECONDS);
    struct recorder recorders[] = {
        {.name = "unspool record",
         .arguments = {OUR_COMMAND, "record", "--budget", "0", "--duration", length, "--no-lines", id}},
        {.name = "within its budget", .arguments = {OUR_COMMAND, "record", "--duration", length, "--no-lines", id}},
        {.name = "perf record -g",
         .arguments = {"perf", "record", "-q", "-g", "-F", "100", "-o", "/dev/null", "-p", id, "--", "sleep", length}},
        {.name = GDB, .arguments = {GDB, "-batch", "-nx", "-p", id, "-ex", "thread apply all backtrace"}},
    };
    printf("%u threads of %u calls, %u of them run, 100 Hz for %u s; medians of %u\n", THREADS, DEPTH, running, SECONDS,
           ROUNDS);
    for (unsigned i = 0; i < sizeof recorders / sizeof *recorders; i++) {
        struct recorder *recorder = &recorders[i];
        if (strcmp(recorder->arguments[0], OUR_COMMAND) != 0 && !is_installed(recorder->arguments[0])) {
            printf("%-18s skipped: not installed\n", recorder->name);
            continue;
        }
        /* gdb's look at threads that all run takes minutes. */
        const unsigned rounds = strcmp(recorder->name, GDB) == 0 ? 1 : ROUNDS;
        for (unsigned round = 0; round < rounds; round++) run_recorder(recorder, round);
        double share = median(recorder->of_a_core, rounds);
        if (rounds == 1) {
            printf("%-18s %6.0f ms for one look, in which all threads stand still\n", GDB, recorder->elapsed * 1000);
            continue;
        }
        printf("%-18s %6.2f %% of a core", recorder->name, share);
        if (recorder->status != 0) printf("  (ended with status %#x)", (unsigned)recorder->status);
        if (i == 0 && running < THREADS) printf(", to reach 5 %%: %s", verdict(share <= 5));
        if (recorder->ticks > 0) {
            double stopped = recorder->stopped / recorder->ticks;
            printf("; stopped for %.3f ms a sample, all threads together", stopped);
            if (i == 0 && running < THREADS) printf(", to reach 1 ms: %s", verdict(stopped <= 1));
            printf("; one thread at most %.3f ms", recorder->longest);
        }
        printf("\n");
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    compare(4);
    compare(THREADS);
    return 0;
}
