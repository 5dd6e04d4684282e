/* SPDX-License-Identifier: MIT */
/* Stacks of the threads of this process, by NSThread. The same in C, and what is stopped for how long, stands in
 * <unspool/capture.h> and <unspool/snapshot.h>. */
#ifndef UNSPOOL_OBJC_USPTHREAD_H
#define UNSPOOL_OBJC_USPTHREAD_H

#import <unspool-objc/USPDefines.h>
#import <unspool-objc/USPStack.h>

NS_ASSUME_NONNULL_BEGIN

/* Of errors whose code is an enum usp_status (<unspool/base.h>). */
USP_EXPORT NSString *const USPErrorDomain USP_AVAILABLE;

typedef NS_OPTIONS(NSUInteger, USPOptions) {
    /* Only frames of the app's own images (+setAppFolders:). They are chosen before anything is named, and counted anew. */
    USPOptionAppOnly = 1 << 0,
    /* No names: nothing is asked of symbol tables, the image and the offset in it stand in place of a function. */
    USPOptionWithoutSymbols = 1 << 1,
    /* Behind the frames of a thread that runs a Swift task those of its async callers. */
    USPOptionAsync = 1 << 2
};

/* Every method may be called on any thread, none in a signal handler. They call usp_prepare with its defaults when that has
 * not been done. A stack grows until all frames fit, up to 2^20 (USPStack.truncated). The calling thread's stack begins in
 * the method's caller.
 *
 * The thread of an NSThread is found, in this order: the calling thread and the main thread at once; a thread that called
 * +registerCurrent by its kernel id; others by the place in thread-specific data where Foundation keeps the NSThread, when
 * that could be learned, holds for the main thread too and leads to exactly one thread; last by its name, when exactly one
 * live thread has it, twice in a row. Otherwise the answer is an error with the code USP_ERROR_NOT_FOUND, and
 * USP_ERROR_NO_THREAD when the thread has ended. No thread is renamed. */
USP_CLASS
@interface USPThread : NSObject

/* ---- stacks ---- */

/* nil: an error says why. */
+ (USPStack *USP_NULLABLE)stackOfThread:(NSThread *)thread
                                options:(USPOptions)options
                                  error:(NSError *USP_NULLABLE *USP_NULLABLE)error;
+ (USPStack *USP_NULLABLE)stackOfMainThreadWithOptions:(USPOptions)options
                                                 error:(NSError *USP_NULLABLE *USP_NULLABLE)error;
+ (USPStack *USP_NULLABLE)stackOfCurrentThreadWithOptions:(USPOptions)options
                                                    error:(NSError *USP_NULLABLE *USP_NULLABLE)error;

/* Of all threads, at one moment: the main thread first, then by id. A thread that did not answer is there with its error.
 * USPOptionWithoutSymbols plays no part in these four: names are up to the methods of USPStack. */
+ (USP_ARRAY_OF(USPStack) * USP_NULLABLE)stacksOfAllThreadsWithOptions:(USPOptions)options
                                                                 error:(NSError *USP_NULLABLE *USP_NULLABLE)error;

/* Makes the calling thread one that is found by its id from any thread until it ends. The id lies in its threadDictionary.
 * NO: the system does not tell the id. */
+ (BOOL)registerCurrent;

/* The folders whose images are the app's own; nil: the bundle of the main executable with all that lies in it (Frameworks,
 * PlugIns), or the executable's folder where it is in no bundle. /private/var and /var are the same. For all threads, from
 * the next capture on. */
+ (void)setAppFolders:(USP_ARRAY_OF(NSString) * USP_NULLABLE)folders;

/* Gives back what was kept for naming and for telling stacks apart: symbols, files, known stacks and their counts. */
+ (void)forget;

/* ---- in place of what NSThread and BSBacktraceLogger have ---- */

/* The calling thread, as +[NSThread callStackSymbols] has it, whole. Empty where this host cannot be walked. */
+ (USP_ARRAY_OF(NSString) *)callStackSymbols;

/* The innermost `max` frames at most. Equal stacks give the same array object, which is made once: for an auditor that meets
 * the same few stacks again and again. Bounded: of 4096 stacks the one that was seen longest ago makes room.
 *   options    with USPOptionAppOnly `max` counts the app's own frames
 *   timesSeen  may be NULL; becomes how often the stack was seen, with this time; 0 when it could not be counted */
+ (USP_ARRAY_OF(NSString) *)callStackSymbols:(NSUInteger)max;
+ (USP_ARRAY_OF(NSString) *)callStackSymbols:(NSUInteger)max
                                     options:(USPOptions)options
                                   timesSeen:(uint64_t *USP_NULLABLE)timesSeen;

/* The same frames as addresses. */
+ (USP_ARRAY_OF(NSNumber) *)callStackReturnAddresses;
+ (USP_ARRAY_OF(NSNumber) *)callStackReturnAddresses:(NSUInteger)max options:(USPOptions)options;

/* The text that bs_backtraceOfMainThread and its siblings give, with all frames; nil when there is none. */
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
