/* SPDX-License-Identifier: MIT */
/* Finds threads that have registered themselves. See resolve.h.
 *
 * The kernel's id is in the thread's own dictionary, which is freed with the thread. Other threads must not read the
 * dictionary while its thread may change it. They read a table, which the object in the dictionary keeps up to date. */
#import "lib/objc/arc.h"
#import "lib/objc/resolve.h"

static NSString *const key = USPI_NAME(USPIRegistration);

@interface USPIRegistration : NSObject {
    NSValue *_thread; /* address of the thread, whose dictionary owns this object */
    NSNumber *_kernelID;
}
- (id)initWithThread:(NSThread *)thread kernelID:(uint64_t)kernelID;
- (BOOL)isOf:(uint64_t)kernelID;
@end

/* Address of an NSThread → kernel id of its USPIRegistration; guarded by @synchronized([USPIRegistration class]). */
static NSMutableDictionary *table;

@implementation USPIRegistration

/* If memory is exhausted, Foundation returns nil or throws. Either leaves the table as it was, and the next
 * registration tries again. */
- (id)initWithThread:(NSThread *)thread kernelID:(uint64_t)kernelID {
    self = [super init];
    if (self == nil) return nil;
    _thread = USPI_RETAIN([NSValue valueWithPointer:USPI_CONTEXT(thread)]);
    _kernelID = [[NSNumber alloc] initWithUnsignedLongLong:kernelID];
    @synchronized([USPIRegistration class]) {
        if (table == nil) table = [[NSMutableDictionary alloc] init];
        [table setObject:_kernelID forKey:_thread];
    }
    return self;
}

- (BOOL)isOf:(uint64_t)kernelID {
    return [_kernelID unsignedLongLongValue] == kernelID;
}

- (void)dealloc {
    @synchronized([USPIRegistration class]) {
        /* Compares objects, not values: a newer registration of the thread stays. */
        if (_kernelID != nil && [table objectForKey:_thread] == _kernelID) [table removeObjectForKey:_thread];
    }
    USPI_RELEASE(_thread);
    USPI_RELEASE(_kernelID);
    USPI_SUPER_DEALLOC();
}

@end

/* Puts a registration into the calling thread's dictionary. Returns NO or throws when memory is exhausted. */
static BOOL register_as(uint64_t kernelID) {
    NSThread *current = [NSThread currentThread];
    NSMutableDictionary *own = [current threadDictionary];
    /* After fork the dictionary contains the registration of the parent's thread. */
    if ([[own objectForKey:key] isOf:kernelID]) return YES;
    USPIRegistration *registration = [USPIRegistration alloc];
    @try {
        registration = [registration initWithThread:current kernelID:kernelID];
        if (registration != nil) [own setObject:registration forKey:key];
    } @finally {
        USPI_RELEASE(registration);
    }
    return [[own objectForKey:key] isOf:kernelID];
}

bool uspi_objc_register_current(void) {
    struct usp_thread thread;
    if (usp_thread_self(&thread) != USP_OK) return false;
    uint64_t kernelID = thread.id;
    usp_thread_release(&thread);
    @try {
        return register_as(kernelID);
    } @catch (...) {
        /* An NSMallocException, or one about an object that is nil because of exhausted memory. */
        return false;
    }
}

int uspi_objc_by_registration(NSThread *thread, struct usp_thread *found) {
    *found = (struct usp_thread){0, 0};
    @synchronized([USPIRegistration class]) {
        NSNumber *kernelID = [table objectForKey:[NSValue valueWithPointer:USPI_CONTEXT(thread)]];
        found->id = [kernelID unsignedLongLongValue];
    }
    return found->id != 0 ? USP_OK : USP_ERROR_NOT_FOUND;
}
