/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the part of CoreFoundation that libunspool-objc uses, declared as in Apple's headers (CFBase.h,
 * CFArray.h, CFRunLoop.h), in one header. */
#ifndef TESTS_APPLE_SDK_SYSTEM_LIBRARY_FRAMEWORKS_COREFOUNDATION_FRAMEWORK_HEADERS_COREFOUNDATION_H
#define TESTS_APPLE_SDK_SYSTEM_LIBRARY_FRAMEWORKS_COREFOUNDATION_FRAMEWORK_HEADERS_COREFOUNDATION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/cdefs.h>

__BEGIN_DECLS

typedef unsigned char Boolean;
typedef signed long CFIndex;
typedef unsigned long CFOptionFlags;
typedef double CFTimeInterval;
typedef const void *CFTypeRef;
typedef const struct __CFAllocator *CFAllocatorRef;
typedef const struct __CFString *CFStringRef;
typedef const struct __CFArray *CFArrayRef;
typedef CFStringRef CFRunLoopMode;
typedef struct __CFRunLoop *CFRunLoopRef;
typedef struct __CFRunLoopObserver *CFRunLoopObserverRef;

void CFRelease(CFTypeRef cf);
CFIndex CFArrayGetCount(CFArrayRef theArray);
const void *CFArrayGetValueAtIndex(CFArrayRef theArray, CFIndex idx);

typedef enum __attribute__((flag_enum, enum_extensibility(open))) CFRunLoopActivity : CFOptionFlags {
    kCFRunLoopEntry = (1UL << 0),
    kCFRunLoopBeforeTimers = (1UL << 1),
    kCFRunLoopBeforeSources = (1UL << 2),
    kCFRunLoopBeforeWaiting = (1UL << 5),
    kCFRunLoopAfterWaiting = (1UL << 6),
    kCFRunLoopExit = (1UL << 7),
    kCFRunLoopAllActivities = 0x0FFFFFFFU
} CFRunLoopActivity;

typedef struct {
    CFIndex version;
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    CFStringRef (*copyDescription)(const void *info);
} CFRunLoopObserverContext;

typedef void (*CFRunLoopObserverCallBack)(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info);

extern const CFRunLoopMode kCFRunLoopDefaultMode;
extern const CFRunLoopMode kCFRunLoopCommonModes;

CFRunLoopRef CFRunLoopGetMain(void);
CFArrayRef CFRunLoopCopyAllModes(CFRunLoopRef rl);
void CFRunLoopAddObserver(CFRunLoopRef rl, CFRunLoopObserverRef observer, CFRunLoopMode mode);
CFRunLoopObserverRef CFRunLoopObserverCreate(CFAllocatorRef allocator, CFOptionFlags activities, Boolean repeats,
                                             CFIndex order, CFRunLoopObserverCallBack callout,
                                             CFRunLoopObserverContext *context);
void CFRunLoopObserverInvalidate(CFRunLoopObserverRef observer);

__END_DECLS

#endif
