/* SPDX-License-Identifier: MIT */
/* usp_format_stack and usp_format_snapshot: their options, and the way from a frame to its name. See report.h. */
#include "lib/report.h"

/* How much is gathered before the caller's function gets it; on the stack. */
#define GATHERED 512

void usp_format_options_init(struct usp_format_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->style = USP_FORMAT_CALL_STACK_SYMBOLS;
    options->count = 1;
}

const struct usp_snapshot_thread *uspi_report_thread(const struct uspi_report *report, size_t i) {
    if (report->only != NULL) return i == 0 ? report->only : NULL;
    return usp_snapshot_get_thread(report->snapshot, i);
}

/* By the list alone, where no symbolizer is to be asked. */
static void find_image(const struct uspi_report *report, usp_addr site, struct usp_symbol *symbol) {
    const struct usp_image *image = usp_images_find(report->images, site);
    if (image == NULL) return;
    symbol->image_path = image->path;
    symbol->image_load = image->load_address;
    symbol->build_id_size = image->build_id_size;
    memcpy(symbol->build_id, image->build_id, sizeof symbol->build_id);
}

/* The shape of uspi_expected's: all call sites of all threads. */
static void visit_sites(const struct uspi_expected *expected, bool (*take)(void *context, usp_addr address),
                        void *context) {
    const struct uspi_report *report = (const struct uspi_report *)expected;
    const struct usp_snapshot_thread *thread;
    for (size_t i = 0; (thread = uspi_report_thread(report, i)) != NULL; i++) {
        const struct usp_stack *stack = &thread->stack;
        for (uint32_t k = 0; thread->status == USP_OK && k < stack->count; k++) {
            if (!take(context, usp_frame_call_site(stack->arch, &stack->frames[k]))) return;
        }
    }
}

bool uspi_report_frame(const struct uspi_report *report, const struct usp_stack *stack, uint32_t i,
                       struct uspi_shown *shown) {
    const struct usp_format_options *options = &report->options;
    const struct usp_frame *frame = &stack->frames[i];
    usp_addr site = usp_frame_call_site(stack->arch, frame);
    shown->backend = uspi_backend_find(stack->arch);
    if (shown->backend == NULL || !usp_filter_keeps(options->filter, site)) return false;
    shown->frame = frame;
    shown->number = i;
    if (stack->omitted_at != USP_NO_INDEX && i >= stack->omitted_at) shown->number += stack->omitted;
    memset(&shown->symbol, 0, sizeof shown->symbol);
    if (options->symbols != NULL && report->only != NULL) {
        shown->symbol = options->symbols[i];
    } else if (options->symbolizer != NULL) {
        uspi_symbolize_expecting(options->symbolizer, site, &report->expected, &shown->symbol);
    } else {
        find_image(report, site, &shown->symbol);
    }
    shown->mangled = shown->symbol.name;
    if (shown->mangled != NULL) shown->symbol.name = usp_demangle(options->demangler, shown->mangled);
    shown->image = usp_images_find(report->images, shown->symbol.image_path != NULL ? shown->symbol.image_load : site);
    return true;
}

static int write_report(struct uspi_report *report, usp_write write, void *context) {
    char gathered[GATHERED];
    report->expected.visit = visit_sites;
    report->text = uspi_text_through(write, context, gathered, sizeof gathered);
    switch (report->options.style) {
    case USP_FORMAT_CALL_STACK_SYMBOLS:
    case USP_FORMAT_PLAIN:
    case USP_FORMAT_BACKTRACE_SYMBOLS:
    case USP_FORMAT_BS_BACKTRACE:
    case USP_FORMAT_PORTABLE: uspi_report_lines(report); break;
    case USP_FORMAT_CRASH_REPORT: uspi_report_crash(report); break;
    case USP_FORMAT_JSON: uspi_report_json(report); break;
    case USP_FORMAT_FOLDED: uspi_report_folded(report); break;
    default: return USP_ERROR_ARGUMENT;
    }
    return uspi_text_flush(&report->text);
}

static bool complete(const struct usp_format_options *given, struct usp_format_options *options) {
    usp_format_options_init(options);
    if (given == NULL) return true;
    if (given->size < offsetof(struct usp_format_options, reserved)) return false;
    memcpy(options, given, given->size < sizeof *options ? given->size : sizeof *options);
    return true;
}

int usp_format_stack(const struct usp_stack *stack, const struct usp_thread_info *thread,
                     const struct usp_format_options *options, usp_write write, void *context) {
    struct uspi_report report = {.snapshot = NULL};
    if (stack == NULL || write == NULL || !complete(options, &report.options)) return USP_ERROR_ARGUMENT;
    if (uspi_backend_find(stack->arch) == NULL) return USP_ERROR_ARGUMENT;
    struct usp_snapshot_info info = {.arch = stack->arch, .thread_count = 1, .program = ""};
    struct usp_snapshot_thread only = {.status = stack->status, .stack = *stack};
    if (thread != NULL) only.info = *thread;
    report.only = &only;
    report.info = &info;
    report.images = report.options.images;
    return write_report(&report, write, context);
}

int usp_format_snapshot(const struct usp_snapshot *snapshot, const struct usp_format_options *options, usp_write write,
                        void *context) {
    struct uspi_report report = {.snapshot = snapshot};
    if (snapshot == NULL || write == NULL || !complete(options, &report.options)) return USP_ERROR_ARGUMENT;
    report.info = usp_snapshot_get_info(snapshot);
    report.images = usp_snapshot_images(snapshot);
    return write_report(&report, write, context);
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
