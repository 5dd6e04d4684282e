/* SPDX-License-Identifier: MIT */
/* What names stacks and tells them apart: one symbolizer, one list of images with a filter of the app's own, one table of
 * known stacks, for the whole process, kept until they are dropped by a call. Any thread, not async-signal-safe. */
#ifndef USPI_OBJC_NAMES_H
#define USPI_OBJC_NAMES_H

#import <unspool-objc/USPDefines.h>
#include <unspool/unspool.h>

/* Images and the filter made of them, as of one moment. */
@interface USPIImages : NSObject {
    uint64_t _generation;
    struct usp_images *_images;
    struct usp_filter *_app;
}
/* Of this process now; made anew only when something was loaded or unloaded. nil: they cannot be listed,
 * or memory lacks. */
+ (USPIImages *)current;
/* The app's folders, as of +[USPThread setAppFolders:]. */
+ (void)setAppFolders:(NSArray *)folders;
+ (void)forget;
/* Both live as long as the object. */
- (const struct usp_images *)images USP_INNER_POINTER;
- (const struct usp_filter *)app USP_INNER_POINTER;
@end

@interface USPINames : NSObject {
    struct usp_symbolizer *_symbolizer;
    struct usp_stack_table *_table;
    NSLock *_lock;
    NSMutableDictionary *_known; /* a stack's number in the table → USPIKnownStack; under the lock */
}
/* nil for lack of memory. */
+ (USPINames *)shared;
/* Threads that are looking up keep what they have. */
+ (void)forget;
/* Lives as long as the object. */
- (struct usp_symbolizer *)symbolizer USP_INNER_POINTER;
/* The stack's lines, the same object for equal stacks. *timesSeen becomes how often it was seen, 0: it is not known. */
- (NSArray *)linesOf:(const struct usp_stack *)stack named:(BOOL)named timesSeen:(uint64_t *)timesSeen;
@end

/* The stack's text in a style (enum usp_format_style), with source lines; lines of callStackSymbols, without their line ends.
 * nil for lack of memory.
 *   named  whether the shared symbolizer is asked
 *   info   may be NULL */
NSString *uspi_objc_text(const struct usp_stack *stack, const struct usp_thread_info *info, uint32_t style, BOOL named);
NSArray *uspi_objc_lines(const struct usp_stack *stack, BOOL named);

/* A hang's report; nil for lack of memory. */
NSString *uspi_objc_hang_text(const struct usp_hang *hang, const struct usp_hang_write_options *options);

/* A name of unknown bytes; nil for NULL. */
NSString *uspi_objc_string(const char *name);

/* An error with the library's status as its code. sentence NULL: the library's own for the status. */
NSError *uspi_objc_error(int status, const char *sentence);

#endif
