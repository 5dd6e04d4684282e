/* SPDX-License-Identifier: MIT */
/* Symbolizes stacks and recognizes known ones: one symbolizer, one list of images with the app's filter, and one table
 * of known stacks for the whole process. They are kept until a call drops them. Thread-safe, not async-signal-safe. */
#ifndef USPI_OBJC_NAMES_H
#define USPI_OBJC_NAMES_H

#import <unspool-objc/USPDefines.h>
#include <unspool/unspool.h>

/* The images at one moment, and the filter made of them. */
@interface USPIImages : NSObject {
    uint64_t _generation;
    struct usp_images *_images;
    struct usp_filter *_app;
}
/* The current images of this process; listed again only after an image was loaded or unloaded. nil: they cannot be
 * listed, or memory is exhausted. */
+ (USPIImages *)current;
/* The app's folders, as of +[USPThread setAppFolders:]. */
+ (void)setAppFolders:(NSArray *)folders;
+ (void)forget;
/* Both results live as long as the object. */
- (const struct usp_images *)images USP_INNER_POINTER;
- (const struct usp_filter *)app USP_INNER_POINTER;
@end

@interface USPINames : NSObject {
    struct usp_symbolizer *_symbolizer;
    struct usp_stack_table *_table;
    NSLock *_lock;
    NSMutableDictionary *_known; /* a stack's number in the table → USPIKnownStack; guarded by the lock */
}
/* nil: memory is exhausted. */
+ (USPINames *)shared;
/* Threads that are using the shared object keep it. */
+ (void)forget;
/* Lives as long as the object. */
- (struct usp_symbolizer *)symbolizer USP_INNER_POINTER;
/* Returns the stack's lines; equal stacks get the same object. *timesSeen: how often the stack was seen, 0: it is not
 * known. */
- (NSArray *)linesOf:(const struct usp_stack *)stack named:(BOOL)named timesSeen:(uint64_t *)timesSeen;
@end

/* uspi_objc_text: the stack's text in a style (enum usp_format_style), with source lines. uspi_objc_lines: the lines of
 * callStackSymbols, without their line ends. Both return nil if memory is exhausted.
 *   named  whether to use the shared symbolizer
 *   info   may be NULL */
NSString *uspi_objc_text(const struct usp_stack *stack, const struct usp_thread_info *info, uint32_t style, BOOL named);
NSArray *uspi_objc_lines(const struct usp_stack *stack, BOOL named);

/* Returns a hang's report; nil: memory is exhausted. */
NSString *uspi_objc_hang_text(const struct usp_hang *hang, const struct usp_hang_write_options *options);

/* Returns a snapshot's text in a style (enum usp_format_style), with names and source lines; nil: memory is
 * exhausted. */
NSString *uspi_objc_snapshot_text(const struct usp_snapshot *snapshot, uint32_t style);

/* Returns a string for a name in any encoding; bytes that are not UTF-8 are escaped. nil for NULL. */
NSString *uspi_objc_string(const char *name);

/* Returns an error with the library's status as its code. sentence NULL: the library's sentence for the status. */
NSError *uspi_objc_error(int status, const char *sentence);

#endif
