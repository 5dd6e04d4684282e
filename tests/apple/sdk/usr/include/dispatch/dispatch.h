/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: queues (libdispatch dispatch/queue.h, dispatch/object.h). In C a queue is a pointer to an opaque
 * struct. */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_DISPATCH_DISPATCH_H
#define TESTS_APPLE_SDK_USR_INCLUDE_DISPATCH_DISPATCH_H

#include <os/availability.h>
#include <sys/cdefs.h>

typedef struct dispatch_queue_s *dispatch_queue_t;
typedef struct dispatch_queue_attr_s *dispatch_queue_attr_t;
typedef void (*dispatch_function_t)(void *);
typedef union {
    struct dispatch_queue_s *_dq;
} dispatch_object_t __attribute__((__transparent_union__));

__BEGIN_DECLS
extern struct dispatch_queue_s _dispatch_main_q;
static __inline__ dispatch_queue_t dispatch_get_main_queue(void) { return &_dispatch_main_q; }
API_AVAILABLE(macos(10.6), ios(4.0))
void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
API_AVAILABLE(macos(10.6), ios(4.0))
dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t attr);
API_AVAILABLE(macos(10.6), ios(4.0))
const char *dispatch_queue_get_label(dispatch_queue_t queue);
API_AVAILABLE(macos(10.6), ios(4.0))
void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
API_AVAILABLE(macos(10.6), ios(4.0))
void dispatch_release(dispatch_object_t object);
__END_DECLS

#endif
