/* SPDX-License-Identifier: MIT */
/* usp_format_stack and usp_format_snapshot: their options, and the choice of the style. */
#include "lib/base/sized.h"

#include "arch/any.h"
#include "lib/report/report.h"

#include <stdlib.h>

/* Bytes that are buffered, on the stack, before the caller's function gets them. */
#define GATHERED 512

/* A frame's pc is at most this many bytes after its call site (usp_frame_call_site). */
#define PAST_SITE 2u

void usp_format_options_init(struct usp_format_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->style = USP_FORMAT_CALL_STACK_SYMBOLS;
    options->count = 1;
}

/* The `visit` of struct uspi_expected: passes the call sites of all threads. */
static void visit_sites(const struct uspi_expected *expected, usp_addr low, usp_addr high,
                        bool (*take)(void *context, usp_addr address), void *context) {
    const struct uspi_report *report = (const struct uspi_report *)expected;
    const struct usp_snapshot_thread *thread;
    for (size_t i = 0; (thread = uspi_report_thread(report, i)) != NULL; i++) {
        const struct usp_stack *stack = &thread->stack;
        for (uint32_t k = 0; thread->status == USP_OK && k < stack->count; k++) {
            const struct usp_frame *frame = &stack->frames[k];
            if (frame->pc - low >= high - low + PAST_SITE) continue;
            const usp_addr site = usp_frame_call_site(stack->arch, frame);
            if (site >= low && site < high && !take(context, site)) return;
        }
    }
}

static int write_report(struct uspi_report *report, usp_write_function write, void *context) {
    char gathered[GATHERED];
    struct uspi_sources sources = {.frames = NULL};
    report->sources = &sources;
    report->expected.visit = visit_sites;
    report->text = uspi_text_through(write, context, gathered, sizeof gathered);
    switch (report->options.style) {
    case USP_FORMAT_CALL_STACK_SYMBOLS:
    case USP_FORMAT_PLAIN:
    case USP_FORMAT_BACKTRACE_SYMBOLS:
    case USP_FORMAT_BS_BACKTRACE:
    case USP_FORMAT_PORTABLE: uspi_report_lines(report); break;
    case USP_FORMAT_CRASH_REPORT: uspi_report_crash(report); break;
    case USP_FORMAT_IPS: uspi_report_ips(report); break;
    case USP_FORMAT_SENTRY: uspi_report_sentry(report); break;
    case USP_FORMAT_JSON: uspi_report_json(report); break;
    case USP_FORMAT_FOLDED: uspi_report_folded(report); break;
    default: return USP_ERROR_ARGUMENT;
    }
    uspi_sources_free(&sources);
    return uspi_text_flush(&report->text);
}

static bool complete(const struct usp_format_options *given, struct usp_format_options *options) {
    usp_format_options_init(options);
    return USPI_COMPLETE(options, given);
}

int usp_format_stack(const struct usp_stack *stack, const struct usp_thread_info *thread,
                     const struct usp_format_options *options, usp_write_function write, void *context) {
    struct uspi_report report = {.snapshot = NULL};
    if (stack == NULL || write == NULL || !complete(options, &report.options)) return USP_ERROR_ARGUMENT;
    if (uspi_backend_any(stack->arch) == NULL) return USP_ERROR_ARGUMENT;
    struct usp_snapshot_info info = {.arch = stack->arch, .thread_count = 1, .program = ""};
    struct usp_snapshot_thread only = {.status = stack->status, .stack = *stack};
    if (thread != NULL) only.info = *thread;
    report.only = &only;
    report.info = &info;
    report.images = report.options.images;
    return write_report(&report, write, context);
}

int usp_format_snapshot(const struct usp_snapshot *snapshot, const struct usp_format_options *options,
                        usp_write_function write, void *context) {
    struct uspi_report report = {.snapshot = snapshot};
    if (snapshot == NULL || write == NULL || !complete(options, &report.options)) return USP_ERROR_ARGUMENT;
    report.info = usp_snapshot_get_info(snapshot);
    report.images = usp_snapshot_images(snapshot);
    return write_report(&report, write, context);
}
