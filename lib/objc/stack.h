/* SPDX-License-Identifier: MIT */
/* How a USPStack is made: USPThread and USPHang do it. */
#ifndef USPI_OBJC_STACK_H
#define USPI_OBJC_STACK_H

#import <unspool-objc/USPStack.h>
#include <unspool/unspool.h>

/* What an object holds of a capture. */
struct uspi_objc_captured {
    struct usp_stack stack; /* the frames are malloc's */
    struct usp_thread_info info;
    uint32_t filtered;
    bool is_truncated;
};

@interface USPStack ()
/* Takes the captured stack's frames, and gives them back with free() even where it returns nil. error: why there is no
 * stack; nil: there is one. */
- (id)initWithCaptured:(const struct uspi_objc_captured *)captured name:(NSString *)name error:(NSError *)error;
@end

#endif
