/* SPDX-License-Identifier: MIT */
/* The functions through which the emulated program calls the test around it (scenario.c), and what the program's own
 * files share. */
#ifndef TESTS_APPLE_EMULATED_GUEST_H
#define TESTS_APPLE_EMULATED_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- two texts about the same stack: the program's, and the one that this system's build of the library makes ---- */

/* Appends to the program's text. */
void test_text(const char *bytes, size_t n);

/* Appends the stack of the calling thread to the text of this system's build. The stack begins with the caller of the
 * function that calls this. */
void test_walk_self(int async);

/* Appends the names of the same stack, as they are without an Objective-C runtime. */
void test_name_self(void);

/* Append to the text of this system's build: the stack of a thread that does not run; its registers; the list of
 * threads; the images; every function in them; and a thread's stack in each style. */
void test_walk_thread(unsigned thread);
void test_registers(unsigned thread);
void test_threads(void);
void test_images(void);
void test_symbols(void);
void test_format(unsigned thread);

/* Counts a method that the runtime named at an address; this system's build must have no name for it. */
void test_method(uintptr_t address);

/* Compares the two texts and clears both. No thread may be suspended, and no right or allocation may be left that did
 * not exist when the program began, except for the numbers that are kept on purpose. */
void test_compare(const char *what, long kept_rights, long kept_mappings);

/* ---- threads ---- */

/* Makes a thread that has not begun; returns its number. */
unsigned test_thread(void (*entry)(void), const char *name);
uintptr_t test_pthread(unsigned thread);

enum { TEST_STOPPED = 0, TEST_PARKED = 1, TEST_DONE = 2 };

/* Lets a thread execute so many instructions; 0: until it parks or has ended. */
int test_run(unsigned thread, unsigned instructions);

/* Calls a handler in a thread where it was stopped, as for a signal. */
void test_signal(unsigned thread, void (*handler)(int signal, void *info, void *ucontext));

/* Delivers a signal as the kernel does: the thread continues in _sigtramp, instruction by instruction (test_run), on
 * its own stack or on an alternate one. test_take_back undoes this. */
void test_deliver(unsigned thread,
                  void (*sigtramp)(void (*handler)(int, void *, void *), int style, int signal, void *info,
                                   void *ucontext, uintptr_t token),
                  void (*handler)(int signal, void *info, void *ucontext), bool on_alternate);
void test_take_back(unsigned thread);

/* Park or end the calling thread. */
void test_park(void);
void test_finish(void);

/* ---- the rest ---- */

/* Ends the test with an error. */
void test_fail(const char *why);

/* The header of image i as the loader knows it; 0 after the last image. */
uintptr_t test_image(unsigned i);

/* The address of the symbol that the images export under a name (without the underscore); 0: there is none. */
uintptr_t test_symbol(const char *name);

/* Marks the newest mapping as one that is kept. */
void test_kept_mapping(void);

/* guest_libc.c: number of allocations that have not been freed. */
extern long guest_allocations;

/* guest_libc.c: decides which exported symbols dlsym finds; NULL: none. */
extern bool (*guest_has_symbol)(const char *name);

/* guest_cases_*.S: functions with the shapes that unwinders meet. Ends with NULL. */
extern void (*const guest_cases[])(void);

/* guest_async.c: calls `innermost` in the third of three async functions. */
void guest_async(void (*innermost)(void));

/* guest_objc.c: tests names from the Objective-C runtime. compare calls test_compare with what the caller keeps. */
void guest_objc(void (*compare)(const char *what));

static inline void expect(bool holds, const char *why) {
    if (!holds) test_fail(why);
}

/* test_text as a usp_write_function. */
static inline int write_text(void *context, const char *bytes, size_t n) {
    (void)context;
    test_text(bytes, n);
    return 0;
}

#endif
