/* SPDX-License-Identifier: MIT */
/* usp_print_stack and usp_print_threads: capture, symbolicate and print stacks in one call. */
#include "lib/capture/state.h"
#include "lib/os/os.h"

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

/* A usp_write_function. The context points to the file descriptor. */
static int write_to_descriptor(void *context, const char *bytes, size_t n) {
    return uspi_os_write(*(const int *)context, bytes, n);
}

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
    status = usp_format_stack(stack, NULL, &options, write_to_descriptor, &fd);
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

static int print_snapshot(int fd, const struct usp_snapshot *snapshot) {
    struct usp_format_options options;
    int status = make_names(snapshot, &options);
    if (status != USP_OK) return status;
    status = usp_format_snapshot(snapshot, &options, write_to_descriptor, &fd);
    free_names(&options);
    return status;
}

__attribute__((noinline)) int usp_print_threads(int fd) {
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    usp_snapshot_options_init(&options);
    options.max_frames = MAX_FRAMES;
    init_unwind(&options.unwind, 0);
    options.skip_own = 1;
    int status = usp_snapshot_create_self(&options, &snapshot);
    if (status != USP_OK) return status;
    status = print_snapshot(fd, snapshot);
    usp_snapshot_free(snapshot);
    return status;
}
