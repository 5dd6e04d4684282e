/* SPDX-License-Identifier: MIT */
/* Recognizes the outermost frames of Linux threads where no table describes them. */
#ifndef USPI_UNWIND_ENTRY_H
#define USPI_UNWIND_ENTRY_H

#include "lib/unwind/frame/walk.h"

/* Returns whether nothing but the code at the process's entry point can have called a frame whose caller no reader
 * found: between the frame and what the kernel put on the stack for the process there is no return address, or only one
 * that is at the entry point. Such a C library calls main in a function that never returns (musl). The target's memory
 * alone decides, so it is the same for a live process, a core and a raw capture. Async-signal-safe. */
bool uspi_calls_program(const struct uspi_walk *walk, const struct uspi_frame_state *frame);

/* Returns whether a frame is that of the first code of a process: its stack pointer points to what the kernel put on the
 * stack for the process. No table describes the first code of dynamic linkers, and no instruction in it returns, so the
 * other readers would follow thousands of instructions. Async-signal-safe. */
bool uspi_begins_process(const struct uspi_walk *walk, const struct uspi_frame_state *frame);

/* Returns whether an interrupted frame is that of a thread which has just been created, and has executed nothing but the
 * system call: the system call has returned 0, and the code branches to where a table states that the stack ends. libc's
 * clone has no table in between, because the caller's frame is not on the new stack. Async-signal-safe. Needs as much
 * stack as a step. */
bool uspi_begins_thread(const struct uspi_walk *walk, const struct uspi_frame_state *frame);

#endif
