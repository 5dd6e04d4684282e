/* SPDX-License-Identifier: MIT */
/* Locks by which processes see that another one still runs, also one of another pid namespace, whose ids say nothing
 * here. Some file systems have no locks, and iOS allows none to an app that is suspended. (lib/os/linux/run.c) */
#ifndef USPI_OS_RUN_LOCK_H
#define USPI_OS_RUN_LOCK_H

#include <stdbool.h>

/* Locks a file of this process's run until the process ends, executes another program, or closes any descriptor of the
 * file. Async-signal-safe. */
void uspi_os_run_lock(int descriptor);

/* Returns whether another process has a file locked. For a file of this process that ends the lock. */
bool uspi_os_run_has_lock(const char *path);

#endif
