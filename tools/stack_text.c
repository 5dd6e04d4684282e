/* SPDX-License-Identifier: MIT */
/* `unspool stack` for people: a heading for each thread, a line for each frame, and why the stack ends. */
#include "tools/stack.h"
#include "tools/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct page {
    const struct stack_report *report;
    const struct usp_snapshot_info *info;
    FILE *out;
    int colours;
};

static void put_milliseconds(FILE *out, uint64_t ns) {
    fprintf(out, "%" PRIu64 ".%02" PRIu64 " ms", ns / 1000000, ns % 1000000 / 10000);
}

static void put_process(const struct page *page) {
    const struct usp_snapshot_info *info = page->info;
    put_colour(page->out, page->colours, COLOUR_HEADING);
    fputs("Process", page->out);
    if (info->pid != 0) fprintf(page->out, " %" PRId64, info->pid);
    if (info->program != NULL && info->program[0] != '\0') {
        fputc(' ', page->out);
        put_harmless(page->out, info->program);
    }
    put_colour(page->out, page->colours, COLOUR_NONE);
    fprintf(page->out, ", %s, %" PRIu32 " thread%s", usp_arch_name(info->arch), info->thread_count,
            info->thread_count == 1 ? "" : "s");
    if (info->stopped_ns != 0) {
        fputs(", stopped for ", page->out);
        put_milliseconds(page->out, info->stopped_ns);
    }
    if (info->signal != 0) fprintf(page->out, ", ended by signal %" PRIu32, info->signal);
    fputc('\n', page->out);
}

static void put_heading(const struct page *page, const struct usp_snapshot_thread *thread) {
    fputc('\n', page->out);
    put_colour(page->out, page->colours, COLOUR_HEADING);
    fprintf(page->out, "Thread %" PRIu64, thread->info.thread.id);
    if (thread->info.name[0] != '\0') {
        fputs(" \"", page->out);
        put_harmless(page->out, thread->info.name);
        fputc('"', page->out);
    }
    if ((thread->info.flags & USP_THREAD_MAIN) != 0) fputs(" (main)", page->out);
    if ((thread->info.flags & USP_THREAD_REQUESTER) != 0) fputs(" (asks)", page->out);
    put_colour(page->out, page->colours, COLOUR_NONE);
    const char *state = stack_run_state(page->info, &thread->info);
    if (state != NULL) fprintf(page->out, ", %s", state);
    if (thread->info.cpu_time != 0) {
        fputs(", CPU ", page->out);
        put_milliseconds(page->out, thread->info.cpu_time);
    }
    fputc('\n', page->out);
}

/* An indented line about the stack rather than of it. */
static void begin_note(const struct page *page, enum colour colour) {
    put_colour(page->out, page->colours, colour);
    fputs("    ", page->out);
}

static void end_note(const struct page *page) {
    put_colour(page->out, page->colours, COLOUR_NONE);
    fputc('\n', page->out);
}

static void put_note(const struct page *page, enum colour colour, const char *text) {
    begin_note(page, colour);
    fputs(text, page->out);
    end_note(page);
}

static bool put_frame(const struct page *page, const struct usp_stack *stack, uint32_t i) {
    const struct usp_frame *frame = &stack->frames[i];
    struct usp_symbol symbol;
    stack_name_frame(page->report, frame, &symbol);
    /* Frames that were left out keep their numbers. */
    uint64_t index = i;
    if (stack->omitted_at != USP_NO_INDEX && i >= stack->omitted_at) index += stack->omitted;
    uint32_t shown = index < UINT32_MAX ? (uint32_t)index : UINT32_MAX;
    int length = usp_format_frame(NULL, 0, USP_FORMAT_CALL_STACK_SYMBOLS, stack->arch, shown, frame, &symbol);
    if (length < 0) return true;
    char *line = malloc((size_t)length + 1);
    if (line == NULL) return false;
    usp_format_frame(line, (size_t)length + 1, USP_FORMAT_CALL_STACK_SYMBOLS, stack->arch, shown, frame, &symbol);
    put_harmless(page->out, line);
    fputc('\n', page->out);
    free(line);
    return true;
}

static void put_omitted(const struct page *page, const struct usp_stack *stack) {
    begin_note(page, COLOUR_WARNING);
    if (stack->stop == USP_STOP_CAPACITY) {
        fputs("... further frames left out (--max and --tail keep more) ...", page->out);
    } else {
        fprintf(page->out, "... %" PRIu64 " frame%s left out ...", stack->omitted, stack->omitted == 1 ? "" : "s");
    }
    end_note(page);
}

/* Whether a stack that ends so has all its frames. */
static bool is_whole(const struct usp_stack *stack) {
    return stack->stop == USP_STOP_ROOT || stack->stop == USP_STOP_FP_ZERO;
}

static void put_end(const struct page *page, const struct usp_stack *stack) {
    begin_note(page, is_whole(stack) ? COLOUR_QUIET : COLOUR_WARNING);
    fprintf(page->out, "ends: %s", usp_stop_string(stack->stop));
    if (!is_whole(stack) && stack->stop_address != 0) fprintf(page->out, " (0x%" PRIx64 ")", stack->stop_address);
    end_note(page);
    if ((stack->flags & USP_STACK_NO_INSTRUCTIONS) != 0) {
        put_note(page, COLOUR_WARNING, "the code could not be read: walked without looking at instructions");
    }
}

static bool put_async_chain(const struct page *page, const struct usp_stack *stack) {
    begin_note(page, COLOUR_QUIET);
    fputs("asynchronous callers", page->out);
    if (stack->async_join != USP_NO_INDEX) fprintf(page->out, ", from frame %" PRIu32 " on", stack->async_join);
    if ((stack->flags & USP_STACK_TASK_ID) != 0) fprintf(page->out, ", task %" PRIu32, stack->task_id);
    end_note(page);
    for (uint32_t i = stack->physical; i < stack->count; i++) {
        if (!put_frame(page, stack, i)) return false;
    }
    begin_note(page, COLOUR_QUIET);
    if (stack->async_omitted != 0) {
        fprintf(page->out, "%" PRIu64 " asynchronous callers left out; ", stack->async_omitted);
    }
    fprintf(page->out, "ends: %s", usp_stop_string(stack->async_stop));
    end_note(page);
    return true;
}

static bool put_stack(const struct page *page, const struct usp_stack *stack) {
    for (uint32_t i = 0; i < stack->physical; i++) {
        if (i == stack->omitted_at) put_omitted(page, stack);
        if (!put_frame(page, stack, i)) return false;
    }
    if (stack->omitted_at != USP_NO_INDEX && stack->omitted_at >= stack->physical) put_omitted(page, stack);
    put_end(page, stack);
    if (stack->async_stop != USP_STOP_NONE) return put_async_chain(page, stack);
    if ((stack->flags & USP_STACK_EXTENDED) != 0 && stack->extended != USP_NO_INDEX) {
        begin_note(page, COLOUR_QUIET);
        fprintf(page->out, "frame %" PRIu32 " has asynchronous callers (--async shows them)", stack->extended);
        end_note(page);
    }
    return true;
}

bool stack_write_text(const struct stack_report *report, FILE *out) {
    struct page page = {report, usp_snapshot_get_info(report->snapshot), out, colours_wanted(out)};
    put_process(&page);
    const struct usp_snapshot_thread *thread;
    for (size_t i = 0; (thread = usp_snapshot_get_thread(report->snapshot, i)) != NULL; i++) {
        put_heading(&page, thread);
        if (thread->status != USP_OK) {
            begin_note(&page, COLOUR_WARNING);
            fprintf(out, "no stack: %s", usp_strerror(thread->status));
            end_note(&page);
        } else if (!put_stack(&page, &thread->stack)) {
            return false;
        }
    }
    return true;
}
