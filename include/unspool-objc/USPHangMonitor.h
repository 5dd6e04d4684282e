/* SPDX-License-Identifier: MIT */
/* A monitor that finds hangs of the main thread and what it was doing meanwhile. The same in C, for any loop of any thread,
 * stands in <unspool/monitor.h>; how to choose thresholds, in doc/monitor.md. */
#ifndef UNSPOOL_OBJC_USPHANGMONITOR_H
#define UNSPOOL_OBJC_USPHANGMONITOR_H

#import <unspool-objc/USPDefines.h>
#import <unspool-objc/USPHang.h>

NS_ASSUME_NONNULL_BEGIN

struct usp_monitor_statistics;
@class USPHangMonitor;

/* How the monitor knows what the main thread does. */
typedef NS_ENUM(NSUInteger, USPHangSource) {
    /* Observers in the main run loop, in all its modes. With GNUstep, whose run loop has no observers, a descriptor that it
     * waits for in the modes that GNUstep's libraries use. */
    USPHangSourceRunLoop = 0,
    /* The main queue answers, where the main thread has no run loop (dispatchMain()). Apple systems only. */
    USPHangSourceMainQueue = 1
};

/* Each method is called on the monitor's thread, and for one hang after the other. A hang that begins ends, also when the
 * monitor is stopped meanwhile. None may wait for the main thread. */
@protocol USPHangMonitorDelegate <NSObject>
@optional
- (void)hangMonitor:(USPHangMonitor *)monitor hangDidBegin:(USPHang *)hang;
/* From time to time, and when it becomes severe. */
- (void)hangMonitor:(USPHangMonitor *)monitor hangDidGoOn:(USPHang *)hang;
- (void)hangMonitor:(USPHangMonitor *)monitor hangDidEnd:(USPHang *)hang;
/* An earlier process was killed in this hang: USPHangMonitor.file has kept it. */
- (void)hangMonitor:(USPHangMonitor *)monitor didFindKilledHang:(USPHang *)hang;
@end

/* Every method may be called on any thread, none in a signal handler. What is set is used from the next start on. */
USP_CLASS
@interface USPHangMonitor : NSObject {
  @private
    void *_loopSource;
    id _delegate, _receiver, _handler, _running, _changes;
    NSString *_file;
    NSTimeInterval _lateThreshold, _hangThreshold, _severeThreshold, _sampleInterval;
    USPHangSource _source;
    BOOL _watchesWhileTraced;
}

/* The one that most programs need, made when it is first asked for. More can be made with -init. */
+ (USPHangMonitor *)mainThreadMonitor;

/* Thresholds and the time between samples, in seconds (struct usp_monitor_options). Defaults 0.1, 0.25, 2 and 0.02. */
@property(nonatomic) NSTimeInterval lateThreshold;
@property(nonatomic) NSTimeInterval hangThreshold;
@property(nonatomic) NSTimeInterval severeThreshold;
@property(nonatomic) NSTimeInterval sampleInterval;
/* By which a hang is found whose process was killed. Default nil. */
@property(nonatomic, copy) NSString *USP_NULLABLE file;
/* Whether hangs are reported although a debugger holds the process. Default NO. */
@property(nonatomic) BOOL watchesWhileTraced;
@property(nonatomic) USPHangSource source;
/* Kept by the monitor. */
@property(nonatomic, retain) id<USPHangMonitorDelegate> USP_NULLABLE delegate;

/* Starts watching, from the next turn of the main run loop on. The object lives until it is stopped. YES also when it runs
 * already. NO: an error says why, such as a threshold that makes no sense, a file that cannot be made, or USP_ERROR_BUSY when the
 * delegate calls it while another thread stops the monitor. */
- (BOOL)startWithError:(NSError *USP_NULLABLE *USP_NULLABLE)error;

#if defined(__BLOCKS__)
/* The same; the block is called when a hang has ended, and for one that an earlier process was killed in. It is called on the
 * monitor's thread and may not wait for the main thread. */
- (BOOL)startWithHandler:(void (^)(USPHang *hang))handler error:(NSError *USP_NULLABLE *USP_NULLABLE)error;
#endif

/* Stops watching. Returns when no method of the delegate runs any more; called by one of them, it takes effect later. */
- (void)stop;
/* NO as soon as it begins to stop. */
@property(readonly, getter=isRunning) BOOL running;

/* Zeros while it does not run. */
- (void)getStatistics:(struct usp_monitor_statistics *)statistics;

@end

NS_ASSUME_NONNULL_END

#endif
