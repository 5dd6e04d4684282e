/* SPDX-License-Identifier: MIT */
/* See stack_text.h. */
#include "stack_text.h"

#include <string.h>

void text_string(usp_write_function write, void *context, const char *text) { write(context, text, strlen(text)); }

void text_number(usp_write_function write, void *context, const char *name, uint64_t value) {
    char digits[17];
    size_t n = sizeof digits;
    do {
        digits[--n] = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value != 0);
    text_string(write, context, " ");
    text_string(write, context, name);
    text_string(write, context, "=");
    write(context, digits + n, sizeof digits - n);
}

static void text_frame(usp_write_function write, void *context, const struct usp_frame *frame) {
    text_number(write, context, "pc", frame->pc);
    text_number(write, context, "cfa", frame->cfa);
    text_number(write, context, "fp", frame->fp);
    text_number(write, context, "kind", frame->kind);
    text_number(write, context, "method", frame->method);
    text_number(write, context, "flags", frame->flags);
    text_string(write, context, "\n");
}

void text_stack(usp_write_function write, void *context, const struct usp_stack *stack) {
    text_string(write, context, "stack");
    text_number(write, context, "status", (uint64_t)(uint32_t)stack->status);
    text_number(write, context, "arch", stack->arch);
    text_number(write, context, "count", stack->count);
    text_number(write, context, "physical", stack->physical);
    text_number(write, context, "stop", stack->stop);
    text_number(write, context, "async_stop", stack->async_stop);
    text_number(write, context, "flags", stack->flags);
    text_number(write, context, "extended", stack->extended);
    text_number(write, context, "join", stack->async_join);
    text_number(write, context, "task", stack->task_id);
    text_number(write, context, "at", stack->stop_address);
    text_string(write, context, "\n");
    for (uint32_t i = 0; i < stack->count; i++) text_frame(write, context, &stack->frames[i]);
}

void text_registers(usp_write_function write, void *context, const struct usp_registers *registers) {
    text_string(write, context, "registers");
    text_number(write, context, "known", registers->known);
    for (unsigned i = 0; i < USP_REGISTERS_MAX; i++) {
        if ((registers->known >> i & 1) != 0) text_number(write, context, "", registers->value[i]);
    }
    text_string(write, context, "\n");
}

void text_thread(usp_write_function write, void *context, const struct usp_thread_info *info) {
    text_string(write, context, "thread ");
    text_string(write, context, info->name);
    text_number(write, context, "id", info->thread.id);
    text_number(write, context, "native", info->thread.native);
    text_number(write, context, "flags", info->flags);
    text_number(write, context, "state", info->run_state);
    text_number(write, context, "time", info->cpu_time);
    text_string(write, context, "\n");
}

void text_images(usp_write_function write, void *context, const struct usp_images *images) {
    for (size_t i = 0; i < usp_images_count(images); i++) {
        const struct usp_image *image = usp_images_get(images, i);
        text_string(write, context, "image ");
        text_string(write, context, image->path);
        text_number(write, context, "load", image->load_address);
        text_number(write, context, "text", image->text_low);
        text_number(write, context, "text_end", image->text_high);
        text_number(write, context, "end", image->end);
        text_number(write, context, "slide", image->slide);
        text_number(write, context, "arch", image->arch);
        /* Only a process itself knows which images are permanent. */
        text_number(write, context, "flags", image->flags & ~(uint32_t)USP_IMAGE_PERMANENT);
        for (uint32_t n = 0; n < image->build_id_size; n++) text_number(write, context, "id", image->build_id[n]);
        text_string(write, context, "\n");
    }
}

struct sink {
    usp_write_function write;
    void *context;
};

static int text_symbol(void *context, const struct usp_symbol *symbol) {
    const struct sink *sink = context;
    text_string(sink->write, sink->context, symbol->name);
    text_number(sink->write, sink->context, "start", symbol->start);
    text_number(sink->write, sink->context, "extent", symbol->extent);
    text_number(sink->write, sink->context, "strategy", symbol->strategy);
    text_string(sink->write, sink->context, "\n");
    return 0;
}

void text_symbols(usp_write_function write, void *context, struct usp_symbolizer *symbolizer,
                  const struct usp_images *images) {
    struct sink sink = {write, context};
    for (size_t i = 0; i < usp_images_count(images); i++) {
        usp_addr load = usp_images_get(images, i)->load_address;
        int status = usp_symbolizer_visit(symbolizer, load, text_symbol, &sink);
        text_number(write, context, "symbols", (uint64_t)(uint32_t)status);
        text_string(write, context, "\n");
    }
}

void text_names(usp_write_function write, void *context, const struct usp_stack *stack,
                struct usp_symbolizer *symbolizer) {
    for (uint32_t i = 0; i < stack->count; i++) {
        struct usp_symbol symbol;
        usp_addr address = usp_frame_call_site(stack->arch, &stack->frames[i]);
        int status = usp_symbolize(symbolizer, address, &symbol);
        text_string(write, context, symbol.name != NULL ? symbol.name : "no name");
        text_number(write, context, "address", address);
        text_number(write, context, "status", (uint64_t)(uint32_t)status);
        text_number(write, context, "offset", symbol.offset);
        text_number(write, context, "strategy", symbol.strategy);
        text_number(write, context, "image", symbol.image_load);
        text_string(write, context, "\n");
    }
}

void text_styles(usp_write_function write, void *context, const struct usp_stack *stack,
                 const struct usp_thread_info *info, struct usp_symbolizer *symbolizer) {
    struct usp_format_options options;
    usp_format_options_init(&options);
    options.symbolizer = symbolizer;
    for (uint32_t style = USP_FORMAT_CALL_STACK_SYMBOLS; style <= USP_FORMAT_FOLDED; style++) {
        options.style = style;
        int status = usp_format_stack(stack, info, &options, write, context);
        text_number(write, context, "style", style);
        text_number(write, context, "status", (uint64_t)(uint32_t)status);
        text_string(write, context, "\n");
    }
}
