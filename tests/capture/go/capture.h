/* SPDX-License-Identifier: MIT */
/* Captures of every thread of the process without a pause, from a thread of its own: for programs in Go. */
#ifndef TESTS_GO_CAPTURE_H
#define TESTS_GO_CAPTURE_H

/* Prepares the library and begins. Returns usp_prepare's status. */
int capture_begin(void);

/* Ends. Returns how many captures there were, negative: one failed as none may. */
long capture_end(void);

#endif
