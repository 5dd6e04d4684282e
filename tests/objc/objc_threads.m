/* SPDX-License-Identifier: MIT */
/* See objc_threads.h. */
#import "tests/objc/objc_threads.h"

#include <sched.h>

const char *const standing_names[STANDING_PLACES] = {"stand_in_first", "stand_in_second", "stand_in_third"};

static volatile int sink;

static STAND void stand(NSConditionLock *state) {
    [state lock];
    [state unlockWithCondition:1];
    [state lockWhenCondition:2];
    [state unlock];
    sink = 1;
}

void stand_in_first(NSConditionLock *state);
void stand_in_second(NSConditionLock *state);
void stand_in_third(NSConditionLock *state);

STAND void stand_in_first(NSConditionLock *state) {
    stand(state);
    sink = 2;
}

STAND void stand_in_second(NSConditionLock *state) {
    stand(state);
    sink = 3;
}

STAND void stand_in_third(NSConditionLock *state) {
    stand(state);
    sink = 4;
}

@implementation Parked

- (void)main {
    static void (*const places[])(NSConditionLock *) = {stand_in_first, stand_in_second, stand_in_third};
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    struct usp_thread self_thread;
    if (_registers) ck_assert([USPThread registerCurrent]);
    ck_assert_int_eq(usp_thread_self(&self_thread), USP_OK);
    _kernelID = self_thread.id;
    usp_thread_release(&self_thread);
    places[_place](_state);
    [pool drain];
}

- (id)initIn:(enum standing_place)place name:(NSString *)name registers:(BOOL)registers {
    self = [super init];
    _place = place;
    _registers = registers;
    _state = [[NSConditionLock alloc] initWithCondition:0];
    if (name != nil) [self setName:name];
    [self start];
    [_state lockWhenCondition:1];
    [_state unlock];
    return self;
}

- (void)end {
    [_state lock];
    [_state unlockWithCondition:2];
    while (![self isFinished]) sched_yield();
}

- (void)dealloc {
    [_state release];
    [super dealloc];
}

- (uint64_t)kernelID {
    return _kernelID;
}

@end

@interface Runner : NSObject {
    void (*_function)(void);
    NSConditionLock *_done;
}
@end

@implementation Runner

- (void)run {
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    _function();
    [pool drain];
    [_done lock];
    [_done unlockWithCondition:1];
}

- (void)runFunction:(void (*)(void))function stackSize:(NSUInteger)size {
    NSThread *thread = [[NSThread alloc] initWithTarget:self selector:@selector(run) object:nil];
    _function = function;
    _done = [[NSConditionLock alloc] initWithCondition:0];
    if (size != 0) [thread setStackSize:size];
    [thread start];
    [_done lockWhenCondition:1];
    [_done unlock];
    while (![thread isFinished]) sched_yield();
    [thread release];
    [_done release];
}

@end

void run_on_thread(void (*function)(void), NSUInteger stack_size) {
    Runner *runner = [[Runner alloc] init];
    [runner runFunction:function stackSize:stack_size];
    [runner release];
}

BOOL has_function(USPStack *stack, const char *name) {
    NSString *wanted = [NSString stringWithUTF8String:name];
    for (USPFrame *frame in [stack frames]) {
        if ([[frame symbolName] isEqualToString:wanted]) return YES;
    }
    return NO;
}

void check_stands(USPStack *stack, enum standing_place place) {
    ck_assert(stack != nil);
    for (int i = 0; i < STANDING_PLACES; i++) {
        ck_assert_msg(has_function(stack, standing_names[i]) == (i == (int)place), "%s: %s", standing_names[i],
                      [[stack backtrace] UTF8String]);
    }
}
