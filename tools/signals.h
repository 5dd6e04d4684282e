/* SPDX-License-Identifier: MIT */
/* The signals that end a command: caught where something has to be done first. */
#ifndef TOOL_SIGNALS_H
#define TOOL_SIGNALS_H

/* From now on SIGINT, SIGTERM and SIGHUP are noted; the second one ends the command. */
void catch_signals(void);

/* The signal that came; 0: none. */
int caught_signal(void);

/* Catches them no longer. One that came meanwhile ends the command. */
void release_signals(void);

#endif
