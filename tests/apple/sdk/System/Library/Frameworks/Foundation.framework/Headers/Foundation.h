/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the part of Foundation and the Objective-C runtime that libunspool-objc uses, declared as in Apple's
 * headers (names, types, nullability, generics, attributes). It is one header, where Apple has many. */
#ifndef TESTS_APPLE_SDK_SYSTEM_LIBRARY_FRAMEWORKS_FOUNDATION_FRAMEWORK_HEADERS_FOUNDATION_H
#define TESTS_APPLE_SDK_SYSTEM_LIBRARY_FRAMEWORKS_FOUNDATION_FRAMEWORK_HEADERS_FOUNDATION_H

#include <os/availability.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* objc/objc.h: BOOL on processors with a new ABI (OBJC_BOOL_IS_BOOL). */
#if defined(__OBJC_BOOL_IS_BOOL) && __OBJC_BOOL_IS_BOOL
typedef bool BOOL;
#else
typedef signed char BOOL;
#endif
#define YES __objc_yes
#define NO  __objc_no
#define nil NULL
#define Nil NULL

/* objc/NSObjCRuntime.h */
#if defined(__LP64__)
typedef long NSInteger;
typedef unsigned long NSUInteger;
#define NSUIntegerMax (~0UL)
#else
typedef int NSInteger;
typedef unsigned int NSUInteger;
#define NSUIntegerMax (~0U)
#endif

#define OBJC_ARC_UNAVAILABLE __attribute__((unavailable("not available in automatic reference counting mode")))
#define NS_AUTOMATED_REFCOUNT_UNAVAILABLE                                                                              \
    __attribute__((unavailable("not available in automatic reference counting mode")))
#if !__has_feature(objc_arc)
#undef OBJC_ARC_UNAVAILABLE
#undef NS_AUTOMATED_REFCOUNT_UNAVAILABLE
#define OBJC_ARC_UNAVAILABLE
#define NS_AUTOMATED_REFCOUNT_UNAVAILABLE
#endif

/* Foundation/NSObjCRuntime.h, CoreFoundation/CFAvailability.h */
#define FOUNDATION_EXPORT           extern
#define NS_ASSUME_NONNULL_BEGIN     _Pragma("clang assume_nonnull begin")
#define NS_ASSUME_NONNULL_END       _Pragma("clang assume_nonnull end")
#define NS_RETURNS_INNER_POINTER    __attribute__((objc_returns_inner_pointer))
#define NS_FORMAT_FUNCTION(F, A)    __attribute__((format(__NSString__, F, A)))
#define NS_REQUIRES_NIL_TERMINATION __attribute__((sentinel(0, 1)))
#define NS_ENUM(_type, _name)                                                                                          \
    enum __attribute__((enum_extensibility(open))) _name : _type _name;                                                \
    enum _name : _type
#define NS_OPTIONS(_type, _name)                                                                                       \
    _type _name;                                                                                                       \
    enum __attribute__((flag_enum, enum_extensibility(open))) : _name

NS_ASSUME_NONNULL_BEGIN

typedef double NSTimeInterval;
typedef struct _NSZone NSZone;
@class NSString, NSArray<ObjectType>, NSDictionary<KeyType, ObjectType>, Protocol;

@protocol NSObject
- (BOOL)isEqual:(nullable id)object;
@property(readonly) NSUInteger hash;
- (Class)class;
- (instancetype)self;
- (BOOL)isKindOfClass:(Class)aClass;
- (BOOL)respondsToSelector:(SEL)aSelector;
- (instancetype)retain OBJC_ARC_UNAVAILABLE;
- (oneway void)release OBJC_ARC_UNAVAILABLE;
- (instancetype)autorelease OBJC_ARC_UNAVAILABLE;
@property(readonly, copy) NSString *description;
@end

@protocol NSCopying
- (id)copyWithZone:(nullable NSZone *)zone;
@end

__attribute__((objc_root_class))
@interface NSObject<NSObject> {
    Class isa __attribute__((deprecated));
}
+ (void)initialize;
- (instancetype)init;
+ (instancetype)new;
+ (instancetype)alloc;
- (void)dealloc;
- (id)copy;
+ (Class)class;
@end

typedef struct {
    unsigned long state;
    id __unsafe_unretained _Nullable *_Nullable itemsPtr;
    unsigned long *_Nullable mutationsPtr;
    unsigned long extra[5];
} NSFastEnumerationState;

@protocol NSFastEnumeration
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state
                                  objects:(id __unsafe_unretained _Nullable[_Nonnull])buffer
                                    count:(NSUInteger)len;
@end

@interface NSValue : NSObject <NSCopying>
+ (NSValue *)valueWithPointer:(nullable const void *)pointer;
@property(nullable, readonly) void *pointerValue;
@end

@interface NSNumber : NSValue
- (NSNumber *)initWithUnsignedLongLong:(unsigned long long)value;
@property(readonly) unsigned long long unsignedLongLongValue;
+ (NSNumber *)numberWithDouble:(double)value;
+ (NSNumber *)numberWithUnsignedInt:(unsigned int)value;
+ (NSNumber *)numberWithUnsignedLongLong:(unsigned long long)value;
@end

typedef struct _NSRange {
    NSUInteger location, length;
} NSRange;

static inline NSRange NSMakeRange(NSUInteger loc, NSUInteger len) {
    const NSRange range = {loc, len};
    return range;
}

typedef unsigned short unichar;
typedef NSUInteger NSStringEncoding;
enum { NSUTF8StringEncoding = 4 };

@interface NSString : NSObject <NSCopying>
@property(readonly) NSUInteger length;
- (nullable instancetype)initWithBytes:(const void *)bytes length:(NSUInteger)len encoding:(NSStringEncoding)encoding;
- (nullable instancetype)initWithUTF8String:(const char *)nullTerminatedCString;
+ (nullable instancetype)stringWithUTF8String:(const char *)nullTerminatedCString;
+ (instancetype)stringWithFormat:(NSString *)format, ... NS_FORMAT_FUNCTION(1, 2);
- (BOOL)isEqualToString:(NSString *)aString;
- (void)getCharacters:(unichar *)buffer range:(NSRange)range;
- (NSString *)stringByAppendingPathComponent:(NSString *)str;
@property(nullable, readonly) const char *UTF8String NS_RETURNS_INNER_POINTER;
@property(readonly) const char *fileSystemRepresentation NS_RETURNS_INNER_POINTER;
@end

@interface NSMutableString : NSString
+ (instancetype)stringWithFormat:(NSString *)format, ... NS_FORMAT_FUNCTION(1, 2);
- (void)appendString:(NSString *)aString;
@end

@interface NSArray<__covariant ObjectType> : NSObject <NSCopying, NSFastEnumeration>
@property(readonly) NSUInteger count;
- (ObjectType)objectAtIndex:(NSUInteger)index;
+ (instancetype)array;
- (instancetype)initWithArray:(NSArray<ObjectType> *)array;
@end

@interface NSMutableArray<ObjectType> : NSArray <ObjectType>
- (void)addObject:(ObjectType)anObject;
- (instancetype)initWithCapacity:(NSUInteger)numItems;
+ (instancetype)arrayWithCapacity:(NSUInteger)numItems;
@end

@interface NSDictionary<__covariant KeyType, __covariant ObjectType> : NSObject <NSCopying>
- (nullable ObjectType)objectForKey:(KeyType)aKey;
+ (instancetype)dictionary;
+ (instancetype)dictionaryWithObject:(ObjectType)object forKey:(KeyType<NSCopying>)key;
@end

@interface NSMutableDictionary<KeyType, ObjectType> : NSDictionary <KeyType, ObjectType>
- (void)removeObjectForKey:(KeyType)aKey;
- (void)setObject:(ObjectType)anObject forKey:(KeyType<NSCopying>)aKey;
@end

typedef NSString *NSExceptionName;
@interface NSException : NSObject <NSCopying>
@property(readonly, copy) NSExceptionName name;
@property(nullable, readonly, copy) NSString *reason;
@property(readonly, copy) NSArray<NSNumber *> *callStackReturnAddresses;
@end
typedef void NSUncaughtExceptionHandler(NSException *exception);
FOUNDATION_EXPORT NSUncaughtExceptionHandler *_Nullable NSGetUncaughtExceptionHandler(void);
FOUNDATION_EXPORT void NSSetUncaughtExceptionHandler(NSUncaughtExceptionHandler *_Nullable);

@interface NSData : NSObject <NSCopying>
@property(readonly) NSUInteger length;
- (BOOL)isEqualToData:(NSData *)other;
- (instancetype)initWithBytes:(nullable const void *)bytes length:(NSUInteger)length;
@end

@interface NSMutableData : NSData
@property(readonly) void *mutableBytes NS_RETURNS_INNER_POINTER;
+ (nullable instancetype)dataWithLength:(NSUInteger)length;
@end

typedef NSString *NSErrorDomain;
typedef NSString *NSErrorUserInfoKey;
FOUNDATION_EXPORT NSErrorUserInfoKey const NSLocalizedDescriptionKey;

@interface NSError : NSObject <NSCopying>
+ (instancetype)errorWithDomain:(NSErrorDomain)domain
                           code:(NSInteger)code
                       userInfo:(nullable NSDictionary<NSErrorUserInfoKey, id> *)dict;
@property(readonly, copy) NSString *localizedDescription;
@end

@protocol NSLocking
- (void)lock;
- (void)unlock;
@end

@interface NSLock : NSObject <NSLocking>
@end

@interface NSConditionLock : NSObject <NSLocking>
- (instancetype)initWithCondition:(NSInteger)condition;
- (void)lockWhenCondition:(NSInteger)condition;
- (void)unlockWithCondition:(NSInteger)condition;
@end

@interface NSThread : NSObject
@property(class, readonly, strong) NSThread *currentThread;
+ (void)detachNewThreadSelector:(SEL)selector toTarget:(id)target withObject:(nullable id)argument;
@property(readonly, retain) NSMutableDictionary *threadDictionary;
@property(nullable, copy) NSString *name API_AVAILABLE(macos(10.5), ios(2.0), watchos(2.0), tvos(9.0));
@property(readonly) BOOL isMainThread API_AVAILABLE(macos(10.5), ios(2.0), watchos(2.0), tvos(9.0));
@property(class, readonly) BOOL isMainThread API_AVAILABLE(macos(10.5), ios(2.0), watchos(2.0), tvos(9.0));
@property(class, readonly, strong) NSThread *mainThread API_AVAILABLE(macos(10.5), ios(2.0), watchos(2.0), tvos(9.0));
@property(readonly, getter=isExecuting) BOOL executing API_AVAILABLE(macos(10.5), ios(2.0), watchos(2.0), tvos(9.0));
@property(readonly, getter=isFinished) BOOL finished API_AVAILABLE(macos(10.5), ios(2.0), watchos(2.0), tvos(9.0));
@end

FOUNDATION_EXPORT void NSLog(NSString *format, ...) NS_FORMAT_FUNCTION(1, 2);
FOUNDATION_EXPORT NSString *NSTemporaryDirectory(void);

NS_AUTOMATED_REFCOUNT_UNAVAILABLE
@interface NSAutoreleasePool : NSObject
- (void)drain;
@end

NS_ASSUME_NONNULL_END

#endif
