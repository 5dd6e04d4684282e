/* SPDX-License-Identifier: MIT */
/* Finds the name of a frame, for all styles. See report.h. */
#include "lib/report/report.h"

#include "arch/any.h"

#include <stdlib.h>

const struct usp_snapshot_thread *uspi_report_thread(const struct uspi_report *report, size_t i) {
    if (report->only != NULL) return i == 0 ? report->only : NULL;
    return usp_snapshot_get_thread(report->snapshot, i);
}

const struct usp_snapshot_thread *uspi_report_lock_owner(const struct uspi_report *report,
                                                         const struct usp_snapshot_thread *thread, size_t *number) {
    const struct usp_snapshot_thread *owner;
    if (thread->info.lock_owner == 0) return NULL;
    for (*number = 0; (owner = uspi_report_thread(report, *number)) != NULL; ++*number) {
        if (owner->info.thread.id == thread->info.lock_owner) return owner;
    }
    return NULL;
}

/* Describes an address by its image alone, without the name of a symbol. */
static void describe_image(const struct usp_image *image, struct usp_symbol *symbol) {
    symbol->image_path = image->path;
    symbol->image_load = image->load_address;
    symbol->build_id_size = image->build_id_size;
    memcpy(symbol->build_id, image->build_id, sizeof symbol->build_id);
}

static bool wants_lines(const struct uspi_report *report) {
    return (report->options.flags & USP_FORMAT_LINES) != 0 && uspi_style_has_lines(report->options.style);
}

/* Finds the name of a call site, and its lines if they are wanted. Looks in the report's images if they are known,
 * because the symbolizer may know others. */
static void find_symbol(const struct uspi_report *report, usp_addr site, struct uspi_shown *shown) {
    const struct usp_image *image = usp_images_find(report->images, site);
    struct usp_symbol *symbol = &shown->named.symbol;
    if (report->options.symbolizer == NULL) {
        if (image != NULL) describe_image(image, symbol);
        return;
    }
    const struct uspi_naming naming = {report->options.symbolizer, image, &report->expected,
                                       wants_lines(report) ? report->sources : NULL};
    (void)uspi_name_site(&naming, site, &shown->named);
    /* Code outside the report's images can only be generated code, so an image that the symbolizer finds does not
     * count. */
    if (image == NULL && report->images != NULL && symbol->image_path != NULL) {
        memset(&shown->named, 0, sizeof shown->named);
    }
}

const char *uspi_report_name(const struct uspi_report *report, const struct usp_source_frame *source) {
    return usp_demangle(report->options.demangler, source->function);
}

/* Whether the caller of usp_format_stack supplied the symbols. */
static bool has_symbols(const struct uspi_report *report) {
    return report->options.symbols != NULL && report->only != NULL;
}

/* Describes a frame that is written with the number of frame i. Returns false if it is not to be written. */
static bool describe_frame(const struct uspi_report *report, const struct usp_stack *stack, uint32_t i,
                           const struct usp_frame *frame, struct uspi_shown *shown) {
    const struct usp_format_options *options = &report->options;
    usp_addr site = usp_frame_call_site(stack->arch, frame);
    shown->backend = uspi_backend_any(stack->arch);
    if (shown->backend == NULL || !usp_filter_keeps(options->filter, site)) return false;
    shown->frame = frame;
    shown->number = i;
    memset(&shown->named, 0, sizeof shown->named);
    if (stack->omitted_at != USP_NO_INDEX && i >= stack->omitted_at) shown->number += stack->omitted;
    if (has_symbols(report)) {
        shown->named.symbol = options->symbols[i];
    } else {
        find_symbol(report, site, shown);
    }
    struct usp_symbol *symbol = &shown->named.symbol;
    shown->mangled = symbol->name;
    if (shown->mangled != NULL) symbol->name = usp_demangle(options->demangler, shown->mangled);
    shown->image = usp_images_find(report->images, symbol->image_path != NULL ? symbol->image_load : site);
    return true;
}

bool uspi_report_frame(const struct uspi_report *report, const struct usp_stack *stack, uint32_t i,
                       struct uspi_shown *shown) {
    return describe_frame(report, stack, i, &stack->frames[i], shown);
}

uint32_t uspi_report_tail_calls(const struct uspi_report *report, const struct usp_stack *stack, uint32_t i,
                                usp_addr jumps[USPI_TAIL_CALLS_MAX]) {
    if (report->options.symbolizer == NULL || has_symbols(report) || !wants_lines(report)) return 0;
    const struct uspi_stack_names names = {report->options.symbolizer, report->images, &report->expected};
    int count = uspi_stack_tail_calls(&names, stack, i, jumps);
    return count > 0 ? (uint32_t)count : 0;
}

bool uspi_report_inferred(const struct uspi_report *report, const struct usp_stack *stack, uint32_t i, usp_addr jump,
                          struct usp_frame *frame, struct uspi_shown *shown) {
    /* Treats the jump as a call: with this return address its call site is in the jump instruction. */
    *frame = (struct usp_frame){.pc = jump + 1, .kind = USP_FRAME_KIND_RETURN_ADDRESS};
    return describe_frame(report, stack, i, frame, shown);
}

const char *usp_run_state_string(uint32_t os, uint32_t run_state) {
    if (os != USP_OS_LINUX) return NULL;
    /* Linux Documentation/filesystems/proc.rst, the third field of /proc/PID/stat. */
    switch (run_state) {
    case 'R': return "running";
    case 'S': return "sleeping";
    case 'D': return "in uninterruptible sleep";
    case 'T': return "stopped";
    case 't': return "traced";
    case 'I': return "idle";
    case 'Z':
    case 'X': return "exited";
    default: return NULL;
    }
}
