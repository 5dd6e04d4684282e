/* SPDX-License-Identifier: MIT */
/* Filters that decide by image which frames of a stack are shown. Questions about an image's path are decided when the
 * filter is made; the check of a frame is a binary search. */
#ifndef UNSPOOL_FILTER_H
#define UNSPOOL_FILTER_H

#include <unspool/base.h>
#include <unspool/images.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Opaque, immutable once made. Any number of threads may use one. */
struct usp_filter;

enum usp_filter_flags {
    /* Keeps only the app's own images: the program, and images below its bundle. The bundle is the outermost folder of
     * the program's path that ends with .app, .appex, .xctest, .framework or .bundle; without a bundle, it is the
     * program's folder. A /private before a path is ignored. System images never belong to the app, wherever the
     * program lies. */
    USP_FILTER_APP = 1 << 0,
    /* Removes the system's images: those below /System, /usr/lib, /usr/libexec, /lib, /lib32, /lib64, /libx32,
     * /usr/lib32, /usr/lib64, /usr/libx32, /Library/Apple, /Developer or a simulator's runtime (…/RuntimeRoot/…), the
     * loader and the vdso. The program never counts as a system image. Code outside all images is kept. */
    USP_FILTER_NO_SYSTEM = 1 << 1
};

/* Filled by usp_filter_options_init, then by the caller. An image has to meet all conditions that are set. */
struct usp_filter_options {
    uint32_t size;  /* size of this struct in bytes; set by usp_filter_options_init */
    uint32_t flags; /* enum usp_filter_flags. Default 0 */
    /* Keeps only images that match one of these shell patterns with * and ?. A pattern with a slash is compared with
     * the image's whole path, other patterns with its last component. Default NULL: all images. */
    const char *const *patterns;
    size_t pattern_count;
    /* Keeps only images below one of these folders; /private/var and /var are the same. Default NULL: all images. */
    const char *const *folders;
    size_t folder_count;
    uint64_t reserved[4];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_filter_options_init(struct usp_filter_options *options);

/* Makes a filter for a list of images, which may be freed afterwards. options NULL: everything is kept. On success the
 * caller frees *filter. Returns USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe: it
 * allocates. */
USP_API int usp_filter_create(const struct usp_images *images, const struct usp_filter_options *options,
                              struct usp_filter **filter);

/* NULL is ignored. No other call may use it any more. Not async-signal-safe: it frees memory. */
USP_API void usp_filter_free(struct usp_filter *filter);

/* Returns whether the filter keeps code at an address: pass usp_frame_call_site(). Code outside all images is kept
 * unless USP_FILTER_APP, patterns or folders are set. filter NULL: true. Async-signal-safe, thread-safe. */
USP_API bool usp_filter_keeps(const struct usp_filter *filter, usp_addr address);

/* Returns whether the filter keeps a frame, by its call site. arch is the stack's. Otherwise like usp_filter_keeps.
 * Async-signal-safe, thread-safe. */
USP_API bool usp_filter_keeps_frame(const struct usp_filter *filter, uint32_t arch, const struct usp_frame *frame);

/* Removes the frames that the filter does not keep from a stack, in place. Updates count, physical, omitted_at,
 * extended and async_join; an index of a removed frame becomes USP_NO_INDEX. The other fields (stop reason, hash)
 * still describe the whole stack. Returns the number of removed frames. Async-signal-safe. */
USP_API uint32_t usp_filter_stack(const struct usp_filter *filter, struct usp_stack *stack);

USP_END_DECLS

#endif
