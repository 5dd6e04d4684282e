/* SPDX-License-Identifier: MIT */
/* Which frames of a stack are shown, by the images in which they lie.
 * What is asked of an image (its path) is asked once; a frame costs a binary search. */
#ifndef UNSPOOL_FILTER_H
#define UNSPOOL_FILTER_H

#include <unspool/base.h>
#include <unspool/images.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Opaque, immutable once made; any number of threads may use one. */
struct usp_filter;

enum usp_filter_flags {
    /* Only the app's own images: the program; and what lies below its bundle (the outermost folder of the program's path
     * that ends with .app, .appex, .xctest, .framework or .bundle), or, where there is no bundle, below the program's
     * folder; with /private before the path or without. System images are none of the app's, wherever the program lies. */
    USP_FILTER_APP = 1 << 0,
    /* Without the system's images: those below /System, /usr/lib, /usr/libexec, /lib, /lib32, /lib64, /usr/lib32,
     * /usr/lib64, /Library/Apple, /Developer, of a simulator's runtime (…/RuntimeRoot/…), the loader and the vdso. The
     * program is never one. Code outside all images is kept. */
    USP_FILTER_NO_SYSTEM = 1 << 1
};

/* Filled by usp_filter_options_init, then by the caller. What is set must all hold. */
struct usp_filter_options {
    uint32_t size;               /* of this struct in bytes; set by usp_filter_options_init */
    uint32_t flags;              /* enum usp_filter_flags. Default 0 */
    const char *const *patterns; /* only images that match one of them: shell patterns with * and ?, of an image's last
                                     path part, or of its whole path where the pattern has a slash. Default NULL: all */
    size_t pattern_count;
    const char *const
        *folders; /* only images below one of them; /private/var and /var are the same. Default NULL: all */
    size_t folder_count;
    uint64_t reserved[4];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_filter_options_init(struct usp_filter_options *options);

/* For a list of images, which may be freed afterwards; options NULL: everything is kept. On success *filter is the caller's
 * to free. Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe. */
USP_API int usp_filter_create(const struct usp_images *images, const struct usp_filter_options *options,
                              struct usp_filter **filter);

/* NULL is ignored. No other call may use it any more. Not async-signal-safe. */
USP_API void usp_filter_free(struct usp_filter *filter);

/* Whether code at an address is wanted: pass usp_frame_call_site(). Outside all images: yes unless USP_FILTER_APP,
 * patterns or folders are set. filter NULL: yes. Async-signal-safe, thread-safe. */
USP_API bool usp_filter_keeps(const struct usp_filter *filter, usp_addr address);

/* Whether a frame of a stack is wanted, by its call site. arch is the stack's. Otherwise as usp_filter_keeps.
 * Async-signal-safe, thread-safe. */
USP_API bool usp_filter_keeps_frame(const struct usp_filter *filter, uint32_t arch, const struct usp_frame *frame);

/* Takes the frames that are not wanted out of a stack, in place: count, physical, omitted_at, extended and async_join
 * follow; what else is said of the stack (why it ended, its hash) stays that of the whole. A frame that is pointed to and
 * goes leaves USP_NO_INDEX behind. Returns how many were taken out. Async-signal-safe. */
USP_API uint32_t usp_filter_stack(const struct usp_filter *filter, struct usp_stack *stack);

USP_END_DECLS

#endif
