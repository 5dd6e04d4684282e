/* SPDX-License-Identifier: MIT */
/* Tests stacks through signals on the scripted kernel: a handler that captures what it interrupted, and a thread that
 * is captured while it is in a handler. The stack as the kernel and _sigtramp leave it: xnu bsd/dev/i386/unix_signal.c
 * and bsd/dev/arm/unix_signal.c, libplatform src/setjmp/x86_64/_sigtramp.s. The layouts of ucontext and mcontext: xnu
 * bsd/sys/_types/_ucontext.h, bsd/i386/_mcontext.h, bsd/arm/_mcontext.h. */
#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <unspool/unspool.h>

#include "arch/host.h"
#include "tests/apple/fakemach/stacks.h"
#include "tests/support/suite.h"

/* Offsets: in a ucontext of the mcontext's address, in the mcontext of the registers, and in these of pc, sp, fp and lr
 * (0: there is none). */
static const struct {
    uint32_t arch;
    uint16_t mcontext, registers, pc, sp, fp, lr;
} layouts[] = {
    {USP_ARCH_X86_64, 48, 16, 128, 56, 48, 0},
    {USP_ARCH_I386, 28, 12, 40, 28, 24, 0},
    {USP_ARCH_ARM64, 48, 16, 256, 248, 232, 240},
};

static void put_word(uint8_t *at, uintptr_t value) { memcpy(at, &value, sizeof value); }

/* Makes the context of a thread that is interrupted at its present registers. Does not use Check, which allocates,
 * because allocations may be failing. */
void interrupt(struct fake_context *context, const struct fake_thread *t) {
    size_t i = 0;
    while (layouts[i].arch != USPI_HOST_ARCH && ++i < (size_t)ELEMENTS(layouts)) continue;
    if (i == (size_t)ELEMENTS(layouts)) abort();
    uint8_t *registers = context->machine + layouts[i].registers;
    memset(context, 0xa5, sizeof *context);
    put_word(context->bytes + layouts[i].mcontext, (uintptr_t)context->machine);
    put_word(registers + layouts[i].pc, t->pc);
    put_word(registers + layouts[i].sp, t->sp);
    put_word(registers + layouts[i].fp, t->fp);
    if (layouts[i].lr != 0) put_word(registers + layouts[i].lr, t->lr);
}

int capture_context(size_t at, struct usp_stack *stack, struct usp_frame *frames, uint32_t capacity) {
    struct fake_context context;
    interrupt(&context, &fake.threads[at]);
    usp_stack_init(stack, frames, capacity);
    return usp_capture_context(context.bytes, NULL, stack);
}

static void check_interrupted(const struct usp_stack *stack, size_t first) {
    check_stack(stack, FRAMES, first);
    ck_assert_uint_eq(stack->frames[0].kind, USP_FRAME_KIND_INTERRUPTED);
    ck_assert_uint_eq(stack->frames[0].method, USP_FRAME_METHOD_CONTEXT);
    ck_assert_uint_eq(usp_frame_call_site(USPI_HOST_ARCH, &stack->frames[0]), stack->frames[0].pc);
    for (size_t i = 1; i < stack->count; i++) ck_assert_uint_eq(stack->frames[i].kind, USP_FRAME_KIND_RETURN_ADDRESS);
}

/* A handler that captures must not take a lock, allocate or stop a thread. */
START_TEST(test_context) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    struct fake_context context;
    interrupt(&context, &fake.threads[CALLER]);
    usp_stack_init(&stack, frames, 32);
    struct fake_account before = fake_account;
    /* Checks allocate too, so they come after the counted call. */
    fake.counting = true;
    int status = usp_capture_context(context.bytes, NULL, &stack);
    fake.counting = false;
    static const enum fake_call others[] = {FAKE_MALLOC, FAKE_FREE, FAKE_LIBPTHREAD, FAKE_LOADER, FAKE_THREAD_SUSPEND};
    ck_assert_int_eq(status, USP_OK);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert_uint_eq(fake_account.calls[others[i]], before.calls[others[i]]);
    }
    check_interrupted(&stack, 200);
    check_clean(&before, "usp_capture_context");
}
END_TEST

/* After a call of a null pointer the caller would be lost. Its address is on the stack or in the link register. */
START_TEST(test_context_of_null_call) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    struct fake_context context;
    struct fake_thread t = fake.threads[CALLER];
    t.pc = 0;
    if (USPI_HOST_ARCH == USP_ARCH_ARM64) {
        t.lr = CODE(200);
    } else {
        t.sp -= sizeof(uintptr_t);
        put_word((uint8_t *)t.sp, CODE(200));
    }
    interrupt(&context, &t);
    usp_stack_init(&stack, frames, 32);
    ck_assert_int_eq(usp_capture_context(context.bytes, NULL, &stack), USP_OK);
    ck_assert_uint_eq(stack.count, FRAMES + 2);
    ck_assert_uint_eq(frames[0].pc, 0);
    ck_assert_uint_eq(frames[0].kind, USP_FRAME_KIND_INTERRUPTED);
    for (size_t i = 1; i < stack.count; i++) ck_assert_uint_eq(frames[i].pc, CODE(199 + i));
}
END_TEST

START_TEST(test_no_context) {
    struct usp_frame frames[4];
    struct usp_stack stack;
    usp_stack_init(&stack, frames, 4);
    ck_assert_int_eq(usp_capture_context(NULL, NULL, &stack), USP_ERROR_ARGUMENT);
    ck_assert_uint_eq(stack.count, 0);
}
END_TEST

#if defined(__x86_64__)
/* ---- a thread in a handler ---- */

/* The image of the handler and of _sigtramp. Its call frame information tells where each keeps the interrupted
 * registers. */
#define HANDLER     0x400u
#define TRAMP       0x480u
#define RETURN      (TRAMP + 0x20) /* return address of the handler's call */
#define FRAMES_AT   0x800u
#define FRAMES_SIZE 0x200u

static _Alignas(4096) uint8_t image[4096];

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t n) {
    memcpy(at, bytes, n);
    return at + n;
}

static uint8_t *put32(uint8_t *at, uint32_t value) { return put_bytes(at, &value, 4); }

static uint8_t *put64(uint8_t *at, uint64_t value) { return put_bytes(at, &value, 8); }

/* Writes an FDE for the CIE at FRAMES_AT + cie: pc-relative start, length, no augmentation, `rules`. */
static uint8_t *put_fde(uint8_t *at, size_t cie, uint32_t start, uint32_t size, const uint8_t *rules, size_t n) {
    uint8_t *entry = at;
    at = put32(at + 4, (uint32_t)(at + 4 - (image + FRAMES_AT + cie)));
    at = put64(at, (uint64_t)(image + start - at));
    at = put64(at, size);
    *at++ = 0;
    at = put_bytes(at, rules, n);
    put32(entry, (uint32_t)(at - entry - 4));
    return at;
}

static uint8_t *put_cie(uint8_t *at, const char *augmentation) {
    static const uint8_t rest[] = {1, 0x78, 0x10, 1, 0x10, 0x0c, 7, 8, 0x90, 1};
    uint8_t *entry = at;
    at = put32(at + 4, 0);
    *at++ = 1;
    at = put_bytes(at, augmentation, strlen(augmentation) + 1);
    at = put_bytes(at, rest, sizeof rest);
    put32(entry, (uint32_t)(at - entry - 4));
    return at;
}

/* push rbp; mov rbp, rsp; push rbx. */
static const uint8_t handler_rules[] = {0x0c, 6, 16, 0x86, 2, 0x83, 3};
/* rbx points to the ucontext. Each register is at [[rbx + 48] + n]. The pc is a value: the interrupted pc plus one, or
 * without one after a breakpoint or an overflow (traps 3 and 4). The CFA is the interrupted rsp. */
static const uint8_t trampoline_rules[] = {
    0x10, 3,  5,    0x73, 48,   0x06, 0x23, 24,   0x10, 6,    5,    0x73, 48,   0x06, 0x23, 64,   0x10, 7,    5,
    0x73, 48, 6,    0x23, 72,   0x16, 16,   21,   0x73, 48,   0x06, 0x12, 0x23, 0x90, 1,    0x06, 0x16, 0x23, 0,
    0x94, 4,  0x12, 0x33, 0x2e, 0x16, 0x34, 0x2e, 0x1a, 0x22, 0x0f, 6,    0x73, 48,   0x06, 0x23, 72,   0x06};

/* Writes a header, a text segment from address 0 on, with call frame information or without, and a UUID. */
static void write_header(uint8_t *to, uint64_t size, bool has_frames) {
    uint32_t sections = has_frames ? 1 : 0, segment_size = 72 + 80 * sections;
    uint8_t *at = put32(put32(put32(put32(to, 0xfeedfacf), 0x01000007), 3), 6);
    at = put32(put32(put64(put32(put32(at, 2), segment_size + 24), 0), 0x19), segment_size);
    memset(at, 0, segment_size - 8);
    memcpy(at, "__TEXT", 6);
    at = put64(put64(put64(put64(at + 16, 0), size), 0), size);
    at = put32(put32(put32(put32(at, 5), 5), sections), 0);
    if (has_frames) {
        memcpy(at, "__eh_frame", 10);
        memcpy(at + 16, "__TEXT", 6);
        put64(put64(at + 32, FRAMES_AT), FRAMES_SIZE);
        put32(at + 48, FRAMES_AT);
        at += 80;
    }
    memset(put32(put32(at, 0x1b), 24), 0x77, 16);
}

/* Loads that image and another one for the code of the stacks, whose first instructions are replaced by its header. */
static void load_trampoline(void) {
    memset(image, 0, sizeof image);
    write_header(image, sizeof image, true);
    write_header(code_of_stacks, sizeof code_of_stacks, false);

    memset(image + HANDLER, 0x90, TRAMP - HANDLER);
    memset(image + TRAMP, 0x90, 0x40);
    put_bytes(image + RETURN - 2, (const uint8_t[]){0xff, 0xd0}, 2);
    uint8_t *at = image + FRAMES_AT;
    size_t signal = (size_t)(put_cie(at, "zR") - at);
    at = put_cie(at + signal, "zRS");
    at = put_fde(at, 0, HANDLER, TRAMP - HANDLER, handler_rules, sizeof handler_rules);
    put_fde(at, signal, TRAMP, 0x40, trampoline_rules, sizeof trampoline_rules);
    fake.images[0].header = (uintptr_t)image;
    fake.images[0].path = "/usr/lib/system/libsystem_platform.dylib";
    fake.images[1].header = (uintptr_t)code_of_stacks;
    fake.images[1].path = "/Apps/Demo.app/Demo";
}

/* Interrupts a thread by a signal with trap number `trap`, so that it is in the handler. */
static void deliver(struct fake_thread *t, uint32_t trap) {
    struct fake_context context;
    uint8_t *bytes = (uint8_t *)((t->sp - 128 - sizeof context) & ~(uintptr_t)15);
    interrupt(&context, t);
    put32(context.machine, trap);
    put_word(context.bytes + layouts[0].mcontext, (uintptr_t)bytes + offsetof(struct fake_context, machine));
    memcpy(bytes, &context, sizeof context);
    uintptr_t *trampoline = (uintptr_t *)(void *)bytes - 2;
    trampoline[0] = t->fp;
    trampoline[1] = CODE(999); /* the kernel pushes nothing here, so the old word stays: it could be a caller */
    uintptr_t *handler = trampoline - 4;
    handler[0] = 0;                /* its own variable */
    handler[1] = (uintptr_t)bytes; /* rbx */
    handler[2] = (uintptr_t)trampoline;
    handler[3] = (uintptr_t)image + RETURN;
    t->sp = (uintptr_t)handler;
    t->fp = (uintptr_t)&handler[2];
    t->pc = (uintptr_t)image + HANDLER + 8;
}

static void check_through_signal(const struct usp_stack *stack, size_t first) {
    ck_assert_int_eq(stack->status, USP_OK);
    ck_assert_uint_eq(stack->count, FRAMES + 3);
    ck_assert_uint_eq(stack->frames[0].pc, (uintptr_t)image + HANDLER + 8);
    ck_assert_uint_eq(stack->frames[0].kind, USP_FRAME_KIND_INTERRUPTED);
    ck_assert_uint_eq(stack->frames[1].pc, (uintptr_t)image + RETURN);
    ck_assert_uint_eq(stack->frames[1].method, USP_FRAME_METHOD_CFI);
    for (size_t i = 2; i < stack->count; i++) ck_assert_uint_eq(stack->frames[i].pc, CODE(first + i - 2));
    ck_assert_uint_eq(stack->frames[2].kind, USP_FRAME_KIND_SIGNAL);
    ck_assert_uint_eq(usp_frame_call_site(USP_ARCH_X86_64, &stack->frames[2]), CODE(first));
    ck_assert_uint_eq(stack->frames[3].kind, USP_FRAME_KIND_RETURN_ADDRESS);
    ck_assert_uint_eq(stack->stop, USP_STOP_FP_ZERO);
}

/* A page fault, a breakpoint and an overflow: _sigtramp's call frame information must tell them apart. */
START_TEST(test_thread_in_handler) {
    static const uint32_t traps[] = {14, 3, 4, 0};
    struct usp_frame frames[32];
    struct usp_stack stack;
    load_trampoline();
    prepare();
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    for (size_t i = 0; i < sizeof traps / sizeof traps[0]; i++) {
        fill_stack(TARGET);
        deliver(&fake.threads[TARGET], traps[i]);
        struct fake_account before = fake_account;
        ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 32), USP_OK);
        check_through_signal(&stack, 300);
        check_clean(&before, "a thread in a handler");
    }
}
END_TEST
#endif

TCase *case_of_signals(void) {
    TCase *signals = tcase_create("signals");
    tcase_add_checked_fixture(signals, start, stop);
    add_tests(signals, test_context, test_context_of_null_call, test_no_context);
#if defined(__x86_64__)
    tcase_add_test(signals, test_thread_in_handler);
#endif
    return signals;
}
