/* SPDX-License-Identifier: MIT */
/* Implements USPFrame. See USPFrame.h. */
#import "lib/objc/arc.h"
#import "lib/objc/frame.h"
#import "lib/objc/names.h"
#import "lib/objc/source.h"

@implementation USPFrame

/* Takes the source frames: the last one is the function itself, those before it are inlined into it. */
- (void)takeSources:(const struct usp_lines *)lines {
    NSMutableArray *inlined = [NSMutableArray array];
    for (uint32_t i = 0; i + 1 < lines->count; i++) {
        USPInlinedCall *call = [[USPInlinedCall alloc] initWithSource:&lines->frames[i]];
        if (call != nil) [inlined addObject:call];
        USPI_RELEASE(call);
    }
    _inlined = [inlined copy];
    if (lines->count > 0) _location = [[USPSourceLocation alloc] initWithSource:&lines->frames[lines->count - 1]];
}

- (id)initWithFrame:(const struct usp_frame *)frame
              index:(NSUInteger)index
           callSite:(usp_addr)callSite
              lines:(const struct usp_lines *)lines {
    const struct usp_symbol *symbol = &lines->symbol;
    self = [super init];
    if (self == nil) return nil;
    _index = index;
    _address = frame->pc;
    _callSite = callSite;
    _kind = frame->kind;
    _method = frame->method;
    _flags = frame->flags;
    _imagePath = USPI_RETAIN(uspi_objc_string(symbol->image_path));
    _imageAddress = symbol->image_load;
    if (symbol->build_id_size > 0) {
        _imageUUID = [[NSData alloc] initWithBytes:symbol->build_id length:symbol->build_id_size];
    }
    _symbolName = USPI_RETAIN(uspi_objc_string(symbol->name));
    _symbolAddress = symbol->start;
    [self takeSources:lines];
    return self;
}

- (void)dealloc {
    USPI_RELEASE(_imagePath);
    USPI_RELEASE(_imageUUID);
    USPI_RELEASE(_symbolName);
    USPI_RELEASE(_location);
    USPI_RELEASE(_inlined);
    USPI_SUPER_DEALLOC();
}

- (NSUInteger)index {
    return _index;
}

- (uint64_t)address {
    return _address;
}

- (uint64_t)callSite {
    return _callSite;
}

- (uint32_t)kind {
    return _kind;
}

- (uint32_t)method {
    return _method;
}

- (uint32_t)flags {
    return _flags;
}

- (NSString *)imagePath {
    return _imagePath;
}

- (uint64_t)imageAddress {
    return _imageAddress;
}

- (NSData *)imageUUID {
    return _imageUUID;
}

- (NSString *)symbolName {
    return _symbolName;
}

- (uint64_t)symbolAddress {
    return _symbolAddress;
}

- (USPSourceLocation *)location {
    return _location;
}

- (NSArray *)inlined {
    return _inlined;
}

@end
