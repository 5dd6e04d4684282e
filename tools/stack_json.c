/* SPDX-License-Identifier: MIT */
/* `unspool stack --json`. The keys are described in doc/man/unspool.1. */
#include "tools/json.h"
#include "tools/stack.h"

static const char *kind_name(uint32_t kind) {
    switch (kind) {
    case USP_KIND_INTERRUPTED: return "interrupted";
    case USP_KIND_RETURN_ADDRESS: return "return-address";
    case USP_KIND_LINK_REGISTER: return "link-register";
    case USP_KIND_ASYNC_RESUME: return "async-resume";
    case USP_KIND_SIGNAL: return "signal";
    default: return "unknown";
    }
}

static const char *method_name(uint32_t method) {
    switch (method) {
    case USP_METHOD_CONTEXT: return "context";
    case USP_METHOD_LINK_REGISTER: return "link-register";
    case USP_METHOD_FRAME_POINTER: return "frame-pointer";
    case USP_METHOD_INSTRUCTIONS: return "instructions";
    case USP_METHOD_SIGNAL: return "signal";
    case USP_METHOD_ASYNC: return "async";
    case USP_METHOD_UNWIND_TABLE: return "unwind-table";
    default: return "unknown";
    }
}

static const char *strategy_name(uint32_t strategy) {
    switch (strategy) {
    case USP_STRATEGY_DLADDR: return "dladdr";
    case USP_STRATEGY_SYMTAB: return "symtab";
    default: return "none";
    }
}

static const char *os_name(uint32_t os) {
    switch (os) {
    case USP_OS_LINUX: return "linux";
    case USP_OS_DARWIN: return "darwin";
    default: return "unknown";
    }
}

static void put_process(struct json *json, const struct usp_snapshot_info *info) {
    json_begin_object(json, "process");
    json_string(json, "arch", usp_arch_name(info->arch));
    json_string(json, "os", os_name(info->os));
    if (info->pid > 0) json_number(json, "pid", (uint64_t)info->pid);
    json_string(json, "program", info->program != NULL ? info->program : "");
    if (info->time != 0) json_number(json, "time_ns", info->time);
    if (info->stopped_ns != 0) json_number(json, "stopped_ns", info->stopped_ns);
    if (info->signal != 0) json_number(json, "signal", info->signal);
    json_number(json, "threads_missed", info->missed);
    json_end_object(json);
}

static void put_images(struct json *json, const struct usp_images *images) {
    json_begin_array(json, "images");
    for (size_t i = 0; i < usp_images_count(images); i++) {
        const struct usp_image *image = usp_images_get(images, i);
        json_begin_object(json, NULL);
        json_string(json, "path", image->path);
        json_address(json, "load_address", image->load_address);
        json_address(json, "end", image->end);
        if (image->build_id_size > 0) {
            json_bytes(json, (image->flags & USP_IMAGE_MACHO) != 0 ? "uuid" : "build_id", image->build_id,
                       image->build_id_size);
        }
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_frame(struct json *json, const struct stack_report *report, const struct usp_images *images,
                      const struct usp_frame *frame) {
    struct usp_symbol symbol;
    stack_name_frame(report, frame, &symbol);
    const struct usp_image *image = usp_images_find(images, symbol.image_path != NULL ? symbol.image_load : frame->pc);
    json_begin_object(json, NULL);
    json_address(json, "address", frame->pc);
    json_string(json, "kind", kind_name(frame->kind));
    json_string(json, "method", method_name(frame->method));
    if (image != NULL) {
        json_number(json, "image", (uint64_t)(image - usp_images_get(images, 0)));
        json_address(json, "image_offset", frame->pc - image->load_address);
    }
    if (symbol.name != NULL) {
        json_string(json, "symbol", symbol.name);
        json_number(json, "symbol_offset", frame->pc - symbol.start);
        json_string(json, "named_by", strategy_name(symbol.strategy));
    }
    if ((frame->flags & USP_FRAME_UNVERIFIED) != 0) json_bool(json, "unverified", true);
    json_end_object(json);
}

static void put_registers(struct json *json, const struct usp_registers *registers) {
    json_begin_object(json, "registers");
    for (unsigned i = 0; i < USP_REGISTERS_MAX; i++) {
        const char *name = usp_register_name(registers->arch, i);
        if (name != NULL && (registers->known >> i & 1) != 0) json_address(json, name, registers->value[i]);
    }
    json_end_object(json);
}

static void put_stack(struct json *json, const struct stack_report *report, const struct usp_stack *stack) {
    const struct usp_images *images = usp_snapshot_images(report->snapshot);
    json_begin_array(json, "frames");
    for (uint32_t i = 0; i < stack->physical; i++) put_frame(json, report, images, &stack->frames[i]);
    json_end_array(json);
    json_string(json, "ends", usp_stop_string(stack->stop));
    json_address(json, "ends_at", stack->stop_address);
    json_number(json, "omitted", stack->omitted);
    if (stack->omitted_at != USP_NO_INDEX) json_number(json, "omitted_at", stack->omitted_at);
    if ((stack->flags & USP_STACK_NO_INSTRUCTIONS) != 0) json_bool(json, "without_instructions", true);
    if (stack->extended != USP_NO_INDEX) json_number(json, "async_record_at", stack->extended);
    if (stack->async_stop == USP_STOP_NONE) return;
    json_begin_object(json, "async");
    if (stack->async_join != USP_NO_INDEX) json_number(json, "from", stack->async_join);
    if ((stack->flags & USP_STACK_TASK_ID) != 0) json_number(json, "task", stack->task_id);
    json_begin_array(json, "frames");
    for (uint32_t i = stack->physical; i < stack->count; i++) put_frame(json, report, images, &stack->frames[i]);
    json_end_array(json);
    json_string(json, "ends", usp_stop_string(stack->async_stop));
    json_number(json, "omitted", stack->async_omitted);
    json_end_object(json);
}

static void put_thread(struct json *json, const struct stack_report *report, const struct usp_snapshot_info *info,
                       const struct usp_snapshot_thread *thread) {
    json_begin_object(json, NULL);
    json_number(json, "id", thread->info.thread.id);
    json_string(json, "name", thread->info.name);
    json_bool(json, "main", (thread->info.flags & USP_THREAD_MAIN) != 0);
    const char *state = stack_run_state(info, &thread->info);
    if (state != NULL) json_string(json, "state", state);
    if (thread->info.cpu_time != 0) json_number(json, "cpu_time_ns", thread->info.cpu_time);
    if (thread->stopped_ns != 0) json_number(json, "stopped_ns", thread->stopped_ns);
    if (thread->status == USP_OK) {
        put_registers(json, &thread->registers);
        put_stack(json, report, &thread->stack);
    } else {
        json_string(json, "no_stack", usp_strerror(thread->status));
    }
    json_end_object(json);
}

void stack_write_json(const struct stack_report *report, FILE *out) {
    struct json json = {.out = out};
    const struct usp_snapshot_info *info = usp_snapshot_get_info(report->snapshot);
    json_begin_object(&json, NULL);
    json_number(&json, "version", 1);
    put_process(&json, info);
    json_begin_array(&json, "messages");
    const char *message;
    for (size_t i = 0; (message = usp_snapshot_message(report->snapshot, i)) != NULL; i++) {
        json_string(&json, NULL, message);
    }
    json_end_array(&json);
    put_images(&json, usp_snapshot_images(report->snapshot));
    json_begin_array(&json, "threads");
    const struct usp_snapshot_thread *thread;
    for (size_t i = 0; (thread = usp_snapshot_get_thread(report->snapshot, i)) != NULL; i++) {
        put_thread(&json, report, info, thread);
    }
    json_end_array(&json);
    json_end_object(&json);
}
