/* SPDX-License-Identifier: MIT */
/* Steps natively: x86_64 and i386 programs by Linux's ptrace. The addresses at which a run stops are in the processor's
 * debug registers, so that the program's code is unchanged and other threads do not stop there. */
#define _GNU_SOURCE 1
#include "victim.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static bool fetch_registers(struct victim *v) {
    uint8_t bytes[512];
    struct iovec io = {bytes, sizeof bytes};
    if (ptrace(PTRACE_GETREGSET, v->pid, (void *)NT_PRSTATUS, &io) != 0) return false;
    return usp_registers_from_state(&v->now, v->backend->arch, USP_THREAD_STATE_LINUX_PRSTATUS, bytes, io.iov_len) ==
           USP_OK;
}

/* Handles a stop that waitpid has reported. */
static enum victim_event take_stop(struct victim *v, int status) {
    if (!WIFSTOPPED(status)) return VICTIM_ENDED;
    if (status >> 16 == PTRACE_EVENT_EXEC) return VICTIM_ENDED;
    v->signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    return fetch_registers(v) ? VICTIM_STOPPED : VICTIM_ENDED;
}

static enum victim_event step(struct victim *v) {
    int status, signal = v->signal;
    v->delivered = signal;
    v->signal = 0;
    if (ptrace(PTRACE_SINGLESTEP, v->pid, NULL, (void *)(long)signal) != 0) return VICTIM_ENDED;
    if (waitpid(v->pid, &status, 0) != v->pid) return VICTIM_ENDED;
    return take_stop(v, status);
}

/* Sets the debug registers: an address in each, and in the seventh two bits for each that enable it. All other bits are
 * 0, which stops before execution (Intel SDM volume 3, 18.2.4). */
static bool set_stops(const struct victim *v, const usp_addr *stops, unsigned count) {
    const size_t first = offsetof(struct user, u_debugreg), slot = sizeof(((struct user *)NULL)->u_debugreg[0]);
    unsigned long enabled = 0;
    for (unsigned i = 0; i < count; i++) {
        if (ptrace(PTRACE_POKEUSER, v->pid, (void *)(first + i * slot), (void *)(uintptr_t)stops[i]) != 0) return false;
        enabled |= 1ul << 2 * i;
    }
    return ptrace(PTRACE_POKEUSER, v->pid, (void *)(first + 7 * slot), (void *)enabled) == 0;
}

static void on_alarm(int signal) { (void)signal; }

static enum victim_event run_on(struct victim *v, const usp_addr *stops, unsigned count, unsigned seconds) {
    for (;;) {
        int status, signal = v->signal;
        v->signal = 0;
        if (ptrace(PTRACE_CONT, v->pid, NULL, (void *)(long)signal) != 0) return VICTIM_ENDED;
        alarm(seconds);
        pid_t got = waitpid(v->pid, &status, 0);
        unsigned left = alarm(0);
        if (got != v->pid) return errno == EINTR ? VICTIM_LOST : VICTIM_ENDED;
        enum victim_event event = take_stop(v, status);
        if (event != VICTIM_STOPPED) return event;
        for (unsigned i = 0; i < count && v->signal == 0; i++) {
            if (victim_pc(v) == stops[i]) return VICTIM_STOPPED;
        }
        if (v->signal == 0 || left == 0) return VICTIM_LOST;
    }
}

static enum victim_event run(struct victim *v, const usp_addr *stops, unsigned count, unsigned seconds) {
    if (!set_stops(v, stops, count)) return VICTIM_LOST;
    enum victim_event event = run_on(v, stops, count, seconds);
    v->delivered = 0;
    if (event == VICTIM_STOPPED) set_stops(v, stops, 0);
    return event;
}

static void end(struct victim *v) {
    int status;
    if (v->pid > 0 && kill(v->pid, SIGKILL) == 0) {
        while (waitpid(v->pid, &status, 0) == v->pid && WIFSTOPPED(status)) ptrace(PTRACE_CONT, v->pid, NULL, NULL);
    }
    v->pid = 0;
}

static const struct victim_ways ways = {step, run, end};

/* Finds the program's processor by the size of its registers (Linux sys/user.h). */
static bool find_backend(struct victim *v) {
    uint8_t bytes[512];
    struct iovec io = {bytes, sizeof bytes};
    if (ptrace(PTRACE_GETREGSET, v->pid, (void *)NT_PRSTATUS, &io) != 0) return false;
    v->backend = uspi_backend_find(io.iov_len == 68 ? USP_ARCH_I386 : USP_ARCH_X86_64);
    return fetch_registers(v);
}

static usp_addr read_entry(const struct victim *v) {
    uint8_t bytes[1024];
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/auxv", v->pid);
    int file = open(path, O_RDONLY);
    ssize_t n = file >= 0 ? read(file, bytes, sizeof bytes) : 0;
    if (file >= 0) close(file);
    return n > 0 ? victim_auxiliary(bytes, (size_t)n, v->backend->word, AT_ENTRY) : 0;
}

bool victim_start_ptrace(struct victim *v, char *const arguments[]) {
    const struct sigaction interrupting = {.sa_handler = on_alarm};
    int status;
    memset(v, 0, sizeof *v);
    v->ways = &ways;
    sigaction(SIGALRM, &interrupting, NULL);
    v->pid = fork();
    if (v->pid == 0) {
        victim_prepare_child();
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execvp(arguments[0], arguments);
        _exit(127);
    }
    bool started = v->pid > 0 && waitpid(v->pid, &status, 0) == v->pid && WIFSTOPPED(status) &&
                   ptrace(PTRACE_SETOPTIONS, v->pid, NULL, (void *)(PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC)) == 0 &&
                   find_backend(v) && (v->entry = read_entry(v)) != 0;
    if (started) return true;
    fprintf(stderr, "%s: cannot be traced\n", arguments[0]);
    end(v);
    return false;
}
