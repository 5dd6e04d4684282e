/* SPDX-License-Identifier: MIT */
/* Implements `unspool stack --merge`: merges the threads' stacks into one call tree, with the number of threads at each
 * function. The library writes the tree. */
#include "tools/stack.h"
#include "tools/text.h"

#include <stdlib.h>
#include <string.h>

/* Removes the frames that the filter does not keep. The array of the stack's frames is a copy. */
static void filter_frames(const struct usp_filter *filter, struct usp_stack *stack) {
    const struct usp_stack whole = *stack;
    stack->count = stack->physical = 0;
    stack->async_join = USP_NO_INDEX;
    for (uint32_t i = 0; i < whole.count; i++) {
        if (i == whole.omitted_at) stack->omitted_at = stack->count;
        if (usp_filter_keeps_frame(filter, whole.arch, &whole.frames[i])) {
            stack->frames[stack->count++] = whole.frames[i];
        }
        if (i < whole.physical) stack->physical = stack->count;
        if (i == whole.async_join && stack->count > 0) stack->async_join = stack->count - 1;
    }
}

static int add_thread(const struct stack_report *report, const struct usp_snapshot_thread *thread,
                      struct usp_profile *profile) {
    const uint32_t count = thread->stack.count;
    if (thread->status != USP_OK || count == 0) return USP_OK;
    struct usp_frame *buffer = malloc(count * sizeof *buffer);
    if (buffer == NULL) return USP_ERROR_NO_MEMORY;
    struct usp_stack stack = thread->stack;
    memcpy(buffer, stack.frames, count * sizeof *buffer);
    stack.frames = buffer;
    stack.capacity = count;
    filter_frames(report->format.filter, &stack);
    const struct usp_profile_sample sample = {
        .thread = &thread->info, .stack = &stack, .images = report->format.images, .count = 1};
    int status = stack.count > 0 ? usp_profile_add(profile, &sample) : USP_OK;
    free(buffer);
    return status;
}

int stack_write_merged(const struct stack_report *report, FILE *out) {
    const struct usp_snapshot_info *info = usp_snapshot_get_info(report->snapshot);
    struct usp_profile_options options;
    struct usp_profile_write_options shape;
    struct usp_profile *profile;
    usp_profile_options_init(&options);
    options.pid = info->pid;
    options.program = info->program;
    options.arch = info->arch;
    options.memory = UINT64_C(1) << 30;
    int status = usp_profile_create(&options, &profile);
    if (status != USP_OK) return status;
    const struct usp_snapshot_thread *thread;
    for (size_t i = 0; status == USP_OK && (thread = usp_snapshot_get_thread(report->snapshot, i)) != NULL; i++) {
        status = add_thread(report, thread, profile);
    }
    usp_profile_write_options_init(&shape);
    shape.flags = USP_PROFILE_MERGE_THREADS;
    shape.symbolizer = report->format.symbolizer;
    shape.images = report->format.images;
    shape.demangler = report->format.demangler;
    if (status == USP_OK) status = usp_profile_write(profile, &shape, write_to_file, out);
    usp_profile_free(profile);
    return status;
}
