/* SPDX-License-Identifier: MIT */
/* A function for a test app (see main.m) that checks what only a device can confirm (doc/apple.md). */
#ifndef DOC_EXAMPLES_IOS_CHECKLIST_H
#define DOC_EXAMPLES_IOS_CHECKLIST_H

/* Receives a line without its newline: "ok: …", "FAILED: …", "left out: …" or "note: …", which is a figure to look
 * at. */
typedef void (*checklist_line)(void *context, const char *line);

/* Runs all checks, in about a second, and calls `line` on the calling thread. If the calling thread is not the main
 * one, the main thread's stack is captured from it as well. Returns the number of lines that begin with FAILED. One
 * call at a time. */
int checklist_run(checklist_line line, void *context);

#endif
