/* SPDX-License-Identifier: MIT */
/* Includes the whole API of libunspool-objc for Objective-C and Swift. C callers include <unspool/unspool.h>. */
#ifndef UNSPOOL_OBJC_UNSPOOL_OBJC_H
#define UNSPOOL_OBJC_UNSPOOL_OBJC_H

#import <unspool-objc/USPCrashReporter.h>
#import <unspool-objc/USPFrame.h>
#import <unspool-objc/USPHang.h>
#import <unspool-objc/USPHangMonitor.h>
#import <unspool-objc/USPSource.h>
#import <unspool-objc/USPStack.h>
#import <unspool-objc/USPThread.h>

#endif
