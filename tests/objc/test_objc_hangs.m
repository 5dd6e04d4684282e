/* SPDX-License-Identifier: MIT */
/* Tests USPHangMonitor on GNUstep's run loop: real hangs of the main thread, a loop that waits in a mode without an
 * observer, starts and stops, a process that is killed. If the monitor does not get the processor, that time is taken
 * off and a hang may be missed: then a test tries again. Covers failures from the field: false hangs of a waiting loop,
 * races of start and stop. */
#define _GNU_SOURCE 1
#import "tests/objc/objc_threads.h"

#include "tests/support/suite.h"

#import <Foundation/NSDebug.h>

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)

static NSAutoreleasePool *pool;
static volatile int sink;

static void set_up(void) { pool = [[NSAutoreleasePool alloc] init]; }
static void tear_down(void) { [pool drain]; }

/* ---- the delegate that records hangs ---- */

@interface Listener : NSObject <USPHangMonitorDelegate> {
  @public
    NSLock *_lock;
    NSMutableArray *_begun, *_updates, *_ended, *_killed;
    BOOL _stops, _asks;
    int _stage; /* accessed by __atomic functions: 1: the delegate is calling the monitor, 2: it is done */
}
@end

@implementation Listener
- (id)init {
    self = [super init];
    _lock = [[NSLock alloc] init];
    _begun = [[NSMutableArray alloc] init];
    _updates = [[NSMutableArray alloc] init];
    _ended = [[NSMutableArray alloc] init];
    _killed = [[NSMutableArray alloc] init];
    return self;
}
- (void)dealloc {
    [_lock release];
    [_begun release];
    [_updates release];
    [_ended release];
    [_killed release];
    [super dealloc];
}
- (void)add:(USPHang *)hang to:(NSMutableArray *)hangs {
    [_lock lock];
    [hangs addObject:hang];
    [_lock unlock];
}
/* Calls the monitor until another thread stops it. */
- (void)ask:(USPHangMonitor *)monitor {
    struct usp_monitor_statistics statistics;
    NSError *error = nil;
    __atomic_store_n(&_stage, 1, __ATOMIC_RELEASE);
    while ([monitor isRunning]) usleep(1000);
    [monitor getStatistics:&statistics];
    /* The other thread may not have reached the monitor's stop yet. */
    while ([monitor startWithError:&error]) usleep(1000);
    ck_assert_int_eq([error code], USP_ERROR_BUSY);
    __atomic_store_n(&_stage, 2, __ATOMIC_RELEASE);
}
- (void)hangMonitor:(USPHangMonitor *)monitor hangDidBegin:(USPHang *)hang {
    [self add:hang to:_begun];
    if (_stops) [monitor stop];
    if (_asks) [self ask:monitor];
}
- (void)hangMonitor:(USPHangMonitor *)monitor hangDidGoOn:(USPHang *)hang {
    (void)[monitor isRunning];
    [self add:hang to:_updates];
}
- (void)hangMonitor:(USPHangMonitor *)monitor hangDidEnd:(USPHang *)hang {
    (void)monitor;
    [self add:hang to:_ended];
}
- (void)hangMonitor:(USPHangMonitor *)monitor didFindKilledHang:(USPHang *)hang {
    (void)monitor;
    [self add:hang to:_killed];
}
- (NSUInteger)count:(NSArray *)hangs {
    [_lock lock];
    NSUInteger count = [hangs count];
    [_lock unlock];
    return count;
}
@end

/* ---- what the main thread does ---- */

void culprit(uint64_t length);
STAND void culprit(uint64_t length) {
    uint64_t until = usp_clock() + length;
    while (usp_clock() < until) sink++;
}

@interface Work : NSObject {
  @public
    uint64_t _length;
}
@end

@implementation Work
- (void)work {
    culprit(_length);
}
- (void)nothing:(NSTimer *)timer {
    (void)timer;
    sink++;
}
@end

static Work *work;

/* Runs the loop for a time, in turns without work. */
static void live(NSTimeInterval seconds) {
    NSAutoreleasePool *inner = [[NSAutoreleasePool alloc] init];
    NSTimer *timer = [NSTimer scheduledTimerWithTimeInterval:0.01
                                                      target:work
                                                    selector:@selector(nothing:)
                                                    userInfo:nil
                                                     repeats:YES];
    [[NSRunLoop currentRunLoop] runUntilDate:[NSDate dateWithTimeIntervalSinceNow:seconds]];
    [timer invalidate];
    [inner drain];
}

static void hang_for(uint64_t length) {
    work->_length = length;
    [work performSelector:@selector(work) withObject:nil afterDelay:0];
    live(0.2);
}

static void begin_work(void) {
    set_up();
    work = [[Work alloc] init];
}

static void end_work(void) {
    [work release];
    tear_down();
}

static USPHangMonitor *monitor_for(Listener *listener) {
    USPHangMonitor *monitor = [[USPHangMonitor alloc] init];
    [monitor setDelegate:listener];
    return monitor;
}

static void start(USPHangMonitor *monitor) {
    NSError *error = nil;
    ck_assert_msg([monitor startWithError:&error], "%s", [[error localizedDescription] UTF8String]);
    ck_assert([monitor isRunning]);
}

static struct usp_monitor_statistics statistics_of(USPHangMonitor *monitor) {
    struct usp_monitor_statistics statistics;
    [monitor getStatistics:&statistics];
    return statistics;
}

/* Runs the loop until it has answered: before its first turn nothing is watched. */
static void wait_for_answer(USPHangMonitor *monitor) {
    for (unsigned i = 0; i < 200 && statistics_of(monitor).turns < 2; i++) live(0.05);
    ck_assert_uint_ge(statistics_of(monitor).turns, 2);
}

static BOOL mentions(NSString *text, const char *part) {
    return [text rangeOfString:[NSString stringWithUTF8String:part]].length > 0;
}

/* ---- tests ---- */

static void check_report(USPHang *hang, uint64_t lasted) {
    ck_assert_uint_eq([hang state], USP_HANG_RECOVERED);
    ck_assert([[hang stateDescription] isEqualToString:@"recovered"]);
    ck_assert([hang duration] <= (double)lasted / 1e9);
    ck_assert([hang duration] >= 0.25);
    ck_assert_uint_gt([hang sampleCount], 0);
    ck_assert([hang firstSampleAfter] >= 0.1);
    ck_assert([hang startTime] > 1.6e9);
    ck_assert(![hang isSevere]);
    ck_assert(has_function([hang heaviestStack], "culprit"));
    ck_assert(has_function([hang firstStack], "culprit"));
    ck_assert([[hang heaviestStack] isMainThread]);
    ck_assert(mentions([hang text], "culprit"));
    ck_assert(!mentions([hang textWithoutSymbols], "culprit"));
    ck_assert(mentions([hang JSON], "\"recovered\""));
    ck_assert(mentions([hang description], "recovered"));
    ck_assert_uint_eq([hang hang]->id, [hang hangID]);
}

START_TEST(hang_is_found) {
    Listener *listener = [[Listener alloc] init];
    USPHangMonitor *monitor = monitor_for(listener);
    start(monitor);
    wait_for_answer(monitor);
    uint64_t lasted = 0;
    for (unsigned i = 0; i < 10 && [listener count:listener->_ended] == 0; i++) {
        live(0.5);
        uint64_t began = usp_clock();
        hang_for(900 * MS);
        lasted = usp_clock() - began;
        live(0.3);
    }
    [monitor stop];
    ck_assert(![monitor isRunning]);
    /* The recorded hangs are still complete when the monitor has been freed. */
    [monitor release];
    ck_assert_uint_ge([listener->_ended count], 1);
    ck_assert_uint_eq([listener->_begun count], [listener->_ended count]);
    USPHang *begun = [listener->_begun lastObject], *ended = [listener->_ended lastObject];
    ck_assert_uint_eq([begun hangID], [ended hangID]);
    ck_assert_uint_eq([begun state], USP_HANG_ONGOING);
    check_report(ended, lasted);
    [listener release];
}
END_TEST

/* A loop that waits in a mode unknown to the monitor's source does not answer. That was reported as a hang. */
START_TEST(waits_in_a_mode_of_its_own) {
    Listener *listener = [[Listener alloc] init];
    USPHangMonitor *monitor = monitor_for(listener);
    start(monitor);
    wait_for_answer(monitor);
    NSTimer *far = [NSTimer timerWithTimeInterval:1000
                                           target:work
                                         selector:@selector(nothing:)
                                         userInfo:nil
                                          repeats:NO];
    [[NSRunLoop currentRunLoop] addTimer:far forMode:@"private"];
    for (unsigned i = 0; i < 10 && statistics_of(monitor).excused == 0; i++) {
        live(0.2);
        NSDate *end = [NSDate dateWithTimeIntervalSinceNow:1];
        while ([end timeIntervalSinceNow] > 0) [[NSRunLoop currentRunLoop] runMode:@"private" beforeDate:end];
    }
    ck_assert_uint_ge(statistics_of(monitor).excused, 1);
    ck_assert_uint_eq(statistics_of(monitor).hangs, 0);
    [far invalidate];
    [monitor stop];
    ck_assert_uint_eq([listener->_begun count], 0);
    [monitor release];
    [listener release];
}
END_TEST

/* A waiting loop must not be woken, which would use the battery: it answers once, and then only after it has run. */
START_TEST(idle_loop_is_left_alone) {
    USPHangMonitor *monitor = [[USPHangMonitor alloc] init];
    start(monitor);
    wait_for_answer(monitor);
    NSTimer *far = [NSTimer timerWithTimeInterval:1000
                                           target:work
                                         selector:@selector(nothing:)
                                         userInfo:nil
                                          repeats:NO];
    [[NSRunLoop currentRunLoop] addTimer:far forMode:NSDefaultRunLoopMode];
    struct usp_monitor_statistics before = statistics_of(monitor);
    [[NSRunLoop currentRunLoop] runMode:NSDefaultRunLoopMode beforeDate:[NSDate dateWithTimeIntervalSinceNow:2]];
    unsigned rounds = 1;
    NSDate *end = [NSDate dateWithTimeIntervalSinceNow:3];
    while ([end timeIntervalSinceNow] > 0) {
        [[NSRunLoop currentRunLoop] runMode:NSDefaultRunLoopMode beforeDate:end];
        rounds++;
    }
    struct usp_monitor_statistics after = statistics_of(monitor);
    ck_assert_uint_ge(after.looks, before.looks);
    /* One ping for the time before. Its answer causes no further ping. */
    ck_assert_uint_le(after.turns - before.turns, 6);
    ck_assert_uint_le(rounds, 12);
    [far invalidate];
    [monitor stop];
    [monitor release];
}
END_TEST

/* The delegate stops the monitor in a hang. The hang is ended, and later hangs must not be reported. */
START_TEST(stopped_by_its_delegate) {
    Listener *listener = [[Listener alloc] init];
    USPHangMonitor *monitor = monitor_for(listener);
    listener->_stops = YES;
    start(monitor);
    wait_for_answer(monitor);
    for (unsigned i = 0; i < 10 && [monitor isRunning]; i++) {
        live(0.5);
        hang_for(900 * MS);
        live(0.3);
    }
    ck_assert(![monitor isRunning]);
    ck_assert_uint_eq([listener->_begun count], 1);
    ck_assert_uint_eq([listener->_ended count], 1);
    hang_for(400 * MS);
    ck_assert_uint_eq([listener->_begun count], 1);
    [monitor release];
    [listener release];
}
END_TEST

/* The delegate calls the monitor while the main thread stops it. Neither may wait for the other for ever. */
START_TEST(stopped_while_its_delegate_asks) {
    Listener *listener = [[Listener alloc] init];
    USPHangMonitor *monitor = monitor_for(listener);
    listener->_asks = YES;
    start(monitor);
    wait_for_answer(monitor);
    for (unsigned i = 0; i < 10 && __atomic_load_n(&listener->_stage, __ATOMIC_ACQUIRE) == 0; i++) {
        live(0.5);
        hang_for(900 * MS);
    }
    ck_assert_int_eq(__atomic_load_n(&listener->_stage, __ATOMIC_ACQUIRE), 1);
    [monitor stop];
    ck_assert_int_eq(__atomic_load_n(&listener->_stage, __ATOMIC_ACQUIRE), 2);
    ck_assert(![monitor isRunning]);
    start(monitor);
    [monitor stop];
    [monitor release];
    [listener release];
}
END_TEST

static NSString *error_of(USPHangMonitor *monitor, NSInteger code) {
    NSError *error = nil;
    ck_assert(![monitor startWithError:&error]);
    ck_assert(![monitor isRunning]);
    ck_assert([[error domain] isEqualToString:USPErrorDomain]);
    ck_assert_int_eq([error code], code);
    return [error localizedDescription];
}

START_TEST(what_makes_no_sense_is_an_error) {
    USPHangMonitor *monitor = [[USPHangMonitor alloc] init];
    ck_assert_double_eq_tol([monitor lateThreshold], 0.1, 1e-9);
    ck_assert_double_eq_tol([monitor hangThreshold], 0.25, 1e-9);
    ck_assert_double_eq_tol([monitor severeThreshold], 2, 1e-9);
    ck_assert_double_eq_tol([monitor sampleInterval], 0.02, 1e-9);
    [monitor setHangThreshold:0.05];
    ck_assert_uint_gt([error_of(monitor, USP_ERROR_ARGUMENT) length], 0);
    [monitor setHangThreshold:-1];
    error_of(monitor, USP_ERROR_ARGUMENT);
    [monitor setHangThreshold:1e300];
    error_of(monitor, USP_ERROR_ARGUMENT);
    [monitor setHangThreshold:0.25];
    [monitor setFile:@"/no/such/folder/hang"];
    ck_assert(![monitor startWithError:NULL]);
    [monitor setFile:nil];
    /* No thread serves the main queue here. */
    [monitor setSource:USPHangSourceMainQueue];
    error_of(monitor, USP_ERROR_UNSUPPORTED);
    [monitor setSource:USPHangSourceRunLoop];
    start(monitor);
    start(monitor);
    [monitor stop];
    [monitor stop];
    ck_assert_uint_eq(statistics_of(monitor).looks, 0);
    [monitor release];
    ck_assert([USPHangMonitor mainThreadMonitor] == [USPHangMonitor mainThreadMonitor]);
    start([USPHangMonitor mainThreadMonitor]);
    [[USPHangMonitor mainThreadMonitor] stop];
}
END_TEST

static unsigned descriptors(void) {
    return (unsigned)[[[NSFileManager defaultManager] directoryContentsAtPath:@"/proc/self/fd"] count];
}

static void start_and_stop(unsigned times) {
    NSAutoreleasePool *inner = [[NSAutoreleasePool alloc] init];
    Listener *listener = [[Listener alloc] init];
    for (unsigned i = 0; i < times; i++) {
        USPHangMonitor *monitor = monitor_for(listener);
        start(monitor);
        if (i % 4 != 0) live(0.002 * (i % 4));
        [monitor stop];
        [monitor release];
    }
    [listener release];
    [inner drain];
}

static void start_and_stop_elsewhere(void) { start_and_stop(50); }

static int is_over; /* accessed by __atomic functions: GCC has no _Atomic in Objective-C */

@interface Elsewhere : NSObject
@end
@implementation Elsewhere
- (void)run {
    NSAutoreleasePool *inner = [[NSAutoreleasePool alloc] init];
    run_on_thread(start_and_stop_elsewhere, 0);
    [inner drain];
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
}
@end

/* Starts and stops monitors on the main thread and on another one, several at a time. Nothing may be left behind. */
START_TEST(starts_and_stops) {
    GSDebugAllocationActive(YES);
    start_and_stop(5);
    unsigned before = descriptors();
    start_and_stop(100);
    Elsewhere *elsewhere = [[Elsewhere alloc] init];
    [NSThread detachNewThreadSelector:@selector(run) toTarget:elsewhere withObject:nil];
    for (unsigned i = 0; i < 2000 && __atomic_load_n(&is_over, __ATOMIC_ACQUIRE) == 0; i++) {
        live(0.02);
        start_and_stop(1);
    }
    ck_assert_int_eq(__atomic_load_n(&is_over, __ATOMIC_ACQUIRE), 1);
    live(0.2);
    [elsewhere release];
    [pool drain];
    pool = [[NSAutoreleasePool alloc] init];
    ck_assert_int_eq(GSDebugAllocationCount([USPHangMonitor class]), 0);
    ck_assert_int_eq(GSDebugAllocationCount(NSClassFromString(@"USPILoopAnswer")), 0);
    ck_assert_int_gt(GSDebugAllocationPeak(NSClassFromString(@"USPILoopAnswer")), 0);
    ck_assert_int_eq(GSDebugAllocationCount([USPHang class]), 0);
    /* A thread of the test itself may have left some. */
    ck_assert_uint_le(descriptors(), before + 6);
}
END_TEST

static USPHangMonitor *started_elsewhere;

static void start_elsewhere(void) {
    started_elsewhere = [[USPHangMonitor alloc] init];
    start(started_elsewhere);
}

/* Another thread starts the monitor, and the main thread stops it before its run loop has received the source. The
 * source would be used after it is freed. Freed memory is overwritten here, so that such a use shows. */
START_TEST(started_elsewhere_stopped_here) {
    mallopt(M_PERTURB, 0x55);
    GSDebugAllocationActive(YES);
    for (unsigned i = 0; i < 50; i++) {
        run_on_thread(start_elsewhere, 0);
        [started_elsewhere stop];
        [started_elsewhere release];
        live(0.01);
    }
    [pool drain];
    pool = [[NSAutoreleasePool alloc] init];
    ck_assert_int_eq(GSDebugAllocationCount(NSClassFromString(@"USPILoopAnswer")), 0);
    ck_assert_int_gt(GSDebugAllocationPeak(NSClassFromString(@"USPILoopAnswer")), 0);
}
END_TEST

static char folder[64], path[96];

static void hang_until_killed(void) {
    USPHangMonitor *monitor = [[USPHangMonitor alloc] init];
    [monitor setFile:[NSString stringWithUTF8String:path]];
    start(monitor);
    wait_for_answer(monitor);
    for (;;) hang_for(3600 * SECOND);
}

START_TEST(killed_hang_is_found) {
    snprintf(folder, sizeof folder, "/tmp/unspool-objc-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/hang", folder);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        hang_until_killed();
    }
    struct usp_hang *hang = NULL;
    for (unsigned i = 0; i < 3000 && usp_hang_open(path, &hang) != USP_OK; i++) usleep(20000);
    ck_assert_ptr_nonnull(hang);
    usp_hang_free(hang);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);

    Listener *listener = [[Listener alloc] init];
    USPHangMonitor *monitor = monitor_for(listener);
    [monitor setFile:[NSString stringWithUTF8String:path]];
    start(monitor);
    for (unsigned i = 0; i < 200 && [listener count:listener->_killed] == 0; i++) live(0.05);
    [monitor stop];
    ck_assert_uint_eq([listener->_killed count], 1);
    USPHang *killed = [listener->_killed lastObject];
    ck_assert_uint_eq([killed state], USP_HANG_KILLED);
    ck_assert([killed duration] >= 0.25);
    ck_assert([killed heaviestStack] == nil);
    ck_assert([killed firstStack] == nil);
    ck_assert(mentions([killed text], "culprit"));
    [monitor release];
    [listener release];
    unlink(path);
    rmdir(folder);
}
END_TEST

int main(void) {
    TCase *hangs = tcase_create("hangs");
    tcase_add_checked_fixture(hangs, begin_work, end_work);
    add_tests(hangs, hang_is_found, waits_in_a_mode_of_its_own, idle_loop_is_left_alone, stopped_by_its_delegate,
              stopped_while_its_delegate_asks, what_makes_no_sense_is_an_error, starts_and_stops,
              started_elsewhere_stopped_here, killed_hang_is_found);
    return run_suite("hangs as objects", hangs);
}
