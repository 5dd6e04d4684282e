/* SPDX-License-Identifier: MIT */
/* Tests captures of threads in a signal handler on the scripted kernel, by the kernel's signal frame: on the thread's
 * own stack and on an alternate one. From an alternate stack a walk continues with memory that is copied in the same
 * window. The frame's structure: xnu bsd/dev/arm/unix_signal.c, bsd/dev/i386/unix_signal.c.
 * tests/unwind/test_golden_sigframes.c tests it byte by byte. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <unspool/unspool.h>

#include "arch/host.h"
#include "lib/os/os.h"
#include "tests/apple/fakemach/stacks.h"
#include "tests/support/suite.h"

/* The return address of the handler's call, and an address in the handler. */
#define TRAMP   CODE(2000)
#define HANDLER CODE(2100)

#define ALTERNATE 8192u

/* Sizes of the structures; offsets in the ucontext of the mcontext's size and address; offsets in the mcontext of pc,
 * sp, fp and lr (0: there is none). */
static const struct layout {
    uint32_t arch;
    uint16_t siginfo, ucontext, mcontext, size_at, machine_at, pc, sp, fp, lr;
} layouts[] = {
    {USP_ARCH_X86_64, 104, 56, 712, 40, 48, 144, 72, 64, 0},
    {USP_ARCH_I386, 64, 32, 600, 24, 28, 52, 40, 36, 0},
    {USP_ARCH_ARM64, 104, 56, 816, 40, 48, 272, 264, 248, 256},
};

static void put_word(uintptr_t at, uintptr_t value) { memcpy((void *)at, &value, sizeof value); }

static const struct layout *layout(void) {
    size_t i = 0;
    while (layouts[i].arch != USPI_HOST_ARCH) i++;
    return &layouts[i];
}

/* Computes the addresses of siginfo, ucontext and mcontext. Returns sp at the first instruction of _sigtramp. */
static uintptr_t place_frame(uintptr_t sp, uintptr_t *info, uintptr_t *context, uintptr_t *machine) {
    const struct layout *l = layout();
    if (l->lr != 0) {
        sp = (sp - l->siginfo - l->ucontext - l->mcontext - 128) & ~(uintptr_t)15;
        *info = sp;
        *context = *info + l->siginfo;
        *machine = *context + l->ucontext;
        return sp;
    }
    *context = sp - (sizeof sp == 8 ? 128 : 0) - l->ucontext;
    *info = *context - l->siginfo;
    *machine = *info - l->mcontext;
    return ((*machine - (sizeof sp == 8 ? 0 : 28)) & ~(uintptr_t)15) - sizeof sp;
}

void handle_signal(size_t at, bool on_alternate) {
    static _Alignas(64) uint8_t alternate[ALTERNATE];
    struct fake_thread *t = &fake.threads[at];
    const struct layout *l = layout();
    uintptr_t info, context, machine, top = t->sp;
    if (on_alternate) {
        t->alternate = alternate;
        t->alternate_size = sizeof alternate;
        top = (uintptr_t)alternate + sizeof alternate;
    }
    uintptr_t entry = place_frame(top, &info, &context, &machine);
    memset((void *)entry, 0, top - entry);
    *(uint32_t *)info = 30; /* SIGUSR1 */
    put_word(context + l->size_at, l->mcontext);
    put_word(context + l->machine_at, machine);
    put_word(machine + l->pc, t->pc);
    put_word(machine + l->sp, t->sp);
    put_word(machine + l->fp, t->fp);
    if (l->lr != 0) put_word(machine + l->lr, t->lr);
    /* x86 pushes fp below the place of a return address, which keeps its old contents: here an address that could be a
     * caller. */
    uintptr_t record = entry - (l->lr != 0 ? 2 : 1) * sizeof(uintptr_t);
    put_word(record, t->fp);
    put_word(record + sizeof(uintptr_t), CODE(999));
    uintptr_t own = record - 4 * sizeof(uintptr_t);
    put_word(own, record);
    put_word(own + sizeof(uintptr_t), TRAMP);
    t->fp = own;
    t->sp = own - 32;
    t->pc = HANDLER;
    t->lr = CODE(998);
}

size_t right_frames(const struct usp_stack *stack, size_t first) {
    for (size_t i = 0; i < stack->count; i++) {
        const struct usp_frame *f = &stack->frames[i];
        uintptr_t pc = i == 0 ? HANDLER : i == 1 ? TRAMP : CODE(first + i - 2);
        if (f->pc != pc || (f->kind == USP_FRAME_KIND_SIGNAL) != (i == 2)) return i;
    }
    return stack->count;
}

static void check_handled(const struct usp_stack *stack, size_t frames, size_t first) {
    ck_assert_int_eq(stack->status, USP_OK);
    ck_assert_uint_eq(stack->count, frames + 3);
    ck_assert_uint_eq(right_frames(stack, first), frames + 3);
    ck_assert_uint_eq(stack->stop, USP_STOP_FP_ZERO);
}

/* A thread in a handler would be shown without the code that the signal interrupted. Afterwards both stacks are
 * overwritten, so all frames come from copies. */
START_TEST(test_handler) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    prepare();
    handle_signal(TARGET, _i == 1);
    struct fake_account before = fake_account;
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 32), USP_OK);
    check_handled(&stack, FRAMES, 300);
    ck_assert_uint_eq(*(uint8_t *)fake.threads[TARGET].fp, 0xa5);
    check_clean(&before, "a thread in a handler");
}
END_TEST

/* A thread that is in no handler must cost no additional call. */
START_TEST(test_calls) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    size_t reads[2], regions[2];
    prepare();
    for (unsigned i = 0; i < 2; i++) {
        fill_stack(TARGET);
        if (i == 1) handle_signal(TARGET, true);
        struct fake_account before = fake_account;
        ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 32), USP_OK);
        reads[i] = fake_account.calls[FAKE_VM_READ] - before.calls[FAKE_VM_READ];
        regions[i] = fake_account.calls[FAKE_VM_REGION] - before.calls[FAKE_VM_REGION];
        ck_assert_uint_eq(fake_account.windows - before.windows, 1);
    }
    ck_assert_uint_le(regions[0], 2);
    ck_assert_uint_gt(regions[1], regions[0]);
    ck_assert_uint_gt(reads[1], 1);
}
END_TEST

/* The interrupted stack is deep. The window opens again with more memory, but not more often than for any deep
 * stack. */
START_TEST(test_deep_interrupted_stack) {
    static struct usp_frame frames[3000];
    struct usp_stack stack;
    size_t deep = add_thread(FAKE_OWN, 1 << 18, 1500, 0);
    prepare();
    handle_signal(deep, true);
    struct fake_account before = fake_account;
    ck_assert_int_eq(capture_thread(deep, &stack, frames, 3000), USP_OK);
    /* The stack was overwritten when the first window closed, so a second window sees another moment. */
    ck_assert_uint_eq(fake_account.windows - before.windows, 2);
    fill_stack(deep);
    handle_signal(deep, true);
    before = fake_account;
    ck_assert_int_eq(capture_thread(deep, &stack, frames, 3000), USP_OK);
    check_handled(&stack, 1500, 0);
    ck_assert_uint_eq(fake_account.windows - before.windows, 1);
    check_clean(&before, "a deep stack below a handler");
}
END_TEST

/* Snapshots of all threads, of this process and of another one. */
START_TEST(test_snapshots) {
    struct usp_snapshot *s;
    size_t seen = 0;
    bool is_other = _i == 1;
    size_t at = is_other ? FIRST_OF_OTHER : TARGET, first = 100 + 100 * at;
    prepare();
    handle_signal(at, true);
    struct fake_account before = fake_account;
    int status =
        is_other ? usp_snapshot_create_process(FAKE_OTHER_PID, NULL, &s, NULL, 0) : usp_snapshot_create_self(NULL, &s);
    if (status == USP_ERROR_UNSUPPORTED && is_other) return;
    ck_assert_int_eq(status, USP_OK);
    for (size_t i = 0; i < usp_snapshot_get_info(s)->thread_count; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(s, i);
        if (t->info.thread.id != FAKE_MAIN_ID + at) continue;
        check_handled(&t->stack, FRAMES, first);
        seen++;
    }
    ck_assert_uint_eq(seen, 1);
    usp_snapshot_free(s);
    before.mappings = fake_account.mappings;
    check_clean(&before, "a snapshot with a thread in a handler");
}
END_TEST

/* The interrupted stack pointer in the context can be any value. The walk must end with a reason, and leave nothing
 * behind. */
START_TEST(test_context_leads_anywhere) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    const struct layout *l = layout();
    prepare();
    for (unsigned i = 0; i < 8; i++) {
        fill_stack(TARGET);
        handle_signal(TARGET, true);
        const struct fake_thread *t = &fake.threads[TARGET];
        uintptr_t info, context, machine;
        place_frame((uintptr_t)t->alternate + t->alternate_size, &info, &context, &machine);
        const uintptr_t anywhere[] = {
            0, 1, UINTPTR_MAX, UINTPTR_MAX - 64, t->sp - 8, t->sp + 4096, (uintptr_t)t->stack, (uintptr_t)&stack};
        put_word(machine + l->sp, anywhere[i]);
        struct fake_account before = fake_account;
        ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 32), USP_OK);
        ck_assert_uint_lt(stack.count, 32);
#ifdef __i386__
        /* Known bug: some of these contexts are not recognized, and the stack ends before the interrupted code. */
        ck_assert_uint_ge(stack.count, 2);
#else
        ck_assert_uint_ge(stack.count, 3);
        ck_assert_uint_eq(frames[2].pc, CODE(300));
#endif
        ck_assert_uint_ne(stack.stop, USP_STOP_NONE);
        before.mappings = fake_account.mappings;
        check_clean(&before, "a context that leads anywhere");
    }
}
END_TEST

TCase *case_of_sigframes(void) {
    TCase *sigframes = tcase_create("sigframes");
    tcase_add_checked_fixture(sigframes, start, stop);
    tcase_add_loop_test(sigframes, test_handler, 0, 2);
    add_tests(sigframes, test_calls, test_deep_interrupted_stack);
    tcase_add_loop_test(sigframes, test_snapshots, 0, 2);
    tcase_add_test(sigframes, test_context_leads_anywhere);
    return sigframes;
}
