/* SPDX-License-Identifier: MIT */
/* A monitor that finds hangs of the main thread and samples its stack during them. <unspool/monitor.h> has the same in
 * C, for any loop of any thread. doc/monitor.md explains how to choose thresholds. */
#ifndef UNSPOOL_OBJC_USPHANGMONITOR_H
#define UNSPOOL_OBJC_USPHANGMONITOR_H

#import <unspool-objc/USPDefines.h>
#import <unspool-objc/USPHang.h>

NS_ASSUME_NONNULL_BEGIN

struct usp_monitor_statistics;
@class USPHangMonitor;

/* How the monitor observes the main thread. */
typedef NS_ENUM(NSUInteger, USPHangSource) {
    /* Observers in the main run loop, in all its modes. With GNUstep, whose run loop has no observers: a descriptor
     * that the run loop waits for, in the modes that GNUstep's libraries use. */
    USPHangSourceRunLoop = 0,
    /* The main queue answers pings. For a main thread without a run loop (dispatchMain()). Apple systems only. */
    USPHangSourceMainQueue = 1
};

/* The monitor calls each method on its own thread, for one hang after another. Each hangDidBegin is followed by a
 * hangDidEnd, also when the monitor is stopped in between. The methods must not wait for the main thread. */
@protocol USPHangMonitorDelegate <NSObject>
@optional
- (void)hangMonitor:(USPHangMonitor *)monitor hangDidBegin:(USPHang *)hang;
/* Called periodically, and when the hang becomes severe. */
- (void)hangMonitor:(USPHangMonitor *)monitor hangDidGoOn:(USPHang *)hang;
- (void)hangMonitor:(USPHangMonitor *)monitor hangDidEnd:(USPHang *)hang;
/* An earlier process was killed during this hang, which USPHangMonitor.file has preserved. */
- (void)hangMonitor:(USPHangMonitor *)monitor didFindKilledHang:(USPHang *)hang;
@end

/* Every method may be called on any thread, none in a signal handler. Changed properties take effect at the next
 * start. */
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

/* Returns a shared monitor, made at the first call, which is enough for most programs. -init makes others. */
+ (USPHangMonitor *)mainThreadMonitor;

/* A turn that lasts this many seconds is late (usp_monitor_options.late). Default 0.1. */
@property(nonatomic) NSTimeInterval lateThreshold;
/* A turn that lasts this many seconds is a hang (usp_monitor_options.hang). Default 0.25. */
@property(nonatomic) NSTimeInterval hangThreshold;
/* A hang that lasts this many seconds is severe (usp_monitor_options.severe). Default 2. */
@property(nonatomic) NSTimeInterval severeThreshold;
/* The time between samples, in seconds (usp_monitor_options.interval). Default 0.02. */
@property(nonatomic) NSTimeInterval sampleInterval;
/* Path of a file that preserves the hang during which the process is killed. Default nil: no file. */
@property(nonatomic, copy) NSString *USP_NULLABLE file;
/* Whether hangs are reported while a debugger traces the process. Default NO. */
@property(nonatomic) BOOL watchesWhileTraced;
/* Default USPHangSourceRunLoop. */
@property(nonatomic) USPHangSource source;
/* Retained by the monitor. */
@property(nonatomic, retain) id<USPHangMonitorDelegate> USP_NULLABLE delegate;

/* Starts watching, from the next turn of the main run loop on. The object lives until it is stopped. Returns YES also
 * when it runs already. NO: `error` says why, such as an invalid threshold, a file that cannot be created, or
 * USP_ERROR_BUSY when the delegate calls it while another thread stops the monitor. */
- (BOOL)startWithError:(NSError *USP_NULLABLE *USP_NULLABLE)error;

#if defined(__BLOCKS__)
/* Like startWithError:, and calls the block when a hang has ended, and for a hang during which an earlier process was
 * killed. The block is called on the monitor's thread and must not wait for the main thread. */
- (BOOL)startWithHandler:(void (^)(USPHang *hang))handler error:(NSError *USP_NULLABLE *USP_NULLABLE)error;
#endif

/* Stops watching. Returns when no method of the delegate runs any more. When one of them calls it, it takes effect
 * later. */
- (void)stop;
/* Whether the monitor runs; NO as soon as it begins to stop. */
@property(readonly, getter=isRunning) BOOL running;

/* Fills *statistics; with zeros while the monitor does not run. */
- (void)getStatistics:(struct usp_monitor_statistics *)statistics;

@end

NS_ASSUME_NONNULL_END

#endif
