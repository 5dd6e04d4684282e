/* SPDX-License-Identifier: MIT */
/* The stack of a thread at the moment of its capture. It is symbolicated when a method that returns names is called. */
#ifndef UNSPOOL_OBJC_USPSTACK_H
#define UNSPOOL_OBJC_USPSTACK_H

#import <unspool-objc/USPDefines.h>
#import <unspool-objc/USPFrame.h>

NS_ASSUME_NONNULL_BEGIN

struct usp_stack;

/* Immutable; any thread may use it. Made by USPThread and USPHang. Methods that symbolicate allocate, open files and
 * take the loader's lock; the others may allocate. */
USP_CLASS
@interface USPStack : NSObject {
  @private
    void *_captured;
    NSString *_threadName;
    NSError *_error;
}

/* The kernel's id of the thread. */
@property(nonatomic, readonly) uint64_t threadID;
/* The thread's name; nil when it has none. */
@property(nonatomic, readonly, copy) NSString *USP_NULLABLE threadName;
/* Whether it is the main thread. */
@property(nonatomic, readonly, getter=isMainThread) BOOL mainThread;

/* In a list of all threads: why this thread has no stack; nil when it has one. */
@property(nonatomic, readonly, retain) NSError *USP_NULLABLE error;

/* Why the stack ends, in words. */
@property(nonatomic, readonly, copy) NSString *stopReason;
/* Why the stack ends: enum usp_stop_reason. */
@property(nonatomic, readonly) uint32_t stop;

/* Whether frames are missing at the outer end, because there are more than a capture takes: 2^20. */
@property(nonatomic, readonly, getter=isTruncated) BOOL truncated;
/* The number of frames that the filter of the app's own images removed. */
@property(nonatomic, readonly) NSUInteger filteredCount;
/* How long the thread was stopped, in seconds; 0 for the calling thread. */
@property(nonatomic, readonly) NSTimeInterval stoppedTime;

/* Returns the captured stack for the functions of libunspool; it lives as long as the object. */
- (const struct usp_stack *)stack USP_INNER_POINTER;

/* Returns the frames' own addresses (USPFrame.address), as +[NSThread callStackReturnAddresses] does. */
- (USP_ARRAY_OF(NSNumber) *)returnAddresses;
/* Returns the frames without names. */
- (USP_ARRAY_OF(USPFrame) *)framesWithoutSymbols;
/* Returns lines as in +[NSThread callStackSymbols], with the image's name and the offset in it in place of a
 * function. */
- (USP_ARRAY_OF(NSString) *)linesWithoutSymbols;
/* Returns the text of BSBacktraceLogger without names: "Backtrace of Thread 771:" and a line for each frame. */
- (NSString *)backtraceWithoutSymbols;

/* Returns the frames with names, and with source locations and inlined calls where there is debug information. Reading
 * debug information takes time. */
- (USP_ARRAY_OF(USPFrame) *)frames;
/* Returns one line for each frame, with names and without source locations. A truncated stack has one more line, which
 * says so. */
- (USP_ARRAY_OF(NSString) *)callStackSymbols;
/* Returns the text of BSBacktraceLogger with names. Where there is debug information, file and line follow each
 * function, and a line for each inlined call precedes it (USP_FORMAT_LINES). Reading debug information takes time. */
- (NSString *)backtrace;

@end

NS_ASSUME_NONNULL_END

#endif
