/* SPDX-License-Identifier: MIT */
/* Macros of the layer: those that hide the differences between automatic reference counting and manual release calls,
 * because the layer is compiled either way, and the names of classes as strings. */
#ifndef USPI_OBJC_ARC_H
#define USPI_OBJC_ARC_H

#import <Foundation/Foundation.h>

#if defined(__has_feature)
#if __has_feature(objc_arc)
#define USPI_ARC 1
#endif
#endif
#ifndef USPI_ARC
#define USPI_ARC 0
#endif

/* The name of one of our classes as a string, with the prefix of --with-symbol-prefix: two copies of the layer in one
 * program must not share the keys of thread dictionaries. */
#define USPI_NAME_(name) @ #name
#define USPI_NAME(name)  USPI_NAME_(name)

#if USPI_ARC
#define USPI_RETAIN(object)      (object)
#define USPI_RELEASE(object)     ((void)(object))
#define USPI_AUTORELEASE(object) (object)
#define USPI_SUPER_DEALLOC()     ((void)0)
#define USPI_POOL_BEGIN          @autoreleasepool {
#define USPI_POOL_END            }
/* An object's address, only for comparison. */
#define USPI_ADDRESS(object)       ((uintptr_t)(__bridge void *)(object))
#define USPI_CONTEXT(object)       ((__bridge void *)(object))
#define USPI_OBJECT(type, context) ((__bridge type *)(context))
/* GIVE: a context that retains an object. TAKE: the object back, which the caller releases. */
#define USPI_GIVE(object)        ((__bridge_retained void *)(object))
#define USPI_TAKE(type, context) ((__bridge_transfer type *)(context))
#else
#define USPI_RETAIN(object)      [(object) retain]
#define USPI_RELEASE(object)     [(object) release]
#define USPI_AUTORELEASE(object) [(object) autorelease]
#define USPI_SUPER_DEALLOC()     [super dealloc]
/* GCC has no @autoreleasepool. */
#define USPI_POOL_BEGIN                                                                                                \
    {                                                                                                                  \
        NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
#define USPI_POOL_END                                                                                                  \
    [pool drain];                                                                                                      \
    }
#define USPI_ADDRESS(object)       ((uintptr_t)(void *)(object))
#define USPI_CONTEXT(object)       ((void *)(object))
#define USPI_OBJECT(type, context) ((type *)(context))
#define USPI_GIVE(object)          ((void *)[(object) retain])
#define USPI_TAKE(type, context)   ((type *)(context))
#endif

#endif
