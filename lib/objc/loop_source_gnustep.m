/* SPDX-License-Identifier: MIT */
/* Implements the source for GNUstep, whose run loop has no observers: the loop waits for the monitor's descriptor and
 * answers. See loop_source.h. */
#if !defined(__APPLE__)

#import <Foundation/Foundation.h>

#include "lib/objc/loop_source.h"

/* A function that the main thread is to call. */
@interface USPIMainCall : NSObject {
  @public
    void (*_function)(void *context);
    void *_context;
}
- (void)call;
@end

@implementation USPIMainCall
- (void)call {
    _function(_context);
}
@end

/* Modes of GNUstep's libraries. */
static NSArray *loop_modes(void) {
    return [NSArray arrayWithObjects:NSDefaultRunLoopMode, NSRunLoopCommonModes, @"NSConnectionReplyMode",
                                     @"NSModalPanelRunLoopMode", @"NSEventTrackingRunLoopMode", nil];
}

void uspi_on_main_thread(void (*function)(void *context), void *context) {
    if ([NSThread isMainThread]) {
        function(context);
        return;
    }
    USPIMainCall *call = [[USPIMainCall alloc] init];
    call->_function = function;
    call->_context = context;
    [call performSelectorOnMainThread:@selector(call) withObject:nil waitUntilDone:NO modes:loop_modes()];
    [call release];
}

/* The object that the run loop calls when the descriptor is readable. The main thread adds it to its loop and removes
 * it. If it is removed before it was added, it is no longer added. */
@interface USPILoopAnswer : NSObject <RunLoopEvents> {
  @public
    struct uspi_loop_source *_source; /* NULL: removed */
    int _descriptor;
}
@end

@implementation USPILoopAnswer
- (void)receivedEvent:(void *)data type:(RunLoopEventType)type extra:(void *)extra forMode:(NSString *)mode {
    (void)data;
    (void)type;
    (void)extra;
    (void)mode;
    (void)usp_monitor_learn_wait(_source->monitor);
    usp_monitor_answer(_source->monitor);
}
@end

static void add_to_loop(void *context) {
    USPILoopAnswer *answer = context;
    NSArray *modes = answer->_source != NULL ? loop_modes() : nil;
    for (NSString *mode in modes) {
        [[NSRunLoop currentRunLoop] addEvent:(void *)(intptr_t)answer->_descriptor
                                        type:ET_RDESC
                                     watcher:answer
                                     forMode:mode];
    }
    [answer release];
}

int uspi_loop_complete(enum uspi_loop_kind kind, struct usp_monitor_options *options) {
    (void)options;
    return kind == USPI_LOOP_RUN_LOOP ? USP_OK : USP_ERROR_UNSUPPORTED;
}

int uspi_loop_attach(struct uspi_loop_source *source) {
    int descriptor = usp_monitor_open_ping(source->monitor);
    if (descriptor < 0) return descriptor;
    USPILoopAnswer *answer = [[USPILoopAnswer alloc] init];
    answer->_source = source;
    answer->_descriptor = descriptor;
    source->attached[0] = answer;
    uspi_on_main_thread(add_to_loop, [answer retain]);
    return USP_OK;
}

void uspi_loop_detach(struct uspi_loop_source *source) {
    USPILoopAnswer *answer = source->attached[0];
    if (answer == nil) return;
    for (NSString *mode in loop_modes()) {
        [[NSRunLoop currentRunLoop] removeEvent:(void *)(intptr_t)answer->_descriptor
                                           type:ET_RDESC
                                        forMode:mode
                                            all:YES];
    }
    source->attached[0] = NULL;
    answer->_source = NULL;
    [answer release];
}

#else
typedef int uspi_not_this_system;
#endif
