/* SPDX-License-Identifier: MIT */
/* The hang monitor of hang.c for an app, with libunspool-objc: the main queue answers, or the main thread's stack is logged.
 * Call start_hang_monitor() once, early. */
#import <Foundation/Foundation.h>
#import <unspool-objc/unspool-objc.h>

static const NSTimeInterval patience = 0.4;

/* A thread of its own: a queue's worker could be what everything else waits for. */
@interface HangMonitor : NSThread
@end

@implementation HangMonitor

- (void)main {
    [USPThread registerCurrent];
    for (;;) {
        @autoreleasepool {
            dispatch_semaphore_t answer = dispatch_semaphore_create(0);
            dispatch_async(dispatch_get_main_queue(), ^{ dispatch_semaphore_signal(answer); });
            dispatch_time_t end = dispatch_time(DISPATCH_TIME_NOW, (int64_t)(patience * NSEC_PER_SEC));
            if (dispatch_semaphore_wait(answer, end) != 0) {
                /* The main thread stands still only while its stack is copied; names are looked up when it runs again. */
                NSLog(@"The main thread hangs:\n%@", [USPThread backtraceOfMainThread]);
                /* Once for each hang. */
                dispatch_semaphore_wait(answer, DISPATCH_TIME_FOREVER);
            }
            [NSThread sleepForTimeInterval:patience];
        }
    }
}

@end

void start_hang_monitor(void);

void start_hang_monitor(void) {
    HangMonitor *monitor = [[HangMonitor alloc] init];
    monitor.name = @"hang monitor";
    [monitor start];
}
