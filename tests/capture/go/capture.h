/* SPDX-License-Identifier: MIT */
/* For programs in Go: a thread that captures every thread of the process again and again, without a pause. */
#ifndef TESTS_CAPTURE_GO_CAPTURE_H
#define TESTS_CAPTURE_GO_CAPTURE_H

/* Prepares the library and starts the capturing thread. Returns usp_prepare's status. */
int capture_begin(void);

/* Stops the capturing thread. Returns the number of captures, or a negative number if one failed. */
long capture_end(void);

#endif
