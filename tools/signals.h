/* SPDX-License-Identifier: MIT */
/* Catches the signals that end a command, if it has to clean up first. */
#ifndef TOOLS_SIGNALS_H
#define TOOLS_SIGNALS_H

/* From now on SIGINT, SIGTERM and SIGHUP are recorded; a second signal of the same kind ends the command. */
void catch_signals(void);

/* Returns the signal that was caught last; 0: none. */
int caught_signal(void);

/* Stops catching signals. A signal that was caught ends the command now. */
void release_signals(void);

#endif
