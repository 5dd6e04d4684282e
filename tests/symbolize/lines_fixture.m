/* SPDX-License-Identifier: MIT */
/* Like lines_fixture.c, for Objective-C: methods of classes and instances, categories, properties, blocks, messages. It
 * uses no library, and is never run. */
#include "lines_fixture.h"

volatile int sink;

#ifdef __clang__
__attribute__((objc_root_class))
#endif
@interface Counter {
    Class isa;
    int held;
}
+ (int)most;
- (int)held;
- (void)setHeld:(int)value;
- (int)grow:(int)by times:(int)times;
@end

static inline __attribute__((always_inline)) int bounded(int value) { return value > 1000 ? header_twice(500) : value; }

@implementation Counter
+ (int)most {
    sink = 1;
    return bounded(sink + 999);
}
- (int)held {
    return held;
}
- (void)setHeld:(int)value {
    sink = held;
    held = bounded(value);
}
- (int)grow:(int)by times:(int)times {
    for (int i = 0; i < times; i++) {
        held = bounded(held + header_mixed(by, i));
    }
    return held;
}
@end

@interface Counter (More)
- (int)growAndTell:(int)by;
@end

@implementation Counter (More)
- (int)growAndTell:(int)by {
    if (by > [Counter most]) return 0;
#ifdef __BLOCKS__
    int (^block)(int) = ^(int extra) {
      sink = extra;
      return bounded(extra) + by;
    };
    return block([self grow:by times:3]);
#else
    return [self grow:by times:3];
#endif
}
@end

int entry(Counter *counter, int a) { return other_unit([counter growAndTell:bounded(a)] + [counter held]); }
