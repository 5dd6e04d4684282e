/* SPDX-License-Identifier: MIT */
/* Threads for the tests of the Objective-C layer that stand in functions of known names until they are let go. */
#ifndef TESTS_OBJC_THREADS_H
#define TESTS_OBJC_THREADS_H

#import <Foundation/Foundation.h>
#import <unspool-objc/unspool-objc.h>

#include <check.h>
#include <unspool/unspool.h>

#include "tests/support/under.h"

/* Where a thread stands. GCC's tail calls and clones would take the function off its stack, or rename it. */
#define STAND __attribute__((noinline, noclone))

/* In different functions, so that their stacks tell them apart. */
enum standing_place { IN_FIRST, IN_SECOND, IN_THIRD, STANDING_PLACES };
extern const char *const standing_names[STANDING_PLACES];

/* A thread that stands somewhere from its making to -end. */
@interface Standing : NSThread {
    enum standing_place _place;
    BOOL _registers;
    uint64_t _kernelID;
    NSConditionLock *_state; /* 0 new, 1 standing, 2 let go, 3 at its end */
}
/* name may be nil; registers: it calls +[USPThread registerCurrent]. Returns when it stands. Not autoreleased. */
- (id)initIn:(enum standing_place)place name:(NSString *)name registers:(BOOL)registers;
/* Lets it go, and returns when it is over: isFinished. */
- (void)end;
- (uint64_t)kernelID;
@end

/* Runs a function on a thread of its own with a stack of so many bytes (0: the usual size) and waits for it. */
void run_on_thread(void (*function)(void), NSUInteger stack_size);

/* Whether a frame is in the function of this name. */
BOOL has_function(USPStack *stack, const char *name);

/* Fails unless it is the stack of a thread that stands there, and nowhere else. */
void check_stands(USPStack *stack, enum standing_place place);

#endif
