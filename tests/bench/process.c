/* SPDX-License-Identifier: MIT */
/* Captures every thread of another process with 200 threads: by the call, by the command `unspool stack`, and by other
 * programs for the same purpose. Compiled twice: with frame records, and (FRAMELESS) without, where every command needs
 * the unwind tables. Each command's output is read and the process's own frames in it are counted, which reveals a tool
 * that is quick because it finds nothing. Run in the build folder. */
#define _GNU_SOURCE 1
#include "tests/bench/measure.h"
#include "tests/bench/started_command.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 200u
#define DEPTH   16u
#define ROUNDS  9u
/* The process's function; frames with this name are counted. */
#define FUNCTION "stand_in_process"
#ifdef FRAMELESS
#define PROCESS_CAPTURE_RATIO 10.0
#else
#define PROCESS_CAPTURE_RATIO 12.0
#endif

/* ---- the process ---- */

static _Atomic(unsigned) parked;
static volatile unsigned sink;

static _Atomic(bool) may_leave;

APART static void stand_in_process(unsigned depth) {
    if (depth > 1) {
        stand_in_process(depth - 1);
    } else {
        atomic_fetch_add(&parked, 1);
        while (!atomic_load(&may_leave)) pause();
    }
    sink++;
}

static void *run_thread(void *context) {
    (void)context;
    stand_in_process(DEPTH);
    return NULL;
}

static void be_process(int ready) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    for (unsigned i = 1; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run_thread, NULL) != 0) _exit(1);
    }
    while (atomic_load(&parked) < THREADS - 1) usleep(1000);
    if (write(ready, "r", 1) != 1) _exit(1);
    stand_in_process(DEPTH);
}

/* Starts the process. Returns its id, or −1. */
static pid_t start_process(void) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0) return -1;
    pid_t pid = fork();
    if (pid == 0) be_process(ends[1]);
    close(ends[1]);
    bool is_ready = pid > 0 && read(ends[0], &byte, 1) == 1;
    close(ends[0]);
    return is_ready ? pid : -1;
}

/* ---- the call ---- */

struct call {
    pid_t pid;
    unsigned calls, frames, missed;
    int why; /* status of the last thread that was missed */
    double stopped[ROUNDS_MAX];
};

static void take_snapshot(void *context, unsigned times) {
    struct call *call = context;
    for (unsigned i = 0; i < times; i++) {
        struct usp_snapshot *snapshot;
        char error[256];
        if (usp_snapshot_create_process(call->pid, NULL, &snapshot, error, sizeof error) != USP_OK) {
            fprintf(stderr, "%s\n", error);
            exit(1);
        }
        const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
        call->stopped[call->calls++ % ROUNDS_MAX] = (double)info->stopped_ns;
        call->missed += info->missed;
        call->frames = 0;
        for (size_t t = 0; t < info->thread_count; t++) {
            const struct usp_snapshot_thread *thread = usp_snapshot_get_thread(snapshot, t);
            call->frames += thread->stack.count;
            if (thread->status != USP_OK) call->why = thread->status;
        }
        usp_snapshot_free(snapshot);
    }
}

/* ---- commands ---- */

struct command {
    const char *arguments[8];
    unsigned frames; /* lines of the last output with the process's function */
    unsigned all;    /* lines of the last output with any frame */
    int status;      /* its last exit, as wait(2) gives it */
};

/* Returns whether a line is a frame. All of these tools begin a frame's line with its number; gdb prints no address
 * where a source line begins. */
static bool is_frame(const char *line) {
    while (*line == ' ' || *line == '#') line++;
    return *line >= '0' && *line <= '9';
}

static void count_frames(FILE *output, struct command *command) {
    char *line = NULL;
    size_t capacity = 0;
    command->frames = command->all = 0;
    while (getline(&line, &capacity, output) >= 0) {
        command->frames += strstr(line, FUNCTION) != NULL;
        command->all += is_frame(line);
    }
    free(line);
}

static void run_command(void *context, unsigned times) {
    struct command *command = context;
    for (unsigned i = 0; i < times; i++) {
        struct started_command started = start_command(command->arguments, NULL);
        count_frames(started.output, command);
        fclose(started.output);
        waitpid(started.pid, &command->status, 0);
    }
}

/* ---- the table ---- */

enum { CALL, OURS, EU_STACK, GDB, SUBJECTS };

static void print_command(const struct subject *s, const struct command *command, const struct subject *call,
                          const struct subject *ours) {
    printf("%-16s %9.2f ms  %5u frames, %u of them named", s->name, median(s->rounds, ROUNDS) / 1e6, command->all,
           command->frames);
    if (command->status != 0) printf("  (ended with status %#x)", (unsigned)command->status);
    if (s != ours && ((const struct command *)ours->context)->frames == command->frames) {
        double times = ratio(s, ours, ROUNDS);
        printf("  command %.1f x, to reach %.0f x: %s; call alone %.1f x", times, PROCESS_CAPTURE_RATIO,
               verdict(times >= PROCESS_CAPTURE_RATIO), ratio(s, call, ROUNDS));
    }
    printf("\n");
}

int main(void) {
    char id[16];
    pid_t pid = start_process();
    if (pid < 0) return 1;
    snprintf(id, sizeof id, "%d", pid);
    struct call call = {.pid = pid};
    struct command commands[SUBJECTS] = {
        [OURS] = {.arguments = {OUR_COMMAND, "stack", "--no-lines", id}},
        [EU_STACK] = {.arguments = {"eu-stack", "-p", id}},
        [GDB] = {.arguments = {"gdb", "-batch", "-ex", "thread apply all bt", "-p", id}},
    };
    struct subject subjects[SUBJECTS] = {{"call", take_snapshot, &call, 1, {0}}};
    const char *names[SUBJECTS] = {[OURS] = "unspool stack", [EU_STACK] = "eu-stack -p", [GDB] = "gdb"};
    unsigned count = 1;
    printf("another process, %u threads of %u calls and what libc adds; medians of %u\n", THREADS, DEPTH, ROUNDS);
    for (unsigned i = OURS; i < SUBJECTS; i++) {
        if (i != OURS && !is_installed(commands[i].arguments[0])) {
            printf("%-16s skipped: not installed\n", names[i]);
            continue;
        }
        subjects[count++] = (struct subject){names[i], run_command, &commands[i], 1, {0}};
    }
    time_subjects(subjects, count, ROUNDS);
    unsigned kept = call.calls < ROUNDS_MAX ? call.calls : ROUNDS_MAX;
    printf("%-16s %9.2f ms  %5u frames in the last, all were stopped for %.2f ms; %u threads missed in %u calls",
           "call", median(subjects[0].rounds, ROUNDS) / 1e6, call.frames, median(call.stopped, kept) / 1e6, call.missed,
           call.calls);
    if (call.missed != 0) printf(" (%s)", usp_status_string(call.why));
    printf("\n");
    for (unsigned i = 1; i < count; i++) print_command(&subjects[i], subjects[i].context, &subjects[0], &subjects[1]);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return 0;
}
