/* SPDX-License-Identifier: MIT */
/* Stacks of the threads of this process, by NSThread. <unspool/capture.h> and <unspool/snapshot.h> have the same in C,
 * and describe for how long threads are stopped. */
#ifndef UNSPOOL_OBJC_USPTHREAD_H
#define UNSPOOL_OBJC_USPTHREAD_H

#import <unspool-objc/USPDefines.h>
#import <unspool-objc/USPStack.h>

NS_ASSUME_NONNULL_BEGIN

/* The domain of errors whose code is an enum usp_status (<unspool/base.h>). */
USP_EXPORT NSString *const USPErrorDomain USP_AVAILABLE;

typedef NS_OPTIONS(NSUInteger, USPOptions) {
    /* Only frames in the app's own images (+setAppFolders:). They are selected before symbolication, and renumbered. */
    USPOptionAppOnly = 1 << 0,
    /* No names: symbol tables are not read; the image and the offset in it take the place of a function. */
    USPOptionWithoutSymbols = 1 << 1,
    /* The frames of a Swift task's async callers follow those of the thread that runs it. */
    USPOptionAsync = 1 << 2
};

/* Every method may be called on any thread, none in a signal handler. They call usp_prepare with its defaults if
 * necessary. A stack grows until all frames fit, up to 2^20 (USPStack.truncated). The calling thread's stack begins in
 * the method's caller.
 *
 * The thread of an NSThread is found in these ways, in this order:
 *   1. The calling thread and the main thread are known.
 *   2. A thread that called +registerCurrent is found by its kernel id.
 *   3. The others are found by the position in thread-specific data where Foundation keeps the NSThread, if that could
 *      be learned, holds for the main thread too and leads to exactly one thread.
 *   4. Last, a thread is found by its name, if exactly one live thread has it, twice in a row.
 * Otherwise the error has the code USP_ERROR_NOT_FOUND, or USP_ERROR_NO_THREAD when the thread has ended. No thread is
 * renamed. */
USP_CLASS
@interface USPThread : NSObject

/* ---- stacks ---- */

/* These three return nil when there is no stack; `error` says why. */
+ (USPStack *USP_NULLABLE)stackOfThread:(NSThread *)thread
                                options:(USPOptions)options
                                  error:(NSError *USP_NULLABLE *USP_NULLABLE)error;
+ (USPStack *USP_NULLABLE)stackOfMainThreadWithOptions:(USPOptions)options
                                                 error:(NSError *USP_NULLABLE *USP_NULLABLE)error;
+ (USPStack *USP_NULLABLE)stackOfCurrentThreadWithOptions:(USPOptions)options
                                                    error:(NSError *USP_NULLABLE *USP_NULLABLE)error;

/* Returns the stacks of all threads at one moment: the main thread first, then by id. A thread that did not answer is
 * listed with its error. USPOptionWithoutSymbols has no effect in these four methods: names depend on the methods of
 * USPStack. */
+ (USP_ARRAY_OF(USPStack) * USP_NULLABLE)stacksOfAllThreadsWithOptions:(USPOptions)options
                                                                 error:(NSError *USP_NULLABLE *USP_NULLABLE)error;

/* Registers the calling thread, so that it is found by its id from any thread until it ends. The id is in its
 * threadDictionary. Returns NO when the system does not give the id or memory is exhausted. */
+ (BOOL)registerCurrent;

/* Sets the folders whose images are the app's own. nil: the bundle of the main executable with everything in it
 * (Frameworks, PlugIns), or without a bundle the executable's folder. /private/var and /var are the same. Takes effect
 * for all threads at the next capture. */
+ (void)setAppFolders:(USP_ARRAY_OF(NSString) * USP_NULLABLE)folders;

/* Releases cached symbols and files, known stacks and their counts. */
+ (void)forget;

/* ---- replacements for methods of NSThread and BSBacktraceLogger ---- */

/* Returns the calling thread's whole stack, as +[NSThread callStackSymbols] does. Empty where the host's stacks cannot
 * be captured. */
+ (USP_ARRAY_OF(NSString) *)callStackSymbols;

/* Return at most the innermost `max` frames. Equal stacks give the same array object, which is made once: meant for an
 * auditor that captures the same few stacks thousands of times. At most 4096 stacks are kept; the least recently seen
 * one is dropped first.
 *   options    with USPOptionAppOnly `max` counts the app's own frames
 *   timesSeen  may be NULL; receives how often the stack was seen, including this time; 0 when it was not counted */
+ (USP_ARRAY_OF(NSString) *)callStackSymbols:(NSUInteger)max;
+ (USP_ARRAY_OF(NSString) *)callStackSymbols:(NSUInteger)max
                                     options:(USPOptions)options
                                   timesSeen:(uint64_t *USP_NULLABLE)timesSeen;

/* Return the same frames as addresses. */
+ (USP_ARRAY_OF(NSNumber) *)callStackReturnAddresses;
+ (USP_ARRAY_OF(NSNumber) *)callStackReturnAddresses:(NSUInteger)max options:(USPOptions)options;

/* Return the text of bs_backtraceOfMainThread and the other functions of BSBacktraceLogger, with all frames; nil when
 * there is none. */
+ (NSString *USP_NULLABLE)backtraceOfMainThread;
+ (NSString *USP_NULLABLE)backtraceOfCurrentThread;
+ (NSString *USP_NULLABLE)backtraceOfNSThread:(NSThread *)thread;
+ (NSString *USP_NULLABLE)backtraceOfAllThreads;
+ (NSString *USP_NULLABLE)backtraceOfMainThreadWithOptions:(USPOptions)options;
+ (NSString *USP_NULLABLE)backtraceOfCurrentThreadWithOptions:(USPOptions)options;
+ (NSString *USP_NULLABLE)backtraceOfNSThread:(NSThread *)thread options:(USPOptions)options;
+ (NSString *USP_NULLABLE)backtraceOfAllThreadsWithOptions:(USPOptions)options;

@end

NS_ASSUME_NONNULL_END

#endif
