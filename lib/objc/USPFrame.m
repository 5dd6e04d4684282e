/* SPDX-License-Identifier: MIT */
/* See USPFrame.h. */
#import "lib/objc/arc.h"
#import "lib/objc/frame.h"
#import "lib/objc/names.h"

@implementation USPFrame

- (id)initWithFrame:(const struct usp_frame *)frame
              index:(NSUInteger)index
           callSite:(usp_addr)callSite
             symbol:(const struct usp_symbol *)symbol {
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
    return self;
}

- (void)dealloc {
    USPI_RELEASE(_imagePath);
    USPI_RELEASE(_imageUUID);
    USPI_RELEASE(_symbolName);
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

@end
