/* SPDX-License-Identifier: MIT */
/* Measures the first look at a process: a python3 compiled without frame pointers, in a deep stack of its own functions
 * and its interpreter's. Compares usp_snapshot_create_process with libunwind's walk over ptrace. A new process looks
 * each time, so nothing about the target is cached. The time runs from before the attach until after the detach.
 *
 * libunwind is loaded, not linked; its names are those for x86_64. */
#define _GNU_SOURCE 1
#include "tests/bench/measure.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 15u
/* The goal. */
#define COLD_RATIO 1.0
/* Number of words of unw_cursor_t: more than on x86_64 (libunwind-x86_64.h, UNW_TDEP_CURSOR_LEN). */
#define CURSOR_WORDS 256
#define FRAMES_MAX   1024u

/* ---- the process ---- */

/* Each level goes through sorted(), whose C function calls the interpreter again. */
static const char program[] = "import os, time\n"
                              "def down(n):\n"
                              "    if n == 0:\n"
                              "        os.write(1, b'r')\n"
                              "        time.sleep(1000000)\n"
                              "    return sorted([n], key=lambda x: down(x - 1))\n"
                              "down(20)\n";

/* Starts python3. Returns its process id, or −1. */
static pid_t start_python(void) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0) return -1;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        dup2(ends[1], 1);
        execlp("python3", "python3", "-c", program, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    bool is_ready = pid > 0 && read(ends[0], &byte, 1) == 1;
    close(ends[0]);
    return is_ready ? pid : -1;
}

/* ---- the subjects, each in a process of its own ---- */

struct look {
    uint64_t ns;
    uint32_t frames;
};

static struct look look_by_unspool(pid_t pid) {
    struct usp_snapshot *snapshot;
    struct look look = {0, 0};
    uint64_t began = usp_clock();
    if (usp_snapshot_create_process(pid, NULL, &snapshot, NULL, 0) != USP_OK) return look;
    look.ns = usp_clock() - began;
    if (usp_snapshot_get_info(snapshot)->thread_count > 0) {
        look.frames = usp_snapshot_get_thread(snapshot, 0)->stack.count;
    }
    usp_snapshot_free(snapshot);
    return look;
}

/* libunwind's functions; NULL if it is not installed. */
static struct {
    void *accessors;
    void *(*create_space)(void *, int);
    int (*init)(void *, void *, void *);
    int (*step)(void *);
    void *(*create)(pid_t);
    void (*destroy)(void *);
} unw;

static void load_libunwind(void) {
    void *general = dlopen("libunwind-x86_64.so.8", RTLD_NOW | RTLD_GLOBAL);
    void *by_ptrace = dlopen("libunwind-ptrace.so.0", RTLD_NOW | RTLD_GLOBAL);
    if (general == NULL || by_ptrace == NULL || usp_arch_host() != USP_ARCH_X86_64) return;
    unw.accessors = dlsym(by_ptrace, "_UPT_accessors");
    *(void **)&unw.create = dlsym(by_ptrace, "_UPT_create");
    *(void **)&unw.destroy = dlsym(by_ptrace, "_UPT_destroy");
    *(void **)&unw.create_space = dlsym(general, "_Ux86_64_create_addr_space");
    *(void **)&unw.init = dlsym(general, "_Ux86_64_init_remote");
    *(void **)&unw.step = dlsym(general, "_Ux86_64_step");
}

static struct look look_by_libunwind(pid_t pid) {
    uint64_t cursor[CURSOR_WORDS];
    struct look look = {0, 0};
    int status;
    uint64_t began = usp_clock();
    if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) != 0 || waitpid(pid, &status, 0) != pid) return look;
    void *space = unw.create_space(unw.accessors, 0), *target = unw.create(pid);
    if (space != NULL && target != NULL && unw.init(cursor, space, target) == 0) {
        do look.frames++;
        while (look.frames < FRAMES_MAX && unw.step(cursor) > 0);
    }
    unw.destroy(target);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    look.ns = usp_clock() - began;
    return look;
}

static struct look look_afresh(struct look (*by)(pid_t), pid_t pid) {
    struct look look = {0, 0};
    int ends[2];
    if (pipe(ends) != 0) exit(1);
    pid_t child = fork();
    if (child == 0) {
        look = by(pid);
        _exit(write(ends[1], &look, sizeof look) == sizeof look ? 0 : 1);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &look, sizeof look) != sizeof look || look.frames == 0) {
        fprintf(stderr, "a look at the process failed (ptrace must be allowed)\n");
        exit(1);
    }
    close(ends[0]);
    waitpid(child, NULL, 0);
    return look;
}

int main(void) {
    double ours[ROUNDS], theirs[ROUNDS], ratios[ROUNDS];
    struct look look = {0, 0}, other = {0, 0};
    pid_t pid = start_python();
    if (pid < 0) {
        printf("skipped: there is no python3\n");
        return 0;
    }
    load_libunwind();
    bool has_libunwind = unw.accessors != NULL && unw.create != NULL && unw.create_space != NULL && unw.step != NULL;
    for (unsigned i = 0; i < ROUNDS; i++) {
        look = look_afresh(look_by_unspool, pid);
        ours[i] = (double)look.ns;
        if (has_libunwind) other = look_afresh(look_by_libunwind, pid);
        theirs[i] = (double)other.ns;
        ratios[i] = theirs[i] / ours[i];
    }
    printf("the first look at python3; medians of %u\n", ROUNDS);
    printf("usp_snapshot_create_process  %8.2f ms  %4u frames\n", median(ours, ROUNDS) / 1e6, look.frames);
    if (has_libunwind) {
        printf("libunwind by ptrace   %8.2f ms  %4u frames  %.1f x, at least %.0f x: %s\n",
               median(theirs, ROUNDS) / 1e6, other.frames, median(ratios, ROUNDS), COLD_RATIO,
               verdict(median(ratios, ROUNDS) >= COLD_RATIO));
    } else {
        printf("libunwind by ptrace   skipped: it is not installed, or not for this processor\n");
    }
    kill(pid, SIGKILL);
    return 0;
}
