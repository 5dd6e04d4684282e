/* SPDX-License-Identifier: MIT */
/* Implements signals.h. */
#define _GNU_SOURCE 1
#include "tools/signals.h"

#include <signal.h>
#include <stddef.h>

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

static volatile sig_atomic_t caught;

static void note_signal(int signal) { caught = signal; }

void catch_signals(void) {
    /* No SA_RESTART: a signal ends the sleep in which the command waits. */
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        struct sigaction before;
        /* Signals that are ignored, for example by nohup(1), stay ignored. */
        if (sigaction(ending[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            sigaction(ending[i], &action, NULL);
        }
    }
}

int caught_signal(void) { return caught; }

void release_signals(void) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        struct sigaction now;
        if (sigaction(ending[i], NULL, &now) == 0 && now.sa_handler == note_signal) {
            sigaction(ending[i], &action, NULL);
        }
    }
    if (caught != 0) raise(caught);
}
