/* SPDX-License-Identifier: MIT */
/* Finds threads that have registered themselves. See resolve.h.
 *
 * The kernel's id is in the thread's own dictionary, which is freed with the thread. Other threads must not read the
 * dictionary while its thread may change it. They read a table, which the object in the dictionary keeps up to date. */
#import "lib/objc/arc.h"
#import "lib/objc/resolve.h"

static NSString *const key = @"unspool.registration";

@interface USPIRegistration : NSObject {
    NSValue *_thread; /* address of the thread, whose dictionary owns this object */
    NSNumber *_kernelID;
}
- (id)initWithThread:(NSThread *)thread kernelID:(uint64_t)kernelID;
- (BOOL)isOf:(uint64_t)kernelID;
@end

/* Address of an NSThread → kernel id of its USPIRegistration; guarded by the lock. */
static NSMutableDictionary *table;
static NSLock *lock;

@implementation USPIRegistration

+ (void)initialize {
    if (self != [USPIRegistration class]) return;
    lock = [[NSLock alloc] init];
    table = [[NSMutableDictionary alloc] init];
}

- (id)initWithThread:(NSThread *)thread kernelID:(uint64_t)kernelID {
    self = [super init];
    if (self == nil) return nil;
    _thread = USPI_RETAIN([NSValue valueWithPointer:USPI_CONTEXT(thread)]);
    _kernelID = [[NSNumber alloc] initWithUnsignedLongLong:kernelID];
    [lock lock];
    [table setObject:_kernelID forKey:_thread];
    [lock unlock];
    return self;
}

- (BOOL)isOf:(uint64_t)kernelID {
    return [_kernelID unsignedLongLongValue] == kernelID;
}

- (void)dealloc {
    [lock lock];
    /* Compares objects, not values: a newer registration of the thread stays. */
    if ([table objectForKey:_thread] == _kernelID) [table removeObjectForKey:_thread];
    [lock unlock];
    USPI_RELEASE(_thread);
    USPI_RELEASE(_kernelID);
    USPI_SUPER_DEALLOC();
}

@end

bool uspi_objc_register_current(void) {
    NSThread *current = [NSThread currentThread];
    NSMutableDictionary *own = [current threadDictionary];
    struct usp_thread thread;
    if (usp_thread_self(&thread) != USP_OK) return false;
    uint64_t kernelID = thread.id;
    usp_thread_release(&thread);
    /* After fork the dictionary contains the registration of the parent's thread. */
    if ([[own objectForKey:key] isOf:kernelID]) return true;
    USPIRegistration *registration = [[USPIRegistration alloc] initWithThread:current kernelID:kernelID];
    if (registration == nil) return false;
    [own setObject:registration forKey:key];
    USPI_RELEASE(registration);
    return true;
}

int uspi_objc_by_registration(NSThread *thread, struct usp_thread *found) {
    /* Makes sure that +initialize has made the table. */
    [USPIRegistration class];
    [lock lock];
    NSNumber *kernelID = [table objectForKey:[NSValue valueWithPointer:USPI_CONTEXT(thread)]];
    *found = (struct usp_thread){[kernelID unsignedLongLongValue], 0};
    [lock unlock];
    return kernelID != nil ? USP_OK : USP_ERROR_NOT_FOUND;
}
