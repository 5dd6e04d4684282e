/* SPDX-License-Identifier: MIT */
/* Implements signals.h. */
#define _GNU_SOURCE 1
#include "tools/signals.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
#define ENDING (sizeof ending / sizeof *ending)

static struct {
    volatile sig_atomic_t is_waiting;     /* a signal is recorded, because the command cleans up itself */
    volatile sig_atomic_t caught;         /* the signal that was recorded last; 0: none */
    volatile sig_atomic_t counts[ENDING]; /* how often each was recorded */
    const char *volatile temporary;       /* name of the file to remove; NULL: none */
    int folder;                           /* descriptor of its folder */
    pid_t process;                        /* the process that made it, not a child */
} state;

static bool record(int signal) {
    for (size_t i = 0; i < ENDING; i++) {
        if (ending[i] != signal || !state.is_waiting || state.counts[i] > 0) continue;
        state.counts[i] = 1;
        state.caught = signal;
        return true;
    }
    return false;
}

/* Async-signal-safe. */
static void end(int signal) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    if (state.temporary != NULL && state.process == getpid()) unlinkat(state.folder, state.temporary, 0);
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, NULL);
    raise(signal);
}

static void take_signal(int signal) {
    const int error = errno;
    if (!record(signal)) end(signal);
    errno = error;
}

/* Signals that are ignored, for example by nohup(1), stay ignored. */
static void install(void) {
    /* No SA_RESTART: a signal ends the sleep in which the command waits. */
    struct sigaction action = {.sa_handler = take_signal}, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ENDING; i++) {
        if (sigaction(ending[i], NULL, &before) != 0 || before.sa_handler == SIG_IGN) continue;
        sigaction(ending[i], &action, NULL);
    }
}

void catch_signals(void) {
    install();
    state.is_waiting = 1;
}

int caught_signal(void) { return state.caught; }

void release_signals(void) {
    const int caught = state.caught;
    state.is_waiting = 0;
    state.caught = 0;
    for (size_t i = 0; i < ENDING; i++) state.counts[i] = 0;
    if (caught != 0) raise(caught);
}

void hold_signals(sigset_t *former) {
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < ENDING; i++) sigaddset(&held, ending[i]);
    sigprocmask(SIG_BLOCK, &held, former);
}

void let_signals(const sigset_t *former) { sigprocmask(SIG_SETMASK, former, NULL); }

void remove_at_signal(int folder, const char *name) {
    state.temporary = NULL;
    if (name != NULL) install();
    state.folder = folder;
    state.process = getpid();
    state.temporary = name;
}
