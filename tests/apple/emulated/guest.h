/* SPDX-License-Identifier: MIT */
/* What the emulated program asks of the test around it (scenario.c), and what its own files offer each other. */
#ifndef USP_TESTS_APPLE_GUEST_H
#define USP_TESTS_APPLE_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the two texts: the program's, and the one that this system's build of the library makes of the same stack ---- */

/* Appends to the program's. */
void test_text(const char *bytes, size_t n);

/* Appends to the other one the stack of the calling thread, beginning with the caller of the function that calls this. */
void test_walk_self(int async);

/* The same stack's names, as there are without an Objective-C runtime. */
void test_name_self(void);

/* The same of a thread that does not run; of the threads there are, of the images, of every function in them, and of a
 * thread's stack in each style. */
void test_walk_thread(unsigned thread);
void test_registers(unsigned thread);
void test_threads(void);
void test_images(void);
void test_symbols(void);
void test_format(unsigned thread);

/* Counts a method that the runtime named at an address; this system's build must have no name for it. */
void test_method(uintptr_t address);

/* Holds one against the other, and begins both anew. No thread may be suspended, no right held, nothing allocated that
 * was not when the program began: kept says what is, on purpose. */
void test_compare(const char *what, long kept_rights, long kept_mappings);

/* ---- threads ---- */

/* Makes one that has not begun; returns its number. */
unsigned test_thread(void (*entry)(void), const char *name);
uintptr_t test_pthread(unsigned thread);

enum { TEST_STOPPED = 0, TEST_PARKED = 1, TEST_DONE = 2 };

/* Lets it carry out so many instructions, or with 0 run until it parks or has ended. */
int test_run(unsigned thread, unsigned instructions);

/* Interrupts it where it stands with a signal. */
void test_signal(unsigned thread, void (*handler)(int signal, void *info, void *ucontext));

/* The same as the kernel does it: it goes on in _sigtramp, instruction by instruction (test_run), on its own stack or on an
 * alternate one, until that is taken back. */
void test_deliver(unsigned thread,
                  void (*sigtramp)(void (*handler)(int, void *, void *), int style, int signal, void *info,
                                   void *ucontext, uintptr_t token),
                  void (*handler)(int signal, void *info, void *ucontext), bool on_alternate);
void test_take_back(unsigned thread);

/* Of the calling thread. */
void test_park(void);
void test_finish(void);

/* ---- the rest ---- */

/* Ends the test. */
void test_fail(const char *why);

/* The header of image i as the loader knows it; 0 behind the last. */
uintptr_t test_image(unsigned i);

/* What the images export under a name, which is given without the underscore; 0: nothing. */
uintptr_t test_symbol(const char *name);

/* The newest mapping stays. */
void test_kept_mapping(void);

/* guest_libc.c: what malloc has given out and not got back. */
extern long guest_allocations;

/* guest_libc.c: what dlsym may find of what the images export; NULL: nothing. */
extern bool (*guest_has_symbol)(const char *name);

/* guest_cases_*.S: functions as unwinders meet them; ends at NULL. */
extern void (*const guest_cases[])(void);

/* guest_async.c: calls `innermost` in the third of three async functions. */
void guest_async(void (*innermost)(void));

/* guest_objc.c: names by the Objective-C runtime; compare is test_compare with what the caller keeps. */
void guest_objc(void (*compare)(const char *what));

static inline void expect(bool holds, const char *why) {
    if (!holds) test_fail(why);
}

/* test_text in the shape of usp_write_function. */
static inline int write_text(void *context, const char *bytes, size_t n) {
    (void)context;
    test_text(bytes, n);
    return 0;
}

#endif
