/* SPDX-License-Identifier: MIT */
/* Implements USPSourceLocation and USPInlinedCall. See USPSource.h. */
#import "lib/objc/arc.h"
#import "lib/objc/names.h"
#import "lib/objc/source.h"

@implementation USPSourceLocation

- (id)initWithSource:(const struct usp_source_frame *)source {
    self = [super init];
    if (self == nil) return nil;
    _file = USPI_RETAIN(uspi_objc_string(source->file));
    if (_file == nil) {
        USPI_RELEASE(self);
        return nil;
    }
    _directory = USPI_RETAIN(uspi_objc_string(source->directory));
    _line = source->line;
    _column = source->column;
    return self;
}

- (void)dealloc {
    USPI_RELEASE(_directory);
    USPI_RELEASE(_file);
    USPI_SUPER_DEALLOC();
}

- (NSString *)directory {
    return _directory;
}

- (NSString *)file {
    return _file;
}

- (NSUInteger)line {
    return _line;
}

- (NSUInteger)column {
    return _column;
}

- (NSString *)description {
    if (_line == 0) return _file;
    return [NSString stringWithFormat:@"%@:%lu", _file, (unsigned long)_line];
}

@end

@implementation USPInlinedCall

- (id)initWithSource:(const struct usp_source_frame *)source {
    self = [super init];
    if (self == nil) return nil;
    _function = USPI_RETAIN(uspi_objc_string(source->function));
    _location = [[USPSourceLocation alloc] initWithSource:source];
    return self;
}

- (void)dealloc {
    USPI_RELEASE(_function);
    USPI_RELEASE(_location);
    USPI_SUPER_DEALLOC();
}

- (NSString *)function {
    return _function;
}

- (USPSourceLocation *)location {
    return _location;
}

@end
