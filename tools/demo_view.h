/* SPDX-License-Identifier: MIT */
/* The part of the demo that hangs: a view that loads and waits for the lock of the settings. In Objective-C if GCC
 * supports it (demo_view.m), otherwise in C (demo_view.c). */
#ifndef TOOLS_DEMO_VIEW_H
#define TOOLS_DEMO_VIEW_H

#include <pthread.h>

/* Keeps a function out of line, with a frame and a name of its own. Each function has work after its call, so that the
 * call is not a tail call. */
#if defined(__clang__)
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

/* Loads the view again, which waits for the lock. Returns a value computed from `round`. */
int demo_load_view(pthread_mutex_t *settings, int round);

#endif
