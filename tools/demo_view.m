/* SPDX-License-Identifier: MIT */
/* Implements demo_view.h in Objective-C. */
#include "tools/demo_view.h"

#include <objc/runtime.h>

/* A root class, because the runtimes have no common one: GCC's has Object, Apple's has NSObject. */
__attribute__((objc_root_class))
@interface ViewController {
    Class isa;
    pthread_mutex_t *settings;
    int round;
}
+ (void)initialize;
- (void)loadWith:(pthread_mutex_t *)lock round:(int)number;
- (int)viewDidLoad;
- (int)bar;
@end

KEPT static int foo(ViewController *controller) {
    int volatile kept = [controller bar] + 1;
    return kept;
}

@implementation ViewController
/* Apple's runtime sends this to the root class before the first message. */
+ (void)initialize {
}

- (void)loadWith:(pthread_mutex_t *)lock round:(int)number {
    settings = lock;
    round = number;
}

- (int)viewDidLoad {
    int volatile kept = foo(self) + 1;
    return kept;
}

/* Waits for the lock of the settings, forever. */
- (int)bar {
    int volatile kept = round;
    pthread_mutex_lock(settings);
    pthread_mutex_unlock(settings);
    return kept;
}
@end

int demo_load_view(pthread_mutex_t *settings, int round) {
    static ViewController *controller;
    if (controller == nil) controller = class_createInstance(objc_getClass("ViewController"), 0);
    [controller loadWith:settings round:round];
    int volatile kept = [controller viewDidLoad] + 1;
    return kept;
}
