/* SPDX-License-Identifier: MIT */
/* What the tests on the scripted kernel share: threads with stacks that a walk can be compared with, and the account that
 * must be as before. */
#ifndef FAKEMACH_STACKS_H
#define FAKEMACH_STACKS_H

#include <check.h>
#include <unspool/unspool.h>

#include "tests/apple/fakemach/fakemach.h"

/* Mach results that a call can have (xnu osfmk/mach/kern_return.h). */
enum { INVALID_ADDRESS = 1, FAILURE = 5, SHORTAGE = 6, ABORTED = 14, TERMINATED = 37 };

#define FRAMES 6u
/* Return addresses: each behind a call instruction of this processor, and what stands there returns by the frame record. */
#define CODES   3000u
#define CODE(i) ((uintptr_t)code_of_stacks + 16 * (uintptr_t)(1 + (i) % CODES))
extern uint8_t code_of_stacks[16 * (CODES + 2)];

/* Indices of the threads that start() makes: four of this process, and two of another one. The i-th has the frames
 * CODE(100 + 100 * i) and following. */
#define MAIN               0u
#define CALLER             1u
#define TARGET             2u
#define THREADS_OF_PROCESS 4u
#define FIRST_OF_OTHER     4u

/* The fixture of each test: a process as it begins, nothing prepared; and its end. */
void start(void);
void stop(void);

/* usp_prepare, with little memory. */
void prepare(void);

/* Adds a thread of a task with a stack of `size` bytes and so many frame records on it, CODE(first) being its pc. Returns
 * its index. */
size_t add_thread(uint32_t task, size_t size, size_t frames, size_t first);

/* Loads three images into this process, of which the last can be unloaded, and a list of two into another one. */
void make_images(void);

/* Writes a thread's stack as it was made: frame records, the innermost near sp; the outermost one's frame pointer is 0. */
void fill_stack(size_t at);

/* The whole stack of such a thread. */
void check_stack(const struct usp_stack *stack, size_t frames, size_t first);

struct usp_thread thread_at(size_t i);

/* usp_capture_thread of such a thread. */
int capture_thread(size_t i, struct usp_stack *stack, struct usp_frame *frames, uint32_t capacity);

/* usp_capture_context of such a thread, interrupted where it stands. */
int capture_context(size_t at, struct usp_stack *stack, struct usp_frame *frames, uint32_t capacity);

/* Fails unless every thread that was stopped runs, and what was taken is given back; `before`: the account at rest. */
void check_clean(const struct fake_account *before, const char *when);

/* Interrupts such a thread where it stands: it is in a handler then, on its own stack or on the alternate one that it is
 * given. Its stack is check_handled's. */
void handle_signal(size_t at, bool on_alternate);

/* How many of the frames are right ones of such a thread, CODE(first) being where it was interrupted. */
size_t right_frames(const struct usp_stack *stack, size_t first);

/* The parts of the suite. */
TCase *case_of_calls(void);
TCase *case_of_faults(void);
TCase *case_of_queues(void);
TCase *case_of_images(void);
TCase *case_of_signals(void);
TCase *case_of_sigframes(void);
TCase *case_of_watched(void);

#endif
