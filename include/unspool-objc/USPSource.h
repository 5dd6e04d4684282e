/* SPDX-License-Identifier: MIT */
/* Places in source files, and inlined calls. USPFrame has them. */
#ifndef UNSPOOL_OBJC_USPSOURCE_H
#define UNSPOOL_OBJC_USPSOURCE_H

#import <unspool-objc/USPDefines.h>

NS_ASSUME_NONNULL_BEGIN

/* A place in a source file. Immutable; any thread may use it. Bytes of paths that are not UTF-8 stand as \xNN. */
USP_CLASS
@interface USPSourceLocation : NSObject {
  @private
    NSString *_directory, *_file;
    NSUInteger _line, _column;
}

/* The file's folder, as the compiler recorded it; nil: not known. */
@property(nonatomic, readonly, copy) NSString *USP_NULLABLE directory;
/* The last part of the file's path. */
@property(nonatomic, readonly, copy) NSString *file;
/* Counts from 1; 0: not known, or code that the compiler made. */
@property(nonatomic, readonly) NSUInteger line;
/* Counts from 1, in bytes; 0: not known. */
@property(nonatomic, readonly) NSUInteger column;

/* Such as "Cart.m:31"; the file alone where no line is known. */
- (NSString *)description;

@end

/* A function that the compiler inlined into another one. Immutable; any thread may use it. */
USP_CLASS
@interface USPInlinedCall : NSObject {
  @private
    NSString *_function;
    USPSourceLocation *_location;
}

/* The function's name as its debug information has it, not demangled; nil: not known. Bytes that are not UTF-8 stand as \xNN. */
@property(nonatomic, readonly, copy) NSString *USP_NULLABLE function;
/* Where execution is in this function; nil: not known. */
@property(nonatomic, readonly, retain) USPSourceLocation *USP_NULLABLE location;

@end

NS_ASSUME_NONNULL_END

#endif
