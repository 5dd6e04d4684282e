/* SPDX-License-Identifier: MIT */
/* Implements USPIImages: the list of images by which stacks are filtered. See names.h. */
#import "lib/objc/arc.h"
#import "lib/objc/names.h"

#include <stdlib.h>

/* Guarded by the lock of the class. */
static USPIImages *current;
static NSArray *app_folders;

static int make_filter(const struct usp_images *images, NSArray *folders, struct usp_filter **filter) {
    struct usp_filter_options options;
    usp_filter_options_init(&options);
    if (folders == nil) {
        options.flags = USP_FILTER_APP;
        return usp_filter_create(images, &options, filter);
    }
    NSUInteger count = [folders count];
    const char **paths = calloc(count + 1, sizeof *paths);
    if (paths == NULL) return USP_ERROR_NO_MEMORY;
    for (NSUInteger i = 0; i < count; i++) paths[i] = [[folders objectAtIndex:i] fileSystemRepresentation];
    /* An empty array of folders selects no image, but an empty filter would select every image. No image has this
     * path. */
    static const char *const nothing[] = {"/"};
    options.patterns = nothing;
    options.pattern_count = count == 0;
    options.folders = paths;
    options.folder_count = count;
    int status = usp_filter_create(images, &options, filter);
    free(paths);
    return status;
}

@implementation USPIImages

- (id)initWithGeneration:(uint64_t)generation {
    self = [super init];
    if (self == nil) return nil;
    _generation = generation;
    if (usp_images_create_self(&_images) == USP_OK && make_filter(_images, app_folders, &_app) == USP_OK) return self;
    USPI_RELEASE(self);
    return nil;
}

- (void)dealloc {
    usp_filter_free(_app);
    usp_images_free(_images);
    USPI_SUPER_DEALLOC();
}

- (BOOL)isOf:(uint64_t)generation {
    return _generation == generation;
}

+ (USPIImages *)current {
    USPIImages *answer;
    @synchronized([USPIImages class]) {
        uint64_t generation = usp_images_generation();
        if (![current isOf:generation]) {
            USPI_RELEASE(current);
            current = [[USPIImages alloc] initWithGeneration:generation];
        }
        answer = USPI_AUTORELEASE(USPI_RETAIN(current));
    }
    return answer;
}

+ (void)setAppFolders:(NSArray *)folders {
    @synchronized([USPIImages class]) {
        USPI_RELEASE(app_folders);
        app_folders = [folders copy];
    }
    [self forget];
}

+ (void)forget {
    @synchronized([USPIImages class]) {
        USPI_RELEASE(current);
        current = nil;
    }
}

- (const struct usp_images *)images {
    return _images;
}

- (const struct usp_filter *)app {
    return _app;
}

@end
