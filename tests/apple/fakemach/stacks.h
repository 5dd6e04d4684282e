/* SPDX-License-Identifier: MIT */
/* Threads with known stacks for the tests on the scripted kernel, and checks that everything was returned. */
#ifndef TESTS_APPLE_FAKEMACH_STACKS_H
#define TESTS_APPLE_FAKEMACH_STACKS_H

#include <check.h>
#include <unspool/unspool.h>

#include "tests/apple/fakemach/fakemach.h"

/* Mach results of a call (xnu osfmk/mach/kern_return.h). */
enum { INVALID_ADDRESS = 1, FAILURE = 5, SHORTAGE = 6, ABORTED = 14, TERMINATED = 37 };

#define FRAMES 6u
/* Return addresses. Each lies after a call instruction of this processor; the code there returns by the frame
 * record. */
#define CODES   3000u
#define CODE(i) ((uintptr_t)code_of_stacks + 16 * (uintptr_t)(1 + (i) % CODES))
extern uint8_t code_of_stacks[16 * (CODES + 2)];

/* Indices of the threads that start() makes: four of this process and two of another one. Thread i has the frames
 * CODE(100 + 100 * i) and following. */
#define MAIN               0u
#define CALLER             1u
#define TARGET             2u
#define THREADS_OF_PROCESS 4u
#define FIRST_OF_OTHER     4u

/* The fixture of each test: start makes a process as it begins, with the library unprepared. */
void start(void);
void stop(void);

/* Calls usp_prepare with little memory. */
void prepare(void);

/* Adds a thread of a task with a stack of `size` bytes and `frames` frame records. Its pc is CODE(first). Returns its
 * index. */
size_t add_thread(uint32_t task, size_t size, size_t frames, size_t first);

/* Loads three images into this process, the last of which can be unloaded, and gives another process a list of two. */
void make_images(void);

/* Writes a thread's stack as it was made: frame records, the innermost near sp. The outermost one's frame pointer is
 * 0. */
void fill_stack(size_t at);

/* Checks the whole stack of such a thread. */
void check_stack(const struct usp_stack *stack, size_t frames, size_t first);

struct usp_thread thread_at(size_t i);

/* Calls usp_capture_thread for such a thread. */
int capture_thread(size_t i, struct usp_stack *stack, struct usp_frame *frames, uint32_t capacity);

/* Calls usp_capture_context for such a thread, interrupted at its present registers. */
int capture_context(size_t at, struct usp_stack *stack, struct usp_frame *frames, uint32_t capacity);

/* Fails unless every stopped thread runs again and everything was returned. `before`: the counts before the call. */
void check_clean(const struct fake_account *before, const char *when);

/* Interrupts such a thread, so that it is in a handler, on its own stack or on an alternate one. check_handled checks
 * its stack. */
void handle_signal(size_t at, bool on_alternate);

/* The context that a handler of the thread gets, at its present registers: at most 64 bytes, then 400 of registers. */
struct fake_context {
    _Alignas(16) uint8_t bytes[64];
    uint8_t machine[400];
};
void interrupt(struct fake_context *context, const struct fake_thread *t);

/* Returns how many of the first frames are right ones of such a thread, which was interrupted at CODE(first). */
size_t right_frames(const struct usp_stack *stack, size_t first);

/* The parts of the suite. */
TCase *case_of_calls(void);
TCase *case_of_faults(void);
TCase *case_of_queues(void);
TCase *case_of_images(void);
TCase *case_of_signals(void);
TCase *case_of_sigframes(void);
TCase *case_of_watched(void);
TCase *case_of_crashes(void);
TCase *case_of_exceptions(void);
TCase *case_of_locks(void);

#endif
