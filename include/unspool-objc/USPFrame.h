/* SPDX-License-Identifier: MIT */
/* A frame of a stack, as an object. What its numbers mean stands in <unspool/unwind.h>. */
#ifndef UNSPOOL_OBJC_USPFRAME_H
#define UNSPOOL_OBJC_USPFRAME_H

#import <unspool-objc/USPDefines.h>
#import <unspool-objc/USPSource.h>

NS_ASSUME_NONNULL_BEGIN

/* Immutable; any thread may use it. Made by USPStack. */
USP_CLASS
@interface USPFrame : NSObject {
  @private
    NSUInteger _index;
    uint64_t _address, _callSite, _imageAddress, _symbolAddress;
    uint32_t _kind, _method, _flags;
    NSString *_symbolName, *_imagePath;
    NSData *_imageUUID;
    USPSourceLocation *_location;
    NSArray *_inlined;
}

/* Its place in its stack, from 0: the innermost. */
@property(nonatomic, readonly) NSUInteger index;
/* Where the code goes on (usp_frame.pc), without signature and Thumb bit. */
@property(nonatomic, readonly) uint64_t address;
/* The address that lies in the call: the one to look up by other means (usp_frame_call_site). */
@property(nonatomic, readonly) uint64_t callSite;
/* enum usp_frame_kind, enum usp_frame_method, enum usp_frame_flags. */
@property(nonatomic, readonly) uint32_t kind;
@property(nonatomic, readonly) uint32_t method;
@property(nonatomic, readonly) uint32_t flags;

/* The image that holds it: path, load address, UUID or build-id. nil and 0: none does. */
@property(nonatomic, readonly, copy) NSString *USP_NULLABLE imagePath;
@property(nonatomic, readonly) uint64_t imageAddress;
@property(nonatomic, readonly, copy) NSData *USP_NULLABLE imageUUID;

/* The function, as its symbol table has it, not demangled, and where it begins. nil and 0: nothing names it, or names were
 * not asked for. Bytes that are not UTF-8 stand as \xNN. */
@property(nonatomic, readonly, copy) NSString *USP_NULLABLE symbolName;
@property(nonatomic, readonly) uint64_t symbolAddress;

/* Where the call is in the source of that function; where the line table has line 0, the line of the code before it
 * (USP_LINES_FILL). nil: there is no debug information of it, or names were not asked for. */
@property(nonatomic, readonly, retain) USPSourceLocation *USP_NULLABLE location;
/* Calls that were inlined there, innermost first. Empty: none is known, or names were not asked for. */
@property(nonatomic, readonly, copy) USP_ARRAY_OF(USPInlinedCall) * inlined;

@end

NS_ASSUME_NONNULL_END

#endif
