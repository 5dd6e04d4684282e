/* SPDX-License-Identifier: MIT */
/* Implements USPThread. See USPThread.h. Every method that may walk the calling thread passes its own CFA (ENTRY):
 * frames below it belong to this layer and are left out. */
#import <unspool-objc/USPThread.h>

#import "lib/objc/arc.h"
#include "lib/objc/capture.h"
#import "lib/objc/names.h"
#import "lib/objc/resolve.h"
#import "lib/objc/stack.h"

#include <stdlib.h>
#include <string.h>

NSString *const USPErrorDomain = @"unspool";

#define ENTRY ((uintptr_t)__builtin_dwarf_cfa())

/* ---- errors ---- */

static NSError *error_of(int status) {
    return uspi_objc_error(status, status == USP_ERROR_NOT_FOUND
                                       ? "nothing tells which thread this is: it is not registered, its place in "
                                         "thread-specific data is not known, and its name is not its own"
                                       : NULL);
}

/* ---- captures ---- */

static struct uspi_objc_wanted wanted_by(USPOptions options, NSUInteger max) {
    struct uspi_objc_wanted wanted = {USPI_OBJC_FRAMES_MAX, (options & USPOptionAsync) != 0};
    /* Frames can be filtered only after all of them are captured. */
    if ((options & USPOptionAppOnly) == 0 && max < wanted.max) wanted.max = (uint32_t)max;
    return wanted;
}

/* Removes frames that are not wanted, and frames beyond `max`, without marking them as left out. */
static int cut(struct uspi_objc_captured *captured, USPOptions options, NSUInteger max) {
    struct usp_stack *stack = &captured->stack;
    if ((options & USPOptionAppOnly) != 0) {
        USPIImages *images = [USPIImages current];
        if (images == nil) return USP_ERROR_NO_MEMORY;
        captured->filtered = usp_filter_stack([images app], stack);
    }
    captured->is_truncated = max >= USPI_OBJC_FRAMES_MAX && stack->stop == USP_STOP_CAPACITY;
    if (captured->is_truncated) return USP_OK;
    stack->omitted = 0;
    stack->omitted_at = USP_NO_INDEX;
    if (stack->count > max) stack->count = (uint32_t)max;
    if (stack->physical > stack->count) stack->physical = stack->count;
    return USP_OK;
}

/* Filters and cuts the captured frames. After USP_OK the caller frees them; otherwise they are freed here. */
static int finish(struct uspi_objc_captured *captured, USPOptions options, NSUInteger max) {
    int status = cut(captured, options, max);
    if (status == USP_OK) return USP_OK;
    free(captured->stack.frames);
    usp_stack_init(&captured->stack, NULL, 0);
    return status;
}

static int capture_current(uintptr_t entry, USPOptions options, NSUInteger max, struct uspi_objc_captured *captured) {
    struct uspi_objc_wanted wanted = wanted_by(options, max);
    struct usp_thread self;
    memset(captured, 0, sizeof *captured);
    if (max == 0) return USP_OK;
    int status = uspi_objc_capture_self(entry, &wanted, &captured->stack);
    if (status != USP_OK) return status;
    if (usp_thread_self(&self) == USP_OK) {
        captured->info.thread.id = self.id;
        usp_thread_release(&self);
    }
    captured->info.flags = USP_THREAD_REQUESTER | ([NSThread isMainThread] ? (uint32_t)USP_THREAD_MAIN : 0);
    return finish(captured, options, max);
}

static int capture_other(NSThread *thread, USPOptions options, struct uspi_objc_captured *captured) {
    struct uspi_objc_wanted wanted = wanted_by(options, NSUIntegerMax);
    memset(captured, 0, sizeof *captured);
    int status = uspi_objc_resolve(thread, &captured->info.thread);
    if (status != USP_OK) return status;
    captured->info.flags = [thread isMainThread] ? (uint32_t)USP_THREAD_MAIN : 0;
    status = uspi_objc_capture_thread(&captured->info.thread, &wanted, &captured->stack);
    return status == USP_OK ? finish(captured, options, NSUIntegerMax) : status;
}

/* Returns the stack of an NSThread; nil: *error says why, unless `error` is NULL. */
static USPStack *stack_of(NSThread *thread, uintptr_t entry, USPOptions options, NSError **error) {
    struct uspi_objc_captured captured;
    int status = thread == [NSThread currentThread] ? capture_current(entry, options, NSUIntegerMax, &captured)
                                                    : capture_other(thread, options, &captured);
    USPStack *stack = nil;
    if (status == USP_OK) {
        stack = [[USPStack alloc] initWithCaptured:&captured name:[thread name] error:nil];
        if (stack == nil) status = USP_ERROR_NO_MEMORY;
    }
    if (status != USP_OK && error != NULL) *error = error_of(status);
    return USPI_AUTORELEASE(stack);
}

static USPStack *stack_in(const struct usp_snapshot *snapshot, size_t i, uintptr_t entry, USPOptions options) {
    const struct usp_snapshot_thread *thread = usp_snapshot_get_thread(snapshot, i);
    struct uspi_objc_wanted wanted = wanted_by(options, NSUIntegerMax);
    struct uspi_objc_captured captured;
    int status;
    if ((thread->info.flags & USP_THREAD_REQUESTER) != 0) {
        status = capture_current(entry, options, NSUIntegerMax, &captured);
    } else {
        memset(&captured, 0, sizeof captured);
        status = uspi_objc_capture_of(snapshot, i, &wanted, &captured.stack);
        if (status == USP_OK) status = finish(&captured, options, NSUIntegerMax);
    }
    captured.info = thread->info;
    USPStack *stack = [[USPStack alloc] initWithCaptured:&captured
                                                    name:uspi_objc_string(thread->info.name)
                                                   error:status != USP_OK ? error_of(status) : nil];
    return USPI_AUTORELEASE(stack);
}

static NSArray *stacks_of_all(uintptr_t entry, USPOptions options, NSError **error) {
    struct uspi_objc_wanted wanted = wanted_by(options, NSUIntegerMax);
    struct usp_snapshot *snapshot;
    int status = uspi_objc_snapshot(&wanted, &snapshot);
    if (status != USP_OK) {
        if (error != NULL) *error = error_of(status);
        return nil;
    }
    NSMutableArray *stacks = [NSMutableArray array];
    for (size_t i = 0; usp_snapshot_get_thread(snapshot, i) != NULL; i++) {
        USPStack *stack = stack_in(snapshot, i, entry, options);
        if (stack != nil) [stacks addObject:stack];
    }
    usp_snapshot_free(snapshot);
    return stacks;
}

static NSString *text_of(USPStack *stack, USPOptions options) {
    return (options & USPOptionWithoutSymbols) != 0 ? [stack backtraceWithoutSymbols] : [stack backtrace];
}

/* Returns the innermost frames of the calling thread as lines. If timesSeen is not NULL, the lines of known stacks are
 * cached. */
static NSArray *lines_of_current(uintptr_t entry, USPOptions options, NSUInteger max, uint64_t *timesSeen) {
    struct uspi_objc_captured captured;
    BOOL named = (options & USPOptionWithoutSymbols) == 0;
    NSArray *lines = nil;
    if (timesSeen != NULL) *timesSeen = 0;
    if (capture_current(entry, options, max, &captured) == USP_OK) {
        lines = timesSeen != NULL ? [[USPINames shared] linesOf:&captured.stack named:named timesSeen:timesSeen]
                                  : uspi_objc_lines(&captured.stack, named);
        free(captured.stack.frames);
    }
    return lines != nil ? lines : [NSArray array];
}

static NSArray *addresses_of_current(uintptr_t entry, USPOptions options, NSUInteger max) {
    struct uspi_objc_captured captured;
    if (capture_current(entry, options, max, &captured) != USP_OK) return [NSArray array];
    USPStack *stack = [[USPStack alloc] initWithCaptured:&captured name:nil error:nil];
    NSArray *addresses = stack != nil ? [stack returnAddresses] : [NSArray array];
    USPI_RELEASE(stack);
    return addresses;
}

@implementation USPThread

+ (USPStack *)stackOfThread:(NSThread *)thread options:(USPOptions)options error:(NSError **)error {
    return stack_of(thread, ENTRY, options, error);
}

+ (USPStack *)stackOfMainThreadWithOptions:(USPOptions)options error:(NSError **)error {
    return stack_of([NSThread mainThread], ENTRY, options, error);
}

+ (USPStack *)stackOfCurrentThreadWithOptions:(USPOptions)options error:(NSError **)error {
    return stack_of([NSThread currentThread], ENTRY, options, error);
}

+ (NSArray *)stacksOfAllThreadsWithOptions:(USPOptions)options error:(NSError **)error {
    return stacks_of_all(ENTRY, options, error);
}

+ (BOOL)registerCurrent {
    return uspi_objc_register_current();
}

+ (void)setAppFolders:(NSArray *)folders {
    [USPIImages setAppFolders:folders];
}

+ (void)forget {
    [USPINames forget];
    [USPIImages forget];
}

+ (NSArray *)callStackSymbols {
    return lines_of_current(ENTRY, 0, NSUIntegerMax, NULL);
}

+ (NSArray *)callStackSymbols:(NSUInteger)max {
    uint64_t timesSeen;
    return lines_of_current(ENTRY, 0, max, &timesSeen);
}

+ (NSArray *)callStackSymbols:(NSUInteger)max options:(USPOptions)options timesSeen:(uint64_t *)timesSeen {
    uint64_t unused;
    return lines_of_current(ENTRY, options, max, timesSeen != NULL ? timesSeen : &unused);
}

+ (NSArray *)callStackReturnAddresses {
    return addresses_of_current(ENTRY, 0, NSUIntegerMax);
}

+ (NSArray *)callStackReturnAddresses:(NSUInteger)max options:(USPOptions)options {
    return addresses_of_current(ENTRY, options, max);
}

+ (NSString *)backtraceOfMainThread {
    return text_of(stack_of([NSThread mainThread], ENTRY, 0, NULL), 0);
}

+ (NSString *)backtraceOfCurrentThread {
    return text_of(stack_of([NSThread currentThread], ENTRY, 0, NULL), 0);
}

+ (NSString *)backtraceOfNSThread:(NSThread *)thread {
    return text_of(stack_of(thread, ENTRY, 0, NULL), 0);
}

static NSString *text_of_all(uintptr_t entry, USPOptions options) {
    NSArray *stacks = stacks_of_all(entry, options, NULL);
    if (stacks == nil) return nil;
    NSMutableString *text =
        [NSMutableString stringWithFormat:@"Call Backtrace of %lu threads:\n", (unsigned long)[stacks count]];
    for (USPStack *stack in stacks) [text appendString:text_of(stack, options)];
    return text;
}

+ (NSString *)backtraceOfAllThreads {
    return text_of_all(ENTRY, 0);
}

+ (NSString *)backtraceOfMainThreadWithOptions:(USPOptions)options {
    return text_of(stack_of([NSThread mainThread], ENTRY, options, NULL), options);
}

+ (NSString *)backtraceOfCurrentThreadWithOptions:(USPOptions)options {
    return text_of(stack_of([NSThread currentThread], ENTRY, options, NULL), options);
}

+ (NSString *)backtraceOfNSThread:(NSThread *)thread options:(USPOptions)options {
    return text_of(stack_of(thread, ENTRY, options, NULL), options);
}

+ (NSString *)backtraceOfAllThreadsWithOptions:(USPOptions)options {
    return text_of_all(ENTRY, options);
}

@end
