/* SPDX-License-Identifier: MIT */
/* How a USPFrame is made: USPStack alone does it. */
#ifndef USPI_OBJC_FRAME_H
#define USPI_OBJC_FRAME_H

#import <unspool-objc/USPFrame.h>
#include <unspool/unspool.h>

@interface USPFrame ()
/* lines: the answer for the call site. Its symbol may have no name and no image_path; all source frames that it counts fit. All
 * strings are copied. */
- (id)initWithFrame:(const struct usp_frame *)frame
              index:(NSUInteger)index
           callSite:(usp_addr)callSite
              lines:(const struct usp_lines *)lines;
@end

#endif
