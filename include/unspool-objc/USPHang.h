/* SPDX-License-Identifier: MIT */
/* A hang of the main thread, as USPHangMonitor reports it. <unspool/monitor.h> describes the enumerations. */
#ifndef UNSPOOL_OBJC_USPHANG_H
#define UNSPOOL_OBJC_USPHANG_H

#import <unspool-objc/USPDefines.h>
#import <unspool-objc/USPStack.h>

NS_ASSUME_NONNULL_BEGIN

struct usp_hang;

/* Immutable; any thread may use it, also after the hang. Made by USPHangMonitor. Methods that symbolicate allocate,
 * open files and take the loader's lock; the others may allocate. */
USP_CLASS
@interface USPHang : NSObject {
  @private
    void *_kept;
}

/* The number of this hang in this process, from 1; the same in all reports of one hang. */
@property(nonatomic, readonly) uint64_t hangID;
/* enum usp_hang_state. */
@property(nonatomic, readonly) uint32_t state;
/* The state in words: "ongoing", "recovered", "killed", "abandoned". */
@property(nonatomic, readonly, copy) NSString *stateDescription;
/* Whether it has lasted for longer than USPHangMonitor.severeThreshold. */
@property(nonatomic, readonly, getter=isSevere) BOOL severe;

/* How long the turn has lasted so far or in total, in seconds, without takenOff. */
@property(nonatomic, readonly) NSTimeInterval duration;
/* The time in which the monitor did not run, in seconds. */
@property(nonatomic, readonly) NSTimeInterval takenOff;
/* How long the turn had lasted when the first sample was taken, in seconds. */
@property(nonatomic, readonly) NSTimeInterval firstSampleAfter;
/* When the turn began, in seconds since 1970-01-01 UTC; 0: not known. */
@property(nonatomic, readonly) NSTimeInterval startTime;
/* The number of samples of the thread's stack. */
@property(nonatomic, readonly) uint64_t sampleCount;

/* The stack with most of the time. nil: there are no samples (watchOS, Rosetta), or the hang is an earlier process's,
 * whose addresses are not valid here. The text has its stacks. */
@property(nonatomic, readonly, retain) USPStack *USP_NULLABLE heaviestStack;
/* The first sample; nil in the same cases. */
@property(nonatomic, readonly, retain) USPStack *USP_NULLABLE firstStack;

/* Returns the report for people, symbolicated; nil when memory is exhausted. */
- (NSString *USP_NULLABLE)text;
/* Returns the report for people without names; nil when memory is exhausted. */
- (NSString *USP_NULLABLE)textWithoutSymbols;
/* Returns the report as doc/schema/hang.schema.json describes it; nil when memory is exhausted. */
- (NSString *USP_NULLABLE)JSON;

/* Returns the hang for the functions of libunspool; it lives as long as the object. */
- (const struct usp_hang *)hang USP_INNER_POINTER;

@end

NS_ASSUME_NONNULL_END

#endif
