/* SPDX-License-Identifier: MIT */
/* The stack of a thread as it was when it was captured. Naming happens when names are asked for, not before. */
#ifndef UNSPOOL_OBJC_USPSTACK_H
#define UNSPOOL_OBJC_USPSTACK_H

#import <unspool-objc/USPDefines.h>
#import <unspool-objc/USPFrame.h>

NS_ASSUME_NONNULL_BEGIN

struct usp_stack;

/* Immutable; any thread may use it. Made by USPThread and USPHang. What names frames allocates, opens files and takes the loader's
 * lock; the rest allocates at most. */
USP_CLASS
@interface USPStack : NSObject {
  @private
    void *_captured;
    NSString *_threadName;
    NSError *_error;
}

/* The kernel's id of the thread; its name, nil when it has none; whether it is the main thread. */
@property(nonatomic, readonly) uint64_t threadID;
@property(nonatomic, readonly, copy) NSString *USP_NULLABLE threadName;
@property(nonatomic, readonly, getter=isMainThread) BOOL mainThread;

/* Why there is no stack, among those of all threads; nil when there is one. */
@property(nonatomic, readonly, retain) NSError *USP_NULLABLE error;

/* Why the stack ends, in words, and as enum usp_stop_reason. */
@property(nonatomic, readonly, copy) NSString *stopReason;
@property(nonatomic, readonly) uint32_t stop;

/* Whether frames are missing at the outer end, because there are more than a capture takes: 2^20 of them. */
@property(nonatomic, readonly, getter=isTruncated) BOOL truncated;
/* How many frames the filter of the app's own images took out. */
@property(nonatomic, readonly) NSUInteger filteredCount;
/* How long the thread was stopped, in seconds; 0 for the calling thread. */
@property(nonatomic, readonly) NSTimeInterval stoppedTime;

/* As captured, for the functions of libunspool; lives as long as the object. (A method: its result is no object.) */
- (const struct usp_stack *)stack USP_INNER_POINTER;

/* Without names. The addresses are the frames' own (USPFrame.address), as +[NSThread callStackReturnAddresses] has them. */
- (USP_ARRAY_OF(NSNumber) *)returnAddresses;
- (USP_ARRAY_OF(USPFrame) *)framesWithoutSymbols;
/* Lines as of +[NSThread callStackSymbols], with the image's name and the offset in it in place of a function. */
- (USP_ARRAY_OF(NSString) *)linesWithoutSymbols;
/* The text of BSBacktraceLogger: "Backtrace of Thread 771:" and a line for each frame. */
- (NSString *)backtraceWithoutSymbols;

/* With names, and with source locations and inlined calls where there is debug information. Reading it takes time. */
- (USP_ARRAY_OF(USPFrame) *)frames;
/* Names without source locations: one line for each frame. A stack that is truncated has one line more, which says so. */
- (USP_ARRAY_OF(NSString) *)callStackSymbols;
/* Names with file and line behind each function, and a line before it for each inlined call, where there is debug information
 * (USP_FORMAT_LINES). Reading it takes time. */
- (NSString *)backtrace;

@end

NS_ASSUME_NONNULL_END

#endif
