/* SPDX-License-Identifier: MIT */
/* Whether a thread waits in its run loop, told by its stack alone: without names, which Apple's systems do not have for the
 * functions of the loop, without a lock and without memory of its own.
 *
 * The run loop calls a function of ours, and that function's callers in the run loop's library are remembered. A thread waits in a
 * run loop when it stands in the library of the system calls, called from the run loop's library, and one of those callers is
 * the second or third frame there. A nested loop, and one in another mode, has the same caller. Code that only waits for an
 * answer has not: it was called by the run loop from further away, or has other libraries in between. */
#ifndef USPI_LOOP_WAIT_H
#define USPI_LOOP_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <unspool/images.h>
#include <unspool/unwind.h>

#define USPI_LOOP_CALLERS 8

struct uspi_address_range {
    usp_addr low, high; /* high exclusive */
};

struct uspi_loop_wait {
    _Atomic(bool) is_learned; /* what follows does not change any more */
    struct uspi_address_range loop, system;
    usp_addr callers[USPI_LOOP_CALLERS]; /* return addresses in the run loop's library */
    uint32_t count;
};

/* Learns from a stack of the watched thread in a function that the run loop calls.
 *   images  of this process
 *   stack   usp_capture_self's: the innermost frame lies in the library of the function that the loop calls
 * Nothing is learned from a stack without such callers. One thread at a time. Allocates nothing. */
void uspi_loop_wait_learn(struct uspi_loop_wait *wait, const struct usp_images *images, const struct usp_stack *stack);

/* Whether a thread with this stack waits in the run loop. False before anything was learned. Thread-safe, async-signal-safe. */
bool uspi_loop_wait_holds(const struct uspi_loop_wait *wait, const struct usp_stack *stack);

#endif
