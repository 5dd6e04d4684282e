/* SPDX-License-Identifier: MIT */
/* How the objects of USPSource.h are made: USPFrame does it. The strings of a source frame are copied. */
#ifndef USPI_OBJC_SOURCE_H
#define USPI_OBJC_SOURCE_H

#import <unspool-objc/USPSource.h>
#include <unspool/lines.h>

@interface USPSourceLocation ()
/* nil where the file is not known. Not autoreleased. */
- (id)initWithSource:(const struct usp_source_frame *)source;
@end

@interface USPInlinedCall ()
- (id)initWithSource:(const struct usp_source_frame *)source;
@end

#endif
