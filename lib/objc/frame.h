/* SPDX-License-Identifier: MIT */
/* The initializer of USPFrame, which only USPStack calls. */
#ifndef USPI_OBJC_FRAME_H
#define USPI_OBJC_FRAME_H

#import <unspool-objc/USPFrame.h>
#include <unspool/unspool.h>

@interface USPFrame ()
/* lines: the symbol and source frames of the call site. The symbol may have no name and no image_path. All source
 * frames that it counts are in its array. All strings are copied. */
- (id)initWithFrame:(const struct usp_frame *)frame
              index:(NSUInteger)index
           callSite:(usp_addr)callSite
              lines:(const struct usp_lines *)lines;
@end

#endif
