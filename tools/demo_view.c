/* SPDX-License-Identifier: MIT */
/* Implements demo_view.h in C. */
#include "tools/demo_view.h"

/* Waits for the lock of the settings, forever. */
KEPT static int bar(pthread_mutex_t *settings, int round) {
    int volatile kept = round;
    pthread_mutex_lock(settings);
    pthread_mutex_unlock(settings);
    return kept;
}

KEPT static int foo(pthread_mutex_t *settings, int round) {
    int volatile kept = bar(settings, round) + 1;
    return kept;
}

KEPT static int viewDidLoad(pthread_mutex_t *settings, int round) {
    int volatile kept = foo(settings, round) + 1;
    return kept;
}

int demo_load_view(pthread_mutex_t *settings, int round) {
    int volatile kept = viewDidLoad(settings, round) + 1;
    return kept;
}
