/* SPDX-License-Identifier: MIT */
/* Stacks and lists of images in the compact binary formats of Swift's Runtime module (Swift 6.2 and later): what its Backtrace and
 * ImageMap are encoded as. A backtrace takes about three bytes a frame.
 *
 * Swift's JSON has them as base64: {"architecture": …, "backtrace": …, "imageMap": …}. usp_reader_create's readers expand such
 * objects by themselves; these functions are for the bytes.
 * In all of them a size of addresses follows from the processor: 32 bits for armv7, arm64_32 and i386, otherwise 64. */
#ifndef UNSPOOL_COMPACT_H
#define UNSPOOL_COMPACT_H

#include <unspool/base.h>
#include <unspool/images.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Writes a stack as a compact backtrace.
 *   bytes, room  may be NULL, 0 to learn the size
 *   size         receives the bytes of the whole backtrace, also when there is too little room
 * An async chain follows the frame that it continues from, as in Swift's own backtraces: what stands below that frame on the
 * operating system's stack is not written. How a frame was found, its CFA and its Thumb bit have no place in the format, nor
 * why the stack ended: it is complete, or it is not, or (USP_STOP_NONE) that is not known.
 * Returns USP_OK, USP_ERROR_FULL, USP_ERROR_ARGUMENT. Async-signal-safe, thread-safe. */
USP_API int usp_compact_stack_write(const struct usp_stack *stack, uint8_t *bytes, size_t room, size_t *size);

/* Reads a compact backtrace.
 *   arch    enum usp_arch of the stack; the bytes do not tell
 *   stack   made by usp_stack_init; its frames are filled
 *   needed  receives how many frames there are; SIZE_MAX: that many and more. Runs of equal frames take few bytes, so this
 *           number may be huge whatever n is: limit what you allocate
 * Program counters behind the first frame are USP_FRAME_KIND_SIGNAL. Resume points that the backtrace ends with are the async
 * chain, which continues from the frame in front of them, if none was left out there. `stop` (with an async chain:
 * `async_stop`) is USP_STOP_ROOT for a complete backtrace; USP_STOP_CAPACITY when it says that more frames were left out, and
 * USP_STOP_NOT_COPIED when their number stands in front of that; USP_STOP_NONE when it does not say: Swift 6.3 does not. `hash`
 * is 0.
 * Returns USP_OK; USP_ERROR_FULL when stack->capacity is less than *needed: the stack is empty then; USP_ERROR_TRUNCATED,
 * USP_ERROR_FORMAT; USP_ERROR_UNSUPPORTED for another version of the format, and when frames are left out in more places than
 * one; USP_ERROR_ARGUMENT. stack->status is the same. Async-signal-safe, thread-safe. */
USP_API int usp_compact_stack_read(const uint8_t *bytes, size_t n, uint32_t arch, struct usp_stack *stack,
                                   size_t *needed);

/* Writes a list of images as a compact image map: address, end of the code, build id or UUID and path of each.
 *   arch      enum usp_arch: decides the size of addresses
 *   platform  a name of the system for people, such as Swift's "macOS 15.0" or "Linux (…)", at most 255 bytes; may be NULL
 * bytes, room, size and the result as for usp_compact_stack_write. Needs about 5 KB of stack.
 * Async-signal-safe, thread-safe. */
USP_API int usp_compact_images_write(const struct usp_images *images, uint32_t arch, const char *platform,
                                     uint8_t *bytes, size_t room, size_t *size);

/* Reads a compact image map.
 *   arch           enum usp_arch, for usp_image.arch
 *   platform       receives the system's name, NUL-terminated, cut at platform_size bytes; may be NULL with 0
 * Of an image the end is the end of its code. Where it was linked is not told: its slide is its load address, which is right for
 * libraries; usp_images_open tells for a file. On success *images is the caller's to free.
 * Returns USP_OK; USP_ERROR_TRUNCATED; USP_ERROR_FORMAT, also when images overlap and for paths longer than 4096 bytes;
 * USP_ERROR_UNSUPPORTED for another version of the format; USP_ERROR_NO_MEMORY, USP_ERROR_ARGUMENT. Thread-safe, not
 * async-signal-safe. */
USP_API int usp_compact_images_read(const uint8_t *bytes, size_t n, uint32_t arch, struct usp_images **images,
                                    char *platform, size_t platform_size);

USP_END_DECLS

#endif
