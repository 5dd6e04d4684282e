/* SPDX-License-Identifier: MIT */
/* A hang of the main thread, as USPHangMonitor reports it. What its numbers mean stands in <unspool/monitor.h>. */
#ifndef UNSPOOL_OBJC_USPHANG_H
#define UNSPOOL_OBJC_USPHANG_H

#import <unspool-objc/USPDefines.h>
#import <unspool-objc/USPStack.h>

NS_ASSUME_NONNULL_BEGIN

struct usp_hang;

/* Immutable; any thread may use it, also after the hang. Made by USPHangMonitor. What names frames allocates, opens files and
 * takes the loader's lock; the rest allocates at most. */
USP_CLASS
@interface USPHang : NSObject {
  @private
    void *_kept;
}

/* Of this hang in this process, from 1 on: all reports of one hang have the same. */
@property(nonatomic, readonly) uint64_t hangID;
/* enum usp_hang_state, and the same in words: "goes on", "recovered", "killed", "abandoned". */
@property(nonatomic, readonly) uint32_t state;
@property(nonatomic, readonly, copy) NSString *stateDescription;
/* Whether it has lasted for longer than USPHangMonitor.severeThreshold. */
@property(nonatomic, readonly, getter=isSevere) BOOL severe;

/* In seconds: so far or in all; what is not counted because the monitor did not run; how long it had lasted at the first
 * sample. */
@property(nonatomic, readonly) NSTimeInterval duration;
@property(nonatomic, readonly) NSTimeInterval takenOff;
@property(nonatomic, readonly) NSTimeInterval firstSampleAfter;
/* When it began, in seconds since 1970; 0: not known. */
@property(nonatomic, readonly) NSTimeInterval startTime;
@property(nonatomic, readonly) uint64_t sampleCount;

/* The stack in which most of the time was spent, and the first one that was captured. nil: there are no samples (watchOS,
 * Rosetta), or the hang is an earlier process's, whose addresses are not this one's: the text has its stacks. */
@property(nonatomic, readonly, retain) USPStack *USP_NULLABLE heaviestStack;
@property(nonatomic, readonly, retain) USPStack *USP_NULLABLE firstStack;

/* The report for people, with names and without; and as JSON, which doc/schema/hang.schema.json describes. nil for lack of
 * memory. */
- (NSString *USP_NULLABLE)text;
- (NSString *USP_NULLABLE)textWithoutSymbols;
- (NSString *USP_NULLABLE)JSON;

/* For the functions of libunspool; lives as long as the object. (A method: its result is no object.) */
- (const struct usp_hang *)hang USP_INNER_POINTER;

@end

NS_ASSUME_NONNULL_END

#endif
