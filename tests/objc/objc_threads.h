/* SPDX-License-Identifier: MIT */
/* Threads for the tests of the Objective-C layer. Each waits in a function with a known name until it is released. */
#ifndef TESTS_OBJC_OBJC_THREADS_H
#define TESTS_OBJC_OBJC_THREADS_H

#import <Foundation/Foundation.h>
#import <unspool-objc/unspool-objc.h>

#include <check.h>
#include <unspool/unspool.h>

#include "tests/support/under.h"

/* The functions in which threads wait. Without these attributes GCC's tail calls and clones would remove the function
 * from the stack or rename it. */
#define STAND __attribute__((noinline, noclone))

/* Each place is a function of its own, so that stacks show which thread they belong to. */
enum standing_place { IN_FIRST, IN_SECOND, IN_THIRD, STANDING_PLACES };
extern const char *const standing_names[STANDING_PLACES];

/* A thread that waits in one place from its initializer to -end. */
@interface Parked : NSThread {
    enum standing_place _place;
    BOOL _registers;
    uint64_t _kernelID;
    NSConditionLock *_state; /* 0 new, 1 waiting, 2 released, 3 at its end */
}
/* name may be nil. registers: the thread calls +[USPThread registerCurrent]. Returns when the thread waits at its
 * place. Not autoreleased. */
- (id)initIn:(enum standing_place)place name:(NSString *)name registers:(BOOL)registers;
/* Releases the thread, and returns when it has ended: isFinished. */
- (void)end;
- (uint64_t)kernelID;
@end

/* Runs a function on a thread of its own with a stack of stack_size bytes (0: the default size), and waits for it. */
void run_on_thread(void (*function)(void), NSUInteger stack_size);

/* Whether the stack has a frame in the function of this name. */
BOOL has_function(USPStack *stack, const char *name);

/* Fails unless it is the stack of a thread that waits at this place and at no other. */
void check_stands(USPStack *stack, enum standing_place place);

#endif
