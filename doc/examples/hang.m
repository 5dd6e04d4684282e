/* SPDX-License-Identifier: MIT */
/* A hang monitor for an app, with libunspool-objc. It logs hangs of the main thread. Call start_hang_monitor() once,
 * early; the app's launch is not watched. doc/monitor.md says how to choose thresholds. */
#import <Foundation/Foundation.h>
#import <unspool-objc/unspool-objc.h>

void start_hang_monitor(void);

void start_hang_monitor(void) {
    USPHangMonitor *monitor = [USPHangMonitor mainThreadMonitor];
    NSError *error = nil;
    /* If the process is killed during a hang, the hang is reported at the next start. */
    monitor.file = [NSTemporaryDirectory() stringByAppendingPathComponent:@"hang.unspool"];
    BOOL isRunning = [monitor
        startWithHandler:^(USPHang *hang) { NSLog(@"The main thread hung:\n%@", hang.text); }
                   error:&error];
    if (!isRunning) NSLog(@"No hang monitor: %@", error.localizedDescription);
}
