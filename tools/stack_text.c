/* SPDX-License-Identifier: MIT */
/* Writes the report of `unspool stack` for people: a heading for each thread, the library's lines for its frames, and
 * why the stack ends. */
#include "tools/stack.h"
#include "tools/stack_repeat.h"
#include "tools/text.h"

#include <inttypes.h>
#include <string.h>

struct page {
    const struct stack_report *report;
    const struct usp_snapshot_info *info;
    FILE *out;
    int colours;
    struct stack_repeat *repeat;
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
    const struct usp_snapshot_thread *thread;
    uint32_t goroutines = 0;
    for (size_t i = 0; (thread = usp_snapshot_get_thread(page->report->snapshot, i)) != NULL; i++) {
        goroutines += (thread->info.flags & USP_THREAD_GOROUTINE) != 0;
    }
    const uint32_t threads = info->thread_count - goroutines;
    fprintf(page->out, ", %s, %" PRIu32 " thread%s", usp_arch_string(info->arch), threads, threads == 1 ? "" : "s");
    if (goroutines != 0) {
        fprintf(page->out, ", %" PRIu32 " goroutine%s that no thread runs", goroutines, goroutines == 1 ? "" : "s");
    }
    if (info->stopped_ns != 0) {
        fputs(", stopped for ", page->out);
        put_milliseconds(page->out, info->stopped_ns);
    }
    const char *signal = usp_signal_string(info->os, info->signal);
    if (signal != NULL) {
        fprintf(page->out, ", ended by %s", signal);
    } else if (info->signal != 0) {
        fprintf(page->out, ", ended by signal %" PRIu32, info->signal);
    }
    fputc('\n', page->out);
    if (info->crash != NULL && info->crash[0] != '\0') {
        fputs("    ", page->out);
        put_harmless(page->out, info->crash);
        fputc('\n', page->out);
    }
    const char *exception = usp_mach_exception_string(info->mach_exception);
    if (exception != NULL) {
        fprintf(page->out, "    %s, code 0x%" PRIx64 ", subcode 0x%" PRIx64 "\n", exception, info->mach_codes[0],
                info->mach_codes[1]);
    }
}

/* Writes what the program and the recorder of a crash report have noted. */
static void put_notes(const struct page *page, const struct usp_snapshot *snapshot) {
    const struct usp_snapshot_note *note;
    for (size_t i = 0; (note = usp_snapshot_get_note(snapshot, i)) != NULL; i++) {
        if (i == 0) fputs("\nNotes\n", page->out);
        fputs("    ", page->out);
        put_harmless(page->out, note->key);
        if (note->key[0] != '\0') fputs(": ", page->out);
        put_harmless(page->out, note->text);
        fputc('\n', page->out);
    }
}

static void put_heading(const struct page *page, const struct usp_snapshot_thread *thread) {
    fputc('\n', page->out);
    put_colour(page->out, page->colours, COLOUR_HEADING);
    const bool is_goroutine = (thread->info.flags & USP_THREAD_GOROUTINE) != 0;
    fprintf(page->out, "%s %" PRIu64, is_goroutine ? "Goroutine" : "Thread", thread->info.thread.id);
    if (thread->info.name[0] != '\0') {
        fputs(" \"", page->out);
        put_harmless(page->out, thread->info.name);
        fputc('"', page->out);
    }
    if (thread->info.queue[0] != '\0') {
        fputs(", queue \"", page->out);
        put_harmless(page->out, thread->info.queue);
        fputc('"', page->out);
    }
    if ((thread->info.flags & USP_THREAD_MAIN) != 0) fputs(" (main)", page->out);
    if ((thread->info.flags & USP_THREAD_CRASHED) != 0) fputs(" (crashed)", page->out);
    if ((thread->info.flags & USP_THREAD_REQUESTER) != 0) fputs(" (asks)", page->out);
    put_colour(page->out, page->colours, COLOUR_NONE);
    const char *state = usp_run_state_string(page->info->os, thread->info.run_state);
    if (state != NULL) fprintf(page->out, ", %s", state);
    if (thread->wait_channel != NULL) {
        fputs(is_goroutine ? " [" : " (", page->out);
        put_harmless(page->out, thread->wait_channel);
        fputc(is_goroutine ? ']' : ')', page->out);
    }
    if (thread->info.cpu_time != 0) {
        fputs(", CPU ", page->out);
        put_milliseconds(page->out, thread->info.cpu_time);
    }
    fputc('\n', page->out);
}

/* Begins an indented line about the stack, which is not a frame. */
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

/* Whether the stack has all its frames, by the reason why it ends. */
static bool is_whole(const struct usp_stack *stack) {
    return stack->stop == USP_STOP_ROOT || stack->stop == USP_STOP_FP_ZERO;
}

static bool is_jvm(const struct usp_image *image) {
    const char *slash = strrchr(image->path, '/'), *name = slash != NULL ? slash + 1 : image->path;
    return strcmp(name, "libjvm.so") == 0 || strcmp(name, "libjvm.dylib") == 0;
}

static bool has_jvm(const struct usp_images *images) {
    const struct usp_image *image;
    for (size_t i = 0; (image = usp_images_get(images, i)) != NULL; i++) {
        if (image->path != NULL && is_jvm(image)) return true;
    }
    return false;
}

/* Whether a frame, after which frames are missing, is in no image, in a process with a JVM: it is in Java code. */
static bool is_java(const struct page *page, const struct usp_frame *frame) {
    const struct usp_images *images = usp_snapshot_images(page->report->snapshot);
    return frame->pc != 0 && usp_images_find(images, frame->pc) == NULL && has_jvm(images);
}

/* Whether the walk has ended because the outermost frame's caller could not be found. */
static bool ends_early(const struct usp_stack *stack) {
    const bool is_limit = stack->stop >= USP_STOP_CAPACITY && stack->stop <= USP_STOP_DEADLINE;
    return stack->physical > 0 && !is_limit && stack->stop != USP_STOP_ROOT && stack->stop != USP_STOP_NOT_COPIED;
}

/* Whether the walk went on behind a frame whose caller could not be found. */
static bool has_gap(const struct usp_stack *stack) {
    return stack->omitted != 0 && stack->omitted_at > 0 && stack->omitted_at < stack->physical &&
           stack->frames[stack->omitted_at].method == USP_FRAME_METHOD_SEARCH;
}

static const char java[] = "Java code compiled without frame pointers: -XX:+PreserveFramePointer";

static void put_end(const struct page *page, const struct usp_stack *stack) {
    if (ends_early(stack) && is_java(page, &stack->frames[stack->physical - 1])) {
        begin_note(page, COLOUR_WARNING);
        fprintf(page->out, "ends: %s", java);
        end_note(page);
        return;
    }
    if (has_gap(stack) && is_java(page, &stack->frames[stack->omitted_at - 1])) {
        begin_note(page, COLOUR_WARNING);
        fprintf(page->out, "frames left out: %s", java);
        end_note(page);
    }
    begin_note(page, is_whole(stack) ? COLOUR_QUIET : COLOUR_WARNING);
    fprintf(page->out, "ends: %s", usp_stop_reason_string(stack->stop));
    if (!is_whole(stack) && stack->stop_address != 0) fprintf(page->out, " (0x%" PRIx64 ")", stack->stop_address);
    end_note(page);
    if ((stack->flags & USP_STACK_NO_INSTRUCTIONS) != 0) {
        put_note(page, COLOUR_WARNING, "the code could not be read: walked without looking at instructions");
    }
    if ((stack->flags & USP_STACK_CORRUPT_TABLE) != 0) {
        put_note(page, COLOUR_WARNING, "an unwind table is damaged: walked without it");
    }
}

static void put_async_end(const struct page *page, const struct usp_stack *stack) {
    begin_note(page, COLOUR_QUIET);
    if ((stack->flags & USP_STACK_TASK_ID) != 0) fprintf(page->out, "task %" PRIu32 "; ", stack->task_id);
    if (stack->async_omitted != 0) {
        fprintf(page->out, "%" PRIu64 " asynchronous callers left out; ", stack->async_omitted);
    }
    fprintf(page->out, "ends: %s", usp_stop_reason_string(stack->async_stop));
    end_note(page);
}

/* Writes which thread holds the lock that the thread waits for. */
static void put_lock(const struct page *page, const struct usp_thread_info *info) {
    const struct usp_snapshot_thread *owner;
    size_t i = 0;
    if (info->lock_owner == 0) return;
    while ((owner = usp_snapshot_get_thread(page->report->snapshot, i)) != NULL &&
           owner->info.thread.id != info->lock_owner) {
        i++;
    }
    if (owner == NULL) return;
    begin_note(page, info->deadlock != 0 ? COLOUR_WARNING : COLOUR_QUIET);
    fprintf(page->out, "waits for a %s that ", usp_lock_kind_string(info->lock_kind));
    if (info->lock_owner == info->thread.id) {
        fprintf(page->out, "it holds itself%s", info->deadlock != 0 ? ": a deadlock" : "");
        end_note(page);
        return;
    }
    fprintf(page->out, "thread %" PRIu64, info->lock_owner);
    if (owner->info.name[0] != '\0') {
        fputs(" \"", page->out);
        put_harmless(page->out, owner->info.name);
        fputc('"', page->out);
    }
    fputs(" holds", page->out);
    if (info->deadlock != 0) fprintf(page->out, ": a deadlock of %" PRIu32 " threads", info->deadlock);
    end_note(page);
}

static int put_stack(const struct page *page, const struct usp_snapshot_thread *thread) {
    const struct usp_stack *stack = &thread->stack;
    put_lock(page, &thread->info);
    if ((thread->info.flags & USP_THREAD_NOT_STOPPED) != 0) {
        put_note(page, COLOUR_QUIET, "not stopped: the stack is that of its system call");
    }
    int status = stack_repeat_write(page->repeat, stack, &page->report->format, page->out);
    put_end(page, stack);
    if (stack->async_stop != USP_STOP_NONE) {
        put_async_end(page, stack);
    } else if ((stack->flags & USP_STACK_EXTENDED) != 0 && stack->extended != USP_NO_INDEX) {
        begin_note(page, COLOUR_QUIET);
        fprintf(page->out, "frame %" PRIu32 " has asynchronous callers (--async shows them)", stack->extended);
        end_note(page);
    }
    return status;
}

static void put_wait(const struct page *page, const struct usp_task *task) {
    switch (task->wait) {
    case USP_TASK_WAIT_TASK: fprintf(page->out, ", awaits task %" PRIu64, task->awaited); break;
    case USP_TASK_WAIT_CONTINUATION: fputs(", awaits a continuation", page->out); break;
    case USP_TASK_WAIT_GROUP: fputs(", awaits a child of its task group", page->out); break;
    default: break;
    }
}

static const char *state_in_words(const struct usp_task *task) {
    switch (task->state) {
    case USP_TASK_ENQUEUED: return "waits for its executor";
    case USP_TASK_CREATED: return "has not begun";
    default: return usp_task_state_string(task->state);
    }
}

static int put_task(const struct page *page, const struct usp_task *task) {
    fputc('\n', page->out);
    put_colour(page->out, page->colours, COLOUR_HEADING);
    fprintf(page->out, "Task %" PRIu64, task->id);
    put_colour(page->out, page->colours, COLOUR_NONE);
    fprintf(page->out, ", %s", state_in_words(task));
    put_wait(page, task);
    if (task->parent != 0) fprintf(page->out, ", child of task %" PRIu64, task->parent);
    if ((task->flags & USP_TASK_CANCELLED) != 0) fputs(", cancelled", page->out);
    fputc('\n', page->out);
    int status = stack_repeat_write(page->repeat, &task->stack, &page->report->format, page->out);
    put_end(page, &task->stack);
    return status;
}

static int put_tasks(const struct page *page) {
    const struct usp_tasks_info *info = usp_tasks_get_info(page->report->tasks);
    const struct usp_task *task;
    int status = USP_OK;
    fprintf(page->out, "\n%" PRIu32 " task%s that no thread runs, %" PRIu32 " running", info->count,
            info->count == 1 ? "" : "s", info->running);
    if (info->changed != 0) fprintf(page->out, ", %" PRIu32 " changed while they were read", info->changed);
    fputc('\n', page->out);
    for (size_t i = 0; status == USP_OK && (task = usp_tasks_get(page->report->tasks, i)) != NULL; i++) {
        status = put_task(page, task);
    }
    return status;
}

/* Writes the stack that threw the exception by which the program ended. */
static int put_exception(const struct page *page) {
    const struct usp_stack *stack = usp_snapshot_exception(page->report->snapshot);
    if (stack == NULL) return USP_OK;
    fputc('\n', page->out);
    put_colour(page->out, page->colours, COLOUR_HEADING);
    fputs("Exception, thrown in", page->out);
    put_colour(page->out, page->colours, COLOUR_NONE);
    fputc('\n', page->out);
    const int status = stack_repeat_write(page->repeat, stack, &page->report->format, page->out);
    if (stack->omitted == 0) return status;
    begin_note(page, COLOUR_WARNING);
    fprintf(page->out, "%" PRIu64 " outer frames were left out", stack->omitted);
    end_note(page);
    return status;
}

int stack_write_text(const struct stack_report *report, FILE *out) {
    struct stack_repeat repeat = {.oldest = 0};
    struct page page = {report, usp_snapshot_get_info(report->snapshot), out, colours_wanted(out), &repeat};
    int status = USP_OK;
    put_process(&page);
    put_notes(&page, report->snapshot);
    /* Finding names may take a while. */
    fflush(out);
    status = put_exception(&page);
    const struct usp_snapshot_thread *thread;
    for (size_t i = 0; status == USP_OK && (thread = usp_snapshot_get_thread(report->snapshot, i)) != NULL; i++) {
        put_heading(&page, thread);
        if (thread->status == USP_ERROR_NO_THREAD) {
            put_note(&page, COLOUR_QUIET, "no stack: the thread ended before it was stopped");
            continue;
        }
        if (thread->status != USP_OK) {
            begin_note(&page, COLOUR_WARNING);
            fprintf(out, "no stack: %s", usp_status_string(thread->status));
            end_note(&page);
            continue;
        }
        status = put_stack(&page, thread);
    }
    if (status == USP_OK && report->tasks != NULL) status = put_tasks(&page);
    stack_repeat_free(&repeat);
    return status;
}
