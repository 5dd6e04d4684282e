/* SPDX-License-Identifier: MIT */
/* Tests USPCrashReporter with GNUstep: a child crashes, and its parent, as the next start, reads the report. */
#define _GNU_SOURCE 1
#import "tests/objc/objc_threads.h"

#include "tests/support/suite.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static NSAutoreleasePool *pool;
static NSString *folder;
static int *volatile nowhere;
static char said[] = "from the callback";

static void set_up(void) {
    char name[] = "/tmp/objc-crashes-XXXXXX";
    pool = [[NSAutoreleasePool alloc] init];
    ck_assert_ptr_nonnull(mkdtemp(name));
    folder = [[NSString alloc] initWithUTF8String:name];
}

static void tear_down(void) {
    char path[512];
    DIR *listing = opendir([folder UTF8String]);
    for (const struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", [folder UTF8String], entry -> d_name);
        (void)unlink(path);
    }
    if (listing != NULL) closedir(listing);
    (void)rmdir([folder UTF8String]);
    [folder release];
    [pool drain];
}

void culprit(void);
STAND void culprit(void) { *nowhere = 1; }

static void tell(void *context, char *text, size_t size) { snprintf(text, size, "%s", (const char *)context); }

static void crash(void) {
    struct usp_crash_options options;
    NSError *error = nil;
    usp_crash_options_init(&options);
    options.version = "1.0";
    options.timeout = 20000000000;
    options.callback = tell;
    options.context = said;
    if (![USPCrashReporter startWithDirectory:folder options:&options error:&error]) _exit(97);
    if ([USPCrashReporter startWithDirectory:folder options:NULL error:&error] || [error code] != USP_ERROR_BUSY)
        _exit(96);
    if (![USPCrashReporter setValue:@"3 things" forCrashKey:@"cart"] || ![USPCrashReporter note:@"opens the cart"])
        _exit(95);
    culprit();
    _exit(94);
}

/* Runs a function in a child, and returns the child's exit status. */
static int run_in_child(void (*function)(void)) {
    int status = 0;
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        function();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

static BOOL mentions(NSString *text, const char *part) {
    return [text rangeOfString:[NSString stringWithUTF8String:part]].length > 0;
}

static void check_note(NSArray *notes, uint32_t kind, const char *key, const char *text) {
    unsigned found = 0;
    for (NSUInteger i = 0; i < [notes count]; i++) {
        NSDictionary *note = [notes objectAtIndex:i];
        if ([[note objectForKey:@"kind"] unsignedIntValue] != kind) continue;
        found++;
        ck_assert_str_eq([[note objectForKey:@"key"] UTF8String], key);
        ck_assert_str_eq([[note objectForKey:@"text"] UTF8String], text);
    }
    ck_assert_uint_eq(found, 1);
}

START_TEST(crash_is_found_at_the_next_start) {
    NSError *error = nil;
    const int status = run_in_child(crash);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGSEGV);
    USPCrashRun *run = [USPCrashReporter lastRunInDirectory:folder version:@"1.0" error:&error];
    ck_assert_uint_eq([run verdict], USP_CRASH_CRASHED);
    ck_assert_uint_eq([run crashesInARow], 1);
    ck_assert([run startTime] > 1.6e9);
    ck_assert([run lasted] >= 0);
    ck_assert([[run evidence] length] > 0);
    NSArray *reports = [USPCrashReporter reportsInDirectory:folder error:&error];
    ck_assert_uint_eq([reports count], 1);
    USPCrashReport *report = [reports objectAtIndex:0];
    ck_assert([[run reportName] isEqualToString:[report name]]);
    ck_assert([[report directory] isEqualToString:folder]);
    ck_assert([report startTime] == [run startTime]);
    ck_assert_uint_gt([report size], 1000);
    ck_assert(![report isSent]);
    ck_assert(mentions([report causeWithError:&error], "SIGSEGV"));
    NSString *text = [report textWithError:&error];
    ck_assert(mentions(text, "culprit"));
    NSArray *notes = [report notesWithError:&error];
    check_note(notes, USP_NOTE_VALUE, "cart", "3 things");
    check_note(notes, USP_NOTE_BREADCRUMB, "", "opens the cart");
    check_note(notes, USP_NOTE_CALLBACK, "", "from the callback");
    ck_assert_uint_eq([notes count], 3);
    ck_assert(mentions([report description], [[report name] UTF8String]));
    ck_assert([report markSentWithError:&error]);
    reports = [USPCrashReporter reportsInDirectory:folder error:&error];
    ck_assert([[reports objectAtIndex:0] isSent]);
    ck_assert([report deleteWithError:&error]);
    ck_assert_uint_eq([[USPCrashReporter reportsInDirectory:folder error:&error] count], 0);
    /* The report is gone: each method says so. */
    ck_assert([report textWithError:&error] == nil);
    ck_assert_int_eq([error code], USP_ERROR_NOT_FOUND);
    ck_assert([report causeWithError:NULL] == nil);
    ck_assert([report notesWithError:NULL] == nil);
    ck_assert(![report deleteWithError:&error]);
    run = [USPCrashReporter lastRunInDirectory:folder version:nil error:&error];
    ck_assert_uint_eq([run verdict], USP_CRASH_CRASHED);
    ck_assert([run reportName] == nil);
}
END_TEST

/* ---- exceptions ---- */

static NSUncaughtExceptionHandler *passed_to;

/* How often another reporter's handler was called is in the report. */
static void count_exception(NSException *exception) {
    static char calls[] = "0";
    calls[0]++;
    if (![USPCrashReporter setValue:[NSString stringWithUTF8String:calls] forCrashKey:@"other"]) _exit(93);
    if (passed_to != NULL) passed_to(exception);
}

void thrower(void);
STAND void thrower(void) {
    [NSException raise:@"CartException" format:@"no cart %d", 7];
    __asm__ volatile(""); /* so that it is not a tail call */
}

static void begin_throwing(void) {
    /* GNUstep ends the process by exit otherwise. */
    setenv("CRASH_ON_ABORT", "YES", 1);
    if (![USPCrashReporter startWithDirectory:folder options:NULL error:NULL]) _exit(97);
}

static void throw_alone(void) {
    begin_throwing();
    thrower();
}

static void throw_to_earlier(void) {
    NSSetUncaughtExceptionHandler(count_exception);
    begin_throwing();
    thrower();
}

static void throw_to_later(void) {
    begin_throwing();
    passed_to = NSGetUncaughtExceptionHandler();
    NSSetUncaughtExceptionHandler(count_exception);
    thrower();
}

/* The earlier handler is restored, and ours, which a later handler still calls, only calls the earlier one. */
static void stop_restores(void) {
    NSSetUncaughtExceptionHandler(count_exception);
    begin_throwing();
    if (NSGetUncaughtExceptionHandler() == count_exception) _exit(92);
    [USPCrashReporter stop];
    if (NSGetUncaughtExceptionHandler() != count_exception) _exit(91);
}

/* A reason that throws itself, and one that is missing. */
static BOOL has_bad_reason;

@interface USPTestException : NSException
@end
@implementation USPTestException
- (NSString *)reason {
    if (has_bad_reason) [NSException raise:@"SecondException" format:@"in the reason"];
    return nil;
}
@end

static void throw_without_reason(void) {
    begin_throwing();
    [[[[USPTestException alloc] initWithName:@"BareException" reason:nil userInfo:nil] autorelease] raise];
}

/* Foundation's own strings and exceptions do not keep such a text in each version. */
@interface USPHalfString : NSString
@end
@implementation USPHalfString
- (NSUInteger)length {
    return 5;
}
- (unichar)characterAtIndex:(NSUInteger)i {
    static const unichar units[] = {'a', 0xd83d, 0xe9, 0xd83d, 0xde00};
    return units[i];
}
@end

@interface USPKeepingException : NSException
@end
@implementation USPKeepingException
- (NSString *)reason {
    return [[[USPHalfString alloc] init] autorelease];
}
@end

/* Half of a surrogate pair is not a character; the rest of the text and the stack stay. */
static void throw_half_a_pair(void) {
    begin_throwing();
    [[[[USPKeepingException alloc] initWithName:@"CartException" reason:nil userInfo:nil] autorelease] raise];
}

static void catch_and_abort(void) {
    begin_throwing();
    @try {
        thrower();
    } @catch (NSException *exception) {
        abort();
    }
}

/* Returns the report of a child that ends by SIGABRT. */
static USPCrashReport *report_of(void (*function)(void)) {
    const int status = run_in_child(function);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
    NSArray *reports = [USPCrashReporter reportsInDirectory:folder error:NULL];
    ck_assert_uint_eq([reports count], 1);
    return [reports objectAtIndex:0];
}

/* The report of the abort has the exception and the stack of the throw; handlers of others run once, in both orders. */
START_TEST(uncaught_exceptions) {
    static void (*const ways[])(void) = {throw_alone, throw_to_earlier, throw_to_later};
    USPCrashReport *report = report_of(ways[_i]);
    NSArray *notes = [report notesWithError:NULL];
    check_note(notes, USP_NOTE_MESSAGE, "NSException", "CartException: no cart 7");
    if (_i > 0) check_note(notes, USP_NOTE_VALUE, "other", "1");
    NSString *text = [report textWithError:NULL];
    const NSRange heading = [text rangeOfString:@"Last Exception Backtrace:"];
    ck_assert_uint_gt(heading.length, 0);
    NSString *below = [text substringFromIndex:heading.location];
    const NSRange stack = [below rangeOfString:@"\nThread 0"];
    ck_assert_uint_gt(stack.length, 0);
    ck_assert(mentions([below substringToIndex:stack.location], " thrower + "));
    ck_assert(mentions([below substringToIndex:stack.location], " main + "));
}
END_TEST

START_TEST(other_exceptions) {
    for (unsigned i = 0; i < 2; i++) {
        has_bad_reason = i == 1;
        USPCrashReport *report = report_of(throw_without_reason);
        /* GNUstep asks for the reason itself after the handlers: then the second exception ends the program. */
        check_note([report notesWithError:NULL], USP_NOTE_MESSAGE, "NSException",
                   has_bad_reason ? "SecondException: in the reason" : "BareException");
        ck_assert(mentions([report textWithError:NULL], "Last Exception Backtrace:"));
        tear_down();
        set_up();
    }
    USPCrashReport *half = report_of(throw_half_a_pair);
    check_note([half notesWithError:NULL], USP_NOTE_MESSAGE, "NSException",
               "CartException: a\xef\xbf\xbd\xc3\xa9\xf0\x9f\x98\x80");
    ck_assert(mentions([half textWithError:NULL], "Last Exception Backtrace:"));
    tear_down();
    set_up();
    ck_assert(!mentions([report_of(catch_and_abort) textWithError:NULL], "CartException"));
    tear_down();
    set_up();
    ck_assert_int_eq(run_in_child(stop_restores), 0);
}
END_TEST

static void stop(void) {
    if (![USPCrashReporter startWithDirectory:folder options:NULL error:NULL]) _exit(97);
    [USPCrashReporter stop];
    if ([USPCrashReporter note:@"too late"]) _exit(96);
}

START_TEST(clean_run_has_no_report) {
    USPCrashRun *run = [USPCrashReporter lastRunInDirectory:folder version:nil error:NULL];
    ck_assert_uint_eq([run verdict], USP_CRASH_NO_RUN);
    ck_assert_int_eq(run_in_child(stop), 0);
    run = [USPCrashReporter lastRunInDirectory:folder version:nil error:NULL];
    ck_assert_uint_eq([run verdict], USP_CRASH_ENDED);
    ck_assert_uint_eq([run crashesInARow], 0);
    ck_assert([run reportName] == nil);
    ck_assert_uint_eq([[USPCrashReporter reportsInDirectory:folder error:NULL] count], 0);
}
END_TEST

START_TEST(failures_are_errors) {
    NSError *error = nil;
    ck_assert(![USPCrashReporter startWithDirectory:@"/no/such/folder/reports" options:NULL error:&error]);
    ck_assert_int_eq([error code], USP_ERROR_NOT_FOUND);
    ck_assert(![USPCrashReporter startWithDirectory:@"" options:NULL error:&error]);
    ck_assert_int_eq([error code], USP_ERROR_ARGUMENT);
    ck_assert(![USPCrashReporter setValue:nil forCrashKey:@"cart"]);
}
END_TEST

int main(void) {
    TCase *crashes = tcase_create("crashes");
    tcase_add_checked_fixture(crashes, set_up, tear_down);
    add_tests(crashes, crash_is_found_at_the_next_start, clean_run_has_no_report, failures_are_errors,
              other_exceptions);
    add_loop_tests(crashes, 0, 3, uncaught_exceptions);
    return run_suite("crash reports as objects", crashes);
}
