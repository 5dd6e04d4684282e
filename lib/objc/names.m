/* SPDX-License-Identifier: MIT */
/* Implements USPINames: the shared symbolizer and the table of known stacks. See names.h. */
#import "lib/objc/names.h"
#import "lib/objc/arc.h"

#include <stdlib.h>
#include <string.h>

/* Guarded by the lock of the class. */
static USPINames *shared;

/* The lines that were made of a stack, and the addresses in them. */
@interface USPIKnownStack : NSObject {
    NSData *_frames;
    NSArray *_named, *_unnamed;
}
- (id)initWithStack:(const struct usp_stack *)stack;
- (BOOL)isOf:(const struct usp_stack *)stack;
- (NSArray *)lines:(BOOL)named;
- (void)setLines:(NSArray *)lines named:(BOOL)named;
@end

@implementation USPIKnownStack

static NSData *data_of(const struct usp_stack *stack) {
    NSMutableData *data = [NSMutableData dataWithLength:stack->count * sizeof(usp_addr)];
    usp_addr *addresses = [data mutableBytes];
    for (uint32_t i = 0; i < stack->count; i++) addresses[i] = stack->frames[i].pc;
    return data;
}

- (id)initWithStack:(const struct usp_stack *)stack {
    self = [super init];
    if (self != nil) _frames = [data_of(stack) copy];
    return self;
}

- (void)dealloc {
    USPI_RELEASE(_frames);
    USPI_RELEASE(_named);
    USPI_RELEASE(_unnamed);
    USPI_SUPER_DEALLOC();
}

/* Equal stacks can have different addresses, if an image was loaded again elsewhere. */
- (BOOL)isOf:(const struct usp_stack *)stack {
    return [_frames isEqualToData:data_of(stack)];
}

- (NSArray *)lines:(BOOL)named {
    return named ? _named : _unnamed;
}

- (void)setLines:(NSArray *)lines named:(BOOL)named {
    NSArray *old = named ? _named : _unnamed;
    NSArray *kept = USPI_RETAIN(lines);
    if (named) {
        _named = kept;
    } else {
        _unnamed = kept;
    }
    USPI_RELEASE(old);
}

@end

@interface USPINames ()
- (void)evict:(uint64_t)number;
@end

/* Called with the table's lock held. No code uses the table while it holds the lock of the names. */
static void evicted(void *context, const struct usp_stack_record *record) {
    [USPI_OBJECT(USPINames, context) evict:record->number];
}

@implementation USPINames

- (id)init {
    struct usp_stack_table_options options;
    self = [super init];
    if (self == nil) return nil;
    usp_stack_table_options_init(&options);
    options.evicted = evicted;
    options.context = USPI_CONTEXT(self);
    _lock = [[NSLock alloc] init];
    _known = [[NSMutableDictionary alloc] init];
    if (usp_symbolizer_create(NULL, NULL, &_symbolizer) == USP_OK &&
        usp_stack_table_create(&options, &_table) == USP_OK) {
        return self;
    }
    USPI_RELEASE(self);
    return nil;
}

- (void)dealloc {
    usp_stack_table_free(_table);
    usp_symbolizer_free(_symbolizer);
    USPI_RELEASE(_lock);
    USPI_RELEASE(_known);
    USPI_SUPER_DEALLOC();
}

+ (USPINames *)shared {
    USPINames *answer;
    @synchronized([USPINames class]) {
        if (shared == nil) shared = [[USPINames alloc] init];
        answer = USPI_AUTORELEASE(USPI_RETAIN(shared));
    }
    return answer;
}

+ (void)forget {
    @synchronized([USPINames class]) {
        USPI_RELEASE(shared);
        shared = nil;
    }
}

- (struct usp_symbolizer *)symbolizer {
    return _symbolizer;
}

- (void)evict:(uint64_t)number {
    [_lock lock];
    [_known removeObjectForKey:[NSNumber numberWithUnsignedLongLong:number]];
    [_lock unlock];
}

- (NSArray *)keptLinesOf:(const struct usp_stack *)stack number:(uint64_t)number named:(BOOL)named {
    NSNumber *key = [NSNumber numberWithUnsignedLongLong:number];
    NSArray *lines = nil;
    [_lock lock];
    USPIKnownStack *known = [_known objectForKey:key];
    if ([known isOf:stack]) lines = USPI_AUTORELEASE(USPI_RETAIN([known lines:named]));
    [_lock unlock];
    if (lines != nil) return lines;
    /* Made without the lock, because threads that hold the table's lock wait for it. If two threads make the lines, the
     * second one takes the first one's. */
    NSArray *made = uspi_objc_lines(stack, named);
    [_lock lock];
    known = [_known objectForKey:key];
    if (![known isOf:stack]) {
        known = USPI_AUTORELEASE([[USPIKnownStack alloc] initWithStack:stack]);
        [_known setObject:known forKey:key];
    }
    if ([known lines:named] == nil) [known setLines:made named:named];
    lines = USPI_AUTORELEASE(USPI_RETAIN([known lines:named]));
    [_lock unlock];
    return lines;
}

/* Removes the lines of a stack that other stacks have evicted from the table since it was added: otherwise they would
 * stay for good. */
- (void)forgetUnlessKnown:(uint64_t)number {
    struct usp_stack_record record;
    if (usp_stack_table_get(_table, number, &record) == USP_OK) {
        usp_stack_table_release(_table, &record);
    } else {
        [self evict:number];
    }
}

- (NSArray *)linesOf:(const struct usp_stack *)stack named:(BOOL)named timesSeen:(uint64_t *)timesSeen {
    struct usp_stack_record record;
    uint64_t number;
    *timesSeen = 0;
    if (stack->count == 0 || usp_stack_table_add(_table, stack, usp_clock(), &number) != USP_OK ||
        usp_stack_table_get(_table, number, &record) != USP_OK) {
        return uspi_objc_lines(stack, named);
    }
    *timesSeen = record.count;
    usp_stack_table_release(_table, &record);
    NSArray *lines = [self keptLinesOf:stack number:number named:named];
    [self forgetUnlessKnown:number];
    return lines;
}

@end
