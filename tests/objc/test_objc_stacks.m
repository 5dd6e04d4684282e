/* SPDX-License-Identifier: MIT */
/* Tests the stacks of the Objective-C layer: frames, lines, growth, known stacks, the app's own frames; and that it
 * frees everything. */
#define _GNU_SOURCE 1
#import "tests/objc/objc_threads.h"

#import "lib/objc/capture.h"
#import "lib/objc/names.h"
#include "tests/support/suite.h"

#import <Foundation/NSDebug.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

/* How many stacks the library keeps with their lines (usp_stack_table_options_init). */
#define KNOWN_AT_MOST 4096u

static NSAutoreleasePool *pool;
static volatile int sink;

static void set_up(void) {
    pool = [[NSAutoreleasePool alloc] init];
    ck_assert([NSThread isMainThread]);
}

static void tear_down(void) { [pool drain]; }

static USPStack *current(USPOptions options) {
    NSError *error = nil;
    USPStack *stack = [USPThread stackOfCurrentThreadWithOptions:options error:&error];
    ck_assert(stack != nil);
    return stack;
}

static BOOL mentions(NSString *line, const char *text) {
    return [line rangeOfString:[NSString stringWithUTF8String:text]].length > 0;
}

static NSString *own_program(void) { return [[[NSProcessInfo processInfo] arguments] objectAtIndex:0]; }

void descend(unsigned depth, void (*function)(void));
/* Has a small frame, because there are a million of them. */
STAND void descend(unsigned depth, void (*function)(void)) {
    if (depth == 0) {
        function();
    } else {
        descend(depth - 1, function);
    }
    sink = (int)depth;
}

/* ---- frames and lines ---- */

void look_at_frames(void);
STAND void look_at_frames(void) {
    NSError *error = nil;
    USPStack *stack = [USPThread stackOfCurrentThreadWithOptions:0 error:&error];
    NSArray *named = [stack frames], *bare = [stack framesWithoutSymbols], *addresses = [stack returnAddresses];
    NSArray *lines = [stack callStackSymbols], *bare_lines = [stack linesWithoutSymbols];
    const struct usp_stack *raw = [stack stack];
    ck_assert_uint_gt(raw->count, 3);
    ck_assert_uint_eq([named count], raw -> count);
    ck_assert_uint_eq([bare count], raw -> count);
    ck_assert_uint_eq([addresses count], raw -> count);
    ck_assert_uint_eq([lines count], raw -> count);
    ck_assert_uint_eq([bare_lines count], raw -> count);
    ck_assert_uint_eq([stack stop], raw -> stop);
    ck_assert_str_eq([[stack stopReason] UTF8String], usp_stop_reason_string(raw->stop));
    ck_assert(![stack isTruncated]);
    for (uint32_t i = 0; i < raw->count; i++) {
        USPFrame *frame = [named objectAtIndex:i], *without = [bare objectAtIndex:i];
        ck_assert_uint_eq([frame index], i);
        ck_assert_uint_eq([frame address], raw -> frames[i].pc);
        ck_assert_uint_eq([frame callSite], usp_frame_call_site(raw->arch, &raw->frames[i]));
        ck_assert_uint_eq([frame kind], raw -> frames[i].kind);
        ck_assert_uint_eq([frame method], raw -> frames[i].method);
        ck_assert_uint_eq([frame flags], raw -> frames[i].flags);
        ck_assert_uint_eq([[addresses objectAtIndex:i] unsignedLongLongValue], raw->frames[i].pc);
        ck_assert_uint_eq([without address], [frame address]);
        ck_assert([without symbolName] == nil);
        ck_assert_uint_eq([without symbolAddress], 0);
        ck_assert_str_eq([[without imagePath] UTF8String], [[frame imagePath] UTF8String]);
        ck_assert_uint_eq([without imageAddress], [frame imageAddress]);
        ck_assert(mentions([lines objectAtIndex:i], [[[frame imagePath] lastPathComponent] UTF8String]));
    }
    USPFrame *first = [named objectAtIndex:0];
    ck_assert_str_eq([[first symbolName] UTF8String], "look_at_frames");
    ck_assert_uint_le([first symbolAddress], [first callSite]);
    ck_assert_uint_ge([first symbolAddress], [first imageAddress]);
    ck_assert([[[first imagePath] lastPathComponent] isEqualToString:[own_program() lastPathComponent]]);
    ck_assert_uint_gt([[first imageUUID] length], 0);
    ck_assert([[lines objectAtIndex:0] hasPrefix:@"0   "]);
    ck_assert(mentions([lines objectAtIndex:0], "look_at_frames + "));
    ck_assert(!mentions([bare_lines objectAtIndex:0], "look_at_frames"));
    ck_assert(mentions([bare_lines objectAtIndex:0], " + "));
    ck_assert(mentions([stack backtrace], "look_at_frames + "));
    ck_assert(!mentions([stack backtraceWithoutSymbols], "look_at_frames"));
}

/* Runs below frames that have frame records, so the code that calls the test does not matter. */
START_TEST(frames_and_lines) { descend(3, look_at_frames); }
END_TEST

/* ---- source locations ---- */

#define INLINED static inline __attribute__((always_inline))

static unsigned capture_line;

INLINED USPStack *inlined_0(void) {
    NSError *error = nil;
    capture_line = __LINE__ + 1;
    return [USPThread stackOfCurrentThreadWithOptions:0 error:&error];
}

INLINED USPStack *inlined_1(void) { return inlined_0(); }
INLINED USPStack *inlined_2(void) { return inlined_1(); }
#define INLINED_CALLS 3

void look_at_source(void);
STAND void look_at_source(void) {
    const unsigned call_line = __LINE__ + 1;
    USPStack *stack = inlined_2();
    NSString *file = @"test_objc_stacks.m";
    USPFrame *frame = [[stack frames] objectAtIndex:0], *bare = [[stack framesWithoutSymbols] objectAtIndex:0];
    ck_assert_str_eq([[frame symbolName] UTF8String], "look_at_source");
    ck_assert([[[frame location] file] isEqualToString:file]);
    ck_assert([[[frame location] directory] length] > 0);
    ck_assert_uint_eq([[frame location] line], call_line);
    ck_assert_uint_gt([[frame location] column], 0);
    NSString *place = [NSString stringWithFormat:@"test_objc_stacks.m:%u", call_line];
    ck_assert([[[frame location] description] isEqualToString:place]);
    ck_assert_uint_eq([[frame inlined] count], INLINED_CALLS);
    for (unsigned i = 0; i < INLINED_CALLS; i++) {
        USPInlinedCall *call = [[frame inlined] objectAtIndex:i];
        NSString *function = [NSString stringWithFormat:@"inlined_%u", i];
        ck_assert([[call function] isEqualToString:function]);
        ck_assert([[[call location] file] isEqualToString:file]);
        ck_assert_uint_gt([[call location] line], 0);
    }
    USPInlinedCall *innermost = [[frame inlined] objectAtIndex:0];
    ck_assert_uint_eq([[innermost location] line], capture_line);
    ck_assert([bare location] == nil);
    ck_assert_uint_eq([[bare inlined] count], 0);

    NSString *text = [stack backtrace];
    NSString *inlined = [NSString stringWithFormat:@"inlined_0 [inlined] (test_objc_stacks.m:%u)", capture_line];
    ck_assert(mentions(text, [inlined UTF8String]));
    NSString *ending = [NSString stringWithFormat:@" (%@)\n", place];
    ck_assert(mentions(text, [ending UTF8String]));
    ck_assert(!mentions([stack backtraceWithoutSymbols], "test_objc_stacks.m"));
    /* There is one line for each frame, as in +[NSThread callStackSymbols]. */
    ck_assert_uint_eq([[stack callStackSymbols] count], [[stack returnAddresses] count]);
    ck_assert(!mentions([[stack callStackSymbols] objectAtIndex:0], "test_objc_stacks.m"));
}

START_TEST(source_locations) { descend(3, look_at_source); }
END_TEST

/* The replacements for NSThread's methods begin with their caller, as NSThread's own do. */
void look_at_drop_ins(void);
STAND void look_at_drop_ins(void) {
    NSArray *lines = [USPThread callStackSymbols];
    ck_assert(mentions([lines objectAtIndex:0], "look_at_drop_ins + "));
    lines = [USPThread callStackSymbols:2];
    ck_assert_uint_eq([lines count], 2);
    ck_assert(mentions([lines objectAtIndex:0], "look_at_drop_ins + "));
    ck_assert_uint_eq([[USPThread callStackSymbols:0] count], 0);
    ck_assert_uint_eq([[USPThread callStackReturnAddresses:2 options:0] count], 2);
    ck_assert_uint_eq([[USPThread callStackReturnAddresses:0 options:0] count], 0);
    NSArray *addresses = [USPThread callStackReturnAddresses];
    USPStack *stack = current(0);
    /* All frames but the innermost one are the same. */
    NSArray *same = [stack returnAddresses];
    ck_assert_uint_eq([addresses count] + 1, [same count]);
    for (NSUInteger i = 1; i < [addresses count]; i++) {
        ck_assert([[addresses objectAtIndex:i] isEqual:[same objectAtIndex:i + 1]]);
    }
    lines = [USPThread callStackSymbols:NSUIntegerMax options:USPOptionWithoutSymbols timesSeen:NULL];
    ck_assert_uint_eq([lines count], [addresses count]);
    ck_assert(!mentions([lines objectAtIndex:0], "look_at_drop_ins"));
    ck_assert(!mentions([USPThread backtraceOfCurrentThreadWithOptions:USPOptionWithoutSymbols], "look_at_drop_ins"));
    ck_assert(!mentions([USPThread backtraceOfMainThreadWithOptions:USPOptionWithoutSymbols], "look_at_drop_ins"));
    ck_assert(!mentions([USPThread backtraceOfAllThreadsWithOptions:USPOptionWithoutSymbols], "look_at_drop_ins"));
}

START_TEST(drop_ins) { descend(3, look_at_drop_ins); }
END_TEST

/* Symbolicating is slow: a stack whose names are not asked for must not need a symbolizer. */
START_TEST(nothing_is_named_unasked) {
    GSDebugAllocationActive(YES);
    Parked *parked = [[Parked alloc] initIn:IN_FIRST name:nil registers:NO];
    NSError *error = nil;
    USPOptions both = USPOptionAppOnly | USPOptionWithoutSymbols;
    USPStack *stack = [USPThread stackOfThread:parked options:USPOptionAppOnly error:&error];
    [stack returnAddresses];
    [stack framesWithoutSymbols];
    [stack linesWithoutSymbols];
    [stack backtraceWithoutSymbols];
    [USPThread stacksOfAllThreadsWithOptions:0 error:&error];
    [USPThread callStackReturnAddresses];
    [USPThread backtraceOfNSThread:parked options:both];
    [USPThread backtraceOfAllThreadsWithOptions:both];
    ck_assert_int_eq(GSDebugAllocationCount([USPINames class]), 0);
    [stack frames];
    ck_assert_int_eq(GSDebugAllocationCount([USPINames class]), 1);
    [parked end];
    [parked release];
}
END_TEST

/* The application's options of usp_prepare would be replaced by the layer's. They must stay. */
START_TEST(the_program_has_prepared) {
    struct usp_prepare_options options;
    struct sigaction before, after;
    Parked *parked = [[Parked alloc] initIn:IN_FIRST name:nil registers:NO];
    NSError *error = nil;
    usp_prepare_options_init(&options);
    options.signal = SIGWINCH;
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
    ck_assert_int_eq(sigaction(options.signal, NULL, &before), 0);
    check_stands([USPThread stackOfThread:parked options:0 error:&error], IN_FIRST);
    ck_assert([USPThread stacksOfAllThreadsWithOptions:0 error:&error] != nil);
    ck_assert_int_eq(sigaction(options.signal, NULL, &after), 0);
    ck_assert(after.sa_handler != SIG_DFL);
    ck_assert(after.sa_sigaction == before.sa_sigaction);
    [parked end];
    [parked release];
}
END_TEST

/* A stack of the calling thread would end at a library that was loaded after usp_prepare. The library here is one of
 * libc's that no program links. */
START_TEST(a_library_that_was_loaded_since) {
    uint32_t ticket;
    bool is_listed = false;
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    void *library = dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(library != NULL, "%s", dlerror());
    ck_assert_uint_gt([[USPThread callStackReturnAddresses] count], 0);
    const struct usp_images *images = usp_images_acquire(&ticket);
    for (size_t i = 0; i < usp_images_count(images); i++) {
        is_listed = is_listed || strstr(usp_images_get(images, i)->path, "BrokenLocale") != NULL;
    }
    usp_images_release(ticket);
    ck_assert(is_listed);
    dlclose(library);
}
END_TEST

/* ---- growing buffers ---- */

static USPStack *deep_stack;
static NSArray *deep_lines;

static void take_deep_stack(void) { deep_stack = [current(0) retain]; }
static void take_deep_lines(void) { deep_lines = [[USPThread callStackSymbols] retain]; }

#define DEEP 20000u

static void go_deep(void) {
    descend(DEEP, take_deep_stack);
    descend(DEEP, take_deep_lines);
}

START_TEST(grows_until_everything_fits) {
    run_on_thread(go_deep, 64 << 20);
    ck_assert_uint_gt([deep_stack stack]->count, DEEP);
    ck_assert_uint_lt([deep_stack stack]->count, DEEP + 30);
    ck_assert(![deep_stack isTruncated]);
    ck_assert_uint_eq([deep_stack stack]->omitted, 0);
    ck_assert_uint_gt([deep_lines count], DEEP);
    ck_assert_uint_lt([deep_lines count], DEEP + 30);
    ck_assert(mentions([deep_lines objectAtIndex:DEEP / 2], "descend + "));
    [deep_stack release];
    [deep_lines release];
}
END_TEST

static void go_beyond(void) { descend(USPI_OBJC_FRAMES_MAX + 10, take_deep_stack); }
static void go_beyond_with_lines(void) { descend(USPI_OBJC_FRAMES_MAX + 10, take_deep_lines); }

START_TEST(a_stack_beyond_the_limit_says_so) {
    run_on_thread(go_beyond, 512 << 20);
    ck_assert_uint_eq([deep_stack stack]->count, USPI_OBJC_FRAMES_MAX);
    ck_assert([deep_stack isTruncated]);
    NSString *text = [deep_stack backtraceWithoutSymbols];
    ck_assert(mentions([text substringFromIndex:[text length] - 100], "further frames left out"));
    [deep_stack release];
}
END_TEST

/* A reader could take a cut stack for a whole one. The last line of +[NSThread callStackSymbols]' replacement must
 * report the limit, too. */
START_TEST(lines_beyond_the_limit_say_so) {
    run_on_thread(go_beyond_with_lines, 512 << 20);
    ck_assert_uint_eq([deep_lines count], USPI_OBJC_FRAMES_MAX + 1);
    ck_assert(mentions([deep_lines objectAtIndex:0], "take_deep_lines + "));
    ck_assert(mentions([deep_lines objectAtIndex:USPI_OBJC_FRAMES_MAX - 1], "descend + "));
    ck_assert(mentions([deep_lines lastObject], "further frames left out"));
    [deep_lines release];
}
END_TEST

static NSConditionLock *deep_state;
static void stand_deep(void) {
    [deep_state lock];
    [deep_state unlockWithCondition:1];
    [deep_state lockWhenCondition:2];
    [deep_state unlock];
}

@interface Deep : NSObject
@end
@implementation Deep
- (void)run {
    descend(3000, stand_deep);
}
@end

START_TEST(other_threads_grow_too) {
    Deep *deep = [[Deep alloc] init];
    NSThread *thread = [[NSThread alloc] initWithTarget:deep selector:@selector(run) object:nil];
    NSError *error = nil;
    unsigned found = 0;
    deep_state = [[NSConditionLock alloc] initWithCondition:0];
    [thread start];
    [deep_state lockWhenCondition:1];
    [deep_state unlock];
    USPStack *stack = [USPThread stackOfThread:thread options:0 error:&error];
    ck_assert_uint_gt([stack stack]->count, 3000);
    for (USPStack *one in [USPThread stacksOfAllThreadsWithOptions:0 error:&error]) {
        if ([one threadID] != [stack threadID]) continue;
        ck_assert_uint_eq([one stack]->count, [stack stack]->count);
        found++;
    }
    ck_assert_uint_eq(found, 1);
    [deep_state lock];
    [deep_state unlockWithCondition:2];
    while (![thread isFinished]) [NSThread sleepForTimeInterval:0.001];
    [thread release];
    [deep release];
    [deep_state release];
}
END_TEST

/* ---- known stacks ---- */

static NSArray *known_lines(NSUInteger max, USPOptions options, uint64_t *times) {
    return [USPThread callStackSymbols:max options:options timesSeen:times];
}

static void look_at_equal_stacks(void) {
    NSArray *first = nil, *bare = nil;
    uint64_t times;
    for (unsigned i = 1; i <= 5; i++) {
        NSArray *lines = known_lines(4, i % 2 == 0 ? USPOptionWithoutSymbols : 0, &times);
        NSArray **same = i % 2 == 0 ? &bare : &first;
        ck_assert_uint_eq(times, i);
        ck_assert_uint_eq([lines count], 4);
        if (*same == nil) *same = lines;
        ck_assert(lines == *same);
    }
    ck_assert(first != bare);
    ck_assert(![first isEqual:bare]);
    NSArray *elsewhere = known_lines(4, 0, &times);
    ck_assert_uint_eq(times, 1);
    ck_assert(elsewhere != first);
    ck_assert(![elsewhere isEqual:first]);
    [USPThread forget];
    for (unsigned i = 1; i <= 2; i++) {
        NSArray *lines = known_lines(4, 0, &times);
        ck_assert_uint_eq(times, i);
        ck_assert_uint_eq([lines count], 4);
    }
}

START_TEST(equal_stacks_are_one_object) { descend(3, look_at_equal_stacks); }
END_TEST

static uint64_t seen;

#define BITS 13u
/* One frame for each bit, the last one and the function that it calls. The caller, which the compiler may have
 * duplicated, is not counted. */
#define FRAMES_OF_WAY (BITS + 2)

STAND static void end_of_way(void) {
    NSAutoreleasePool *inner = [[NSAutoreleasePool alloc] init];
    [USPThread callStackSymbols:FRAMES_OF_WAY options:USPOptionWithoutSymbols timesSeen:&seen];
    [inner drain];
}

/* Calls itself from one of two places for each bit, so that every number has its own stack. */
void go_way(unsigned number, unsigned bits);
STAND void go_way(unsigned number, unsigned bits) {
    if (bits == 0) {
        end_of_way();
    } else if ((number & 1) != 0) {
        go_way(number >> 1, bits - 1);
        sink = 1;
    } else {
        go_way(number >> 1, bits - 1);
        sink = 2;
    }
    sink = 3;
}

START_TEST(known_stacks_make_room) {
    const unsigned more = KNOWN_AT_MOST + 100;
    GSDebugAllocationActive(YES);
    Class known = NSClassFromString(@"USPIKnownStack");
    ck_assert(known != Nil);
    /* After the new stacks come the last one and the first one again, all from the same place. */
    for (unsigned i = 0; i < more + 2; i++) {
        go_way(i < more ? i : i == more ? more - 1 : 0, BITS);
        const uint64_t expected = i == more ? 2 : 1;
        ck_assert_uint_eq(seen, expected);
    }
    ck_assert_int_eq(GSDebugAllocationCount(known), KNOWN_AT_MOST);
    [USPThread forget];
    ck_assert_int_eq(GSDebugAllocationCount(known), 0);
}
END_TEST

/* ---- the app's own frames ---- */

static NSUInteger count_in(NSArray *frames, NSString *folder) {
    NSUInteger count = 0;
    for (USPFrame *frame in frames) {
        if ([[frame imagePath] hasPrefix:[folder stringByAppendingString:@"/"]]) count++;
    }
    return count;
}

static void call_back(void *context) { *(USPStack **)context = [current(USPOptionAppOnly) retain]; }

/* Is called through a library of the system. */
static int compare(const void *a, const void *b, void *context) {
    (void)a;
    (void)b;
    call_back(context);
    return 0;
}

static USPStack *through_the_system(void) {
    USPStack *stack = nil;
    int two[2] = {1, 2};
    qsort_r(two, 2, sizeof *two, compare, &stack);
    return [stack autorelease];
}

START_TEST(only_the_app) {
    USPStack *stack = through_the_system();
    NSArray *frames = [stack framesWithoutSymbols];
    NSString *folder = [[[frames objectAtIndex:0] imagePath] stringByDeletingLastPathComponent];
    ck_assert_uint_gt([stack filteredCount], 1);
    ck_assert_uint_gt([frames count], 3);
    ck_assert_uint_eq(count_in(frames, folder), [frames count]);
    ck_assert(has_function(stack, "through_the_system"));
    ck_assert_uint_eq([[frames lastObject] index], [frames count] - 1);
    /* The maximum counts the frames that are kept. */
    NSArray *lines = [USPThread callStackSymbols:1 options:USPOptionAppOnly timesSeen:NULL];
    ck_assert_uint_eq([lines count], 1);
    ck_assert(mentions([lines objectAtIndex:0], [[own_program() lastPathComponent] UTF8String]));
}
END_TEST

START_TEST(folders_can_be_set) {
    USPStack *stack = through_the_system();
    NSUInteger usual = [[stack framesWithoutSymbols] count];
    uintptr_t in_libc = (uintptr_t)&qsort_r;
    const struct usp_image *image = usp_images_find([[USPIImages current] images], in_libc);
    NSString *libc = [[NSString stringWithUTF8String:image->path] stringByDeletingLastPathComponent];
    [USPThread setAppFolders:[NSArray arrayWithObject:libc]];
    stack = through_the_system();
    ck_assert_uint_gt([[stack framesWithoutSymbols] count], 0);
    ck_assert_uint_eq(count_in([stack framesWithoutSymbols], libc), [[stack framesWithoutSymbols] count]);
    [USPThread setAppFolders:[NSArray array]];
    ck_assert_uint_eq([[through_the_system() framesWithoutSymbols] count], 0);
    [USPThread setAppFolders:nil];
    ck_assert_uint_eq([[through_the_system() framesWithoutSymbols] count], usual);
}
END_TEST

/* Computing the ranges of the app's images for each stack would be slow. As long as nothing is loaded, the same ones
 * must be used. */
START_TEST(ranges_are_computed_once) {
    /* The first capture of an unprepared process lists the images with their unwind tables. */
    through_the_system();
    USPIImages *first = [USPIImages current];
    through_the_system();
    ck_assert([USPIImages current] == first);
    [USPThread setAppFolders:[NSArray arrayWithObject:@"/usr"]];
    ck_assert([USPIImages current] != first);
    [USPThread setAppFolders:nil];
}
END_TEST

/* ---- freeing ---- */

static void use_everything(void) {
    NSAutoreleasePool *inner = [[NSAutoreleasePool alloc] init];
    Parked *parked = [[Parked alloc] initIn:IN_FIRST name:@"leaky" registers:YES];
    NSError *error = nil;
    uint64_t times;
    [USPThread registerCurrent];
    USPStack *stack = [USPThread stackOfThread:parked options:USPOptionAppOnly error:&error];
    [stack frames];
    [stack framesWithoutSymbols];
    [stack backtrace];
    [USPThread stackOfMainThreadWithOptions:0 error:&error];
    [[USPThread stacksOfAllThreadsWithOptions:0 error:&error] lastObject];
    [USPThread backtraceOfAllThreads];
    [USPThread callStackSymbols:10 options:0 timesSeen:&times];
    [USPThread callStackReturnAddresses];
    [parked end];
    [USPThread stackOfThread:parked options:0 error:&error];
    [parked release];
    [inner drain];
}

static const char *const classes[] = {"USPStack",       "USPFrame",    "USPIImages", "USPINames",
                                      "USPIKnownStack", "USPILearner", "Parked",     "USPSourceLocation"};

START_TEST(no_object_is_leaked) {
    GSDebugAllocationActive(YES);
    for (unsigned i = 0; i < 20; i++) run_on_thread(use_everything, 0);
    [USPThread forget];
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        Class class = NSClassFromString([NSString stringWithUTF8String:classes[i]]);
        ck_assert_msg(GSDebugAllocationPeak(class) > 0 || i == 5, "%s was never made", classes[i]);
        ck_assert_msg(GSDebugAllocationCount(class) == 0, "%d of %s are left", GSDebugAllocationCount(class),
                      classes[i]);
    }
    /* The threads have ended, and their dictionaries are freed with them. */
    Class registration = NSClassFromString(@"USPIRegistration");
    ck_assert_int_gt(GSDebugAllocationPeak(registration), 0);
    ck_assert_int_eq(GSDebugAllocationCount(registration), 0);
}
END_TEST

/* Makes a test case of one test, so that CK_RUN_CASE can select it. */
static TCase *alone(const TTest *test) {
    TCase *one = tcase_create(test->name);
    tcase_add_checked_fixture(one, set_up, tear_down);
    tcase_add_test(one, test);
    return one;
}

int main(void) {
    return run_suite("stacks as objects", alone(frames_and_lines), alone(source_locations), alone(drop_ins),
                     alone(nothing_is_named_unasked), alone(the_program_has_prepared),
                     alone(a_library_that_was_loaded_since), alone(grows_until_everything_fits),
                     alone(a_stack_beyond_the_limit_says_so), alone(lines_beyond_the_limit_say_so),
                     alone(other_threads_grow_too), alone(equal_stacks_are_one_object), alone(known_stacks_make_room),
                     alone(only_the_app), alone(folders_can_be_set), alone(ranges_are_computed_once),
                     alone(no_object_is_leaked));
}
