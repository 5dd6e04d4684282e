/* SPDX-License-Identifier: MIT */
/* The initializer of USPHang, which only USPHangMonitor calls. */
#ifndef USPI_OBJC_HANG_H
#define USPI_OBJC_HANG_H

#import <unspool-objc/USPHang.h>
#import <unspool/unspool.h>

@interface USPHang ()
/* Copies everything that the hang points to. Returns nil if memory is exhausted. */
- (id)initWithHang:(const struct usp_hang *)hang;
@end

#endif
