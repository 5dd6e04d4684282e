/* SPDX-License-Identifier: MIT */
/* Handles the signals that end a command (SIGINT, SIGTERM and SIGHUP), if it has to clean up first. */
#ifndef TOOLS_SIGNALS_H
#define TOOLS_SIGNALS_H

#include <signal.h>

/* From now on these signals are recorded; a second signal of the same kind ends the command. */
void catch_signals(void);

/* Returns the signal that was caught last; 0: none. */
int caught_signal(void);

/* Stops catching signals. A signal that was caught ends the command now. */
void release_signals(void);

/* Block these signals, and restore the former mask. */
void hold_signals(sigset_t *former);
void let_signals(const sigset_t *former);

/* From now on, a signal that ends the command first removes the file of this name in the folder, a descriptor. The name
 * must stay valid until the next call. NULL: there is no file to remove. Call it while the signals are held. */
void remove_at_signal(int folder, const char *name);

#endif
