/* SPDX-License-Identifier: MIT */
/* Writes stacks and snapshots as JSON. doc/schema/stacks.schema.json describes each key; a change here needs a change
 * there. */
#include "lib/report/report.h"

#include "lib/base/signal_names.h"

const char *uspi_frame_kind_name(uint32_t kind) {
    switch (kind) {
    case USP_FRAME_KIND_INTERRUPTED: return "interrupted";
    case USP_FRAME_KIND_RETURN_ADDRESS: return "return-address";
    case USP_FRAME_KIND_LINK_REGISTER: return "link-register";
    case USP_FRAME_KIND_ASYNC_RESUME: return "async-resume";
    case USP_FRAME_KIND_SIGNAL: return "signal";
    default: return "unknown";
    }
}

const char *uspi_frame_method_name(uint32_t method) {
    switch (method) {
    case USP_FRAME_METHOD_CONTEXT: return "context";
    case USP_FRAME_METHOD_LINK_REGISTER: return "link-register";
    case USP_FRAME_METHOD_FRAME_POINTER: return "frame-pointer";
    case USP_FRAME_METHOD_INSTRUCTIONS: return "instructions";
    case USP_FRAME_METHOD_SIGNAL: return "signal";
    case USP_FRAME_METHOD_ASYNC: return "async";
    case USP_FRAME_METHOD_COMPACT: return "compact-unwind";
    case USP_FRAME_METHOD_CFI: return "cfi";
    case USP_FRAME_METHOD_EHABI: return "ehabi";
    case USP_FRAME_METHOD_GO: return "go";
    case USP_FRAME_METHOD_SEARCH: return "search";
    default: return "unknown";
    }
}

static const char *os_name(uint32_t os) {
    switch (os) {
    case USP_OS_LINUX: return "linux";
    case USP_OS_DARWIN: return "darwin";
    default: return "unknown";
    }
}

static void put_mach_exception(struct uspi_json *json, const struct usp_snapshot_info *info) {
    const char *name = uspi_mach_exception_name(info->mach_exception);
    const char *code = uspi_mach_code_name(info->arch, info->mach_exception, info->mach_codes[0]);
    if (info->mach_exception == 0) return;
    uspi_json_begin_object(json, "mach_exception");
    uspi_json_number(json, "number", info->mach_exception);
    if (name != NULL) uspi_json_string(json, "name", name);
    uspi_json_address(json, "code", info->mach_codes[0]);
    if (code != NULL) uspi_json_string(json, "code_name", code);
    uspi_json_address(json, "subcode", info->mach_codes[1]);
    uspi_json_end_object(json);
}

static void put_process(struct uspi_json *json, const struct usp_snapshot_info *info) {
    uspi_json_begin_object(json, "process");
    uspi_json_string(json, "arch", usp_arch_string(info->arch));
    uspi_json_string(json, "os", os_name(info->os));
    if (info->pid > 0) uspi_json_number(json, "pid", (uint64_t)info->pid);
    uspi_json_string(json, "program", info->program != NULL ? info->program : "");
    if (info->time != 0) uspi_json_number(json, "time_ns", info->time);
    if (info->stopped_ns != 0) uspi_json_number(json, "stopped_ns", info->stopped_ns);
    if (info->signal != 0) {
        const char *name = usp_signal_string(info->os, info->signal);
        uspi_json_number(json, "signal", info->signal);
        if (name != NULL) uspi_json_string(json, "signal_name", name);
    }
    if (info->crash != NULL && info->crash[0] != '\0') {
        uspi_json_integer(json, "signal_code", info->signal_code);
        uspi_json_string(json, "crash", info->crash);
    }
    put_mach_exception(json, info);
    if (info->crashed_thread != 0) uspi_json_number(json, "crashed_thread", info->crashed_thread);
    if ((info->flags & USP_SNAPSHOT_FAULT) != 0) uspi_json_address(json, "fault_address", info->fault_address);
    uspi_json_number(json, "threads_missed", info->missed);
    uspi_json_end_object(json);
}

static void put_images(struct uspi_json *json, const struct usp_images *images) {
    uspi_json_begin_array(json, "images");
    for (size_t i = 0; i < usp_images_count(images); i++) {
        uspi_json_image(json, usp_images_get(images, i));
    }
    uspi_json_end_array(json);
}

static void put_inlined(struct uspi_json *json, const struct uspi_report *report, const struct uspi_shown *shown) {
    if (shown->named.inlined_count == 0) return;
    uspi_json_begin_array(json, "inlined");
    for (uint32_t i = 0; i < shown->named.inlined_count; i++) {
        const struct usp_source_frame *frame = &shown->named.inlined[i];
        uspi_json_begin_object(json, NULL);
        uspi_json_string(json, "symbol", uspi_report_name(report, frame));
        uspi_json_source(json, frame);
        uspi_json_end_object(json);
    }
    uspi_json_end_array(json);
}

/* The names of the functions that share a frame's code. */
struct aliases {
    struct uspi_json *json;
    const struct uspi_report *report;
    const char *shown; /* the one that is written as the frame's own */
};

/* A usp_name_visitor. */
static int put_alias(void *context, const char *name) {
    const struct aliases *aliases = context;
    if (strcmp(name, aliases->shown) == 0) return 0;
    uspi_json_string(aliases->json, NULL, usp_demangle(aliases->report->options.demangler, name));
    return 0;
}

static void put_aliases(struct uspi_json *json, const struct uspi_report *report, const struct uspi_shown *shown) {
    const struct usp_source_frame *source = &shown->named.source;
    struct aliases aliases = {json, report, shown->mangled};
    if (shown->mangled == NULL || (source->flags & USP_SOURCE_FOLDED) == 0) return;
    uspi_json_begin_array(json, "aliases");
    uspi_visit_names_of(report->options.symbolizer, shown->image, source->address, put_alias, &aliases);
    uspi_json_end_array(json);
}

/* Writes what is known of a frame's code: function, line, inlined calls. Code without a function can have lines. */
static void put_function(struct uspi_json *json, const struct uspi_report *report, const struct uspi_shown *shown) {
    const struct usp_symbol *symbol = &shown->named.symbol;
    if (symbol->name != NULL) {
        uspi_json_string(json, "symbol", symbol->name);
        if (strcmp(symbol->name, shown->mangled) != 0) uspi_json_string(json, "mangled", shown->mangled);
        uspi_json_number(json, "symbol_offset", uspi_target_offset(shown->backend, shown->frame->pc, symbol->start));
        uspi_json_string(json, "named_by", usp_strategy_string(symbol->strategy));
    }
    put_aliases(json, report, shown);
    uspi_json_source(json, &shown->named.source);
    put_inlined(json, report, shown);
}

/* Writes the functions between a frame and the one that it called. They made tail calls, so they left no frame. */
static void put_tail_calls(struct uspi_json *json, const struct uspi_report *report, const struct usp_stack *stack,
                           uint32_t i) {
    struct uspi_shown shown;
    struct usp_frame frame;
    usp_addr jumps[USPI_TAIL_CALLS_MAX];
    const uint32_t count = i > 0 ? uspi_report_tail_calls(report, stack, i - 1, jumps) : 0;
    if (count == 0) return;
    uspi_json_begin_array(json, "tail_calls");
    for (uint32_t k = 0; k < count; k++) {
        if (!uspi_report_inferred(report, stack, i, jumps[k], &frame, &shown)) continue;
        uspi_json_begin_object(json, NULL);
        uspi_json_address(json, "address", frame.pc);
        put_function(json, report, &shown);
        uspi_json_end_object(json);
    }
    uspi_json_end_array(json);
}

static void put_frame(struct uspi_json *json, const struct uspi_report *report, const struct usp_stack *stack,
                      uint32_t i) {
    struct uspi_shown shown;
    if (!uspi_report_frame(report, stack, i, &shown)) return;
    const struct usp_symbol *symbol = &shown.named.symbol;
    usp_addr pc = shown.frame->pc;
    uspi_json_begin_object(json, NULL);
    uspi_json_number(json, "index", i);
    uspi_json_address(json, "address", pc);
    uspi_json_string(json, "kind", uspi_frame_kind_name(shown.frame->kind));
    uspi_json_string(json, "method", uspi_frame_method_name(shown.frame->method));
    if (shown.image != NULL) {
        uspi_json_number(json, "image", (uint64_t)(shown.image - usp_images_get(report->images, 0)));
        uspi_json_address(json, "image_offset", uspi_target_offset(shown.backend, pc, shown.image->load_address));
    } else if (symbol->image_path != NULL) {
        /* There is no list of images to refer to, so the frame describes its own image. */
        uspi_json_string(json, "image_path", symbol->image_path);
        if (symbol->build_id_size > 0) uspi_json_bytes(json, "image_id", symbol->build_id, symbol->build_id_size);
        uspi_json_address(json, "image_offset", uspi_target_offset(shown.backend, pc, symbol->image_load));
    }
    put_function(json, report, &shown);
    if ((shown.frame->flags & USP_FRAME_UNVERIFIED) != 0) uspi_json_bool(json, "unverified", true);
    put_tail_calls(json, report, stack, i);
    uspi_json_end_object(json);
}

static void put_registers(struct uspi_json *json, const struct usp_registers *registers) {
    uspi_json_begin_object(json, "registers");
    for (unsigned i = 0; i < USP_REGISTERS_MAX; i++) {
        const char *name = usp_register_name(registers->arch, i);
        if (name != NULL && (registers->known >> i & 1) != 0) uspi_json_address(json, name, registers->value[i]);
    }
    uspi_json_end_object(json);
}

static void put_frames(struct uspi_json *json, const struct uspi_report *report, const struct usp_stack *stack) {
    uspi_json_begin_array(json, "frames");
    for (uint32_t i = 0; i < stack->physical; i++) put_frame(json, report, stack, i);
    uspi_json_end_array(json);
}

static void put_stack(struct uspi_json *json, const struct uspi_report *report, const struct usp_stack *stack) {
    put_frames(json, report, stack);
    uspi_json_string(json, "ends", usp_stop_reason_string(stack->stop));
    uspi_json_address(json, "ends_at", stack->stop_address);
    uspi_json_number(json, "omitted", stack->omitted);
    if (stack->omitted_at != USP_NO_INDEX) uspi_json_number(json, "omitted_at", stack->omitted_at);
    if ((stack->flags & USP_STACK_OMITTED_MORE) != 0) uspi_json_bool(json, "omitted_more", true);
    if ((stack->flags & USP_STACK_NO_INSTRUCTIONS) != 0) uspi_json_bool(json, "without_instructions", true);
    if ((stack->flags & USP_STACK_CORRUPT_TABLE) != 0) uspi_json_bool(json, "corrupt_table", true);
    if (stack->extended != USP_NO_INDEX) uspi_json_number(json, "async_record_at", stack->extended);
    if (stack->async_stop == USP_STOP_NONE) return;
    uspi_json_begin_object(json, "async");
    if (stack->async_join != USP_NO_INDEX) uspi_json_number(json, "from", stack->async_join);
    if ((stack->flags & USP_STACK_TASK_ID) != 0) uspi_json_number(json, "task", stack->task_id);
    uspi_json_begin_array(json, "frames");
    for (uint32_t i = stack->physical; i < stack->count; i++) put_frame(json, report, stack, i);
    uspi_json_end_array(json);
    uspi_json_string(json, "ends", usp_stop_reason_string(stack->async_stop));
    uspi_json_number(json, "omitted", stack->async_omitted);
    uspi_json_end_object(json);
}

static void put_task(struct uspi_json *json, const struct uspi_report *report, const struct usp_task *task) {
    uspi_json_begin_object(json, NULL);
    uspi_json_number(json, "id", task->id);
    uspi_json_address(json, "task_address", task->address);
    uspi_json_string(json, "state", usp_task_state_string(task->state));
    if (task->wait != USP_TASK_WAIT_UNKNOWN) uspi_json_string(json, "waits_for", usp_task_wait_string(task->wait));
    if (task->awaited != 0) uspi_json_number(json, "awaited_task", task->awaited);
    if (task->parent != 0) uspi_json_number(json, "parent_task", task->parent);
    uspi_json_number(json, "priority", task->priority);
    if ((task->flags & USP_TASK_CANCELLED) != 0) uspi_json_bool(json, "cancelled", true);
    if ((task->flags & USP_TASK_GROUP_CHILD) != 0) uspi_json_bool(json, "group_child", true);
    if ((task->flags & USP_TASK_ASYNC_LET) != 0) uspi_json_bool(json, "async_let", true);
    put_stack(json, report, &task->stack);
    uspi_json_end_object(json);
}

static void put_tasks(struct uspi_json *json, const struct uspi_report *report, const struct usp_tasks *tasks) {
    const struct usp_tasks_info *info = usp_tasks_get_info(tasks);
    const struct usp_task *task;
    uspi_json_begin_array(json, "tasks");
    for (size_t i = 0; (task = usp_tasks_get(tasks, i)) != NULL; i++) put_task(json, report, task);
    uspi_json_end_array(json);
    uspi_json_number(json, "tasks_running", info->running);
    uspi_json_number(json, "tasks_changed", info->changed);
    uspi_json_bool(json, "tasks_cut", (info->flags & USP_TASKS_CUT) != 0);
}

/* Writes for which lock a thread waits, and which thread holds it. */
static void put_lock(struct uspi_json *json, const struct uspi_report *report,
                     const struct usp_snapshot_thread *thread) {
    size_t number;
    const struct usp_snapshot_thread *owner = uspi_report_lock_owner(report, thread, &number);
    if (owner == NULL) return;
    uspi_json_begin_object(json, "waits_for_lock");
    uspi_json_string(json, "kind", usp_lock_kind_string(thread->info.lock_kind));
    if (thread->lock != 0) uspi_json_address(json, "lock_address", thread->lock);
    uspi_json_number(json, "held_by", owner->info.thread.id);
    uspi_json_string(json, "held_by_name", owner->info.name);
    if (thread->info.deadlock != 0) uspi_json_number(json, "deadlock", thread->info.deadlock);
    uspi_json_end_object(json);
}

static void put_thread(struct uspi_json *json, const struct uspi_report *report,
                       const struct usp_snapshot_thread *thread) {
    uspi_json_begin_object(json, NULL);
    uspi_json_number(json, "id", thread->info.thread.id);
    uspi_json_string(json, "name", thread->info.name);
    if (thread->info.queue[0] != '\0') uspi_json_string(json, "queue", thread->info.queue);
    uspi_json_bool(json, "main", (thread->info.flags & USP_THREAD_MAIN) != 0);
    if ((thread->info.flags & USP_THREAD_CRASHED) != 0) uspi_json_bool(json, "crashed", true);
    const char *state = usp_run_state_string(report->info->os, thread->info.run_state);
    if (state != NULL) uspi_json_string(json, "state", state);
    if ((thread->info.flags & USP_THREAD_NOT_STOPPED) != 0) uspi_json_bool(json, "not_stopped", true);
    if (thread->wait_channel != NULL) uspi_json_string(json, "waits_in", thread->wait_channel);
    put_lock(json, report, thread);
    if (thread->info.cpu_time != 0) uspi_json_number(json, "cpu_time_ns", thread->info.cpu_time);
    if (thread->stopped_ns != 0) uspi_json_number(json, "stopped_ns", thread->stopped_ns);
    if (thread->status == USP_OK) {
        put_registers(json, &thread->registers);
        put_stack(json, report, &thread->stack);
    } else {
        uspi_json_string(json, "no_stack", usp_status_string(thread->status));
    }
    uspi_json_end_object(json);
}

/* Writes the threads, and the goroutines, which are listed after them. */
static void put_threads(struct uspi_json *json, const struct uspi_report *report) {
    const struct usp_snapshot_thread *thread;
    bool has_goroutines = false;
    uspi_json_begin_array(json, "threads");
    for (size_t i = 0; (thread = uspi_report_thread(report, i)) != NULL; i++) {
        if (!has_goroutines && (thread->info.flags & USP_THREAD_GOROUTINE) != 0) {
            uspi_json_end_array(json);
            uspi_json_begin_array(json, "goroutines");
            has_goroutines = true;
        }
        put_thread(json, report, thread);
    }
    uspi_json_end_array(json);
}

static const char *note_kind(uint32_t kind) {
    switch (kind) {
    case USP_NOTE_VALUE: return "value";
    case USP_NOTE_BREADCRUMB: return "breadcrumb";
    case USP_NOTE_CALLBACK: return "callback";
    case USP_NOTE_RECORDER: return "recorder";
    case USP_NOTE_MESSAGE: return "message";
    default: return "other";
    }
}

/* Writes what a crash report notes. */
static void put_notes(struct uspi_json *json, const struct usp_snapshot *snapshot) {
    const struct usp_snapshot_note *note;
    if (usp_snapshot_get_note(snapshot, 0) == NULL) return;
    uspi_json_begin_array(json, "notes");
    for (size_t i = 0; (note = usp_snapshot_get_note(snapshot, i)) != NULL; i++) {
        uspi_json_begin_object(json, NULL);
        uspi_json_string(json, "kind", note_kind(note->kind));
        if (note->time != 0) uspi_json_number(json, "time_ns", note->time);
        if (note->key[0] != '\0') uspi_json_string(json, "key", note->key);
        uspi_json_string(json, "text", note->text);
        uspi_json_end_object(json);
    }
    uspi_json_end_array(json);
}

/* Writes the stack that threw the exception, if there is one. */
static void put_exception(struct uspi_json *json, const struct uspi_report *report) {
    const struct usp_stack *stack = usp_snapshot_exception(report->snapshot);
    if (stack == NULL) return;
    uspi_json_begin_object(json, "exception");
    put_frames(json, report, stack);
    uspi_json_number(json, "omitted", stack->omitted);
    uspi_json_end_object(json);
}

void uspi_report_json(struct uspi_report *report) {
    struct uspi_json json = {.out = &report->text};
    uspi_json_begin_object(&json, NULL);
    uspi_json_number(&json, "version", 1);
    put_process(&json, report->info);
    uspi_json_begin_array(&json, "messages");
    const char *message;
    for (size_t i = 0; (message = usp_snapshot_message(report->snapshot, i)) != NULL; i++) {
        uspi_json_string(&json, NULL, message);
    }
    uspi_json_end_array(&json);
    put_notes(&json, report->snapshot);
    put_exception(&json, report);
    put_images(&json, report->images);
    put_threads(&json, report);
    if (report->options.tasks != NULL) put_tasks(&json, report, report->options.tasks);
    uspi_json_end_object(&json);
}
