/* SPDX-License-Identifier: MIT */
/* Tests how an NSThread is mapped to its thread: each way alone, all ways together, and threads that must not be
 * found. */
#define _GNU_SOURCE 1
#import "tests/objc/objc_threads.h"

#import "lib/objc/resolve.h"
#include "tests/support/suite.h"

#include <objc/runtime.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static NSAutoreleasePool *pool;

static void set_up(void) {
    pool = [[NSAutoreleasePool alloc] init];
    /* Foundation takes the thread that first asks for the main one. */
    ck_assert([NSThread isMainThread]);
}

static void tear_down(void) { [pool drain]; }

static int code_of(NSThread *thread) {
    NSError *error = nil;
    USPStack *stack = [USPThread stackOfThread:thread options:0 error:&error];
    ck_assert((stack == nil) == (error != nil));
    if (stack != nil) return USP_OK;
    ck_assert([[error domain] isEqualToString:USPErrorDomain]);
    ck_assert_uint_gt([[error localizedDescription] length], 10);
    return (int)[error code];
}

/* ---- main, current ---- */

static STAND void ask_for_main(void) {
    NSError *error = nil;
    USPStack *stack = [USPThread stackOfMainThreadWithOptions:0 error:&error];
    ck_assert(stack != nil);
    ck_assert([stack isMainThread]);
    ck_assert(has_function(stack, "wait_on_main"));
    ck_assert(!has_function(stack, "ask_for_main"));
    USPStack *same = [USPThread stackOfThread:[NSThread mainThread] options:0 error:&error];
    ck_assert_uint_eq([same threadID], [stack threadID]);
    ck_assert(has_function(same, "wait_on_main"));
    NSString *text = [USPThread backtraceOfMainThread];
    NSString *heading =
        [NSString stringWithFormat:@"Backtrace of Thread %llu:\n", (unsigned long long)[stack threadID]];
    ck_assert([text hasPrefix:heading]);
    ck_assert_uint_gt([text rangeOfString:@"wait_on_main + "].length, 0);
}

void wait_on_main(void);
STAND void wait_on_main(void) {
    run_on_thread(ask_for_main, 0);
    ck_assert([NSThread isMainThread]);
}

START_TEST(main_thread) { wait_on_main(); }
END_TEST

void ask_for_current(void);
STAND void ask_for_current(void) {
    NSError *error = nil;
    struct usp_thread self_thread;
    NSThread *current = [NSThread currentThread];
    ck_assert_int_eq(usp_thread_self(&self_thread), USP_OK);
    USPStack *stacks[2] = {[USPThread stackOfCurrentThreadWithOptions:0 error:&error],
                           [USPThread stackOfThread:current options:0 error:&error]};
    for (unsigned i = 0; i < 2; i++) {
        USPFrame *first = [[stacks[i] frames] objectAtIndex:0];
        ck_assert_str_eq([[first symbolName] UTF8String], "ask_for_current");
        ck_assert_uint_eq([stacks[i] threadID], self_thread.id);
        ck_assert([stacks[i] isMainThread] == [NSThread isMainThread]);
        ck_assert([stacks[i] error] == nil);
    }
    usp_thread_release(&self_thread);
    NSString *first_line = [[[USPThread backtraceOfCurrentThread] componentsSeparatedByString:@"\n"] objectAtIndex:1];
    ck_assert_uint_gt([first_line rangeOfString:@"ask_for_current + "].length, 0);
    first_line = [[[USPThread backtraceOfNSThread:current] componentsSeparatedByString:@"\n"] objectAtIndex:1];
    ck_assert_uint_gt([first_line rangeOfString:@"ask_for_current + "].length, 0);
}

START_TEST(current_thread) {
    ask_for_current();
    run_on_thread(ask_for_current, 0);
}
END_TEST

/* ---- others ---- */

static void check_other(void) {
    Parked *unnamed = [[Parked alloc] initIn:IN_FIRST name:nil registers:NO];
    Parked *named = [[Parked alloc] initIn:IN_SECOND name:@"another" registers:NO];
    NSError *error = nil;
    USPStack *stack = [USPThread stackOfThread:unnamed options:0 error:&error];
    check_stands(stack, IN_FIRST);
    ck_assert_uint_eq([stack threadID], [unnamed kernelID]);
    ck_assert(![stack isMainThread]);
    ck_assert([stack threadName] == nil);
    ck_assert([stack stoppedTime] > 0);
    stack = [USPThread stackOfThread:named options:0 error:&error];
    check_stands(stack, IN_SECOND);
    ck_assert([[stack threadName] isEqualToString:@"another"]);
    NSString *text = [USPThread backtraceOfNSThread:named];
    ck_assert_uint_gt([text rangeOfString:@"stand_in_second + "].length, 0);
    [unnamed end];
    [named end];
    [unnamed release];
    [named release];
}

/* On the main thread, another thread learns where NSThreads are stored; another thread learns it itself. */
START_TEST(others_asked_for_on_the_main_thread) { check_other(); }
END_TEST

START_TEST(others_asked_for_on_another_thread) { run_on_thread(check_other, 0); }
END_TEST

START_TEST(two_of_one_name) {
    Parked *twins[2];
    struct usp_thread found;
    for (unsigned i = 0; i < 2; i++) {
        twins[i] = [[Parked alloc] initIn:i == 0 ? IN_FIRST : IN_SECOND name:@"twin" registers:NO];
    }
    for (unsigned i = 0; i < 2; i++) {
        NSError *error = nil;
        ck_assert_int_eq(uspi_objc_by_name(twins[i], &found), USP_ERROR_NOT_FOUND);
        check_stands([USPThread stackOfThread:twins[i] options:0 error:&error], i == 0 ? IN_FIRST : IN_SECOND);
        /* No thread was renamed to tell the two apart. */
        ck_assert([[twins[i] name] isEqualToString:@"twin"]);
    }
    for (unsigned i = 0; i < 2; i++) {
        [twins[i] end];
        [twins[i] release];
    }
}
END_TEST

START_TEST(not_begun_and_finished) {
    Parked *parked = [[Parked alloc] initIn:IN_THIRD name:@"fleeting" registers:YES];
    NSThread *never = [[NSThread alloc] initWithTarget:parked selector:@selector(main) object:nil];
    [never setName:@"fleeting"];
    /* Another thread has this name, but it is not this one. */
    ck_assert_int_eq(code_of(never), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(code_of(parked), USP_OK);
    [parked end];
    ck_assert_int_eq(code_of(parked), USP_ERROR_NO_THREAD);
    ck_assert([USPThread backtraceOfNSThread:parked] == nil);
    [never release];
    [parked release];
}
END_TEST

/* ---- registered ones ---- */

START_TEST(registered_ones) {
    Parked *with = [[Parked alloc] initIn:IN_FIRST name:nil registers:YES];
    Parked *without = [[Parked alloc] initIn:IN_SECOND name:nil registers:NO];
    struct usp_thread found;
    ck_assert_int_eq(uspi_objc_by_registration(with, &found), USP_OK);
    ck_assert_uint_eq(found.id, [with kernelID]);
    ck_assert_int_eq(uspi_objc_by_registration(without, &found), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(code_of(with), USP_OK);
    [with end];
    [without end];
    [with release];
    [without release];
}
END_TEST

/* When a registered thread has ended, another NSThread may be allocated at its address. It would be taken for the old
 * one. */
START_TEST(registered_and_gone) {
    struct usp_thread found;
    for (unsigned i = 0; i < 50; i++) {
        Parked *with = [[Parked alloc] initIn:IN_FIRST name:nil registers:YES];
        NSThread *thread = [with retain];
        [with end];
        [with release];
        ck_assert_int_eq(uspi_objc_by_registration(thread, &found),
                         [[thread threadDictionary] count] > 0 ? USP_OK : USP_ERROR_NOT_FOUND);
        ck_assert_int_eq(code_of(thread), USP_ERROR_NO_THREAD);
        [thread release];
        Parked *next = [[Parked alloc] initIn:IN_SECOND name:nil registers:NO];
        ck_assert_int_eq(uspi_objc_by_registration(next, &found), USP_ERROR_NOT_FOUND);
        [next end];
        [next release];
    }
}
END_TEST

START_TEST(registered_twice) {
    NSUInteger entries = [[[NSThread currentThread] threadDictionary] count];
    struct usp_thread found, own;
    ck_assert_int_eq(usp_thread_self(&own), USP_OK);
    ck_assert([USPThread registerCurrent]);
    ck_assert([USPThread registerCurrent]);
    ck_assert_uint_eq([[[NSThread currentThread] threadDictionary] count], entries + 1);
    ck_assert_int_eq(uspi_objc_by_registration([NSThread currentThread], &found), USP_OK);
    ck_assert_uint_eq(found.id, own.id);
}
END_TEST

#ifdef GNUSTEP
/* ---- by registration, without memory ---- */

static void *(*real_malloc)(NSZone *, size_t);
static long countdown; /* the allocation that fails; 0: none */

/* The runtime aborts when it has no memory, but Foundation's own objects throw. */
static void *failing_malloc(NSZone *zone, size_t size) {
    if (countdown > 0 && --countdown == 0) [NSException raise:NSMallocException format:@"no memory"];
    return real_malloc(zone, size);
}

/* Registers the calling thread while allocation `n` fails, then with enough memory. Returns whether one failed; exits
 * when a result was wrong. */
static bool register_without(long n) {
    struct usp_thread found;
    NSThread *current = [NSThread currentThread];
    countdown = n;
    BOOL is_registered = [USPThread registerCurrent];
    bool failed = countdown == 0;
    countdown = 0;
    if (is_registered == failed) _exit(1);
    if (failed && uspi_objc_by_registration(current, &found) != USP_ERROR_NOT_FOUND) _exit(2);
    if (![USPThread registerCurrent]) _exit(3);
    if (uspi_objc_by_registration(current, &found) != USP_OK) _exit(4);
    return failed;
}

/* Each try is the first registration of a process. */
START_TEST(registered_without_memory) {
    NSZone *zone = NSDefaultMallocZone();
    enum { FAILED = 10, ALL = 11 };
    int status = 0;
    long n = 0;
    real_malloc = zone->malloc;
    while (++n < 1000) {
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            zone->malloc = failing_malloc;
            _exit(register_without(n) ? FAILED : ALL);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) >= FAILED, "allocation %ld: 0x%x", n, (unsigned)status);
        if (WEXITSTATUS(status) == ALL) break;
    }
    ck_assert_int_eq(WEXITSTATUS(status), ALL);
    ck_assert_int_gt(n, 5);
}
END_TEST
#endif

/* ---- by the slot in thread-specific data ---- */

START_TEST(by_slot) {
    Parked *parked[3];
    struct usp_thread found;
    for (int i = 0; i < 3; i++) parked[i] = [[Parked alloc] initIn:(enum standing_place)i name:nil registers:NO];
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(uspi_objc_by_slot(parked[i], &found), USP_OK);
        ck_assert_uint_eq(found.id, [parked[i] kernelID]);
    }
    for (int i = 0; i < 3; i++) {
        [parked[i] end];
        ck_assert_int_eq(uspi_objc_by_slot(parked[i], &found), USP_ERROR_NOT_FOUND);
        [parked[i] release];
    }
}
END_TEST

static NSThread *claimed_main;
static id claim_main(id self, SEL selector) {
    (void)self;
    (void)selector;
    return claimed_main;
}

/* Makes +[NSThread mainThread] return another object than the one in Foundation's slot, so that the check of the
 * learned slot fails. */
static void break_learning(void) {
    Method method = class_getClassMethod([NSThread class], @selector(mainThread));
    claimed_main = [[NSThread alloc] init];
    method_setImplementation(method, (IMP)claim_main);
}

START_TEST(a_slot_that_fails_its_check_is_not_used) {
    Parked *unnamed = [[Parked alloc] initIn:IN_FIRST name:nil registers:NO];
    Parked *named = [[Parked alloc] initIn:IN_SECOND name:@"only one" registers:NO];
    Parked *registered = [[Parked alloc] initIn:IN_THIRD name:nil registers:YES];
    struct usp_thread found;
    break_learning();
    ck_assert_int_eq(uspi_objc_by_slot(unnamed, &found), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(code_of(unnamed), USP_ERROR_NOT_FOUND);
    NSError *error = nil;
    check_stands([USPThread stackOfThread:named options:0 error:&error], IN_SECOND);
    check_stands([USPThread stackOfThread:registered options:0 error:&error], IN_THIRD);
    [unnamed end];
    [named end];
    [registered end];
    [unnamed release];
    [named release];
    [registered release];
}
END_TEST

/* ---- by name ---- */

START_TEST(by_name) {
    Parked *parked = [[Parked alloc] initIn:IN_FIRST name:@"singular" registers:NO];
    Parked *unnamed = [[Parked alloc] initIn:IN_SECOND name:nil registers:NO];
    struct usp_thread found;
    ck_assert_int_eq(uspi_objc_by_name(parked, &found), USP_OK);
    ck_assert_uint_eq(found.id, [parked kernelID]);
    ck_assert_int_eq(uspi_objc_by_name(unnamed, &found), USP_ERROR_NOT_FOUND);
    [parked end];
    [unnamed end];
    ck_assert_int_eq(uspi_objc_by_name(parked, &found), USP_ERROR_NOT_FOUND);
    [parked release];
    [unnamed release];
}
END_TEST

/* A thread that belongs to no NSThread has the same name. */
static pthread_barrier_t impostor_stands, impostor_may_go;
static void *be_impostor(void *unused) {
    (void)unused;
    pthread_setname_np(pthread_self(), "singular");
    pthread_barrier_wait(&impostor_stands);
    pthread_barrier_wait(&impostor_may_go);
    return NULL;
}

START_TEST(an_impostor_of_that_name) {
    Parked *parked = [[Parked alloc] initIn:IN_FIRST name:@"singular" registers:NO];
    struct usp_thread found;
    pthread_t impostor;
    pthread_barrier_init(&impostor_stands, NULL, 2);
    pthread_barrier_init(&impostor_may_go, NULL, 2);
    ck_assert_int_eq(pthread_create(&impostor, NULL, be_impostor, NULL), 0);
    pthread_barrier_wait(&impostor_stands);
    ck_assert_int_eq(uspi_objc_by_name(parked, &found), USP_ERROR_NOT_FOUND);
    pthread_barrier_wait(&impostor_may_go);
    pthread_join(impostor, NULL);
    ck_assert_int_eq(uspi_objc_by_name(parked, &found), USP_OK);
    [parked end];
    [parked release];
}
END_TEST

/* A thread whose name changes while it is looked up. */
@interface Renamed : NSThread {
    unsigned _asked;
}
@end
@implementation Renamed
- (BOOL)isExecuting {
    return YES;
}
- (NSString *)name {
    return _asked++ % 4 < 2 ? @"singular" : @"renamed";
}
@end

START_TEST(a_name_that_changes_meanwhile) {
    Parked *parked = [[Parked alloc] initIn:IN_FIRST name:@"singular" registers:NO];
    Renamed *renamed = [[Renamed alloc] init];
    struct usp_thread found;
    ck_assert_int_eq(uspi_objc_by_name(renamed, &found), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(uspi_objc_by_name(parked, &found), USP_OK);
    [renamed release];
    [parked end];
    [parked release];
}
END_TEST

/* A thread that has the caller's name but no kernel thread. The caller's own stack was returned for it. */
@interface Claimant : NSThread
@end
@implementation Claimant
- (BOOL)isExecuting {
    return YES;
}
- (NSString *)name {
    return @"the caller";
}
@end

static void ask_for_claimant(void) {
    Claimant *claimant = [[Claimant alloc] init];
    struct usp_thread found;
    pthread_setname_np(pthread_self(), "the caller");
    ck_assert_int_eq(uspi_objc_by_name(claimant, &found), USP_OK);
    ck_assert_int_eq(code_of(claimant), USP_ERROR_NOT_FOUND);
    [claimant release];
}

START_TEST(never_the_callers_own_stack) { run_on_thread(ask_for_claimant, 0); }
END_TEST

/* ---- all ---- */

void ask_for_all(void);
STAND void ask_for_all(void) {
    NSError *error = nil;
    NSArray *stacks = [USPThread stacksOfAllThreadsWithOptions:0 error:&error];
    unsigned parked = 0, asking = 0;
    ck_assert(stacks != nil);
    ck_assert([[stacks objectAtIndex:0] isMainThread]);
    for (USPStack *stack in stacks) {
        ck_assert([stack error] == nil);
        for (int i = 0; i < STANDING_PLACES; i++) {
            if (has_function(stack, standing_names[i])) parked |= 1u << i;
        }
        if (!has_function(stack, "ask_for_all")) continue;
        asking++;
        ck_assert_str_eq([[[[stack frames] objectAtIndex:0] symbolName] UTF8String], "ask_for_all");
    }
    ck_assert_uint_eq(parked, 7);
    ck_assert_uint_eq(asking, 1);
    NSString *text = [USPThread backtraceOfAllThreads];
    NSString *heading = [NSString
        stringWithFormat:@"Call Backtrace of %lu threads:\nBacktrace of Thread ", (unsigned long)[stacks count]];
    ck_assert([text hasPrefix:heading]);
    ck_assert_uint_eq([[text componentsSeparatedByString:@"Backtrace of Thread "] count], [stacks count] + 1);
    for (int i = 0; i < STANDING_PLACES; i++) {
        NSString *name = [NSString stringWithFormat:@"%s + ", standing_names[i]];
        ck_assert_uint_eq([[text componentsSeparatedByString:name] count], 2);
    }
}

START_TEST(all_threads) {
    Parked *parked[STANDING_PLACES];
    for (int i = 0; i < STANDING_PLACES; i++) {
        parked[i] = [[Parked alloc] initIn:(enum standing_place)i name:nil registers:NO];
    }
    ask_for_all();
    run_on_thread(ask_for_all, 0);
    for (int i = 0; i < STANDING_PLACES; i++) {
        [parked[i] end];
        [parked[i] release];
    }
}
END_TEST

#define MANY 150

/* More than seventy threads. */
START_TEST(many_threads) {
    Parked *parked[MANY];
    NSError *error = nil;
    unsigned seen = 0;
    for (int i = 0; i < MANY; i++) parked[i] = [[Parked alloc] initIn:IN_FIRST name:nil registers:NO];
    for (USPStack *stack in [USPThread stacksOfAllThreadsWithOptions:0 error:&error]) {
        seen += has_function(stack, standing_names[IN_FIRST]) ? 1 : 0;
    }
    ck_assert_uint_eq(seen, MANY);
    check_stands([USPThread stackOfThread:parked[MANY - 1] options:0 error:&error], IN_FIRST);
    for (int i = 0; i < MANY; i++) {
        [parked[i] end];
        [parked[i] release];
    }
}
END_TEST

int main(void) {
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, set_up, tear_down);
    add_tests(all, main_thread, current_thread, others_asked_for_on_the_main_thread, others_asked_for_on_another_thread,
              two_of_one_name, not_begun_and_finished, registered_ones, registered_and_gone, registered_twice, by_slot,
              a_slot_that_fails_its_check_is_not_used, by_name, an_impostor_of_that_name, a_name_that_changes_meanwhile,
              never_the_callers_own_stack, all_threads, many_threads);
#ifdef GNUSTEP
    add_tests(all, registered_without_memory);
#endif
    return run_suite("NSThreads", all);
}
