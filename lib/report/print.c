/* SPDX-License-Identifier: MIT */
/* Implements print.h: captures, symbolicates and prints stacks in one call. */
#include "lib/base/text.h"

#include <unspool/print.h>

#include <unspool/capture.h>
#include <unspool/demangle.h>
#include <unspool/format.h>
#include <unspool/images.h>
#include <unspool/snapshot.h>
#include <unspool/symbolize.h>

#include <stdlib.h>

#define MAX_FRAMES 4096u /* maximum number of frames printed of one stack */
#define TAIL       512u  /* how many of these are the outermost ones, if the stack is deeper */

/* Makes a demangler and a symbolizer: for a snapshot, or for this process if `snapshot` is NULL. */
static int make_names(const struct usp_snapshot *snapshot, struct usp_format_options *options) {
    usp_format_options_init(options);
    options->flags = USP_FORMAT_LINES;
    int status = usp_demangler_create(USP_DEMANGLE_FULL, &options->demangler);
    if (status != USP_OK) return status;
    status = snapshot != NULL ? usp_symbolizer_create_for_snapshot(snapshot, NULL, &options->symbolizer)
                              : usp_symbolizer_create(NULL, NULL, &options->symbolizer);
    if (status != USP_OK) usp_demangler_free(options->demangler);
    return status;
}

static void free_names(struct usp_format_options *options) {
    usp_symbolizer_free(options->symbolizer);
    usp_demangler_free(options->demangler);
}

static void init_unwind(struct usp_unwind_options *options, uint32_t skip) {
    usp_unwind_options_init(options);
    options->tail = TAIL;
    options->skip = skip;
    options->async = 1;
}

static int print_frames(int fd, const struct usp_stack *stack) {
    struct usp_format_options options;
    int status = make_names(NULL, &options);
    if (status != USP_OK) return status;
    status = usp_format_stack(stack, NULL, &options, usp_write_fd, &fd);
    free_names(&options);
    return status;
}

__attribute__((noinline)) int usp_print_stack(int fd) {
    struct usp_unwind_options unwind;
    struct usp_stack stack;
    struct usp_frame *frames = malloc(MAX_FRAMES * sizeof *frames);
    if (frames == NULL) return USP_ERROR_NO_MEMORY;
    usp_stack_init(&stack, frames, MAX_FRAMES);
    init_unwind(&unwind, 1);
    /* Makes the stack complete even if the program has not called usp_prepare. */
    (void)usp_images_refresh();
    int status = usp_capture_self(&unwind, &stack);
    if (status == USP_OK) status = print_frames(fd, &stack);
    free(frames);
    return status;
}

static int print_in_style(int fd, const struct usp_snapshot *snapshot, uint32_t style) {
    struct usp_format_options options;
    int status = make_names(snapshot, &options);
    if (status != USP_OK) return status;
    options.style = style;
    status = usp_format_snapshot(snapshot, &options, usp_write_fd, &fd);
    free_names(&options);
    return status;
}

int usp_print_snapshot(int fd, const struct usp_snapshot *snapshot) {
    return snapshot != NULL ? print_in_style(fd, snapshot, USP_FORMAT_CALL_STACK_SYMBOLS) : USP_ERROR_ARGUMENT;
}

/* Prints all threads. Inlined, so that the calling thread's stack begins with the caller of the public function. */
static inline __attribute__((always_inline)) int print_threads(int fd, uint32_t style) {
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    usp_snapshot_options_init(&options);
    options.max_frames = MAX_FRAMES;
    init_unwind(&options.unwind, 0);
    options.skip_own = 1;
    int status = usp_snapshot_create_self(&options, &snapshot);
    if (status != USP_OK) return status;
    status = print_in_style(fd, snapshot, style);
    usp_snapshot_free(snapshot);
    return status;
}

__attribute__((noinline)) int usp_print_threads(int fd) { return print_threads(fd, USP_FORMAT_CALL_STACK_SYMBOLS); }

__attribute__((noinline)) int usp_print_threads_json(int fd) { return print_threads(fd, USP_FORMAT_JSON); }

/* A usp_write_function that writes to a struct uspi_text. */
static int put_text(void *context, const char *bytes, size_t n) {
    uspi_put(context, bytes, n);
    return USP_OK;
}

static bool is_calling_thread(const struct usp_thread *thread) {
    struct usp_thread own;
    if (usp_thread_self(&own) != USP_OK) return false;
    const bool is_own = own.id == thread->id;
    usp_thread_release(&own);
    return is_own;
}

/* Formats a stack with the names that the process keeps. */
static int format_frames(char *buffer, size_t size, const struct usp_stack *stack) {
    struct usp_format_options options;
    struct uspi_text text = uspi_text_in(buffer, size);
    usp_format_options_init(&options);
    options.flags = USP_FORMAT_LINES;
    options.symbolizer = usp_symbolizer_default();
    if (options.symbolizer == NULL) return USP_ERROR_NO_MEMORY;
    int status = usp_demangler_create(USP_DEMANGLE_FULL, &options.demangler);
    if (status == USP_OK) status = usp_format_stack(stack, NULL, &options, put_text, &text);
    usp_demangler_free(options.demangler);
    return status == USP_OK ? uspi_text_end(&text) : status;
}

__attribute__((noinline)) int usp_format_pthread(char *buffer, size_t size, uintptr_t pthread) {
    struct usp_unwind_options unwind;
    struct usp_thread thread;
    struct usp_stack *stack;
    if (buffer == NULL && size > 0) return USP_ERROR_ARGUMENT;
    if (size > 0) buffer[0] = '\0';
    int status = usp_thread_from_pthread(pthread, &thread);
    if (status != USP_OK) return status;
    usp_unwind_options_init(&unwind);
    unwind.async = 1;
    unwind.skip = is_calling_thread(&thread);
    status = usp_stack_create(&thread, &unwind, &stack);
    usp_thread_release(&thread);
    if (status != USP_OK) return status;
    status = format_frames(buffer, size, stack);
    usp_stack_free(stack);
    return status;
}
