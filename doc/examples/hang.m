/* SPDX-License-Identifier: MIT */
/* The hang monitor of hang.c for an app, with libunspool-objc: the main queue answers, or the main thread's stack is logged.
 * Call start_hang_monitor() once, early. */
#import <Foundation/Foundation.h>
#include <stdatomic.h>
#import <unspool-objc/unspool-objc.h>
#include <unspool/unspool.h>

#include "patience.h"

static const NSTimeInterval tick = 0.1;

/* A thread of its own: a queue's worker could be what everything else waits for. */
@interface HangMonitor : NSThread
@end

@implementation HangMonitor

- (void)main {
    [USPThread registerCurrent];
    static atomic_uint beat;
    struct patience patience = {
        .tick = (uint64_t)(tick * NSEC_PER_SEC), .limit = 4 * (uint64_t)(tick * NSEC_PER_SEC), .then = usp_clock()};
    unsigned asked = 0;
    bool is_told = false;
    for (;;) {
        @autoreleasepool {
            unsigned heard = atomic_load(&beat);
            if (heard == asked) {
                asked++;
                is_told = false;
                dispatch_async(dispatch_get_main_queue(), ^{ atomic_fetch_add(&beat, 1); });
            }
            [NSThread sleepForTimeInterval:tick];
            /* Once for each hang. */
            if (patience_ends(&patience, usp_clock(), atomic_load(&beat)) && !is_told) {
                /* The main thread is stopped only while its stack is copied; names are looked up when it runs again. */
                NSLog(@"The main thread hangs:\n%@", [USPThread backtraceOfMainThread]);
                is_told = true;
            }
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
