/* SPDX-License-Identifier: MIT */
/* Writes stacks as lines, one for each frame, or folded into one line, for flame graphs. */
#include "lib/report/lock_wait.h"
#include "lib/report/report.h"

/* Writes the lines of a frame: one for each inlined call, then one for the function. */
static void put_shown(struct uspi_report *report, uint32_t style, const struct uspi_shown *shown, bool is_inferred) {
    const bool has_lines = uspi_style_has_lines(style);
    struct uspi_frame_line line = {shown->backend, shown->number, shown->frame, .harmless = true,
                                   .is_inferred = is_inferred};
    line.flags = report->options.flags;
    line.is_own_style = style == USP_FORMAT_CALL_STACK_SYMBOLS;
    for (uint32_t k = 0; has_lines && k < shown->named.inlined_count; k++) {
        struct usp_symbol symbol = shown->named.symbol;
        symbol.name = uspi_report_name(report, &shown->named.inlined[k]);
        line.symbol = &symbol;
        line.source = &shown->named.inlined[k];
        line.is_inlined = true;
        uspi_put_frame(&report->text, style, &line);
        uspi_put(&report->text, "\n", 1);
    }
    line.symbol = &shown->named.symbol;
    line.source = has_lines ? &shown->named.source : NULL;
    line.is_inlined = false;
    uspi_put_frame(&report->text, style, &line);
    uspi_put(&report->text, "\n", 1);
}

/* Writes a frame, and the tail calls between it and the next one. */
static void put_frame(struct uspi_report *report, uint32_t style, const struct usp_stack *stack, uint32_t i) {
    struct uspi_shown shown;
    struct usp_frame frame;
    usp_addr jumps[USPI_TAIL_CALLS_MAX];
    if (uspi_report_frame(report, stack, i, &shown)) put_shown(report, style, &shown, false);
    const uint32_t count = uspi_report_tail_calls(report, stack, i, jumps);
    for (uint32_t k = 0; k < count; k++) {
        if (!uspi_report_inferred(report, stack, i + 1, jumps[k], &frame, &shown)) continue;
        put_shown(report, style, &shown, true);
    }
}

/* Writes how many frames were left out, without dots or brackets. */
static void put_omitted_words(struct uspi_text *text, const struct usp_stack *stack) {
    if (stack->stop == USP_STOP_CAPACITY) {
        uspi_put_string(text, "further frames left out");
        return;
    }
    const bool has_more = (stack->flags & USP_STACK_OMITTED_MORE) != 0;
    if (has_more && stack->omitted == 1) {
        uspi_put_string(text, "some frames left out");
        return;
    }
    uspi_put_decimal(text, stack->omitted, 0);
    if (has_more) uspi_put_string(text, " or more");
    uspi_put_string(text, stack->omitted == 1 ? " frame left out" : " frames left out");
}

static void put_omitted(struct uspi_text *text, const struct usp_stack *stack) {
    uspi_put_string(text, "    ... ");
    put_omitted_words(text, stack);
    uspi_put_string(text, " ...\n");
}

void uspi_report_frames(struct uspi_report *report, uint32_t style, const struct usp_stack *stack) {
    struct uspi_text *text = &report->text;
    for (uint32_t i = 0; i < stack->physical; i++) {
        if (i == stack->omitted_at) put_omitted(text, stack);
        put_frame(report, style, stack, i);
    }
    if (stack->omitted_at != USP_NO_INDEX && stack->omitted_at >= stack->physical) put_omitted(text, stack);
    if (stack->count == stack->physical) return;
    uspi_put_string(text, "    asynchronous callers");
    if (stack->async_join != USP_NO_INDEX) {
        uspi_put_string(text, ", from frame ");
        uspi_put_decimal(text, stack->async_join, 0);
        uspi_put_string(text, " on");
    }
    uspi_put(text, "\n", 1);
    for (uint32_t i = stack->physical; i < stack->count; i++) put_frame(report, style, stack, i);
}

/* Returns what marks the heading of the thread that crashed. */
static const char *crashed_mark(const struct usp_snapshot_thread *thread) {
    return (thread->info.flags & USP_THREAD_CRASHED) != 0 ? " (crashed)" : "";
}

static void put_heading(struct uspi_report *report, const struct usp_snapshot_thread *thread) {
    struct uspi_text *text = &report->text;
    uspi_put_string(text, "Thread ");
    uspi_put_decimal(text, thread->info.thread.id, 0);
    if (thread->info.name[0] != '\0') {
        uspi_put(text, " \"", 2);
        uspi_put_harmless(text, uspi_span_of(thread->info.name), "");
        uspi_put(text, "\"", 1);
    }
    if (thread->info.queue[0] != '\0') {
        uspi_put_string(text, ", queue \"");
        uspi_put_harmless(text, uspi_span_of(thread->info.queue), "");
        uspi_put(text, "\"", 1);
    }
    uspi_put_string(text, crashed_mark(thread));
    uspi_put(text, ":\n", 2);
}

/* Writes which thread holds the lock that the thread waits for. */
static void put_lock(struct uspi_report *report, const struct usp_snapshot_thread *thread) {
    size_t number;
    const struct usp_snapshot_thread *owner = uspi_report_lock_owner(report, thread, &number);
    if (owner == NULL) return;
    uspi_put_string(&report->text, "    ");
    uspi_put_lock_wait(&report->text, &thread->info, owner->info.thread.id, owner->info.name);
    uspi_put(&report->text, "\n", 1);
}

static void put_thread(struct uspi_report *report, const struct usp_snapshot_thread *thread) {
    struct uspi_text *text = &report->text;
    if (thread->status != USP_OK) {
        uspi_put_string(text, "    no stack: ");
        uspi_put_string(text, usp_status_string(thread->status));
        uspi_put(text, "\n", 1);
        return;
    }
    uspi_report_frames(report, report->options.style, &thread->stack);
}

/* Writes what BSBacktraceLogger.m returns: for one thread _bs_backtraceOfThread, for all threads
 * bs_backtraceOfAllThread, which begins with their number. */
static void put_bs_backtraces(struct uspi_report *report) {
    const struct usp_snapshot_thread *thread;
    struct uspi_text *text = &report->text;
    if (report->only == NULL) {
        uspi_put_string(text, "Call Backtrace of ");
        uspi_put_decimal(text, report->info->thread_count, 0);
        uspi_put_string(text, " threads:\n");
    }
    for (size_t i = 0; (thread = uspi_report_thread(report, i)) != NULL; i++) {
        uspi_put_string(text, "Backtrace of Thread ");
        uspi_put_decimal(text, thread->info.thread.id, 0);
        uspi_put_string(text, crashed_mark(thread));
        uspi_put(text, ":\n", 2);
        put_thread(report, thread);
        uspi_put(text, "\n", 1);
    }
}

void uspi_report_lines(struct uspi_report *report) {
    const struct usp_snapshot_thread *thread;
    if (report->options.style == USP_FORMAT_BS_BACKTRACE) {
        put_bs_backtraces(report);
        return;
    }
    for (size_t i = 0; (thread = uspi_report_thread(report, i)) != NULL; i++) {
        if (report->only == NULL) {
            if (i > 0) uspi_put(&report->text, "\n", 1);
            put_heading(report, thread);
            put_lock(report, thread);
        }
        put_thread(report, thread);
    }
}

/* ---- folded ----
 *
 * Written for flamegraph.pl and similar tools: names separated by semicolons, outermost first, and a count after the
 * last blank. A frame without a name keeps its offset, so that it stays distinct from other frames of its image. */

static void put_folded_shown(struct uspi_report *report, const struct uspi_shown *shown) {
    struct uspi_text *text = &report->text;
    uspi_put(text, ";", 1);
    if (shown->named.symbol.name != NULL) {
        uspi_put_harmless(text, uspi_span_of(shown->named.symbol.name), ";");
    } else if (shown->named.symbol.image_path != NULL) {
        uspi_put_harmless(text, uspi_image_name(shown->named.symbol.image_path, SIZE_MAX), ";");
        uspi_put(text, "+", 1);
        uspi_put_hex(text, uspi_target_offset(shown->backend, shown->frame->pc, shown->named.symbol.image_load), 1);
    } else {
        uspi_put_hex(text, shown->frame->pc, 1);
    }
    for (uint32_t k = shown->named.inlined_count; k-- > 0;) {
        uspi_put(text, ";", 1);
        uspi_put_harmless(text, uspi_span_of(uspi_report_name(report, &shown->named.inlined[k])), ";");
    }
}

/* Writes a frame, and the tail calls that led from it to the frame that it called. */
static void put_folded_frame(struct uspi_report *report, const struct usp_stack *stack, uint32_t i) {
    struct uspi_shown shown;
    struct usp_frame frame;
    usp_addr jumps[USPI_TAIL_CALLS_MAX];
    if (uspi_report_frame(report, stack, i, &shown)) put_folded_shown(report, &shown);
    for (uint32_t k = i > 0 ? uspi_report_tail_calls(report, stack, i - 1, jumps) : 0; k-- > 0;) {
        if (uspi_report_inferred(report, stack, i, jumps[k], &frame, &shown)) put_folded_shown(report, &shown);
    }
}

static void put_folded(struct uspi_report *report, const struct usp_snapshot_thread *thread) {
    const struct usp_stack *stack = &thread->stack;
    struct uspi_text *text = &report->text;
    if (thread->info.name[0] != '\0') {
        uspi_put_harmless(text, uspi_span_of(thread->info.name), ";");
    } else {
        uspi_put_string(text, "thread");
        if (thread->info.thread.id != 0) {
            uspi_put(text, " ", 1);
            uspi_put_decimal(text, thread->info.thread.id, 0);
        }
    }
    uspi_put_string(text, crashed_mark(thread));
    /* The async callers are the true callers; the executor that resumed the function is not. */
    uint32_t inner = stack->physical;
    if (stack->count > stack->physical && stack->async_join < stack->physical) inner = stack->async_join + 1;
    for (uint32_t i = stack->count; i > stack->physical; i--) put_folded_frame(report, stack, i - 1);
    for (uint32_t i = inner; i-- > 0;) {
        if (stack->omitted_at == i + 1) {
            uspi_put(text, ";[", 2);
            put_omitted_words(text, stack);
            uspi_put(text, "]", 1);
        }
        put_folded_frame(report, stack, i);
    }
    uspi_put(text, " ", 1);
    uspi_put_decimal(text, report->options.count, 0);
    uspi_put(text, "\n", 1);
}

void uspi_report_folded(struct uspi_report *report) {
    const struct usp_snapshot_thread *thread;
    for (size_t i = 0; (thread = uspi_report_thread(report, i)) != NULL; i++) {
        if (thread->status == USP_OK && thread->stack.count > 0) put_folded(report, thread);
    }
}
