/* SPDX-License-Identifier: MIT */
/* How a USPHang is made: USPHangMonitor alone does it. */
#ifndef USPI_OBJC_HANG_H
#define USPI_OBJC_HANG_H

#import <unspool-objc/USPHang.h>
#import <unspool/unspool.h>

@interface USPHang ()
/* Copies what the hang points to. nil for lack of memory. */
- (id)initWithHang:(const struct usp_hang *)hang;
@end

#endif
