/* SPDX-License-Identifier: MIT */
/* Frames, stacks and snapshots as text, in the styles that people and their tools know.
 * usp_format_frame looks nothing up: the caller passes what usp_symbolize found. The others ask a symbolizer. */
#ifndef UNSPOOL_FORMAT_H
#define UNSPOOL_FORMAT_H

#include <unspool/base.h>
#include <unspool/capture.h>
#include <unspool/demangle.h>
#include <unspool/filter.h>
#include <unspool/snapshot.h>
#include <unspool/symbolize.h>
#include <unspool/tasks.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

/* Styles. The man page usp_format_frame(3) shows each of them.
 * In all of them the name is that of the call, the address and the offset are those of the frame's own pc. */
enum usp_format_style {
    /* Of a frame, and of whatever has frames. */
    USP_FORMAT_CALL_STACK_SYMBOLS = 1, /* a line of +[NSThread callStackSymbols] and of backtrace_symbols(3) on Darwin:
                                          index, image, address, symbol + offset (Libc gen/backtrace.c) */
    USP_FORMAT_PLAIN = 2,              /* symbol + offset alone, or image + offset, or the address */
    USP_FORMAT_BACKTRACE_SYMBOLS = 3,  /* a line of backtrace_symbols(3) on Linux: path(symbol+0x1f) [0x…] */
    USP_FORMAT_BS_BACKTRACE = 4, /* a line of BSBacktraceLogger; of a stack "Backtrace of Thread …", of a snapshot
                                          "Call Backtrace of … threads:" */
    USP_FORMAT_CRASH_REPORT = 5, /* a line of an Apple crash report; of a snapshot its sections: threads, their
                                          registers, Binary Images with UUIDs */
    USP_FORMAT_PORTABLE = 6,     /* UUID or build-id + offset in the image: what a server needs to name it */
    /* Of stacks and snapshots. */
    USP_FORMAT_JSON = 7,  /* an object as doc/schema/stacks.schema.json describes it */
    USP_FORMAT_FOLDED = 8 /* outermost;…;innermost count, for flame graphs */
};

/* Writes one frame as text, without a newline, NUL-terminated.
 *   buffer, size  may be NULL, 0 to learn the length
 *   format        enum usp_format_style, one of the styles of a frame
 *   stack, index  the frame is stack->frames[index]; stack->arch decides the width of addresses, and the index stands at the
 *                 line's beginning
 *   symbol        for the frame's call site; NULL: none. The printed offset counts from the frame's own pc
 * Names are written as they are, byte for byte.
 * Returns the length of the whole text in bytes without the NUL, as snprintf does, or USP_ERROR_ARGUMENT.
 * Allocates nothing; async-signal-safe, thread-safe. */
USP_API int usp_format_frame(char *buffer, size_t size, uint32_t format, const struct usp_stack *stack, uint32_t index,
                             const struct usp_symbol *symbol);

/* How untrusted bytes are made harmless. */
enum usp_escape_style {
    USP_ESCAPE_TERMINAL = 1, /* control characters, bidirectional controls and what is not UTF-8 become \xNN */
    USP_ESCAPE_JSON = 2,     /* the inside of a JSON string: what is not UTF-8 becomes U+FFFD, one for each byte */
    USP_ESCAPE_FOLDED = 3    /* as for a terminal, and ';' as well */
};

/* Writes n bytes so that whatever they are does no harm, NUL-terminated. buffer, size and the result as for
 * usp_format_frame. Allocates nothing; async-signal-safe, thread-safe. */
USP_API int usp_format_escaped(char *buffer, size_t size, uint32_t escape, const char *bytes, size_t n);

/* Receives a piece of text, not NUL-terminated. Returns 0, or a negative status, with which the formatting ends. */
typedef int (*usp_write_function)(void *context, const char *bytes, size_t n);

enum usp_format_flags {
    USP_FORMAT_LINES = 1 << 0, /* file and line behind each function, and its inlined calls, where the symbolizer has
                                      debug information or an index. Reading debug information takes time */
    /* With USP_FORMAT_LINES: a source file's whole path in text, not its name alone. */
    USP_FORMAT_FULL_PATHS = 1 << 1,
    USP_FORMAT_COLUMNS = 1 << 2 /* with USP_FORMAT_LINES: the column behind the line in text, where it is known */
};

/* What is said of a stack besides its frames. Filled by usp_format_options_init, then by the caller. */
struct usp_format_options {
    uint32_t size;                     /* of this struct in bytes; set by usp_format_options_init */
    uint32_t style;                    /* enum usp_format_style. Default USP_FORMAT_CALL_STACK_SYMBOLS */
    struct usp_symbolizer *symbolizer; /* names the frames; NULL: no names, image + offset. Default NULL */
    /* Of a stack: its images, in which alone its frames are named; NULL: those that the symbolizer tells. A snapshot has
     * its own. Default NULL. */
    const struct usp_images *images;
    struct usp_demangler *demangler; /* NULL: names stay as they are. Default NULL */
    const struct usp_filter
        *filter; /* frames it does not keep are left out; the others keep their numbers. Default NULL:
                                          all */
    const struct usp_symbol *symbols; /* of a stack: the names of its frames, one each, instead of the symbolizer's.
                                          Default NULL */
    uint64_t count;                   /* USP_FORMAT_FOLDED: how often the stack was seen. Default 1 */
    uint64_t crashed_thread; /* USP_FORMAT_CRASH_REPORT: the id of the thread that crashed; 0: none. Default 0 */
    uint32_t flags;          /* enum usp_format_flags. Default 0 */
    uint32_t reserved0;
    const struct usp_tasks *tasks; /* of a snapshot: USP_FORMAT_JSON has them too. Default NULL: none were looked for */
    uint64_t reserved[4];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_format_options_init(struct usp_format_options *options);

/* Writes a stack.
 *   thread   whose stack it is: headings, JSON and folded lines tell it; NULL: not known
 *   write    receives the text in pieces of up to some hundred bytes; context is handed to it
 * A line each for the frames, except for USP_FORMAT_JSON and USP_FORMAT_FOLDED. Names from elsewhere are made harmless
 * (USP_ESCAPE_TERMINAL). Where frames were left out, a line says so.
 * With USP_FORMAT_LINES, " (file.c:12)" ends a frame's line, and a line "function [inlined] (file.c:12)" with the frame's number,
 * image and address precedes it for each inlined call, innermost first. USP_FORMAT_JSON has keys for both; USP_FORMAT_FOLDED has
 * the inlined functions as frames, without lines. USP_FORMAT_BACKTRACE_SYMBOLS and USP_FORMAT_PORTABLE have no place for
 * either. Frames that `options->symbols` names have no lines.
 * Returns USP_OK, USP_ERROR_ARGUMENT, or what `write` failed with.
 * Not async-signal-safe (it asks the symbolizer); thread-safe. */
USP_API int usp_format_stack(const struct usp_stack *stack, const struct usp_thread_info *thread,
                             const struct usp_format_options *options, usp_write_function write, void *context);

/* Writes a snapshot: the stacks of all of its threads. Otherwise as usp_format_stack. Thread-safe, not
 * async-signal-safe. */
USP_API int usp_format_snapshot(const struct usp_snapshot *snapshot, const struct usp_format_options *options,
                                usp_write_function write, void *context);

/* What a thread does, in words, from usp_thread_info.run_state of a system (enum usp_os); NULL when it is not known. Static
 * lifetime. Async-signal-safe, thread-safe. */
USP_API const char *usp_run_state_string(uint32_t os, uint32_t run_state);

USP_END_DECLS

#endif
