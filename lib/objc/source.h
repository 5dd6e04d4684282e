/* SPDX-License-Identifier: MIT */
/* The initializers of the classes in USPSource.h, which only USPFrame calls. They copy the strings of a source
 * frame. */
#ifndef USPI_OBJC_SOURCE_H
#define USPI_OBJC_SOURCE_H

#import <unspool-objc/USPSource.h>
#include <unspool/lines.h>

@interface USPSourceLocation ()
/* Returns nil if the file is not known. Not autoreleased. */
- (id)initWithSource:(const struct usp_source_frame *)source;
@end

@interface USPInlinedCall ()
- (id)initWithSource:(const struct usp_source_frame *)source;
@end

#endif
