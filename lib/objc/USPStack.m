/* SPDX-License-Identifier: MIT */
/* Implements USPStack. See USPStack.h. */
#import "lib/objc/arc.h"
#import "lib/objc/frame.h"
#import "lib/objc/names.h"
#import "lib/objc/stack.h"

#include <stdlib.h>
#include <string.h>

@implementation USPStack

- (id)initWithCaptured:(const struct uspi_objc_captured *)captured name:(NSString *)name error:(NSError *)error {
    struct uspi_objc_captured *own = malloc(sizeof *own);
    self = [super init];
    if (self == nil || own == NULL) {
        free(own);
        free(captured->stack.frames);
        USPI_RELEASE(self);
        return nil;
    }
    *own = *captured;
    _captured = own;
    _threadName = [name length] > 0 ? [name copy] : nil;
    _error = USPI_RETAIN(error);
    return self;
}

- (void)dealloc {
    struct uspi_objc_captured *own = _captured;
    if (own != NULL) free(own->stack.frames);
    free(own);
    USPI_RELEASE(_threadName);
    USPI_RELEASE(_error);
    USPI_SUPER_DEALLOC();
}

- (const struct uspi_objc_captured *)captured {
    return _captured;
}

- (const struct usp_stack *)stack {
    return &[self captured]->stack;
}

- (uint64_t)threadID {
    return [self captured]->info.thread.id;
}

- (NSString *)threadName {
    return _threadName;
}

- (BOOL)isMainThread {
    return ([self captured]->info.flags & USP_THREAD_MAIN) != 0;
}

- (NSError *)error {
    return _error;
}

- (NSString *)stopReason {
    return [NSString stringWithUTF8String:usp_stop_reason_string([self stack]->stop)];
}

- (uint32_t)stop {
    return [self stack]->stop;
}

- (BOOL)isTruncated {
    return [self captured]->is_truncated;
}

- (NSUInteger)filteredCount {
    return [self captured]->filtered;
}

- (NSTimeInterval)stoppedTime {
    return (NSTimeInterval)[self stack]->stopped_ns / 1e9;
}

/* ---- frames ---- */

- (NSArray *)returnAddresses {
    const struct usp_stack *stack = [self stack];
    NSMutableArray *addresses = [NSMutableArray arrayWithCapacity:stack->count];
    for (uint32_t i = 0; i < stack->count; i++) {
        NSNumber *address = [[NSNumber alloc] initWithUnsignedLongLong:stack->frames[i].pc];
        [addresses addObject:address];
        USPI_RELEASE(address);
    }
    return addresses;
}

/* Sets a symbol's image fields from a list of images, without a name. */
static void find_image(const struct usp_images *images, usp_addr address, struct usp_symbol *symbol) {
    const struct usp_image *image = usp_images_find(images, address);
    memset(symbol, 0, sizeof *symbol);
    if (image == NULL) return;
    symbol->image_path = image->path;
    symbol->image_load = image->load_address;
    symbol->build_id_size = image->build_id_size;
    memcpy(symbol->build_id, image->build_id, sizeof symbol->build_id);
}

/* Room for the source frames of one frame. */
struct source_capacity {
    struct usp_source_frame *frames; /* malloc'ed */
    uint32_t capacity;
};

/* Finds all source frames of a frame: the room grows until they fit. If memory is exhausted there are none, but the
 * symbol stays. */
static void find_lines(struct usp_symbolizer *symbolizer, uint32_t arch, const struct usp_frame *frame,
                       struct source_capacity *capacity, struct usp_lines *lines) {
    for (;;) {
        usp_lines_init(lines, capacity->frames, capacity->capacity);
        lines->flags = USP_LINES_FILL;
        if (usp_symbolize_frame_lines(symbolizer, arch, frame, lines) != USP_OK) lines->count = 0;
        if (lines->count <= capacity->capacity) return;
        struct usp_source_frame *grown = realloc(capacity->frames, lines->count * sizeof *grown);
        if (grown == NULL) break;
        *capacity = (struct source_capacity){grown, lines->count};
    }
    lines->count = 0;
}

- (NSArray *)frames:(BOOL)named {
    const struct usp_stack *stack = [self stack];
    struct source_capacity capacity = {NULL, 0};
    USPINames *names = named ? [USPINames shared] : nil;
    USPIImages *images = names == nil ? [USPIImages current] : nil;
    struct usp_symbolizer *symbolizer = [names symbolizer];
    NSMutableArray *frames = [NSMutableArray arrayWithCapacity:stack->count];
    for (uint32_t i = 0; i < stack->count; i++) {
        struct usp_lines lines;
        usp_addr site = usp_frame_call_site(stack->arch, &stack->frames[i]);
        if (names != nil) {
            find_lines(symbolizer, stack->arch, &stack->frames[i], &capacity, &lines);
        } else {
            usp_lines_init(&lines, NULL, 0);
            find_image([images images], site, &lines.symbol);
        }
        USPFrame *frame = [[USPFrame alloc] initWithFrame:&stack->frames[i] index:i callSite:site lines:&lines];
        if (frame != nil) [frames addObject:frame];
        USPI_RELEASE(frame);
    }
    free(capacity.frames);
    return frames;
}

- (NSArray *)frames {
    return [self frames:YES];
}

- (NSArray *)framesWithoutSymbols {
    return [self frames:NO];
}

/* ---- text ---- */

- (NSArray *)lines:(BOOL)named {
    NSArray *lines = uspi_objc_lines([self stack], named);
    return lines != nil ? lines : [NSArray array];
}

- (NSArray *)callStackSymbols {
    return [self lines:YES];
}

- (NSArray *)linesWithoutSymbols {
    return [self lines:NO];
}

- (NSString *)text:(BOOL)named {
    const struct uspi_objc_captured *captured = [self captured];
    if (_error != nil) {
        return [NSString stringWithFormat:@"Backtrace of Thread %llu:\n    no stack: %@\n\n",
                                          (unsigned long long)captured->info.thread.id, [_error localizedDescription]];
    }
    NSString *text = uspi_objc_text(&captured->stack, &captured->info, USP_FORMAT_BS_BACKTRACE, named);
    return text != nil ? text : @"";
}

- (NSString *)backtrace {
    return [self text:YES];
}

- (NSString *)backtraceWithoutSymbols {
    return [self text:NO];
}

@end
