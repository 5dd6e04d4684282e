/* SPDX-License-Identifier: MIT */
/* Formats frames, stacks and snapshots as text, in the styles of common tools. usp_format_frame looks nothing up: the
 * caller passes what usp_symbolize found. The other functions use a symbolizer. */
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

/* Styles. In all of them the name is that of the call site's function; the address and the offset are those of the
 * frame's own pc. */
enum usp_format_style {
    /* For a frame, and for stacks and snapshots. */
    /* A line of +[NSThread callStackSymbols] and of Darwin's backtrace_symbols(3): index, image, address, symbol +
     * offset (Libc gen/backtrace.c), such as "0   Demo   0x0000000100003f21 main + 33". The image is the last component
     * of its path, cut at 35 bytes, or ???. Without a symbol, image + offset replaces it; without an image too,
     * [unknown]. The placeholder <redacted> is replaced by the image's UUID and the offset from its load address. */
    USP_FORMAT_CALL_STACK_SYMBOLS = 1,
    USP_FORMAT_PLAIN = 2, /* only symbol + offset, or image + offset, or the address */
    /* A line of backtrace_symbols(3) on Linux: path(symbol+0x1f) [0x…]; without a symbol, the offset in the image. */
    USP_FORMAT_BACKTRACE_SYMBOLS = 3,
    /* A line of BSBacktraceLogger: "Demo   0x100003f21 main + 33". Stacks have the heading "Backtrace of Thread …:" and
     * end with an empty line, snapshots have "Call Backtrace of … threads:". */
    USP_FORMAT_BS_BACKTRACE = 4,
    /* A line of an Apple crash report; without a symbol it has the image's load address and the offset, as
     * symbolicating tools expect: "0   Demo   0x0000000100003f21 0x100000000 + 16161". Snapshots have its sections:
     * threads, their registers, Binary Images with UUIDs. */
    USP_FORMAT_CRASH_REPORT = 5,
    /* UUID or build id, offset in the image, and its path: what a server needs to symbolicate the frame, such as
     * "0   DEADBEEF-0001-0203-0405-060708090A0B + 0x3f21 /Apps/Demo.app/Demo" */
    USP_FORMAT_PORTABLE = 6,
    /* For stacks and snapshots only. */
    USP_FORMAT_JSON = 7, /* an object as doc/schema/stacks.schema.json describes it */
    /* A line "thread;outermost;…;innermost count" for flame graphs. Async callers take the place of the executor's
     * frames. */
    USP_FORMAT_FOLDED = 8,
    /* Apple's crash report as JSON (.ips, bug_type 309): an object on the first line that says what follows, and the
     * report. A list of images is necessary. Async callers have no place in it. */
    USP_FORMAT_IPS = 9,
    /* Sentry's event, the JSON that its servers accept. Of a process that did not crash it has the threads, but no
     * exception. A list of images is necessary. Async callers and inferred tail calls have no place in it. */
    USP_FORMAT_SENTRY = 10
};

/* Writes one frame as text, NUL-terminated, without a newline.
 *   buffer, size  the caller's buffer; may be NULL, 0 to learn the length
 *   format        enum usp_format_style, one of the styles for frames
 *   stack, index  the frame is stack->frames[index]; stack->arch decides the width of addresses, and the index is
 *                 printed at the beginning of the line
 *   symbol        the symbol at the frame's call site; NULL: none. The printed offset counts from the frame's own pc
 * The text is cut when `size` is too small. Names are written unchanged, byte for byte. Returns the length of the whole
 * text in bytes without the NUL, as snprintf does, or USP_ERROR_ARGUMENT. Allocates nothing. Async-signal-safe,
 * thread-safe. */
USP_API int usp_format_frame(char *buffer, size_t size, uint32_t format, const struct usp_stack *stack, uint32_t index,
                             const struct usp_symbol *symbol);

/* How untrusted bytes are escaped. */
enum usp_escape_style {
    USP_ESCAPE_TERMINAL = 1, /* control characters, bidirectional controls and invalid UTF-8 become \xNN */
    /* For the inside of a JSON string. Control characters and bidirectional controls become \uNNNN, so that a reader
     * gets the same string; each byte of invalid UTF-8 becomes U+FFFD. */
    USP_ESCAPE_JSON = 2,
    USP_ESCAPE_FOLDED = 3 /* like USP_ESCAPE_TERMINAL, and ';' is escaped too */
};

/* Writes n untrusted bytes, escaped and NUL-terminated. buffer, size and the result as for usp_format_frame. Allocates
 * nothing. Async-signal-safe, thread-safe. */
USP_API int usp_format_escaped(char *buffer, size_t size, uint32_t escape, const char *bytes, size_t n);

/* Receives a piece of text, not NUL-terminated. Returns 0, or a negative status, which ends the formatting. */
typedef int (*usp_write_function)(void *context, const char *bytes, size_t n);

/* Writes to an open file: a usp_write_function.
 *   context  points to an int, the file's descriptor
 * Writes all bytes, also after interrupted and partial writes. Returns USP_OK, USP_ERROR_ARGUMENT, or USP_ERROR_SYSTEM
 * when a write failed. Async-signal-safe, thread-safe. */
USP_API int usp_write_fd(void *context, const char *bytes, size_t n);

enum usp_format_flags {
    /* File and line after each function, and inlined calls, where the symbolizer has debug information or an index.
     * Reading debug information takes time. */
    USP_FORMAT_LINES = 1 << 0,
    /* With USP_FORMAT_LINES: text shows a source file's whole path instead of its name. */
    USP_FORMAT_FULL_PATHS = 1 << 1,
    USP_FORMAT_COLUMNS = 1 << 2 /* with USP_FORMAT_LINES: text shows the column after the line, where it is known */
};

/* Options for formatting. Filled by usp_format_options_init, then by the caller. */
struct usp_format_options {
    uint32_t size;                     /* size of this struct in bytes; set by usp_format_options_init */
    uint32_t style;                    /* enum usp_format_style. Default USP_FORMAT_CALL_STACK_SYMBOLS */
    struct usp_symbolizer *symbolizer; /* symbolicates the frames; NULL: image + offset without names. Default NULL */
    /* Images of a stack; only frames in them are symbolicated. NULL: the symbolizer's own. Snapshots have their own
     * images. Default NULL. */
    const struct usp_images *images;
    struct usp_demangler *demangler; /* NULL: names stay mangled. Default NULL */
    /* Frames that the filter does not keep are left out; the others keep their numbers. Default NULL: all frames are
     * shown. */
    const struct usp_filter *filter;
    /* For a stack: the symbols of its frames, one for each, used instead of the symbolizer. Default NULL. */
    const struct usp_symbol *symbols;
    uint64_t count; /* USP_FORMAT_FOLDED: how many times the stack was seen. Default 1 */
    /* USP_FORMAT_CRASH_REPORT, USP_FORMAT_IPS, USP_FORMAT_SENTRY: the id of the thread that crashed; 0: the one that
     * crashed in a core or crash report. Default 0 */
    uint64_t crashed_thread;
    uint32_t flags; /* enum usp_format_flags. Default 0 */
    uint32_t reserved0;
    /* For a snapshot: tasks that USP_FORMAT_JSON includes. Default NULL: none were searched for. */
    const struct usp_tasks *tasks;
    uint64_t reserved[4];
};

/* Fills *options with the defaults. Async-signal-safe, thread-safe. */
USP_API void usp_format_options_init(struct usp_format_options *options);

/* Writes a stack.
 *   thread   the stack's thread, shown in headings, JSON and folded lines; NULL: not known
 *   write    receives the text in pieces of up to some hundred bytes
 *   context  passed to `write`
 * Each frame takes a line, except in USP_FORMAT_JSON, USP_FORMAT_IPS, USP_FORMAT_SENTRY and USP_FORMAT_FOLDED. Names
 * are escaped (USP_ESCAPE_TERMINAL). An indented line marks where frames were left out, and where async callers begin.
 * Without options->images, JSON and crash reports list no images.
 *
 * With USP_FORMAT_LINES, " (file.c:12)" ends a frame's line. For each inlined call, innermost first, a line "function
 * [inlined] (file.c:12)" with the frame's number, image and address precedes it. An inferred tail call
 * (usp_symbolize_stack) has a line with the number of the frame that called it, and "[inferred tail call]" after its
 * name. USP_FORMAT_JSON has keys for all of these. USP_FORMAT_FOLDED shows inlined functions as frames, without lines.
 * USP_FORMAT_BACKTRACE_SYMBOLS and USP_FORMAT_PORTABLE have no place for any of them. Frames that `options->symbols`
 * names have no lines.
 *
 * Returns USP_OK, USP_ERROR_ARGUMENT, or the status with which `write` failed. Thread-safe, not async-signal-safe: it
 * uses the symbolizer. */
USP_API int usp_format_stack(const struct usp_stack *stack, const struct usp_thread_info *thread,
                             const struct usp_format_options *options, usp_write_function write, void *context);

/* Writes a snapshot: the stacks of all its threads. Otherwise like usp_format_stack. Thread-safe, not
 * async-signal-safe: it uses the symbolizer. */
USP_API int usp_format_snapshot(const struct usp_snapshot *snapshot, const struct usp_format_options *options,
                                usp_write_function write, void *context);

/* Returns in words what a thread is doing, from usp_thread_info.run_state on a system (enum usp_os); NULL when it is
 * not known. Static lifetime. Async-signal-safe, thread-safe. */
USP_API const char *usp_run_state_string(uint32_t os, uint32_t run_state);

USP_END_DECLS

#endif
