/* SPDX-License-Identifier: MIT */
/* A frame of a stack, as an object. <unspool/unwind.h> describes the enumerations. */
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

/* Its index in its stack; 0: the innermost frame. */
@property(nonatomic, readonly) NSUInteger index;
/* The frame's pc (usp_frame.pc), without signature and Thumb bit. */
@property(nonatomic, readonly) uint64_t address;
/* The call site, which is the address to look up by other means (usp_frame_call_site). */
@property(nonatomic, readonly) uint64_t callSite;
/* enum usp_frame_kind. */
@property(nonatomic, readonly) uint32_t kind;
/* enum usp_frame_method. */
@property(nonatomic, readonly) uint32_t method;
/* enum usp_frame_flags. */
@property(nonatomic, readonly) uint32_t flags;

/* The path of the image that contains the call site; nil: no image does. */
@property(nonatomic, readonly, copy) NSString *USP_NULLABLE imagePath;
/* The image's load address; 0: no image contains the call site. */
@property(nonatomic, readonly) uint64_t imageAddress;
/* The image's UUID or build id; nil: not known. */
@property(nonatomic, readonly, copy) NSData *USP_NULLABLE imageUUID;

/* The function's name as in the symbol table, not demangled. nil: no symbol holds the address, or the frame is without
 * names. Bytes that are not UTF-8 appear as \xNN. */
@property(nonatomic, readonly, copy) NSString *USP_NULLABLE symbolName;
/* The function's start; 0 when symbolName is nil. */
@property(nonatomic, readonly) uint64_t symbolAddress;

/* The call's source location in that function. Where the line table has line 0, it is the line of the preceding code
 * (USP_LINES_FILL). nil: there is no debug information, or the frame is without names. */
@property(nonatomic, readonly, retain) USPSourceLocation *USP_NULLABLE location;
/* The calls that were inlined there, innermost first. Empty: none is known, or the frame is without names. */
@property(nonatomic, readonly, copy) USP_ARRAY_OF(USPInlinedCall) * inlined;

@end

NS_ASSUME_NONNULL_END

#endif
