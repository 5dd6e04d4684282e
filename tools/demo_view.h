/* SPDX-License-Identifier: MIT */
/* The part of the demo that hangs: a view that loads, and waits for the settings. In Objective-C where GCC has it
 * (demo_view.m), in C elsewhere (demo_view.c). */
#ifndef TOOLS_DEMO_VIEW_H
#define TOOLS_DEMO_VIEW_H

#include <pthread.h>

/* Each function has a frame and a name of its own, and something to do after its call, so that none is a jump. */
#if defined(__clang__)
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

/* Loads the view once more; it waits for the lock. `round` comes back changed. */
int demo_load_view(pthread_mutex_t *settings, int round);

#endif
