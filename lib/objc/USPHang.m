/* SPDX-License-Identifier: MIT */
/* Implements USPHang. See USPHang.h. */
#import "lib/objc/arc.h"
#import "lib/objc/hang.h"
#import "lib/objc/names.h"
#import "lib/objc/stack.h"

#include <stdlib.h>
#include <string.h>

/* A hang with copies of everything that it points to. */
struct kept_hang {
    struct usp_hang hang;
    struct usp_stack first;
    char *program;
};

static void free_kept(struct kept_hang *kept) {
    if (kept == NULL) return;
    usp_profile_free(kept->hang.profile);
    usp_profile_free(kept->hang.threads);
    free(kept->first.frames);
    free(kept->program);
    free(kept);
}

static bool copy_frames(const struct usp_stack *from, struct usp_stack *to) {
    *to = *from;
    to->frames = calloc((size_t)from->count + 1, sizeof *to->frames);
    if (to->frames == NULL) return false;
    if (from->count > 0) memcpy(to->frames, from->frames, from->count * sizeof *to->frames);
    to->capacity = from->count;
    return true;
}

static bool copy_profile(struct usp_profile *from, struct usp_profile **to) {
    *to = NULL;
    return from == NULL || usp_profile_copy(from, 0, UINT64_MAX, 0, to) == USP_OK;
}

static struct kept_hang *keep(const struct usp_hang *hang) {
    struct kept_hang *kept = calloc(1, sizeof *kept);
    if (kept == NULL) return NULL;
    kept->hang = *hang;
    kept->hang.threads = NULL;
    kept->hang.first = NULL;
    kept->program = strdup(hang->program != NULL ? hang->program : "");
    kept->hang.program = kept->program;
    bool has_all = copy_profile(hang->profile, &kept->hang.profile) && copy_profile(hang->threads, &kept->hang.threads);
    if (hang->first != NULL) {
        has_all = copy_frames(hang->first, &kept->first) && has_all;
        kept->hang.first = &kept->first;
    }
    if (has_all && kept->program != NULL) return kept;
    free_kept(kept);
    return NULL;
}

@implementation USPHang

- (id)initWithHang:(const struct usp_hang *)hang {
    self = [super init];
    if (self == nil) return nil;
    _kept = keep(hang);
    if (_kept != NULL) return self;
    USPI_RELEASE(self);
    return nil;
}

- (void)dealloc {
    free_kept(_kept);
    USPI_SUPER_DEALLOC();
}

- (const struct usp_hang *)hang {
    return &((const struct kept_hang *)_kept)->hang;
}

- (uint64_t)hangID {
    return [self hang]->id;
}

- (uint32_t)state {
    return [self hang]->state;
}

- (NSString *)stateDescription {
    return [NSString stringWithUTF8String:usp_hang_state_string([self hang]->state)];
}

- (BOOL)isSevere {
    return ([self hang]->flags & USP_HANG_SEVERE) != 0;
}

- (NSTimeInterval)duration {
    return (NSTimeInterval)[self hang]->duration / 1e9;
}

- (NSTimeInterval)takenOff {
    return (NSTimeInterval)[self hang]->taken_off / 1e9;
}

- (NSTimeInterval)firstSampleAfter {
    return (NSTimeInterval)[self hang]->first_after / 1e9;
}

- (NSTimeInterval)startTime {
    return (NSTimeInterval)[self hang]->wall_start / 1e9;
}

- (uint64_t)sampleCount {
    return [self hang]->samples;
}

/* ---- stacks ---- */

/* Returns a stack object of the hanging thread, with a copy of the frames. */
- (USPStack *)stackWith:(const struct usp_stack *)stack {
    struct uspi_objc_captured captured;
    memset(&captured, 0, sizeof captured);
    if (!copy_frames(stack, &captured.stack)) return nil;
    captured.info.thread.id = [self hang]->thread.id;
    captured.info.flags = USP_THREAD_MAIN;
    return USPI_AUTORELEASE([[USPStack alloc] initWithCaptured:&captured name:nil error:nil]);
}

- (USPStack *)firstStack {
    const struct usp_hang *hang = [self hang];
    return hang->state != USP_HANG_KILLED && hang->first != NULL ? [self stackWith:hang->first] : nil;
}

- (USPStack *)heaviestStack {
    const struct usp_hang *hang = [self hang];
    struct usp_frame frames[256];
    struct usp_stack stack;
    if (hang->state == USP_HANG_KILLED || hang->profile == NULL) return nil;
    usp_stack_init(&stack, frames, sizeof frames / sizeof *frames);
    int status = usp_profile_heaviest(hang->profile, 0, USP_PROFILE_WALL, &stack, NULL);
    if (status == USP_ERROR_NOT_FOUND) {
        status = usp_profile_heaviest(hang->profile, 0, USP_PROFILE_SAMPLES, &stack, NULL);
    }
    return status == USP_OK || status == USP_ERROR_FULL ? [self stackWith:&stack] : nil;
}

/* ---- text ---- */

- (NSString *)writtenAs:(uint32_t)style named:(BOOL)named {
    struct usp_hang_write_options options;
    struct usp_demangler *demangler = NULL;
    USPINames *names = named ? [USPINames shared] : nil;
    usp_hang_write_options_init(&options);
    options.style = style;
    options.symbolizer = [names symbolizer];
    if (named && usp_demangler_create(USP_DEMANGLE_SHORT, &demangler) == USP_OK) options.demangler = demangler;
    NSString *text = uspi_objc_hang_text([self hang], &options);
    usp_demangler_free(demangler);
    return text;
}

- (NSString *)text {
    return [self writtenAs:USP_HANG_TEXT named:YES];
}

- (NSString *)textWithoutSymbols {
    return [self writtenAs:USP_HANG_TEXT named:NO];
}

- (NSString *)JSON {
    return [self writtenAs:USP_HANG_JSON named:YES];
}

- (NSString *)description {
    return [NSString stringWithFormat:@"hang %llu: %.0f ms, %@", (unsigned long long)[self hangID],
                                      [self duration] * 1e3, [self stateDescription]];
}

@end
