/* SPDX-License-Identifier: MIT */
/* Recognizes by its stack that a thread waits in its run loop. It needs no names, which Apple's systems do not have
 * for the loop's functions, no lock and no allocation.
 *
 * The run loop calls a function of ours, and that function's callers in the run loop's library are remembered. A
 * thread waits in a run loop when it is in the library of the system calls, called from the run loop's library, and
 * one of those callers is the second or third frame there. A nested loop, or one in another mode, has the same
 * callers. Code that only waits for an answer does not: the run loop called it from further away, or other libraries
 * are in between. */
#ifndef USPI_MONITOR_LOOP_WAIT_H
#define USPI_MONITOR_LOOP_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <unspool/images.h>
#include <unspool/unwind.h>

#define USPI_LOOP_CALLERS 8

struct uspi_text_range {
    usp_addr low, high; /* high exclusive */
};

struct uspi_loop_wait {
    _Atomic(bool) is_learned; /* the following fields do not change any more */
    struct uspi_text_range loop, system;
    usp_addr callers[USPI_LOOP_CALLERS]; /* return addresses in the run loop's library */
    uint32_t count;
};

/* Learns from a stack of the watched thread in a function that the run loop calls.
 *   images  images of this process
 *   stack   from usp_capture_self: the innermost frame is in the library of the function that the loop calls
 * A stack without such callers is ignored. One thread at a time. Allocates nothing. */
void uspi_loop_wait_learn(struct uspi_loop_wait *wait, const struct usp_images *images, const struct usp_stack *stack);

/* Returns whether a thread with this stack waits in the run loop. False before anything was learned. Thread-safe,
 * async-signal-safe. */
bool uspi_loop_wait_holds(const struct uspi_loop_wait *wait, const struct usp_stack *stack);

#endif
