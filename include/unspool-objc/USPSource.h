/* SPDX-License-Identifier: MIT */
/* Source locations and inlined calls, which USPFrame has. */
#ifndef UNSPOOL_OBJC_USPSOURCE_H
#define UNSPOOL_OBJC_USPSOURCE_H

#import <unspool-objc/USPDefines.h>

NS_ASSUME_NONNULL_BEGIN

/* A source location. Immutable; any thread may use it. Bytes of paths that are not UTF-8 appear as \xNN. */
USP_CLASS
@interface USPSourceLocation : NSObject {
  @private
    NSString *_directory, *_file;
    NSUInteger _line, _column;
}

/* The file's folder, as the compiler recorded it; nil: not known. */
@property(nonatomic, readonly, copy) NSString *USP_NULLABLE directory;
/* The last component of the file's path. */
@property(nonatomic, readonly, copy) NSString *file;
/* From 1; 0: not known, or compiler-generated code. */
@property(nonatomic, readonly) NSUInteger line;
/* From 1, in bytes; 0: not known. */
@property(nonatomic, readonly) NSUInteger column;

/* Returns a text such as "Cart.m:31", or only the file when the line is not known. */
- (NSString *)description;

@end

/* A function that the compiler inlined into another one. Immutable; any thread may use it. */
USP_CLASS
@interface USPInlinedCall : NSObject {
  @private
    NSString *_function;
    USPSourceLocation *_location;
}

/* The function's name as in its debug information, not demangled; nil: not known. Bytes that are not UTF-8 appear as
 * \xNN. */
@property(nonatomic, readonly, copy) NSString *USP_NULLABLE function;
/* The location of execution in this function; nil: not known. */
@property(nonatomic, readonly, retain) USPSourceLocation *USP_NULLABLE location;

@end

NS_ASSUME_NONNULL_END

#endif
