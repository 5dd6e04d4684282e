/* SPDX-License-Identifier: MIT */
/* Stacks and lists of images in the compact binary formats of Swift's Runtime module (Swift 6.2 and later), which
 * encodes its Backtrace and ImageMap so. A backtrace takes about three bytes for each frame.
 *
 * Swift's JSON contains them as base64: {"architecture": …, "backtrace": …, "imageMap": …}. The readers of
 * usp_reader_create expand such objects themselves; these functions work on the bytes. The size of addresses follows
 * from the processor: 32 bits for armv7, arm64_32 and i386, otherwise 64. */
#ifndef UNSPOOL_COMPACT_H
#define UNSPOOL_COMPACT_H

#include <unspool/base.h>
#include <unspool/images.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Writes a stack as a compact backtrace.
 *   bytes, capacity  the caller's buffer; may be NULL, 0 to learn the size
 *   size             receives the size of the whole backtrace in bytes, even when the buffer is too small
 * An async chain follows the frame that it continues from, as in Swift's own backtraces. That frame's callers on the
 * operating system's stack are not written. The format has no place for a frame's method, CFA and Thumb bit, nor for
 * the stop reason: it records only whether the backtrace is complete, incomplete, or (USP_STOP_NONE) not known to be
 * either. Returns USP_OK, USP_ERROR_FULL, USP_ERROR_ARGUMENT. Async-signal-safe, thread-safe. */
USP_API int usp_compact_stack_write(const struct usp_stack *stack, uint8_t *bytes, size_t capacity, size_t *size);

/* Reads a compact backtrace.
 *   arch    enum usp_arch of the stack; the bytes do not contain it
 *   stack   made by usp_stack_init; its frames are filled
 *   needed  receives the number of frames; SIZE_MAX: that many or more. Runs of equal frames take few bytes, so this
 *           number may be huge for any n: limit what you allocate
 * Program counters after the first frame are USP_FRAME_KIND_SIGNAL. Resume points at the backtrace's end are the async
 * chain, which continues from the frame before them, unless frames were left out there. `hash` is 0. `stop` (with an
 * async chain: `async_stop`) is
 *   USP_STOP_ROOT        the backtrace is complete
 *   USP_STOP_CAPACITY    more frames were left out, their number is not recorded
 *   USP_STOP_NOT_COPIED  more frames were left out, their number is recorded
 *   USP_STOP_NONE        the backtrace does not say, as those of Swift 6.3
 * Returns USP_OK; USP_ERROR_FULL when stack->capacity is less than *needed (the stack is then empty);
 * USP_ERROR_TRUNCATED, USP_ERROR_FORMAT; USP_ERROR_UNSUPPORTED for another version of the format, and when frames are
 * left out in more than one place; USP_ERROR_ARGUMENT. stack->status has the same value. Async-signal-safe,
 * thread-safe. */
USP_API int usp_compact_stack_read(const uint8_t *bytes, size_t n, uint32_t arch, struct usp_stack *stack,
                                   size_t *needed);

/* Writes a list of images as a compact image map: address, end of the code, build id or UUID, and path of each image.
 *   arch      enum usp_arch: decides the size of addresses
 *   platform  the system's name for people, such as Swift's "macOS 15.0" or "Linux (…)", at most 255 bytes; may be NULL
 * bytes, capacity, size and the result as for usp_compact_stack_write. Needs about 5 KB of stack. Async-signal-safe,
 * thread-safe. */
USP_API int usp_compact_images_write(const struct usp_images *images, uint32_t arch, const char *platform,
                                     uint8_t *bytes, size_t capacity, size_t *size);

/* Reads a compact image map.
 *   arch           enum usp_arch, for usp_image.arch
 *   platform       receives the system's name, NUL-terminated, cut at platform_size bytes; may be NULL with 0
 * An image's end is the end of its code. The map does not contain the address that an image was linked for, so its
 * slide is set to its load address. That is right for libraries; for a file, usp_images_open gives the linked
 * addresses. On success the caller frees *images. A symbolizer (usp_symbolizer_create) accepts the list. Returns
 * USP_OK; USP_ERROR_TRUNCATED; USP_ERROR_FORMAT, also when images overlap and for paths longer than 4096 bytes;
 * USP_ERROR_UNSUPPORTED for another version of the format; USP_ERROR_NO_MEMORY, USP_ERROR_ARGUMENT. Thread-safe, not
 * async-signal-safe: it allocates. */
USP_API int usp_compact_images_read(const uint8_t *bytes, size_t n, uint32_t arch, struct usp_images **images,
                                    char *platform, size_t platform_size);

USP_END_DECLS

#endif
