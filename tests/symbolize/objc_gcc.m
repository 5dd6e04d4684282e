/* SPDX-License-Identifier: MIT */
/* Classes for GCC's runtime, for tests/symbolize/objc_gcc.sh: a library that lists the name of each function without
 * asking the runtime. */
#include <objc/Object.h>
#include <objc/runtime.h>

struct fixture_function {
    const char *name;
    void (*code)(void);
};
const struct fixture_function *fixture_functions(void);
int fixture_initialized(void);

static int initialized;
static volatile int kept;

@interface ViewController : Object
- (int)bar;
- (int)bar:(int)x with_under_score:(int)y;
+ (int)make;
+ (id)initialize;
@end

@interface ViewController (More)
- (int)more:(int)x;
@end

/* A class that is never used. */
@interface Unused : Object
- (int)bar;
@end

/* Two functions that are not methods, among methods. */
__attribute__((noinline)) static void plain(void) { kept += 3; }

@implementation ViewController
- (int)bar {
    plain();
    return kept;
}
- (int)bar:(int)x with_under_score:(int)y {
    return x - y;
}
+ (int)make {
    return 5;
}
+ (id)initialize {
    initialized = 1;
    return self;
}
@end

__attribute__((noinline)) static void plain_after(void) { kept += 7; }

@implementation ViewController (More)
- (int)more:(int)x {
    plain_after();
    return x * 11;
}
@end

@implementation Unused
- (int)bar {
    return 13;
}
@end

/* GCC's own symbols for the methods, local to this file (gcc/objc/objc-gnu-runtime-abi-01.c). */
extern void bar(void) __asm__("_i_ViewController__bar");
extern void bar_with(void) __asm__("_i_ViewController__bar_with_under_score_");
extern void make(void) __asm__("_c_ViewController__make");
extern void more(void) __asm__("_i_ViewController_More_more_");
extern void unused(void) __asm__("_i_Unused__bar");

const struct fixture_function *fixture_functions(void) {
    static const struct fixture_function functions[] = {
        {"-[ViewController bar]", bar},
        {"-[ViewController bar:with_under_score:]", bar_with},
        {"+[ViewController make]", make},
        {"-[ViewController more:]", more},
        {"-[Unused bar]", unused},
        {"", plain},
        {"", plain_after},
        {0, 0},
    };
    return functions;
}

int fixture_initialized(void) { return initialized; }
