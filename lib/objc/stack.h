/* SPDX-License-Identifier: MIT */
/* The initializer of USPStack, which USPThread and USPHang call. */
#ifndef USPI_OBJC_STACK_H
#define USPI_OBJC_STACK_H

#import <unspool-objc/USPStack.h>
#include <unspool/unspool.h>

/* The data of a capture in a USPStack. */
struct uspi_objc_captured {
    struct usp_stack stack; /* the frames are malloc'ed */
    struct usp_thread_info info;
    uint32_t filtered;
    bool is_truncated;
};

@interface USPStack ()
/* Takes ownership of the captured stack's frames, and frees them with free(), even if it returns nil. error: why there
 * is not a stack; nil: there is one. */
- (id)initWithCaptured:(const struct uspi_objc_captured *)captured name:(NSString *)name error:(NSError *)error;
@end

#endif
