/* SPDX-License-Identifier: MIT */
/* How a USPFrame is made: USPStack alone does it. */
#ifndef USPI_OBJC_FRAME_H
#define USPI_OBJC_FRAME_H

#import <unspool-objc/USPFrame.h>
#include <unspool/unspool.h>

@interface USPFrame ()
/* symbol->name may be NULL, as may its image_path; what it points to is copied. */
- (id)initWithFrame:(const struct usp_frame *)frame
              index:(NSUInteger)index
           callSite:(usp_addr)callSite
             symbol:(const struct usp_symbol *)symbol;
@end

#endif
