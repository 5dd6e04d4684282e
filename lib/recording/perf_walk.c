/* SPDX-License-Identifier: MIT */
/* See perf_walk.h. Sources of the registers' order: Linux arch/{x86,arm64,arm}/include/uapi/asm/perf_regs.h,
 * arch/arm64/kernel/perf_regs.c. */
#include "lib/recording/perf_walk.h"

#include "lib/unwind/unwind.h"

#define NO_REGISTER 0xffu

enum abi { ABI_32 = 1, ABI_64 = 2 };

/* arm64's registers, with the same numbers in perf and DWARF. */
enum { LINK = 30, STACK_POINTER = 31, PC = 32 };

/* A value of the stack pointer for a walk without a stack; there is no memory. */
#define PLACE_OF_STACK UINT64_C(0x7ff000000000)

#define MASK_ARM    UINT64_C(0xffff)
#define MASK_ARM64  UINT64_C(0x1ffffffff)
#define MASK_X86    UINT64_C(0xff0fff)
#define MASK_X86_32 UINT64_C(0xfff)

uint32_t uspi_perf_arch_of(uint64_t mask) {
    if ((mask & MASK_ARM64) == MASK_ARM64) return USP_ARCH_ARM64;
    if (mask == MASK_ARM) return USP_ARCH_ARMV7;
    if ((mask & MASK_X86) == MASK_X86) return USP_ARCH_X86_64;
    return mask == MASK_X86_32 ? USP_ARCH_I386 : USP_ARCH_NONE;
}

/* Returns the processor whose instructions the process runs. */
static uint32_t arch_of_abi(uint32_t arch, uint64_t abi) {
    if (abi != ABI_32) return arch;
    return arch == USP_ARCH_X86_64 ? USP_ARCH_I386 : arch == USP_ARCH_ARM64 ? USP_ARCH_ARMV7 : arch;
}

/* Returns the DWARF number of perf's register i. `of` is the process's processor, `arch` the recording's. */
static unsigned number_of(uint32_t arch, uint32_t of, unsigned i) {
    /* ax bx cx dx si di bp sp ip, then flags and segments, and r8 … r15 from 16 on. */
    static const uint8_t wide_x86[] = {0, 3, 2, 1, 4, 5, 6, 7, 16};
    static const uint8_t narrow_x86[] = {0, 3, 1, 2, 6, 7, 5, 4, 8};
    switch (of) {
    case USP_ARCH_X86_64:
        if (i < sizeof wide_x86) return wide_x86[i];
        return i >= 16 && i < 24 ? i - 8 : NO_REGISTER;
    case USP_ARCH_I386: return i < sizeof narrow_x86 ? narrow_x86[i] : NO_REGISTER;
    case USP_ARCH_ARM64: return i < 33 ? i : NO_REGISTER;
    case USP_ARCH_ARMV7:
        if (arch != USP_ARCH_ARM64) return i < 16 ? i : NO_REGISTER;
        /* A process of 32 bits on arm64. */
        return i <= 12 ? i : i == 30 ? 14 : i == 31 ? 13 : i == 32 ? 15 : NO_REGISTER;
    default: return NO_REGISTER;
    }
}

/* Takes the registers of the dump. Returns false if a walk cannot begin with them. */
static bool take_registers(const struct uspi_perf_walk *walk, const struct uspi_perf_sample *sample,
                           struct usp_registers *registers) {
    const uint32_t arch = walk->arch != USP_ARCH_NONE ? walk->arch : uspi_perf_arch_of(sample->mask);
    const uint32_t of = arch_of_abi(arch, sample->abi);
    const uint8_t *at = sample->registers;
    if (at == NULL || usp_registers_init(registers, of) != USP_OK) return false;
    for (unsigned i = 0; i < 64; i++) {
        if ((sample->mask >> i & 1) == 0) continue;
        const uint64_t value = uspi_le64(at);
        const unsigned number = number_of(arch, of, i);
        at += 8;
        if (number == NO_REGISTER) continue;
        registers->value[number] = of == USP_ARCH_I386 || of == USP_ARCH_ARMV7 ? (uint32_t)value : value;
        registers->known |= UINT64_C(1) << number;
    }
    return usp_registers_pc(registers) != 0 && usp_registers_sp(registers) != 0;
}

/* ---- chains ---- */

static void append_frame(const struct uspi_perf_walk *walk, uint64_t pc, bool is_exact, struct usp_stack *stack) {
    if (stack->count == walk->capacity) {
        stack->stop = USP_STOP_CAPACITY;
        stack->omitted = 1;
        return;
    }
    struct usp_frame *frame = &stack->frames[stack->count++];
    *frame =
        (struct usp_frame){.pc = pc, .kind = USP_FRAME_KIND_RETURN_ADDRESS, .method = USP_FRAME_METHOD_FRAME_POINTER};
    if (is_exact || walk->callers_are_adjusted) frame->kind = USP_FRAME_KIND_INTERRUPTED;
    if (is_exact) frame->method = USP_FRAME_METHOD_CONTEXT;
}

void uspi_perf_walk_append(const struct uspi_perf_walk *walk, const uint8_t *addresses, uint64_t count,
                           struct usp_stack *stack) {
    for (uint64_t i = 0; i < count; i++) append_frame(walk, uspi_le64(addresses + 8 * (size_t)i), i == 0, stack);
    stack->physical = stack->count;
}

/* Appends the part of a chain that belongs to the kernel or to the process. */
static void append_chain(const struct uspi_perf_walk *walk, const struct uspi_perf_sample *sample, bool of_kernel,
                         struct usp_stack *stack) {
    bool is_kernel = sample->mode == USPI_PERF_MODE_KERNEL, is_first = true, is_skipped = false;
    for (uint64_t i = 0; i < sample->chain_count; i++) {
        const uint64_t pc = uspi_le64(sample->chain + 8 * (size_t)i);
        if (pc >= USPI_PERF_CONTEXT_LEAST) {
            is_kernel = pc == USPI_PERF_CONTEXT_KERNEL;
            /* A hypervisor's or guest's addresses mean nothing here, and a cookie is none. */
            is_skipped = !is_kernel && pc != USPI_PERF_CONTEXT_USER;
            is_first = true;
            continue;
        }
        /* No function is at address 0: kernels write it where a chain of frame records ends. */
        if (!is_skipped && is_kernel == of_kernel && pc != 0) append_frame(walk, pc, is_first, stack);
        is_first = false;
    }
}

/* Appends the process's part that the processor has recorded: where the sample was taken, by the chain, and the calls
 * that led there. */
static void append_calls(const struct uspi_perf_walk *walk, const struct uspi_perf_sample *sample,
                         struct usp_stack *stack) {
    const uint32_t of_kernel = stack->count;
    append_chain(walk, sample, false, stack);
    if (stack->count > of_kernel + 1) stack->count = of_kernel + 1;
    if (stack->count == of_kernel && sample->mode == USPI_PERF_MODE_USER) append_frame(walk, sample->ip, true, stack);
    for (uint64_t i = 0; i < sample->call_count; i++) {
        const uint32_t before = stack->count;
        append_frame(walk, uspi_le64(sample->calls + 24 * (size_t)i), true, stack);
        if (stack->count > before) stack->frames[before].method = USP_FRAME_METHOD_NONE;
    }
}

/* ---- dumps ---- */

/* The memory of a process: its stack, and its images' files. */
struct dumped_memory {
    struct uspi_copied stack;
    struct uspi_core_memory *files;
};

static int read_dumped(void *context, usp_addr from, void *to, size_t n) {
    const struct dumped_memory *memory = context;
    if (uspi_read_copied(&memory->stack, from, to, n)) return USP_OK;
    return uspi_core_memory_read(memory->files, from, to, n);
}

/* Whether the walk ended because the dump does. */
static bool ends_with_dump(const struct usp_stack *stack) {
    switch (stack->stop) {
    case USP_STOP_ROOT:
    case USP_STOP_FP_ZERO:
    case USP_STOP_RA_ZERO:
    case USP_STOP_CAPACITY: return false;
    default: return true;
    }
}

/* Unwinds from registers with the sample's part of the stack, which may be empty. is_part: the stack continues where
 * that part ends. Returns false when it is not possible. */
static bool unwind(const struct uspi_perf_walk *walk, const struct uspi_perf_sample *sample,
                   const struct usp_registers *registers, bool is_part, struct uspi_perf_view *view,
                   struct usp_stack *user) {
    struct usp_target target;
    struct usp_unwind_options options;
    struct dumped_memory memory = {.stack = {sample->stack, usp_registers_sp(registers), (size_t)sample->stack_size},
                                   .files = &view->memory};
    usp_target_init(&target, registers->arch);
    usp_unwind_options_init(&options);
    target.os = USP_OS_LINUX;
    if (registers->arch == USP_ARCH_ARM64) target.pac_mask = walk->pac_mask;
    target.memory = (struct usp_memory){read_dumped, &memory};
    target.code = (struct usp_memory){uspi_core_memory_read, &view->memory};
    uspi_image_tables_describe(view->tables, &target);
    const struct uspi_shortcuts shortcuts = {
        .rules = view->rules, .stack = memory.stack, .beside = view->tables, .stack_continues = is_part};
    return user->capacity > 0 && uspi_unwind(&target, registers, false, &shortcuts, &options, user) == USP_OK;
}

/* Unwinds the dump. Returns false when there is none. */
static bool unwind_dump(const struct uspi_perf_walk *walk, const struct uspi_perf_sample *sample,
                        struct uspi_perf_view *view, struct usp_stack *stack) {
    struct usp_registers registers;
    struct usp_stack user;
    if (sample->abi == 0 || sample->stack_size == 0 || !take_registers(walk, sample, &registers)) return false;
    usp_stack_init(&user, stack->frames + stack->count, walk->capacity - stack->count);
    if (!unwind(walk, sample, &registers, sample->stack_is_full, view, &user)) return false;
    stack->count += user.count;
    stack->stop = user.stop;
    stack->omitted = user.omitted;
    stack->omitted_at = user.omitted_at != USP_NO_INDEX ? user.omitted_at + stack->physical : USP_NO_INDEX;
    stack->stop_address = user.stop_address;
    stack->flags = user.flags;
    stack->hash = user.hash;
    return user.count > 0;
}

/* Returns the value of the link register, if the sample has it. */
static bool take_link(const struct uspi_perf_sample *sample, uint64_t *link) {
    const uint8_t *at = sample->registers;
    if (at == NULL || (sample->mask >> LINK & 1) == 0) return false;
    for (unsigned i = 0; i < LINK; i++) at += 8 * (sample->mask >> i & 1);
    *link = uspi_le64(at);
    return true;
}

/* Inserts the caller of a function that has made no frame record on arm64: the kernel's chain of frame records goes on
 * with the caller's caller. perf samples the link register for this, which holds the return address if the unwind rule
 * says so. `first`: index of the process's innermost frame. */
static void insert_leaf_caller(const struct uspi_perf_walk *walk, const struct uspi_perf_sample *sample,
                               struct uspi_perf_view *view, uint32_t first, struct usp_stack *stack) {
    struct usp_registers registers;
    struct usp_frame frames[2];
    struct usp_stack user;
    if (walk->arch != USP_ARCH_ARM64 || sample->abi != ABI_64 || stack->count <= first) return;
    if (stack->count == walk->capacity || usp_registers_init(&registers, USP_ARCH_ARM64) != USP_OK) return;
    if (!take_link(sample, &registers.value[LINK])) return;
    registers.value[STACK_POINTER] = PLACE_OF_STACK;
    registers.value[PC] = stack->frames[first].pc;
    registers.known = UINT64_C(1) << LINK | UINT64_C(1) << STACK_POINTER | UINT64_C(1) << PC;
    usp_stack_init(&user, frames, 2);
    /* Most functions have a frame: where the table says so, no other reader searches for the caller. */
    if (!unwind(walk, sample, &registers, true, view, &user) || user.count < 2) return;
    struct usp_frame *after = &stack->frames[first + 1];
    memmove(after + 1, after, (stack->count - first - 1) * sizeof *after);
    *after = frames[1];
    stack->count++;
}

enum uspi_perf_walked uspi_perf_walk(const struct uspi_perf_walk *walk, const struct uspi_perf_sample *sample,
                                     struct uspi_perf_view *view, struct usp_stack *stack) {
    enum uspi_perf_walked result = USPI_PERF_WALKED_CHAIN;
    const uint32_t arch = walk->arch != USP_ARCH_NONE ? walk->arch : uspi_perf_arch_of(sample->mask);
    usp_stack_init(stack, walk->frames, walk->capacity);
    stack->arch = arch != USP_ARCH_NONE ? arch : usp_arch_host();
    stack->stop = USP_STOP_ROOT;
    append_chain(walk, sample, true, stack);
    if (stack->count == 0 && sample->mode == USPI_PERF_MODE_KERNEL && sample->ip != 0)
        append_frame(walk, sample->ip, true, stack);
    stack->physical = stack->count;
    if (unwind_dump(walk, sample, view, stack)) {
        result = USPI_PERF_WALKED_DUMP;
        if (sample->stack_is_full && ends_with_dump(stack)) {
            stack->stop = USP_STOP_NOT_COPIED;
            result = USPI_PERF_WALKED_SHORT;
        }
    } else if (sample->call_count > 0) {
        append_calls(walk, sample, stack);
    } else {
        const uint32_t of_kernel = stack->count;
        append_chain(walk, sample, false, stack);
        insert_leaf_caller(walk, sample, view, of_kernel, stack);
        if (stack->count == 0 && sample->ip != 0) append_frame(walk, sample->ip, true, stack);
    }
    stack->physical = stack->count;
    return result;
}
