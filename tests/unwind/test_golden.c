/* SPDX-License-Identifier: MIT */
/* Golden stacks: a few words of stack and code for each processor, and the expected frames. Runs on any host. */
#include <check.h>
#include <unspool/unspool.h>

#include "tests/support/golden.h"
#include "tests/support/suite.h"

/* ---- the same for all five processors: chains of records, text that cannot be read ---- */

static const struct {
    uint32_t arch;
    unsigned slot;
    const char *name;
} archs[] = {{USP_ARCH_ARM64, 8, "arm64"},
             {USP_ARCH_ARM64_32, 8, "arm64_32"},
             {USP_ARCH_ARMV7, 4, "armv7"},
             {USP_ARCH_X86_64, 8, "x86_64"},
             {USP_ARCH_I386, 4, "i386"}};

#define STACK UINT64_C(0x7fff0000)
/* Slot n of the stack. Return addresses are even and aligned; on processors with Thumb they have bit 0 set. */
#define SLOT(n) (STACK + (n) * (usp_addr)slot)
#define PC      UINT64_C(0x10000)
#define RA1     UINT64_C(0x11110)
#define RA2     UINT64_C(0x12220)
#define RA3     UINT64_C(0x13330)

static struct fixture *begin_records(int i) {
    struct fixture *f = begin(archs[i].arch, USP_OS_UNKNOWN);
    f->target.stack_low = STACK;
    f->target.stack_high = STACK + 16 * (usp_addr)archs[i].slot;
    return f;
}

START_TEST(root) {
    unsigned slot = archs[_i].slot;
    struct fixture *f = begin_records(_i);
    WORDS(&f->memory, STACK, slot, 0, 0, /* 2: */ 0, RA1);
    set_registers(f, PC, SLOT(0), SLOT(2));
    EXPECT(f, USP_STOP_FP_ZERO, PC, RA1);
    ck_assert_uint_eq(f->frames[0].kind, USP_FRAME_KIND_INTERRUPTED);
    ck_assert_uint_eq(f->frames[0].method, USP_FRAME_METHOD_CONTEXT);
    ck_assert_uint_eq(f->frames[1].kind, USP_FRAME_KIND_RETURN_ADDRESS);
    ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_FRAME_POINTER);
    ck_assert_uint_eq(f->frames[1].flags & USP_FRAME_UNVERIFIED, USP_FRAME_UNVERIFIED);
    ck_assert_uint_eq(f->stack.flags & USP_STACK_NO_INSTRUCTIONS, USP_STACK_NO_INSTRUCTIONS);
    ck_assert_uint_eq(f->stack.omitted_at, USP_NO_INDEX);
}
END_TEST

START_TEST(two_frames) {
    unsigned slot = archs[_i].slot;
    struct fixture *f = begin_records(_i);
    WORDS(&f->memory, STACK, slot, 0, 0, /* 2: */ SLOT(6), RA1, 0, 0, /* 6: */ 0, RA2);
    set_registers(f, PC, SLOT(0), SLOT(2));
    EXPECT(f, USP_STOP_FP_ZERO, PC, RA1, RA2);
    ck_assert_uint_eq(f->frames[0].fp, SLOT(2));
    ck_assert_uint_eq(f->frames[1].fp, SLOT(6));
    ck_assert_uint_eq(f->frames[2].fp, 0);
}
END_TEST

/* The walk must end at the start function of a thread. */
START_TEST(named_root) {
    unsigned slot = archs[_i].slot;
    struct fixture *f = begin_records(_i);
    const usp_addr roots[] = {RA3, RA1};
    WORDS(&f->memory, STACK, slot, 0, 0, /* 2: */ SLOT(6), RA1, 0, 0, /* 6: */ 0, RA2);
    f->target.roots = roots;
    f->target.root_count = 2;
    set_registers(f, PC, SLOT(0), SLOT(2));
    EXPECT(f, USP_STOP_ROOT, PC, RA1);
}
END_TEST

START_TEST(cycle) {
    unsigned slot = archs[_i].slot;
    struct fixture *f = begin_records(_i);
    WORDS(&f->memory, STACK, slot, 0, 0, /* 2: */ SLOT(6), RA1, 0, 0, /* 6: */ SLOT(6), RA2);
    set_registers(f, PC, SLOT(0), SLOT(2));
    EXPECT(f, USP_STOP_FP_BACKWARDS, PC, RA1, RA2);
    ck_assert_uint_eq(f->stack.stop_address, SLOT(6));
}
END_TEST

START_TEST(backwards) {
    unsigned slot = archs[_i].slot;
    struct fixture *f = begin_records(_i);
    WORDS(&f->memory, STACK, slot, 0, 0, /* 2: */ SLOT(6), RA1, 0, 0, /* 6: */ SLOT(4), RA2);
    set_registers(f, PC, SLOT(0), SLOT(2));
    EXPECT(f, USP_STOP_FP_BACKWARDS, PC, RA1, RA2);
}
END_TEST

START_TEST(misaligned) {
    unsigned slot = archs[_i].slot;
    struct fixture *f = begin_records(_i);
    WORDS(&f->memory, STACK, slot, 0, 0, /* 2: */ SLOT(6) + 1, RA1, 0, 0, /* 6: */ 0, RA2);
    set_registers(f, PC, SLOT(0), SLOT(2));
    EXPECT(f, USP_STOP_FP_MISALIGNED, PC, RA1);
}
END_TEST

START_TEST(leaves_the_stack) {
    unsigned slot = archs[_i].slot;
    struct fixture *f = begin_records(_i);
    WORDS(&f->memory, STACK, slot, 0, 0, /* 2: */ SLOT(100), RA1);
    WORDS(&f->memory, SLOT(100), slot, 0, RA2);
    set_registers(f, PC, SLOT(0), SLOT(2));
    EXPECT(f, USP_STOP_FP_OUTSIDE, PC, RA1);
}
END_TEST

START_TEST(record_across_the_end) {
    unsigned slot = archs[_i].slot;
    struct fixture *f = begin_records(_i);
    WORDS(&f->memory, STACK, slot, 0, 0, /* 2: */ SLOT(15), RA1);
    WORDS(&f->memory, SLOT(15), slot, 0, RA2);
    set_registers(f, PC, SLOT(0), SLOT(2));
    EXPECT(f, USP_STOP_FP_OUTSIDE, PC, RA1);
}
END_TEST

START_TEST(second_word_unreadable) {
    unsigned slot = archs[_i].slot;
    struct fixture *f = begin_records(_i);
    WORDS(&f->memory, STACK, slot, 0, 0, /* 2: */ SLOT(6), RA1, 0, 0, /* 6: */ 0);
    set_registers(f, PC, SLOT(0), SLOT(2));
    EXPECT(f, USP_STOP_UNREADABLE, PC, RA1);
    ck_assert_uint_eq(f->stack.stop_address, SLOT(6));
}
END_TEST

START_TEST(return_address_zero) {
    unsigned slot = archs[_i].slot;
    struct fixture *f = begin_records(_i);
    WORDS(&f->memory, STACK, slot, 0, 0, /* 2: */ SLOT(6), RA1, 0, 0, /* 6: */ SLOT(8), 0, 0, RA2);
    set_registers(f, PC, SLOT(0), SLOT(2));
    EXPECT(f, USP_STOP_RA_ZERO, PC, RA1);
}
END_TEST

static int no_code_above_12000(void *context, usp_addr pc, struct usp_region *region) {
    (void)context;
    region->text_low = 0x10000;
    region->text_high = 0x12000;
    return pc < 0x12000 ? USP_OK : USP_ERROR_NOT_FOUND;
}

START_TEST(return_address_not_code) {
    unsigned slot = archs[_i].slot;
    struct fixture *f = begin_records(_i);
    WORDS(&f->memory, STACK, slot, 0, 0, /* 2: */ SLOT(6), RA1, 0, 0, /* 6: */ SLOT(8), RA2, 0, RA3);
    f->target.image_at = no_code_above_12000;
    set_registers(f, PC, SLOT(0), SLOT(2));
    EXPECT(f, USP_STOP_RA_NOT_CODE, PC, RA1);
    ck_assert_uint_eq(f->stack.stop_address, RA2);
}
END_TEST

/* The target does not say what is code. Eight letters of the environment, at the top of the stack, must not be taken
 * for a return address. */
START_TEST(text_is_no_return_address) {
    struct fixture *f = begin(USP_ARCH_X86_64, USP_OS_UNKNOWN);
    f->target.stack_low = STACK;
    f->target.stack_high = STACK + 128;
    WORDS(&f->memory, STACK, 8, 0, 0, /* 2: */ STACK + 48, RA1, 0, 0, /* 6: */ STACK + 64,
          UINT64_C(0x68732f766e656c61));
    set_registers(f, PC, STACK, STACK + 16);
    EXPECT(f, USP_STOP_RA_NOT_CODE, PC, RA1);
}
END_TEST

/* A record holds an address of mapped code that follows no call, a scratch value. It must never become a frame. */
START_TEST(scratch_value) {
    unsigned slot = archs[_i].slot;
    struct fixture *f = begin_records(_i);
    static const uint8_t zeros[64];
    WORDS(&f->memory, STACK, slot, 0, 0, /* 2: */ SLOT(6), RA1, 0, 0, /* 6: */ SLOT(8), RA2, 0, RA3);
    image_bytes(&f->memory, RA2 - 32, zeros, sizeof zeros);
    set_registers(f, PC, SLOT(0), SLOT(2));
    EXPECT(f, USP_STOP_RA_NOT_CODE, PC, RA1);
}
END_TEST

static void three_records(struct fixture *f, unsigned slot) {
    WORDS(&f->memory, STACK, slot, 0, 0, /* 2: */ SLOT(4), RA1, /* 4: */ SLOT(6), RA2, /* 6: */ 0, RA3);
    set_registers(f, PC, SLOT(0), SLOT(2));
}

START_TEST(exact_fit) {
    struct fixture *f = begin_records(_i);
    three_records(f, archs[_i].slot);
    f->stack.capacity = 4;
    EXPECT(f, USP_STOP_FP_ZERO, PC, RA1, RA2, RA3);
    ck_assert_uint_eq(f->stack.omitted, 0);
}
END_TEST

START_TEST(overfull) {
    struct fixture *f = begin_records(_i);
    three_records(f, archs[_i].slot);
    f->stack.capacity = 3;
    EXPECT(f, USP_STOP_CAPACITY, PC, RA1, RA2);
    ck_assert_uint_eq(f->stack.omitted, 1);
    ck_assert_uint_eq(f->stack.omitted_at, 3);
}
END_TEST

START_TEST(capacity_0) {
    struct fixture *f = begin_records(_i);
    three_records(f, archs[_i].slot);
    f->stack.capacity = 0;
    walk(f);
    ck_assert_uint_eq(f->stack.count, 0);
    ck_assert_uint_eq(f->stack.stop, USP_STOP_CAPACITY);
    ck_assert_uint_eq(f->stack.hash, 0);
}
END_TEST

START_TEST(skip) {
    struct fixture *f = begin_records(_i);
    three_records(f, archs[_i].slot);
    f->options.skip = 2;
    EXPECT(f, USP_STOP_FP_ZERO, RA2, RA3);
    ck_assert_uint_eq(f->stack.omitted, 0);
}
END_TEST

/* The caller asks for frames from a given stack address on. The frame of the function whose record lies at slot 4
 * reaches from the record below to its own. */
START_TEST(start_in_a_frame) {
    unsigned slot = archs[_i].slot;
    for (unsigned at = 4; at < 6; at++) {
        struct fixture *f = begin_records(_i);
        three_records(f, slot);
        f->options.start_fp = SLOT(at);
        EXPECT(f, USP_STOP_FP_ZERO, RA2, RA3);
        ck_assert_uint_eq(f->stack.omitted, 0);
        ck_assert_uint_eq(f->stack.omitted_at, USP_NO_INDEX);
    }
    /* The innermost function's frame, with saved words below its record. */
    for (unsigned at = 0; at < 4; at++) {
        struct fixture *f = begin_records(_i);
        three_records(f, slot);
        f->options.start_fp = at == 0 ? STACK + 1 : SLOT(at);
        EXPECT(f, USP_STOP_FP_ZERO, RA1, RA2, RA3);
    }
}
END_TEST

/* `skip` must count from the innermost frame, as usual; frames that are left out must take no room. */
START_TEST(start_with_other_options) {
    unsigned slot = archs[_i].slot;
    for (uint32_t skipped = 1; skipped < 4; skipped++) {
        struct fixture *f = begin_records(_i);
        three_records(f, slot);
        f->options.start_fp = SLOT(2);
        f->options.skip = skipped;
        f->stack.capacity = skipped == 1 ? 2 : 3;
        f->options.tail = 1;
        if (skipped == 1) {
            EXPECT(f, USP_STOP_FP_ZERO, RA1, RA3);
            ck_assert_uint_eq(f->stack.omitted, 1);
        } else if (skipped == 2) {
            EXPECT(f, USP_STOP_FP_ZERO, RA2, RA3);
        } else {
            EXPECT(f, USP_STOP_FP_ZERO, RA3);
        }
    }
}
END_TEST

/* The given address lies below all frames, in the outermost frame, whose caller is unknown, or above all frames: no
 * frame may be reported. _i counts processors. */
START_TEST(start_in_no_frame) {
    unsigned slot = archs[_i].slot;
    const usp_addr starts[] = {STACK - 1, SLOT(8), UINT64_MAX};
    for (unsigned i = 0; i < 3; i++) {
        struct fixture *f = begin_records(_i);
        three_records(f, slot);
        f->options.start_fp = starts[i];
        walk(f);
        ck_assert_uint_eq(f->stack.count, 0);
        ck_assert_uint_eq(f->stack.stop, USP_STOP_FP_ZERO);
        ck_assert_int_eq(f->stack.status, USP_OK);
    }
}
END_TEST

/* With a tail, the outermost frames and the end at the root must be kept as well. */
START_TEST(tail) {
    struct fixture *f = begin_records(_i);
    three_records(f, archs[_i].slot);
    f->stack.capacity = 2;
    f->options.tail = 1;
    EXPECT(f, USP_STOP_FP_ZERO, PC, RA3);
    ck_assert_uint_eq(f->stack.omitted, 2);
    ck_assert_uint_eq(f->stack.omitted_at, 1);
}
END_TEST

START_TEST(step_limit) {
    struct fixture *f = begin_records(_i);
    three_records(f, archs[_i].slot);
    f->options.step_limit = 2;
    EXPECT(f, USP_STOP_STEP_LIMIT, PC, RA1);
}
END_TEST

START_TEST(permuted_stacks_have_other_hashes) {
    unsigned slot = archs[_i].slot;
    uint64_t hashes[2];
    for (int permuted = 0; permuted < 2; permuted++) {
        struct fixture *f = begin_records(_i);
        WORDS(&f->memory, STACK, slot, 0, 0, /* 2: */ SLOT(4), permuted ? RA2 : RA1, /* 4: */ 0, permuted ? RA1 : RA2);
        set_registers(f, PC, SLOT(0), SLOT(2));
        walk(f);
        hashes[permuted] = f->stack.hash;
    }
    ck_assert_uint_ne(hashes[0], hashes[1]);
}
END_TEST

/* ---- a target and options of an older, smaller size; invalid arguments ---- */

/* The fields past a struct's size have their defaults, whatever the memory after it contains. */
START_TEST(older_sizes) {
    struct fixture *f = begin_records(_i);
    three_records(f, archs[_i].slot);
    f->target.size = (uint32_t)offsetof(struct usp_target, reserved);
    f->options.size = (uint32_t)offsetof(struct usp_unwind_options, reserved);
    memset(f->target.reserved, 0xff, sizeof f->target.reserved);
    memset(f->options.reserved, 0xff, sizeof f->options.reserved);
    EXPECT(f, USP_STOP_FP_ZERO, PC, RA1, RA2, RA3);
}
END_TEST

START_TEST(bad_arguments) {
    struct fixture *f = begin_records(0);
    three_records(f, 8);
    ck_assert_int_eq(usp_unwind(NULL, &f->registers, NULL, &f->stack), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_unwind(&f->target, NULL, NULL, &f->stack), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_unwind(&f->target, &f->registers, NULL, NULL), USP_ERROR_ARGUMENT);
    f->target.arch = 99;
    ck_assert_int_eq(usp_unwind(&f->target, &f->registers, NULL, &f->stack), USP_ERROR_ARGUMENT);
    f->target.arch = USP_ARCH_X86_64; /* the registers are arm64's */
    ck_assert_int_eq(usp_unwind(&f->target, &f->registers, NULL, &f->stack), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(f->stack.status, USP_ERROR_ARGUMENT);
    ck_assert_uint_eq(f->stack.count, 0);
}
END_TEST

START_TEST(no_registers) {
    struct fixture *f = begin_records(0);
    walk(f);
    ck_assert_uint_eq(f->stack.count, 0);
    ck_assert_uint_eq(f->stack.stop, USP_STOP_REGISTERS);
}
END_TEST

/* ---- the link register: its caller never appears twice and is never missing ---- */

#define CALLER UINT64_C(0x100200) /* the instruction after a call, in a function that has made its record */
#define LEAF   UINT64_C(0x100400)
#define STALE  UINT64_C(0x100304) /* the instruction after another call */

static void arm64_text(struct fixture *f) {
    CODE32(&f->memory, CALLER - 4, /* bl LEAF */ 0x94000081, /* ldp x29, x30, [sp], #16 */ 0xa8c17bfd,
           /* ret */ 0xd65f03c0);
    CODE32(&f->memory, STALE - 4, /* bl */ 0x94000040, /* ret */ 0xd65f03c0);
}

START_TEST(arm64_leaf) {
    struct fixture *f = begin(_i ? USP_ARCH_ARM64_32 : USP_ARCH_ARM64, USP_OS_DARWIN);
    arm64_text(f);
    CODE32(&f->memory, LEAF, /* add w0, w0, w1 */ 0x0b010000, /* ret */ 0xd65f03c0);
    WORDS(&f->memory, STACK, 8, /* the caller's record: */ 0, RA2);
    set_registers(f, LEAF, STACK, STACK);
    usp_registers_set_lr(&f->registers, CALLER);
    EXPECT(f, USP_STOP_FP_ZERO, LEAF, CALLER, RA2);
    ck_assert_uint_eq(f->frames[1].kind, USP_FRAME_KIND_LINK_REGISTER);
    ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_LINK_REGISTER);
    ck_assert_uint_eq(f->frames[0].cfa, STACK);
}
END_TEST

/* Stops at every instruction of a function with a record and a call: the caller must appear once, the stale x30
 * never. */
START_TEST(arm64_every_instruction) {
    static const uint64_t code[] = {
        0xd503237f, /* pacibsp */
        0xd10083ff, /* sub sp, sp, #32 */
        0xa9017bfd, /* stp x29, x30, [sp, #16] */
        0x910043fd, /* add x29, sp, #16 */
        0x97ffff3c, /* bl … */
        0x0b010000, /* add w0, w0, w1 */
        0xa9417bfd, /* ldp x29, x30, [sp, #16] */
        0x910083ff, /* add sp, sp, #32 */
        0xd50323ff, /* autibsp */
        0xd65f03c0, /* ret */
    };
    enum { STP = 2, ADD = 3, BODY = 4, LDP = 6, ADDSP = 7 };
    struct fixture *f = begin(USP_ARCH_ARM64, USP_OS_DARWIN);
    arm64_text(f);
    image_words(&f->memory, LEAF, 4, code, sizeof code / sizeof code[0]);
    /* STACK: locals, STACK + 16: our record, STACK + 32: the caller's */
    WORDS(&f->memory, STACK, 8, 0, 0, STACK + 32, CALLER, 0, RA2);
    bool in_frame = _i >= 2 && _i <= ADDSP;
    set_registers(f, LEAF + 4 * (usp_addr)_i, in_frame ? STACK : STACK + 32,
                  _i > ADD && _i <= LDP ? STACK + 16 : STACK + 32);
    usp_registers_set_lr(&f->registers, _i > BODY && _i <= LDP ? LEAF + 4 * (BODY + 1) : CALLER);
    EXPECT(f, USP_STOP_FP_ZERO, LEAF + 4 * (usp_addr)_i, CALLER, RA2);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 32);
}
END_TEST

START_TEST(armv7_leaf) {
    struct fixture *f = begin(USP_ARCH_ARMV7, USP_OS_DARWIN);
    CODE16(&f->memory, CALLER - 4, /* bl LEAF */ 0xf000, 0xf8fe, /* pop {r7, pc} */ 0xbd80);
    CODE16(&f->memory, LEAF, /* adds r0, r0, r1 */ 0x1840, /* bx lr */ 0x4770);
    WORDS(&f->memory, STACK, 4, 0, RA2);
    set_registers(f, LEAF | 1, STACK, STACK);
    usp_registers_set_lr(&f->registers, CALLER | 1);
    EXPECT(f, USP_STOP_FP_ZERO, LEAF, CALLER, RA2);
    ck_assert_uint_eq(f->frames[0].flags & USP_FRAME_THUMB, USP_FRAME_THUMB);
    ck_assert_uint_eq(f->frames[1].flags & USP_FRAME_THUMB, USP_FRAME_THUMB);
    ck_assert_uint_eq(f->frames[1].kind, USP_FRAME_KIND_LINK_REGISTER);
    ck_assert_uint_eq(usp_frame_call_site(USP_ARCH_ARMV7, &f->frames[1]), CALLER - 1);
    ck_assert_uint_eq(usp_frame_call_site(USP_ARCH_ARMV7, &f->frames[0]), LEAF);
}
END_TEST

/* A leaf saves lr, uses it as a scratch register, and makes no record. Its caller must come from the stack. */
START_TEST(armv7_scratch_lr) {
    struct fixture *f = begin(USP_ARCH_ARMV7, USP_OS_DARWIN);
    CODE16(&f->memory, CALLER - 4, /* bl LEAF */ 0xf000, 0xf8fe, /* pop {r7, pc} */ 0xbd80);
    CODE16(&f->memory, LEAF, /* push {r4, r5, lr} */ 0xb530, /* mov lr, r0 */ 0x4686, /* add lr, r1 */ 0x448e,
           /* pop {r4, r5, pc} */ 0xbd30);
    WORDS(&f->memory, STACK, 4, /* r4, r5, lr */ 4, 5, CALLER | 1, /* the caller's record */ 0, RA2);
    set_registers(f, (LEAF + 4) | 1, STACK, STACK + 12);
    usp_registers_set_lr(&f->registers, STALE | 1);
    EXPECT(f, USP_STOP_FP_ZERO, LEAF + 4, CALLER, RA2);
    ck_assert_uint_eq(f->frames[1].method, USP_FRAME_METHOD_INSTRUCTIONS);
}
END_TEST

START_TEST(armv7_mixed_states) {
    struct fixture *f = begin(USP_ARCH_ARMV7, USP_OS_UNKNOWN);
    WORDS(&f->memory, STACK, 4, STACK + 8, RA1 | 1, 0, RA2);
    set_registers(f, PC, STACK, STACK);
    EXPECT(f, USP_STOP_FP_ZERO, PC, RA1, RA2);
    ck_assert_uint_eq(f->frames[0].flags & USP_FRAME_THUMB, 0);
    ck_assert_uint_eq(f->frames[1].flags & USP_FRAME_THUMB, USP_FRAME_THUMB);
    ck_assert_uint_eq(f->frames[2].flags & USP_FRAME_THUMB, 0);
}
END_TEST

/* ---- x86: each instruction of push rbp … ret ---- */

START_TEST(x86_64_every_instruction) {
    static const uint8_t code[] = {
        0xf3, 0x0f, 0x1e, 0xfa, /*  0 endbr64 */
        0x55,                   /*  4 push rbp */
        0x48, 0x89, 0xe5,       /*  5 mov rbp, rsp */
        0x48, 0x83, 0xec, 0x10, /*  8 sub rsp, 16 */
        0x90,                   /* 12 nop */
        0xc9,                   /* 13 leave */
        0xc3                    /* 14 ret */
    };
    static const struct {
        unsigned offset;
        unsigned sp, fp; /* in words from STACK */
    } at[] = {{0, 3, 4}, {4, 3, 4}, {5, 2, 4}, {8, 2, 2}, {12, 0, 2}, {13, 0, 2}, {14, 3, 4}};
    struct fixture *f = begin(USP_ARCH_X86_64, USP_OS_LINUX);
    CODE8(&f->memory, CALLER - 5, /* call */ 0xe8, 0xfb, 0x01, 0, 0, /* leave; ret */ 0xc9, 0xc3);
    CODE8(&f->memory, RA2 - 2, /* call *%rax */ 0xff, 0xd0, /* hlt */ 0xf4);
    image_bytes(&f->memory, LEAF, code, sizeof code);
    WORDS(&f->memory, STACK, 8, 0, 0, /* 2: our record */ STACK + 32, CALLER, /* 4: the caller's */ 0, RA2);
    set_registers(f, LEAF + at[_i].offset, STACK + 8 * at[_i].sp, STACK + 8 * at[_i].fp);
    EXPECT(f, USP_STOP_FP_ZERO, LEAF + at[_i].offset, CALLER, RA2);
    ck_assert_uint_eq(f->frames[0].cfa, STACK + 32);
    ck_assert_uint_eq(usp_frame_call_site(USP_ARCH_X86_64, &f->frames[1]), CALLER - 1);
}
END_TEST

/* The pc can only be reached by an indirect jump, with sp unknown. The record must be used, and the search for a path
 * to the pc must end. */
START_TEST(x86_64_after_an_indirect_jump) {
    static const uint8_t code[] = {
        0xf3, 0x0f, 0x1e, 0xfa, /* 0 endbr64 */
        0x48, 0x89, 0xc4,       /* 4 mov rsp, rax */
        0xff, 0xe1,             /* 7 jmp *rcx */
        0x90, 0xf4              /* 9 nop; hlt */
    };
    struct fixture *f = begin(USP_ARCH_X86_64, USP_OS_LINUX);
    CODE8(&f->memory, RA2 - 2, /* call *%rax */ 0xff, 0xd0, /* hlt */ 0xf4);
    image_bytes(&f->memory, LEAF, code, sizeof code);
    WORDS(&f->memory, STACK, 8, 0, RA2);
    set_registers(f, LEAF + 9, STACK, STACK);
    EXPECT(f, USP_STOP_FP_ZERO, LEAF + 9, RA2);
}
END_TEST

START_TEST(i386_prologue) {
    struct fixture *f = begin(USP_ARCH_I386, USP_OS_LINUX);
    CODE8(&f->memory, CALLER - 5, /* call */ 0xe8, 0xfb, 0x01, 0, 0, /* leave; ret */ 0xc9, 0xc3);
    CODE8(&f->memory, LEAF, /* push ebp */ 0x55, /* mov ebp, esp */ 0x89, 0xe5, /* pop ebp */ 0x5d, /* ret */ 0xc3);
    WORDS(&f->memory, STACK, 4, STACK + 8, CALLER, 0, RA2);
    set_registers(f, LEAF + 1, STACK, STACK + 8);
    EXPECT(f, USP_STOP_FP_ZERO, LEAF + 1, CALLER, RA2);
}
END_TEST

/* ---- a call through a bad pointer ---- */

START_TEST(null_call_x86_64) {
    struct fixture *f = begin(USP_ARCH_X86_64, USP_OS_LINUX);
    CODE8(&f->memory, CALLER - 2, /* call *%rax */ 0xff, 0xd0, /* leave; ret */ 0xc9, 0xc3);
    WORDS(&f->memory, STACK, 8, CALLER, 0, /* the caller's record */ 0, RA2);
    set_registers(f, 0, STACK, STACK + 16);
    EXPECT(f, USP_STOP_FP_ZERO, 0, CALLER, RA2);
}
END_TEST

START_TEST(null_call_arm64) {
    struct fixture *f = begin(USP_ARCH_ARM64, USP_OS_DARWIN);
    arm64_text(f);
    WORDS(&f->memory, STACK, 8, 0, RA2);
    set_registers(f, 0, STACK, STACK);
    usp_registers_set_lr(&f->registers, CALLER);
    EXPECT(f, USP_STOP_FP_ZERO, 0, CALLER, RA2);
}
END_TEST

/* ---- pointer authentication ---- */

START_TEST(pac_field_value) {
    /* KSCrash issue 297, an iPhone XS: 39 bits. */
    struct fixture *f = begin(USP_ARCH_ARM64, USP_OS_DARWIN);
    const usp_addr stack = 0x16fdfe000;
    WORDS(&f->memory, stack, 8, stack + 16, UINT64_C(0x003be301a3d4a494), 0, UINT64_C(0xb1aa0001a3d4b000));
    set_registers(f, UINT64_C(0x1a3d40000), stack, stack);
    EXPECT(f, USP_STOP_FP_ZERO, 0x1a3d40000, 0x1a3d4a494, 0x1a3d4b000);
    ck_assert_uint_eq(f->frames[1].flags & USP_FRAME_SIGNED, USP_FRAME_SIGNED);
}
END_TEST

START_TEST(pac_bits) {
    static const struct {
        uint32_t os, bits;
        uint64_t mask;
        usp_addr stack, raw, pc;
    } cases[] = {
        {USP_OS_DARWIN, 39, 0, 0x16fdfe000, 0x003be301a3d4a494, 0x1a3d4a494},
        {USP_OS_DARWIN, 47, 0, 0x16fdfe000, 0x003be301a3d4a494, 0x6301a3d4a494},
        {USP_OS_DARWIN, 0, 0, 0x600000010000, 0x005a700000010004, 0x700000010004}, /* a stack above 39 bits: 47 */
        {USP_OS_LINUX, 0, 0, 0xffffe0000000, 0x0033aaaaaaaa0004, 0xaaaaaaaa0004},  /* 48 */
        {USP_OS_LINUX, 0, 0x007f000000000000, 0xffffe0000000, 0x0033aaaaaaaa0004, 0xaaaaaaaa0004},
        {USP_OS_LINUX, 0, 0x007fff8000000000, 0x7fe0000000, 0x0033aaaa12340004, 0x2a12340004},
    };
    struct fixture *f = begin(USP_ARCH_ARM64, cases[_i].os);
    f->target.address_bits = cases[_i].bits;
    f->target.pac_mask = cases[_i].mask;
    WORDS(&f->memory, cases[_i].stack, 8, 0, cases[_i].raw);
    set_registers(f, 0x10000, cases[_i].stack, cases[_i].stack);
    EXPECT(f, USP_STOP_FP_ZERO, 0x10000, cases[_i].pc);
}
END_TEST

/* ---- Swift async frames ---- */

#define CONTEXTS UINT64_C(0x60000000)
#define RESUME1  UINT64_C(0x20000)
#define RESUME2  UINT64_C(0x20100)

static const uint32_t async_archs[] = {USP_ARCH_ARM64, USP_ARCH_ARM64_32, USP_ARCH_X86_64};
#define MARK (UINT64_C(1) << 60)

static struct fixture *begin_async(int i, uint64_t second_parent) {
    struct fixture *f = begin(async_archs[i], USP_OS_DARWIN);
    unsigned word = async_archs[i] == USP_ARCH_ARM64_32 ? 4 : 8;
    /* [context][fp | mark][ra] at STACK + 16, a plain record after it */
    WORDS(&f->memory, STACK, 8, 0, CONTEXTS, (STACK + 32) | MARK, RA1, 0, RA2);
    WORDS(&f->memory, CONTEXTS, word, CONTEXTS + 0x40, RESUME1);
    WORDS(&f->memory, CONTEXTS + 0x40, word, second_parent, RESUME2);
    set_registers(f, PC, STACK, STACK + 16);
    f->options.async = 1;
    return f;
}

static void expect_chain(const struct fixture *f) {
    ck_assert_uint_eq(f->stack.physical, 3);
    ck_assert_uint_eq(f->frames[1].pc, RA1);
    ck_assert_uint_eq(f->frames[2].pc, RA2);
    ck_assert_uint_eq(f->stack.extended, 0);
    ck_assert_uint_eq(f->stack.async_join, 0);
    ck_assert_uint_eq(f->stack.flags & USP_STACK_EXTENDED, USP_STACK_EXTENDED);
    ck_assert_uint_eq(f->frames[0].flags & USP_FRAME_EXTENDED, USP_FRAME_EXTENDED);
}

START_TEST(async_chain) {
    struct fixture *f = begin_async(_i, 0);
    EXPECT(f, USP_STOP_FP_ZERO, PC, RA1, RA2, RESUME1, RESUME2);
    expect_chain(f);
    ck_assert_uint_eq(f->stack.async_stop, USP_STOP_ROOT);
    ck_assert_uint_eq(f->frames[3].kind, USP_FRAME_KIND_ASYNC_RESUME);
    ck_assert_uint_eq(usp_frame_call_site(f->stack.arch, &f->frames[3]), RESUME1);
    ck_assert_uint_eq(f->stack.flags & USP_STACK_TASK_ID, 0);
}
END_TEST

START_TEST(async_not_wanted) {
    struct fixture *f = begin_async(_i, 0);
    f->options.async = 0;
    EXPECT(f, USP_STOP_FP_ZERO, PC, RA1, RA2);
    ck_assert_uint_eq(f->stack.extended, 0);
    ck_assert_uint_eq(f->stack.async_join, USP_NO_INDEX);
}
END_TEST

START_TEST(async_cyclic) {
    struct fixture *f = begin_async(_i, CONTEXTS);
    walk(f);
    expect_chain(f);
    ck_assert_uint_eq(f->stack.async_stop, USP_STOP_CYCLE);
    ck_assert_uint_eq(f->stack.flags & USP_STACK_ASYNC_BROKEN, USP_STACK_ASYNC_BROKEN);
    ck_assert_uint_ge(f->stack.count, 5);
}
END_TEST

START_TEST(async_unreadable) {
    struct fixture *f = begin_async(_i, 0x7000);
    EXPECT(f, USP_STOP_FP_ZERO, PC, RA1, RA2, RESUME1, RESUME2);
    ck_assert_uint_eq(f->stack.async_stop, USP_STOP_UNREADABLE);
    ck_assert_uint_eq(f->stack.flags & USP_STACK_ASYNC_BROKEN, USP_STACK_ASYNC_BROKEN);
}
END_TEST

START_TEST(async_no_room) {
    struct fixture *f = begin_async(_i, 0);
    f->stack.capacity = 4;
    EXPECT(f, USP_STOP_FP_ZERO, PC, RA1, RA2, RESUME1);
    ck_assert_uint_eq(f->stack.async_omitted, 1);
}
END_TEST

START_TEST(async_task) {
    struct fixture *f = begin_async(_i, 0);
    unsigned word = async_archs[_i] == USP_ARCH_ARM64_32 ? 4 : 8;
    const usp_addr slot = 0x50000, task = 0x51000;
    WORDS(&f->memory, slot, word, task);
    WORDS(&f->memory, task + 4 * word + 4, 4, 1234);
    f->target.swift_task_slot = slot;
    EXPECT(f, USP_STOP_FP_ZERO, PC, RA1, RA2, RESUME1, RESUME2);
    ck_assert_uint_eq(f->stack.flags & USP_STACK_TASK_ID, USP_STACK_TASK_ID);
    ck_assert_uint_eq(f->stack.task_id, 1234);
}
END_TEST

/* Apple's walker accepts the mark only if the thread runs a task; without a task there must be no async frame. */
START_TEST(async_no_task) {
    struct fixture *f = begin_async(_i, 0);
    WORDS(&f->memory, 0x50000, 8, 0);
    f->target.swift_task_slot = 0x50000;
    EXPECT(f, USP_STOP_FP_ZERO, PC, RA1, RA2);
    ck_assert_uint_eq(f->stack.async_join, USP_NO_INDEX);
}
END_TEST

/* From the first prologue instruction to the last epilogue instruction the frame pointer register carries the mark. */
START_TEST(async_marked_register) {
    struct fixture *f = begin_async(_i, 0);
    f->options.async = 0;
    usp_registers_set_fp(&f->registers, (STACK + 16) | MARK);
    EXPECT(f, USP_STOP_FP_ZERO, PC, RA1, RA2);
    ck_assert_uint_eq(f->frames[0].fp, STACK + 16);
}
END_TEST

/* On Linux another value than a frame pointer can have the mark's bits. A record is an async one only if it proves
 * itself; each case lacks one thing. */
START_TEST(async_number) {
    for (unsigned lacks = 0; lacks < 5; lacks++) {
        struct fixture *f = begin(_i == 0 ? USP_ARCH_ARM64 : USP_ARCH_X86_64, USP_OS_LINUX);
        const usp_addr previous = lacks == 1 ? STACK - 64 : lacks == 2 ? (usp_addr)0x8ec7e34d50509a0 : STACK + 32;
        const usp_addr context = lacks == 3 ? (usp_addr)0x50000 : CONTEXTS;
        WORDS(&f->memory, STACK, 8, 0, context, previous | MARK, RA1, 0, RA2);
        WORDS(&f->memory, STACK - 64, 8, 0, 0);
        WORDS(&f->memory, CONTEXTS, 8, 0, lacks == 4 ? 0 : RESUME1);
        CODE32(&f->memory, RESUME1, 0x90909090, 0x90909090, 0x90909090, 0x90909090);
        set_registers(f, PC, STACK, STACK + 16);
        f->options.async = 1;
        walk(f);
        ck_assert_uint_ge(f->stack.physical, 2);
        ck_assert_uint_eq(f->frames[1].pc, RA1);
        ck_assert_int_eq((f->stack.flags & USP_STACK_EXTENDED) != 0, lacks == 0);
        ck_assert_int_eq(f->stack.count > f->stack.physical, lacks == 0);
        if (lacks == 2) ck_assert_uint_eq(f->frames[1].fp, previous | MARK);
    }
}
END_TEST

/* On armv7 and i386 the same bits are not a mark, and options.async must find nothing. */
START_TEST(async_elsewhere) {
    struct fixture *f = begin(_i ? USP_ARCH_I386 : USP_ARCH_ARMV7, USP_OS_DARWIN);
    WORDS(&f->memory, STACK, 4, STACK + 8, RA1, 0x10000000, RA2);
    set_registers(f, PC, STACK, STACK);
    f->options.async = 1;
    f->target.stack_high = STACK + 16;
    f->target.stack_low = STACK;
    EXPECT(f, USP_STOP_FP_BACKWARDS, PC, RA1, RA2);
    ck_assert_uint_eq(f->stack.extended, USP_NO_INDEX);
}
END_TEST

/* ---- cursor ---- */

START_TEST(cursor_gives_registers) {
    unsigned slot = archs[_i].slot;
    struct fixture *f = begin_records(_i);
    struct usp_cursor cursor, copy;
    struct usp_frame frame;
    struct usp_registers r;
    WORDS(&f->memory, STACK, slot, 0, 0, /* 2: */ SLOT(4), RA1, /* 4: */ 0, RA2);
    set_registers(f, PC, SLOT(0), SLOT(2));
    ck_assert_int_eq(usp_cursor_init(&cursor, &f->target, &f->registers, NULL), USP_OK);
    ck_assert_int_eq(usp_cursor_registers(&cursor, &r), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_cursor_step(&cursor, &frame), 1);
    ck_assert_int_eq(usp_cursor_registers(&cursor, &r), USP_OK);
    ck_assert_uint_eq(usp_registers_sp(&r), SLOT(0));
    ck_assert_int_eq(usp_cursor_step(&cursor, &frame), 1);
    ck_assert_uint_eq(frame.pc, RA1);
    ck_assert_int_eq(usp_cursor_registers(&cursor, &r), USP_OK);
    ck_assert_uint_eq(usp_registers_pc(&r), RA1);
    ck_assert_uint_eq(usp_registers_fp(&r), SLOT(4));
    copy = cursor;
    ck_assert_int_eq(usp_cursor_step(&cursor, &frame), 1);
    ck_assert_int_eq(usp_cursor_step(&copy, &frame), 1);
    ck_assert_uint_eq(frame.pc, RA2);
    ck_assert_int_eq(usp_cursor_step(&cursor, &frame), 0);
    ck_assert_uint_eq(usp_cursor_stop(&cursor, NULL), USP_STOP_FP_ZERO);
}
END_TEST

int main(void) {
    const int all = ELEMENTS(archs);
    TCase *records = tcase_create("records");
    add_loop_tests(records, 0, all, root, two_frames, named_root, cycle, backwards, misaligned, leaves_the_stack,
                   record_across_the_end, second_word_unreadable, return_address_zero, return_address_not_code,
                   scratch_value, exact_fit, overfull, capacity_0, skip, start_in_a_frame, start_with_other_options,
                   start_in_no_frame, tail, step_limit, permuted_stacks_have_other_hashes, older_sizes,
                   cursor_gives_registers);
    add_tests(records, bad_arguments, no_registers, text_is_no_return_address);

    TCase *first = tcase_create("first frame");
    tcase_add_loop_test(first, arm64_leaf, 0, 2);
    tcase_add_loop_test(first, arm64_every_instruction, 0, 10);
    add_tests(first, armv7_leaf, armv7_scratch_lr, armv7_mixed_states);
    tcase_add_loop_test(first, x86_64_every_instruction, 0, 7);
    add_tests(first, x86_64_after_an_indirect_jump, i386_prologue, null_call_x86_64, null_call_arm64);

    TCase *pac = tcase_create("pointer authentication");
    tcase_add_test(pac, pac_field_value);
    tcase_add_loop_test(pac, pac_bits, 0, 6);

    TCase *async = tcase_create("async");
    add_loop_tests(async, 0, 3, async_chain, async_not_wanted, async_cyclic, async_unreadable, async_no_room,
                   async_task, async_no_task, async_marked_register);
    tcase_add_loop_test(async, async_number, 0, 2);
    tcase_add_loop_test(async, async_elsewhere, 0, 2);
    return run_suite("golden", records, first, pac, async);
}
