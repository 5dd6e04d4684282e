/* SPDX-License-Identifier: MIT */
/* What only a device can confirm of unspool (doc/apple.md), as a function for a test app: see main.m beside this. */
#ifndef CHECKLIST_H
#define CHECKLIST_H

/* Receives a line without its end: "ok: …", "FAILED: …", "left out: …" or "note: …", which is a figure to look at. */
typedef void (*checklist_line)(void *context, const char *line);

/* Runs the list, in about a second; `line` is called on the calling thread. On a thread other than the main one the main
 * thread's stack is captured from outside as well. Returns how many lines began with FAILED. One call at a time. */
int checklist_run(checklist_line line, void *context);

#endif
