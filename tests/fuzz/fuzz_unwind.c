/* SPDX-License-Identifier: MIT */
/* libFuzzer: usp_unwind over arbitrary registers, code and stack, for all five processors. In addition to the
 * sanitizers' checks, it checks the contract in unspool/unwind.h: bounds, a stop reason for every stack, the same
 * result twice, and the same frames from the cursor. Input: unwind_input.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <unspool/unspool.h>

#include "tests/fuzz/unwind_input.h"
#include "tests/support/range.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS_MAX 128

struct world {
    const uint8_t *code, *stack;
    size_t code_size, stack_size;
};

static int read_world(void *context, usp_addr from, void *to, size_t n) {
    const struct world *w = context;
    int status = read_range(CODE, w->code, w->code_size, from, to, n);
    return status == USP_OK ? status : read_range(STACK, w->stack, w->stack_size, from, to, n);
}

static int find_region(void *context, usp_addr pc, struct usp_region *region) {
    const struct world *w = context;
    if (pc < CODE || pc - CODE >= w->code_size) return USP_ERROR_NOT_FOUND;
    region->text_low = CODE;
    region->text_high = CODE + w->code_size;
    region->flags = 0;
    return USP_OK;
}

/* Pretends that functions have 64 bytes. */
static int find_start(void *context, usp_addr pc, usp_addr *start, usp_addr *end) {
    const struct world *w = context;
    if (pc < CODE || pc - CODE >= w->code_size) return USP_ERROR_NOT_FOUND;
    *start = pc & ~UINT64_C(63);
    *end = *start + 64;
    return USP_OK;
}

static void require(bool condition) {
    if (!condition) abort();
}

static void check_frame(uint32_t arch, const struct usp_frame *frame) {
    require(frame->kind != USP_FRAME_KIND_NONE && frame->method != USP_FRAME_METHOD_NONE);
    if (arch != USP_ARCH_ARM64 && arch != USP_ARCH_X86_64) require(frame->pc <= UINT32_MAX);
    if (arch == USP_ARCH_ARMV7) require((frame->pc & 1) == 0);
}

static void check_stack(const struct usp_stack *stack, const struct usp_unwind_options *options) {
    require(stack->count <= stack->capacity && stack->physical <= stack->count);
    require(stack->stop != USP_STOP_NONE);
    require(stack->omitted_at == USP_NO_INDEX || (stack->omitted > 0 && stack->omitted_at <= stack->physical));
    require(stack->async_join == USP_NO_INDEX || stack->async_join < stack->count);
    require(stack->extended == USP_NO_INDEX || stack->extended < stack->count);
    require((options->async != 0 && stack->async_stop != USP_STOP_NONE) || stack->count == stack->physical);
    for (uint32_t i = 0; i < stack->count; i++) check_frame(stack->arch, &stack->frames[i]);
}

/* Checks that the cursor gives the same frames, because usp_unwind is a loop over the cursor. */
static void check_cursor(const struct usp_target *target, const struct usp_registers *registers,
                         const struct usp_unwind_options *options, const struct usp_stack *stack) {
    struct usp_cursor cursor;
    struct usp_frame frame;
    struct usp_registers there;
    usp_addr where;
    uint32_t n = 0;
    require(usp_cursor_init(&cursor, target, registers, options) == USP_OK);
    while (usp_cursor_step(&cursor, &frame) == 1) {
        require(n++ < STEPS_MAX);
        require(usp_cursor_registers(&cursor, &there) == USP_OK && there.arch == target->arch);
        if (n <= stack->physical && options->tail == 0 && options->skip == 0) {
            require(memcmp(&frame, &stack->frames[n - 1], sizeof frame) == 0);
        }
    }
    require(usp_cursor_stop(&cursor, &where) != USP_STOP_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct header header;
    struct world world;
    struct usp_target target;
    struct usp_registers registers;
    struct usp_unwind_options options;
    struct usp_frame frames[FRAMES_MAX], again[FRAMES_MAX];
    struct usp_stack stack, second;
    const usp_addr root = CODE + 8;

    if (size < sizeof header) return 0;
    memcpy(&header, data, sizeof header);
    data += sizeof header;
    size -= sizeof header;

    usp_target_init(&target, 1 + header.arch % 5);
    require(usp_registers_init(&registers, target.arch) == USP_OK);
    for (unsigned i = 0; i < header.registers && i < USP_REGISTERS_MAX && size >= sizeof registers.value[i]; i++) {
        memcpy(&registers.value[i], data, sizeof registers.value[i]);
        registers.known |= UINT64_C(1) << i;
        data += sizeof registers.value[i];
        size -= sizeof registers.value[i];
    }
    if ((header.wishes & WISH_THUMB) != 0) registers.flags = 1 << 5;

    world.code = data;
    world.code_size = header.code_length * 4u < size ? header.code_length * 4u : size;
    world.stack = data + world.code_size;
    world.stack_size = size - world.code_size;
    target.os = header.os % 3;
    target.memory.read = read_world;
    target.memory.context = &world;
    target.context = &world;
    target.address_bits = header.address_bits % 65;
    if ((header.wishes & WISH_MASK) != 0) target.pac_mask = UINT64_C(0x7f) << 48;
    if ((header.wishes & WISH_BOUNDS) != 0) {
        target.stack_low = STACK;
        target.stack_high = STACK + world.stack_size;
    }
    if ((header.wishes & WISH_REGIONS) != 0) target.image_at = find_region;
    if ((header.wishes & WISH_STARTS) != 0) target.function_start = find_start;
    if ((header.wishes & WISH_ROOT) != 0) {
        target.roots = &root;
        target.root_count = 1;
    }
    if ((header.wishes & WISH_TASK) != 0) target.swift_task_slot = STACK;

    usp_unwind_options_init(&options);
    options.async = (header.wishes & WISH_ASYNC) != 0;
    options.tail = header.tail % FRAMES_MAX;
    options.skip = header.skip % 4;
    options.step_limit = STEPS_MAX;
    if (header.readers != 0) options.readers = header.readers;

    /* Different contents reveal bytes that are not written, or written differently the second time. */
    memset(frames, 0x55, sizeof frames);
    memset(again, 0xaa, sizeof again);
    usp_stack_init(&stack, frames, header.capacity % (FRAMES_MAX + 1));
    usp_stack_init(&second, again, header.capacity % (FRAMES_MAX + 1));
    int status = usp_unwind(&target, &registers, &options, &stack);
    require(status == usp_unwind(&target, &registers, &options, &second));
    require(status == USP_OK || status == USP_ERROR_ARGUMENT);
    if (status != USP_OK) return 0;
    check_stack(&stack, &options);
    require(stack.count == second.count && stack.hash == second.hash && stack.stop == second.stop);
    require(stack.count == 0 || memcmp(frames, again, stack.count * sizeof *frames) == 0);
    check_cursor(&target, &registers, &options, &stack);
    return 0;
}
